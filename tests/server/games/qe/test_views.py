"""What is shown, field by field as docs/protocol.md lists them."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from protocol import qe
from server.games.qe import QE
from server.games.qe.rules import State
from server.games.qe.scoring import score


def known(state: State, seat: int) -> list[tuple[int, int, int, str, str]]:
    return [
        (bid.auction, bid.stage, bid.seat, bid.amount, bid.source)
        for bid in QE.private(state, seat).known
    ]


# --- For everybody --------------------------------------------------------------------------


def test_an_opening(play: Any) -> None:
    state = play.new(4, 2, step=7)
    tile = state.deal.deck[0]
    assert msgspec.to_builtins(QE.public(state)) == {
        "phase": "opening",
        "step": 7,
        "auction": 1,
        "auctions": 16,
        "round": 1,
        "rounds": 4,
        "auctioneer": 2,
        "tile": {"nation": tile.nation, "industry": tile.industry, "value": tile.value},
        "opening": None,
        "waiting": [2],
        "rebids": 0,
        "seats": [
            {"seat": seat, "nation": nation, "tiles": [], "zeros": [], "peeked": None}
            for seat, nation in enumerate(state.deal.nations)
        ],
        "history": [],
        "commitment": "dd56de4137951d9c92681b03416ec15f886b4482a27e3a517d32f085244cbe5d",
        "result": None,
    }


def test_secret_bids_and_rebids(play: Any) -> None:
    state = play.bid(play.new(5, 4), 4, 100)
    public = QE.public(state)
    assert (public.phase, public.opening, public.waiting) == ("secret", "100", [0, 1, 2, 3])
    state = play.bid(state, 2, 700)
    assert QE.public(state).waiting == [0, 1, 3]
    for seat, amount in ((0, 0), (3, 700), (1, 3)):
        state = play.bid(state, seat, amount)
    public = QE.public(state)
    assert (public.phase, public.rebids, public.waiting) == ("rebid", 1, [2, 3])
    assert (public.opening, public.auctioneer, public.auction) == ("100", 4, 1)
    assert public.history == []
    assert all(board.zeros == [] for board in public.seats)


def test_a_sale_at_a_secret_price(play: Any) -> None:
    state = play.new(4, 3)
    tile = state.deal.deck[0]
    state = play.auction(state, 100, {0: 700, 1: 700, 2: 0}, {0: 800, 1: 5})
    shown = {"nation": tile.nation, "industry": tile.industry, "value": tile.value}
    public = msgspec.to_builtins(QE.public(state))
    assert public["history"] == [
        {
            "auction": 1,
            "round": 1,
            "tile": shown,
            "auctioneer": 3,
            "opening": "100",
            "winner": 0,
            "price": None,
            "zeros": [2],
            "ties": [[0, 1]],
        }
    ]
    assert public["seats"][0]["tiles"] == [{**shown, "auction": 1, "price": None}]
    assert public["seats"][2]["zeros"] == [1]
    assert (public["phase"], public["opening"], public["rebids"]) == ("opening", None, 0)
    assert (public["auction"], public["auctioneer"], public["waiting"]) == (2, 0, [0])


def test_a_sale_to_the_auctioneer_has_an_open_price(play: Any) -> None:
    state = play.auction(play.new(4, 3), 100, {0: 1, 1: 99, 2: 0})
    public = QE.public(state)
    assert public.history[0].price == "100"
    assert public.seats[3].tiles[0].price == "100"


def test_the_three_player_final(play: Any) -> None:
    state = play.final()
    public = QE.public(state)
    assert (public.phase, public.auction, public.auctions) == ("blind", 16, 16)
    assert (public.round, public.rounds, public.auctioneer, public.opening) == (None,) * 4
    assert public.tile is not None
    assert public.waiting == [0, 1, 2]
    state = play.bid(state, 1, 5)
    you = QE.private(state, 1)
    assert you.bid == "5"
    assert you.may_bid == qe.MayBid(minimum="0", other_than=None)
    assert not [bid for bid in you.known if bid.auction == 16]
    state = play.bid(play.bid(state, 0, 8), 2, 6)
    sale = QE.public(state).history[-1]
    assert (sale.auction, sale.round, sale.auctioneer, sale.opening) == (16, None, None, None)
    assert (sale.winner, sale.price) == (0, "8")
    assert known(state, 1)[-1] == (16, 0, 1, "5", "own")


# --- When it is over ------------------------------------------------------------------------


def a_whole_game(play: Any, *, notes: bool = True) -> State:
    state = play.auction(play.new(5, notes=notes), 10, {1: 50, 2: 50, 3: 0, 4: 20}, {1: 40, 2: 60})
    state = play.auction(play.peek(state, 4), 10, {0: 11, 2: 12, 3: 0, 4: 0})
    return play.dull(state, 13)  # type: ignore[no-any-return]


def test_everything_turns_up_when_it_is_over(play: Any) -> None:
    state = a_whole_game(play)
    public = QE.public(state)
    assert (public.phase, public.auction, public.waiting) == ("over", 15, [])
    assert (public.round, public.rounds, public.auctioneer, public.opening, public.tile) == (
        None,
    ) * 5
    assert public.rebids == 0
    assert [sale.price for sale in public.history] == ["60", "12", *["10"] * 13]
    prices = {tile.auction: tile.price for board in public.seats for tile in board.tiles}
    assert prices == {sale.auction: sale.price for sale in public.history}
    result = public.result
    assert result is not None
    assert result.seed == play.seed
    assert result.winners == list(QE.winners(state) or ())
    assert [line.total for line in result.seats] == list(QE.totals(state))
    assert [line.industry for line in result.seats] == list(state.deal.tokens)
    assert [cheques.auction for cheques in result.auctions] == list(range(1, 16))
    assert msgspec.to_builtins(result.auctions[0].stages) == [
        [
            {"seat": 1, "amount": "50"},
            {"seat": 2, "amount": "50"},
            {"seat": 3, "amount": "0"},
            {"seat": 4, "amount": "20"},
        ],
        [{"seat": 1, "amount": "40"}, {"seat": 2, "amount": "60"}],
    ]


def test_the_score_sheet(play: Any) -> None:
    """Auctioneers keep their tiles at 10, but for the first two, which seat 2 buys."""
    state = a_whole_game(play)
    public = QE.public(state)
    assert public.result is not None
    lines = public.result.seats
    assert [line.spent for line in lines] == ["20", "20", "102", "30", "30"]
    assert [line.eliminated for line in lines] == [False, False, True, False, False]
    assert [line.least_spent for line in lines] == [7, 7, 0, 0, 0]
    assert [line.zero_bids for line in lines] == [0, 0, 0, 2, 2]
    for line, board in zip(lines, public.seats, strict=True):
        points = score(5, board.nation, line.industry, board.tiles, len(board.zeros))
        assert line.subtotal == points.subtotal
        assert line.total == line.subtotal + line.least_spent
        parts = (line.companies, line.zero_bids, line.nationalization)
        assert line.subtotal == sum(parts) + line.monopolization + line.diversification
    best = max(line.total for line in lines if not line.eliminated)
    assert all((line.rank == 1) <= (line.total == best) for line in lines)
    assert lines[2].rank is None


def test_an_own_view_when_it_is_over(play: Any) -> None:
    state = a_whole_game(play)
    for seat in range(5):
        you = QE.private(state, seat)
        assert (you.bid, you.may_bid, you.may_peek, you.gain) == (None,) * 4
        assert {bid.source for bid in you.known} >= {"own"}
    assert (1, 1, 2, "60", "peek") in known(state, 4)


# --- For one seat ---------------------------------------------------------------------------


def test_what_one_may_bid(play: Any) -> None:
    may = qe.MayBid
    state = play.new(4)
    assert [QE.private(state, seat).may_bid for seat in range(4)] == [
        may(minimum="1", other_than=None),
        None,
        None,
        None,
    ]
    state = play.bid(state, 0, 12_000)
    secret = may(minimum="0", other_than="12000")
    assert [QE.private(state, seat).may_bid for seat in range(4)] == [None, *[secret] * 3]
    state = play.bid(state, 2, 77_000)
    assert QE.private(state, 2).may_bid == secret, "it may still be changed"
    state = play.bid(play.bid(state, 1, 77_000), 3, 5)
    assert [QE.private(state, seat).may_bid for seat in range(4)] == [None, secret, secret, None]
    state = play.bid(state, 1, 3)
    assert QE.private(state, 1).may_bid == secret


def test_the_own_bid_as_it_stands(play: Any) -> None:
    def bids() -> list[str | None]:
        return [QE.private(state, seat).bid for seat in range(4)]

    state = play.new(4)
    assert bids() == [None] * 4
    state = play.bid(state, 0, 10)
    assert bids() == ["10", None, None, None]
    state = play.bid(state, 2, 30)
    state = play.bid(play.bid(state, 2, 40), 1, 40)
    assert bids() == ["10", "40", "40", None]
    state = play.bid(state, 3, 0)
    assert bids() == ["10", "40", "40", "0"], "the bid of who ties stands until the next"
    state = play.bid(state, 1, 2)
    assert bids() == ["10", "2", "40", "0"]
    state = play.bid(state, 2, 2)
    assert bids() == [None] * 4


def test_what_each_seat_knows_of_an_auction(play: Any) -> None:
    state = play.bid(play.new(5), 0, 10)
    for seat, amount in ((4, 20), (3, 0), (2, 50)):
        state = play.bid(state, seat, amount)
    assert [known(state, seat) for seat in range(5)] == [[]] * 5, "the stage is open"
    state = play.bid(state, 1, 50)
    first = [(1, 0, 1, "50"), (1, 0, 2, "50"), (1, 0, 3, "0"), (1, 0, 4, "20")]
    assert known(state, 0) == [(*bid, "auctioneer") for bid in first]
    for seat in range(1, 5):
        assert known(state, seat) == [(*first[seat - 1], "own")]
    state = play.bid(play.bid(state, 2, 60), 1, 40)
    assert known(state, 0)[4:] == [(1, 1, 1, "40", "auctioneer"), (1, 1, 2, "60", "auctioneer")]
    assert known(state, 2) == [(1, 0, 2, "50", "own"), (1, 1, 2, "60", "own")]
    state = play.peek(state, 4)
    assert known(state, 4) == [(1, 0, 4, "20", "own"), (1, 1, 2, "60", "peek")]
    assert known(state, 3) == [(1, 0, 3, "0", "own")]
    assert QE.public(state).seats[4].peeked == 1


def test_a_ledger_is_in_order(play: Any) -> None:
    state = a_whole_game(play)
    for seat in range(5):
        assert play.ascending([bid[:3] for bid in known(state, seat)])
        mine = {(n, m) for n, m, bidder, _, _ in known(state, seat) if bidder == seat}
        assert len(mine) == 12 + (seat in {1, 2})


def test_without_notes_one_remembers_the_last_auction_and_the_own_tiles(play: Any) -> None:
    state = play.new(5, notes=False)
    state = play.auction(state, 10, {1: 50, 2: 50, 3: 0, 4: 20}, {1: 40, 2: 60})
    state = play.peek(state, 4)
    assert len(known(state, 0)) == 6
    assert known(state, 1) == [(1, 0, 1, "50", "own"), (1, 1, 1, "40", "own")]
    assert known(state, 4) == [(1, 0, 4, "20", "own"), (1, 1, 2, "60", "peek")]

    state = play.bid(state, 1, 10)
    for seat, amount in ((0, 90), (2, 90), (3, 2), (4, 3)):
        state = play.bid(state, seat, amount)
    assert len(known(state, 0)) == 6 + 1, "the running auction and the last one"
    assert len(known(state, 1)) == 2 + 4
    assert known(state, 4)[1] == (1, 1, 2, "60", "peek")

    state = play.bid(play.bid(state, 0, 95), 2, 3)
    assert known(state, 0) == [(2, 0, 0, "90", "own"), (2, 1, 0, "95", "own")]
    assert known(state, 2) == [
        (1, 1, 2, "60", "own"),
        (2, 0, 2, "90", "own"),
        (2, 1, 2, "3", "own"),
    ], "what is on the own tile stays"
    assert known(state, 4) == [(2, 0, 4, "3", "own")], "a peek is forgotten with its auction"
    assert [bid[0] for bid in known(state, 1)] == [2] * 6

    state = play.dull(state, 3)
    assert [bid[:4] for bid in known(state, 0)[:-1]] == [(2, 1, 0, "95")]
    assert [bid[:4] for bid in known(state, 2)[:-1]] == [(1, 1, 2, "60")]
    assert QE.private(state, 2).spent == "70"


def test_notes_change_nothing_else(play: Any) -> None:
    with_notes, without = a_whole_game(play), a_whole_game(play, notes=False)
    assert QE.public(with_notes) == QE.public(without)
    for seat in range(5):
        one = msgspec.to_builtins(QE.private(with_notes, seat))
        other = msgspec.to_builtins(QE.private(without, seat))
        del one["known"], other["known"]
        assert one == other


def test_score_gain_and_spending_as_they_stand(play: Any) -> None:
    state = play.new(4)
    for _ in range(16):
        public = QE.public(state)
        tile = public.tile
        assert tile is not None
        gains = []
        for board in public.seats:
            you = QE.private(state, board.seat)
            rounds = len(board.zeros)
            before = score(4, board.nation, you.industry, board.tiles, rounds)
            after = score(4, board.nation, you.industry, [*board.tiles, tile], rounds)
            assert you.score == before
            assert you.gain == after.subtotal - before.subtotal
            assert you.spent == str(50 * len(board.tiles))
            gains.append(you.gain)
        best = max(range(4), key=gains.__getitem__)
        auctioneer = public.auctioneer
        assert auctioneer is not None
        bids = {seat: 50 if seat == best else 0 for seat in range(4) if seat != auctioneer}
        state = play.auction(state, 50 if best == auctioneer else 1, bids)


def test_there_is_no_view_for_nobody(play: Any) -> None:
    for seat in (-1, 4):
        with pytest.raises(ValueError, match="no such seat"):
            QE.private(play.new(4), seat)


def test_views_share_no_type_with_the_state(play: Any) -> None:
    """So nothing can be sent by handing it on."""
    state = a_whole_game(play)

    def parts(value: Any) -> set[type]:
        if isinstance(value, msgspec.Struct):
            fields = [getattr(value, name) for name in value.__struct_fields__]
        elif dataclasses.is_dataclass(value):
            fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        elif isinstance(value, (list, tuple)):
            fields = list(value)
        else:
            return set()
        return {type(value)}.union(*map(parts, fields))

    views = parts(QE.public(state)) | parts(QE.private(state, 0))
    assert views & parts(state) == set()
    assert all(kind is list or issubclass(kind, msgspec.Struct) for kind in views)


def test_a_view_travels_and_comes_back(play: Any) -> None:
    for state in (play.new(3), play.final(), a_whole_game(play)):
        public = QE.public(state)
        assert msgspec.convert(msgspec.to_builtins(public), qe.Game, strict=True) == public
        you = QE.private(state, 1)
        assert msgspec.convert(msgspec.to_builtins(you), qe.You, strict=True) == you


@pytest.mark.parametrize("players", [3, 4, 5])
def test_no_private_view_outgrows_its_room(players: int, play: Any) -> None:
    """Everybody bids what has a thousand digits, and ties as often as can be."""
    state = play.new(players)
    huge = 10**qe.MAX_DIGITS - 1
    while QE.winners(state) is None:
        public = QE.public(state)
        if players == 5 and len(public.history) == 14 and QE.private(state, 4).may_peek:
            state = play.peek(state, 4)
        amount = huge - 1 if public.phase == "opening" else huge
        if public.phase == "secret":
            amount -= 10 * (QE.waiting(state)[0] == QE.waiting(state)[-1])
        state = play.bid(state, QE.waiting(state)[0], amount)
        for seat in range(players):
            you = QE.private(state, seat)
            size = len(msgspec.msgpack.encode(you))
            assert size <= QE.private_room(you)
            assert QE.private_room(you) - size < 4_096 + 40 * len(you.known)
