"""What may be logged of a failure: where it was, never with what.

The text of an exception may quote an amount or a token; its type and place do not. Nor do the
words of a library's own logs, while what it puts into them may.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import TracebackType
from typing import Any

log = logging.getLogger(__name__)

OWN = ("server", "protocol")
"""The packages whose log messages are written with this in mind."""


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


def quoting_nothing(record: logging.LogRecord) -> bool:
    """A filter for log handlers. An exception becomes its place; of a library's message only the
    first line stays, as it is written in its source, with nothing filled in."""
    error = record.exc_info[1] if record.exc_info else None
    foreign = record.name.partition(".")[0] not in OWN
    if foreign:
        # Filled in already: what asyncio puts together by itself has values from the second line.
        record.msg = f"{record.name}: {str(record.msg).partition(chr(10))[0]}"
        record.args = ()
    if error is not None:
        record.msg = f"{record.getMessage()} ({where(error)})"
        record.args = ()
    record.exc_info = record.exc_text = record.stack_info = None
    return True


@contextmanager
def reticent() -> Iterator[None]:
    """While it lasts, nothing of this process quotes a value: no log, no crash of any thread."""
    handlers = list(logging.getLogger().handlers)
    before = sys.excepthook, threading.excepthook, sys.unraisablehook, logging.raiseExceptions
    for handler in handlers:
        handler.addFilter(quoting_nothing)
    sys.excepthook = _crashed
    threading.excepthook = lambda args: _failed("in a thread", args.exc_value)
    sys.unraisablehook = lambda args: _failed("in passing", args.exc_value)
    logging.raiseExceptions = False
    try:
        yield
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook, logging.raiseExceptions = before
        for handler in handlers:
            handler.removeFilter(quoting_nothing)


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    _failed("the host has failed", error.with_traceback(trace))


def _failed(what: str, error: BaseException | None) -> None:
    log.error("%s: %s", what, where(error) if error else "no exception was given")
