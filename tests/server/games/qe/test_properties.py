"""Random games: whatever is played, they end, lose nothing and are scored rightly.

Every outcome is worked out here a second time, from the bids turned up at the end, in the plainest
way that docs/rules.md allows.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from protocol import qe
from server.games.game import Illegal
from server.games.qe import QE
from server.games.qe.rules import State

a_few = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def resolve(
    auctioneer: int | None, opening: int | None, stages: list[dict[int, int]], players: int
) -> tuple[int | None, int | None, list[int], list[list[int]]]:
    """Winner, price, zeros and ties of an auction, from its bids."""
    standing: dict[int, int] = {}
    ties: list[list[int]] = []
    for number, stage in enumerate(stages):
        expected = set(ties[-1]) if ties else set(range(players)) - {auctioneer}
        assert set(stage) == expected
        standing |= stage
        bids = dict(standing)
        if auctioneer is not None and opening is not None:
            bids[auctioneer] = opening
        best = max(bids.values())
        tied = sorted(seat for seat in bids if bids[seat] == best)
        if len(tied) > 1:
            ties.append(tied)
        last = len(tied) == 1 or len(ties) == 3 or auctioneer is None
        assert last == (number == len(stages) - 1)
    zeros = sorted(seat for seat in standing if standing[seat] == 0) if players > 3 else []
    if auctioneer is None and ties:
        return None, None, zeros, ties
    lone = [amount for amount, times in Counter(bids.values()).items() if times == 1]
    winner = next(seat for seat in bids if bids[seat] == max(lone))
    return winner, max(lone), zeros, ties


def check_auctions(public: qe.Game, players: int) -> None:
    result = public.result
    assert result is not None
    for sale, cheques in zip(public.history, result.auctions, strict=True):
        stages = [{bid.seat: int(bid.amount) for bid in stage} for stage in cheques.stages]
        opening = None if sale.opening is None else int(sale.opening)
        winner, price, zeros, ties = resolve(sale.auctioneer, opening, stages, players)
        assert (sale.winner, sale.zeros, sale.ties) == (winner, zeros, ties)
        assert sale.price == (None if price is None else str(price))
        assert opening is None or all(opening not in stage.values() for stage in stages)


def check_conservation(state: State, public: qe.Game) -> None:
    assert public.result is not None
    sold = {
        tile.auction: (tile.nation, tile.industry, tile.value, board.seat)
        for board in public.seats
        for tile in board.tiles
    }
    assert len(sold) == sum(len(board.tiles) for board in public.seats)
    for number, tile in enumerate(state.deal.deck, start=1):
        sale = public.history[number - 1]
        if sale.winner is None:
            assert number not in sold
            assert (number, state.players) == (16, 3)
        else:
            assert sold[number] == (tile.nation, tile.industry, tile.value, sale.winner)
    prices = sum(int(sale.price) for sale in public.history if sale.price is not None)
    assert prices == sum(int(line.spent) for line in public.result.seats)
    for board, line in zip(public.seats, public.result.seats, strict=True):
        assert int(line.spent) == sum(int(tile.price or 0) for tile in board.tiles)
        assert QE.private(state, line.seat).spent == line.spent


def points_for(players: int, board: qe.Board, token: str, zero_rounds: int) -> dict[str, int]:
    five = players == 5
    pieces = [token, *(tile.industry for tile in board.tiles)]
    nation = sum(tile.nation == board.nation for tile in board.tiles)
    monopoly = {2: 6, 3: 10, 4: 16} if five else {2: 3, 3: 6, 4: 10, 5: 10}
    return {
        "companies": sum(tile.value for tile in board.tiles),
        "zero_bids": 2 * zero_rounds,
        "nationalization": ([0, 3, 6, 10] if five else [0, 1, 3, 6, 10])[nation],
        "monopolization": sum(monopoly.get(count, 0) for count in Counter(pieces).values()),
    }


def check_scores(play: Any, public: qe.Game, players: int) -> None:
    result = public.result
    assert result is not None
    zeros = [
        {sale.round for sale in public.history if seat in sale.zeros} for seat in range(players)
    ]
    most = max(int(line.spent) for line in result.seats)
    least = min(int(line.spent) for line in result.seats)
    for board, line in zip(public.seats, result.seats, strict=True):
        assert set(board.zeros) == zeros[board.seat]
        assert play.ascending(board.zeros)
        expected = points_for(players, board, line.industry, len(board.zeros))
        assert {name: getattr(line, name) for name in expected} == expected
        pieces = [line.industry, *(tile.industry for tile in board.tiles)]
        assert line.diversification == play.brute_split(players, pieces)
        assert line.subtotal == sum(expected.values()) + line.diversification
        assert line.eliminated == (int(line.spent) == most)
        bonus = 7 if players == 5 else 6
        assert line.least_spent == (bonus if int(line.spent) == least else 0)
        assert line.total == line.subtotal + line.least_spent
    left = [line for line in result.seats if not line.eliminated]
    for line in result.seats:
        ahead = [
            other
            for other in left
            if other.total > line.total
            or (other.total == line.total and int(other.spent) < int(line.spent))
        ]
        assert line.rank == (None if line.eliminated else 1 + len(ahead))
    assert result.winners == [line.seat for line in result.seats if line.rank == 1]
    assert bool(result.winners) == bool(left)


@pytest.mark.parametrize("players", [3, 4, 5])
@a_few
@given(seed=SEEDS, first=st.integers(0, 2), notes=st.booleans())
def test_a_random_game(
    players: int, play: Any, gambler: Any, seed: int, first: int, notes: bool
) -> None:
    gamble = gambler(seed)
    state = play.new(players, first, notes=notes, step=9)
    steps = [QE.step(state)]
    while QE.winners(state) is None:
        seat, action = gamble.action(state)
        assert QE.why_not(state, seat, action) is None
        state = QE.act(state, seat, action)
        steps.append(QE.step(state))
        assert bool(QE.waiting(state)) == (QE.winners(state) is None)
        assert play.ascending(list(QE.waiting(state)))
    assert all(after - before in {0, 1} for before, after in pairwise(steps))
    public = QE.public(state)
    assert len(public.history) == public.auctions == len(state.deal.deck)
    check_auctions(public, players)
    check_conservation(state, public)
    check_scores(play, public, players)
    event(f"most ties in an auction: {max(len(sale.ties) for sale in public.history)}")
    event(f"winners: {len(QE.winners(state) or ())}")


def anything(rng: Random) -> qe.Action:
    """Some action, whether or not it makes sense now."""
    amounts = ["0", "1", "2", str(rng.randrange(40)), str(rng.randrange(10**50)), "", "-1", "01"]
    return qe.Peek() if rng.random() < 0.2 else qe.Bid(amount=rng.choice(amounts))


@pytest.mark.parametrize("players", [3, 4, 5])
@a_few
@given(seed=SEEDS)
def test_act_does_what_why_not_allows_and_nothing_else(
    players: int, play: Any, gambler: Any, seed: int
) -> None:
    """Any seat tries anything at every moment of a game."""
    gamble = gambler(seed)
    state = play.new(players)
    while QE.waiting(state):
        seat, action = gamble.rng.randrange(-1, players + 1), anything(gamble.rng)
        reason = QE.why_not(state, seat, action)
        if reason is None:
            state = QE.act(state, seat, action)
            continue
        before = hash(state)
        with pytest.raises(Illegal) as caught:
            QE.act(state, seat, action)
        assert caught.value.reason == reason
        assert hash(state) == before
        state = QE.act(state, *gamble.action(state))


@pytest.mark.parametrize("players", [3, 4, 5])
@a_few
@given(seed=SEEDS, actions=st.integers(0, 60))
def test_the_view_says_what_a_seat_may_do(
    players: int, play: Any, gambler: Any, seed: int, actions: int
) -> None:
    gamble = gambler(seed)
    state = play.new(players)
    for _ in range(actions):
        if QE.waiting(state):
            state = QE.act(state, *gamble.action(state))
    for seat in range(players):
        you = QE.private(state, seat)
        assert (you.may_peek is not None) == (QE.why_not(state, seat, qe.Peek()) is None)
        allowed = [n for n in range(45) if play.reason(state, seat, n) is None]
        if you.may_bid is None:
            assert allowed == []
            assert seat not in QE.waiting(state)
            continue
        assert min(allowed) == int(you.may_bid.minimum)
        refused = set(range(min(allowed), 45)) - set(allowed)
        assert refused <= {int(you.may_bid.other_than or 0)}
        if you.may_bid.other_than is not None:
            assert play.reason(state, seat, you.may_bid.other_than) == "equals_opening"
        if seat in QE.waiting(state):
            assert QE.why_not(state, seat, QE.timeout(state, seat)) is None
