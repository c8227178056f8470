"""Hosts to play against, as processes of their own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from audience import Table
from hosting import HostProcess, run_host
from wire import Connection

__all__ = ["run_host"]


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
