"""Whether a view hangs together, so that the screens can show it: who made it is not known.

The types of `protocol` say what each field may be by itself. This is about what fields say of
each other: that a seat which is spoken of exists, that a bidding has a tile. The rules of the game
are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from protocol import qe
from protocol.messages import Room

MOST_SEATS = 16
MOST = 2**53
POINTS = 10_000
"""Above which a number of points, of people or of games is not believed."""

_OPENED = ("secret", "rebid")
_NOBODY_OPENS = ("blind", "over")


def plausible(room: Room, game: qe.Game | None, you: qe.You | None) -> bool:
    """Whether a room, its game and the reader's own part fit together and each within itself."""
    if not _room(room):
        return False
    if room.stage == "lobby" or game is None:
        return room.stage == "lobby" and game is None and you is None
    return _game(room, game) and (
        room.me is None if you is None else you.seat == room.me and _you(you, game)
    )


def _room(room: Room) -> bool:
    seats = len(room.seats)
    return (
        0 < seats <= MOST_SEATS
        and [seat.seat for seat in room.seats] == list(range(seats))
        and (room.host is None or 0 <= room.host < seats)
        and (room.me is None or 0 <= room.me < seats)
        and 0 <= room.spectators <= POINTS
        and 0 < room.size <= MOST_SEATS
        and 0 <= room.since <= MOST
        and (room.deadline is None or 0 <= room.deadline <= MOST)
        and len(room.results) <= POINTS
        and all(
            len(result.names) == len(result.totals) <= MOST_SEATS
            and _points(result.totals)
            and _among(result.winners, len(result.names))
            for result in room.results
        )
    )


def _game(room: Room, game: qe.Game) -> bool:
    seats = len(room.seats)
    over = game.phase == "over"
    auctions = range(1, game.auctions + 1)
    return (
        3 <= seats <= 5
        and game.auctions in (15, 16)
        and game.auction in auctions
        and 0 <= game.step <= MOST
        and 0 <= game.rebids <= 2
        and over == (game.result is not None) == (room.stage == "over")
        and over == (game.tile is None)
        and (game.phase in _NOBODY_OPENS) == (game.auctioneer is None)
        and (game.phase in _OPENED) == (game.opening is not None)
        and (game.round is None) == (game.rounds is None)
        and 0 <= (game.round or 0) <= (game.rounds or 0) <= 5
        and (game.auctioneer is None or 0 <= game.auctioneer < seats)
        and (game.tile is None or _tile(game.tile))
        and _among(game.waiting, seats)
        and [board.seat for board in game.seats] == list(range(seats))
        and len({board.nation for board in game.seats}) == seats
        and all(_board(board, auctions) for board in game.seats)
        and [sale.auction for sale in game.history] == list(range(1, len(game.history) + 1))
        and len(game.history) <= game.auctions
        and all(_sale(sale, seats) for sale in game.history)
        and (game.result is None or _result(game.result, seats, game.history))
        and (not over or len(game.history) == game.auctions)
    )


def _tile(tile: qe.Tile | qe.OwnedTile) -> bool:
    return 1 <= tile.value <= 4


def _board(board: qe.Board, auctions: Sequence[int]) -> bool:
    return (
        len(board.tiles) <= len(auctions)
        and all(_tile(tile) and tile.auction in auctions for tile in board.tiles)
        and len(board.zeros) <= 5
        and all(1 <= number <= 5 for number in board.zeros)
        and (board.peeked is None or board.peeked in auctions)
    )


def _sale(sale: qe.Sale, seats: int) -> bool:
    return (
        _tile(sale.tile)
        and (sale.round is None or 1 <= sale.round <= 5)
        and (sale.auctioneer is None) == (sale.opening is None)
        and all(seat is None or 0 <= seat < seats for seat in (sale.auctioneer, sale.winner))
        and _among(sale.zeros, seats)
        and len(sale.ties) <= 3
        and all(_among(tied, seats) for tied in sale.ties)
    )


def _result(result: qe.Result, seats: int, history: Sequence[qe.Sale]) -> bool:
    return (
        [line.seat for line in result.seats] == list(range(seats))
        and all(line.rank is None or 1 <= line.rank <= seats for line in result.seats)
        and all(
            _points(
                (
                    line.companies,
                    line.zero_bids,
                    line.nationalization,
                    line.monopolization,
                    line.diversification,
                    line.subtotal,
                    line.least_spent,
                    line.total,
                )
            )
            for line in result.seats
        )
        and _among(result.winners, seats)
        and [cheques.auction for cheques in result.auctions] == [sale.auction for sale in history]
        and all(
            len(cheques.stages) <= 1 + len(sale.ties)
            and all(_among([bid.seat for bid in stage], seats) for stage in cheques.stages)
            for sale, cheques in zip(history, result.auctions, strict=True)
        )
    )


def _you(you: qe.You, game: qe.Game) -> bool:
    auctions = range(1, game.auctions + 1)
    rebids = {game.auction: game.rebids} | {sale.auction: len(sale.ties) for sale in game.history}
    score = you.score
    return (
        all(
            0 <= bid.stage <= rebids.get(bid.auction, -1) and 0 <= bid.seat < len(game.seats)
            for bid in you.known
        )
        and (you.may_peek is None or you.may_peek in auctions)
        and (you.may_bid is None or game.tile is not None)
        and _points(
            (
                score.companies,
                score.zero_bids,
                score.nationalization,
                score.monopolization,
                score.diversification,
                score.subtotal,
                you.gain or 0,
            )
        )
    )


def _among(seats: Sequence[int], count: int) -> bool:
    """Whether these are different seats of so many."""
    return len(set(seats)) == len(seats) and all(0 <= seat < count for seat in seats)


def _points(numbers: Iterable[int]) -> bool:
    return all(abs(number) <= POINTS for number in numbers)
