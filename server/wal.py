"""The write-ahead log of a database, and whether damage to it would go unnoticed.

SQLite takes of a damaged log what comes before the damage and says nothing of the rest, which would
be answered actions. Layouts: sqlite.org/fileformat2.html#walformat and sqlite.org/walformat.html.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Index:
    """What the log's index (`-shm`) says: how many of the log's frames have been committed, and
    how many of those are in the database."""

    salt: bytes
    frames: int
    in_database: int

    @classmethod
    def of(cls, path: Path) -> Index | None:
        """None where there is no index, or none that could be believed."""
        try:
            with Path(f"{path}-shm").open("rb") as file:
                head = file.read(100)
        except OSError:
            return None
        if len(head) < 100 or head[:48] != head[48:96]:
            return None
        if _checksum(head[:40], "=") != struct.unpack("=2I", head[40:48]):
            return None
        return cls(head[32:40], *struct.unpack("=I", head[16:20]), *struct.unpack("=I", head[96:]))


def _checksum(data: bytes, order: str) -> tuple[int, int]:
    one = two = 0
    for a, b in struct.iter_unpack(f"{order}2I", data):
        one = (one + a + two) & 0xFFFFFFFF
        two = (two + b + one) & 0xFFFFFFFF
    return one, two


def is_damaged(path: Path, page: int, before: Index | None, after: Index | None) -> bool:
    """Whether SQLite left out of the log what had been synced to disk.

    `before` and `after` are the log's index as the last host left it and as SQLite now made it.
    A last transaction that was cut off had not been answered, and is no damage. Without an index
    to tell, a damaged last transaction looks the same.
    """
    try:
        with Path(f"{path}-wal").open("rb") as file:
            head = file.read(32)
            frames = []
            while len(frame := file.read(24)) == 24 and file.seek(page, os.SEEK_CUR):
                frames.append(frame)
    except FileNotFoundError:
        head, frames = b"", []
    if _is_log_head(head):
        salt = head[16:24]
        if after is None:
            return False
        taken = after.frames if after.salt == salt else 0
        if before is not None and before.salt == salt:
            return before.frames > (taken or before.in_database)
    else:  # SQLite has taken nothing of it
        if before is not None:
            return before.frames > before.in_database
        salt, taken = None, 0
    committed = set()
    for frame in frames[taken:]:
        if frame[8:16] in committed:  # it was written when the commit before it was on disk
            return True
        if frame[4:8] != bytes(4) and salt in {None, frame[8:16]}:
            committed.add(frame[8:16])
    return False


def _is_log_head(head: bytes) -> bool:
    if len(head) < 32 or head[:3] != b"\x37\x7f\x06" or head[3] not in (0x82, 0x83):
        return False
    order = ">" if head[3] & 1 else "<"
    return _checksum(head[:24], order) == struct.unpack(">2I", head[24:32])
