"""The computer players of one table: when they have thought enough, and what they then do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random

import msgspec

from server import events as ev
from server.room import Room
from server.safelog import where

log = logging.getLogger(__name__)

ALONE = 2.5
"""How many times longer a computer thinks if it alone is waited for when a step begins: what the
last step brought is to be read meanwhile."""

Thought = tuple[int, int]
"""Whose (the key of a seat's holder), and at which step of the game."""


class Computers:
    """What computers are thinking about. A thought is dropped when its seat or step has gone."""

    def __init__(self, now: Callable[[], int], delay: Callable[[], float]) -> None:
        """`now` gives Unix milliseconds, `delay` the seconds that a thought takes."""
        self._now = now
        self._delay = delay
        self._due: dict[Thought, int] = {}

    @property
    def due(self) -> dict[Thought, int]:
        """When each thought is finished, in Unix milliseconds."""
        return dict(self._due)

    def plan(self, room: Room) -> None:
        """A time for each computer-played seat that is waited for."""
        planned: dict[Thought, int] = {}
        if room.stage == "playing":
            step, waiting = room.game.step(room.state), room.game.waiting(room.state)
            for seat in (room.seats[number] for number in waiting):
                if seat.by_computer:
                    thought = seat.key, step
                    planned[thought] = self._due.get(thought) or self._when(len(waiting) == 1)
        self._due = planned

    def finish(self, room: Room, thought: Thought) -> ev.Acted | None:
        """What comes of a thought, None where it has no object any more."""
        self._due.pop(thought, None)
        key, step = thought
        number = room.seat_of(key)
        if number is None or room.stage != "playing" or step != room.game.step(room.state):
            return None
        if not room.seats[number].by_computer or number not in room.game.waiting(room.state):
            return None
        action = _choose(room, number, step)
        if room.game.why_not(room.state, number, action) is not None:
            log.error("a computer player of %s chose what it may not", room.game.name)
            action = room.game.timeout(room.state, number)
        return ev.Acted(seat=number, action=msgspec.to_builtins(action))

    def _when(self, alone: bool) -> int:
        return self._now() + int(self._delay() * (ALONE if alone else 1) * 1000)


def _choose(room: Room, number: int, step: int) -> msgspec.Struct:
    game, state = room.game, room.state
    level = room.seats[number].level or game.levels[0]
    rng = Random(f"{room.seed}/computer/{number}/{step}")
    try:
        action = game.choose(level, game.public(state), game.private(state, number), rng)
    except Exception as error:
        log.error("a computer player failed: %s", where(error))
        action = None
    return action or game.timeout(state, number)
