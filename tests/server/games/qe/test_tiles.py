from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.games.qe.tiles import (
    TILES,
    Tile,
    commitment,
    deal,
    industries_in_play,
    nations_in_play,
    tiles_in_play,
)

TABLE = """
   agriculture finance housing manufacturing government
US           4       2       1             3          -
EU           1       3       2             4          -
JP           3       1       4             2          3
CN           2       4       3             1          4
UK           3       4       -             -          2
"""


def table() -> list[str]:
    header, *rows = TABLE.strip().splitlines()
    return [
        f"{row.split()[0]}-{industry}-{value}"
        for row in rows
        for industry, value in zip(header.split(), row.split()[1:], strict=True)
        if value != "-"
    ]


def in_play(players: int) -> set[str]:
    if players == 5:
        gone = {name for name in table() if name.endswith("-1")}
        gone |= {"JP-agriculture-3", "CN-finance-4"}
        assert len(gone) == 6
    else:
        gone = {name for name in table() if name.startswith("UK")}
        gone |= {"JP-government-3", "CN-government-4"}
        assert len(gone) == 5
    return set(table()) - gone


def test_the_tiles_are_those_of_the_table() -> None:
    assert [tile.name for tile in TILES] == table()
    assert len(TILES) == 21


@pytest.mark.parametrize(("players", "count"), [(3, 16), (4, 16), (5, 15)])
def test_the_deck_for_so_many_players(players: int, count: int) -> None:
    names = [tile.name for tile in tiles_in_play(players)]
    assert len(names) == count
    assert set(names) == in_play(players)
    assert ("UK" in nations_in_play(players)) == (players == 5)
    assert ("government" in industries_in_play(players)) == (players == 5)


def order(seed: str, purpose: str, names: set[str]) -> list[str]:
    """The order of the names, as docs/protocol.md (Fair play) tells any language to find it."""
    hashes = {sha256(f"{seed}/{purpose}/{name}".encode()).hexdigest(): name for name in names}
    return [hashes[digest] for digest in sorted(hashes)]


@given(st.text(st.characters(codec="utf-8")), st.integers(3, 5))
def test_the_deal_is_what_anybody_finds_from_the_seed(seed: str, players: int) -> None:
    nations = {"US", "EU", "JP", "CN"} | ({"UK"} if players == 5 else set())
    tokens = {"agriculture", "finance", "housing", "manufacturing"}
    tokens |= {"government"} if players == 5 else set()
    dealt = deal(players, seed)
    assert [tile.name for tile in dealt.deck] == order(seed, "deck", in_play(players))
    assert list(dealt.nations) == order(seed, "nation", nations)[:players]
    assert list(dealt.tokens) == order(seed, "token", tokens)[:players]
    assert str(dealt.first) == order(seed, "first", {str(n) for n in range(players)})[0]


def test_a_golden_deal() -> None:
    """Found with sha256sum and sort, so that no later version deals an old seed anew."""
    dealt = deal(5, "golden")
    assert dealt.nations == ("UK", "US", "EU", "CN", "JP")
    assert dealt.tokens == ("government", "housing", "finance", "manufacturing", "agriculture")
    assert dealt.first == 0
    assert " ".join(tile.name for tile in dealt.deck) == (
        "US-agriculture-4 EU-manufacturing-4 CN-housing-3 UK-finance-4 CN-government-4 "
        "EU-finance-3 EU-housing-2 JP-housing-4 US-manufacturing-3 JP-manufacturing-2 "
        "UK-agriculture-3 US-finance-2 CN-agriculture-2 JP-government-3 UK-government-2"
    )
    three = deal(3, "golden")
    assert three.nations == ("US", "EU", "CN")
    assert three.tokens == ("housing", "finance", "manufacturing")
    assert " ".join(tile.name for tile in three.deck) == (
        "CN-manufacturing-1 JP-agriculture-3 US-housing-1 US-agriculture-4 EU-manufacturing-4 "
        "CN-housing-3 EU-finance-3 JP-finance-1 EU-agriculture-1 EU-housing-2 JP-housing-4 "
        "US-manufacturing-3 JP-manufacturing-2 US-finance-2 CN-agriculture-2 CN-finance-4"
    )
    assert commitment("golden") == (
        "dd56de4137951d9c92681b03416ec15f886b4482a27e3a517d32f085244cbe5d"
    )


def test_every_seat_and_tile_can_come_first() -> None:
    deals = [deal(4, f"seed {n}") for n in range(400)]
    assert set(Counter(dealt.first for dealt in deals)) == {0, 1, 2, 3}
    assert {dealt.deck[0] for dealt in deals} == set(tiles_in_play(4))
    assert {dealt.nations[0] for dealt in deals} == set(nations_in_play(4))
    assert {dealt.tokens[0] for dealt in deals} == set(industries_in_play(4))


def test_the_repr_of_a_deal_shows_neither_tokens_nor_the_deck() -> None:
    text = repr(deal(5, "golden"))
    assert "JP" in text
    assert not any(industry in text for industry in industries_in_play(5))


def test_a_tile_is_named_by_nation_industry_and_value() -> None:
    assert Tile("CN", "government", 4).name == "CN-government-4"
