"""QE, Gavin Birnbaum's auction game without a budget, as the tables play it."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from protocol import qe
from protocol.qe import MAX_DIGITS
from server.games.game import Game, Malformed, Reason, UnknownVersion
from server.games.qe import views
from server.games.qe.rules import State, act, new, timeout, why_not
from server.games.qe.tiles import FEWEST, MOST

__all__ = ["QE"]


class _QE:
    """The contract of `server.games.game.Game`; each method says what it is there."""

    name = "qe"
    seats = (FEWEST, MOST)
    levels: tuple[str, ...] = ("normal",)
    rules_version = 1

    def rules(self, given: Mapping[str, Any]) -> qe.Rules:
        rules: qe.Rules = _read(
            given, qe.Rules, "The rules of QE are notes, true or false, and first, random or host."
        )
        return rules

    def action(self, given: Mapping[str, Any]) -> qe.Action:
        action: qe.Action = _read(
            given,
            qe.Action,
            "An action of QE is a peek, or a bid with an amount: digits without a leading zero, "
            f"at most {MAX_DIGITS:,} of them.",
        )
        return action

    def new(
        self, seats: int, host: int | None, rules: Struct, seed: str, step: int, version: int
    ) -> State:
        if version != self.rules_version:
            raise UnknownVersion(f"QE's rules of version {version} are not known here.")
        if not isinstance(rules, qe.Rules):
            raise TypeError("A game of QE needs the rules of QE.")
        return new(seats, host, rules, seed, step)

    def why_not(self, state: State, seat: int, action: Struct) -> Reason | None:
        return why_not(state, seat, action)

    def secret(self, action: Struct) -> bool:
        return isinstance(action, qe.Bid)

    def act(self, state: State, seat: int, action: Struct) -> State:
        return act(state, seat, action)

    def step(self, state: State) -> int:
        return state.step

    def waiting(self, state: State) -> tuple[int, ...]:
        return state.waiting

    def winners(self, state: State) -> tuple[int, ...] | None:
        return None if state.auction is not None else views.ending(state).winners

    def totals(self, state: State) -> tuple[int, ...]:
        return tuple(standing.total for standing in views.ending(state).standings)

    def commitment(self, state: State) -> str:
        return state.commitment

    def public(self, state: State) -> qe.Game:
        return views.public(state)

    def private(self, state: State, seat: int) -> qe.You:
        return views.private(state, seat)

    def private_room(self, private: qe.You) -> int:
        return views.private_room(private)

    def timeout(self, state: State, seat: int) -> qe.Bid:
        return timeout(state)

    def choose(self, level: str, public: Any, private: Any, rng: Random) -> Struct | None:
        from server.games.qe.bots import choose

        return choose(level, public, private, rng)


def _read(given: Mapping[str, Any], kind: Any, otherwise: str) -> Any:
    """A map as its type; whatever is wrong with it becomes Malformed with the sentence."""
    try:
        return msgspec.convert(dict(given), type=kind, strict=True)
    except (msgspec.ValidationError, UnicodeError, RecursionError, TypeError, ValueError):
        raise Malformed(otherwise) from None


QE: Game = _QE()
