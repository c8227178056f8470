"""What hosts have published on a broker: who they are, and their tables. No Textual here.

All that comes from a broker is hostile: what makes no sense is passed over, and only so much of
the rest is kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

from aiomqtt import Client, Message

from protocol.broker import HOSTS, HostCard, host_of, read_card, read_url
from protocol.errors import WireError
from protocol.frames import LIMIT_FROM_HOST
from protocol.mqtt import BrokerAway, can_run, connected, subscribed
from protocol.stay import Backoff
from qe_tui.i18n import _

log = logging.getLogger("qe.broker")

MOST_HOSTS = 500
"""How many hosts of one broker are listed."""

MOST_TOPICS = 2 * MOST_HOSTS
"""How many topics' messages wait to be read."""

MOST_BYTES = 32 * 1024 * 1024
"""How much waits to be read, and how large all cards may be together."""

QUIET = 0.3
"""Seconds without another message after which what a broker retains is taken to be all there."""

SETTLED_WITHIN = 3.0
"""Seconds after which it is taken to be all there in any case."""

BACKOFF = Backoff(first=0.5, longest=3.0)


class Newest(asyncio.Queue[Message]):
    """Of each topic the newest message only, and only so much of everything. What is too large or
    too much is lost."""

    _queue: dict[str, Message]
    _bytes: int

    def _init(self, maxsize: int) -> None:
        self._queue = {}
        self._bytes = 0

    def _put(self, item: Message) -> None:
        topic, size = str(item.topic), len(item.payload)
        before = self._queue.get(topic)
        grown = self._bytes + size - (len(before.payload) if before is not None else 0)
        if size > LIMIT_FROM_HOST or grown > MOST_BYTES:
            return
        if before is not None or len(self._queue) < MOST_TOPICS:
            self._queue[topic] = item
            self._bytes = grown

    def _get(self) -> Message:
        item = self._queue.pop(next(iter(self._queue)))
        self._bytes -= len(item.payload)
        return item


async def subscribe(client: Client, *topics: str) -> None:
    """Has the broker tell of these topics, what it retains first. Raises BrokerAway."""
    if not await subscribed(client, *topics, qos=1):
        raise BrokerAway(_("The broker does not let us read what hosts publish."), refused=True)


class BrokerHosts:
    """The hosts on a broker, live.

    `trouble` is a sentence while the broker is away, and None while it stands. What was known of
    the hosts is kept meanwhile: they may be there all the same.
    """

    def __init__(self, url: str) -> None:
        """Raises BrokerError, a sentence, for a URL that makes no sense."""
        self.broker = read_url(url)
        self.trouble: str | None = None
        self.answered = False
        """Whether the broker has ever told what it retains."""
        self._hosts: dict[str, HostCard] = {}
        self._sizes: dict[str, int] = {}
        self._complained = False

    async def hosts(self) -> AsyncGenerator[dict[str, HostCard], None]:
        """All hosts by their id, once those that are there are known, and again at each change of
        them or of `trouble`. Ends only where this program's event loop cannot speak to a broker,
        with `trouble` set."""
        if not can_run():
            self.trouble = _("A broker cannot be read from here on Windows.")
            yield {}
            return
        waits = BACKOFF.waits()
        while True:
            try:
                async with connected(self.broker, queue=Newest) as client:
                    await subscribe(client, f"{HOSTS}/+")
                    self._hosts, self._sizes = {}, {}
                    await self._settle(client)
                    self.trouble, self.answered = None, True
                    waits = BACKOFF.waits()
                    yield dict(self._hosts)
                    async for message in client.messages:
                        if self._take(message) and not len(client.messages):
                            yield dict(self._hosts)
            except BrokerAway as error:
                if self.trouble != str(error):
                    self.trouble = str(error)
                    yield dict(self._hosts)
            await asyncio.sleep(next(waits))

    async def _settle(self, client: Client) -> None:
        """Takes what is retained."""
        loop = asyncio.get_running_loop()
        messages = client.messages
        end = loop.time() + SETTLED_WITHIN
        quiet = loop.time() + QUIET
        while loop.time() < min(end, quiet):
            if len(messages):
                self._take(await anext(messages))
                quiet = loop.time() + QUIET
            else:
                await asyncio.sleep(QUIET / 10)

    def _take(self, message: Message) -> bool:
        """Whether another list of hosts follows from a message."""
        host = host_of(str(message.topic))
        if host is None:
            return False
        if not message.payload:
            self._sizes.pop(host, None)
            return self._hosts.pop(host, None) is not None
        try:
            card = read_card(message.payload)
        except WireError as error:
            if not self._complained:
                log.warning("A host's card on the broker makes no sense: %s", error)
            self._complained = True
            return False
        if card == self._hosts.get(host):
            return False
        sizes = self._sizes | {host: len(message.payload)}
        if len(sizes) > MOST_HOSTS or sum(sizes.values()) > MOST_BYTES:
            return False
        self._hosts[host], self._sizes = card, sizes
        return True
