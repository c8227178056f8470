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
        self._left: dict[Thought, int] = {}
        """Milliseconds that are left of each thought while the game is paused."""

    @property
    def due(self) -> dict[Thought, int]:
        """When each thought is finished, in Unix milliseconds."""
        return dict(self._due)

    def plan(self, room: Room) -> None:
        """A time for each computer-played seat that is waited for. A pause stops thoughts too."""
        now, due, left = self._now(), self._due, self._left
        self._due, self._left = {}, {}
        if room.stage != "playing":
            return
        step, waiting = room.game.step(room.state), room.game.waiting(room.state)
        for seat in (room.seats[number] for number in waiting):
            if not seat.by_computer:
                continue
            thought = seat.key, step
            if thought in due:
                rest = due[thought] - now
            elif thought in left:
                rest = left[thought]
            else:
                rest = self._takes(len(waiting) == 1)
            if room.paused:
                self._left[thought] = rest
            else:
                self._due[thought] = now + rest

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

    def _takes(self, alone: bool) -> int:
        return int(self._delay() * (ALONE if alone else 1) * 1000)


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
