"""Hosts to play against, as processes of their own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from audience import Table
from hosting import HostProcess
from wire import Connection


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


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    """One host without TLS for all tests of a module; it must have logged no fault at the end."""
    host = HostProcess(data=tmp_path_factory.mktemp("host") / "data", more=("--name", "A host"))
    try:
        host.start()
        yield host
        assert host.alive()
        assert host.errors() == []
    finally:
        host.kill()


@pytest.fixture
async def table(host: HostProcess) -> AsyncIterator[Table]:
    """Four seats; Ana, the host, is at seat 0."""
    table = await Table.create(host, 4)
    yield table
    await table.close()


@pytest.fixture
async def link(host: HostProcess) -> AsyncIterator[Connection]:
    """A connection that has said hello."""
    link = await Connection.open(host.port, tls=False)
    yield link
    await link.close()
