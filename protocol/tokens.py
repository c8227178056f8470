"""Seat tokens, kept so that a player finds the seat again after a crash or a restart.

One file a seat, named by a hash of the host's id, the table and the player's name. A seat in use
is locked: two players may share a machine, and neither shall get the other's seat.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
from collections.abc import Container, Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from msgspec import Struct

from protocol import files

log = logging.getLogger(__name__)

KEPT_FOR = 7 * 86_400
"""Seconds that the token of a table is kept which its host does not list. A table that nobody
comes to is closed within a day; but a host may be unable to restore one for a while."""


class _Kept(Struct, frozen=True, kw_only=True):
    host: str
    table: str
    name: str
    token: str

    def __repr__(self) -> str:
        return f"_Kept(table={self.table!r})"


class HeldSeat:
    """A seat's file, held by this process until `release` or `forget`."""

    def __init__(self, path: Path, lock: FileLock, host_id: str, table: str, name: str) -> None:
        self._path = path
        self._lock = lock
        self._host_id = host_id
        self.table = table
        self.name = name

    @property
    def token(self) -> str | None:
        """What is kept, None where nothing is."""
        kept = _read(self._path)
        return kept.token if kept else None

    def keep(self, token: str) -> None:
        """Writes the newest token; until that is done the one before is kept. Raises OSError."""
        kept = _Kept(host=self._host_id, table=self.table, name=self.name, token=token)
        files.write(self._path, kept)

    def forget(self) -> None:
        """Throws the token away and lets go of the file: the seat is given up, or lost."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            log.warning("A seat token could not be removed.", exc_info=True)
        with contextlib.suppress(OSError):  # Windows keeps a file that is open
            Path(self._lock.lock_file).unlink(missing_ok=True)
        self.release()

    @property
    def age(self) -> float:
        """Seconds since the token was kept; 0 where there is none."""
        try:
            return time.time() - self._path.stat().st_mtime
        except OSError:
            return 0.0

    def release(self) -> None:
        """Lets go of the file, and keeps what it holds."""
        self._lock.release()


class Wallet:
    """The seat tokens of this user, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def saved(self, host_id: str, table: str, name: str) -> str | None:
        """The token kept for this seat; None where there is none, or another process uses it."""
        if not self._path(host_id, table, name).exists():
            return None
        held = self.hold(host_id, table, name)
        if held is None:
            return None
        try:
            return held.token
        finally:
            held.release()

    def seats(self, host_id: str) -> list[tuple[str, str]]:
        """Table and name of each seat kept for this host that nobody uses now, sorted."""
        return sorted(
            (kept.table, kept.name)
            for kept in self._all()
            if kept.host == host_id and self.saved(host_id, kept.table, kept.name) is not None
        )

    def tidy(self, host_id: str, tables: Container[str]) -> None:
        """Throws away what is kept for tables of this host that are no more, `tables` being the
        codes of those that are, once it is older than KEPT_FOR."""
        for kept in self._all():
            if kept.host != host_id or kept.table in tables:
                continue
            held = self.hold(host_id, kept.table, kept.name)
            if held is None:
                continue
            if held.age > KEPT_FOR:
                held.forget()
            else:
                held.release()

    def hold(self, host_id: str, table: str, name: str) -> HeldSeat | None:
        """This seat's file, there or not, for this process alone; None where another has it.

        None as well where the folder cannot be used; that is logged.
        """
        path = self._path(host_id, table, name)
        lock = FileLock(path.with_suffix(".lock"), timeout=0, mode=0o600)
        try:
            files.private_folder(self._folder)
            lock.acquire()
        except Timeout:
            return None
        except (OSError, NotImplementedError):
            log.warning("Seat tokens cannot be kept in %s.", self._folder, exc_info=True)
            return None
        return HeldSeat(path, lock, host_id, table, name)

    def _path(self, host_id: str, table: str, name: str) -> Path:
        # The length before each part, so that no two seats make the same text.
        text = "".join(f"{len(part)}:{part}" for part in (host_id, table, name))
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest[:32]}.json"

    def _all(self) -> Iterator[_Kept]:
        if not self._folder.is_dir():
            return
        for path in self._folder.glob("*.json"):
            kept = _read(path)
            if kept is not None:
                yield kept


def _read(path: Path) -> _Kept | None:
    try:
        return files.read(path, _Kept)
    except OSError:
        log.warning("A seat token could not be read.", exc_info=True)
        return None
