"""The rules of QE, as docs/rules.md has them: what a seat may do, and what follows.

A `State` is all that a game is, secrets included. It never changes: `act` returns a new one. No
value of this module shows an amount, a token or the seed in its repr.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from msgspec import Struct

from protocol.qe import MAX_DIGITS, Bid, Industry, Nation, Peek, Phase, Rules
from server.games.game import Illegal, Reason
from server.games.qe.tiles import FEWEST, MOST, Deal, Tile, commitment, deal

TIES_TO_END = 3
"""The third tie in a row ends an auction."""

_AMOUNT = re.compile(rf"0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}}")

Stage = tuple[int | None, ...]
"""Secret bids by seat; None for a seat that has no part in the stage, or has not bid yet."""


# --- The state ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Auction:
    """The running auction. `sealed` is the open stage of secret bids, `stages` the closed ones."""

    number: int
    tile: Tile
    auctioneer: int | None
    """None in the three-player final."""
    bidders: tuple[int, ...]
    """Who bids in the open stage, ascending: at first all but the auctioneer, then who tied."""
    sealed: Stage = field(repr=False)
    stages: tuple[Stage, ...] = field(default=(), repr=False)
    opening: int | None = field(default=None, repr=False)
    ties: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Award:
    """An auction that is over."""

    number: int
    tile: Tile
    auctioneer: int | None
    stages: tuple[Stage, ...] = field(repr=False)
    opening: int | None = field(repr=False)
    ties: tuple[tuple[int, ...], ...]
    winner: int | None
    """None where the three-player final was a tie."""
    price: int | None = field(repr=False)
    zeros: tuple[int, ...]
    """Whose zero bid stood; with three players nobody's is shown."""

    def winning_stage(self) -> int | None:
        """The stage in which the winning bid was made; None for an opening bid, or no winner."""
        if self.winner is None or self.winner == self.auctioneer:
            return None
        return max(n for n, stage in enumerate(self.stages) if stage[self.winner] is not None)


@dataclass(frozen=True, slots=True)
class State:
    """A game. `auction` is None when it is over; `peeks` has by seat the auction peeked at."""

    deal: Deal
    first: int
    """The first auctioneer's seat."""
    notes: bool
    seed: str = field(repr=False)
    commitment: str
    step: int
    auction: Auction | None
    awards: tuple[Award, ...]
    peeks: tuple[int | None, ...]

    @property
    def players(self) -> int:
        return len(self.deal.nations)

    @property
    def auctions(self) -> int:
        """How many auctions the game has: as many as there are tiles."""
        return len(self.deal.deck)

    @property
    def phase(self) -> Phase:
        auction = self.auction
        if auction is None:
            return "over"
        if auction.auctioneer is None:
            return "blind"
        if auction.opening is None:
            return "opening"
        return "rebid" if auction.ties else "secret"

    @property
    def waiting(self) -> tuple[int, ...]:
        """The seats that have yet to act, ascending."""
        return () if self.auction is None else _waiting(self.auction)

    @property
    def rounds(self) -> int:
        """Full rounds, in which each player is auctioneer once: 5, 4, 3 with 3, 4, 5 players."""
        return self.auctions // self.players

    def round_of(self, number: int) -> int | None:
        """The round of an auction, both from 1; None for the three-player final."""
        in_round = (number - 1) // self.players + 1
        return in_round if in_round <= self.rounds else None

    def nation(self, seat: int) -> Nation:
        return self.deal.nations[seat]

    def token(self, seat: int) -> Industry:
        return self.deal.tokens[seat]

    def won(self, seat: int) -> tuple[Award, ...]:
        """The awards of this seat's tiles, oldest first."""
        return tuple(award for award in self.awards if award.winner == seat)

    def spent(self, seat: int) -> int:
        """The sum of what the seat pays for its tiles."""
        return sum(award.price for award in self.won(seat) if award.price is not None)

    def zero_rounds(self, seat: int) -> tuple[int, ...]:
        """The rounds in which the seat scored a zero bid: at most one a round."""
        rounds = {self.round_of(award.number) for award in self.awards if seat in award.zeros}
        return tuple(sorted(number for number in rounds if number is not None))


def _waiting(auction: Auction) -> tuple[int, ...]:
    if auction.auctioneer is not None and auction.opening is None:
        return (auction.auctioneer,)
    return tuple(seat for seat in auction.bidders if auction.sealed[seat] is None)


def new(seats: int, host: int | None, rules: Rules, seed: str, step: int) -> State:
    """A game at its start, dealt from the seed; `step` is the number of its first step.

    Where the host is to open and there is none, the first auctioneer is drawn.

    >>> state = new(3, host=2, rules=Rules(first="host"), seed="a seed", step=1)
    >>> state.phase, state.waiting, state.auctions
    ('opening', (2,), 16)
    """
    if not FEWEST <= seats <= MOST:
        raise ValueError(f"QE has {FEWEST} to {MOST} players, not {seats}.")
    if host is not None and not 0 <= host < seats:
        raise ValueError("The host has no seat in this game.")
    dealt = deal(seats, seed)
    state = State(
        deal=dealt,
        first=host if rules.first == "host" and host is not None else dealt.first,
        notes=rules.notes,
        seed=seed,
        commitment=commitment(seed),
        step=step,
        auction=None,
        awards=(),
        peeks=(None,) * seats,
    )
    return replace(state, auction=_next_auction(state))


def _next_auction(state: State) -> Auction | None:
    number = len(state.awards) + 1
    if number > state.auctions:
        return None
    blind = state.round_of(number) is None
    auctioneer = None if blind else (state.first + number - 1) % state.players
    return Auction(
        number=number,
        tile=state.deal.deck[number - 1],
        auctioneer=auctioneer,
        bidders=tuple(seat for seat in range(state.players) if seat != auctioneer),
        sealed=(None,) * state.players,
    )


# --- What is allowed ------------------------------------------------------------------------

_OVER = Reason("over", "The game is over.")
_NO_SEAT = Reason("seat", "There is no such seat in this game.")
_NO_ACTION = Reason("action", "QE has no such action.")
_NO_AMOUNT = Reason(
    "amount", f"A bid is a whole number, zero or more, of at most {MAX_DIGITS:,} digits."
)
_NOT_AUCTIONEER = Reason("not_auctioneer", "Only the auctioneer bids now: the opening bid.")
_AUCTIONEER = Reason("auctioneer", "The auctioneer makes no secret bid.")
_NOT_TIED = Reason("not_tied", "Only those who tied bid again.")
_OPENING_ZERO = Reason("opening_zero", "An opening bid is at least 1.")
_EQUALS_OPENING = Reason("equals_opening", "A bid may not equal the opening bid.")
_PEEK_PLAYERS = Reason("peek_players", "Only in a game of five may a player peek.")
_PEEK_ONCE = Reason("peek_once", "A player peeks only once a game.")
_PEEK_NOTHING = Reason("peek_nothing", "No auction has been completed yet.")
_PEEK_OPEN = Reason("peek_open", "The auctioneer won the last auction: its price is known to all.")
_PEEK_WINNER = Reason("peek_winner", "The winner of the last auction knows its price.")
_PEEK_AUCTIONEER = Reason("peek_auctioneer", "The last auctioneer has seen the bids.")


def why_not(state: State, seat: int, action: Struct) -> Reason | None:
    """Why the seat may not do this now, or None where it may."""
    if not 0 <= seat < state.players:
        return _NO_SEAT
    if isinstance(action, Bid):
        return _why_no_bid(state, seat, action)
    if isinstance(action, Peek):
        return _why_no_peek(state, seat)
    return _NO_ACTION


def _why_no_bid(state: State, seat: int, bid: Bid) -> Reason | None:
    auction = state.auction
    if auction is None:
        return _OVER
    opening = state.phase == "opening"
    if opening and seat != auction.auctioneer:
        return _NOT_AUCTIONEER
    if not opening and seat not in auction.bidders:
        return _AUCTIONEER if seat == auction.auctioneer else _NOT_TIED
    if not _AMOUNT.fullmatch(bid.amount):
        return _NO_AMOUNT
    if opening and bid.amount == "0":
        return _OPENING_ZERO
    if auction.opening is not None and int(bid.amount) == auction.opening:
        return _EQUALS_OPENING
    return None


def _why_no_peek(state: State, seat: int) -> Reason | None:
    if state.players != MOST:
        return _PEEK_PLAYERS
    if state.auction is None:
        return _OVER
    if state.peeks[seat] is not None:
        return _PEEK_ONCE
    if not state.awards:
        return _PEEK_NOTHING
    last = state.awards[-1]
    if last.winner == last.auctioneer:
        return _PEEK_OPEN
    if seat == last.winner:
        return _PEEK_WINNER
    if seat == last.auctioneer:
        return _PEEK_AUCTIONEER
    return None


def may_bid(state: State, seat: int) -> bool:
    """Whether the seat may bid now, or change the secret bid it has made."""
    auction = state.auction
    if auction is None:
        return False
    return seat == auction.auctioneer if state.phase == "opening" else seat in auction.bidders


def may_peek(state: State, seat: int) -> int | None:
    """The auction that a peek of this seat would show now, or None."""
    return state.awards[-1].number if _why_no_peek(state, seat) is None else None


def timeout(state: State) -> Bid:
    """What a seat that is waited for bids when its time has run out (docs/rules.md, ruling).

    It is 1, or 0 where the opening bid is 1.
    """
    auction = state.auction
    return Bid(amount="0" if auction is not None and auction.opening == 1 else "1")


# --- What follows ---------------------------------------------------------------------------


def act(state: State, seat: int, action: Struct) -> State:
    """The state after the action. Raises Illegal, with the reason of `why_not`.

    >>> state = new(3, host=0, rules=Rules(first="host"), seed="a seed", step=1)
    >>> state = act(state, 0, Bid(amount="100"))
    >>> state.phase, state.step, state.waiting
    ('secret', 2, (1, 2))
    >>> why_not(state, 1, Bid(amount="100")).message
    'A bid may not equal the opening bid.'
    """
    reason = why_not(state, seat, action)
    if reason is not None:
        raise Illegal(reason)
    auction = state.auction
    if auction is None:
        raise AssertionError("Nothing is allowed when a game is over.")
    if not isinstance(action, Bid):
        return replace(state, peeks=_put(state.peeks, seat, state.awards[-1].number))
    amount = int(action.amount)
    if state.phase == "opening":
        return replace(state, step=state.step + 1, auction=replace(auction, opening=amount))
    auction = replace(auction, sealed=_put(auction.sealed, seat, amount))
    return replace(state, auction=auction) if _waiting(auction) else _close(state, auction)


def _put(by_seat: Stage, seat: int, number: int) -> Stage:
    return (*by_seat[:seat], number, *by_seat[seat + 1 :])


def _close(state: State, auction: Auction) -> State:
    """All sealed bids are in: the tied bid again, or the tile is awarded."""
    auction = replace(auction, stages=(*auction.stages, auction.sealed))
    bids = _standing(auction)
    highest = max(bids.values())
    tied = tuple(seat for seat, amount in bids.items() if amount == highest)
    if len(tied) > 1:
        auction = replace(auction, ties=(*auction.ties, tied))
        if auction.auctioneer is not None and len(auction.ties) < TIES_TO_END:
            again = replace(auction, bidders=tied, sealed=(None,) * state.players)
            return replace(state, step=state.step + 1, auction=again)
    state = replace(state, step=state.step + 1, awards=(*state.awards, _award(auction, bids)))
    return replace(state, auction=_next_auction(state))


def _standing(auction: Auction) -> dict[int, int]:
    """Every seat's bid as it stands, the opening bid among them, in the order of the seats."""
    bids: dict[int, int] = {}
    if auction.auctioneer is not None and auction.opening is not None:
        bids[auction.auctioneer] = auction.opening
    for stage in auction.stages:
        bids.update((seat, amount) for seat, amount in enumerate(stage) if amount is not None)
    return dict(sorted(bids.items()))


def _award(auction: Auction, bids: dict[int, int]) -> Award:
    """The highest amount that only one seat bid wins; in a blind final a tie wins nothing."""
    winner: int | None = None
    if auction.auctioneer is not None or not auction.ties:
        times = Counter(bids.values())
        winner = max((seat for seat in bids if times[bids[seat]] == 1), key=bids.__getitem__)
    zeros = (seat for seat, amount in bids.items() if amount == 0)
    return Award(
        number=auction.number,
        tile=auction.tile,
        auctioneer=auction.auctioneer,
        stages=auction.stages,
        opening=auction.opening,
        ties=auction.ties,
        winner=winner,
        price=None if winner is None else bids[winner],
        zeros=tuple(zeros) if len(auction.sealed) > FEWEST else (),
    )
