"""The journal: every event of every table, in SQLite, on disk before anyone is told of it.

One writer gathers what all tables have pending into one transaction, so that durability costs a
commit a batch. The file holds every bid, so that only its owner can read it.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
from filelock import FileLock, Timeout

from server import events as ev
from server.journal import NAME, StoreError, open_journal

__all__ = ["Entry", "Journal", "Store", "StoreError"]

log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ev.AnyEvent).decode

_STARTED = '{"event":"started"%'
"""How SQL knows the start of a game: the tag comes first in an event's text."""

Journal = list[tuple[int, ev.AnyEvent]]
Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Entry:
    """An event of a table. `number` counts the table's events from 0; `at` is Unix milliseconds."""

    table: int
    number: int
    at: int
    event: ev.AnyEvent


class Store:
    """The journal of one data folder, which it locks against other hosts."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreError where the folder is in use or cannot be used."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The data folder cannot be made: {error.strerror}.") from None
        self._lock = FileLock(folder / "lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(f"Another host runs on the data folder {folder}.") from None
        except OSError as error:
            raise StoreError(f"The data folder cannot be locked: {error.strerror}.") from None
        try:
            self._db = open_journal(folder / NAME)
        except BaseException:
            self._lock.release()
            raise
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._pending: list[tuple[Sequence[Entry], asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def host_id(self) -> str:
        """The host's random id, for as long as its data folder lives."""
        return self._fact("host_id")

    def tables(self) -> Iterator[tuple[int, Journal | None]]:
        """The tables that are open, oldest first; None for a journal that cannot be read."""
        ids = self._db.execute("SELECT id FROM tables WHERE open ORDER BY id").fetchall()
        for (table,) in ids:
            journal, whole = events_of(self._db, table)
            yield table, journal if whole else None

    def code(self, table: int) -> str | None:
        """The code of a table, also where the rest of its journal cannot be followed."""
        journal, _ = events_of(self._db, table)
        return journal[0][1].code if journal and isinstance(journal[0][1], ev.Opened) else None

    def next_table(self) -> int:
        """The number of the next table that is opened."""
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM tables").fetchone()
        return int(last) + 1

    def games_begun(self) -> int:
        """How many games have been started on this journal."""
        (games,) = self._db.execute(
            "SELECT count(*) FROM events WHERE CAST(event AS TEXT) LIKE ?", (_STARTED,)
        ).fetchone()
        return int(games)

    def read(self, read: Callable[[sqlite3.Connection], Content]) -> Content:
        """What `read` makes of the whole journal, closed tables included."""
        return read(self._db)

    async def append(self, entries: Sequence[Entry]) -> None:
        """Returns once the events are on disk, all or none. Raises StoreError for none."""
        if self._closed:
            raise StoreError("The journal is closed.")
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_batches(), name="journal")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending.append((entries, done))
        self._wake.set()
        await done

    async def close(self) -> None:
        """Ends the writer, after what is pending, and gives the folder free."""
        if self._writer is not None:
            await asyncio.gather(self.append([]), return_exceptions=True)
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        self.abandon()

    def abandon(self) -> None:
        """Gives the folder free at once; what is pending is not written."""
        self._closed = True
        self._thread.shutdown(wait=True)
        self._db.close()
        self._lock.release()

    def _fact(self, name: str) -> str:
        (value,) = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return str(value)

    async def _write_batches(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch, self._pending = self._pending, []
            entries = [entry for some, _ in batch for entry in some]
            error: StoreError | None = None
            try:
                await asyncio.shield(loop.run_in_executor(self._thread, self._commit, entries))
            except Exception as failure:  # whatever it is, the writer must write on
                log.error("the journal could not be written: %s", type(failure).__name__)
                error = StoreError("The host could not write its journal; nothing has changed.")
            for _, done in batch:
                if done.done():
                    continue
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)

    def _commit(self, entries: Sequence[Entry]) -> None:
        rows = [(e.table, e.number, e.at, _encode(e.event).decode()) for e in entries]
        opened = [(e.table,) for e in entries if isinstance(e.event, ev.Opened)]
        closed = [(e.table,) for e in entries if isinstance(e.event, ev.Closed)]
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany("INSERT INTO tables (id) VALUES (?)", opened)
            self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", rows)
            self._db.executemany("UPDATE tables SET open = 0 WHERE id = ?", closed)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise


def events_of(db: sqlite3.Connection, table: int) -> tuple[Journal, bool]:
    """A table's events as far as they can be read, and whether that is all of them."""
    rows = db.execute(
        'SELECT number, at, CAST(event AS BLOB) FROM events WHERE "table" = ? ORDER BY number',
        (table,),
    )
    journal: Journal = []
    for expected, (number, at, event) in enumerate(rows):
        if number != expected or not isinstance(at, int):
            return journal, False
        try:
            journal.append((at, _decode(event)))
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
            return journal, False
    return journal, True
