"""Victory points, and who has won (docs/rules.md, The end)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Protocol

from protocol.qe import Industry, Nation, Score
from server.games.qe.tiles import MOST

ZERO_BID = 2
"""VP of a zero bid, once a round."""


class Company(Protocol):
    """A tile as scoring sees it; the rules' tiles are such, and so are the wire's."""

    @property
    def nation(self) -> Nation: ...

    @property
    def industry(self) -> Industry: ...

    @property
    def value(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The back of a score board. Points by number of pieces; more pieces than it lists count as
    the most it lists."""

    nationalization: tuple[int, ...]
    monopolization: tuple[int, ...]
    diversification: tuple[int, ...]
    least_spent: int


_FEW = _Sheet(
    nationalization=(0, 1, 3, 6, 10),
    monopolization=(0, 0, 3, 6, 10),
    diversification=(0, 0, 0, 4, 8),
    least_spent=6,
)
_FIVE = _Sheet(
    nationalization=(0, 3, 6, 10),
    monopolization=(0, 0, 6, 10, 16),
    diversification=(0, 0, 0, 8, 12, 17),
    least_spent=7,
)


def _sheet(players: int) -> _Sheet:
    return _FIVE if players == MOST else _FEW


def score(
    players: int, nation: Nation, industry: Industry, tiles: Sequence[Company], zero_rounds: int
) -> Score:
    """One player's VP, the total spent not looked at.

    `industry` is the player's token, which counts as a tile in monopolization and
    diversification. `zero_rounds` is the number of rounds in which a zero bid counted.

    >>> from server.games.qe.tiles import Tile
    >>> pair = [Tile("US", "housing", 1), Tile("EU", "housing", 2)]
    >>> sheet = score(4, "EU", "finance", pair, zero_rounds=1)
    >>> sheet.companies, sheet.zero_bids, sheet.nationalization
    (3, 2, 1)
    >>> sheet.monopolization, sheet.diversification, sheet.subtotal
    (3, 0, 9)
    """
    sheet = _sheet(players)
    pieces = Counter(tile.industry for tile in tiles)
    pieces[industry] += 1
    companies = sum(tile.value for tile in tiles)
    zero_bids = ZERO_BID * zero_rounds
    nationalization = _of(sheet.nationalization, sum(tile.nation == nation for tile in tiles))
    monopolization = sum(_of(sheet.monopolization, count) for count in pieces.values())
    diversification = best_split(tuple(sorted(pieces.values())), sheet.diversification)
    return Score(
        companies=companies,
        zero_bids=zero_bids,
        nationalization=nationalization,
        monopolization=monopolization,
        diversification=diversification,
        subtotal=companies + zero_bids + nationalization + monopolization + diversification,
    )


def _of(points: tuple[int, ...], count: int) -> int:
    return points[min(count, len(points) - 1)]


@lru_cache(maxsize=4096)
def best_split(counts: tuple[int, ...], points: tuple[int, ...]) -> int:
    """The most VP that pieces give in sets of different industries, each piece in one set.

    `counts` is the number of pieces of each industry, ascending; `points` the VP of a set by its
    size. Every split is tried, since the largest set first is not always the best:

    >>> best_split((1, 1, 2, 2), (0, 0, 0, 8, 12, 17))
    16
    """
    held = [industry for industry, count in enumerate(counts) if count]
    best = 0
    for size in range(1, min(len(held), len(points) - 1) + 1):
        if not points[size]:
            continue
        for chosen in combinations(held, size):
            left = tuple(sorted(n - (industry in chosen) for industry, n in enumerate(counts)))
            best = max(best, points[size] + best_split(left, points))
    return best


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a seat ends. `least_spent` is the VP for it; `rank` is None for the eliminated."""

    eliminated: bool
    least_spent: int
    total: int
    rank: int | None


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a game: the standings by seat, and the winners' seats, ascending."""

    standings: tuple[Standing, ...] = field(repr=False)
    winners: tuple[int, ...]


def settle(subtotals: Sequence[int], spent: Sequence[int]) -> Ending:
    """Who is out, who spent least, who has won; by seat, VP and the total spent.

    All who spent most are eliminated. All who spent least, judged among all players, have the
    bonus. Of the rest most points win, then the lower total spent; who are equal in both share
    the place. If all spent the same, nobody is left and nobody wins.

    >>> ending = settle([20, 14, 31], spent=[500, 0, 9000])
    >>> [(standing.total, standing.rank) for standing in ending.standings], ending.winners
    ([(20, 2), (20, 1), (31, None)], (1,))
    >>> settle([20, 14, 31], spent=[7, 7, 7]).winners
    ()
    """
    bonus = _sheet(len(subtotals)).least_spent
    most, least = max(spent), min(spent)
    totals = [
        subtotal + (bonus if paid == least else 0)
        for subtotal, paid in zip(subtotals, spent, strict=True)
    ]
    merits = [(total, -paid) for total, paid in zip(totals, spent, strict=True)]
    left = [merit for merit, paid in zip(merits, spent, strict=True) if paid != most]
    standings = tuple(
        Standing(
            eliminated=paid == most,
            least_spent=bonus if paid == least else 0,
            total=total,
            rank=None if paid == most else 1 + sum(other > merit for other in left),
        )
        for paid, total, merit in zip(spent, totals, merits, strict=True)
    )
    winners = tuple(seat for seat, standing in enumerate(standings) if standing.rank == 1)
    return Ending(standings, winners)
