"""The sentences of the table: what to do, who is awaited, what was heard. Plain text, no Textual.

Names in them are fit to be shown (`protocol.text.printable`), but not of any given width.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from protocol import qe
from qe_tui import words
from qe_tui.amounts import grouped, short
from qe_tui.i18n import _, ngettext
from qe_tui.model import Snapshot
from qe_tui.screens import table_facts as facts

NAME_CELLS = 12


def who(snapshot: Snapshot, seat: int) -> str:
    """A name short enough for a sentence, or `you`."""
    if seat == facts.me(snapshot):
        return _("you")
    return _cut(words.name(snapshot.room, seat))


def Who(snapshot: Snapshot, seat: int) -> str:
    """The same at the start of a sentence."""
    if seat == facts.me(snapshot):
        return _("You")
    return _cut(words.name(snapshot.room, seat))


def _cut(name: str) -> str:
    if cell_len(name) <= NAME_CELLS:
        return name
    return set_cell_size(name, NAME_CELLS - 1).rstrip() + "…"


# --- The one line that says what to do ------------------------------------------------------


def todo(snapshot: Snapshot, tied: frozenset[int]) -> tuple[str, str]:
    """A few loud words, and the rest of it: who sees it, what is not allowed. Sentences are two
    spaces apart."""
    game, you = snapshot.game, snapshot.you
    if game is None:
        return "", ""
    if game.phase == "over":
        return _("GAME OVER."), ""
    if you is None:
        return _watching(snapshot, game)
    if you.may_bid is None:
        return _waiting_for_others(snapshot, game, you, tied)
    if game.phase == "opening":
        return _("YOU OPEN."), _("Type an amount, at least 1.  Everybody sees it.")
    if game.phase == "blind":
        if facts.sealed(snapshot) is not None:
            return _("SEALED."), _("Type again to change it.  A TIE, AND NOBODY GETS IT.")
        return (
            _("EVERYONE BIDS BLIND."),
            _("No opening.  Nobody sees.  A TIE, AND NOBODY GETS IT."),
        )
    opener = "" if game.auctioneer is None else who(snapshot, game.auctioneer)
    if facts.sealed(snapshot) is not None:
        return (
            _("SEALED."),
            _("Only {name} will see it.  Type again to change it while others think.").format(
                name=opener
            ),
        )
    limit = _("Any number but {amount}.").format(amount=short(game.opening or "0", 13))
    if game.phase == "rebid":
        others = [who(snapshot, seat) for seat in sorted(tied) if seat != you.seat]
        return (
            _("A TIE: BID AGAIN."),
            _("You tied with {names}.  {limit}  Lower is fine.").format(
                names=words.listed(others) or _("others"), limit=limit
            ),
        )
    zero = _("Zero: +2 VP") if facts.zero_scores(snapshot) else _("Zero: no VP")
    return (
        _("YOUR SECRET BID."),
        _("Only {name} will see it.  {limit}  {zero}").format(name=opener, limit=limit, zero=zero),
    )


def _watching(snapshot: Snapshot, game: qe.Game) -> tuple[str, str]:
    opener = "" if game.auctioneer is None else who(snapshot, game.auctioneer)
    loud = _("YOU ARE WATCHING.")
    if game.phase == "opening":
        return loud, _("{name} writes the opening bid, for all to see.").format(name=opener)
    if game.phase == "blind":
        return loud, _("All bid blind.  Nobody will see.  A tie, and nobody gets it.")
    if game.phase == "rebid":
        return loud, _("A tie!  Those who tied bid again.")
    return loud, _("Secret bids.  Only {name} will see them.").format(name=opener)


def _waiting_for_others(
    snapshot: Snapshot, game: qe.Game, you: qe.You, tied: frozenset[int]
) -> tuple[str, str]:
    sale = facts.award_on_show(game)
    if game.phase == "opening" and sale is not None:
        if sale.auctioneer == you.seat:
            return (
                _("FOR YOUR EYES ONLY."),
                _("The table heard: “{sentence}”").format(sentence=heard(snapshot, sale)),
            )
        return _("SOLD."), heard(snapshot, sale)
    opener = "" if game.auctioneer is None else who(snapshot, game.auctioneer)
    if game.phase == "opening":
        return _("WAIT."), _("{name} writes the opening bid, for all to see.").format(name=opener)
    if game.phase == "rebid":
        names = words.listed(
            [Who(snapshot, min(tied))] + [who(snapshot, s) for s in sorted(tied)[1:]]
        )
        if game.auctioneer == you.seat:
            return _("A TIE."), _("{names} bid again.  What the others bid stands.").format(
                names=names
            )
        return _("A TIE."), _("{names} bid again.  What you bid stands.").format(names=names)
    return (
        _("YOU OPENED."),
        _("The others bid in secret.  When all have, only you see it."),
    )


def heard(snapshot: Snapshot, sale: qe.Sale) -> str:
    """What the auctioneer said to the table."""
    if sale.winner is None:
        said = _("A tie: nobody gets it.")
    elif sale.winner == facts.me(snapshot):
        said = _("You buy it.")
    elif sale.price is not None and sale.winner == sale.auctioneer:
        said = _("{name} buys it for {amount}.").format(
            name=Who(snapshot, sale.winner), amount=short(sale.price, 20)
        )
    else:
        said = _("{name} buys it.").format(name=Who(snapshot, sale.winner))
    if sale.zeros:
        said += " " + _("{names} bid zero.").format(
            names=words.listed(
                [Who(snapshot, sale.zeros[0])] + [who(snapshot, seat) for seat in sale.zeros[1:]]
            )
        )
    return said


# --- Who is awaited -------------------------------------------------------------------------


def away(snapshot: Snapshot, seat: int) -> bool:
    """Whether the human of a seat is not there."""
    info = snapshot.room.seats[seat]
    return info.kind == "human" and not info.connected


def awaited(snapshot: Snapshot, now: float) -> str:
    """Who is still to act, with the time that is left, and who has."""
    game = snapshot.game
    if game is None or game.phase == "over":
        return ""
    left = facts.seconds_left(snapshot, now)
    clock = f", {words.clock(left)}" if left is not None else ""
    others = [seat for seat in game.waiting if seat != facts.me(snapshot)]
    mine = len(others) < len(game.waiting)
    names = [who(snapshot, seat) for seat in others]
    if game.phase == "opening":
        if mine:
            return _("the table waits for you{clock}").format(clock=clock)
        return _("{name} writes the opening bid{clock}").format(name="".join(names), clock=clock)
    if not others:
        return _("the table waits for you{clock}").format(clock=clock)
    text = _("{names} still to bid{clock}").format(names=words.listed(names), clock=clock)
    gone = [who(snapshot, seat) for seat in others if away(snapshot, seat)]
    if gone:
        text += "  " + _("({names} away)").format(names=words.listed(gone))
    return text


def now_word(snapshot: Snapshot, seat: int, tied: frozenset[int]) -> str:
    """One word for what a seat is doing."""
    game = snapshot.game
    if game is None or game.phase == "over":
        return ""
    waiting = seat in game.waiting
    info = snapshot.room.seats[seat]
    if info.released and info.kind == "stand_in":
        return _("left")
    if info.kind == "stand_in":
        return _("stand-in")
    if away(snapshot, seat):
        return _("AWAY")
    if seat == facts.me(snapshot) and waiting:
        return _("YOU")
    if game.phase == "opening":
        return _("opens") if seat == game.auctioneer else ""
    if seat == game.auctioneer:
        return _("opened")
    if waiting:
        return _("thinks")
    if game.phase == "rebid" and seat not in tied:
        return _("stands")
    return _("sealed")


# --- Header and footer ----------------------------------------------------------------------


def header(snapshot: Snapshot) -> tuple[list[str], list[str]]:
    """The parts of the first line, left and right."""
    game, room = snapshot.game, snapshot.room
    left: list[str] = []
    if game is not None and game.phase == "over":
        left.append(_("GAME OVER"))
        left.append(
            _("{players} players, {auctions} auctions").format(
                players=len(game.seats), auctions=game.auctions
            )
        )
    elif game is not None:
        left.append(_("auction {number}/{all}").format(number=game.auction, all=game.auctions))
        if game.phase == "blind":
            left.append(_("THE LAST TILE"))
            left.append(_("no auctioneer"))
        else:
            if game.round is not None:
                left.append(_("round {number}/{all}").format(number=game.round, all=game.rounds))
            if game.auctioneer is not None:
                left.append(_("auctioneer {name}").format(name=who(snapshot, game.auctioneer)))
    right = [_("table {code}").format(code=snapshot.table)]
    if room.spectators:
        right.append(
            ngettext("{count} watching", "{count} watching", room.spectators).format(
                count=room.spectators
            )
        )
    return left, right


def last_sale(snapshot: Snapshot) -> str:
    """The last award in a line."""
    game = snapshot.game
    if game is None or not game.history:
        return ""
    sale = game.history[-1]
    text = _("auction {number}, {tile}").format(number=sale.auction, tile=words.tile(sale.tile))
    if sale.winner is None:
        return text + " " + _("to nobody: a tie")
    text += " " + _("to {name}").format(name=who(snapshot, sale.winner))
    paid = facts.price(snapshot, sale)
    if paid is not None:
        text += " " + _("for {amount}").format(amount=grouped(paid, 24))
    seat = facts.me(snapshot)
    if seat is not None and sale.auctioneer == seat:
        text += " " + _("(you were auctioneer)")
    elif sale.auctioneer is not None:
        text += " " + _("({name} was auctioneer)").format(name=who(snapshot, sale.auctioneer))
    return text
