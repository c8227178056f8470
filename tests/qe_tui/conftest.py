"""Homes, hosts and terminals for tests of what a person sees."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

sys.path.insert(0, str(Path(__file__).parent))

from places import WAIT, Den, Terminal

from qe_tui import hosting
from qe_tui.settings import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A client's files, in a folder of the test. Hosts left running there are ended."""
    monkeypatch.setenv("QE_HOME", str(tmp_path / "home"))
    for name in ("QE_NAME", "QE_PORT", "QE_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    home = Home.find()
    yield home
    for note in home.data.glob("*/running.json"):
        running = hosting.remembered(note.parent)
        if running is not None and hosting.alive(running.pid):
            os.kill(running.pid, signal.SIGTERM)


@pytest.fixture
async def den(tmp_path: Path) -> AsyncIterator[Den]:
    """A host without TLS, listening."""
    den = Den(tmp_path / "den", tls=False)
    await den.open()
    yield den
    await den.end()


@pytest.fixture
async def tls_den(tmp_path: Path) -> AsyncIterator[Den]:
    """A host with TLS, listening."""
    den = Den(tmp_path / "tls-den", tls=True)
    await den.open()
    yield den
    await den.end()


@pytest.fixture
def alone_on_mdns() -> Iterator[None]:
    """For tests that announce on the loopback interface: one at a time, in all processes, since
    everybody there hears everybody else."""
    with FileLock(Path(tempfile.gettempdir()) / f"qe-tests-mdns-{getpass.getuser()}.lock"):
        yield


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Awaitable[Any]]:
    """Waits until something is true, and gives it."""

    async def wait(condition: Callable[[], Any]) -> Any:
        limit = time.monotonic() + WAIT
        while time.monotonic() < limit:
            with contextlib.suppress(Exception):
                if found := condition():
                    return found
            await asyncio.sleep(0.02)
        found = condition()
        assert found, "it did not happen"
        return found

    return wait


@pytest.fixture
def terminal(home: Home) -> Iterator[Callable[..., Terminal]]:
    """Starts `qe` with some arguments in a terminal of its own."""
    if sys.platform == "win32":
        pytest.skip("pseudo-terminals of this kind are not on Windows")
    started: list[Terminal] = []

    def start(*arguments: str, code: str | None = None, **environment: str) -> Terminal:
        command = ["-c", code] if code else ["-m", "qe_tui", *arguments]
        started.append(Terminal([sys.executable, *command], environment))
        return started[-1]

    yield start
    for running in started:
        running.end()
