"""The hosts that announce themselves on the network by mDNS. No Textual here.

Whoever is on the network may announce anything: it is bounded, and believed only as far as it
says whom to ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ifaddr

from protocol import mdns
from protocol.invitation import Where
from protocol.text import printable
from qe_tui.i18n import _

if TYPE_CHECKING:
    from zeroconf.asyncio import AsyncZeroconf

log = logging.getLogger("qe.lan")

MOST_HOSTS = 200
MOST_ADDRESSES = 16

LOOK_EVERY = 2.0
"""Seconds between two looks at this machine's own addresses."""

FORGET_AFTER = 8.0
"""Seconds after which, asked anew, nobody has answered by a name of before."""

ANEW_AFTER = 15.0
"""Seconds until it is asked anew because a host does not answer; doubling to `ANEW_AT_LEAST`."""
ANEW_AT_LEAST = 120.0

_LATER = 0.4
"""Seconds to wait for the rest of a host's addresses."""

_QUESTIONS = (3000, 3000, 6000)
"""Milliseconds that each question about a name waits for its answer."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A host as it was announced. `label` is fit to be shown; `fp` is None without TLS."""

    label: str
    id: str
    fp: str | None
    wheres: tuple[Where, ...]


class Lan:
    """Keeps `sightings`, by the name of the announcement, up to date while `run` runs."""

    def __init__(
        self, changed: Callable[[], None], interfaces: mdns.Interfaces | None = None
    ) -> None:
        self.sightings: dict[str, Sighting] = {}
        self.trouble: str | None = None
        """Why nothing can be found, as a sentence."""
        self._changed = changed
        self._interfaces = interfaces
        self._zeroconf: AsyncZeroconf | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._fresh: set[str] = set()
        self._unanswered: set[str] = set()
        """Names of which nothing more was heard yet: on a bad network, what was asked gets lost."""
        self._again = False
        self._patience = ANEW_AFTER
        self._complained = False

    def look_again(self) -> None:
        """To be called when a host does not answer: it may be announced elsewhere by now."""
        self._again = True

    async def run(self) -> None:
        """Looks until cancelled. Raises nothing else."""
        if mdns.turned_off() and self._interfaces is None:
            self._say(_("Looking for hosts is turned off (QE_NO_DISCOVERY)."))
            return
        while True:
            try:
                await self._look()
            except Exception as error:
                trouble = _("The network cannot be searched for hosts here (mDNS: {reason}).")
                self._complain("Looking for hosts by mDNS failed")
                self._say(trouble.format(reason=type(error).__name__))
                await asyncio.sleep(LOOK_EVERY)

    async def _look(self) -> None:
        """Looks until it should be begun anew: on other interfaces, or since one has moved."""
        own = own_interfaces()
        # The library is large: the screen stays alive while it is loaded.
        library: Any = await asyncio.to_thread(mdns.load)
        zeroconf = mdns.open_mdns(self._interfaces)
        self._zeroconf = zeroconf
        self._fresh = set()
        self._unanswered.clear()
        self._again = False
        began = time.monotonic()
        try:
            browser = library.AsyncServiceBrowser(
                zeroconf.zeroconf, mdns.SERVICE, handlers=[self._noticed]
            )
            only_loopback = all(interface.ip.is_loopback for interface in own)
            alone = only_loopback and self._interfaces is None
            self._say(_("This machine is in no network.") if alone else None)
            while own_interfaces() == own:
                await asyncio.sleep(LOOK_EVERY)
                for name in list(self._unanswered):
                    self._question(name)
                passed = time.monotonic() - began
                if passed > FORGET_AFTER:
                    self._forget_old()
                if self._again and passed > self._patience:
                    self._patience = min(2 * self._patience, ANEW_AT_LEAST)
                    return
            self._patience = ANEW_AFTER
            await browser.async_cancel()
        finally:
            self._zeroconf = None
            for asking in self._asking.values():
                asking.cancel()
            self._asking.clear()
            try:
                await zeroconf.async_close()
            except Exception:
                self._complain("mDNS could not be closed")

    def _forget_old(self) -> None:
        """Forgets who was seen before it was begun anew, and has not been seen since."""
        old = self.sightings.keys() - self._fresh
        for name in old:
            del self.sightings[name]
        if old:
            self._changed()

    def _noticed(self, **event: Any) -> None:
        """Called by the library: a name has come, changed or gone."""
        name: str = event["name"]
        if (asking := self._asking.pop(name, None)) is not None:
            asking.cancel()
        if event["state_change"].name == "Removed":
            self._unanswered.discard(name)
            if self.sightings.pop(name, None) is not None:
                self._changed()
            return
        if name in self.sightings or len(self.sightings) + len(self._asking) < MOST_HOSTS:
            self._question(name)

    def _question(self, name: str) -> None:
        self._unanswered.discard(name)
        self._asking[name] = asyncio.create_task(self._ask(name), name="mDNS question")

    async def _ask(self, name: str) -> None:
        try:
            found = await self._asked(name)
        except Exception:
            self._complain("What somebody announces by mDNS cannot be read")
        else:
            if found is not None:
                self._fresh.add(name)
                if self.sightings.get(name) != found:
                    self.sightings[name] = found
                    self._changed()
        if self._asking.get(name) is asyncio.current_task():
            del self._asking[name]

    async def _asked(self, name: str) -> Sighting | None:
        """What is announced by a name; None where it is no host. Raises whatever the library
        does with what a stranger has made of it."""
        zeroconf = self._zeroconf
        if zeroconf is None:
            return None
        from zeroconf.asyncio import AsyncServiceInfo

        info = AsyncServiceInfo(mdns.SERVICE, name)
        for patience in _QUESTIONS:
            if await info.async_request(zeroconf.zeroconf, patience):
                break
        else:
            self._unanswered.add(name)
            return None
        if all(map(is_link_local, info.parsed_addresses())):
            # The addresses come in several records; that others can type is on its way.
            await asyncio.sleep(_LATER)
            await info.async_request(zeroconf.zeroconf, _QUESTIONS[0])
        notice = mdns.read(info.properties)
        if notice is None or not info.port:
            return None
        return Sighting(
            printable(name.removesuffix(f".{mdns.SERVICE}"))[:40],
            notice.id,
            notice.fp,
            tuple(
                Where(address, info.port, notice.fp is not None, None, notice.fp)
                for address in nearest_first(info.parsed_scoped_addresses())
            ),
        )

    def _complain(self, what: str) -> None:
        """Logs an exception, once: on a bad network it would come again and again."""
        if not self._complained:
            log.warning("%s", what, exc_info=True)
        self._complained = True

    def _say(self, trouble: str | None) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._changed()


Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface
"""An own address and the network that it is in."""


def nearest_first(addresses: Iterable[str]) -> list[str]:
    """Addresses, those in networks of ours first, and link-local ones last."""
    networks = {own.network for own in own_interfaces()}

    def distance(address: str) -> tuple[bool, bool, bool]:
        ip = ipaddress.ip_address(address.partition("%")[0])
        near = any(ip in network for network in networks if network.version == ip.version)
        return is_link_local(address), not near, ip.version == 6

    return sorted(dict.fromkeys(addresses), key=distance)[:MOST_ADDRESSES]


def is_link_local(address: str) -> bool:
    """Whether an IP address counts on one cable only."""
    return ipaddress.ip_address(address.partition("%")[0]).is_link_local


def own_interfaces() -> set[Interface]:
    """This machine's addresses."""
    found = set()
    for adapter in ifaddr.get_adapters():
        for ip in adapter.ips:
            address = ip.ip if isinstance(ip.ip, str) else ip.ip[0]
            with contextlib.suppress(ValueError):
                found.add(
                    ipaddress.ip_interface(f"{address.partition('%')[0]}/{ip.network_prefix}")
                )
    return found
