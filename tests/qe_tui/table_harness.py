"""A table without a host: real games of QE, seen through the snapshots that a client would have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from textual.pilot import Pilot

from protocol.errors import Refused
from protocol.messages import Act, Body, Options, Reacted, Room, Said, SeatInfo
from protocol.qe import Bid, Peek
from qe_tui.keys import KeysInOrder
from qe_tui.model import Snapshot
from qe_tui.screens.table import TableScreen
from qe_tui.theme import THEME
from server.games.game import Illegal
from server.games.qe import QE

NOW = 1_900_000_000.0
NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")


class Play:
    """A real game, moved by hand."""

    def __init__(
        self,
        players: int = 4,
        seed: str = "a seed",
        *,
        names: Sequence[str] = NAMES,
        rules: Mapping[str, Any] | None = None,
    ) -> None:
        self.names = names
        self.rules = {"notes": True, "first": "host", **(rules or {})}
        self.state = QE.new(players, 0, QE.rules(self.rules), seed, 1, QE.rules_version)
        self.players = players
        self.said: list[Said] = []

    def bid(self, seat: int, amount: int) -> Play:
        self.state = QE.act(self.state, seat, Bid(amount=str(amount)))
        return self

    def peek(self, seat: int) -> Play:
        self.state = QE.act(self.state, seat, Peek())
        return self

    def auction(self, opening: int, *bids: int) -> Play:
        """A whole auction: the opening, and the others' bids by seat."""
        opener = self.game.auctioneer
        assert opener is not None
        self.bid(opener, opening)
        for seat, amount in zip(list(self.game.waiting), bids, strict=True):
            self.bid(seat, amount)
        return self

    def through(self, auctions: int, bid: Callable[[int, int], int] | None = None) -> Play:
        """Plays so many auctions; without `bid` with amounts as people bid them, zeros too."""
        bid = bid or some_bid
        for _ in range(auctions):
            number = self.game.auction
            while self.game.auction == number and self.game.result is None:
                seat = self.game.waiting[0]
                amount = bid(number, seat)
                if self.game.phase == "opening":
                    amount = max(1, amount)
                self.bid(seat, amount if str(amount) != self.game.opening else amount + 1)
        return self

    @property
    def game(self) -> Any:
        return QE.public(self.state)

    def say(self, seat: int | None, text: str, name: str | None = None) -> Play:
        said = name or (self.names[seat] if seat is not None else "Wanda")
        self.said.append(Said(table="WOLF", seat=seat, name=said, text=text, at=0))
        return self

    def room(self, seat: int | None, **changes: Any) -> Room:
        kinds = changes.pop("kinds", {})
        gone = changes.pop("gone", ())
        game = self.game
        fields: dict[str, Any] = {
            "title": "Friday",
            "game": "qe",
            "stage": "over" if game.result is not None else "playing",
            "standing": False,
            "locked": False,
            "size": self.players,
            "host": 0,
            "me": seat,
            "seats": [
                SeatInfo(
                    seat=number,
                    name=self.names[number],
                    kind=kinds.get(number, "human"),
                    level=None,
                    connected=number not in gone,
                    released=False,
                )
                for number in range(self.players)
            ],
            "spectators": 2,
            "options": Options(),
            "rules": self.rules,
            "paused": False,
            "since": int(NOW * 1000) - 60_000,
            "deadline": None,
            "results": [],
        }
        return Room(**(fields | changes))

    def snapshot(self, seat: int | None, *, lost: str | None = None, **changes: Any) -> Snapshot:
        return Snapshot(
            table="WOLF",
            room=self.room(seat, **changes),
            game=self.game,
            you=None if seat is None else QE.private(self.state, seat),
            said=tuple(self.said),
            lost=lost,
        )


def some_bid(auction: int, seat: int) -> int:
    """The same amount whenever it is asked for, now and then zero."""
    rng = Random(f"{auction}/{seat}")
    return 0 if rng.random() < 0.15 else int(10 ** rng.uniform(1.5, 4.2))


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, at: float = 1000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


class Table(KeysInOrder):
    """An app with nothing but the table, which plays for one seat of a real game."""

    def __init__(self, play: Play, seat: int | None, *, now: float = NOW, **room: Any) -> None:
        super().__init__()
        self.register_theme(THEME)
        self.theme = "qe"
        self.animation_level = "none"
        self.play = play
        self.seat = seat
        self.changes = room
        self.asked: list[Body] = []
        self.fails: Exception | None = None
        self.left = False
        self.clock = Clock()
        self.wall = Clock(now)
        self.table = TableScreen(self, clock=self.clock, now=self.wall)
        self.table.cheque.line.cursor_blink = False

    @property
    def snapshot(self) -> Snapshot | None:
        return self.play.snapshot(self.seat, **self.changes)

    def on_mount(self) -> None:
        self.push_screen(self.table)

    async def ask(self, body: Body) -> dict[str, Any]:
        self.asked.append(body)
        if self.fails is not None:
            raise self.fails
        if isinstance(body, Act) and self.seat is not None:
            game = self.play.game
            if body.step != game.step:
                raise Refused("stale", "stale", "That step has passed.")
            try:
                self.play.state = QE.act(self.play.state, self.seat, QE.action(body.action))
            except Illegal as illegal:
                raise Refused("illegal", illegal.reason.key, illegal.reason.message) from None
            self.show()
        return {}

    def leave_table(self) -> None:
        self.left = True

    def show(self, **changes: Any) -> None:
        """Lets the screen see the game as it is now."""
        self.changes |= changes
        snapshot = self.snapshot
        assert snapshot is not None
        self.table.show(snapshot)

    def react(self, seat: int, kind: str) -> None:
        name = self.play.names[seat]
        self.table.reacted(Reacted(table="WOLF", seat=seat, name=name, kind=kind))

    def text(self) -> str:
        """What is on the screen, row by row."""
        return "\n".join(
            "".join(segment.text for segment in strip)
            for strip in self.screen._compositor.render_strips()
        )


def secret_phase(players: int = 4, auctions: int = 8, opening: int = 12_000) -> tuple[Play, int]:
    """A game in the phase of secret bids, and the seat after its auctioneer."""
    play = Play(players).through(auctions)
    opener = play.game.auctioneer
    play.bid(opener, opening)
    return play, (opener + 1) % players


async def enter(pilot: Pilot[None], app: Table) -> None:
    """Enter, as somebody presses it who has looked."""
    app.clock.at += 1
    await pilot.press("enter")
    await settled(pilot, app)


async def settled(pilot: Pilot[None], app: Table) -> None:
    """Until all that was asked for is answered and shown."""
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()
