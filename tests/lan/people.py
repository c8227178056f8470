"""What runs on the machines of a network: hosts, and people before terminals."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from bridges import PATIENCE, Machine, Network
from tmux import Steps, Terminal, Tmux

ROOT = Path(__file__).parents[2]
QE = [sys.executable, "-m", "qe_tui"]
VISITOR = Path(__file__).with_name("visitor.py")

UNWANTED = ("QE_NO_DISCOVERY", "QE_BROKER", "QE_NAME", "QE_PORT", "QE_PASSWORD", "QE_HOME")
"""Variables that would change what the programs do. Without the first, hosts are announced: the
network is nobody else's."""


NOTICED_WITHIN = 80.0
"""Seconds after which a client says at the latest that its host is silent; docs/protocol.md."""


class Host:
    """`qe-server` on a machine of the network; started again, it has the same data folder."""

    def __init__(self, lan: Lan, machine: Machine, name: str, arguments: tuple[str, ...]) -> None:
        self.machine = machine
        self.name = name
        self.lines: list[str] = []
        self._data = lan.folder / f"host-{name}"
        self._log = lan.folder / f"host-{name}.log"
        self._environment = lan.environment
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it listens."""
        command = [sys.executable, "-m", "server", "--data", str(self._data), "--name", self.name]
        self._process = process = self.machine.popen(
            [*command, *self._arguments], environment=self._environment, output=self._log
        )
        out = process.stdout
        assert out is not None
        said = b""
        while b"say aloud" not in said or not said.endswith(b"\n"):
            ready, _, _ = select.select([out], [], [], PATIENCE)
            more = os.read(out.fileno(), 4096) if ready else b""
            assert more, f"the host did not start: {said!r} {self.log}"
            said += more
        self.lines = said.decode().splitlines()

    def kill(self) -> None:
        """Ends it at once, as a power cut would: no goodbye to anybody."""
        process, self._process = self._process, None
        assert process is not None
        process.kill()
        process.wait(PATIENCE)

    @property
    def log(self) -> str:
        return self._log.read_text()


class Lan:
    """The network, and what people do on its machines."""

    def __init__(self, network: Network, tmux: Tmux, folder: Path) -> None:
        self.network = network
        self.tmux = tmux
        self.folder = folder
        self.environment = {k: v for k, v in os.environ.items() if k not in UNWANTED}

    def host(self, machine: Machine, name: str, *arguments: str) -> Host:
        host = Host(self, machine, name, arguments)
        host.start()
        return host

    def home(self, name: str) -> str:
        """Somebody's files."""
        return str(self.folder / f"home-{name}")

    def tables(self, machine: Machine, who: str) -> tuple[list[dict[str, Any]], str]:
        """What `qe tables --json` finds from this machine, and what it says beside."""
        done = subprocess.run(
            [*machine.prefix, *QE, "tables", "--json"], cwd=ROOT, capture_output=True, text=True,
            env={**self.environment, "QE_HOME": self.home(who)}, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    def open(self, machine: Machine, name: str, *arguments: str, title: str = "") -> Terminal:
        """A terminal at this machine with `qe` in it, for the person of this name."""
        return self.tmux.open(
            title or name,
            [*machine.prefix, *QE, *arguments],
            folder=ROOT,
            environment={
                "QE_HOME": self.home(name),
                "TERM": "xterm-256color",
                "LC_ALL": "C.UTF-8",
            },
            unset=UNWANTED[:-1],
        )

    def lost(self, terminal: Terminal) -> None:
        """Waits until somebody is told that the connection is away, which takes its time."""

        def steps() -> Steps:
            yield lambda: "CONNECTION LOST." in terminal.screen

        self.tmux.act({terminal: steps()}, "a lost connection", patience=NOTICED_WITHIN)

    def visit(self, machine: Machine, who: str, *arguments: str) -> dict[str, Any]:
        """What a client without a screen finds at an address; see visitor.py."""
        done = subprocess.run(
            [*machine.prefix, sys.executable, str(VISITOR), self.home(who), *arguments],
            cwd=ROOT, capture_output=True, text=True, env=self.environment, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found
