"""What happens at a table while a seat's holder is away. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable

from server import events as ev
from server.room import Room

LOBBY_AWAY = 60_000
"""Milliseconds away after which a lobby's seat is free. In a game it is released after as long
where its holder sat down in that game and never did anything since: the answer with the token may
have been lost, and nobody could ever come back to it."""

STANDING_RELEASE = 600_000
"""Milliseconds away after which a standing table's seat is released in a game."""


def when_away(room: Room, number: int, away: Container[int]) -> Iterable[tuple[int, ev.AnyEvent]]:
    """What happens to this seat, and after how many milliseconds.

    `away` are the keys of all whose holders are away.
    """
    seat, patience = room.seats[number], room.options.away_seconds * 1000
    if room.stage == "lobby":
        yield LOBBY_AWAY, ev.Left(seat=number)
    elif room.stage == "playing":
        if room.standing and not seat.by_computer:
            yield patience, ev.StoodIn(seat=number)
        if not seat.released and (seat.unproven or room.standing):
            yield LOBBY_AWAY if seat.unproven else STANDING_RELEASE, ev.Released(seat=number)
    if room.host == number:
        here = [s.key for s in room.seats if s.held and s.key not in away]
        if here:
            heir = room.seat_of(min(here))
            assert heir is not None
            yield patience, ev.HostPassed(seat=heir)
