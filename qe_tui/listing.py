"""`qe tables`: the tables of all hosts within reach, printed. No Textual here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import click
import msgspec
from wcwidth import wcswidth

from protocol.client import connect
from protocol.errors import FingerprintChanged, QEError
from protocol.invitation import Where
from protocol.messages import TableInfo
from protocol.text import printable
from protocol.trust import Pins
from qe_tui.browse import Browser, FoundHost, answered
from qe_tui.i18n import _
from qe_tui.terminal import another_certificate

TITLE_CELLS = 24
NAME_CELLS = 20


async def found(
    pins: Pins, broker: str | None, seconds: float
) -> tuple[list[FoundHost], list[str]]:
    """What is found within some seconds, and what stands in the way. Raises BrokerError.

    There is no sooner end: nobody knows who has yet to answer.
    """
    hosts = None
    if broker is not None:
        from qe_tui.broker import BrokerHosts

        hosts = BrokerHosts(broker)
    async with Browser(pins, broker=hosts) as browser:
        await asyncio.sleep(seconds)
        troubles = browser.troubles
        if hosts is not None and hosts.trouble is None and not hosts.answered:
            troubles.append(_("The broker has not answered in that time."))
        return browser.hosts, troubles


async def asked(pins: Pins, wheres: Sequence[Where]) -> tuple[list[FoundHost], list[str]]:
    """What hosts at addresses answer, and for those that did not, why."""
    answers = await asyncio.gather(*(_ask(pins, where) for where in wheres))
    return (
        [answer for answer in answers if isinstance(answer, FoundHost)],
        [answer for answer in answers if isinstance(answer, str)],
    )


async def _ask(pins: Pins, where: Where) -> FoundHost | str:
    try:
        client = await connect(
            where.address, where.port, tls=where.tls, pins=pins, fingerprint=where.fingerprint
        )
        try:
            shown = replace(where, fingerprint=client.fingerprint, table=None)
            return await answered(client, (shown,))
        finally:
            await client.close()
    except FingerprintChanged as error:
        return printable(another_certificate(error))
    except QEError as error:
        return printable(str(error))


def as_json(hosts: Iterable[FoundHost]) -> str:
    """A list with an object a table: what the host says of it, and of itself. docs/protocol.md
    has the first; `invitation` is what `qe join` takes."""
    rows: list[dict[str, Any]] = [
        {
            "host": host.name,
            "host_id": host.id,
            "address": host.where.address,
            "port": host.where.port,
            "tls": host.where.tls,
            "fp": host.where.fingerprint,
            **msgspec.to_builtins(table),
            "invitation": replace(host.where, table=table.table).invitation,
        }
        for host in hosts
        for table in host.tables
    ]
    return json.dumps(rows, indent=1)


def as_lines(hosts: Sequence[FoundHost]) -> list[str]:
    """A line a table under a heading, and one for each host that has none."""
    rows: list[tuple[str, ...]] = [
        (
            _("HOST"),
            _("ADDRESS"),
            _("TABLE"),
            _("TITLE"),
            _("STAGE"),
            _("PLAYERS"),
            _("FREE"),
            _("LOCK"),
        )
    ]
    for host in hosts:
        name, address = short(host.name, NAME_CELLS), host.where.short
        rows += [(name, address, *_cells(table, host.where.tls)) for table in host.tables]
        if not host.tables and not host.refused:
            rows.append((name, address, "-", "", _("no table yet"), "-", "-", ""))
    if len(rows) == 1:
        return []
    widths = [max(wcswidth(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell + " " * (width - wcswidth(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _cells(table: TableInfo, tls: bool) -> tuple[str, ...]:
    stages = {"lobby": _("lobby"), "playing": _("playing"), "over": _("game over")}
    return (
        table.table,
        short(table.title, TITLE_CELLS),
        stages[table.stage],
        f"{table.taken}/{table.seats}",
        str(table.free),
        ", ".join([_("password")] * table.locked + [_("no TLS")] * (not tls)),
    )


def short(text: str, cells: int) -> str:
    """A text cut to a number of cells, which an ellipsis then ends."""
    if wcswidth(text) <= cells:
        return text
    while wcswidth(text) > cells - 3:
        text = text[:-1]
    return text.rstrip() + "..."


def say(hosts: Sequence[FoundHost], troubles: Iterable[str], *, json: bool) -> None:
    """Tables go to standard output, and what there is to say about them to standard error."""
    if json:
        click.echo(as_json(hosts))
    else:
        for line in as_lines(hosts):
            click.echo(line)
    for sentence in [*(host.refused for host in hosts if host.refused), *troubles]:
        click.echo(f"qe: {sentence}", err=True)
