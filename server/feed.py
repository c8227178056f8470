"""What is public of a host, published on a broker: docs/protocol.md, Broker.

Tables only note here that they have changed. One task publishes what each of them is like by the
time the broker takes it, so that a slow broker, or none at all, costs a table nothing and the host
no memory: what is missed is made up for by the newest view.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from secrets import token_hex

import msgspec
from aiomqtt import Client, Will

from protocol.broker import (
    TABLES,
    Broker,
    HostCard,
    host_topic,
    table_of,
    table_topic,
)
from protocol.errors import Refused
from protocol.frames import HEADER_SIZE, pack
from protocol.mqtt import BrokerAway, connected, subscribed
from server.announce import own_addresses
from server.host import Host, program_version
from server.safelog import where
from server.table import Table

log = logging.getLogger(__name__)

RETRY_FIRST, RETRY_LONGEST = 0.5, 3.0
"""Seconds until a broker that is away is tried again, doubling from the one to the other."""

RETRY_REFUSED = 15.0
"""Seconds until a broker is tried again that does not want this user or password."""

TAKEN_WITHIN = 10.0
"""Seconds that a broker has to say that it has got something."""

CARD_EVERY = 1.0

REFRESH_EVERY = 10.0
"""Seconds after which the card is published though it is the same: an older connection's last
will may have taken it away, and this machine may have another address."""

SWEEP_FOR = 3.0

STOP_WITHIN = 2.0
"""Seconds for taking back what is published when the host stops."""

MOST_UNREAD = 1000
MOST_STRAYS = 10_000
"""How much of what was left is looked at."""


class Feed:
    """Publishes a host on a broker, from `start` to `stop`."""

    def __init__(
        self,
        host: Host,
        broker: Broker,
        *,
        card_every: float = CARD_EVERY,
        sweep_for: float = SWEEP_FOR,
    ) -> None:
        """`card_every` is the least seconds from one card to the next, `sweep_for` the seconds of
        looking, once connected, for what was left on the broker from before."""
        self._host = host
        self._id = host.id
        self._topic = host_topic(host.id)
        self._card_every = card_every
        self._sweep_for = sweep_for
        self._broker = broker
        self._identifier = f"qe-{token_hex(8)}"
        """Nobody can guess it: whoever comes with it would take this connection's place."""
        self._changed: dict[str, None] = {}
        """The tables to look at, those that have waited longest first."""
        self._shown: dict[str, bytes] = {}
        """The frames that the broker has, by table; nothing when it has just come back."""
        self._left: set[str] = set()
        """The tables of which the broker may have something, from whatever time."""
        self._card = b""
        self._card_at = self._looked_at = -math.inf
        """When the card was published, and when it was last seen to be right."""
        self._card_stale = False
        self._stirred = asyncio.Event()
        self._serving = False
        self._stopping = False
        self._away: str | None = None
        self._mirrored = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Publishes the host, which listens by now."""
        self._host.listeners.append(self._note)
        self._task = asyncio.create_task(self._run(), name="broker")

    async def stop(self) -> None:
        """Takes back what is published. Takes a moment at most and raises nothing."""
        if self._note in self._host.listeners:
            self._host.listeners.remove(self._note)
        self._stopping = True
        self._stirred.set()
        if self._task is not None:
            if self._serving:
                await asyncio.wait({self._task}, timeout=STOP_WITHIN)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _note(self, table: Table) -> None:
        """A table has changed: all that is done about it while the table waits."""
        with contextlib.suppress(Refused):  # one that could not be opened has no code
            self._changed[table.room.code] = None
        self._card_stale = True
        self._stirred.set()

    # --- The connection -----------------------------------------------------------------------

    async def _run(self) -> None:
        wait = RETRY_FIRST
        while not self._stopping:
            try:
                async with connected(
                    self._broker,
                    identifier=self._identifier,
                    will=Will(self._topic, b"", qos=1, retain=True),
                    most_unread=MOST_UNREAD,
                ) as client:
                    wait = RETRY_FIRST
                    self._is_back()
                    await self._serve(client)
            except BrokerAway as error:
                self._is_away(str(error))
                if error.refused:
                    wait = RETRY_REFUSED
            except Exception as error:
                # Whatever it is, the games go on without the broker.
                self._is_away(f"Publishing on the broker failed: {where(error)}.")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait * random.uniform(0.75, 1.0)):
                    await self._until_stopping()
            wait = min(2 * wait, RETRY_LONGEST)

    async def _until_stopping(self) -> None:
        while not self._stopping:
            self._stirred.clear()
            await self._stirred.wait()

    def _is_away(self, sentence: str) -> None:
        if self._away is None and not self._stopping:
            log.warning("%s The games go on without it; it is tried again.", sentence)
        elif self._away != sentence:
            log.info("%s", sentence)
        self._away = sentence

    def _is_back(self) -> None:
        if self._away is not None:
            log.warning("The broker %s is back.", self._broker)
        else:
            log.info("The host is published on the broker %s.", self._broker)
        self._away = None

    async def _serve(self, client: Client) -> None:
        """Publishes until the connection is lost, or until all is taken back at the end."""
        self._shown.clear()
        self._card_at = self._looked_at = -math.inf
        self._mirrored = False
        tables = [table.room.code for table in self._host.tables]
        self._changed = dict.fromkeys([*self._changed, *tables, *self._left])
        publishing = asyncio.create_task(self._publish(client))
        tasks = {
            publishing,
            asyncio.create_task(self._listen(client)),
            asyncio.create_task(self._sweep(client)),
        }
        pending: set[asyncio.Task[None]] = tasks
        self._serving = True
        try:
            while not publishing.done():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            self._serving = False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # --- What is published --------------------------------------------------------------------

    async def _publish(self, client: Client) -> None:
        while not self._stopping:
            self._stirred.clear()
            # The card first: a list of tables is made of it.
            await self._publish_card(client)
            if self._changed:
                await self._publish_table(client, next(iter(self._changed)))
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self._card_due()):
                    await self._stirred.wait()
        await self._put(client, self._topic, b"")
        for code in list(self._left):
            await self._put(client, table_topic(self._id, code), b"")

    def _card_due(self) -> float:
        refresh = self._card_at + REFRESH_EVERY
        return min(refresh, self._looked_at + self._card_every) if self._card_stale else refresh

    async def _publish_card(self, client: Client) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._card_due():
            return
        self._looked_at, self._card_stale = now, False
        card = pack(msgspec.to_builtins(self._make_card()))
        if card != self._card or now >= self._card_at + REFRESH_EVERY:
            await self._put(client, self._topic, card)
            self._card, self._card_at = card, now

    def _make_card(self) -> HostCard:
        host = self._host
        bound = [address for address, _port in host.addresses]
        return HostCard(
            name=host.settings.name,
            version=program_version(),
            addresses=own_addresses(bound) or ["127.0.0.1" if "0.0.0.0" in bound else bound[0]],
            port=host.addresses[0][1],
            tls=host.settings.tls,
            fp=host.fingerprint,
            tables=[table.info() for table in host.tables if table.room.password is None],
        )

    async def _publish_table(self, client: Client, code: str) -> None:
        """Brings what the broker has of a table up to date; of a locked one it never has any."""
        del self._changed[code]
        frame = self._frame(code)
        if frame is not None:
            if frame != self._shown.get(code):
                self._left.add(code)
                await self._put(client, table_topic(self._id, code), frame[HEADER_SIZE:])
                self._shown[code] = frame
        elif code in self._left:
            self._shown.pop(code, None)
            await self._put(client, table_topic(self._id, code), b"")
            self._left.discard(code)

    def _frame(self, code: str) -> bytes | None:
        try:
            return self._host.table(code).public_view()
        except Refused:
            return None

    async def _put(self, client: Client, topic: str, payload: bytes) -> None:
        await client.publish(topic, payload, qos=1, retain=True, timeout=TAKEN_WITHIN)

    # --- What was left ------------------------------------------------------------------------

    async def _sweep(self, client: Client) -> None:
        """Has the broker tell for a while what it has under this host's name."""
        topics = [f"{TABLES}/{self._id}/+", self._topic]
        if not await subscribed(client, *topics, qos=0):
            return
        await asyncio.sleep(self._sweep_for)
        await client.unsubscribe(topics)
        if self._card and not self._mirrored:
            log.warning(
                "The broker %s shows this host nothing of what it publishes. "
                "Does its ACL let the user write and read qe/1/#?",
                self._broker,
            )

    async def _listen(self, client: Client) -> None:
        """Notes what is to be cleared. Only the topics are read, and nothing else follows from
        them. Ends by an exception when the connection is lost."""
        async for message in client.messages:
            topic = str(message.topic)
            self._mirrored = self._mirrored or topic == self._topic
            host, code = table_of(topic) or ("", "")
            stray = message.retain and host == self._id and code not in self._shown
            if stray and len(self._left) < MOST_STRAYS:
                self._left.add(code)
                self._changed[code] = None
                self._stirred.set()
