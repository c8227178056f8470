"""Hosts that publish, and those who see what is published."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Any

import msgpack
from mosquitto import WAIT
from wire import Connection

from protocol.broker import Broker, read_url
from protocol.mqtt import BrokerAway, connected
from server.feed import Feed
from server.host import Host


class Observer:
    """Everything that comes to a user of the broker, as it came."""

    def __init__(self, port: int, user: str | None = "admin", topics: str = "#") -> None:
        self._broker = Broker("127.0.0.1", port, False, user, user)
        self._topics = topics
        self.seen: list[tuple[str, bytes]] = []
        self.now: dict[str, bytes] = {}
        """What each topic holds, the emptied ones left out."""
        self._task: asyncio.Task[None] | None = None
        self._stirred = asyncio.Event()

    async def start(self) -> None:
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._listen(ready))
        async with asyncio.timeout(WAIT):
            await ready.wait()

    async def _listen(self, ready: asyncio.Event) -> None:
        while True:
            with contextlib.suppress(BrokerAway):
                async with connected(self._broker) as client:
                    self.now.clear()
                    await client.subscribe(self._topics, qos=1)
                    ready.set()
                    async for message in client.messages:
                        self._take(str(message.topic), bytes(message.payload or b""))
            self.now.clear()
            await asyncio.sleep(0.05)

    def _take(self, topic: str, payload: bytes) -> None:
        self.seen.append((topic, payload))
        if payload:
            self.now[topic] = payload
        else:
            self.now.pop(topic, None)
        self._stirred.set()

    async def until(self, condition: Callable[[dict[str, bytes]], Any]) -> None:
        """Waits until the topics are as wished."""
        try:
            async with asyncio.timeout(WAIT):
                while not condition(self.now):
                    self._stirred.clear()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.25):
                            await self._stirred.wait()
        except TimeoutError:
            raise AssertionError(f"never as wished; there is {sorted(self.now)}") from None

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


LONG = bool(os.environ.get("QE_LONG"))

IN_TIME = 5.0 if LONG else 60.0
"""Seconds until the list is right, from the broker's first answer; five are promised, on a machine
that has nothing else to do."""


class Publishing:
    """A host in this process, and what publishes it."""

    def __init__(self, host: Host, url: str, **timings: float) -> None:
        self.host = host
        self.id = host.id
        self.feed = Feed(host, read_url(url), **timings)

    @property
    def topic(self) -> str:
        return f"qe/1/hosts/{self.id}"

    def table_topic(self, code: str) -> str:
        return f"qe/1/tables/{self.id}/{code}"

    async def connect(self) -> Connection:
        tls = self.host.settings.tls
        return await Connection.open(self.host.addresses[0][1], tls=tls)

    async def table(self, **fields: Any) -> tuple[Connection, str]:
        """A new table; the connection of whoever opened it, and its code."""
        link = await self.connect()
        wanted = {"game": "qe", "seats": 3, "title": "", "name": "Ana"} | fields
        return link, (await link.ask("create", **wanted))["table"]


def tables_of(card: bytes | None) -> list[str]:
    """The codes that a card lists, in order."""
    return [] if card is None else sorted(t["table"] for t in msgpack.unpackb(card)["tables"])
