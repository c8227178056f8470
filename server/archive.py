"""Games out of a journal: what `qe-server games` lists and exports.

Pure but for the connection it reads. The exported form (docs/games.md) is independent of the
events that the journal keeps. It has all secrets of a game, so no value here has a telling repr.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from server import events as ev
from server.games.game import Game, UnknownVersion
from server.games.registry import GAMES
from server.room import Room, Seat, apply, opened
from server.store import Journal, events_of

FORMAT = "qe-game"
FORMAT_VERSION = 1

Stage = Literal["finished", "running", "unfinished", "unknown rules", "unreadable"]
"""`running`: the table goes on with it; `unfinished`: the table closed before it was over."""

Time = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
"""Unix milliseconds of the host's clock, up to the year 9999."""

SeatNumber = Annotated[int, Meta(ge=0, le=255)]


# --- The exported form ------------------------------------------------------------------------


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class Player(_Part, frozen=True):
    """Who had a seat when the game ended. `stand_in`: a computer that played for a human."""

    name: str
    kind: Literal["human", "bot", "stand_in"]
    level: str | None


class Move(_Part, frozen=True):
    """An action as the game's own words have it; amounts are decimal strings."""

    at: Time
    seat: SeatNumber
    action: dict[str, Any]


class Outcome(_Part, frozen=True):
    totals: list[int]
    winners: list[int]


class Remark(_Part, frozen=True):
    """Chat. `seat` is null for a spectator."""

    at: Time
    seat: SeatNumber | None
    name: str
    text: str
    to: Literal["all", "spectators"]


class Record(_Part, frozen=True, omit_defaults=True):
    """A game. `result` is null while it is not over; `host` is the seat that had the host's role
    when it began, or null; `chat` is left out unless it was asked for."""

    format: str
    version: int
    table: str
    title: str
    game: str
    rules_version: Annotated[int, Meta(ge=1, le=1_000_000)]
    rules: dict[str, Any]
    options: dict[str, Any]
    seats: list[Player]
    host: SeatNumber | None
    seed: str
    commitment: str | None
    started: Time
    actions: list[Move]
    result: Outcome | None
    chat: list[Remark] | None = None

    def identity(self) -> Identity:
        return self.table, self.started, self.seed


Identity = tuple[str, int, str]
"""What no two games have in common: the table's code, when it began, and its seed."""


# --- What a journal has -----------------------------------------------------------------------


@dataclass(slots=True)
class Item:
    """One game of a journal. `started` is Unix milliseconds, or when the table opened, where no
    start of a game can be read; `winners` are seats, None while the game is not over."""

    code: str
    title: str
    game: str
    started: int
    stage: Stage
    players: list[str] = field(default_factory=list)
    winners: list[int] | None = None
    number: int = 0
    """From 1, oldest first."""
    played: PlayedGame | None = field(default=None, repr=False)

    def summary(self) -> dict[str, Any]:
        """What a list says of it: nothing that is secret while the game runs."""
        return {
            "number": self.number,
            "table": self.code,
            "title": self.title,
            "game": self.game,
            "started": self.started,
            "stage": self.stage,
            "players": self.players,
            "winners": self.winners,
        }

    def identity(self) -> Identity | None:
        """What no two games have in common; None for one that cannot be read."""
        played = self.played
        return None if played is None else (played.room.code, played.at, played.start.seed)

    def record(self, *, chat: bool = False) -> Record | None:
        """The game with all its secrets; None for one that cannot be read."""
        return None if self.played is None else self.played.record(chat=chat)


def games_in(db: sqlite3.Connection) -> list[Item]:
    """All games of a journal, oldest first."""
    tables = [table for (table,) in db.execute("SELECT id FROM tables ORDER BY id")]
    found = [item for table in tables for item in items(*events_of(db, table), GAMES)]
    found.sort(key=lambda item: item.started)
    for number, item in enumerate(found, 1):
        item.number = number
    return found


class PlayedGame:
    """A game on its way through the journal: its start, and what followed."""

    def __init__(self, room: Room, at: int, start: ev.Started) -> None:
        self.room = room
        """As it was at the game's end, or is now."""
        self.host = room.host
        self.at = at
        self.start = start
        self.known = room.state is not None
        self.closed = False
        self.acted: list[tuple[int, ev.Acted]] = []
        self.spoken: list[tuple[int, ev.Spoken]] = []

    def __repr__(self) -> str:
        return f"PlayedGame(at={self.at})"

    def stage(self) -> Stage:
        if not self.known:
            return "unknown rules"
        if self.room.stage == "over":
            return "finished"
        return "unfinished" if self.closed else "running"

    def item(self) -> Item:
        room, stage = self.room, self.stage()
        return Item(
            code=room.code,
            title=room.title,
            game=room.game.name,
            started=self.at,
            stage=stage,
            players=[seat.name for seat in room.seats],
            winners=list(room.results[-1].winners) if stage == "finished" else None,
            played=self,
        )

    def record(self, *, chat: bool) -> Record:
        room = self.room
        last = room.results[-1] if self.stage() == "finished" else None
        return Record(
            format=FORMAT,
            version=FORMAT_VERSION,
            table=room.code,
            title=room.title,
            game=room.game.name,
            rules_version=self.start.version,
            rules=dict(room.rules),
            options=msgspec.to_builtins(room.options),
            seats=[_player(seat) for seat in room.seats],
            host=self.host,
            seed=self.start.seed,
            commitment=None if room.state is None else room.game.commitment(room.state),
            started=self.at,
            actions=[Move(at=at, seat=a.seat, action=a.action) for at, a in self.acted],
            result=None if last is None else Outcome(totals=last.totals, winners=last.winners),
            chat=[
                Remark(at=at, seat=said.seat, name=said.name, text=said.text, to=said.to)
                for at, said in self.spoken
            ]
            if chat
            else None,
        )


def _player(seat: Seat) -> Player:
    kind: Literal["human", "bot", "stand_in"] = (
        "bot" if not seat.human else "stand_in" if seat.by_computer else "human"
    )
    return Player(name=seat.name, kind=kind, level=seat.level)


def items(journal: Journal, whole: bool, games: Mapping[str, Game]) -> Iterator[Item]:
    """The games of one table, and a last item for what cannot be read, where there is such."""
    found: list[PlayedGame] = []
    try:
        for played in _played(journal, games):
            found.append(played)
    except Exception:  # whatever is wrong with it, the others are listed
        whole = False
    if not whole and found and found[-1].stage() in {"running", "unknown rules"}:
        broken = replace(found.pop().item(), stage="unreadable", played=None)
        yield from (played.item() for played in found)
        yield broken
        return
    yield from (played.item() for played in found)
    if not whole:
        yield _without_a_game(journal, games)


def _without_a_game(journal: Journal, games: Mapping[str, Game]) -> Item:
    at, first = journal[0] if journal else (0, None)
    if not isinstance(first, ev.Opened):
        return Item(code="", title="", game="", started=at, stage="unreadable")
    stage: Stage = "unreadable" if first.game in games else "unknown rules"
    return Item(code=first.code, title=first.title, game=first.game, started=at, stage=stage)


def _played(journal: Journal, games: Mapping[str, Game]) -> Iterator[PlayedGame]:
    """Each game as soon as it starts; it goes on while the next one is asked for.

    No time is before the one above it, also where the machine's clock was set back meanwhile.
    Raises ValueError and what a game raises for a journal that cannot be followed.
    """
    room: Room | None = None
    played: PlayedGame | None = None
    at = 0
    for then, event in journal:
        at = max(at, then)
        if room is None:
            if not isinstance(event, ev.Opened):
                raise ValueError("A table's journal begins with its opening.")
            room = opened(event, at, games)
            continue
        unknown = played is not None and not played.known and room.stage == "playing"
        if isinstance(event, ev.Started):
            room = _started(room, event, at)
            played = PlayedGame(room, at, event)
            yield played
            continue
        if not (unknown and isinstance(event, ev.Acted)):
            room = apply(room, event, at)
        if played is None:
            continue
        match event:
            case ev.Acted():
                played.acted.append((at, event))
            case ev.Spoken():
                played.spoken.append((at, event))
            case ev.Closed():
                played.closed = True
            case ev.Reopened():
                played = None
        if played is not None and played.room.stage != "over":
            played.room = room
    if room is None:
        raise ValueError("A table's journal has at least one event.")


def _started(room: Room, event: ev.Started, at: int) -> Room:
    """The room with the game begun, without a state where its rules are not known here."""
    try:
        return apply(room, event, at)
    except UnknownVersion:
        seats = tuple(seat for seat in room.seats if seat.taken)
        return replace(room, stage="playing", seats=seats, seed=event.seed, state=None, since=at)
