"""Who is at the doors: how many connections there may be, from where, and who makes room.

A connection is half-finished until its `hello` has been answered: to hold one costs nothing but a
packet, so there are few, and the newest ones win. A whole one counts against `--max-connections`.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

HALF_FINISHED = 512
"""Half-finished connections that there may be at once. A TLS handshake on a LAN takes a few
milliseconds, so that a hundred players who arrive in the same second are far below it."""

FAIR_SHARE = 8
"""An address may have this many times as many connections, or tables, as there are free places. So
one alone gets no more than 8 of 9 places, 1,777 of 2,000, which is enough for all who sit behind
one router; somebody at another address still finds a place. Below ten places nothing is kept back.
"""


def may_take(its: int, free: int) -> bool:
    """Whether an address that has `its` places may take one more of the free ones."""
    return free > 0 and its <= FAIR_SHARE * free


def half_finished(max_connections: int) -> int:
    """How many connections there may be beside `max_connections` that have not said hello."""
    return max(64, min(HALF_FINISHED, max_connections))


def origin(address: str) -> str:
    """Whom an address stands for, where failures, chat and connections are counted.

    An IPv6 network of 64 bits is one: whoever has an address there has all of them. An IPv4
    address that is written as an IPv6 one is the IPv4 address.

    >>> origin("::ffff:192.0.2.7"), origin("2001:db8:1:2:3:4:5:6"), origin("fe80::1%eth0")
    ('192.0.2.7', '2001:db8:1:2::/64', 'fe80::/64')
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    if ip.is_loopback:
        return str(ip)
    return str(ipaddress.ip_network((ip.packed[:8] + bytes(8), 64)))


@dataclass(eq=False, slots=True)
class Caller:
    """A connection, from when it was accepted to its end.

    `address` is what is logged, `origin` what counts; `since` and `hello_by`, until when `hello`
    must have come, are the event loop's seconds. `send_away` is set to what ends the connection.
    """

    address: str
    origin: str
    since: float
    hello_by: float
    send_away: Callable[[], object] = lambda: None
    whole: bool = False


class Callers:
    """All connections of a host, and the limits to them."""

    def __init__(self, max_connections: int) -> None:
        self._most = max_connections
        self._most_pending = half_finished(max_connections)
        self._pending: dict[str, dict[Caller, None]] = {}
        """By origin, oldest first."""
        self._admitted: Counter[str] = Counter()

    @property
    def pending(self) -> int:
        return sum(map(len, self._pending.values()))

    @property
    def admitted(self) -> int:
        return self._admitted.total()

    def arrived(self, caller: Caller) -> Caller | None:
        """Counts a newcomer, half-finished as yet. Gives the one that makes room for it, if any:
        the oldest of the origin that has the most, which is counted no more."""
        evicted = None
        if self.pending >= self._most_pending:
            busiest = max(
                self._pending.values(), key=lambda those: (len(those), -_oldest(those).since)
            )
            evicted = _oldest(busiest)
            self.left(evicted)
        elif len(self._pending.get(caller.origin, ())) >= self._most_pending * 3 // 4:
            evicted = _oldest(self._pending[caller.origin])
            self.left(evicted)
        self._pending.setdefault(caller.origin, {})[caller] = None
        return evicted

    def has_place(self, caller: Caller) -> bool:
        """Whether there is a place for one more whole connection from there."""
        return may_take(self._admitted[caller.origin], self._most - self.admitted)

    def greeted(self, caller: Caller) -> bool:
        """Makes a half-finished connection a whole one. False where there is no place for it."""
        if not self.has_place(caller):
            return False
        self.left(caller)
        self._admitted[caller.origin] += 1
        caller.whole = True
        return True

    def left(self, caller: Caller) -> None:
        """Counts a connection no more; it may have been forgotten before."""
        if caller.whole:
            caller.whole = False
            self._admitted[caller.origin] -= 1
            if not self._admitted[caller.origin]:
                del self._admitted[caller.origin]
        elif caller in (those := self._pending.get(caller.origin, {})):
            del those[caller]
            if not those:
                del self._pending[caller.origin]


def _oldest(those: dict[Caller, None]) -> Caller:
    return next(iter(those))
