"""Makes a host known on its network by mDNS, as docs/protocol.md, Finding a host, says.

All of it happens in the background. It may take seconds or fail, and the host runs on. When the
machine's addresses change, since a laptop has moved to another network, the host is announced anew.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import ifaddr

from protocol import mdns
from protocol.invitation import Where, say_aloud
from server.host import Host

if TYPE_CHECKING:
    from zeroconf.asyncio import AsyncZeroconf

log = logging.getLogger(__name__)

LOOK_EVERY = 10.0
"""Seconds between two looks at this machine's addresses."""

CLOSE_WITHIN = 1.5
"""Seconds that the goodbye may take."""

_MOST_ADDRESSES = 16


class Announcer:
    """Announces a host from `start` to `stop`."""

    def __init__(
        self,
        name: str,
        port: int,
        notice: mdns.Notice,
        addresses: Callable[[], list[str]],
        *,
        interfaces: mdns.Interfaces | None = None,
        look_every: float = LOOK_EVERY,
    ) -> None:
        """`addresses` gives where the host is reached now; `interfaces` are all unless given."""
        self._name = name
        self._port = port
        self._notice = notice
        self._addresses = addresses
        self._interfaces = interfaces
        self._look_every = look_every
        self._zeroconf: AsyncZeroconf | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="announcing")

    async def stop(self) -> None:
        """Says goodbye. Takes a moment at most and raises nothing."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._close()

    async def _run(self) -> None:
        announced: list[str] = []
        complained = False
        while True:
            try:
                addresses = self._addresses()
                if addresses != announced:
                    await self._close()
                    announced = []
                    if addresses:
                        await self._announce(addresses)
                    announced = addresses
            except Exception as error:
                # Whatever it is, others can still type an address, and the games go on.
                if not complained:
                    log.warning(
                        "The host cannot be announced on the network by mDNS (%s); "
                        "guests can type its address.",
                        type(error).__name__,
                    )
                complained = True
            await asyncio.sleep(self._look_every)

    async def _announce(self, addresses: list[str]) -> None:
        # The library is large: the host answers while it is loaded.
        library = await asyncio.to_thread(mdns.load)
        info = library.AsyncServiceInfo(
            mdns.SERVICE,
            f"{mdns.instance(self._name)}.{mdns.SERVICE}",
            port=self._port,
            properties=mdns.properties(self._notice),
            server=f"qe-{self._notice.id[:32]}.local.",
            parsed_addresses=addresses,
        )
        self._zeroconf = mdns.open_mdns(self._interfaces)
        sent = await self._zeroconf.async_register_service(info, allow_name_change=True)
        await sent

    async def _close(self) -> None:
        zeroconf, self._zeroconf = self._zeroconf, None
        if zeroconf is None:
            return
        try:
            async with asyncio.timeout(CLOSE_WITHIN):
                await zeroconf.async_close()
        except Exception as error:
            log.info("saying goodbye by mDNS failed (%s)", type(error).__name__)


def announcer(host: Host) -> Announcer | None:
    """What announces a host that listens; None where nobody is to find it."""
    if not host.settings.discovery:
        return None
    bound = [address for address, _port in host.addresses]
    if all(_is_loopback(address) for address in bound):
        return None
    return Announcer(
        host.settings.name,
        host.addresses[0][1],
        mdns.Notice(id=host.id, fp=host.fingerprint),
        lambda: own_addresses(bound),
    )


def own_addresses(bound: Collection[str]) -> list[str]:
    """Where others reach what listens at `bound`: no loopback, link-local addresses last.

    That of the way to the internet comes first, as it is the likeliest to be everybody's.
    """
    four, six = "0.0.0.0" in bound, "::" in bound
    found = [address for address in bound if address not in {"0.0.0.0", "::"}]
    if four or six:
        for adapter in ifaddr.get_adapters():
            for ip in adapter.ips:
                if isinstance(ip.ip, str):
                    found += [ip.ip] if four else []
                else:
                    found += [ip.ip[0]] if six else []
    first = _towards_the_internet() if four else None
    plain = dict.fromkeys(address.partition("%")[0] for address in found)
    others = sorted(
        (address for address in plain if not _is_loopback(address)),
        key=lambda address: (address != first, _is_link_local(address), ":" in address),
    )
    return others[:_MOST_ADDRESSES]


def invitation(host: Host, address: str, port: int) -> list[str]:
    """What a host prints about itself for people: the invitation, and what to say aloud."""
    where = Where(address, port, host.fingerprint is not None, fingerprint=host.fingerprint)
    standing = [table.room for table in host.tables if table.room.standing]
    free = [room.code for room in standing if room.first_open() is not None]
    table = free[0] if free else None
    invited = Where(where.address, where.port, where.tls, table, where.fingerprint)
    return [f"invitation {invited.invitation}", f"say aloud  {say_aloud(where)}"]


def _towards_the_internet() -> str | None:
    """The own address on the default route. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # kept for documentation: nobody's address
            address: str = probe.getsockname()[0]
        except OSError:
            return None
    return address


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _is_link_local(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_link_local
