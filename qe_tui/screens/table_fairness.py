"""Whether the host dealt honestly: checked by this client when the seed is turned up.

See docs/protocol.md, Fair play.
"""

from __future__ import annotations

from protocol import qe
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from server.games.qe.tiles import commitment, deal


def verdict(snapshot: Snapshot) -> tuple[bool, str]:
    """Whether everything fits, and a few words that say so."""
    game = snapshot.game
    if game is None or game.result is None:
        return True, ""
    wrong = _what_is_wrong(snapshot, game, game.result)
    if wrong:
        return False, _("DEAL NOT HONEST: {reason}").format(reason=wrong)
    return True, _("Deal checked: honest")


def _what_is_wrong(snapshot: Snapshot, game: qe.Game, result: qe.Result) -> str:
    if commitment(result.seed) != game.commitment:
        return _("another seed than promised")
    dealt = deal(len(game.seats), result.seed)
    if tuple(board.nation for board in game.seats) != dealt.nations:
        return _("the nations")
    if tuple(line.industry for line in result.seats) != dealt.tokens:
        return _("the tokens")
    sold = [(sale.tile.nation, sale.tile.industry, sale.tile.value) for sale in game.history]
    deck = [(tile.nation, tile.industry, tile.value) for tile in dealt.deck]
    if sold != deck[: len(sold)]:
        return _("the deck")
    first = game.history[0].auctioneer if game.history else None
    if snapshot.room.rules.get("first", "random") == "random" and first != dealt.first:
        return _("the first auctioneer")
    return _own_bids_wrong(snapshot, result)


def _own_bids_wrong(snapshot: Snapshot, result: qe.Result) -> str:
    """Whether each bid that one knows is turned up as one knows it."""
    turned_up = {
        (cheques.auction, stage, bid.seat): bid.amount
        for cheques in result.auctions
        for stage, bids in enumerate(cheques.stages)
        for bid in bids
    }
    for known in snapshot.you.known if snapshot.you else ():
        if turned_up.get((known.auction, known.stage, known.seat)) != known.amount:
            return _("a bid that you know")
    return ""
