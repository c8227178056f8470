"""QE's words on the wire: what is public, what is one seat's own, and what a seat may do.

Amounts are decimal strings here, as they travel; `int()` reads them. No value of this module
shows an amount in its repr.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Nation = Literal["US", "EU", "JP", "CN", "UK"]
Industry = Literal["agriculture", "finance", "housing", "manufacturing", "government"]
Phase = Literal["opening", "secret", "rebid", "blind", "over"]
Source = Literal["own", "auctioneer", "peek"]

MAX_DIGITS = 1000
Amount = Annotated[str, Meta(pattern=r"\A(?:0|[1-9][0-9]{0,999})\Z")]
Total = Annotated[str, Meta(pattern=r"\A(?:0|[1-9][0-9]{0,1001})\Z")]


class _Word(Struct, frozen=True, kw_only=True):
    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


# --- What a seat may do ---------------------------------------------------------------------


class Bid(_Word, frozen=True, tag_field="kind", tag="bid", forbid_unknown_fields=True):
    amount: Amount


class Peek(_Word, frozen=True, tag_field="kind", tag="peek", forbid_unknown_fields=True):
    pass


Action = Bid | Peek


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`notes`: whether the host keeps a seat's ledger for it. `first`: who opens auction 1."""

    notes: bool = True
    first: Literal["random", "host"] = "random"


# --- What everybody may know ----------------------------------------------------------------


class Tile(Struct, frozen=True, kw_only=True):
    nation: Nation
    industry: Industry
    value: int


class OwnedTile(_Word, frozen=True):
    """A tile before a seat. `price` is null unless the whole table knows it."""

    nation: Nation
    industry: Industry
    value: int
    auction: int
    price: Amount | None


class Board(_Word, frozen=True):
    """What lies open before a seat. `zeros`: the rounds in which it scored a zero bid."""

    seat: int
    nation: Nation
    tiles: list[OwnedTile]
    zeros: list[int]
    peeked: int | None


class Sale(_Word, frozen=True):
    """An auction that is over. `ties`: who tied, a list for each tie."""

    auction: int
    round: int | None
    tile: Tile
    auctioneer: int | None
    opening: Amount | None
    winner: int | None
    price: Amount | None
    zeros: list[int]
    ties: list[list[int]]


class SecretBid(_Word, frozen=True):
    seat: int
    amount: Amount


class Cheques(_Word, frozen=True):
    """All secret bids of one auction, stage by stage, turned up at the end."""

    auction: int
    stages: list[list[SecretBid]]


class SeatResult(_Word, frozen=True):
    """A line of the score sheet, in VP but for `spent`. `rank` is null for the eliminated."""

    seat: int
    industry: Industry
    companies: int
    zero_bids: int
    nationalization: int
    monopolization: int
    diversification: int
    subtotal: int
    spent: Total
    eliminated: bool
    least_spent: int
    total: int
    rank: int | None


class Result(_Word, frozen=True):
    seats: list[SeatResult]
    winners: list[int]
    auctions: list[Cheques]
    seed: str


class Game(_Word, frozen=True):
    """What everybody at the table, and everybody who looks on, may know."""

    phase: Phase
    step: int
    auction: int
    auctions: int
    round: int | None
    rounds: int | None
    auctioneer: int | None
    tile: Tile | None
    opening: Amount | None
    waiting: list[int]
    rebids: int
    seats: list[Board]
    history: list[Sale]
    commitment: str
    result: Result | None


# --- What one seat may know beside that -----------------------------------------------------


class MayBid(_Word, frozen=True):
    """The smallest amount allowed, and the opening bid, which may not be equalled."""

    minimum: Amount
    other_than: Amount | None


class KnownBid(_Word, frozen=True):
    """A secret bid that the seat has rightly seen. Stage 0 is the first bid, 1 and 2 re-bids."""

    auction: int
    stage: int
    seat: int
    amount: Amount
    source: Source


class Score(Struct, frozen=True, kw_only=True):
    """VP as they stand, the token counted, the total spent not looked at."""

    companies: int
    zero_bids: int
    nationalization: int
    monopolization: int
    diversification: int
    subtotal: int


class You(_Word, frozen=True):
    """A seat's own knowledge. `gain`: what winning this tile would add to `score.subtotal`."""

    seat: int
    industry: Industry
    bid: Amount | None
    may_bid: MayBid | None
    may_peek: int | None
    known: list[KnownBid]
    spent: Total
    score: Score
    gain: int | None
