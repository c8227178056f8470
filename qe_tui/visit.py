"""One visit to one host: the place kept there, and what brought us. No Textual here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

from protocol.errors import CannotConnect
from protocol.invitation import Where
from protocol.messages import (
    Body,
    Join,
    Reacted,
    Said,
    TableInfo,
    TableList,
    Tables,
    View,
    Welcome,
    decode_result,
)
from protocol.stay import Back, Lost, Stay
from protocol.tokens import Wallet
from protocol.trust import Pins
from qe_tui.browse import sane
from qe_tui.hosting import Running
from qe_tui.i18n import _
from qe_tui.settings import Home


class Place(Protocol):
    """A place at a host as the screens know it: `Stay` at the host itself, `BrokerStay` through a
    broker. What each does is said at `Stay`."""

    @property
    def welcome(self) -> Welcome: ...
    @property
    def fingerprint(self) -> str | None: ...
    @property
    def clock(self) -> int: ...
    async def ask(self, body: Body) -> dict[str, Any]: ...
    def events(self) -> AsyncIterator[View | Said | Reacted | Lost | Back]: ...
    def saved(self, table: str, name: str) -> str | None: ...
    def seat_here(self, name: str) -> Join | None: ...
    async def close(self) -> None: ...


@dataclass(eq=False)
class Visit:
    """A connection that came to stand, by whatever way.

    `running` is the host where this client runs it; `private` says that it is nobody else's, so
    that it ends with the visit. `broker` is the broker's address where the table is watched through
    one, and nothing can be asked.
    """

    stay: Place
    where: Where
    welcome: Welcome
    name: str
    wallet: Wallet
    running: Running | None = None
    private: bool = False
    table: str | None = None
    watching: bool = False
    broker: str | None = None

    async def tables(self) -> list[TableInfo]:
        """The tables at the host now, as they may be shown. Raises Refused and LinkError."""
        return list(sane(decode_result(await self.stay.ask(Tables()), TableList).tables))

    def saved(self, table: str) -> str | None:
        """The token of a seat kept at a table, if no other program here uses it."""
        return self.stay.saved(table, self.name)

    def kept(self) -> list[tuple[str, str]]:
        """Table and name of each seat kept at this host that no program here uses."""
        return self.wallet.seats(self.welcome.host.id)

    @property
    def addresses(self) -> list[str]:
        """What to tell others, where this client runs the host."""
        return self.running.addresses if self.running and not self.private else []

    async def close(self) -> None:
        """Ends the connection; a seat is kept."""
        await self.stay.close()


async def visit(
    home: Home,
    where: Where,
    name: str,
    *,
    running: Running | None = None,
    host_id: str | None = None,
) -> Visit:
    """Connects, to that host and no other where `host_id` is given.

    A host that this client started itself is not pinned: it has told its certificate. Raises
    LinkError, whose message is a sentence for people.
    """
    wallet = Wallet(home.tokens)
    stay = Stay(
        where.address,
        where.port,
        tls=where.tls,
        pins=None if running else Pins(home.pins),
        wallet=wallet,
        fingerprint=where.fingerprint,
        host_id=host_id,
    )
    try:
        welcome = await stay.open()
        if host_id is not None and welcome.host.id != host_id:
            raise CannotConnect(_("Another host answers at {where}.").format(where=where))
    except BaseException:
        await stay.close()
        raise
    return Visit(stay, where, welcome, name, wallet, running)
