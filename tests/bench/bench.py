"""How fast a host is: `python tests/bench/bench.py`. Prints, and asserts nothing.

A real host on the loopback, with TLS and without; the clients are those of tests/whole, in one
process, so that on a machine with few cores their own work is part of every number.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "whole"))
sys.path.insert(0, str(TESTS / "faults"))

from gauges import milliseconds, quantile  # noqa: E402
from hosting import HostProcess  # noqa: E402
from wire import Connection  # noqa: E402

NAMES = ("Ana", "Bo", "Cy", "Dee")
TABLES = 8
GAMES = 5
COMPUTERS_GAMES = 10


class Seat:
    """A player who bids as soon as it may. `asked` and `shown` are seconds from a bid to its
    answer, and to the view that another seat has of it."""

    def __init__(
        self, link: Connection, seat: int, sent: dict[tuple[str, int, int], float]
    ) -> None:
        self.link, self.seat = link, seat
        self.asked: list[float] = []
        self.shown: list[float] = []
        self._sent = sent

    async def play(self, rng: Random) -> None:
        bidden = 0
        while True:
            view = (await self.link.view()).fields
            now, game = time.perf_counter(), view["game"]
            if game is None:
                continue
            for other in set(range(len(game["seats"]))) - set(game["waiting"]) - {self.seat}:
                at = self._sent.pop((view["table"], game["step"], other), None)
                if at is not None:
                    self.shown.append(now - at)
            if view["room"]["stage"] == "over":
                return
            if self.seat in game["waiting"] and game["step"] > bidden:
                bidden = game["step"]
                action = {"kind": "bid", "amount": str(rng.randrange(6, 10**6))}
                if game["phase"] == "opening":
                    action["amount"] = "5"
                before = time.perf_counter()
                self._sent[view["table"], bidden, self.seat] = before
                await self.link.ask("act", step=bidden, action=action)
                self.asked.append(time.perf_counter() - before)


async def _table(host: HostProcess, computers: int = 0) -> list[Seat]:
    links = [await Connection.open(host.port, tls=host.tls) for _ in NAMES[computers:]]
    made = await links[0].ask("create", game="qe", seats=len(NAMES), title="Bench", name="Ana")
    for name, link in zip(NAMES[1:], links[1:], strict=False):
        await link.ask("join", table=made["table"], name=name)
    for _ in range(computers):
        await links[0].ask("add_bot")
    sent: dict[tuple[str, int, int], float] = {}
    return [Seat(link, seat, sent) for seat, link in enumerate(links)]


async def _played(tables: Sequence[Sequence[Seat]]) -> float:
    """One game at every table; the seconds that it took."""
    begun = time.perf_counter()
    for table in tables:
        await table[0].link.ask("start")
    rng = Random(1)
    await asyncio.gather(*(seat.play(rng) for table in tables for seat in table))
    return time.perf_counter() - begun


async def _bids(folder: Path, *, tls: bool) -> float:
    """Bids of one table and of several; gives the middle time from a bid to a view of it."""
    host = HostProcess(data=folder / f"bids-{tls}", tls=tls)
    try:
        host.start()
        name, middle = ("TLS" if tls else "plain"), 0.0
        for count, games in ((1, GAMES), (TABLES, 1)):
            took, asked, shown = 0.0, list[float](), list[float]()
            for _ in range(games):
                tables = [await _table(host) for _ in range(count)]
                took += await _played(tables)
                for seat in itertools.chain(*tables):
                    asked += seat.asked
                    shown += seat.shown
                    await seat.link.close()
            print(
                f"{name}, {count} table(s): {len(asked) / took:.0f} bids/s; "
                f"answered in {milliseconds(asked)}; seen by another in {milliseconds(shown)}"
            )
            middle = middle or quantile(shown, 0.5)
        return middle
    finally:
        host.kill()


async def _computers(folder: Path) -> None:
    """Games of one person, who is quick, and three computers without a delay."""
    host = HostProcess(data=folder / "computers")
    try:
        host.start()
        took = 0.0
        for _ in range(COMPUTERS_GAMES):
            table = await _table(host, computers=3)
            took += await _played([table])
            await table[0].link.ask("leave")
            await table[0].link.close()
        print(f"computers: {COMPUTERS_GAMES / took:.1f} games/s")
    finally:
        host.kill()


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = await _bids(folder, tls=False)
        secret = await _bids(folder, tls=True)
        print(f"a view under TLS takes {secret / plain:.2f} times as long as without")
        await _computers(folder)


if __name__ == "__main__":
    asyncio.run(main())
