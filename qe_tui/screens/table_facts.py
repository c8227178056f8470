"""What follows from a snapshot for its reader: bids, prices and spending as far as they are known.

Pure, and without Textual. Everything here is derived from what the host has shown this reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from protocol import qe
from protocol.messages import Room
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from server.games.qe.scoring import score

OPENING = "opening"
RESULT = "result"
TIED = "tied"
"""Not seen, but known: who ties with the reader has bid the same amount."""


@dataclass(frozen=True, slots=True)
class Known:
    """A bid that the reader knows. `source`: opening, own, auctioneer, peek, tied or result."""

    amount: int = field(repr=False)
    source: str


Stage = Mapping[int, Known]


@dataclass(frozen=True, slots=True)
class Sight:
    """What there is to paint: a snapshot, and how it is looked at.

    `now` is this machine's Unix seconds. `covered`: secrets are hidden from the neighbours.
    `tied`: who bids again while a tie is broken, as far as this client has seen it. `moods`: by
    seat, the kind of a reaction that is a few seconds old.
    """

    snapshot: Snapshot
    now: float = 0.0
    covered: bool = False
    tied: frozenset[int] = frozenset()
    moods: Mapping[int, str] = field(default_factory=dict)
    reading: bool = False
    """The reader may bid, and still has the last award before them in the place of the cheque."""
    inherited: int = 0
    """The auction in which the bid of the reader's seat is that of who sat there before."""


def players(snapshot: Snapshot) -> int:
    """How many play."""
    return len(snapshot.game.seats) if snapshot.game else 0


def me(snapshot: Snapshot) -> int | None:
    """The reader's seat in this game, None for spectators."""
    return None if snapshot.you is None else snapshot.you.seat


def my_turn(snapshot: Snapshot) -> bool:
    """Whether the table waits for the reader."""
    game, seat = snapshot.game, me(snapshot)
    return game is not None and seat is not None and seat in game.waiting


def sealed(snapshot: Snapshot) -> str | None:
    """The bid that the reader has made in the step that is open, None where there is none yet.

    One who tied has a bid that stands, and is still to bid again.
    """
    game, you = snapshot.game, snapshot.you
    if game is None or you is None or you.seat in game.waiting:
        return None
    return you.bid


def stands_unseen(snapshot: Snapshot) -> bool:
    """Whether a bid of the reader's seat stands that its former holder sealed in this step: it
    counts, and is shown to the reader only when the step has closed."""
    game, you = snapshot.game, snapshot.you
    return (
        game is not None
        and you is not None
        and game.phase in ("secret", "blind")
        and you.may_bid is not None
        and you.bid is None
        and you.seat not in game.waiting
    )


def has_bid(snapshot: Snapshot) -> bool:
    """Whether a bid of the reader's seat is sealed in the step that is open, whoever made it."""
    return sealed(snapshot) is not None or stands_unseen(snapshot)


def inherited(snapshot: Snapshot, before: int) -> int:
    """The auction in which the bid of the reader's seat is not their own; 0 where there is none.
    `before`: what this was until now."""
    game = snapshot.game
    if game is None:
        return 0
    if stands_unseen(snapshot):
        return game.auction
    if before == game.auction and sealed(snapshot) is not None:
        return 0
    return before


def award_on_show(game: qe.Game) -> qe.Sale | None:
    """The last sale, from when it was made until the next opening is."""
    return game.history[-1] if game.history and game.phase in ("opening", "blind") else None


# --- Seats ----------------------------------------------------------------------------------


def is_free(room: Room) -> bool:
    """Whether whoever joins now gets a seat."""
    return any(seat.released or (seat.kind == "open") for seat in room.seats)


def may_sit(snapshot: Snapshot) -> bool:
    """Whether the reader watches, and could take a seat."""
    return snapshot.room.me is None and snapshot.broker is None and is_free(snapshot.room)


def free_seats(room: Room) -> list[int]:
    """The seats of a running game that whoever joins may have."""
    return [seat.seat for seat in room.seats if seat.released]


# --- Bids -----------------------------------------------------------------------------------


def stages(snapshot: Snapshot, auction: int) -> list[Stage]:
    """The reader's knowledge of an auction, stage by stage; the opening is in stage 0."""
    game, you = snapshot.game, snapshot.you
    if game is None:
        return []
    found: dict[int, dict[int, Known]] = {0: {}}
    opener, opening = _opening(game, auction)
    if opener is not None and opening is not None:
        found[0][opener] = Known(int(opening), OPENING)
    if game.result is not None:
        for cheques in game.result.auctions:
            if cheques.auction == auction:
                for number, bids in enumerate(cheques.stages):
                    for bid in bids:
                        known = Known(int(bid.amount), RESULT)
                        found.setdefault(number, {})[bid.seat] = known
    if you is not None:
        for one in you.known:
            if one.auction == auction:
                found.setdefault(one.stage, {})[one.seat] = Known(int(one.amount), one.source)
    sale = sale_of(game, auction)
    again = rebids(sale) if sale is not None else game.rebids if game.auction == auction else 0
    for number in range(again):
        found.setdefault(number + 1, {})
    if sale is not None and you is not None:
        _infer_ties(found, sale, you.seat)
    return [found[number] for number in sorted(found)]


def _infer_ties(found: dict[int, dict[int, Known]], sale: qe.Sale, reader: int) -> None:
    """Those who tied with the reader bid what the reader bid."""
    if sale.auctioneer is None:
        return
    for number, tied in enumerate(sale.ties):
        own = found.get(_last_stage(sale, reader, number), {}).get(reader)
        if reader not in tied or own is None:
            continue
        for seat in tied:
            stage = found.setdefault(_last_stage(sale, seat, number), {})
            stage.setdefault(seat, Known(own.amount, TIED))


def _last_stage(sale: qe.Sale, seat: int, until: int) -> int:
    """The last stage, `until` at most, in which a seat made a bid: who does not tie bids once."""
    again = (number for number in range(min(until, rebids(sale))) if seat in sale.ties[number])
    return max((number + 1 for number in again), default=0)


def _opening(game: qe.Game, auction: int) -> tuple[int | None, str | None]:
    sale = sale_of(game, auction)
    if sale is not None:
        return sale.auctioneer, sale.opening
    if game.auction == auction:
        return game.auctioneer, game.opening
    return None, None


def sale_of(game: qe.Game, auction: int) -> qe.Sale | None:
    """The auction's line in the history, None while it runs."""
    return next((sale for sale in game.history if sale.auction == auction), None)


def rebids(sale: qe.Sale) -> int:
    """How often an auction was bid again: the third tie ends it, and so does one in the final."""
    return 0 if sale.auctioneer is None else min(2, len(sale.ties))


def winning_stage(sale: qe.Sale) -> int:
    """The stage in which the winner made the bid that won, for all that the table knows."""
    return 0 if sale.winner is None else _last_stage(sale, sale.winner, rebids(sale))


def standing(snapshot: Snapshot, auction: int) -> dict[int, Known]:
    """By seat, the bid that stands in the end, or stands now, as far as the reader knows."""
    bids: dict[int, Known] = {}
    known = stages(snapshot, auction)
    for stage in known:
        bids.update(stage)
    sale = sale_of(snapshot.game, auction) if snapshot.game is not None else None
    if sale is None:
        return bids
    # A bid that was made again later, unseen, stands no more.
    return {
        seat: bid
        for seat, bid in bids.items()
        if seat in known[_last_stage(sale, seat, rebids(sale))]
    }


def price(snapshot: Snapshot, sale: qe.Sale) -> int | None:
    """What a tile was sold for, if the reader may know."""
    if sale.price is not None:
        return int(sale.price)
    if sale.winner is None:
        return None
    known = standing(snapshot, sale.auction).get(sale.winner)
    sees_last_bid = known is not None and known.source != OPENING
    return known.amount if known is not None and sees_last_bid else None


def price_floor(snapshot: Snapshot, sale: qe.Sale) -> int:
    """The least that an unknown price can have been: one over the opening and one's own bid.

    After a third tie the highest bid that only one player made wins, so one's own bid says
    nothing then.
    """
    floor = int(sale.opening) if sale.opening is not None else 0
    seat = me(snapshot)
    if seat is not None and len(sale.ties) < 3:
        own = standing(snapshot, sale.auction).get(seat)
        if own is not None:
            floor = max(floor, own.amount)
    return floor + 1


@dataclass(frozen=True, slots=True)
class Purse:
    """A seat's spending as the reader knows it. `hidden`: prices that are not known."""

    known: int = field(repr=False)
    at_least: int = field(repr=False)
    hidden: int


def purses(snapshot: Snapshot) -> list[Purse]:
    """By seat, what was spent, as far as the reader knows."""
    game, you = snapshot.game, snapshot.you
    known = [0] * players(snapshot)
    floors = [0] * players(snapshot)
    hidden = [0] * players(snapshot)
    for sale in game.history if game else ():
        if sale.winner is None:
            continue
        paid = price(snapshot, sale)
        if paid is None:
            hidden[sale.winner] += 1
            floors[sale.winner] += price_floor(snapshot, sale)
        else:
            known[sale.winner] += paid
    if you is not None and game is not None:
        # Without notes the single prices are gone, the own total is not.
        known[you.seat], floors[you.seat], hidden[you.seat] = int(you.spent), 0, 0
    return [
        Purse(total, total + floor, unknown)
        for total, floor, unknown in zip(known, floors, hidden, strict=True)
    ]


def before_the_end(snapshot: Snapshot, seat: int) -> int:
    """What the reader knew that a seat had spent when the game was not over yet."""
    game = snapshot.game
    total = 0
    for sale in game.history if game else ():
        if sale.winner != seat:
            continue
        if sale.winner == sale.auctioneer and sale.opening is not None:
            total += int(sale.opening)
            continue
        own = [
            int(bid.amount)
            for bid in (snapshot.you.known if snapshot.you else ())
            if bid.auction == sale.auction and bid.seat == seat
        ]
        total += own[-1] if own else 0
    return total


def tied_now(snapshot: Snapshot, seen: frozenset[int]) -> frozenset[int]:
    """Who bids again. `seen`: who has been awaited in this step since this client looked."""
    game = snapshot.game
    if game is None or game.phase != "rebid":
        return frozenset()
    tied = seen | frozenset(game.waiting)
    if snapshot.you is not None and snapshot.you.may_bid is not None:
        tied |= {snapshot.you.seat}
    if me(snapshot) == game.auctioneer:
        bids = standing(snapshot, game.auction)
        most = max((bid.amount for bid in bids.values()), default=0)
        tied |= {seat for seat, bid in bids.items() if bid.amount == most}
    return tied


def own_tied_bid(snapshot: Snapshot) -> int | None:
    """In a re-bid: the amount with which the reader tied, None for all who did not tie."""
    game, you = snapshot.game, snapshot.you
    if game is None or you is None or game.phase != "rebid" or you.may_bid is None:
        return None
    own = [
        int(bid.amount)
        for bid in you.known
        if (bid.auction, bid.seat) == (game.auction, you.seat) and bid.stage < game.rebids
    ]
    if own:
        return own[-1]
    # Without notes there is the bid that still stands.
    return int(you.bid) if you.bid is not None and you.seat in game.waiting else None


# --- Points ---------------------------------------------------------------------------------


def parts(points: qe.Score, *, tight: bool = False) -> list[tuple[str, int]]:
    """The categories that gave something, in words; `tight` ones where there is little room."""
    named = (
        (_("tiles"), points.companies),
        (_("zero"), points.zero_bids),
        (_("nation"), points.nationalization),
        (_("mono") if tight else _("monopoly"), points.monopolization),
        (_("div") if tight else _("diversity"), points.diversification),
    )
    return [(word, value) for word, value in named if value]


def gain_parts(snapshot: Snapshot) -> list[tuple[str, int]]:
    """What the reader would gain with the tile, by category; the tile's own value first."""
    game, you = snapshot.game, snapshot.you
    if game is None or you is None or game.tile is None:
        return []
    board = game.seats[you.seat]
    tiles: Sequence[qe.Tile | qe.OwnedTile] = [*board.tiles, game.tile]
    then = score(len(game.seats), board.nation, you.industry, tiles, len(board.zeros))
    now = you.score
    gained = qe.Score(
        companies=then.companies - now.companies,
        zero_bids=0,
        nationalization=then.nationalization - now.nationalization,
        monopolization=then.monopolization - now.monopolization,
        diversification=then.diversification - now.diversification,
        subtotal=then.subtotal - now.subtotal,
    )
    return [(_("tile"), gained.companies), *parts(gained)[1:]]


def zero_scored(game: qe.Game, sale: qe.Sale, seat: int) -> bool:
    """Whether the zero bid that a seat made brought it points: the first one in a round does."""
    if seat not in sale.zeros or len(game.seats) == 3:
        return False
    return not any(
        seat in other.zeros
        for other in game.history
        if other.round == sale.round and other.auction < sale.auction
    )


def zero_scores(snapshot: Snapshot) -> bool:
    """Whether a zero bid would give the reader points in this round."""
    game, you = snapshot.game, snapshot.you
    return (
        game is not None
        and you is not None
        and game.round is not None
        and len(game.seats) > 3
        and game.round not in game.seats[you.seat].zeros
    )


# --- Time -----------------------------------------------------------------------------------


def seconds_left(snapshot: Snapshot, now: float) -> float | None:
    """Until the deadline, None without one. `now` is this machine's Unix seconds."""
    if snapshot.room.deadline is None or snapshot.room.paused:
        return None
    return (snapshot.room.deadline - snapshot.clock) / 1000 - now
