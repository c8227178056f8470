"""What may be logged of a failure: where it was, never with what.

The text of an exception may quote an amount or a token; its type and place do not.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from pathlib import PurePath
from typing import Any

log = logging.getLogger(__name__)


def where(error: BaseException) -> str:
    """The exception's type and the lines that it came through, innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{PurePath(f.filename).name}:{f.lineno} {f.name}" for f in frames[-6:]]
    return f"{type(error).__name__} at {' > '.join(lines) or 'an unknown place'}"


def loop_handler(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An event loop's exception handler that quotes nothing. Connections break every day."""
    error = context.get("exception")
    level = logging.DEBUG if isinstance(error, OSError) else logging.ERROR
    log.log(level, "in the event loop: %s", where(error) if error else "no exception was given")
