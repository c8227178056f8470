"""Small private files: written whole or not at all, for their owner's eyes only."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path
from typing import TypeVar

import msgspec

log = logging.getLogger(__name__)

Content = TypeVar("Content")


def private_folder(folder: Path) -> None:
    """Makes the folder, mode 0700, where it is not there yet. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def read(path: Path, kind: type[Content]) -> Content | None:
    """What the JSON file holds; None where there is none, or a broken one, which is set aside.

    Raises OSError where there is a file that cannot be read.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        aside = path.with_suffix(f"{path.suffix}.broken")
        path.replace(aside)
        log.warning("A broken file was set aside as %s.", aside)
        return None


def write(path: Path, content: object) -> None:
    """Replaces the file at once by one with this content as JSON, mode 0600. Raises OSError."""
    private_folder(path.parent)
    handle, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(content))
            file.flush()
            os.fsync(file.fileno())
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
