"""Places to play at: a real host that comes and goes, and a real terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from pathlib import Path

from protocol.invitation import Where
from qe_tui.settings import Home
from qe_tui.visit import Visit, visit
from server.host import Host, Settings

ROOT = Path(__file__).parents[2]
WAIT = 30.0
"""Seconds after which something that should happen has not happened."""


class Den:
    """A real host in this process, that may go and come back at the same place."""

    def __init__(self, data: Path, tls: bool) -> None:
        self._data = data
        self._tls = tls
        self._port = 0
        self._host: Host | None = None
        self._visits: list[Visit] = []

    async def open(self) -> None:
        self._host = Host(
            Settings(
                data=self._data,
                name="Den",
                bind="127.0.0.1",
                port=self._port,
                tls=self._tls,
                bot_delay=0.01,
                seed="den",
            )
        )
        await self._host.start()
        self._port = self._host.addresses[0][1]

    async def close(self) -> None:
        host, self._host = self._host, None
        if host is not None:
            await host.stop()

    @property
    def where(self) -> Where:
        return Where("127.0.0.1", self._port, self._tls)

    async def guest(self, home: Home, name: str) -> Visit:
        """Somebody who calls at the host with files of his own."""
        root = home.settings.parent / f"guest-{name}"
        theirs = Home(root / "s", root / "pins.json", root / "tokens", root / "log", root)
        guest = await visit(theirs, self.where, name)
        self._visits.append(guest)
        return guest

    async def end(self) -> None:
        for guest in self._visits:
            await guest.close()
        await self.close()


class Terminal:
    """A program in a real pseudo-terminal of 80 by 24."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            arguments,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment},
            start_new_session=True,
        )
        self._seen = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._master, 65_536):
                self._seen += data

    @property
    def text(self) -> str:
        """Everything that was written to the terminal so far."""
        return bytes(self._seen).decode("utf-8", "replace")

    def wait_for(self, words: str) -> None:
        limit = time.monotonic() + WAIT
        while words not in self.text:
            assert time.monotonic() < limit, f"{words!r} did not come: {self.text[-2000:]!r}"
            time.sleep(0.02)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def status(self) -> int:
        """The exit status, once the program is gone and all it wrote has been read."""
        status = self.process.wait(WAIT)
        time.sleep(0.1)
        return status

    @property
    def restored(self) -> bool:
        """Whether the terminal is as it was: its modes, its screen, its mouse."""
        import termios

        left = self.text.rfind("\x1b[?1049l") > self.text.rfind("\x1b[?1049h")
        mouse = self.text.rfind("\x1b[?1000l") >= self.text.rfind("\x1b[?1000h")
        return left and mouse and termios.tcgetattr(self._slave) == self.before

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(WAIT)
        os.close(self._slave)
        os.close(self._master)
        self._reader.join(WAIT)
