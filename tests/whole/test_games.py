"""Whole random games on a real host, every field of every view checked by a referee."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest
from audience import Table
from hosting import HostProcess
from randomplay import play
from referee import all_tiles_once

NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")
GAMES = int(os.environ.get("QE_GAMES", "4"))
"""How many games are played. Each combines players, TLS, notes and first auctioneer anew."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, HostProcess]]:
    """One host with TLS whose deals are foreseen, and one without either."""
    folder = tmp_path_factory.mktemp("hosts")
    tls = HostProcess(data=folder / "tls", tls=True, seed="a known seed")
    plain = HostProcess(data=folder / "plain")
    try:
        tls.start()
        plain.start()
        yield {True: tls, False: plain}
    finally:
        tls.kill()
        plain.kill()


@pytest.mark.parametrize("number", range(GAMES))
async def test_random_game(hosts: dict[bool, HostProcess], number: int) -> None:
    rng = Random(number)
    players = 3 + number % 3
    tls = number // 3 % 2 == 0
    notes = (number + number // 3) % 2 == 0
    first = "host" if number % 4 == 3 or number == 1 else "random"
    table = await Table.create(hosts[tls], 5, rules={"notes": notes, "first": first})
    try:
        await table.watch("Zoe")
        for name in NAMES[1:players]:
            await table.join(name)
        if number % 4 == 3:  # so that the host is not at seat 0
            await table.move_seats(0, 2)
        await table.watch()
        referee = await table.start()
        await play(table, rng, returning=number % 2 or None, thrifty=number % players)
        assert all_tiles_once(referee)
        await table.rematch()
        await table.start()
        assert table.referee is not None
        await table.bid(table.referee.waiting[0], 10**999)
        await table.silent()
    finally:
        await table.close()
    assert hosts[tls].alive()


@pytest.mark.parametrize("players", [3, 4, 5])
async def test_everybody_spends_the_same(hosts: dict[bool, HostProcess], players: int) -> None:
    """All open at 1 and bid zero else: all are eliminated, and nobody wins."""
    table = await Table.create(hosts[False], players)
    try:
        for name in NAMES[1:players]:
            await table.join(name)
        referee = await table.start()
        while not referee.over:
            await table.bid(referee.waiting[-1], 1 if referee.phase == "opening" else 0)
        assert table.room["results"][-1]["winners"] == []
    finally:
        await table.close()


def test_hosts_logged_no_error(hosts: dict[bool, HostProcess]) -> None:
    for host in hosts.values():
        assert host.errors() == []
