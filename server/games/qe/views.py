"""What is shown of a game: to everybody, and to one seat (docs/protocol.md, QE).

Views are built up, fact by fact, from what their reader may know; nothing is made whole and then
cut down. While secret bids are open, `public` reads of them only who has made one.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from protocol import qe
from server.games.qe import rules, scoring
from server.games.qe.rules import Auction, Award, State
from server.games.qe.tiles import Tile

# --- For everybody --------------------------------------------------------------------------


def public(state: State) -> qe.Game:
    """What everybody may know."""
    auction = state.auction
    return qe.Game(
        phase=state.phase,
        step=state.step,
        auction=state.auctions if auction is None else auction.number,
        auctions=state.auctions,
        round=None if auction is None else state.round_of(auction.number),
        rounds=None if auction is None or auction.auctioneer is None else state.rounds,
        auctioneer=None if auction is None else auction.auctioneer,
        tile=None if auction is None else _tile(auction.tile),
        opening=None if auction is None else _text(auction.opening),
        waiting=list(state.waiting),
        rebids=0 if auction is None else len(auction.ties),
        seats=[_board(state, seat) for seat in range(state.players)],
        history=[_sale(state, award) for award in state.awards],
        commitment=state.commitment,
        result=_result(state) if auction is None else None,
    )


def _text(amount: int | None) -> str | None:
    return None if amount is None else str(amount)


def _tile(tile: Tile) -> qe.Tile:
    return qe.Tile(nation=tile.nation, industry=tile.industry, value=tile.value)


def _open_price(state: State, award: Award) -> str | None:
    """The price, if the whole table knows it: the auctioneer won, or the game is over."""
    if state.auction is None:
        return _text(award.price)
    if award.winner is not None and award.winner == award.auctioneer:
        return _text(award.opening)
    return None


def _board(state: State, seat: int) -> qe.Board:
    return qe.Board(
        seat=seat,
        nation=state.nation(seat),
        tiles=[
            qe.OwnedTile(
                nation=award.tile.nation,
                industry=award.tile.industry,
                value=award.tile.value,
                auction=award.number,
                price=_open_price(state, award),
            )
            for award in state.won(seat)
        ],
        zeros=list(state.zero_rounds(seat)),
        peeked=state.peeks[seat],
    )


def _sale(state: State, award: Award) -> qe.Sale:
    return qe.Sale(
        auction=award.number,
        round=state.round_of(award.number),
        tile=_tile(award.tile),
        auctioneer=award.auctioneer,
        opening=_text(award.opening),
        winner=award.winner,
        price=_open_price(state, award),
        zeros=list(award.zeros),
        ties=[list(tied) for tied in award.ties],
    )


# --- When it is over ------------------------------------------------------------------------


def score(state: State, seat: int, *more: Tile) -> qe.Score:
    """The seat's VP as they stand, or as they would with `more` tiles."""
    return scoring.score(
        state.players,
        state.nation(seat),
        state.token(seat),
        [*(award.tile for award in state.won(seat)), *more],
        len(state.zero_rounds(seat)),
    )


def ending(state: State) -> scoring.Ending:
    """Who has won. Raises ValueError while the game is not over."""
    if state.auction is not None:
        raise ValueError("This game is not over.")
    seats = range(state.players)
    return scoring.settle(
        [score(state, seat).subtotal for seat in seats], [state.spent(seat) for seat in seats]
    )


def _result(state: State) -> qe.Result:
    end = ending(state)
    return qe.Result(
        seats=[_seat_result(state, seat, line) for seat, line in enumerate(end.standings)],
        winners=list(end.winners),
        auctions=[_cheques(award) for award in state.awards],
        seed=state.seed,
    )


def _seat_result(state: State, seat: int, standing: scoring.Standing) -> qe.SeatResult:
    points = score(state, seat)
    return qe.SeatResult(
        seat=seat,
        industry=state.token(seat),
        companies=points.companies,
        zero_bids=points.zero_bids,
        nationalization=points.nationalization,
        monopolization=points.monopolization,
        diversification=points.diversification,
        subtotal=points.subtotal,
        spent=str(state.spent(seat)),
        eliminated=standing.eliminated,
        least_spent=standing.least_spent,
        total=standing.total,
        rank=standing.rank,
    )


def _cheques(award: Award) -> qe.Cheques:
    return qe.Cheques(
        auction=award.number,
        stages=[
            [
                qe.SecretBid(seat=seat, amount=str(amount))
                for seat, amount in enumerate(stage)
                if amount is not None
            ]
            for stage in award.stages
        ],
    )


# --- For one seat ---------------------------------------------------------------------------


def private(state: State, seat: int) -> qe.You:
    """What this seat may know beside what everybody may. Raises ValueError for no seat."""
    if not 0 <= seat < state.players:
        raise ValueError("There is no such seat in this game.")
    auction = state.auction
    now = score(state, seat)
    return qe.You(
        seat=seat,
        industry=state.token(seat),
        bid=None if auction is None else _text(_own_bid(auction, seat)),
        may_bid=_may_bid(state, seat),
        may_peek=rules.may_peek(state, seat),
        known=[bid for bid in _seen(state, seat) if state.notes or _kept(state, seat, bid)],
        spent=str(state.spent(seat)),
        score=now,
        gain=(
            None if auction is None else score(state, seat, auction.tile).subtotal - now.subtotal
        ),
    )


def _own_bid(auction: Auction, seat: int) -> int | None:
    """The seat's own bid as it stands: that of one who is to bid again stands until they have."""
    if seat == auction.auctioneer:
        return auction.opening
    made = (stage[seat] for stage in (*auction.stages, auction.sealed))
    return next((amount for amount in reversed([*made]) if amount is not None), None)


def _may_bid(state: State, seat: int) -> qe.MayBid | None:
    auction = state.auction
    if auction is None or not rules.may_bid(state, seat):
        return None
    return qe.MayBid(
        minimum="1" if state.phase == "opening" else "0", other_than=_text(auction.opening)
    )


def _seen(state: State, seat: int) -> Iterator[qe.KnownBid]:
    """Every secret bid that the seat has rightly seen, by auction, stage and seat."""
    for award in state.awards:
        peeked = award.winning_stage() if state.peeks[seat] == award.number else None
        yield from _seen_in(award, seat, peeked, award.winner)
    if state.auction is not None:
        yield from _seen_in(state.auction, seat, None, None)


def _seen_in(
    auction: Auction | Award, seat: int, peeked: int | None, winner: int | None
) -> Iterator[qe.KnownBid]:
    """What the closed stages of an auction showed the seat; `peeked` is the stage of the bid
    that it peeked at, which is the winner's."""
    for stage, bids in enumerate(auction.stages):
        for bidder, amount in enumerate(bids):
            source: qe.Source
            if amount is None:
                continue
            if bidder == seat:
                source = "own"
            elif auction.auctioneer == seat:
                source = "auctioneer"
            elif peeked == stage and bidder == winner:
                source = "peek"
            else:
                continue
            yield qe.KnownBid(
                auction=auction.number,
                stage=stage,
                seat=bidder,
                amount=str(amount),
                source=source,
            )


def _kept(state: State, seat: int, bid: qe.KnownBid) -> bool:
    """Whether a seat still has it that plays without notes: what the running and the last
    completed auction showed it, and the price on the back of its own tiles."""
    if bid.auction >= len(state.awards):
        return True
    award = state.awards[bid.auction - 1]
    return bid.seat == seat == award.winner and bid.stage == award.winning_stage()


# --- How long that may be -------------------------------------------------------------------

_LONGEST = "9" * qe.MAX_DIGITS

_LONGEST_ROW = qe.KnownBid(auction=16, stage=2, seat=4, amount=_LONGEST, source="auctioneer")

_LONGEST_YOU = qe.You(
    seat=4,
    industry="manufacturing",
    bid=_LONGEST,
    may_bid=qe.MayBid(minimum="1", other_than=_LONGEST),
    may_peek=15,
    known=[],
    spent=_LONGEST + "99",
    score=qe.Score(
        companies=99,
        zero_bids=99,
        nationalization=99,
        monopolization=99,
        diversification=200,
        subtotal=400,
    ),
    gain=99,
)

_ROOM = len(msgspec.msgpack.encode(_LONGEST_YOU)) + 2
_ROOM_A_ROW = len(msgspec.msgpack.encode(_LONGEST_ROW))


def private_room(private: qe.You) -> int:
    """The most bytes that a private view with as many known bids could take.

    How many bids a seat knows, everybody knows; how long they are, nobody may.
    """
    return _ROOM + _ROOM_A_ROW * len(private.known)
