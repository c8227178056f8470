"""What a game is, to a table: a few pure functions over an immutable state.

A game knows no clock, no sockets, no files and no randomness but the seed it is given. A table
moves it, journals what moved it and sends its views; a second game needs no change there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an action is not allowed: a stable key, and a sentence without any amount in it."""

    key: str
    message: str


class Illegal(Exception):
    """The rules forbid the action; nothing has changed."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


class Malformed(Exception):
    """A map that is no action, or no rules, of this game. The message is a sentence."""


class UnknownVersion(Exception):
    """A game was begun by rules of a version that is not known here."""


class Game(Protocol):
    """The contract. `State` values are immutable: `act` returns a new one.

    Rules and actions are msgspec structs, so that a journal can keep them as maps.
    Seats are numbered from 0.
    """

    name: str
    seats: tuple[int, int]
    """The fewest and the most."""
    levels: tuple[str, ...]
    """Of computer players, the first one being the usual one."""
    rules_version: int
    """What new games begin with."""

    def rules(self, given: Mapping[str, Any]) -> Struct:
        """The rules of a table. What is absent has its default. Raises Malformed."""
        ...

    def action(self, given: Mapping[str, Any]) -> Struct:
        """An action as its type. Raises Malformed."""
        ...

    def new(
        self, seats: int, host: int | None, rules: Struct, seed: str, step: int, version: int
    ) -> Any:
        """A game at its start. `step` is its first step's number. Raises UnknownVersion."""
        ...

    def why_not(self, state: Any, seat: int, action: Struct) -> Reason | None:
        """Why the seat may not do this now, or None where it may."""
        ...

    def secret(self, action: Struct) -> bool:
        """Whether others must not know before the step is over what was done, only that it was."""
        ...

    def act(self, state: Any, seat: int, action: Struct) -> Any:
        """The state after the action. Raises Illegal where `why_not` has a reason."""
        ...

    def step(self, state: Any) -> int:
        """Grows by one at each new phase."""
        ...

    def waiting(self, state: Any) -> Sequence[int]:
        """The seats that have yet to act, ascending."""
        ...

    def winners(self, state: Any) -> Sequence[int] | None:
        """The winners' seats, None until the game is over."""
        ...

    def totals(self, state: Any) -> Sequence[int]:
        """The points by seat of a game that is over."""
        ...

    def commitment(self, state: Any) -> str | None:
        """What binds everybody to the seed while it is secret, where the game has such."""
        ...

    def public(self, state: Any) -> Struct:
        """What everybody may know."""
        ...

    def private(self, state: Any, seat: int) -> Struct:
        """What this seat may know beside that."""
        ...

    def private_room(self, private: Any) -> int:
        """The most bytes that a private view of as many facts could take, as msgpack.

        It follows from what everybody knows, so that a view padded to it tells nothing.
        """
        ...

    def timeout(self, state: Any, seat: int) -> Struct:
        """What a seat does whose time has run out. Legal for every seat in `waiting`."""
        ...

    def choose(self, level: str, public: Any, private: Any, rng: Random) -> Struct | None:
        """What a computer player does with what its seat may see, or None to do nothing."""
        ...
