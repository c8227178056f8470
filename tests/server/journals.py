"""Journals for tests of what becomes of their files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol import messages as m
from server import events as ev
from server.journal import NAME
from server.store import Entry, Store

WAL, SHM = f"{NAME}-wal", f"{NAME}-shm"

OPENED = ev.Opened(code="WOLF", game="qe", size=3, title="", options=m.Options(), rules={})

SAID = 120
"""Things said at the table of `filled`, each in a commit of its own."""


def said(number: int, text: str = "hi") -> Entry:
    return Entry(
        1, number, 1000 + number, ev.Spoken(seat=None, name="Ana", text=text * 50, to="all")
    )


def fill(folder: Path) -> Path:
    """A journal as it is after a host was killed (`killed`), and after it has ended (`clean`)."""

    async def write() -> None:
        store = Store(folder / "live")
        await store.append([Entry(1, 0, 1000, OPENED)])
        for number in range(1, SAID):
            await store.append([said(number)])
        shutil.copytree(folder / "live", folder / "killed")
        await store.close()

    asyncio.run(write())
    shutil.copytree(folder / "live", folder / "clean")
    return folder


def events(store: Store) -> int:
    return sum(len(journal or ()) for _, journal in store.tables())


def stock(folder: Path) -> dict[str, bytes]:
    """What is in a data folder, the lock aside."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


def spoil(folder: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / NAME, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def put(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


@contextlib.contextmanager
def small_disk(place: Path, kib: int) -> Iterator[Path]:
    """A file system of that size; what cannot be mounted is skipped."""
    place.mkdir()
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=700", "none", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if done.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


def fill_up(disk: Path, leave: int = 0) -> Path:
    """A file that takes all the room that is left, but for some bytes."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 512)
    os.truncate(filler, max(0, filler.stat().st_size - leave))
    return filler
