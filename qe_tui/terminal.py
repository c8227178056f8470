"""The terminal around the screen: whether there is one, what is said in the shell, the log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from protocol.errors import FingerprintChanged
from qe_tui.i18n import _

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def is_terminal() -> bool:
    """Whether a screen can be shown and keys be read here."""
    return all(
        stream is not None and not stream.closed and stream.isatty()
        for stream in (sys.stdin, sys.stdout)
    )


def program() -> str:
    """How this program is called here: by its path, where the shell would not find it."""
    called = Path(sys.argv[0])
    if called.name == "qe" and shutil.which("qe") is None:
        return str(called)
    return "qe"


def quoted(*words: str) -> str:
    """A command line that can be pasted into the shell of this platform."""
    if os.name == "nt":
        return subprocess.list2cmdline(words)
    return shlex.join(words)


def crashed(log: Path) -> str:
    """What is said in the shell after a fault of this program."""
    return _(
        "Sorry, QE has failed. Nothing is lost at the table; what went wrong is in {path}"
    ).format(path=log)


@contextlib.contextmanager
def stopping(stop: Callable[[int], None]) -> Iterator[None]:
    """Calls `stop` with an exit status when the system asks this program to go.

    Where loops have no signal handlers (Windows), the system's own way stays.
    """
    loop = asyncio.get_running_loop()
    installed = []
    for number in _SIGNALS:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop, 128 + number)
            installed.append(number)
    try:
        yield
    finally:
        for number in installed:
            loop.remove_signal_handler(number)


def keep_keys_private() -> None:
    """Turns Textual's own log and developer's console off: they write down every key.

    To be called before Textual is imported.
    """
    for name in ("TEXTUAL", "TEXTUAL_LOG"):
        os.environ.pop(name, None)


def stay_gone() -> None:
    """Keeps Textual from resuming on a terminal that is gone.

    A terminal that closes sends SIGHUP and SIGCONT; Textual answers the second by writing to it,
    and would then wait for ever. To be called when Textual's driver stands.
    """
    if sys.platform == "win32":
        return
    import termios

    resume = signal.getsignal(signal.SIGCONT)
    if not callable(resume):
        return

    def resume_if_there(number: int, frame: FrameType | None) -> None:
        try:
            termios.tcgetattr(sys.__stdin__)  # type: ignore[arg-type]
        except (OSError, ValueError, termios.error):
            return
        resume(number, frame)

    signal.signal(signal.SIGCONT, resume_if_there)


class _Discreet(logging.Formatter):
    """Says where something went wrong, never with which values: those may be bids or tokens."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        error = ei[1]
        lines: list[str] = []
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            lines.append(f"{type(error).__module__}.{type(error).__qualname__}")
            lines.extend(part.rstrip("\n") for part in traceback.format_tb(error.__traceback__))
            error = error.__cause__ or error.__context__
        return "\n".join(lines)


def log_to(path: Path) -> None:
    """Sends everything that is logged to a file and nothing to the terminal.

    Where the file cannot be opened, nothing is logged.
    """
    handler: logging.Handler
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            path, maxBytes=1_000_000, backupCount=1, encoding="utf-8", delay=True
        )
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.raiseExceptions = False


def log_loop_errors(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A loop's exception handler: where it happened, not the reprs that asyncio would log."""
    error = context.get("exception")
    logging.getLogger("qe").error(
        "%s", str(context.get("message", "")).splitlines()[:1], exc_info=error
    )


def another_certificate(error: FingerprintChanged) -> str:
    """What is wrong, and the way out for somebody who knows why."""
    if error.told:
        return str(error)
    return f"{error} " + _(
        "Somebody may be listening in. If the host was made anew, or another one has its address "
        "now: {command}"
    ).format(command=quoted(program(), "forget", error.pinned))
