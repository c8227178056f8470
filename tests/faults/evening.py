"""An evening of games at several tables of one host, by players whose connections may break.

Each player bids as soon as it may, changes its mind now and then, and after every loss looks at
what the host has of its actions: what was answered must stand, what was not is sent again where
it was not taken.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from ledger import Attempt, Ledger
from lines import AwayError, Line, NoError, token_hash

Fields = dict[str, Any]
MakeLine = Callable[[], Line]
NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")


class Player:
    """One seat at one table, for one game."""

    def __init__(self, line: Line, table: str, seat: int, ledger: Ledger, rng: Random) -> None:
        self.line, self.table, self.seat = line, table, seat
        self._ledger, self._rng = ledger, rng
        self._steps: dict[str, int] = {}

    async def play(self) -> None:
        """Until the game is over; the seat that opened the table starts it."""
        while True:
            view, epoch = await self.line.next()
            assert view["room"]["me"] == self.seat
            match view["room"]["stage"]:
                case "lobby":
                    if self.seat == 0:
                        await self._start()
                case "playing":
                    await self._turn(view, epoch)
                case _:
                    self._ledger.ends[self.table][self.seat] = view
                    return

    async def _start(self) -> None:
        try:
            await self.line.ask("start")
        except AwayError:
            pass
        except NoError as no:
            if no.code != "already_started":
                raise

    async def _turn(self, view: Fields, epoch: int) -> None:
        game, you = view["game"], view["you"]
        step = game["step"]
        assert step >= self._steps.get(game["commitment"], 0), "a step went back"
        self._steps[game["commitment"]] = step
        waited_for = self.seat in game["waiting"]
        tried = self._ledger.at(self.table, self.seat, step)
        came_back = bool(tried) and all(attempt.epoch < epoch for attempt in tried)
        if came_back:
            self._check(view, tried)
        if waited_for and (not tried or came_back):
            await self._bid(view)
        elif tried and tried[-1].done and not waited_for and self._rng.random() < 0.08:
            await self._bid(view, again=True)
        elif you["may_peek"] is not None and self._rng.random() < 0.2:
            await self._act(step, None, {"stale", "illegal"})

    def _check(self, view: Fields, tried: Sequence[Attempt]) -> None:
        """What was answered before the connection went is there, after it came back."""
        waited_for = self.seat in view["game"]["waiting"]
        standing = view["you"]["bid"]
        if tried[0].done:
            assert not waited_for, "an answered bid is lost"
        if not waited_for:
            assert int(standing) in {attempt.amount for attempt in tried}, "a bid is another"

    async def _bid(self, view: Fields, *, again: bool = False) -> None:
        """A bid that this seat has not sent before; of so few that there are ties."""
        game = view["game"]
        used = {a.amount for a in self._ledger.attempts[self.table, self.seat]}
        used.add(None if game["opening"] is None else int(game["opening"]))
        first = 100 * game["step"]
        free = [first + n for n in range(99) if first + n not in used]
        # A first bid is waited for, so that its step cannot have passed.
        await self._act(game["step"], self._rng.choice(free[:3]), {"stale"} if again else set())

    async def _act(self, step: int, amount: int | None, may_be: set[str]) -> None:
        action = {"kind": "peek"} if amount is None else {"kind": "bid", "amount": str(amount)}
        attempts = self._ledger.attempts[self.table, self.seat]
        if amount is None and any(attempt.amount is None for attempt in attempts):
            return
        attempt = Attempt(step, amount, self.line.epoch, self._ledger.life)
        attempts.append(attempt)
        try:
            await self.line.ask("act", step=step, action=action)
        except AwayError:
            return
        except NoError as no:
            if no.code not in may_be:
                raise
            attempt.outcome = no.code
        else:
            attempt.outcome = "ok"


class Party:
    """A table after the other: some players, and computers in the other seats.

    `seated` counts the times that everybody sat, `games` those that came to their end.
    Tables are told apart by their titles, since a code is given again when its table has closed.
    """

    def __init__(
        self, name: str, lines: Sequence[MakeLine], computers: int, ledger: Ledger, rng: Random
    ) -> None:
        self.name = name
        self.seated = self.games = 0
        self._opened = 0
        self._lines, self._computers = lines, computers
        self._ledger, self._rng = ledger, rng

    async def play(self, enough: asyncio.Event, patience: float) -> None:
        """Game after game until it is enough; none may take longer than `patience` seconds."""
        while not enough.is_set():
            async with asyncio.timeout(patience):
                players = await self._all_seated()
                self.seated += 1
                try:
                    async with asyncio.TaskGroup() as tasks:
                        for player in players:
                            tasks.create_task(player.play())
                    self.games += 1
                    for player in players:
                        await self._leave(player)
                finally:
                    for player in players:
                        self._ledger.tokens |= set(map(token_hash, player.line.tokens))
                        await player.line.close()

    async def _leave(self, player: Player) -> None:
        with contextlib.suppress(AwayError, NoError):  # then the table closes by itself
            await player.line.ask("leave")

    async def _all_seated(self) -> list[Player]:
        """A new table with everybody at it; another one, where somebody was lost on the way."""
        while True:
            lines = [make() for make in self._lines]
            try:
                return await self._sit_down(lines)
            except AwayError:
                for line in lines:
                    await line.close()
                await asyncio.sleep(0.05)
            except BaseException:
                for line in lines:
                    await line.close()
                raise

    async def _sit_down(self, lines: list[Line]) -> list[Player]:
        for line in lines:
            await line.open()
        self._opened += 1
        title = f"{self.name} {self._opened}"
        seats = len(lines) + self._computers
        made = await lines[0].ask("create", game="qe", seats=seats, title=title, name=NAMES[0])
        code: str = made["table"]
        for seat, line in enumerate(lines[1:], 1):
            assert (await line.ask("join", table=code, name=NAMES[seat]))["seat"] == seat
        for _ in range(self._computers):
            await lines[0].ask("add_bot")
        return [
            Player(line, title, seat, self._ledger, self._rng) for seat, line in enumerate(lines)
        ]
