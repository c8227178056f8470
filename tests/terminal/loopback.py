"""`qe-server` on the loopback, without TLS, as a process of its own."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tmux import PATIENCE

ROOT = Path(__file__).parents[2]


class LoopbackHost:
    """A host that can be killed, and started again on the same port and data."""

    def __init__(self, data: Path, arguments: Sequence[str]) -> None:
        self.port = 0
        self._data = data
        self._arguments = arguments
        self._log = data.with_name(f"{data.name}.log")
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Starts it and waits until it listens."""
        command = [sys.executable, "-m", "server", "--bind", "127.0.0.1", "--no-tls"]
        command += ["--port", str(self.port), "--data", str(self._data), *self._arguments]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        said = self._process.stdout.readline() if ready else ""
        assert said.startswith("listening on "), f"the host did not start: {said!r} {self.log}"
        self.port = int(said.rpartition(":")[2])

    def kill(self) -> None:
        """Ends it at once, as a power cut would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(PATIENCE)
            assert process.stdout is not None
            process.stdout.close()

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def at(self) -> tuple[str, str]:
        """What is typed to reach it, after `qe join` or `qe watch`."""
        return f"127.0.0.1:{self.port}", "--no-tls"
