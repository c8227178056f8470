"""People of an evening: some keep tables with computers going, others wander from one to the next.

All connections go through a proxy that cuts one now and then; all come back by themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

from lines import AwayError, Line, NoError
from wire import Connection, GoneError, RefusedError

Fields = dict[str, Any]
MakeLine = Callable[[], Line]
REACTIONS = ("gasp", "laugh", "poker", "applause")
THINKING = 0.03
"""Seconds that a person needs for a bid at most."""

PATIENCE = 120.0
"""Seconds within which something must happen at a table; only one that hangs comes near them."""


class Regular:
    """Opens a table, fills it with computers, and plays on it, rematch after rematch."""

    def __init__(self, name: str, make: MakeLine, rng: Random, tally: Counter[str]) -> None:
        self._name, self._make, self._rng, self._tally = name, make, rng, tally
        self._tables = 0
        self._bidden: tuple[str, int, int] = ("", 0, 0)

    async def stay(self, enough: asyncio.Event) -> None:
        while not enough.is_set():
            line = self._make()
            try:
                with contextlib.suppress(AwayError):
                    await self._one_table(line, enough)
            finally:
                await line.close()

    async def _one_table(self, line: Line, enough: asyncio.Event) -> None:
        """A few games. Every game that has begun is played to its end."""
        computers = self._rng.randrange(2, 5)
        spare = self._rng.randrange(2) if computers < 4 else 0  # seats for whoever comes
        await line.open()
        self._tables += 1
        title = f"{self._name} {self._tables}"
        made = await line.ask(
            "create", game="qe", seats=1 + computers + spare, title=title, name=self._name,
            options={"away_seconds": 1},
        )  # fmt: skip
        assert made["seat"] == 0
        for _ in range(computers):
            await self._softly(line, "add_bot")  # a guest may have been faster
        games, done, begun = self._rng.randrange(1, 4), 0, ""
        async for view in self._views(line):
            room, game = view["room"], view["game"]
            if room["stage"] == "playing" and game["commitment"] != begun:
                begun = game["commitment"]
                self._tally["games begun"] += 1
            if room["stage"] == "over" and begun:
                done, begun = done + 1, ""
                self._tally["games ended"] += 1
                assert len(game["result"]["seats"]) == len(room["seats"])
            if room["stage"] == "playing":
                await self._turn(line, view)
            elif done >= games or enough.is_set() or room["me"] != room["host"]:
                await self._softly(line, "leave")
                return
            else:
                await self._softly(line, "start" if room["stage"] == "lobby" else "rematch")

    async def _views(self, line: Line) -> AsyncIterator[Fields]:
        """Each view, and the last one again now and then: what was refused may go by now."""
        last, since = None, time.monotonic()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await line.next()
            view = line.view
            if view is not None:
                game = view["game"] or {"commitment": "", "step": 0}
                now = view["room"]["stage"], game["commitment"], game["step"]
                if now != last:
                    last, since = now, time.monotonic()
                assert time.monotonic() < since + PATIENCE, f"{self._name}'s table hangs"
                yield view

    async def _turn(self, line: Line, view: Fields) -> None:
        game, room = view["game"], view["room"]
        if room["me"] == room["host"]:
            for seat in room["seats"]:  # a guest who went must not hold up the table
                if seat["seat"] in game["waiting"] and not seat["connected"]:
                    await self._softly(line, "stand_in", seat=seat["seat"])
        now = (game["commitment"], game["step"], line.view_epoch)
        if room["me"] not in game["waiting"] or now == self._bidden:
            return
        await asyncio.sleep(self._rng.random() * THINKING)
        amount = str(self._rng.randrange(1, 10 ** self._rng.randrange(1, 30)))
        if amount != game["opening"]:
            action = {"kind": "bid", "amount": amount}
            await self._softly(line, "act", step=game["step"], action=action)
            self._bidden = now
            self._tally["bids"] += 1
        if self._rng.random() < 0.1:
            await self._softly(line, "say", text="What a price")

    async def _softly(self, line: Line, kind: str, **fields: Any) -> None:
        """Asks; where that came to nothing, the next view tells what there is to do."""
        try:
            await line.ask(kind, **fields)
        except NoError as no:
            self._tally[f"refused {kind}: {no.code}"] += 1
            await asyncio.sleep(0.05)
        except AwayError:
            self._tally["away"] += 1


class Wanderer:
    """Goes from table to table: looks on, takes a seat, talks, and goes, with or without a word."""

    def __init__(self, name: str, port: Callable[[], int], tls: bool, rng: Random,
                 tally: Counter[str]) -> None:  # fmt: skip
        self._name, self._port, self._tls = name, port, tls
        self._rng, self._tally = rng, tally

    async def wander(self, enough: asyncio.Event) -> None:
        while not enough.is_set():
            with contextlib.suppress(GoneError, OSError, TimeoutError):
                link = await Connection.open(self._port(), tls=self._tls)
                try:
                    await self._visit(link)
                finally:
                    with contextlib.suppress(AssertionError):  # cut in the middle of a frame
                        await link.close()
            await asyncio.sleep(self._rng.random() * 0.3)

    async def _visit(self, link: Connection) -> None:
        tables = (await link.ask("tables"))["tables"]
        for _ in range(self._rng.randrange(4)):
            if not tables:
                return
            table = self._rng.choice(tables)["table"]
            kind = self._rng.choice(("watch", "join"))
            fields = {"table": table, "name": self._name}
            if not await self._tried(link, kind, fields):
                continue
            self._tally[kind] += 1
            for _ in range(self._rng.randrange(4)):
                await asyncio.sleep(self._rng.random() * 0.2)
                if self._rng.random() < 0.5:
                    await self._tried(link, "say", {"text": "Hello"})
                else:
                    await self._tried(link, "react", {"kind": self._rng.choice(REACTIONS)})
                await self._bid(link)
            if self._rng.random() < 0.3:
                return
            await self._tried(link, "leave", {})

    async def _bid(self, link: Connection) -> None:
        view = None
        while not link.views.empty():
            view = link.views.get_nowait().fields
        if view and view["you"] and view["you"]["may_bid"]:
            action = {"kind": "bid", "amount": str(self._rng.randrange(1, 500))}
            await self._tried(link, "act", {"step": view["game"]["step"], "action": action})

    async def _tried(self, link: Connection, kind: str, fields: Fields) -> bool:
        try:
            await link.ask(kind, **fields)
        except RefusedError as error:
            self._tally[f"refused {kind}: {error.code}"] += 1
            return False
        return True
