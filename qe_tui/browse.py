"""All hosts within reach and their tables, live: from the network, and from a broker.

A host is one, however many addresses, interfaces and families it is found at: by its id and its
certificate. It is asked for its tables over one connection that is kept. Nothing is pinned here,
and nothing that somebody announces gets round a pin. No Textual here.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import msgspec

from protocol.broker import HostCard
from protocol.client import Client, Timings, connect
from protocol.errors import CannotConnect, FingerprintChanged, LinkError, QEError
from protocol.invitation import Where, WhereError, code, parse
from protocol.mdns import Interfaces
from protocol.messages import TableInfo, TableList, Tables, decode_result
from protocol.text import printable
from protocol.trust import Pins
from qe_tui.i18n import _
from qe_tui.lan import MOST_ADDRESSES, MOST_HOSTS, Lan, Sighting, is_link_local

if TYPE_CHECKING:
    from qe_tui.broker import BrokerHosts

log = logging.getLogger("qe.browse")

ASK_EVERY = 2.0
"""Seconds between two looks at a host's tables."""
ANSWER_WITHIN = 3.0
"""Seconds after which a host that does not answer is gone from the list."""
STAGGER = 0.05
"""Seconds that an address has before the next one is tried beside it."""
LONGEST_WAIT = 5.0
"""Seconds between two tries to reach a host, at most."""
LONGEST_FOR_STRANGERS = 20.0
"""The same for one that has never answered: anybody may announce anybody's address."""
MISSED_AFTER = 5.0
"""Seconds without an answer until the network is asked anew where a host is."""

MOST_TABLES = 500
_BREATH = 0.2
"""Seconds between two tries at least, however often a host is announced anew."""
_AT_ONCE = 128
"""Addresses that are called at the same time."""
_LARGEST = 9999
"""A number of people, above which a host is not to be believed."""


class Downgraded(CannotConnect):
    """A host that had a certificate is announced without TLS."""

    def __init__(self, where: Where) -> None:
        super().__init__(
            _(
                "{where} is announced without encryption, but it had a certificate before. "
                "Nothing was sent."
            ).format(where=where)
        )


@dataclass(frozen=True, slots=True)
class FoundHost:
    """A host as it answered last; all texts are fit to be shown.

    `wheres` has the address that answered first. `refused` is a sentence where the host is not to
    be trusted: another certificate than before. `by_broker`: nobody here has asked the host itself.
    """

    id: str
    name: str
    version: str
    wheres: tuple[Where, ...]
    tables: tuple[TableInfo, ...] = ()
    refused: str | None = None
    by_broker: bool = False
    error: LinkError | None = field(default=None, compare=False)
    """What `refused` is the sentence of."""

    @property
    def where(self) -> Where:
        return self.wheres[0]


_Key = tuple[str, str | None]
"""A host's id, and its certificate's fingerprint: somebody else may claim the id."""


@dataclass(eq=False)
class _Host:
    """A host that was announced, and what it has answered."""

    label: str
    wheres: tuple[Where, ...]
    found: FoundHost | None = None
    last: Where | None = None
    """Where it answered last."""
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Browser:
    """Looks for hosts as long as it is entered."""

    def __init__(
        self,
        pins: Pins | None = None,
        *,
        broker: BrokerHosts | None = None,
        interfaces: Interfaces | None = None,
    ) -> None:
        """`interfaces` are all of this machine unless given."""
        self._pins = pins
        self._broker = broker
        self._lan = Lan(self._sort_out, interfaces)
        self._hosts: dict[_Key, _Host] = {}
        self._cards: dict[_Key, FoundHost] = {}
        self._changed = asyncio.Event()
        self._calls = asyncio.Semaphore(_AT_ONCE)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def hosts(self) -> list[FoundHost]:
        """The hosts that answer now, by their names."""
        found = dict(self._cards)
        for key, host in self._hosts.items():
            if host.found is not None:
                found[key] = host.found
        hosts = sorted(found.values(), key=lambda host: (host.name.casefold(), host.id))
        return hosts[:MOST_HOSTS]

    @property
    def troubles(self) -> list[str]:
        """Why hosts may be missing, as sentences."""
        troubles = [self._lan.trouble, self._broker.trouble if self._broker else None]
        return [printable(trouble) for trouble in troubles if trouble]

    async def changes(self) -> AsyncIterator[None]:
        """Comes at once, after each change, and every few seconds. For one reader."""
        while True:
            self._changed.clear()
            yield
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ASK_EVERY):
                    await self._changed.wait()

    async def __aenter__(self) -> Self:
        self._tasks.append(asyncio.create_task(self._lan.run(), name="hosts on the network"))
        if self._broker is not None:
            reading = self._read(self._broker)
            self._tasks.append(asyncio.create_task(reading, name="hosts on the broker"))
        return self

    async def __aexit__(self, *error: object) -> None:
        following = [host.task for host in self._hosts.values() if host.task is not None]
        tasks = [*self._tasks, *following]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._hosts.clear()
        self._tasks.clear()

    # --- Hosts on the network ------------------------------------------------------------------

    def _sort_out(self) -> None:
        """What was announced, host by host."""
        sightings: dict[_Key, list[Sighting]] = {}
        for sighting in self._lan.sightings.values():
            sightings.setdefault((sighting.id, sighting.fp), []).append(sighting)
        for key, host in self._hosts.items():
            now = in_turn([sighting.wheres for sighting in sightings.get(key, ())])
            if host.wheres != now:
                host.wheres = now
                host.moved.set()
        for key, seen in sightings.items():
            if key not in self._hosts and len(self._hosts) < MOST_HOSTS:
                wheres = in_turn([sighting.wheres for sighting in seen])
                host = self._hosts[key] = _Host(seen[0].label, wheres)
                host.task = asyncio.create_task(self._follow(key, host), name="a host's tables")
        self._changed.set()

    async def _follow(self, key: _Key, host: _Host) -> None:
        """Keeps what a host answers up to date, until nobody announces it any more."""
        answered = time.monotonic()
        wait, longest = 0.5, LONGEST_FOR_STRANGERS
        try:
            while host.wheres:
                host.moved.clear()
                try:
                    async for found in self._answers(key[0], host):
                        answered, wait, longest = time.monotonic(), 0.5, LONGEST_WAIT
                        self._show(host, found)
                except (FingerprintChanged, Downgraded) as error:
                    refused = printable(str(error))
                    found = FoundHost(
                        key[0], host.label, "", host.wheres, refused=refused, error=error
                    )
                    self._show(host, found)
                except QEError:
                    self._show(host, None)
                if time.monotonic() - answered > MISSED_AFTER:
                    self._lan.look_again()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await host.moved.wait()
                await asyncio.sleep(_BREATH)
                wait = min(2 * wait, longest)
        finally:
            if self._hosts.get(key) is host:
                del self._hosts[key]
            self._changed.set()

    async def _answers(self, id: str, host: _Host) -> AsyncIterator[FoundHost]:
        """What a host says, again and again over one connection. Raises QEError when it is lost."""
        wheres = sorted(host.wheres, key=lambda where: where != host.last)
        client, where = await reach(wheres, id, self._pins, self._calls)
        host.last = where
        try:
            while True:
                others = [other for other in host.wheres if other != where]
                found = await answered(client, (where, *others))
                yield found if found.name else replace(found, name=host.label)
                await asyncio.sleep(ASK_EVERY)
                if host.moved.is_set() and is_link_local(where.address):
                    return  # an address that others could type may have been announced since
        finally:
            await client.close()

    def _show(self, host: _Host, found: FoundHost | None) -> None:
        if host.found != found:
            host.found = found
            self._changed.set()

    # --- Hosts on a broker ---------------------------------------------------------------------

    async def _read(self, broker: BrokerHosts) -> None:
        try:
            async for cards in broker.hosts():
                self._cards = dict(_card_hosts(cards))
                self._changed.set()
        except Exception:
            log.exception("Looking for hosts on the broker failed")


def _card_hosts(cards: Mapping[str, HostCard]) -> list[tuple[_Key, FoundHost]]:
    found = []
    for id, card in list(cards.items())[:MOST_HOSTS]:
        fingerprint = card.fp.lower() if card.tls and card.fp else None
        wheres = []
        for address in card.addresses[:MOST_ADDRESSES]:
            with contextlib.suppress(WhereError):
                # Read as an invitation is, so that the fingerprint is one.
                typed = Where(parse(address).address, card.port, card.tls, None, fingerprint)
                wheres.append(parse(typed.invitation))
        if wheres and (fingerprint is not None or not card.tls):
            key = (id, fingerprint)
            name = printable(card.name)[:40] or "?"
            version = printable(card.version)[:20]
            tables = sane(card.tables)
            found.append((key, FoundHost(id, name, version, tuple(wheres), tables, by_broker=True)))
    return found


# --- One host ---------------------------------------------------------------------------------


def in_turn(announced: Sequence[Sequence[Where]]) -> tuple[Where, ...]:
    """The addresses of a host as several announcements have them: the first of each, then the
    second of each. Anybody may announce it elsewhere too, and shall not hide where it is."""
    rows = itertools.zip_longest(*announced)
    return tuple(dict.fromkeys(where for row in rows for where in row if where is not None))


async def reach(
    wheres: Sequence[Where],
    id: str,
    pins: Pins | None,
    calls: asyncio.Semaphore | None = None,
) -> tuple[Client, Where]:
    """A connection to the host of that id, by whichever address answers first.

    `calls` bounds how many addresses are called at once, by all who share it. Raises
    FingerprintChanged and Downgraded where the host is not to be trusted, and CannotConnect where
    it is at none of the addresses.
    """
    if any(not where.tls for where in wheres) and pins is not None and _certified(pins, id):
        raise Downgraded(wheres[0])
    coming = list(wheres)
    trying: dict[asyncio.Task[Client], Where] = {}
    calls = calls or asyncio.Semaphore(_AT_ONCE)
    refusal: LinkError | None = None
    try:
        while coming or trying:
            if coming:
                where = coming.pop(0)
                trying[asyncio.create_task(_call(where, id, pins, calls), name="a call")] = where
            done, _pending = await asyncio.wait(
                trying, timeout=STAGGER if coming else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                where = trying[task]
                try:
                    client = task.result()
                except FingerprintChanged as error:
                    del trying[task]
                    # Another host at an address that was announced is no reason for alarm.
                    if error.pinned != where.fingerprint:
                        refusal = error
                except QEError:
                    del trying[task]
                else:
                    del trying[task]
                    return client, where
    finally:
        await _end(trying)
    raise refusal or CannotConnect(_("The host does not answer."))


async def _call(where: Where, id: str, pins: Pins | None, calls: asyncio.Semaphore) -> Client:
    async with calls:
        client = await connect(
            where.address,
            where.port,
            tls=where.tls,
            pins=pins,
            fingerprint=where.fingerprint,
            host_id=id,
            timeout=ANSWER_WITHIN,
            timings=Timings(answer=ANSWER_WITHIN, closing=0.2),
        )
    if client.welcome.host.id != id:
        await client.close()
        raise CannotConnect(_("Another host answers at this address."))
    return client


async def _end(calls: Mapping[asyncio.Task[Client], Where]) -> None:
    """Hangs up on those that were slower."""
    for call in calls:
        call.cancel()
    for client in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(client, Client):
            await client.close()


def _certified(pins: Pins, id: str) -> bool:
    try:
        return pins.certificate(id) is not None
    except OSError as error:
        raise CannotConnect(
            _("The file of known certificates cannot be read: {reason}.").format(
                reason=error.strerror or error
            )
        ) from None


async def answered(client: Client, wheres: tuple[Where, ...]) -> FoundHost:
    """What a host says of itself and its tables, made fit to be shown. Raises QEError."""
    said = client.welcome.host
    tables = sane(decode_result(await client.ask(Tables()), TableList).tables)
    return FoundHost(
        said.id, printable(said.name)[:40], printable(said.version)[:20], wheres, tables
    )


def sane(tables: Sequence[TableInfo]) -> tuple[TableInfo, ...]:
    """Tables as they may be shown: those that make sense, each once, their titles made fit for a
    screen."""
    found: dict[str, TableInfo] = {}
    for table in tables[:MOST_TABLES]:
        numbers = (table.seats, table.taken, table.free, table.bots, table.spectators)
        with contextlib.suppress(WhereError):
            if all(0 <= number <= _LARGEST for number in numbers):
                fit = msgspec.structs.replace(
                    table,
                    table=code(table.table),
                    title=printable(table.title)[:40],
                    game=printable(table.game)[:20],
                )
                found[fit.table] = fit
    return tuple(found.values())
