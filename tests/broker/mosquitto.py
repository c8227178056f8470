"""A real Mosquitto, run with the very files of docs/broker."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

FILES = Path(__file__).parents[2] / "docs" / "broker"
USERS = {"qe-host": "p@ss:/wörd", "guest": "guest", "admin": "admin", "writer": "writer"}
HOST_URL = "mqtt://qe-host:p%40ss%3A%2Fw%C3%B6rd@127.0.0.1:{port}"
WAIT = 20.0
"""Seconds after which something that should come has not come."""


MORE = """
user admin
topic read #

user writer
topic write qe/1/#
"""
"""Users that only the tests have: one that may read everything, and a host that may not read."""


def find(program: str) -> str | None:
    """Where Mosquitto's programs are; not all of them are on everybody's path."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Mosquitto:
    """A broker on a free port of the loopback, its files those of docs/broker but for paths."""

    def __init__(self, folder: Path, passwords: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        acl = (FILES / "acl").read_text()
        (folder / "acl").write_text(acl + MORE)
        conf = (FILES / "mosquitto.conf").read_text()
        for theirs, ours in (
            ("listener 1883", f"listener {self.port} 127.0.0.1"),
            ("/etc/mosquitto/qe.passwords", str(passwords)),
            ("/etc/mosquitto/qe.acl", str(folder / "acl")),
        ):
            assert conf.count(theirs) == 1
            conf = conf.replace(theirs, ours)
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            conf += "\nuser root\n"
        self.conf = folder / "mosquitto.conf"
        self.conf.write_text(conf)

    @property
    def url(self) -> str:
        """The hosts' URL."""
        return HOST_URL.format(port=self.port)

    @property
    def guests(self) -> str:
        """What guests use, who need no password."""
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(find("mosquitto")), "-c", str(self.conf)], stdout=log, stderr=log
            )
        end = time.monotonic() + WAIT
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "the broker does not answer"
            time.sleep(0.02)

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it at once; nothing of what it retained is kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT)
            self._process = None
