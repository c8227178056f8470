"""`qe-server` as a process: started, watched, ended, killed."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0


class HostProcess:
    """A host on the loopback. `games` counts the games begun on it, for foreseeable seeds."""

    def __init__(
        self,
        *,
        data: Path,
        tls: bool = False,
        seed: str | None = None,
        port: int = 0,
        more: tuple[str, ...] = (),
    ) -> None:
        self.data, self.tls, self.seed, self.port = data, tls, seed, port
        self.games = 0
        self.fingerprint: str | None = None
        self._more = more
        self._stderr = data.with_name(f"{data.name}.stderr")
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        command = [sys.executable, "-m", "server", "--bind", "127.0.0.1", "--bot-delay", "0"]
        command += ["--port", str(self.port), "--data", str(self.data), "--verbose"]
        command += [] if self.tls else ["--no-tls"]
        command += [] if self.seed is None else ["--seed", self.seed]
        return [*command, *self._more]

    def start(self) -> None:
        """Starts it and waits until it listens; a second start takes the same port and data."""
        with self._stderr.open("ab") as stderr:
            self._process = subprocess.Popen(
                self.command(), cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, bufsize=0
            )
        address = self._line().removeprefix("listening on ")
        host, _, port = address.rpartition(":")
        assert host == "127.0.0.1", f"the host did not start: {address!r} {self.log()}"
        self.port = int(port)
        if self.tls:
            self.fingerprint = self._line().removeprefix("certificate ")

    def _line(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        assert ready, "the host says nothing"
        return self._process.stdout.readline().decode().strip()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def log(self) -> str:
        return self._stderr.read_text()

    def errors(self) -> list[str]:
        """The lines of its log that tell of a fault."""
        return [s for s in self.log().splitlines() if " ERROR " in s or "Traceback" in s]

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def terminate(self) -> int:
        """Asks it to end, and gives its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Ends it at once, as a power cut would."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait(PATIENCE)
            if self._process.stdout is not None:
                self._process.stdout.close()

    def wait_for_log(self, words: str) -> None:
        end = time.monotonic() + PATIENCE
        while words not in self.log():
            assert time.monotonic() < end, f"never logged: {words}"
            time.sleep(0.01)


@pytest.fixture
def run_host(tmp_path: Path) -> Iterator[Callable[..., HostProcess]]:
    """Starts hosts, each with a data folder of its own unless told otherwise, and ends them."""
    started: list[HostProcess] = []

    def run(**settings: Any) -> HostProcess:
        settings.setdefault("data", tmp_path / f"host-{len(started)}")
        host = HostProcess(**settings)
        started.append(host)
        host.start()
        return host

    yield run
    for host in started:
        host.kill()
