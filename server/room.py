"""A table as its journal tells it: seats, the host's role, chat, results, and the game on it.

Pure. `apply` folds one event into a room; a live table, a restart and a test use the same fold.
Whether something may happen is asked before, in `requests`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from protocol.messages import GameResult, Options, SeatKind, Stage
from server import events as ev
from server.games.game import Game

CHAT_KEPT = 50
REOPEN_AFTER = 45_000
"""Milliseconds from the end of a standing table's game until its lobby reopens."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A place at the table. `key` names its holder for as long as they hold it, 0 being nobody."""

    key: int = 0
    name: str = ""
    level: str | None = None
    token: bytes | None = field(default=None, repr=False)
    next_token: bytes | None = field(default=None, repr=False)
    stand_in: bool = False
    released: bool = False
    keeps: bool = False
    unproven: bool = False
    """Its holder sat down in the present game and has done nothing since, nor come back by the
    token: nobody can know that it got there."""
    view: Any = field(default=None, repr=False)
    """For who took the seat over in the present step: the game as it was when the step began,
    with what they have done since. What the holder before them did in it stays unseen till it
    has passed."""

    @property
    def taken(self) -> bool:
        return self.key != 0

    @property
    def human(self) -> bool:
        return self.taken and self.level is None

    @property
    def held(self) -> bool:
        """Whether a human has it, here or away, whom nobody can replace."""
        return self.human and not self.released

    @property
    def by_computer(self) -> bool:
        """Whether a computer plays it now."""
        return self.taken and (not self.human or self.stand_in or self.released)

    @property
    def kind(self) -> SeatKind:
        if not self.taken:
            return "open"
        if not self.human:
            return "bot"
        return "stand_in" if self.stand_in or self.released else "human"


OPEN = Seat()


@dataclass(frozen=True, slots=True)
class Room:
    """A table between two events. Times are Unix milliseconds of the host's clock."""

    code: str
    game: Game = field(repr=False)
    title: str
    size: int
    options: Options
    rules: Mapping[str, Any]
    password: str | None = field(default=None, repr=False)
    standing: bool = False
    stage: Stage = "lobby"
    seats: tuple[Seat, ...] = ()
    host_key: int = 0
    next_key: int = 1
    next_step: int = 1
    state: Any = field(default=None, repr=False)
    begun: Any = field(default=None, repr=False)
    """The game as it was when its present step began, with what has been done since in public."""
    seed: str = field(default="", repr=False)
    paused: bool = False
    since: int = 0
    deadline: int | None = None
    left: int | None = None
    """Milliseconds that a paused clock has left."""
    chat: tuple[tuple[int, ev.Spoken], ...] = field(default=(), repr=False)
    results: tuple[GameResult, ...] = ()
    closed: bool = False

    @property
    def host(self) -> int | None:
        """The seat that has the host's role."""
        return self.seat_of(self.host_key)

    def seat_of(self, key: int) -> int | None:
        """Where the holder of this key sits now."""
        if key:
            for number, seat in enumerate(self.seats):
                if seat.key == key:
                    return number
        return None

    def free(self) -> list[int]:
        """The seats that one could take now: open ones in the lobby, and released ones."""
        return [
            number
            for number, seat in enumerate(self.seats)
            if (self.stage == "lobby" and not seat.taken) or seat.released
        ]

    def first_open(self) -> int | None:
        """The first of them."""
        return next(iter(self.free()), None)

    @property
    def full(self) -> bool:
        return all(seat.taken for seat in self.seats)


def fold(journal: Iterable[tuple[int, ev.AnyEvent]], games: Mapping[str, Game]) -> Room:
    """The room that a journal tells of: pairs of a time and an event, `Opened` first.

    Raises ValueError for a journal that is none, and what the game raises for a game that it
    cannot follow.
    """
    room: Room | None = None
    for at, event in journal:
        if isinstance(event, ev.Opened):
            room = opened(event, at, games)
        elif room is None:
            raise ValueError("A table's journal begins with its opening.")
        else:
            room = apply(room, event, at)
    if room is None:
        raise ValueError("A table's journal has at least one event.")
    return room


def opened(event: ev.Opened, at: int, games: Mapping[str, Game]) -> Room:
    """A new room. Raises ValueError for a game that is not known here."""
    game = games.get(event.game)
    if game is None:
        raise ValueError("The table is for a game that is not known here.")
    return Room(
        code=event.code,
        game=game,
        title=event.title,
        size=event.size,
        options=event.options,
        rules=event.rules,
        password=event.password,
        standing=event.standing,
        seats=(OPEN,) * event.size,
        since=at,
    )


def apply(room: Room, event: ev.AnyEvent, at: int) -> Room:
    """The room after one more event."""
    match event:
        case ev.Joined(seat=seat, name=name, token=token):
            late = room.stage == "playing"
            newcomer = Seat(
                key=room.next_key,
                name=name,
                token=token,
                unproven=late,
                view=room.begun if late else None,
            )
            room = _with_seat(room, seat, newcomer)
            room = replace(room, next_key=room.next_key + 1)
            return _with_some_host(room)
        case ev.Resumed(seat=seat, used=used, token=token):
            back = replace(
                room.seats[seat],
                token=used,
                next_token=token,
                stand_in=False,
                released=False,
                unproven=False,
            )
            return _with_some_host(_with_seat(room, seat, back))
        case ev.Left(seat=seat):
            return _left(room, seat)
        case ev.Changed():
            return _changed(room, event)
        case ev.Moved(seat=seat, to=to):
            seats = list(room.seats)
            seats[seat], seats[to] = seats[to], seats[seat]
            return replace(room, seats=tuple(seats))
        case ev.Renamed(seat=seat, name=name):
            return _with_seat(room, seat, replace(room.seats[seat], name=name))
        case ev.BotAdded(seat=seat, name=name, level=level):
            room = _with_seat(room, seat, Seat(key=room.next_key, name=name, level=level))
            return replace(room, next_key=room.next_key + 1)
        case ev.Started():
            return _started(room, event, at)
        case ev.Acted(seat=seat, action=action):
            return _acted(room, seat, action, at)
        case ev.StoodIn(seat=seat):
            return _with_seat(room, seat, replace(room.seats[seat], stand_in=True))
        case ev.Released(seat=seat):
            room = _with_seat(room, seat, replace(room.seats[seat], released=True))
            return _with_some_host(room)
        case ev.Paused(on=on):
            return _paused(room, on, at)
        case ev.HostPassed(seat=seat):
            return replace(room, host_key=room.seats[seat].key)
        case ev.Spoken():
            return replace(room, chat=(*room.chat, (at, event))[-CHAT_KEPT:])
        case ev.Kept(seat=seat):
            return _with_seat(room, seat, replace(room.seats[seat], keeps=True))
        case ev.Reopened(seats=seats):
            return _reopened(room, seats, at)
        case ev.Restored():
            return replace(room, deadline=_deadline(room, at)) if room.deadline else room
        case ev.Closed():
            return replace(room, closed=True)
        case ev.Opened():
            raise ValueError("A table opens once.")


def _with_seat(room: Room, number: int, seat: Seat) -> Room:
    seats = list(room.seats)
    seats[number] = seat
    return replace(room, seats=tuple(seats))


def _with_some_host(room: Room) -> Room:
    """Sees to it that the host's role is with the longest seated human where nobody has it."""
    if room.standing:
        return room
    host = room.host
    if host is not None and room.seats[host].held:
        return room
    held = [seat.key for seat in room.seats if seat.held]
    return replace(room, host_key=min(held, default=0))


def _left(room: Room, number: int) -> Room:
    if room.stage == "lobby":
        room = _with_seat(room, number, OPEN)
    else:
        gone = replace(
            room.seats[number],
            token=None,
            next_token=None,
            released=True,
            keeps=False,
            unproven=False,
        )
        room = _with_seat(room, number, gone)
    return _with_some_host(room)


def _changed(room: Room, event: ev.Changed) -> Room:
    if event.size is not None:
        room = replace(room, size=event.size, seats=_resized(room.seats, event.size))
    return replace(
        room,
        title=room.title if event.title is None else event.title,
        password=room.password if event.password is None else event.password or None,
        options=event.options or room.options,
        rules=room.rules if event.rules is None else event.rules,
    )


def _resized(seats: tuple[Seat, ...], size: int) -> tuple[Seat, ...]:
    """As many seats as asked for; open ones go first, from the end, and the order stays."""
    kept = list(seats)
    for number in reversed(range(len(seats))):
        if len(kept) > size and not kept[number].taken:
            del kept[number]
    return tuple(kept) + (OPEN,) * (size - len(kept))


def _started(room: Room, event: ev.Started, at: int) -> Room:
    seats = tuple(replace(seat, keeps=False) for seat in room.seats if seat.taken)
    room = replace(room, stage="playing", seats=seats, seed=event.seed, paused=False, left=None)
    state = room.game.new(
        len(seats),
        room.host,
        room.game.rules(room.rules),
        event.seed,
        room.next_step,
        event.version,
    )
    return _stepped(replace(room, state=state), at)


def _acted(room: Room, number: int, fields: Mapping[str, Any], at: int) -> Room:
    game, seat, action = room.game, room.seats[number], room.game.action(fields)
    if seat.unproven and not seat.by_computer:
        seat = replace(seat, unproven=False)
        room = _with_seat(room, number, seat)
    before = game.step(room.state)
    room = replace(room, state=game.act(room.state, number, action))
    if game.step(room.state) != before:
        return _stepped(room, at)
    if seat.view is not None:
        room = _with_seat(room, number, replace(seat, view=game.act(seat.view, number, action)))
    if not game.secret(action):
        room = replace(room, begun=game.act(room.begun, number, action))
    return room


def _stepped(room: Room, at: int) -> Room:
    """A new step has begun: its clock, and the end of the game if it is that."""
    winners = room.game.winners(room.state)
    room = replace(
        room,
        since=at,
        next_step=room.game.step(room.state) + 1,
        begun=room.state,
        seats=tuple(seat if seat.view is None else replace(seat, view=None) for seat in room.seats),
    )
    if winners is not None:
        result = GameResult(
            names=[seat.name for seat in room.seats],
            totals=list(room.game.totals(room.state)),
            winners=list(winners),
        )
        room = replace(room, stage="over", results=(*room.results, result), paused=False, left=None)
    if room.paused:
        return replace(room, left=_allowed(room))
    return replace(room, deadline=_deadline(room, at))


def _allowed(room: Room) -> int | None:
    """How many milliseconds the present step has."""
    if room.stage == "over":
        return REOPEN_AFTER if room.standing else None
    return room.options.turn_seconds * 1000 or None


def _deadline(room: Room, at: int) -> int | None:
    allowed = _allowed(room)
    return None if allowed is None else at + allowed


def _paused(room: Room, on: bool, at: int) -> Room:
    if on == room.paused:
        return room
    if on:
        left = None if room.deadline is None else max(0, room.deadline - at)
        return replace(room, paused=True, deadline=None, left=left)
    deadline = None if room.left is None else at + room.left
    return replace(room, paused=False, deadline=deadline, left=None)


def _reopened(room: Room, keeping: list[int], at: int) -> Room:
    seats = [
        replace(seat, stand_in=False, released=False, keeps=False, unproven=False)
        if number in keeping
        else OPEN
        for number, seat in enumerate(room.seats)
    ]
    seats += [OPEN] * (room.size - len(seats))
    room = replace(
        room,
        stage="lobby",
        seats=tuple(seats),
        state=None,
        begun=None,
        seed="",
        since=at,
        deadline=None,
    )
    return _with_some_host(room)
