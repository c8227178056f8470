"""What QE's tables of numbers say, reckoned by trying everything: the deal and the score.

Made from docs/rules.md and docs/protocol.md alone.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import combinations
from typing import NamedTuple

INDUSTRIES = ("agriculture", "finance", "housing", "manufacturing", "government")

# One line a nation, one column an industry; 0 where there is no tile.
_TABLE = {
    "US": (4, 2, 1, 3, 0),
    "EU": (1, 3, 2, 4, 0),
    "JP": (3, 1, 4, 2, 3),
    "CN": (2, 4, 3, 1, 4),
    "UK": (3, 4, 0, 0, 2),
}
_NATIONALIZATION = {False: (0, 1, 3, 6, 10), True: (0, 3, 6, 10)}
_MONOPOLY = {False: (0, 0, 3, 6, 10, 10), True: (0, 0, 6, 10, 16)}
_DIVERSITY = {False: {3: 4, 4: 8}, True: {3: 8, 4: 12, 5: 17}}
LEAST_SPENT = {False: 6, True: 7}


class Tile(NamedTuple):
    nation: str
    industry: str
    value: int

    @property
    def name(self) -> str:
        return f"{self.nation}-{self.industry}-{self.value}"


def tiles(players: int) -> list[Tile]:
    """The tiles in play."""
    every = [
        Tile(nation, industry, value)
        for nation, row in _TABLE.items()
        for industry, value in zip(INDUSTRIES, row, strict=True)
        if value
    ]
    if players == 5:
        out = {"JP-agriculture-3", "CN-finance-4"}
        return [tile for tile in every if tile.value > 1 and tile.name not in out]
    return [tile for tile in every if tile.nation != "UK" and tile.industry != "government"]


class Deal(NamedTuple):
    """All that follows from a seed. `first` is who opens where that is left to chance."""

    deck: list[Tile]
    nations: list[str]
    tokens: list[str]
    first: int
    commitment: str


def deal(players: int, seed: str) -> Deal:
    """The deal, as Fair play says."""

    def order(purpose: str, name: str) -> str:
        return sha256(f"{seed}/{purpose}/{name}".encode()).hexdigest()

    nations = list(_TABLE)[: 5 if players == 5 else 4]
    tokens = INDUSTRIES[: 5 if players == 5 else 4]
    seats = [str(seat) for seat in range(players)]
    return Deal(
        deck=sorted(tiles(players), key=lambda tile: order("deck", tile.name)),
        nations=sorted(nations, key=lambda name: order("nation", name))[:players],
        tokens=sorted(tokens, key=lambda name: order("token", name))[:players],
        first=int(min(seats, key=lambda name: order("first", name))),
        commitment=sha256(seed.encode()).hexdigest(),
    )


@cache
def score(
    players: int, nation: str, token: str, won: tuple[Tile, ...], zeros: int
) -> dict[str, int]:
    """VP as they stand, the token counted, the total spent not looked at."""
    five = players == 5
    pieces = Counter([tile.industry for tile in won] + [token])
    parts = {
        "companies": sum(tile.value for tile in won),
        "zero_bids": 2 * zeros if players > 3 else 0,
        "nationalization": _NATIONALIZATION[five][sum(tile.nation == nation for tile in won)],
        "monopolization": sum(_MONOPOLY[five][count] for count in pieces.values()),
        "diversification": _best_split(five, tuple(pieces[name] for name in INDUSTRIES)),
    }
    return {**parts, "subtotal": sum(parts.values())}


@cache
def _best_split(five: bool, counts: tuple[int, ...]) -> int:
    """The most VP of all ways to make sets of different industries."""
    have = [place for place, count in enumerate(counts) if count]
    best = 0
    for size, worth in _DIVERSITY[five].items():
        for chosen in combinations(have, size):
            rest = tuple(count - (place in chosen) for place, count in enumerate(counts))
            best = max(best, worth + _best_split(five, rest))
    return best
