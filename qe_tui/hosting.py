"""Hosts that this client starts: child processes of their own, which outlive a crashed screen."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from protocol.invitation import Where, WhereError, parse
from protocol.text import printable
from qe_tui.i18n import _

START_TIMEOUT = 20.0
"""Seconds a host may take until it listens."""
STOP_TIMEOUT = 10.0
"""Seconds a host may take to go when it is asked to."""

_NOTE = "running.json"
_LINE = re.compile(r"\A(?P<what>listening on|also on|certificate) (?P<value>\S+)\s*\Z")


class HostingError(Exception):
    """No host could be started. The message is a sentence for people."""


class Running(msgspec.Struct, kw_only=True):
    """A host process that this client started, now or on another day. Kept in its folder."""

    pid: int
    port: int
    tls: bool
    addresses: list[str]
    """What to tell others, the usual port left out."""
    folder: str
    fingerprint: str | None = None
    host_id: str = ""
    """Learned at the first connection; tells the host from a stranger with its number."""

    @property
    def where(self) -> Where:
        return Where("127.0.0.1", self.port, self.tls, fingerprint=self.fingerprint)


async def start(
    folder: Path,
    *,
    port: int,
    tls: bool,
    bind: str | None = None,
    name: str | None = None,
    discovery: bool = True,
    log: Path,
) -> Running:
    """Starts a host and waits until it listens; with `discovery` it is announced on the LAN,
    and published on the broker that QE_BROKER names.

    Raises HostingError; then no process is left behind.
    """
    command = [sys.executable, "-m", "server", "--data", str(folder), "--port", str(port)]
    command += [] if tls else ["--no-tls"]
    command += ["--bind", bind] if bind else []
    command += ["--name", name] if name else []
    command += [] if discovery else ["--no-discovery", "--broker", ""]
    with _open_log(folder, log) as errors:
        said_before = errors.tell()
        child = _popen(command, errors)
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(child.stdout, lines), daemon=True).start()
    try:
        found = await _listening(child, lines)
        if found is None:
            raise HostingError(_last_words(log, said_before))
    except BaseException:
        kill(child)
        raise
    addresses, fingerprint = found
    # The process is known by its number alone from here on, since it may outlive this program.
    child.returncode = 0
    running = Running(
        pid=child.pid,
        port=addresses[0].port,
        tls=tls,
        addresses=[address.short for address in addresses if not _is_loopback(address)]
        or [addresses[0].short],
        folder=str(folder),
        fingerprint=fingerprint,
    )
    remember(running)
    return running


def _open_log(folder: Path, log: Path) -> IO[bytes]:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.parent.mkdir(parents=True, exist_ok=True)
        return log.open("ab")
    except OSError as error:
        raise HostingError(
            _("The host has no folder to write in: {reason}.").format(
                reason=error.strerror or type(error).__name__
            )
        ) from error


def _popen(command: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if key != "QE_PASSWORD"}
    apart: dict[str, object] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        text=True,
        encoding="utf-8",
        errors="replace",
        **apart,
    )


def _read_lines(stream: IO[str] | None, lines: queue.SimpleQueue[str | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in stream or ():
            lines.put(line)
    lines.put(None)


async def _listening(
    child: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]
) -> tuple[list[Where], str | None] | None:
    """Where the host is reached, and its certificate; None if it went away before it was ready."""
    limit = time.monotonic() + START_TIMEOUT
    addresses: list[Where] = []
    fingerprint: str | None = None
    while fingerprint is None and time.monotonic() < limit:
        try:
            line = lines.get_nowait()
        except queue.Empty:
            await asyncio.sleep(0.02)
            continue
        if line is None:
            return None
        if (match := _LINE.match(line)) is None:
            continue
        if match["what"] == "certificate":
            fingerprint = match["value"]
            continue
        with contextlib.suppress(WhereError):
            addresses.append(parse(match["value"]))
        if match["what"] == "listening on":
            # What else it has to say comes at once.
            limit = time.monotonic() + 0.2
    if not addresses:
        raise HostingError(
            _("The host did not get ready within {seconds} seconds.").format(
                seconds=round(START_TIMEOUT)
            )
        )
    return addresses, fingerprint


def _is_loopback(where: Where) -> bool:
    try:
        return ipaddress.ip_address(where.address).is_loopback
    except ValueError:
        return False


def _last_words(log: Path, start: int) -> str:
    """The sentence with which a host refused to start."""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(start)
        words = file.read().decode("utf-8", "replace").splitlines()
        spoken = [printable(word).strip() for word in words if word.strip()]
        if spoken:
            return re.sub(r"\A(?:Error|qe-server): ", "", spoken[-1])
    return _("The host went away before it was ready; see {path}.").format(path=log)


# --- Hosts left running -----------------------------------------------------------------------


def remember(running: Running) -> None:
    """Notes a host in its folder, so that it is found again. Raises nothing."""
    with contextlib.suppress(OSError):
        path = Path(running.folder, _NOTE)
        temporary = path.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(running))
        temporary.replace(path)


def remembered(folder: Path) -> Running | None:
    """The host that was started on a folder; it may be gone since."""
    try:
        return msgspec.json.decode((folder / _NOTE).read_bytes(), type=Running)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return None


def forget(running: Running) -> None:
    """Removes the note."""
    with contextlib.suppress(OSError):
        Path(running.folder, _NOTE).unlink()


async def stop(running: Running) -> bool:
    """Asks a host to go, waits, and at last makes it. Games are in its journal.

    The caller has made sure that the process is this host. False if it is still there.
    """
    for number, patience in ((signal.SIGTERM, STOP_TIMEOUT), (_FORCE, 2.0)):
        try:
            os.kill(running.pid, number)
        except (ProcessLookupError, PermissionError, OSError):
            break
        if await _gone_within(running.pid, patience):
            break
    gone = not alive(running.pid)
    if gone:
        forget(running)
    return gone


async def _gone_within(pid: int, seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if not alive(pid):
            return True
        await asyncio.sleep(0.02)
    return False


def alive(pid: int) -> bool:
    """Whether a process is there; an ended child of ours is taken leave of."""
    if sys.platform == "win32":
        listed = subprocess.run(
            ["tasklist", "/FI", f"PID eq {pid}", "/NH"],
            capture_output=True,
            text=True,
            check=False,
        )
        return str(pid) in listed.stdout
    try:
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def kill(child: subprocess.Popen[str]) -> None:
    """Ends a child of ours without asking."""
    with contextlib.suppress(OSError):
        child.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(5)


_FORCE = getattr(signal, "SIGKILL", signal.SIGTERM)
