"""Which of the tables on a broker is meant; asked in the shell where it is not plain."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

import click
from rich.cells import set_cell_size

from protocol.broker import HostCard
from protocol.errors import CannotConnect
from protocol.messages import TableInfo
from protocol.text import printable
from qe_tui.broker import BrokerHosts
from qe_tui.i18n import _


@dataclass(frozen=True, slots=True)
class Offer:
    """A table on a broker, and the host that published it."""

    host: str
    card: HostCard
    table: TableInfo


async def offers(url: str) -> list[Offer]:
    """All tables on a broker, games that run first. Raises BrokerError and CannotConnect."""
    reader = BrokerHosts(url)
    async with aclosing(reader.hosts()) as reading:
        hosts = await anext(reading)
    if reader.trouble is not None:
        raise CannotConnect(reader.trouble)
    found = [Offer(id, card, table) for id, card in hosts.items() for table in card.tables]
    order = ("playing", "lobby", "over")
    return sorted(
        found,
        key=lambda offer: (
            order.index(offer.table.stage), offer.card.name, offer.host, offer.table.table
        ),
    )  # fmt: skip


def meant(there: Sequence[Offer], wanted: str | None) -> list[Offer]:
    """Those with that code or, where none has it, of hosts with that in their name; all for None.

    A whole name comes before a part of one.
    """
    if wanted is None:
        return list(there)
    word = wanted.strip().casefold()
    coded = [offer for offer in there if offer.table.table.casefold() == word]
    named = [offer for offer in there if word in (offer.card.name.casefold(), offer.host)]
    partly = [offer for offer in there if word and word in offer.card.name.casefold()]
    return coded or named or partly


def ask(choices: Sequence[Offer]) -> Offer:
    """The table that the user picks from a list. Raises click.Abort."""
    row = _row("", _("TABLE"), _("TITLE"), _("HOST"), _("PLAYERS"), _("STAGE"))
    click.echo(row)
    stages = {"lobby": _("lobby"), "playing": _("playing"), "over": _("game over")}
    for number, offer in enumerate(choices, start=1):
        table = offer.table
        players = f"{table.taken}/{table.seats}"
        stage = stages[table.stage]
        row = _row(f"{number}", table.table, table.title, offer.card.name, players, stage)
        click.echo(row)
    number = click.prompt(
        _("Which table do you want to watch?"), type=click.IntRange(1, len(choices)), default=1
    )
    return choices[number - 1]


def _row(number: str, code: str, title: str, host: str, players: str, stage: str) -> str:
    widths = ((number, 4), (code, 7), (title, 22), (host, 20), (players, 9))
    cells = (set_cell_size(printable(text), width - 1) for text, width in widths)
    return " ".join([*cells, stage]).rstrip()
