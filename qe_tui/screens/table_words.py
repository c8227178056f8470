"""The sentences of the table: what to do, who is awaited, what was heard. Plain text, no Textual.

Names in them are fit to be shown (`protocol.text.printable`), but not of any given width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from protocol import qe
from protocol.text import printable
from qe_tui import words
from qe_tui.amounts import short
from qe_tui.i18n import _, ngettext
from qe_tui.model import Snapshot
from qe_tui.screens import table_facts as facts
from qe_tui.screens.table_facts import Sight

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


Todo = tuple[str, Sequence[str]]
"""A few loud words, and the rest of it in wordings that get shorter: who sees it, what is not
allowed. Sentences are two spaces apart."""


def todo(sight: Sight) -> Todo:
    """The one line that says what to do."""
    snapshot, tied = sight.snapshot, sight.tied
    game, you = snapshot.game, snapshot.you
    if game is None:
        return "", [""]
    if game.phase == "over":
        return _("GAME OVER."), [""]
    if snapshot.lost is not None:
        return _("WAIT."), _lost_todo(snapshot)
    if you is None:
        return _watching(snapshot, game, tied)
    if you.may_bid is None:
        return _waiting_for_others(snapshot, game, you, tied)
    if game.phase == "opening":
        return _opening(sight)
    if facts.stands_unseen(snapshot):
        return _("A BID OF THIS SEAT IS SEALED,"), [
            _("by who sat here before.  Type to put yours in its place."),
            _("not yours.  Type to put yours in its place."),
        ]
    if game.phase == "blind":
        return _blind(sight)
    opener = "" if game.auctioneer is None else who(snapshot, game.auctioneer)
    if facts.sealed(snapshot) is not None:
        only = _("Only {name} will see it.").format(name=opener)
        change = _("Type to change it.")
        still = ngettext("{names} still thinks.", "{names} still think.", len(game.waiting)).format(
            names=listed(snapshot, game.waiting)
        )
        return _("SEALED."), [f"{only}  {still}  {change}", f"{only}  {change}", only]
    limit = _("Any number but {amount}.").format(amount=short(game.opening or "0", 13))
    shorter = _("Not {amount}.").format(amount=short(game.opening or "0", 13))
    if game.phase == "rebid":
        others = [seat for seat in sorted(tied) if seat != you.seat]
        with_names = _("You tied with {names}.").format(
            names=listed(snapshot, others) or _("others")
        )
        lower = _("Lower is fine.")
        wordings = [f"{with_names}  {limit}  {lower}", f"{with_names}  {shorter}  {lower}"]
        if len(others) > 1:
            count = _("You tied with {count} others.").format(count=len(others))
            wordings += [f"{count}  {limit}  {lower}", f"{count}  {shorter}  {lower}"]
        return _("A TIE: BID AGAIN."), wordings
    zero = _("Zero: +2 VP") if facts.zero_scores(snapshot) else _("Zero: no VP")
    only = _("Only {name} will see it.").format(name=opener)
    return _("YOUR SECRET BID."), [f"{only}  {limit}  {zero}", f"{only}  {shorter}  {zero}"]


def lost(snapshot: Snapshot) -> tuple[str, str, str]:
    """That the connection is away, why, and what becomes of it; without a loss empty."""
    if snapshot.lost is None:
        return "", "", ""
    seated = snapshot.room.me is not None
    then = _("Trying again; your seat is kept.") if seated else _("Trying again.")
    return _("CONNECTION LOST."), printable(snapshot.lost), then


def _lost_todo(snapshot: Snapshot) -> list[str]:
    if snapshot.you is not None and snapshot.you.may_bid is not None:
        return [_("Go on typing; Enter works when the host is back.")]
    return [_("This is how it stood when the connection went.")]


def _opening(sight: Sight) -> Todo:
    if not sight.reading:
        return _("YOU OPEN."), [_("Type an amount, at least 1.  Everybody sees it.")]
    return _("YOU OPEN."), [_("Type at least 1: your cheque comes up.  Everybody sees it.")]


def _blind(sight: Sight) -> Todo:
    tie = _("A TIE, AND NOBODY GETS IT.")
    if facts.sealed(sight.snapshot) is not None:
        return _("SEALED."), [_("Type again to change it.") + "  " + tie]
    return _("EVERYONE BIDS BLIND."), [_("No opening.  Nobody sees.") + "  " + tie]


def _watching(snapshot: Snapshot, game: qe.Game, tied: frozenset[int]) -> Todo:
    loud = _("YOU ARE WATCHING.")
    if game.phase == "opening":
        return loud, _writes_opening(snapshot, game)
    if game.phase == "blind":
        return loud, [_("All bid blind.") + "  " + _("A tie, and nobody gets it.")]
    if game.phase == "rebid":
        return loud, [
            _("A tie!  {names} bid again.").format(names=listed(snapshot, tied, start=True)),
            _("A tie!  Those who tied bid again."),
        ]
    opener = "" if game.auctioneer is None else who(snapshot, game.auctioneer)
    return loud, [_("Secret bids.  Only {name} will see them.").format(name=opener)]


def _writes_opening(snapshot: Snapshot, game: qe.Game) -> list[str]:
    """That an opening is awaited, and what may be done where its writer is not there."""
    seat = game.auctioneer
    if seat is None:
        return [""]
    name = Who(snapshot, seat)
    if not away(snapshot, seat):
        return [_("{name} writes the opening bid, for all to see.").format(name=name)]
    gone = _("{name} is away; the seat is kept.").format(name=name)
    if not snapshot.hosting:
        return [gone]
    if seat not in snapshot.long_away:
        later = _("After {seconds} s a computer may play.").format(
            seconds=snapshot.room.options.away_seconds
        )
        return [f"{gone}  {later}", gone]
    lets = _("F5 lets a computer play, F6 frees the seat.")
    away_only = _("{name} is away.").format(name=name)
    return [f"{gone}  {lets}", f"{away_only}  {lets}", gone]


def _waiting_for_others(
    snapshot: Snapshot, game: qe.Game, you: qe.You, tied: frozenset[int]
) -> Todo:
    sale = facts.award_on_show(game)
    if game.phase == "opening" and sale is not None:
        if sale.auctioneer == you.seat:
            return _("FOR YOUR EYES ONLY."), told(snapshot, sale)
        if game.auctioneer is None or not away(snapshot, game.auctioneer):
            return _("SOLD."), [heard(snapshot, sale)]
    if game.phase == "opening":
        return _("WAIT."), _writes_opening(snapshot, game)
    if game.phase == "rebid":
        again = _("{names} bid again.").format(names=listed(snapshot, tied, start=True))
        if game.auctioneer == you.seat:
            return _("A TIE."), [again + "  " + _("What the others bid stands."), again]
        return _("A TIE."), [again + "  " + _("What you bid stands."), again]
    return _("YOU OPENED."), [_("The others bid in secret.  When all have, only you see it.")]


def listed(snapshot: Snapshot, seats: Iterable[int], *, start: bool = False) -> str:
    """Seats as a sentence has them, or begins with them; the reader as `you`."""
    names = [
        (Who if start and not number else who)(snapshot, seat)
        for number, seat in enumerate(sorted(seats))
    ]
    return words.listed(names)


def heard(snapshot: Snapshot, sale: qe.Sale) -> str:
    """What became of an auction, for all to know."""
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
        said += "  " + _("{names} bid zero.").format(names=listed(snapshot, sale.zeros, start=True))
    return said


def told(snapshot: Snapshot, sale: qe.Sale) -> list[str]:
    """The same as the table heard it, where it is not about the reader; then without that."""
    sentence = heard(snapshot, sale)
    if facts.me(snapshot) in (sale.winner, *sale.zeros):
        return [sentence]
    quoted = _("The table heard: “{sentence}”").format(sentence=sentence.replace("  ", " "))
    return [quoted, sentence]


# --- Who is awaited -------------------------------------------------------------------------


def paused(snapshot: Snapshot) -> tuple[str, list[str]]:
    """That the table is paused, and how it goes on, in wordings that get shorter. Who has paused
    it nobody tells: the host's role may have gone on to somebody else since."""
    bids = _("Bids are still taken.")
    host = snapshot.room.host
    if snapshot.hosting:
        goes_on = _("F4 goes on.")
    elif host is None:
        return _("PAUSED."), [bids]
    elif away(snapshot, host):
        goes_on = _("{name}, the host, is away: soon another one is host.")
    else:
        goes_on = _("{name}, the host, goes on with it.")
    if host is not None:
        goes_on = goes_on.format(name=Who(snapshot, host))
    waits = _("Clocks and computers wait.")
    return _("PAUSED."), [f"{waits}  {bids}  {goes_on}", f"{bids}  {goes_on}", goes_on]


def away(snapshot: Snapshot, seat: int) -> bool:
    """Whether the human of a seat is not there."""
    info = snapshot.room.seats[seat]
    return info.kind == "human" and not info.connected


def awaited(snapshot: Snapshot, now: float) -> list[str]:
    """Who is still to act, with the time that is left, in wordings that get shorter."""
    game = snapshot.game
    if game is None or game.phase == "over":
        return [""]
    left = facts.seconds_left(snapshot, now)
    clock = f", {words.clock(left)}" if left is not None else ""
    if snapshot.room.paused:
        clock = _(" (paused)")
    others = [seat for seat in game.waiting if seat != facts.me(snapshot)]
    mine = len(others) < len(game.waiting)
    if not others and mine:
        return [_("the table waits for you{clock}").format(clock=clock)]
    names = listed(snapshot, others)
    gone = [seat for seat in others if away(snapshot, seat)]
    if game.phase == "opening":
        if gone:
            return [_("{name} is away{clock}").format(name=names, clock=clock)]
        return [
            _("{name} writes the opening bid{clock}").format(name=names, clock=clock),
            _("{name} opens{clock}").format(name=names, clock=clock),
        ]
    text = _("{names} still to bid{clock}").format(names=names, clock=clock)
    count = _("{count} still to bid{clock}").format(count=len(others), clock=clock)
    if gone:
        missing = "  " + _("({names} away)").format(names=listed(snapshot, gone))
        return [text + missing, text, count]
    return [text, count]


def tie(sight: Sight) -> list[str]:
    """For one who bids again: what was tied, and how often so far, in wordings that get
    shorter; nothing for everybody else."""
    game, own = sight.snapshot.game, facts.own_tied_bid(sight.snapshot)
    if game is None or own is None or sight.covered:
        return []
    number = _("tie {number} of 3").format(number=game.rebids)
    third = _("a third loses it") if game.rebids == 2 else _("the third loses it")
    both = _("you all bid {amount}") if len(sight.tied) > 2 else _("you both bid {amount}")
    tied = both.format(amount=short(own, 14))
    least = _("tied at {amount}").format(amount=short(own, 9))
    return [f"{tied}: {number}, {third}", f"{tied}: {number}", f"{least}: {number}", least]


def now_word(
    snapshot: Snapshot, seat: int, tied: frozenset[int], *, at_length: bool = False
) -> str:
    """One word for what a seat is doing; who plays in place of whom `at_length`."""
    game = snapshot.game
    if game is None or game.phase == "over":
        return ""
    waiting = seat in game.waiting
    info = snapshot.room.seats[seat]
    if info.kind == "stand_in" and info.released:
        return _("free, a computer plays") if at_length else _("free, comp.")
    if info.kind == "stand_in":
        return _("away, a computer plays") if at_length else _("computer")
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
    if snapshot.broker is not None:
        right = [_("{code} by broker").format(code=snapshot.table)]
    if room.spectators:
        right.append(
            ngettext("{count} watching", "{count} watching", room.spectators).format(
                count=room.spectators
            )
        )
    return left, right


def last_sale(snapshot: Snapshot) -> list[str]:
    """The last award in a line, in wordings that get shorter; nothing before the first."""
    game = snapshot.game
    if game is None or not game.history:
        return []
    sale = game.history[-1]
    text = _("auction {number}, {tile}").format(number=sale.auction, tile=words.tile(sale.tile))
    if sale.winner is None:
        return [text + " " + _("to nobody: a tie")]
    text += " " + _("to {name}").format(name=who(snapshot, sale.winner))
    paid = facts.price(snapshot, sale)
    if paid is not None:
        text += " " + _("for {amount}").format(amount=short(paid, 20))
    seat = facts.me(snapshot)
    if seat is not None and sale.auctioneer == seat:
        return [text + " " + _("(you were auctioneer)"), text]
    if sale.auctioneer is None:
        return [text]
    name = who(snapshot, sale.auctioneer)
    return [text + " " + _("({name} was auctioneer)").format(name=name), text]
