"""Nobody learns from a view what they may not know.

Two games that differ only in what a reader may not know give that reader the same bytes at every
step until the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import qe
from server.games.qe import QE
from server.games.qe.rules import State

SCALE = 10
"""All amounts are multiples of this, so that a little more changes no order."""

some = settings(max_examples=8, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
PLAYERS = pytest.mark.parametrize("players", [3, 4, 5])


@dataclasses.dataclass
class Move:
    """What a seat did, and in which phase. `closes`: it was the last bid of its stage.
    `replaced`: the seat changed its mind later."""

    seat: int
    action: qe.Action
    auction: int
    stage: int
    phase: str
    closes: bool
    replaced: bool = False

    @property
    def amount(self) -> int | None:
        return int(self.action.amount) if isinstance(self.action, qe.Bid) else None

    @property
    def secret(self) -> bool:
        return self.amount is not None and self.phase != "opening"


def record(gamble: Any, state: State) -> tuple[list[Move], State]:
    """A whole game, played by chance."""
    moves: list[Move] = []
    while QE.winners(state) is None:
        public = QE.public(state)
        seat, action = gamble.action(state)
        after = QE.act(state, seat, action)
        closes = QE.step(after) > QE.step(state)
        moves.append(Move(seat, action, public.auction, public.rebids, public.phase, closes))
        state = after
    last: dict[tuple[int, int, int, str], Move] = {}
    for move in moves:
        if move.amount is not None:
            key = (move.auction, move.stage, move.seat, move.phase)
            if key in last:
                last[key].replaced = True
            last[key] = move
    return moves, state


def replay(state: State, moves: list[Move]) -> Iterator[State]:
    yield state
    for move in moves:
        state = QE.act(state, move.seat, move.action)
        yield state


def more(amount: int, rng: Random) -> qe.Bid:
    return qe.Bid(amount=str(amount + rng.randrange(1, SCALE)))


def room(state: State, seat: int) -> int:
    return QE.private_room(QE.private(state, seat))


def start(play: Any, players: int, rng: Random) -> State:
    state: State = play.new(players, rng.randrange(players), notes=rng.random() < 0.7)
    return state


@PLAYERS
@some
@given(seed=SEEDS)
def test_one_secret_bid_is_seen_by_who_may_see_it(
    players: int, play: Any, gambler: Any, seed: int
) -> None:
    """It is a bid that nobody else in the auction equals, raised by less than the next amount."""
    gamble = gambler(seed, SCALE, 300)
    state = start(play, players, gamble.rng)
    moves, over = record(gamble, state)

    def alone(move: Move) -> bool:
        return all(
            other is move or other.auction != move.auction or other.amount != move.amount
            for other in moves
        )

    candidates = [
        number
        for number, move in enumerate(moves)
        if move.secret and not move.replaced and (move.amount or players == 3) and alone(move)
    ]
    if not candidates:
        return
    chosen = gamble.rng.choice(candidates)
    bid = moves[chosen]
    assert bid.amount is not None
    other_moves = list(moves)
    other_moves[chosen] = dataclasses.replace(bid, action=more(bid.amount, gamble.rng))

    sale = QE.public(over).history[bid.auction - 1]
    is_price = sale.winner == bid.seat and sale.price == str(bid.amount)
    may_know: set[int] = set()
    for number, (one, other) in enumerate(
        zip(replay(state, moves), replay(state, other_moves), strict=True)
    ):
        done = moves[:number]
        if bid in done:
            may_know.add(bid.seat)
            closed = any(
                move.closes and (move.auction, move.stage) == (bid.auction, bid.stage)
                for move in done[chosen:]
            )
            if closed and sale.auctioneer is not None:
                may_know.add(sale.auctioneer)
            if done[-1].action == qe.Peek() and is_price:
                peeked = QE.public(one).seats[done[-1].seat].peeked
                may_know |= {done[-1].seat} if peeked == bid.auction else set()
        if number == len(moves):
            break
        views, others = play.seen(one), play.seen(other)
        assert views[-1] == others[-1], "the public view"
        for seat in range(players):
            if seat not in may_know:
                assert views[seat] == others[seat]
            assert room(one, seat) == room(other, seat), "what a padded view is as long as"
        if number == chosen + 1 and not bid.closes:
            assert views[bid.seat] != others[bid.seat], "a bidder sees the own bid"
    else:
        raise AssertionError("the games ended early")
    assert play.seen(one)[-1] != play.seen(other)[-1], "at the end all bids are turned up"


def hidden_from(reader: int | None, moves: list[Move], over: State, rng: Random) -> list[Move]:
    """The game with every secret bid that the reader may not know changed, all orders kept.

    What exceeds all that the reader knows of an auction becomes longer by many digits.
    """
    history = QE.public(over).history
    kept: dict[int, Callable[[int], int]] = {}
    for sale in history:
        bids = [move for move in moves if move.auction == sale.auction and move.amount is not None]
        known = {move.amount or 0 for move in bids if not move.secret or move.seat == reader}
        if reader is not None and QE.public(over).seats[reader].peeked == sale.auction:
            known.add(int(sale.price or 0))
        zero_is_shown = len(QE.public(over).seats) > 3
        highest = max(known, default=0)
        factor = 10 ** rng.randrange(1, 600)
        extra = rng.randrange(1, SCALE)

        def change(
            amount: int,
            known: set[int] = known,
            highest: int = highest,
            factor: int = factor,
            extra: int = extra,
            zero_is_shown: bool = zero_is_shown,
        ) -> int:
            if amount in known or (amount == 0 and zero_is_shown):
                return amount
            return amount * factor if amount > highest else amount + extra

        kept[sale.auction] = (lambda amount: amount) if reader == sale.auctioneer else change
        if reader is None:
            kept[sale.auction] = change
    return [
        dataclasses.replace(move, action=qe.Bid(amount=str(kept[move.auction](move.amount))))
        if move.secret and move.amount is not None
        else move
        for move in moves
    ]


@PLAYERS
@some
@given(seed=SEEDS)
def test_all_that_a_reader_may_not_know_might_be_otherwise(
    players: int, play: Any, gambler: Any, seed: int
) -> None:
    gamble = gambler(seed, SCALE, 300)
    state = start(play, players, gamble.rng)
    moves, over = record(gamble, state)
    for reader in (None, gamble.rng.randrange(players)):
        other_moves = hidden_from(reader, moves, over, gamble.rng)
        assert other_moves != moves
        pairs = list(zip(replay(state, moves), replay(state, other_moves), strict=True))
        for one, other in pairs[:-1]:
            assert msgspec.msgpack.encode(QE.public(one)) == msgspec.msgpack.encode(
                QE.public(other)
            )
            if reader is not None:
                assert msgspec.msgpack.encode(QE.private(one, reader)) == msgspec.msgpack.encode(
                    QE.private(other, reader)
                )
        assert QE.public(pairs[-1][0]) != QE.public(pairs[-1][1])


@PLAYERS
@some
@given(seed=SEEDS)
def test_a_changed_mind_changes_only_the_own_view(
    players: int, play: Any, gambler: Any, seed: int
) -> None:
    gamble = gambler(seed, digits=40)
    state = start(play, players, gamble.rng)
    while QE.winners(state) is None:
        sealed = [
            seat
            for seat in range(players)
            if QE.private(state, seat).may_bid and seat not in QE.waiting(state)
        ]
        for seat in sealed:
            bid = gamble.bid(state, seat)
            changed = QE.act(state, seat, bid)
            before, after = play.seen(state), play.seen(changed)
            same_bid = bid.amount == QE.private(state, seat).bid
            assert (before.pop(seat) == after.pop(seat)) == same_bid
            assert before == after
        state = QE.act(state, *gamble.action(state))


@PLAYERS
@some
@given(seed=SEEDS)
def test_canaries_are_in_no_view_of_who_may_not_know_them(
    players: int, play: Any, seed: int
) -> None:
    """Every amount is a random text of digits that no other number of a view can hold by chance."""
    rng = Random(seed)
    state = start(play, players, rng)
    secret_seed = play.seed
    known: list[set[str]] = [set() for _ in range(players)]
    open_to_all: set[str] = set()
    used: list[str] = []
    stage: dict[int, str] = {}

    def canary() -> str:
        return str(rng.randrange(10**17, 10**18))

    while True:
        public = QE.public(state)
        shared = canary()
        for seat in QE.waiting(state):
            amount = shared if rng.random() < 0.6 else canary()
            used.append(amount)
            known[seat].add(amount)
            if public.phase == "opening":
                open_to_all.add(amount)
            stage[seat] = amount
            before = QE.step(state)
            state = play.bid(state, seat, amount)
            if QE.step(state) > before and public.auctioneer is not None:
                known[public.auctioneer] |= set(stage.values())
                stage = {}
            if QE.winners(state) is not None:
                break
            peeking = [s for s in range(players) if QE.private(state, s).may_peek]
            if peeking and rng.random() < 0.1:
                peeker = rng.choice(peeking)
                award = state.awards[-1]
                state = play.peek(state, peeker)
                known[peeker].add(str(award.price))
            views = play.seen(state)
            for text in used:
                if text in open_to_all:
                    continue
                assert text.encode() not in views[-1]
                for reader in range(players):
                    assert text in known[reader] or text.encode() not in views[reader]
            assert all(secret_seed.encode() not in view for view in views)
        if QE.winners(state) is not None:
            break
    assert all(text.encode() in play.seen(state)[-1] for text in used)


@PLAYERS
@some
@given(seed=SEEDS, stop=st.integers(0, 80))
def test_tokens_and_the_deck_below_the_tile_are_in_no_view(
    players: int, play: Any, gambler: Any, seed: int, stop: int
) -> None:
    gamble = gambler(seed)
    state = start(play, players, gamble.rng)
    for _ in range(stop):
        after = QE.act(state, *gamble.action(state))
        if QE.winners(after) is not None:
            break
        state = after
    number = QE.public(state).auction
    below = list(state.deal.deck[number:])
    gamble.rng.shuffle(below)
    deck = (*state.deal.deck[:number], *below)
    views = play.seen(state)
    assert play.seen(_with(state, deck=deck)) == views

    one, other = gamble.rng.sample(range(players), 2)
    tokens = list(state.deal.tokens)
    tokens[one], tokens[other] = tokens[other], tokens[one]
    swapped = play.seen(_with(state, tokens=tuple(tokens)))
    for reader in (*range(players), players):
        assert (views[reader] == swapped[reader]) == (reader not in {one, other})

    other_seed = dataclasses.replace(state, seed="another seed")
    assert play.seen(other_seed) == views


def _with(state: State, **dealt: Any) -> State:
    return dataclasses.replace(state, deal=dataclasses.replace(state.deal, **dealt))
