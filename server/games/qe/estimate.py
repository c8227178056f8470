"""What a computer player infers of money from what its seat may see.

Prices span hundreds of decades, so they are compared as decimal logarithms; amounts themselves
stay integers, and no power of ten is ever taken as a float.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

from protocol.qe import Game, KnownBid, Sale, You

STANDARD = NormalDist()
_EVEN = {players: STANDARD.inv_cdf(1 / players) for players in range(2, 6)}
"""By players: who is even with all others is one of so many that may end as the top spender."""

_RISE = 0.15
"""Decades by which prices are expected to rise yet: they usually do."""

_USUAL_MARKUP = 0.2
"""Decades by which a winning secret bid tops the opening bid, until a seat has seen some."""


def log(amount: int) -> float:
    """The decimal logarithm of an amount of any size, zero counting as one."""
    return math.log10(amount) if amount > 1 else 0.0


def antilog(decades: float) -> int:
    """The amount of a decimal logarithm, at least 1, of any size.

    >>> antilog(2), antilog(-3), antilog(1000) == 10**1000
    (100, 1, True)
    """
    whole = max(0, math.floor(decades) - 15)
    figures: float = 10.0 ** max(0.0, decades - whole)
    zeros: int = 10**whole
    return max(1, round(figures) * zeros)


@dataclass(frozen=True, slots=True)
class Purse:
    """What another seat has spent: surely at least `floor`, likely `likely`.

    `unsure` counts the wins whose price is not known.
    """

    floor: int
    likely: int
    unsure: int


@dataclass(frozen=True, slots=True)
class Money:
    """The money of a table as one seat sees it.

    `spent` is its own total; `level` the logarithm of a usual winning price at present.
    """

    spent: int
    rivals: Mapping[int, Purse]
    level: float

    @property
    def ceiling(self) -> int:
        """Whoever has spent less than this is surely not the one who has spent most."""
        return max((purse.floor for purse in self.rivals.values()), default=0)


def money(public: Game, private: You, start: float) -> Money:
    """What a seat can tell of everybody's spending.

    A price it does not know is more than the opening bid and than its own bid. `start` is the
    logarithm of a price that it would think usual before any has been seen.
    """
    known = _last_stages(private.known)
    floors: dict[int, int] = {}
    likely: dict[int, int] = {}
    unsure: dict[int, int] = {}
    levels = [start, start]
    markups: list[float] = []
    for sale in public.history:
        if sale.winner is None:
            continue
        price = known.get((sale.auction, sale.winner))
        if sale.price is not None:
            price = int(sale.price)
        opening = log(int(sale.opening)) if sale.opening is not None else None
        if price is not None:
            floor = guess = price
            if opening is not None and sale.winner != sale.auctioneer:
                markups.append(log(price) - opening)
        else:
            floor = _floor(sale, private.seat, known)
            guess = _guess(floor, (opening or 0.0) + _usual(markups), _level(levels))
            unsure[sale.winner] = unsure.get(sale.winner, 0) + 1
        floors[sale.winner] = floors.get(sale.winner, 0) + floor
        likely[sale.winner] = likely.get(sale.winner, 0) + guess
        levels.append(log(guess))
    if public.opening is not None and public.auctioneer != private.seat:
        levels.append(log(int(public.opening)) + _usual(markups))
    rivals = {
        board.seat: Purse(
            floors.get(board.seat, 0), likely.get(board.seat, 0), unsure.get(board.seat, 0)
        )
        for board in public.seats
        if board.seat != private.seat
    }
    return Money(spent=int(private.spent), rivals=rivals, level=_level(levels))


def _last_stages(known: Sequence[KnownBid]) -> dict[tuple[int, int], int]:
    """By auction and seat, the last bid seen of it. Who sees a price sees the bid that stood."""
    latest = sorted(known, key=lambda bid: bid.stage)
    return {(bid.auction, bid.seat): int(bid.amount) for bid in latest}


def _floor(sale: Sale, me: int, known: Mapping[tuple[int, int], int]) -> int:
    """The least that a price of which nothing was seen can be.

    An own bid says nothing where a third tie gave the tile to a lower amount.
    """
    opening = int(sale.opening) if sale.opening is not None else 0
    own = known.get((sale.auction, me), 0) if len(sale.ties) < 3 else 0
    return max(opening, own) + 1


def _guess(floor: int, shown: float, level: float) -> int:
    """A likely price: a little over its floor, more where the opening and the usual price say so.

    `shown` is what the opening usually leads to, and `level` the usual price, as logarithms.
    """
    base = log(floor)
    return max(floor, antilog(min(base + 0.5, max(base + 0.06, min(shown, level + 0.1)))))


def _usual(markups: Sequence[float]) -> float:
    return min(0.6, max(0.03, median(markups[-5:]))) if markups else _USUAL_MARKUP


def _level(levels: Sequence[float]) -> float:
    """The middle one of the last three, so that one absurd amount moves nobody."""
    return median(levels[-3:])


# --- Who will have spent most, and least ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outlook:
    """How spending may stand at the end, if everybody goes on as now.

    `left`: the auctions still to come after this one, as a share of the game. `future`: what a
    seat may yet spend in them. `ends`: for each rival, the logarithm of what it is likely to have
    spent at the end, and how many decades off that may well be.
    """

    ceiling: int
    left: float
    future: int
    ends: Sequence[tuple[float, float]]

    def most(self, total: int) -> float:
        """How likely a seat with this total is to end as the one who spent most."""
        if total < self.ceiling:
            return 0.0
        mine = log(total + self.future)
        ahead = min((mine - theirs) / doubt for theirs, doubt in self.ends)
        return STANDARD.cdf(ahead + _EVEN[len(self.ends) + 1] * self.left)

    def beyond(self, total: int) -> float:
        """By how many decades this total is over what every other seat is likely to spend."""
        return max(0.0, log(total + self.future) - max(theirs for theirs, _ in self.ends))

    def least(self, total: int) -> float:
        """The probability that a seat with this total ends as the one who spent least."""
        mine = log(total + self.future)
        chance = 1.0
        for theirs, doubt in self.ends:
            chance *= STANDARD.cdf((theirs - mine) / doubt)
        return chance


def outlook(public: Game, purses: Money) -> Outlook:
    """How spending may stand at the end, everybody buying a share of what is left."""
    left = public.auctions - public.auction
    future = antilog(purses.level + _RISE) * left // len(public.seats)
    share = left / public.auctions
    ends = [
        (log(purse.likely + future), 0.03 + 0.3 * share + 0.03 * math.sqrt(purse.unsure))
        for purse in purses.rivals.values()
    ]
    return Outlook(purses.ceiling, share, future, ends)
