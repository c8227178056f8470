"""Many clients at once that do whatever comes to mind, and a host that is killed meanwhile.

Nobody waits for a turn here: requests come in any order, at any time, most of them out of place.
Whatever comes of it, every answer is one that the wire knows, every view makes sense by itself, a
finished game is the one that its bids lead to, and all of it is there after a kill.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgpack
import pytest
from audience import differences
from gauges import memory
from hosting import HostProcess
from referee import replayed
from wire import Connection, GoneError, RefusedError, framed, until

Fields = dict[str, Any]
REQUESTS = (
    "create", "join", "join", "join", "watch", "leave", "set", "move", "add_bot", "add_bot",
    "remove", "start", "start", "start", "act", "stand_in", "release", "pause", "say",
    "react", "rematch", "tables", "ping", "resume",
)  # fmt: skip
STORMS = int(os.environ.get("QE_GAMES", "3")) // 3
"""How many storms; with more random games (see test_games) come more of them."""


@dataclass
class Stormer:
    """A client with a will of its own. `ends` counts the finished games that it has looked at."""

    name: str
    host: HostProcess
    rng: Random
    link: Connection | None = None
    held: dict[str, str] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    view: Fields | None = None
    codes: set[str] = field(default_factory=set)
    ends: int = 0
    granted: int = 0

    async def rage(self, turns: int) -> None:
        for _ in range(turns):
            try:
                await self._one_turn()
            except RefusedError as error:
                self.codes.add(error.code)
            except GoneError:
                assert self.link is not None
                assert self.link.fault is None, self.link.fault
                self.link, self.view = None, None
            if self.link is not None:
                self._look()

    async def _one_turn(self) -> None:
        if self.link is None or self.link.ended:
            self.link = await Connection.open(self.host.port, tls=False)
            if self.held and self.rng.random() < 0.8:
                table = self.rng.choice(sorted(self.held))
                await self._ask("resume", {"table": table, "token": self.held[table]})
                return
        if self.rng.random() < 0.02:
            await self.link.close()
            self.link, self.view = None, None
            return
        if self._may_bid() and self.rng.random() < 0.85:
            await self.link.ask("act", step=self._step(), action=self._action())
            return
        kind = self.rng.choice(REQUESTS)
        await self._ask(kind, self._fields(kind))

    async def _ask(self, kind: str, fields: Fields) -> None:
        assert self.link is not None
        result = await self.link.ask(kind, **fields)
        self.granted += 1
        if "token" in result:
            code = result["table"] if kind == "create" else fields["table"]
            self.held[code] = result["token"]
        if kind == "leave":
            self.view = None

    async def finish(self, table: str) -> None:
        """Plays the table's game to its end, if it has a seat there, as one is expected to."""
        if table not in self.held:
            return
        self.link = await Connection.open(self.host.port, tls=False)
        for turn in range(150):
            try:
                if turn == 0:
                    await self._ask("resume", {"table": table, "token": self.held[table]})
                elif self._may_bid() and self._step() > self.steps.get(f"bid at {table}", 0):
                    step = self._step()
                    amount = str(self.rng.randrange(1, 10**6))
                    action = {"kind": "bid", "amount": amount}
                    await self.link.ask("act", step=step, action=action)
                    self.steps[f"bid at {table}"] = step
                elif self.view and self.view["game"] is None:
                    await self.link.ask("add_bot" if self.rng.random() < 0.7 else "start")
                else:
                    await self.link.ask("ping")
            except RefusedError as error:
                if error.code == "bad_token":
                    break
            self._look()
            if self.view and self.view["room"]["stage"] == "over":
                break
        await self.link.close()

    def _may_bid(self) -> bool:
        return bool(self.view and self.view["you"] and self.view["you"]["may_bid"])

    def _step(self) -> int:
        game = self.view["game"] if self.view else None
        return game["step"] if game else self.rng.randrange(30)

    def _action(self) -> Fields:
        if self.rng.random() < 0.1:
            return {"kind": "peek"}
        return {"kind": "bid", "amount": str(self.rng.randrange(6))}

    def _fields(self, kind: str) -> Fields:
        rng, codes = self.rng, sorted(TABLES)
        seat = rng.randrange(5)
        table = rng.choice([*codes, "ZZZZ"])
        match kind:
            case "create":
                size, first = rng.randrange(3, 6), rng.choice(("host", "random"))
                rules = {"notes": rng.random() < 0.5, "first": first}
                options = {"away_seconds": rng.randrange(2), "start_when_full": rng.random() < 0.3}
                return {"game": "qe", "seats": size, "title": "Storm", "name": self.name,
                        "rules": rules, "options": options}  # fmt: skip
            case "join":
                return {"table": table, "name": self.name}
            case "watch":
                return {"table": table, "name": self.name}
            case "resume":
                table = rng.choice([*self.held, table])
                return {"table": table, "token": self.held.get(table, "0" * 32)}
            case "set":
                return {"seats": rng.randrange(3, 6)} if rng.random() < 0.5 else {"title": "Calm"}
            case "move":
                return {"seat": seat, "to": rng.randrange(4)}
            case "remove" | "stand_in" | "release":
                return {"seat": seat}
            case "act":
                return {"step": self._step() - (rng.random() < 0.2), "action": self._action()}
            case "pause":
                return {"on": rng.random() < 0.3}
            case "say":
                return {"text": "Thunder"}
            case "react":
                return {"kind": rng.choice(("gasp", "laugh", "poker", "applause"))}
            case _:
                return {}

    def _look(self) -> None:
        """At all views that have come."""
        assert self.link is not None
        while not self.link.views.empty():
            self.view = self.link.views.get_nowait().fields
            self._check(self.view)

    def _check(self, view: Fields) -> None:
        room, game, you = view["room"], view["game"], view["you"]
        TABLES.add(view["table"])
        assert [seat["seat"] for seat in room["seats"]] == list(range(len(room["seats"])))
        assert (game is None) == (room["stage"] == "lobby")
        assert (you is None) == (game is None or room["me"] is None)
        if room["host"] is not None:
            assert room["seats"][room["host"]]["kind"] != "open"
        names = [seat["name"] for seat in room["seats"] if seat["kind"] != "open"]
        assert len(set(names)) == len(names)
        if game is None:
            return
        assert "open" not in [seat["kind"] for seat in room["seats"]]
        assert game["step"] >= self.steps.get(game["commitment"], 0), "a step went back"
        self.steps[game["commitment"]] = game["step"]
        won = sorted(tile["auction"] for seat in game["seats"] for tile in seat["tiles"])
        assert won == [row["auction"] for row in game["history"] if row["winner"] is not None]
        assert (game["phase"] == "over") == (room["stage"] == "over")
        if you is not None:
            assert you["seat"] == room["me"]
            if game["phase"] == "over":
                self._check_end(view)

    def _check_end(self, view: Fields) -> None:
        if view["room"]["rules"]["first"] == "host":  # the role may have passed since
            view["room"]["host"] = view["game"]["history"][0]["auctioneer"]
        game, mine = replayed(view, view["you"]["seat"])
        lines = differences(game, view["game"], "game") + differences(mine, view["you"], "you")
        assert not lines, "\n".join(lines)
        self.ends += 1


TABLES: set[str] = set()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(STORMS))
async def test_storm(run_host: Callable[..., HostProcess], seed: int) -> None:
    TABLES.clear()
    host = run_host(more=("--max-tables", "6"))
    names = ("Ana", "Bo", "Cy", "Dee", "Eve", "Flo", "Gus", "Hal")
    storm = [Stormer(name, host, Random(f"{seed}/{name}")) for name in names]
    for _ in range(2):
        await asyncio.gather(*(one.rage(200) for one in storm))
        before = await _calm(host, storm)
        host.kill()
        host.start()
        assert await _tables(host) == before
        for one in storm:
            one.view = None
    for info in await _calm(host, storm):
        await asyncio.gather(*(one.finish(info["table"]) for one in storm))
    assert host.errors() == []
    codes = set().union(*(one.codes for one in storm))
    assert {"not_host", "not_seated", "already_seated", "unknown_table", "stale"} <= codes
    assert sum(one.granted for one in storm) > 300
    assert sum(one.ends for one in storm), "no game came to its end"
    for one in storm:
        if one.link is not None:
            await one.link.close()


async def _calm(host: HostProcess, storm: list[Stormer]) -> list[Fields]:
    """All connections end; the tables as they are when nothing moves any more."""
    for one in storm:
        if one.link is not None:
            await one.link.close()
            one.link = None
    shown: list[list[Fields]] = [[]]

    async def still() -> bool:
        shown.append(await _tables(host))
        return shown[-1] == shown[-2] and not any(info["spectators"] for info in shown[-1])

    await until(still)
    return shown[-1]


async def _tables(host: HostProcess) -> list[Fields]:
    link = await Connection.open(host.port, tls=False)
    tables: list[Fields] = (await link.ask("tables"))["tables"]
    await link.close()
    return sorted(tables, key=lambda info: str(info["table"]))


async def test_everybody_wants_the_last_seat(run_host: Callable[..., HostProcess]) -> None:
    """At the same moment, and some under the same name: each seat and each name is given once."""
    host = run_host()
    ana = await Connection.open(host.port, tls=False)
    made = await ana.ask("create", game="qe", seats=4, title="T", name="Ana")
    links = [await Connection.open(host.port, tls=False) for _ in range(12)]
    answers = await asyncio.gather(
        *(
            link.send("join", table=made["table"], name=("Bo", "Cy", "Dee", "Eve")[n % 4])
            for n, link in enumerate(links)
        ),
        return_exceptions=True,
    )
    seats = [answer["seat"] for answer in answers if isinstance(answer, dict)]
    assert sorted(seats) == [1, 2, 3]
    codes = {answer.code for answer in answers if isinstance(answer, RefusedError)}
    assert codes <= {"name_taken", "table_full"}
    tokens = [answer["token"] for answer in answers if isinstance(answer, dict)]
    again = await asyncio.gather(
        *(
            link.send("resume", table=made["table"], token=tokens[0])
            for link in [await Connection.open(host.port, tls=False) for _ in range(5)]
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, dict) for answer in again) >= 1
    assert host.errors() == []


async def test_one_who_asks_much_and_reads_nothing_is_asked_to_wait(
    run_host: Callable[..., HostProcess],
) -> None:
    host = run_host()
    owners = [await Connection.open(host.port, tls=False) for _ in range(12)]
    for owner in owners:
        await owner.ask("create", game="qe", seats=5, title="A long title" * 3, name="Ana")
    deaf = await Connection.open(host.port, tls=False)
    deaf.stop_reading()
    before = memory(host.process.pid)
    await _ask_until_nobody_reads(deaf)
    assert memory(host.process.pid) < before + 8_000_000
    for owner in owners:
        await owner.ask("ping")
        await owner.close()
    await deaf.close()
    assert host.errors() == []


async def _ask_until_nobody_reads(link: Connection) -> None:
    async with asyncio.timeout(60):
        while True:
            link.write(framed(msgpack.packb({"type": "tables", "id": 1})) * 50)
            try:
                async with asyncio.timeout(1.5):
                    await link.drain()
            except TimeoutError:
                return
            await asyncio.sleep(0)
