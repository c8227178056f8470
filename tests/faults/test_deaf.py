"""Fifty spectators who never read, at bids of 900 digits by everybody: nobody waits for them.

`make faults` plays on until the host has given them up, and asks for 999 answers of 1,000
within 50 ms, on a machine that has nothing else to do.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from audience import differences
from gauges import MEGABYTE, memory, milliseconds, quantile
from hosting import HostProcess
from referee import replayed
from wire import Connection, framed, payload_of

LONG = bool(os.environ.get("QE_FAULTS"))
DEAF = 50
NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")
WITHIN, BUSY = 0.05, 0.02
"""Seconds for an answer; and those without a spectator after which the machine has other work."""

GIVEN_UP_AFTER = 30.0
"""Seconds without progress after which a host drops a connection."""

Fields = dict[str, Any]


async def _deaf(port: int, table: str, *, tls: bool) -> Connection:
    """A spectator whose machine takes a few kilobytes and then no more."""
    link = await Connection.open(port, tls=tls)
    sock = link._writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await link.ask("ping")
    link.stop_reading()
    link.write(framed(payload_of({"type": "watch", "id": 9, "table": table})))
    await link.drain()
    return link


class Hand:
    """A player with bids of 900 digits, and how long each took to be answered.

    One bids at a time, so that what is measured is the host, and not how fast five clients in one
    process can read.
    """

    def __init__(self, link: Connection, seat: int, rng: Random, turn: asyncio.Lock) -> None:
        self.link, self.seat, self.rng, self._turn = link, seat, rng, turn
        self.times: list[float] = []
        self.view: Fields = {}

    async def play(self) -> None:
        """Plays the game that has been started, to its end."""
        before = self.view and self.view["game"]["commitment"]
        bidden = 0
        while True:
            self.view = (await self.link.view()).fields
            game = self.view["game"]
            if game is None or game["commitment"] == before:
                continue
            if self.view["room"]["stage"] == "over":
                self._check_end()
                return
            if self.seat in game["waiting"] and game["step"] > bidden:
                bidden = game["step"]
                await self._bid(bidden)

    async def _bid(self, step: int) -> None:
        amount = str(10**899 + self.rng.randrange(10**899))
        async with self._turn:
            before = time.perf_counter()
            await self.link.ask("act", step=step, action={"kind": "bid", "amount": amount})
            self.times.append(time.perf_counter() - before)

    def _check_end(self) -> None:
        game, mine = replayed(self.view, self.seat)
        lines = differences(game, self.view["game"], "game")
        assert not lines + differences(mine, self.view["you"], "you")


async def _sit_down(host: HostProcess, rng: Random) -> tuple[str, list[Hand]]:
    links = [await Connection.open(host.port, tls=host.tls) for _ in NAMES]
    made = await links[0].ask("create", game="qe", seats=5, title="T", name=NAMES[0])
    for name, link in zip(NAMES[1:], links[1:], strict=True):
        await link.ask("join", table=made["table"], name=name)
    turn = asyncio.Lock()
    return made["table"], [Hand(link, seat, rng, turn) for seat, link in enumerate(links)]


async def _play(hands: list[Hand], request: str) -> list[float]:
    """One game; the times of all its answers."""
    for hand in hands:
        hand.times.clear()
    if request == "rematch":
        await hands[0].link.ask("rematch")
    await hands[0].link.ask("start")
    await asyncio.gather(*(hand.play() for hand in hands))
    return [took for hand in hands for took in hand.times]


async def _spectators(host: HostProcess, table: str) -> int:
    link = await Connection.open(host.port, tls=host.tls)
    (info,) = [t for t in (await link.ask("tables"))["tables"] if t["table"] == table]
    await link.close()
    count: int = info["spectators"]
    return count


@pytest.mark.timeout(300)
@pytest.mark.parametrize("tls", [False, True] if LONG else [False])
async def test_deaf_spectators(run_host: Callable[..., HostProcess], tls: bool) -> None:
    host, rng = run_host(tls=tls), Random(1)
    table, hands = await _sit_down(host, rng)
    alone = await _play(hands, "start") if LONG else [0.0]
    before = memory(host.process.pid)
    deaf = [await _deaf(host.port, table, tls=tls) for _ in range(DEAF)]
    begun = time.monotonic()
    gc.collect()
    gc.freeze()  # what is measured are the host's answers, not pauses here
    beside = await _play(hands, "rematch" if LONG else "start")
    assert hands[0].view["room"]["spectators"] == DEAF
    grown = memory(host.process.pid) - before
    while LONG and await _spectators(host, table):
        beside += await _play(hands, "rematch")
        grown = max(grown, memory(host.process.pid) - before)
        assert time.monotonic() < begun + 4 * GIVEN_UP_AFTER, "they are never given up"
    gc.unfreeze()
    print(
        f"tls {tls}: {len(alone)} bids with no spectators: {milliseconds(alone)}; "
        f"{len(beside)} beside {DEAF} deaf ones: {milliseconds(beside)}; "
        f"memory +{grown / MEGABYTE:.1f} MB; {time.monotonic() - begun:.0f} s"
    )
    assert grown < 64 * MEGABYTE
    if LONG and max(alone) < BUSY:
        assert quantile(beside, 0.999) < WITHIN
    for link in [*deaf, *(hand.link for hand in hands)]:
        await link.close()
    assert host.errors() == []
