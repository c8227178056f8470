from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.games.qe.scoring import best_split, score, settle
from server.games.qe.tiles import Tile, industries_in_play, tiles_in_play


@st.composite
def holdings(draw: st.DrawFn) -> tuple[int, str, list[Tile]]:
    players = draw(st.integers(3, 5))
    deck = tiles_in_play(players)
    chosen = draw(st.sets(st.sampled_from(range(len(deck)))))
    token = draw(st.sampled_from(industries_in_play(players)))
    return players, token, [deck[index] for index in sorted(chosen)]


@given(holdings())
def test_the_best_split_is_found(play: Any, held: tuple[int, str, list[Tile]]) -> None:
    players, token, tiles = held
    found = score(players, "US", token, tiles, 0)  # type: ignore[arg-type]
    pieces = [token, *(tile.industry for tile in tiles)]
    assert found.diversification == play.brute_split(players, pieces)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1, 1, 2, 2), 16),  # two of three, not one of four
        ((1, 1, 1, 1, 1), 17),
        ((1, 1, 1, 1, 2), 17),
        ((1, 1, 2, 2, 2), 25),  # five and three, or four and four for 24
        ((2, 2, 2, 2, 2), 34),  # two of five
        ((0, 1, 1), 0),
        ((2, 2, 2, 3, 3), 37),  # five, four and three, not five and five for 34
        ((3, 3, 3), 24),
    ],
)
def test_splits_with_five_players(counts: tuple[int, ...], expected: int, play: Any) -> None:
    points = (0, 0, 0, 8, 12, 17)
    pieces = [str(kind) for kind, count in enumerate(counts) for _ in range(count)]
    assert play.brute_split(5, pieces) == best_split(counts, points)
    assert best_split(counts, points) == expected


@pytest.mark.parametrize(
    ("players", "expected"), [(3, [0, 1, 3, 6, 10]), (4, [0, 1, 3, 6, 10]), (5, [0, 3, 6, 10])]
)
def test_nationalization(players: int, expected: list[int]) -> None:
    own = [tile for tile in tiles_in_play(players) if tile.nation == "JP"]
    assert len(own) == len(expected) - 1
    found = [score(players, "JP", "finance", own[:n], 0) for n in range(len(own) + 1)]
    assert [line.nationalization for line in found] == expected
    assert score(players, "US", "finance", own, 0).nationalization == 0


@pytest.mark.parametrize(
    ("players", "expected"), [(3, [0, 3, 6, 10, 10]), (4, [0, 3, 6, 10, 10]), (5, [0, 6, 10, 16])]
)
def test_monopolization_counts_the_token(players: int, expected: list[int]) -> None:
    tiles = [tile for tile in tiles_in_play(players) if tile.industry == "housing"]
    found = [score(players, "US", "housing", tiles[:n], 0) for n in range(len(tiles) + 1)]
    assert [line.monopolization for line in found] == expected


def test_each_industry_is_a_monopoly_of_its_own() -> None:
    tiles = [t for t in tiles_in_play(4) if t.industry in {"housing", "finance"}]
    assert score(4, "US", "housing", tiles, 0).monopolization == 20


@pytest.mark.parametrize("players", [3, 4, 5])
def test_no_tile_scores_nothing(players: int) -> None:
    assert score(players, "US", "finance", [], 0).subtotal == 0
    assert score(players, "US", "finance", [], 3).subtotal == 6


def test_ranks_skip_after_a_shared_place() -> None:
    end = settle([20, 20, 10, 30], [50, 50, 60, 900])
    assert [line.rank for line in end.standings] == [1, 1, 3, None]
    assert end.winners == (0, 1)


def test_least_spent_is_judged_among_all_even_if_all_are_out() -> None:
    end = settle([1, 2, 3, 4, 5], [0] * 5)
    assert [line.least_spent for line in end.standings] == [7] * 5
    assert [line.rank for line in end.standings] == [None] * 5
    assert end.winners == ()


def test_the_eliminated_hold_no_rank_before_others() -> None:
    end = settle([90, 3, 5], [8, 1, 2])
    assert [line.rank for line in end.standings] == [None, 1, 2]
    assert [line.total for line in end.standings] == [90, 9, 5]


def test_spending_is_compared_exactly() -> None:
    huge = 10**999
    end = settle([5, 5, 5], [huge, huge + 1, huge + 2])
    assert end.winners == (0,)
    assert [line.rank for line in end.standings] == [1, 2, None]
