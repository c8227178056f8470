"""The journal's file: opened, found to be sound, or set aside and begun anew.

Only a file that is damaged or is none of ours is set aside, whole and under another name. A file
that merely cannot be used now (no permission, a full disk, in use, of a newer version) is refused
and left as it is. What is read beside a running host is read here too, without leaving a trace.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from server import wal

log = logging.getLogger(__name__)

NAME = "journal.sqlite3"
SCHEMA_VERSION = 1
VERSIONS = 255
"""The highest version that a file may claim; above that it is damaged."""

APPLICATION_ID = 0x51456A31
"""What tells our files from those of other programs ("QEj1"). The first ones do without."""

WAL_LIMIT = 4 * 1024 * 1024
"""Bytes that the write-ahead log keeps on disk when all of it is in the database."""

PATIENCE = 5.0
"""Seconds to wait for another program that is using the file."""

SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tables (id INTEGER PRIMARY KEY, open INTEGER NOT NULL DEFAULT 1);
CREATE TABLE events (
    "table" INTEGER NOT NULL REFERENCES tables (id),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY ("table", number)
) WITHOUT ROWID;
"""

_MAGIC = b"SQLite format 3\0"
_SMALLEST = 512
"""Bytes of the smallest page, and so of a database."""

_TABLES = ("facts", "tables", "events")
_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, by the end of its name."""

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_HOST_ID = re.compile(r"[0-9a-f]{32}")

Content = TypeVar("Content")


class StoreError(Exception):
    """The journal could not be opened or written. The message is a sentence without its content."""


class _NoJournal(Exception):
    """The file is damaged, or none of ours. The message goes on from "The journal ...": a verb."""


def open_journal(path: Path) -> sqlite3.Connection:
    """The journal, to be written by one host; a new one where there is none.

    A damaged or foreign file is set aside, which is logged in a sentence. Raises StoreError.
    """
    host_id = None
    try:
        _check(path)
        return _connected(path, None)
    except _NoJournal as wrong:
        host_id = _host_id_in(path)
        try:
            aside = _set_aside(path)
        except OSError as error:
            raise StoreError(
                f"The journal {path} {wrong} and cannot be set aside: {error.strerror}."
            ) from None
        log.warning(
            "The journal %s %s; it was set aside as %s, and the tables of this host begin anew.",
            path, wrong, aside,
        )  # fmt: skip
    try:
        return _connected(path, host_id)
    except _NoJournal as wrong:
        raise StoreError(f"A new journal cannot be made: {path} {wrong}.") from None


# --- Whether it is sound ----------------------------------------------------------------------


def _check(path: Path) -> None:
    """Raises _NoJournal for a file to be set aside, StoreError for one that cannot be used."""
    try:
        if not _is_there(path):
            return
        _keep_private(path)
        before = wal.Index.of(path)
        if _size(path, "-journal"):
            with closing(sqlite3.connect(_uri(path, "rw"), uri=True)) as db:
                db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # rolls back
        logged = _size(path, "-wal") > 0
        with closing(_reader(path, immutable=not logged)) as db:
            if _version(db) and db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise _NoJournal("is damaged")
            (page,) = db.execute("PRAGMA page_size").fetchone()
            after = wal.Index.of(path) if logged else None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _DAMAGE or code == sqlite3.SQLITE_ERROR:
            raise _NoJournal("is damaged") from None
        raise _refusal(path, error) from None
    except OSError as error:
        raise StoreError(f"The journal {path} cannot be read: {error.strerror}.") from None
    if wal.is_damaged(path, page, before, after):
        raise _NoJournal("lacks what its write-ahead log should hold, which is damaged")


def _keep_private(path: Path) -> None:
    """Takes everybody else's rights away: a copy that was put back may have more than the file
    had. Raises OSError where that is not allowed."""
    for end in ("", *_BESIDE):
        with suppress(FileNotFoundError):
            file = _beside(path, end)
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)


def _is_there(path: Path) -> bool:
    """Whether there is a database; an empty file is simply new. Raises _NoJournal, OSError.

    SQLite takes a very short file for an empty one, and then deletes the log beside it.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise _NoJournal("is a link to nothing") from None
        found = None
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise _NoJournal("is a folder")
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise _NoJournal("is not a file")
    if found is None or not found.st_size:
        if _size(path, "-wal"):
            raise _NoJournal("is gone, but for its write-ahead log")
        return False
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise _NoJournal("is not a database")
    if found.st_size < _SMALLEST:
        raise _NoJournal("is damaged")
    return True


def _version(db: sqlite3.Connection) -> int:
    """The version of our schema, 0 for a database with nothing in it.

    Raises _NoJournal where it is none of ours, StoreError where it is of a newer version.
    """
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (entries,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not entries and not version and not application:
        return 0
    ours = application == APPLICATION_ID or _host_id(db) is not None
    if ours and SCHEMA_VERSION < version <= VERSIONS:
        raise StoreError(
            f"The journal was written by a newer version of this program (its format is {version}, "
            f"here {SCHEMA_VERSION} is known): update the program, or give --data another folder."
        )
    if not ours:
        raise _NoJournal("is of another program")
    if version != SCHEMA_VERSION or application not in {0, APPLICATION_ID} or not _in_shape(db):
        raise _NoJournal("is damaged")
    return SCHEMA_VERSION


def _in_shape(db: sqlite3.Connection) -> bool:
    """Whether our tables are there, with the columns that they should have."""
    columns = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid'
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(SCHEMA)
        return all(
            db.execute(columns, (table,)).fetchall() == model.execute(columns, (table,)).fetchall()
            for table in _TABLES
        )


# --- Opening and setting aside ----------------------------------------------------------------


def _connected(path: Path, host_id: str | None) -> sqlite3.Connection:
    """The database to be written, made if it is not there. Raises StoreError, _NoJournal."""
    try:
        path.touch(mode=0o600)
        if not os.access(path, os.W_OK):  # the log alone might be, and grow without end
            raise StoreError(f"The journal {path} cannot be opened: it may not be written.")
        db = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False, isolation_level=None)
    except OSError as error:
        raise StoreError(f"The journal {path} cannot be opened: {error.strerror}.") from None
    except sqlite3.Error as error:
        raise _refusal(path, error) from None
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone() == (0,):
            for statement in SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        if _host_id(db) is None:
            row = (host_id or secrets.token_hex(16),)
            db.execute("INSERT OR REPLACE INTO facts VALUES ('host_id', ?)", row)
        db.execute("COMMIT")
    except sqlite3.Error as error:
        db.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            raise _NoJournal("is damaged") from None
        raise _refusal(path, error) from None
    return db


def _host_id(db: sqlite3.Connection) -> str | None:
    """The host's id in a journal, None where there is none."""
    try:
        row = db.execute("SELECT value FROM facts WHERE name = 'host_id'").fetchone()
    except sqlite3.Error:
        return None
    return row[0] if row and isinstance(row[0], str) and _HOST_ID.fullmatch(row[0]) else None


def _host_id_in(path: Path) -> str | None:
    """The id that a host had whose journal is to be set aside, so that its clients know it."""
    try:
        if not _is_there(path):
            return None
        with closing(_reader(path, immutable=not _size(path, "-wal"))) as db:
            return _host_id(db)
    except (_NoJournal, OSError, sqlite3.Error):
        return None


def _set_aside(path: Path) -> Path:
    """Gives the journal, and what is beside it, a name that nothing has. Raises OSError."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    number = 1
    while True:
        again = f"-{number}" if number > 1 else ""
        aside = path.with_name(f"{path.stem}-{now}{again}.set-aside{path.suffix}")
        if not any(os.path.lexists(_beside(aside, end)) for end in ("", *_BESIDE)):
            break
        number += 1
    # The log last: without the database it is set aside too, but never left out unnoticed.
    for end in ("", *_BESIDE):
        with suppress(FileNotFoundError):
            _beside(path, end).rename(_beside(aside, end))
    return aside


def _refusal(path: Path, error: sqlite3.Error) -> StoreError:
    """Why the file cannot be used now, in a sentence."""
    why = {
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_IOERR: "the disk cannot be read or written, or is full",
        sqlite3.SQLITE_BUSY: "another program is using it",
        sqlite3.SQLITE_LOCKED: "another program is using it",
        sqlite3.SQLITE_PROTOCOL: "another program is using it",
        sqlite3.SQLITE_READONLY: "it, or its folder, may not be written",
        sqlite3.SQLITE_CANTOPEN: "it, or its folder, may not be read and written",
        sqlite3.SQLITE_PERM: "it, or its folder, may not be read and written",
        sqlite3.SQLITE_NOMEM: "there is not enough memory",
    }.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, type(error).__name__)
    return StoreError(f"The journal {path} cannot be opened: {why}.")


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _size(path: Path, end: str) -> int:
    try:
        return _beside(path, end).stat().st_size
    except FileNotFoundError:
        return 0


# --- Reading, beside a running host or without one --------------------------------------------


def read_journal(path: Path, read: Callable[[sqlite3.Connection], Content]) -> Content:
    """What `read` makes of the journal as it stands, the newest commit included.

    Nothing is written, made or locked, but for a reader's mark in the index of a log that is
    there. It is not for the process of the host itself. Raises StoreError.
    """
    if not os.path.lexists(path):
        raise StoreError(f"There is no journal in {path.parent}.")
    nothing = StoreError(f"There is nothing yet in the journal {path}.")
    for _ in range(5):
        try:
            if not _is_there(path):
                raise nothing
            stood = _stands(path)
            with _snapshot(path) as db:
                db.execute("BEGIN")
                if not _version(db):
                    raise nothing
                content = read(db)
            if not stood or stood == _stands(path):
                return content
        except _NoJournal as wrong:
            raise StoreError(f"The journal {path} {wrong}.") from None
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _DAMAGE:
                raise StoreError(f"The journal {path} is damaged.") from None
            raise _refusal(path, error) from None
        except OSError as error:
            raise StoreError(f"The journal {path} cannot be read: {error.strerror}.") from None
    raise StoreError(f"The journal {path} is changing all the time; try again.")


def _stands(path: Path) -> tuple[int, int] | None:
    """What changes with the database while no log is beside it; None where there is one."""
    if _size(path, "-wal"):
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size


@contextmanager
def _snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    logged = _size(path, "-wal") > 0
    if not logged or _beside(path, "-shm").exists():
        with closing(_reader(path, immutable=not logged)) as db:
            yield db
        return
    # SQLite would make an index beside a log that has none.
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        for end in ("", "-wal"):
            shutil.copyfile(_beside(path, end), _beside(copy, end))
        with closing(_reader(copy, immutable=False)) as db:
            yield db


def _reader(path: Path, *, immutable: bool) -> sqlite3.Connection:
    """A connection that cannot write. `immutable` also keeps it from making and locking files."""
    uri = _uri(path, "ro") + ("&immutable=1" if immutable else "")
    return sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"
