"""A host and the terminals of those who play at it, each with files of its own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from loopback import LoopbackHost
from tmux import SIZE, Terminal, Tmux

ROOT = Path(__file__).parents[2]
QE = [sys.executable, "-m", "qe_tui"]

OpenTerminal = Callable[..., Terminal]


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, so nothing was tried in a real terminal")
    server = Tmux()
    yield server
    server.end()


@pytest.fixture
def open_terminal(tmux: Tmux, tmp_path: Path) -> OpenTerminal:
    """Opens a terminal with a program in it: `qe` with these arguments unless told otherwise."""

    def opened(
        name: str,
        *arguments: str,
        command: Sequence[str] | None = None,
        size: tuple[int, int] = SIZE,
        **environment: str,
    ) -> Terminal:
        home = tmp_path / f"home-{name}"
        home.mkdir(exist_ok=True)
        return tmux.open(
            name,
            [*(QE if command is None else command), *arguments],
            folder=ROOT,
            environment={
                "QE_HOME": str(home),
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
                "LC_ALL": "C.UTF-8",
                **environment,
            },
            unset=["QE_NAME", "QE_PORT", "QE_PASSWORD", "NO_COLOR", "COLUMNS", "LINES"],
            size=size,
        )

    return opened


@pytest.fixture
def run_host(tmp_path: Path) -> Iterator[Callable[..., LoopbackHost]]:
    """Starts `qe-server`s with these arguments, and ends them."""
    started: list[LoopbackHost] = []

    def run(*arguments: str) -> LoopbackHost:
        host = LoopbackHost(tmp_path / f"host-{len(started)}", arguments)
        started.append(host)
        host.start()
        return host

    yield run
    for host in started:
        host.kill()
