"""A computer player. It sees what its seat sees and no more: two views, and a source of chance.

It weighs a few dozen amounts, from nothing to well over what has been paid of late, by what each
would be expected to bring in VP: the chance that it takes the tile, what the tile is worth to it
and would be to others, the risk of ending as the one who spent most (who is out), and the
bonus for having spent least. Rules that it relies on are in docs/rules.md: An auction, Ties,
Zero bids, Five players: the peek, Three players: the blind final, Scoring.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from protocol.qe import MAX_DIGITS, Bid, Game, Peek, You
from server.games.qe.estimate import STANDARD, Money, Outlook, antilog, log, money, outlook
from server.games.qe.valuation import Stakes, stakes

_MOST: int = 10**MAX_DIGITS - 1
_REACH = 1.3
"""Decades around the usual price among which it looks for a bid."""
_GRID = 25


@dataclass(frozen=True, slots=True)
class _Temper:
    """What tells one computer player from another; the same for a seat all game long.

    `start`: logarithm of the price it thinks usual before any has been seen. `greed`: by how much
    it overrates tiles. `nerve`: how little it fears to be out. `thrift`: how much it likes zeros.
    `patience`: the share of the game for which it keeps its peek.
    """

    start: float
    greed: float
    nerve: float
    thrift: float
    patience: float

    @classmethod
    def of(cls, public: Game, private: You) -> _Temper:
        rng = Random(f"{public.commitment}/{private.seat}/{private.industry}")
        return cls(
            start=min(3.2, max(1.0, rng.gauss(2.0, 0.45))),
            greed=rng.uniform(0.85, 1.3),
            nerve=rng.uniform(0.8, 1.7),
            thrift=rng.uniform(0.7, 1.3),
            patience=rng.uniform(0.3, 0.7),
        )


def choose(level: str, public: Game, private: You, rng: Random) -> Bid | Peek | None:
    """What the seat of these views does now; None where it need not do anything.

    The same views and the same state of `rng` give the same choice. There is one way to play so
    far, and `level` names it.
    """
    temper = _Temper.of(public, private)
    if private.may_peek is not None and _worth_a_peek(public, private, temper):
        return Peek()
    if private.may_bid is None or private.seat not in public.waiting:
        return None
    minimum = int(private.may_bid.minimum)
    other_than = None if private.may_bid.other_than is None else int(private.may_bid.other_than)
    amount = _Auction.of(public, private, temper).bid(rng)
    return Bid(amount=str(_legal(amount, minimum, other_than)))


def _legal(amount: int, minimum: int, other_than: int | None) -> int:
    """The nearest amount that may be bid, upwards where there is room."""
    amount = min(_MOST, max(minimum, amount))
    if amount != other_than:
        return amount
    return amount + 1 if amount < _MOST else amount - 1


def _worth_a_peek(public: Game, private: You, temper: _Temper) -> bool:
    """Whether to use the one peek on the price of the last sale.

    It tells most late, and about a rival who may have spent most. Near the end any price will do:
    a peek kept is a peek lost.
    """
    if not public.history or public.phase == "over":
        return False
    progress = len(public.history) / public.auctions
    if progress > 0.85:
        return True
    purses = money(public, private, temper.start).rivals
    winner = public.history[-1].winner
    if winner is None or winner not in purses or not purses[winner].unsure:
        return False
    suspect = purses[winner].likely >= max(purse.likely for purse in purses.values())
    return suspect and progress > temper.patience


# --- One auction ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Auction:
    """The auction that runs, as its seat judges it.

    `opening` is another seat's; `tied` the own bid that tied; `zero` what a zero bid would be
    worth now, in VP; `stake` what it would lose by being out.
    """

    public: Game
    private: You
    temper: _Temper
    stakes: Stakes
    money: Money
    outlook: Outlook
    opening: int | None
    tied: int | None
    zero: float
    stake: float

    @classmethod
    def of(cls, public: Game, private: You, temper: _Temper) -> _Auction:
        at_stake = stakes(public, private)
        others = public.opening is not None and public.auctioneer != private.seat
        purses = money(public, private, temper.start)
        return cls(
            public=public,
            private=private,
            temper=temper,
            stakes=at_stake,
            money=purses,
            outlook=outlook(public, purses),
            opening=int(public.opening) if others and public.opening is not None else None,
            tied=_tied(public, private),
            zero=_zero_worth(public, private) * temper.thrift,
            stake=max(10.0, 25 + at_stake.lead) / temper.nerve,
        )

    def bid(self, rng: Random) -> int:
        """The amount of the highest expectation, written as a person would write it."""
        want = max(0.0, self.stakes.own * self.temper.greed + rng.gauss(0, 0.8))
        want += self.stakes.denial
        without = self._prospect(0, 0)
        best, amount = self._prospect(0, self.zero), 0
        for candidate in self._candidates():
            chance = self._chance(candidate)
            worth = chance * self._prospect(candidate, want) + (1 - chance) * without
            worth += rng.gauss(0, 0.12)
            if worth > best:
                best, amount = worth, candidate
        return self._scribbled(amount, rng) if amount else self._pass(rng)

    def _prospect(self, price: int, points: float) -> float:
        """What the game is worth, in VP, having paid this much more for so many points."""
        total = self.money.spent + price
        bonus = 7 if len(self.public.seats) == 5 else 6
        stays = 1 - self.outlook.most(total)
        room = self.outlook.ceiling - self.money.spent
        used = 0.0 if price == 0 else price / room if room > price else 1.0
        rise = max(0.0, log(price) - self.money.level)
        return (
            stays * (self.stake + points + bonus * self.outlook.least(total))
            - 3 * self.outlook.beyond(total)
            - used * self.outlook.left
            - 0.3 * rise
        )

    def _candidates(self) -> list[int]:
        """Amounts to weigh, ascending: around the usual price, and just over the opening."""
        level = self.money.level
        amounts = {antilog(level + _REACH * (2 * step / (_GRID - 1) - 1)) for step in range(_GRID)}
        lowest = 1
        if self.opening is not None:
            lowest = self.opening + 1
            if log(self.opening) > level - _REACH:
                amounts |= {self.opening * times // 100 + 1 for times in (101, 110, 130, 160, 220)}
        if self.tied is not None:
            amounts |= {self.tied * times // 100 + 1 for times in (100, 104, 112, 125, 150)}
        room = self.outlook.ceiling - self.money.spent
        if room > 1 and log(room) < level + _REACH:
            amounts.add(room * 97 // 100)
        return sorted(amount for amount in amounts if lowest <= amount <= _MOST)

    def _chance(self, amount: int) -> float:
        """The probability that this bid takes the tile."""
        mine = log(amount)
        if self.tied is not None:
            return self._chance_again(amount, mine)
        chance = 1.0
        for seat, gain in self.stakes.rivals.items():
            if self.opening is not None and seat == self.public.auctioneer:
                continue
            chance *= self._outbids(mine, gain)
        return chance

    def _outbids(self, mine: float, gain: float) -> float:
        """The probability that a bid is above that of a rival with this gain."""
        level = self.money.level
        shown = log(self.opening) if self.opening is not None else None
        if self.public.phase == "opening":
            shown = mine
        keen = min(0.3, max(-0.3, 0.05 * (gain - 6)))
        mean = level + 0.15 * (4 - len(self.public.seats)) + keen
        idle = 0.2
        if shown is not None:
            idle += 0.7 * _below(shown - level, 0.35, 0.35)
            mean = max(mean, shown + 0.1)
        return idle + (1 - idle) * _below(mine, mean, 0.35)

    def _chance_again(self, amount: int, mine: float) -> float:
        """The same among those who tied: the others' bids stand, and are below the tie."""
        assert self.tied is not None
        tie = log(self.tied)
        rivals = max(1, len(self.public.waiting) - 1)
        chance: float = (0.25 + 0.75 * _below(mine, tie + 0.12, 0.2)) ** rivals
        return chance if amount >= self.tied else chance * _below(mine, tie - 0.3, 0.3)

    # --- How the amount is written ----------------------------------------------------------

    def _pass(self, rng: Random) -> int:
        """A bid that is not meant to win: zero, or some low amount."""
        if self.public.phase == "opening":
            return antilog(self.money.level - rng.uniform(0.3, 1.0))
        if self.zero > 0 or rng.random() < 0.5:
            return 0
        usual = antilog(self.money.level - rng.uniform(0.1, 0.8))
        return usual if self.opening is None else min(usual, self.opening * rng.randint(3, 9) // 10)

    def _scribbled(self, amount: int, rng: Random) -> int:
        """About the amount, in a few figures and an odd end: round numbers tie.

        It stays above the opening, and below what is surely safe where it was.
        """
        low = 1 if self.opening is None else self.opening + 1
        room = self.outlook.ceiling - self.money.spent
        high = room - 1 if amount < room else _MOST
        near = amount * rng.randint(970, 1030) // 1000
        if near >= 100:
            figures = rng.choice((2, 3, 3))
            unit: int = 10 ** (len(str(near)) - figures)
            near = near // unit * unit + rng.randint(1, max(1, min(unit - 1, rng.choice((9, 99)))))
        elif near < 30:
            near += rng.randint(0, 2)
        near = min(_MOST, max(low, min(near, high)))
        return near + 1 if near % 10 == 0 and near < min(high, _MOST) else near


def _below(value: float, mean: float, deviation: float) -> float:
    """The probability that a normal variable is below the value."""
    return STANDARD.cdf((value - mean) / deviation)


def _tied(public: Game, private: You) -> int | None:
    """The own bid that tied, where the seat is to bid again."""
    own = [
        bid for bid in private.known if bid.auction == public.auction and bid.seat == private.seat
    ]
    if public.phase != "rebid" or not own:
        return None
    return int(max(own, key=lambda bid: bid.stage).amount)


def _zero_worth(public: Game, private: You) -> float:
    """What a zero bid is worth in VP: less while the round has other auctions to bid zero in."""
    players = len(public.seats)
    if players == 3 or public.phase not in ("secret", "rebid") or public.auctioneer is None:
        return 0.0
    if public.auctioneer == private.seat or public.round in public.seats[private.seat].zeros:
        return 0.0
    done = (public.auction - 1) % players
    later = (
        (public.auctioneer + ahead) % players != private.seat for ahead in range(1, players - done)
    )
    return 2 * 0.55 ** sum(later)
