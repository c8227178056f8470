"""What somebody who listens on the LAN gets of a game under TLS, and who turns up as another host.

Two games that differ only in how long the secret bids are give as many bytes on every wire, both
ways, at every move: acts, re-bids, bids sent again, views to seats and spectators, and the return
of a seat on a new connection. A host with another certificate than before is sent nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest
from freezing import Clock, frozen_host
from hosting import HostProcess
from proxy import Proxy
from referee import Referee
from scripts import Move, Script, with_amounts, write
from wire import Connection

from protocol.errors import FingerprintChanged
from protocol.messages import Create
from protocol.stay import Backoff, Lost, Stay
from protocol.trust import Pins

NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")
SEED = "captured"
SPECTATOR = -1
MOVES = 40
LONG = {7: 10**898 + 31337, 8: 10**898 + 41414, 9: 10**899 + 27182}
"""What the larger amounts are in the other game: their order, and what is equal, stays."""

Counts = dict[tuple[int, str, int], tuple[int, int]]
"""By the place in the script, what was done there, and whose wire: bytes to the host and back."""


def ties(referee: Referee, seat: int) -> int:
    """Openings of 5, and secret bids that often tie above it."""
    if referee.phase == "opening":
        return 5
    return Random(f"{referee.step}/{seat}").choice((1, 7, 8, 9, 9, 9))


class Wires:
    """A proxy for each who is at the table, and the connection through it."""

    def __init__(self, stack: AsyncExitStack, port: int, players: int, tls: bool) -> None:
        self.tls = tls
        self.counts: Counts = {}
        self.proxies = {
            who: Proxy(port, Random(0), capture=True) for who in (*range(players), SPECTATOR)
        }
        self.links: dict[int, Connection] = {}
        self.tokens: dict[int, str] = {}
        self._stack = stack

    async def open(self) -> None:
        for who, proxy in self.proxies.items():
            await self._stack.enter_async_context(proxy)
            self.links[who] = await Connection.open(proxy.port, tls=self.tls)

    async def sit_down(self) -> str:
        made = await self.links[0].ask(
            "create", game="qe", seats=len(self.links) - 1, title="T", name=NAMES[0]
        )
        code: str = made["table"]
        self.tokens[0] = made["token"]
        for who in range(1, len(self.links) - 1):
            joined = await self.links[who].ask("join", table=code, name=NAMES[who])
            self.tokens[who] = joined["token"]
        await self.links[SPECTATOR].ask("watch", table=code)
        await self.links[0].ask("start")
        await self.settle()
        return code

    async def settle(self) -> None:
        for link in self.links.values():
            await link.ask("ping")

    async def act(self, place: int, what: str, move: Move, amount: int | None) -> None:
        """The bytes that it brings to each wire, everybody's."""
        before = self._now()
        action = {"kind": "peek"} if amount is None else {"kind": "bid", "amount": str(amount)}
        await self.links[move.seat].ask("act", step=move.step, action=action)
        await self.settle()
        self._count(place, what, before)

    async def come_back(self, place: int, who: int, code: str) -> None:
        """The seat on a new connection: what that brings after the hello, since a handshake's
        length is a matter of chance."""
        await self.links[who].close()
        await self.settle_but(who)
        self.links[who] = await Connection.open(self.proxies[who].port, tls=self.tls)
        await self.links[who].ask("ping")
        before = self._now()
        made = await self.links[who].ask("resume", table=code, token=self.tokens[who])
        self.tokens[who] = made["token"]
        await self.settle()
        self._count(place, "resume", before)

    async def settle_but(self, who: int) -> None:
        for other, link in self.links.items():
            if other != who:
                await link.ask("ping")

    def _now(self) -> dict[int, tuple[int, int]]:
        return {who: (proxy.up, proxy.down) for who, proxy in self.proxies.items()}

    def _count(self, place: int, what: str, before: dict[int, tuple[int, int]]) -> None:
        for who, (up, down) in self._now().items():
            self.counts[place, what, who] = up - before[who][0], down - before[who][1]

    def captured(self) -> bytes:
        return b"".join(
            bytes(stream)
            for proxy in self.proxies.values()
            for wire in proxy.captured
            for stream in wire.values()
        )


async def perform(data: Path, players: int, script: Script, *, tls: bool) -> tuple[Counts, bytes]:
    """Plays the first auctions; some bids are preceded by others, and some seats come back."""
    clock, first = Clock(), max(move.amount or 0 for move in script) * 3
    async with frozen_host(data, clock, tls=tls, seed=SEED) as host, AsyncExitStack() as stack:
        wires = Wires(stack, host.addresses[0][1], players, tls)
        try:
            await wires.open()
            code = await wires.sit_down()
            for place, move in enumerate(script[:MOVES]):
                clock.now += 1000
                more = script[place + 1].step == move.step  # else its step is over with it
                if move.stage is not None and more and place % 3 == 0:
                    await wires.act(place, "a first thought", move, first)
                await wires.act(place, "act", move, move.amount)
                if place % 9 == 4:
                    await wires.come_back(place, move.seat, code)
        finally:
            for link in wires.links.values():
                await link.close()
    return wires.counts, wires.captured()


async def test_captured_traffic_tells_no_amount(tmp_path: Path) -> None:
    players = 5
    script = write(players, f"{SEED}/1", ties, Random(1))
    stages = {move.stage for move in script[:MOVES]}
    assert {0, 1} <= stages, "nobody bids again"
    longer = {n: LONG[m.amount] for n, m in enumerate(script) if m.amount in LONG}
    other = with_amounts(script, longer)
    short_counts, _ = await perform(tmp_path / "short", players, script, tls=True)
    long_counts, captured = await perform(tmp_path / "long", players, other, tls=True)
    assert {what for _, what, _ in short_counts} == {"act", "a first thought", "resume"}
    for key, count in short_counts.items():
        assert long_counts[key] == count, f"the wire tells at {key}"
    assert len(captured) > 500_000
    amounts = [str(amount).encode() for amount in LONG.values()]
    assert not [amount for amount in amounts if amount in captured]
    _, bare = await perform(tmp_path / "bare", players, other, tls=False)
    assert all(amount in bare for amount in amounts), "what is looked for would not be found"


# --- Another certificate --------------------------------------------------------------------


def records(stream: bytes) -> list[tuple[int, int]]:
    """The TLS records of one direction: type and length."""
    found, at = [], 0
    while at < len(stream):
        length = int.from_bytes(stream[at + 3 : at + 5], "big")
        found.append((stream[at], length))
        at += 5 + length
    assert at == len(stream), "a record is not whole"
    return found


async def _until_the_end(stay: Stay) -> None:
    async for event in stay.events():
        assert not isinstance(event, Lost) or event.sentence.endswith(".")


async def test_a_changed_certificate_ends_it_before_anything_is_sent(
    run_host: Callable[..., HostProcess], tmp_path: Path
) -> None:
    host = run_host(tls=True)
    first = host.fingerprint
    assert first is not None
    pins = Pins(tmp_path / "pins.json")
    async with Proxy(host.port, Random(0), capture=True) as proxy:
        stay = Stay("127.0.0.1", proxy.port, pins=pins, backoff=Backoff(0.05, 0.2), timeout=60)
        await stay.open()
        await stay.ask(Create(game="qe", seats=3, title="T", name="Ana"))
        host.kill()
        for name in ("certificate.pem", "key.pem"):
            (host.data / name).unlink()
        host.start()
        second = host.fingerprint
        assert second not in (None, first)
        with pytest.raises(FingerprintChanged) as changed:
            await _until_the_end(stay)
        assert (changed.value.pinned, changed.value.shown) == (first, second)
        assert first in str(changed.value)
        assert second in str(changed.value)
        tries = len(proxy.captured)
        await asyncio.sleep(0.5)
        assert len(proxy.captured) == tries, "it tried again"
        for more in ({"pins": pins}, {"fingerprint": first}):
            with pytest.raises(FingerprintChanged):
                await Stay("127.0.0.1", proxy.port, **more).open()  # type: ignore[arg-type]
        await stay.close()
        host.kill()
    served, *refused = [records(bytes(wire["up"])) for wire in proxy.captured if wire["down"]]
    finished, *data = [record for record in served if record[0] == 23]
    assert data, "the first host was sent nothing either"
    assert len(refused) == 3
    for sent in refused:  # the end of a handshake looks like data, and may have been cut off
        assert [record for record in sent if record[0] == 23] in ([], [finished])
