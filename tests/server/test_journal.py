"""The journal's file: what is damaged or foreign is set aside whole, and nothing else is."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from server import journal
from server.archive import games_in
from server.journal import APPLICATION_ID, NAME, SCHEMA, read_journal
from server.store import Entry, Store, StoreError
from tests.server.journals import (
    OPENED,
    SAID,
    SHM,
    events,
    fill,
    put,
    said,
    spoil,
    stock,
)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("journal"))


def host_id(folder: Path) -> str:
    return read_journal(folder / NAME, lambda db: db.execute("SELECT value FROM facts").fetchone())[
        0
    ]


def other_program(folder: Path) -> None:
    (folder / NAME).unlink()
    spoil(folder, "CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('x')")


def folder_in_place(folder: Path) -> None:
    (folder / NAME).unlink()
    (folder / NAME).mkdir()
    (folder / NAME / "notes.txt").write_text("x")


def pipe_in_place(folder: Path) -> None:
    (folder / NAME).unlink()
    os.mkfifo(folder / NAME)


def link_in_place(folder: Path) -> None:
    (folder / NAME).unlink()
    (folder / NAME).symlink_to("nowhere")


KEPT, GONE = True, False
"""Whether the host's id can still be read."""


@pytest.mark.parametrize(
    ("wrong", "why", "id_kept"),
    [
        (lambda f: (f / NAME).write_text("Dear diary,\n" * 99), "is not a database", GONE),
        (lambda f: (f / NAME).write_bytes(b"x"), "is not a database", GONE),
        (lambda f: put(f / NAME, 100, b"\0" * 400), "is damaged", GONE),
        (lambda f: os.truncate(f / NAME, 3 * 4096), "is damaged", GONE),
        (lambda f: os.truncate(f / NAME, 1000), "is damaged", GONE),
        (lambda f: put(f / NAME, 6 * 4096, b"\xff" * 4096), "is damaged", KEPT),
        (lambda f: put(f / NAME, 6 * 4096, b"\0" * 4096), "is damaged", KEPT),
        (lambda f: spoil(f, "DROP TABLE events"), "is damaged", KEPT),
        (lambda f: spoil(f, "ALTER TABLE events DROP COLUMN at"), "is damaged", KEPT),
        (lambda f: spoil(f, "ALTER TABLE tables RENAME TO tabels"), "is damaged", KEPT),
        (lambda f: spoil(f, "PRAGMA user_version = 0"), "is damaged", KEPT),
        (lambda f: spoil(f, "PRAGMA user_version = 1769473"), "is damaged", KEPT),
        (lambda f: spoil(f, "PRAGMA application_id = 77"), "is damaged", KEPT),
        (other_program, "is of another program", GONE),
        (folder_in_place, "is a folder", GONE),
        (pipe_in_place, "is not a file", GONE),
        (link_in_place, "is a link to nothing", GONE),
    ],
)
async def test_a_damaged_or_foreign_file_is_set_aside(
    states: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    wrong: Callable[[Path], object],
    why: str,
    id_kept: bool,
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(states / "clean", folder)
    before = host_id(folder)
    if not hasattr(os, "mkfifo") and wrong is pipe_in_place:
        pytest.skip("there are no named pipes here")
    wrong(folder)
    mode = (folder / NAME).lstat().st_mode
    content = (folder / NAME).read_bytes() if stat.S_ISREG(mode) else None
    store = Store(folder)
    assert [*store.tables()] == []
    assert (store.host_id == before) is id_kept
    await store.append([Entry(1, 0, 0, OPENED)])
    await store.close()
    (aside,) = (path for path in folder.iterdir() if "set-aside" in path.name)
    assert stat.S_IFMT(aside.lstat().st_mode) == stat.S_IFMT(mode)
    if stat.S_ISREG(mode):
        assert not aside.stat().st_mode & 0o077
    assert content is None or aside.read_bytes() == content
    # One sentence: what, why, where to, and what follows.
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        f"The journal {folder / NAME} {why}; it was set aside as {aside}, "
        "and the tables of this host begin anew."
    )
    caplog.clear()
    again = Store(folder)
    assert events(again) == 1
    await again.close()
    assert not caplog.records


async def test_what_was_set_aside_is_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for number in range(4):
        folder.mkdir(exist_ok=True)
        (folder / NAME).write_text(f"no journal {number}")
        (folder / f"{NAME}-wal").write_text(f"no log {number}")
        await Store(folder).close()
    aside = {name: data for name, data in stock(folder).items() if "set-aside" in name}
    assert sorted(aside.values()) == sorted(
        f"no {what} {number}".encode() for what in ("journal", "log") for number in range(4)
    )
    for name, data in aside.items():
        if not name.endswith("-wal"):
            assert aside[f"{name}-wal"][-1:] == data[-1:]


@pytest.mark.parametrize("there", [b"", None])
async def test_an_empty_file_is_simply_new(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, there: bytes | None
) -> None:
    if there is not None:
        (tmp_path / NAME).write_bytes(there)
    await Store(tmp_path).close()
    spoil(tmp_path, "PRAGMA journal_mode = WAL")
    assert sorted(stock(tmp_path)) == [NAME]
    assert not caplog.records
    with contextlib.closing(sqlite3.connect(tmp_path / NAME)) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


async def test_a_database_that_was_only_begun_is_new_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(tmp_path, "PRAGMA journal_mode = WAL")
    assert (tmp_path / NAME).stat().st_size > 0
    await Store(tmp_path).close()
    assert sorted(stock(tmp_path)) == [NAME]
    assert not caplog.records


async def test_a_journal_from_before_there_was_an_application_id(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / NAME)) as db:
        db.executescript(SCHEMA)
        db.execute("INSERT INTO facts VALUES ('host_id', ?)", ("a1" * 16,))
        db.execute("PRAGMA user_version = 1")
        db.commit()
    store = Store(tmp_path)
    assert store.host_id == "a1" * 16
    await store.close()
    assert not caplog.records


# --- What is no damage: refused, and left as it is ----------------------------------------------


async def test_a_newer_journal_is_refused(states: Path, tmp_path: Path) -> None:
    for name, statements in {
        "by its id": ("PRAGMA user_version = 2", "DROP TABLE facts"),
        "by its facts": ("PRAGMA user_version = 9", "PRAGMA application_id = 0"),
        "changed": ("PRAGMA user_version = 2", "ALTER TABLE events RENAME TO actions"),
    }.items():
        shutil.copytree(states / "clean", tmp_path / name)
        spoil(tmp_path / name, *statements)
        before = stock(tmp_path / name)
        with pytest.raises(
            StoreError, match=r"newer version .* update the program, or give --data another folder"
        ):
            Store(tmp_path / name)
        assert stock(tmp_path / name) == before


async def test_a_journal_in_use_by_another_program_is_refused(
    states: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "PATIENCE", 0.2)
    folder = tmp_path / "data"
    shutil.copytree(states / "clean", folder)
    with contextlib.closing(sqlite3.connect(folder / NAME, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="another program is using it"):
            Store(folder)
        other.execute("ROLLBACK")
    store = Store(folder)
    assert events(store) == SAID
    await store.close()
    assert set(stock(folder)) == {NAME}


# --- Read by others -----------------------------------------------------------------------------


def count(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT count(*) FROM events").fetchone()
    return int(number)


@pytest.mark.parametrize("state", ["clean", "killed", "killed without an index"])
def test_reading_leaves_no_trace(states: Path, tmp_path: Path, state: str) -> None:
    folder = tmp_path / "data"
    shutil.copytree(states / ("clean" if state == "clean" else "killed"), folder)
    (folder / "lock").unlink()
    if "without" in state:
        (folder / SHM).unlink()
    before = {name: data for name, data in stock(folder).items() if name != SHM}
    names = sorted(os.listdir(folder))
    assert read_journal(folder / NAME, count) == SAID
    assert sorted(os.listdir(folder)) == names
    assert {name: data for name, data in stock(folder).items() if name != SHM} == before


async def test_reading_beside_a_host_sees_the_newest_and_is_in_nobodys_way(tmp_path: Path) -> None:
    store = Store(tmp_path)
    await store.append([Entry(1, 0, 1000, OPENED)])
    for number in range(1, 5):
        await store.append([said(number)])
        assert read_journal(tmp_path / NAME, count) == number + 1

    loop = asyncio.get_running_loop()

    def slowly(db: sqlite3.Connection) -> tuple[int, int]:
        first = count(db)
        asyncio.run_coroutine_threadsafe(store.append([said(5)]), loop).result(30)
        return first, count(db)

    assert await asyncio.to_thread(read_journal, tmp_path / NAME, slowly) == (5, 5)
    assert read_journal(tmp_path / NAME, count) == 6
    await store.close()


def test_what_cannot_be_read_is_said_and_not_touched(states: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^There is no journal in "):
        read_journal(tmp_path / "nothing" / NAME, games_in)
    assert not (tmp_path / "nothing").exists()
    for name, wrong, why in (
        ("text", lambda f: (f / NAME).write_text("x" * 5000), "is not a database"),
        ("other", other_program, "is of another program"),
        ("cut", lambda f: os.truncate(f / NAME, 4096), "is damaged"),
        ("newer", lambda f: spoil(f, "PRAGMA user_version = 2"), "newer version of this program"),
        ("empty", lambda f: os.truncate(f / NAME, 0), "nothing yet"),
    ):
        folder = tmp_path / name
        shutil.copytree(states / "clean", folder)
        wrong(folder)
        before = stock(folder)
        with pytest.raises(StoreError, match=why):
            read_journal(folder / NAME, games_in)
        assert stock(folder) == before


def test_a_copy_that_was_put_back_is_for_its_owner_only(tmp_path: Path, states: Path) -> None:
    shutil.copytree(states / "clean", tmp_path / "data")
    journal = tmp_path / "data" / NAME
    journal.chmod(0o644)
    Store(tmp_path / "data").abandon()
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
