"""A host in this process, whose clock can stand still until told to go, and relays that count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wire import Connection

from server.host import Host, Settings

NOON = 1_700_000_000_000


@dataclass
class Clock:
    """Unix milliseconds, as a test has them."""

    now: int = NOON

    def __call__(self) -> int:
        return self.now


@dataclass
class Relay:
    """Passes TCP on and counts the bytes: `up` to the host, `down` from it."""

    up: int = 0
    down: int = 0
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self, port: int) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            self._tasks += [
                asyncio.create_task(self._pass(reader, far_writer, up=True)),
                asyncio.create_task(self._pass(far_reader, writer, up=False)),
            ]

        self._server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, up: bool
    ) -> None:
        try:
            while data := await reader.read(65_536):
                if up:
                    self.up += len(data)
                else:
                    self.down += len(data)
                writer.write(data)
        except OSError:
            pass
        finally:
            writer.close()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def frozen_host(data: Path, clock: Clock, *, tls: bool, seed: str) -> AsyncIterator[Host]:
    host = Host(
        Settings(data=data, name="frozen", bind="127.0.0.1", port=0, tls=tls, seed=seed),
        now=clock,
    )
    await host.start()
    try:
        yield host
    finally:
        await host.stop()


@dataclass
class HostHere:
    """A host in this process, to play against as against a process of its own."""

    host: Host
    games: int = 0
    tls: bool = False
    fingerprint: str | None = None
    seed: str | None = None

    @property
    def port(self) -> int:
        return self.host.addresses[0][1]


@asynccontextmanager
async def host_here(data: Path, **settings: Any) -> AsyncIterator[HostHere]:
    """A host without TLS, with the computer's clock."""
    host = Host(
        Settings(
            data=data, name="here", bind="127.0.0.1", port=0, tls=False, bot_delay=0, **settings
        )
    )
    await host.start()
    try:
        yield HostHere(host)
    finally:
        await host.stop()


async def connected(host: Host, relay: Relay | None = None) -> Connection:
    port = host.addresses[0][1]
    if relay is not None:
        await relay.start(port)
        port = relay.port
    return await Connection.open(port, tls=host.settings.tls)
