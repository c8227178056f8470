"""A game of QE to play in a test: amounts as numbers, seats by name of their number."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise
from random import Random
from typing import Any

import msgspec
import pytest

from protocol import qe
from server.games.qe import QE
from server.games.qe.rules import State

SEED = "golden"


class Playing:
    """Short ways to play; everything goes through the contract of the game."""

    seed = SEED

    @staticmethod
    def new(players: int, first: int = 0, *, notes: bool = True, step: int = 1) -> State:
        rules = qe.Rules(notes=notes, first="host")
        return QE.new(players, first, rules, SEED, step, 1)

    @staticmethod
    def bid(state: State, seat: int, amount: int | str) -> State:
        return QE.act(state, seat, qe.Bid(amount=str(amount)))

    @staticmethod
    def peek(state: State, seat: int) -> State:
        return QE.act(state, seat, qe.Peek())

    @classmethod
    def auction(cls, state: State, opening: int, *stages: Mapping[int, int]) -> State:
        """Plays one whole auction, each stage's bids in the order given."""
        number = QE.public(state).auction
        auctioneer = QE.public(state).auctioneer
        assert auctioneer is not None
        state = cls.bid(state, auctioneer, opening)
        for stage in stages:
            assert set(QE.waiting(state)) == set(stage)
            for seat, amount in stage.items():
                state = cls.bid(state, seat, amount)
        public = QE.public(state)
        assert public.history[-1].auction == number, "the auction is not over"
        assert public.phase in {"opening", "blind", "over"}
        return state

    @classmethod
    def dull(cls, state: State, auctions: int = 1) -> State:
        """Plays auctions that their auctioneers win with 10, all others bidding 1 to 4."""
        for _ in range(auctions):
            auctioneer = QE.public(state).auctioneer
            assert auctioneer is not None
            others = [seat for seat in range(state.players) if seat != auctioneer]
            state = cls.auction(state, 10, {seat: n + 1 for n, seat in enumerate(others)})
        return state

    @classmethod
    def final(cls, **options: Any) -> State:
        """The three-player final: fifteen dull auctions are over."""
        state = cls.dull(cls.new(3, **options), 15)
        assert QE.public(state).phase == "blind"
        return state

    @staticmethod
    def reason(state: State, seat: int, action: msgspec.Struct | int | str) -> str | None:
        """The key of why the seat may not do (or bid) this, or None."""
        if isinstance(action, (int, str)):
            action = qe.Bid(amount=str(action))
        reason = QE.why_not(state, seat, action)
        return None if reason is None else reason.key

    @staticmethod
    def seen(state: State) -> list[bytes]:
        """The bytes of every view: each seat's own, and last the public one."""
        views = [QE.private(state, seat) for seat in range(state.players)]
        return [msgspec.msgpack.encode(view) for view in [*views, QE.public(state)]]

    @staticmethod
    def brute_split(players: int, pieces: list[str]) -> int:
        """The best VP for diversification, by trying every multiset of sets that is there."""
        points = {3: 8, 4: 12, 5: 17} if players == 5 else {3: 4, 4: 8}
        kinds = sorted(set(pieces))
        sets = [chosen for size in points for chosen in combinations(kinds, size)]

        def search(start: int, left: dict[str, int]) -> int:
            best = 0
            for index in range(start, len(sets)):
                chosen = sets[index]
                if all(left[kind] for kind in chosen):
                    rest = {kind: count - (kind in chosen) for kind, count in left.items()}
                    best = max(best, points[len(chosen)] + search(index, rest))
            return best

        return search(0, {kind: pieces.count(kind) for kind in kinds})

    @staticmethod
    def ascending(numbers: list[Any]) -> bool:
        return all(before < after for before, after in pairwise(numbers))


class Gambler:
    """Plays all seats by chance, legally, with a liking for ties, zeros and huge cheques.

    All amounts are multiples of `scale` and have at most `digits` digits.
    """

    def __init__(self, seed: int, scale: int = 1, digits: int = qe.MAX_DIGITS) -> None:
        self.rng = Random(seed)
        self.scale = scale
        self.digits = digits
        self.liked = [2, 3]
        """The amounts that everybody likes just now, and so ties with."""
        self.herd = self.rng.choice([0.3, 0.6, 0.97])
        """How much everybody bids what everybody bids."""
        self.thrift = self.rng.random()
        """How much the rest is small change."""

    def amount(self) -> int:
        rng = self.rng
        kind = rng.random()
        if kind < 0.15:
            return 0
        if kind < self.herd:
            return rng.choice(self.liked) * self.scale
        if rng.random() < self.thrift:
            return rng.randrange(40) * self.scale
        longest = self.digits - len(str(self.scale)) + 1
        if rng.random() < 0.05:
            return (10**longest - 1) * self.scale
        amount = rng.randrange(1, 10) * 10 ** rng.randrange(2, longest) + rng.randrange(-1, 2)
        if rng.random() < 0.5:
            self.liked = [amount, rng.randrange(1, 40)]
        return amount * self.scale

    def bid(self, state: State, seat: int) -> qe.Bid:
        may = QE.private(state, seat).may_bid
        assert may is not None
        low = QE.public(state).phase == "opening" and self.rng.random() < self.herd
        amount = self.scale if low else max(self.amount(), int(may.minimum) * self.scale)
        if may.other_than == str(amount):
            amount += self.scale if self.rng.random() < 0.5 and amount < 100 else -self.scale
        return qe.Bid(amount=str(amount))

    def action(self, state: State) -> tuple[int, qe.Action]:
        """Mostly a bid that is awaited; at times a change of mind, or a peek."""
        seats = range(state.players)
        waiting = QE.waiting(state)
        kind = self.rng.random()
        if kind < 0.1:
            changing = [s for s in seats if QE.private(state, s).may_bid and s not in waiting]
            if changing:
                seat = self.rng.choice(changing)
                return seat, self.bid(state, seat)
        if kind > 0.9:
            peeking = [s for s in seats if QE.private(state, s).may_peek]
            if peeking:
                return self.rng.choice(peeking), qe.Peek()
        seat = self.rng.choice(waiting)
        return seat, self.bid(state, seat)


@pytest.fixture(scope="session")
def gambler() -> type[Gambler]:
    return Gambler


@pytest.fixture(scope="session")
def play() -> type[Playing]:
    return Playing
