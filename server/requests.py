"""What a request does to a room: the events that it leads to, or a refusal.

Pure. Nothing here knows connections or clocks; what a decision needs of them is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from protocol import messages as m
from protocol import text
from protocol.errors import Code, MessageError, Refused
from server import events as ev
from server.codes import bot_name
from server.games.game import Game, Malformed
from server.room import Room, Seat, apply

HOST_NAME = "host"
"""How the host itself is called in a table's chat; nobody else may be."""

Away = Mapping[int, int]
"""For each seat whose holder is away, for how many milliseconds."""


# --- Sitting down and getting up ------------------------------------------------------------


def join(room: Room, name: str, token: bytes, watching: Iterable[str] = ()) -> ev.Joined:
    """A seat for a newcomer. `watching` are the names of the spectators.

    Who comes by the name of somebody whose seat is released gets that one.
    """
    free = room.free()
    if not free:
        if room.stage == "playing":
            raise Refused(Code.ALREADY_STARTED, "started", "The game has begun; no seat is free.")
        raise Refused(Code.TABLE_FULL, "full", "All seats of this table are taken.")
    skeleton = text.skeleton(name)
    named = (n for n in free if text.skeleton(room.seats[n].name) == skeleton)
    seat = next(named, free[0])
    check_name(room, name, watching, besides=seat)
    return ev.Joined(seat=seat, name=name, token=token)


def resume(room: Room, used: bytes, token: bytes) -> ev.Resumed:
    """The seat of somebody who shows one of its two tokens."""
    for number, seat in enumerate(room.seats):
        if seat.human and used in (seat.token, seat.next_token):
            return ev.Resumed(seat=number, used=used, token=token)
    raise Refused(
        Code.BAD_TOKEN,
        "token",
        "No seat of this table is kept for that token: it was left, or somebody else has it.",
    )


def leave(room: Room, seat: int) -> ev.Left:
    return ev.Left(seat=seat)


def check_name(room: Room, name: str, watching: Iterable[str], besides: int | None = None) -> None:
    """Refuses a name that somebody at the table has, or one like it."""
    skeleton = text.skeleton(name)
    seated = (seat.name for n, seat in enumerate(room.seats) if seat.taken and n != besides)
    if any(text.skeleton(taken) == skeleton for taken in (HOST_NAME, *seated, *watching)):
        raise Refused(
            Code.NAME_TAKEN, "name", "Somebody at this table has that name, or one like it."
        )


# --- The lobby ------------------------------------------------------------------------------


def check_may_set(room: Room, seat: int | None) -> None:
    """Refuses `set` to who may not do it now."""
    _host_in_lobby(room, seat)


def change(room: Room, seat: int | None, body: m.Set, password: str | None) -> list[ev.AnyEvent]:
    """What `set` sets, nothing where all is so already. `password` is the hash of the new one, or
    empty to take it away."""
    check_may_set(room, seat)
    if body.seats is not None:
        check_size(room.game, body.seats)
        if body.seats < sum(s.taken for s in room.seats):
            raise Refused(Code.TABLE_FULL, "taken", "More seats than that are taken.")
    options = read_options({**msgspec.to_builtins(room.options), **(body.options or {})})
    rules = read_rules(room.game, {**room.rules, **(body.rules or {})})
    changed = ev.Changed(
        size=None if body.seats == room.size else body.seats,
        title=None if body.title == room.title else body.title,
        password=None if not password and not room.password else password,
        options=None if options == room.options else options,
        rules=None if rules == room.rules else rules,
    )
    return [] if changed == ev.Changed() else [changed]


def move(room: Room, seat: int | None, body: m.Move) -> list[ev.AnyEvent]:
    _host_in_lobby(room, seat)
    _seat(room, body.seat)
    _seat(room, body.to)
    return [] if body.seat == body.to else [ev.Moved(seat=body.seat, to=body.to)]


def add_bot(room: Room, seat: int | None, body: m.AddBot) -> ev.BotAdded:
    _host_in_lobby(room, seat)
    return bot(room, body.level)


def bot(room: Room, level: str | None = None) -> ev.BotAdded:
    """A computer player for the first open seat."""
    if level is not None and level not in room.game.levels:
        raise MessageError(None, "level", "There is no computer player of that level.")
    seat = room.first_open()
    if seat is None:
        raise Refused(Code.TABLE_FULL, "full", "All seats of this table are taken.")
    taken = {text.skeleton(other.name) for other in room.seats if other.taken}
    name = bot_name(lambda name: text.skeleton(name) in taken)
    return ev.BotAdded(seat=seat, name=name, level=level or room.game.levels[0])


def computers(game: Game, number: int) -> list[ev.AnyEvent]:
    """Computer players for the first seats of a new table."""
    names: list[str] = []
    for _ in range(number):
        names.append(bot_name(names.__contains__))
    return [
        ev.BotAdded(seat=seat, name=name, level=game.levels[0]) for seat, name in enumerate(names)
    ]


def remove(room: Room, seat: int | None, body: m.Remove) -> ev.Left:
    _host_in_lobby(room, seat)
    if not _seat(room, body.seat).taken:
        raise Refused(Code.ILLEGAL, "open", "Nobody sits there.")
    if body.seat == seat:
        raise Refused(Code.ILLEGAL, "yourself", "To go yourself, leave the table.")
    return ev.Left(seat=body.seat)


def start(room: Room, seat: int | None) -> None:
    """Refuses where the game may not start now."""
    _host_in_lobby(room, seat)
    fewest = room.game.seats[0]
    if sum(s.taken for s in room.seats) < fewest:
        raise Refused(Code.NOT_READY, "too_few", f"At least {fewest} seats must be taken to start.")


# --- The game -------------------------------------------------------------------------------


def act(room: Room, seat: int | None, body: m.Act) -> list[ev.AnyEvent]:
    """An action; to do again what one has done already is nothing."""
    number = _seated(seat)
    try:
        action = room.game.action(body.action)
    except Malformed as malformed:
        raise MessageError(None, "action", str(malformed)) from None
    if room.stage != "playing":
        raise Refused(Code.STALE, "no_game", "No game is running.")
    if body.step != room.game.step(room.state):
        raise Refused(Code.STALE, "step", "That step of the game has passed.")
    reason = room.game.why_not(room.state, number, action)
    if reason is not None:
        raise Refused(Code.ILLEGAL, reason.key, reason.message)
    acted = ev.Acted(seat=number, action=msgspec.to_builtins(action))
    return [] if apply(room, acted, room.since) == room else [acted]


def pause(room: Room, seat: int | None, body: m.Pause) -> list[ev.AnyEvent]:
    _host(room, seat)
    _playing(room)
    return [] if body.on == room.paused else [ev.Paused(on=body.on)]


def stand_in(room: Room, seat: int | None, body: m.StandIn, away: Away) -> list[ev.AnyEvent]:
    """A computer for somebody who has been away for the table's `away_seconds`."""
    _host(room, seat)
    _playing(room)
    _human(room, body.seat)
    if room.seats[body.seat].by_computer:
        return []
    if away.get(body.seat, -1) < room.options.away_seconds * 1000:
        raise Refused(Code.NOT_READY, "here", "That player has not been away for long enough.")
    return [ev.StoodIn(seat=body.seat)]


def release(room: Room, seat: int | None, body: m.Release, away: Away) -> list[ev.AnyEvent]:
    """An away or stood-in seat, for whoever joins."""
    _host(room, seat)
    _playing(room)
    _human(room, body.seat)
    if room.seats[body.seat].released:
        return []
    if body.seat not in away and not room.seats[body.seat].stand_in:
        raise Refused(Code.NOT_READY, "here", "That player is here.")
    return [ev.Released(seat=body.seat)]


def rematch(room: Room, seat: int | None, away: Away) -> list[ev.AnyEvent]:
    """Back to the lobby, or at a standing table: a place in the next game."""
    if room.standing:
        number = _seated(seat)
        _over(room)
        return [] if room.seats[number].keeps else [ev.Kept(seat=number)]
    _host(room, seat)
    _over(room)
    return [reopen(room, away)]


def reopen(room: Room, away: Away) -> ev.Reopened:
    """Back to the lobby, with the seats of those who are here and stay; at a standing table, of
    those who have said so."""

    def stays(number: int, s: Seat) -> bool:
        if not s.human:
            return s.taken
        if s.released:
            return False
        return s.keeps if room.standing else not (number in away or s.stand_in)

    return ev.Reopened(seats=[number for number, s in enumerate(room.seats) if stays(number, s)])


def say(room: Room, seat: int | None, name: str, spoken: str) -> ev.Spoken:
    """Chat: that of spectators reaches only spectators while a game runs."""
    apart = seat is None and room.stage == "playing"
    return ev.Spoken(seat=seat, name=name, text=spoken, to="spectators" if apart else "all")


# --- What the owner of the host's machine asks ------------------------------------------------


def kick(room: Room, who: str) -> ev.Left:
    """Sends somebody away: in the lobby the seat is open then, in a game it is released."""
    seat = seat_called(room, who)
    if room.stage != "lobby" and not room.seats[seat].human:
        raise Refused(Code.ILLEGAL, "computer", "A computer has that seat, and the game has begun.")
    return ev.Left(seat=seat)


def rename(room: Room, who: str, name: str, watching: Iterable[str] = ()) -> ev.Renamed:
    seat = seat_called(room, who)
    check_name(room, text.name(name), watching, besides=seat)
    return ev.Renamed(seat=seat, name=name)


def seat_called(room: Room, who: str) -> int:
    """The taken seat of that number, from 1 as on the screens, or of that name. Raises Refused."""
    seat = _called(room, who)
    if seat is None:
        raise Refused(Code.ILLEGAL, "unknown_seat", "Nobody of that name or seat number is there.")
    return seat


def is_seated(room: Room, who: str) -> bool:
    """Whether there is a taken seat of that number or that name."""
    return _called(room, who) is not None


def _called(room: Room, who: str) -> int | None:
    taken = {str(number + 1): number for number, seat in enumerate(room.seats) if seat.taken}
    names = {room.seats[number].name: number for number in taken.values()}
    return (names | taken).get(who)


# --- Fields of several requests -------------------------------------------------------------


def check_size(game: Game, seats: int) -> None:
    """Raises MessageError for a number of seats that the game cannot have."""
    fewest, most = game.seats
    if not fewest <= seats <= most:
        raise MessageError(None, "seats", f"This game has {fewest} to {most} seats.")


def read_options(given: Mapping[str, Any]) -> m.Options:
    """Options as their type. Raises MessageError."""
    wrong = MessageError(None, "options", "The table's options are not understood.")
    if not set(given) <= set(m.Options.__struct_fields__):
        raise wrong
    try:
        return msgspec.convert(given, type=m.Options, strict=True)
    except (msgspec.ValidationError, TypeError, ValueError):
        raise wrong from None


def read_rules(game: Game, given: Mapping[str, Any]) -> dict[str, Any]:
    """All rules of a table, defaults filled in. Raises MessageError."""
    try:
        rules: dict[str, Any] = msgspec.to_builtins(game.rules(given))
    except Malformed as malformed:
        raise MessageError(None, "rules", str(malformed)) from None
    return rules


# --- Who may --------------------------------------------------------------------------------


def _seated(seat: int | None) -> int:
    if seat is None:
        raise Refused(Code.NOT_SEATED, "seat", "You have no seat at this table.")
    return seat


def _host(room: Room, seat: int | None) -> None:
    if seat is None or seat != room.host:
        raise Refused(Code.NOT_HOST, "host", "Only the table's host may do that.")


def _host_in_lobby(room: Room, seat: int | None) -> None:
    _host(room, seat)
    if room.stage != "lobby":
        raise Refused(Code.ALREADY_STARTED, "started", "That is for the lobby; the game has begun.")


def _playing(room: Room) -> None:
    if room.stage != "playing":
        raise Refused(Code.STALE, "no_game", "No game is running.")


def _over(room: Room) -> None:
    if room.stage != "over":
        raise Refused(Code.NOT_OVER, "not_over", "The game is not over.")


def _seat(room: Room, number: int) -> Seat:
    if number >= len(room.seats):
        raise MessageError(None, "seat", "The table has no such seat.")
    return room.seats[number]


def _human(room: Room, number: int) -> None:
    if not _seat(room, number).human:
        raise Refused(Code.ILLEGAL, "computer", "A computer has that seat.")
