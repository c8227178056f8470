"""What stands between an auction and the next opening: who bought, and what the reader saw."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from protocol import qe
from qe_tui import words
from qe_tui.amounts import grouped, magnitude, short
from qe_tui.i18n import _, ngettext
from qe_tui.model import Snapshot
from qe_tui.screens import table_facts as facts
from qe_tui.screens import table_words
from qe_tui.screens.table_facts import Known, Sight
from qe_tui.widgets import ink

_AMOUNT = 18


def paint(sight: Sight, width: int, height: int) -> Content:
    """The award on show; during a re-bid its auctioneer's view of what was bid so far."""
    game = sight.snapshot.game
    if game is None:
        return Content("")
    sale = facts.award_on_show(game)
    if sale is None:
        return _tie(sight, game, width, height)
    if sale.auctioneer is not None and sale.auctioneer == facts.me(sight.snapshot):
        body, foot = _as_auctioneer(sight, sale, width, height)
    else:
        body, foot = _as_others(sight, sale, width)
    if sight.snapshot.you is None or sight.snapshot.you.may_bid is not None:
        # The line at the top has something else to say to them.
        told = _("The table heard: “{sentence}”").format(
            sentence=table_words.heard(sight.snapshot, sale)
        )
        body.insert(0, Content("   " + ink.cut(told, width - 3)))
    return _fit(_title(sight, sale, width), body, foot, height)


def _fit(title: Content, body: list[Content], foot: list[Content], height: int) -> Content:
    """Air between the parts where there is room for it."""
    spare = height - 1 - len(body) - len(foot)
    lines = [title]
    if spare > 0:
        lines.append(Content(""))
    lines += body
    if spare > 1:
        lines.append(Content(""))
    lines += foot
    return ink.rows(lines[:height])


def _title(sight: Sight, sale: qe.Sale, width: int) -> Content:
    tile = sale.tile
    start = ink.text(
        " ",
        ink.nation(tile.nation),
        " ",
        (words.industry(tile.industry).upper(), "bold"),
        ("   " + _("{value} VP").format(value=tile.value), ink.MINE),
    )
    if sale.winner is None:
        return ink.ends(start, Content.styled(_("goes to nobody") + " ", "bold"), width)
    name = words.name(sight.snapshot.room, sale.winner).upper()
    spaced = name if len(name) > 8 else " ".join(name)
    end = ink.text(
        (_("goes to") + "   ", ink.QUIET),
        (ink.cut(spaced, 24), ink.MINE),
        "  ",
        ink.nation(sight.snapshot.game.seats[sale.winner].nation) if sight.snapshot.game else "",
        " ",
    )
    return ink.ends(start, end, width)


# --- For the eyes of its auctioneer ---------------------------------------------------------


def _as_auctioneer(
    sight: Sight, sale: qe.Sale, width: int, height: int
) -> tuple[list[Content], list[Content]]:
    snapshot = sight.snapshot
    bids = facts.standing(snapshot, sale.auction)
    if sight.covered:
        return [], [Content(" " + _("Covered.  Esc shows what only you may see."))]
    order = sorted(bids, key=lambda seat: (-bids[seat].amount, seat != sale.winner))
    body = [_bar(sight, sale, seat, bids, width) for seat in order]
    return body, [_comment(snapshot, sale, bids), _who_knows(snapshot, sale, width)]


def _bar(
    sight: Sight, sale: qe.Sale | None, seat: int, bids: dict[int, Known], width: int
) -> Content:
    """A bid and its bar, on a log scale: every step of the same length is as many times more."""
    snapshot = sight.snapshot
    game = snapshot.game
    assert game is not None
    bid = bids[seat]
    note, style = "", ink.QUIET
    if bid.source == facts.OPENING:
        note = _("opening")
    if sale is not None and seat in sale.zeros:
        note = _("zero bid, +2 VP")
    if sale is None and seat in sight.tied:
        note, style = _("TIED, bids again"), ink.MINE
    if sale is not None and seat == sale.winner:
        note, style = _("WINS"), ink.MINE
    name = table_words.Who(snapshot, seat)
    lead = ink.text(
        "   ",
        (ink.left(name, 12), "bold" if style != ink.MINE else ink.MINE),
        " ",
        ink.nation(game.seats[seat].nation),
        (ink.right(grouped(bid.amount, _AMOUNT), _AMOUNT + 1), "bold"),
        "  ",
    )
    room = max(4, width - lead.cell_length - 18)
    most = max(magnitude(other.amount) for other in bids.values()) or 1.0
    length = round(room * magnitude(bid.amount) / most)
    return ink.text(
        lead,
        ("█" * length, style if style == ink.MINE else "$primary"),
        "  " if length else "",
        (note, style),
    )


def _comment(snapshot: Snapshot, sale: qe.Sale, bids: dict[int, Known]) -> Content:
    """How the highest bids compare."""
    if sale.winner is None or sale.winner not in bids:
        return Content("")
    paid = bids[sale.winner].amount
    name = table_words.Who(snapshot, sale.winner)
    others = sorted(
        (seat for seat in bids if seat != sale.winner), key=lambda seat: -bids[seat].amount
    )
    if not others:
        return Content("")
    second = others[0]
    by = grouped(abs(paid - bids[second].amount), 22)
    opening = int(sale.opening or "0")
    if sale.winner == sale.auctioneer:
        text = _("{name} kept it: nobody bid more.  Next was {other}, {by} below.").format(
            name=name, other=table_words.who(snapshot, second), by=by
        )
    elif bids[second].amount >= paid:
        text = _("The third tie: the highest bid that only one player made wins.")
    elif opening and paid >= opening * 11 // 10:
        text = _("{name} topped your opening {times} times over, and {other} by {by}.").format(
            name=name, times=_times(paid, opening), other=table_words.who(snapshot, second), by=by
        )
    else:
        text = _("{name} topped {other} by {by}.").format(
            name=name, other=table_words.who(snapshot, second), by=by
        )
    return Content("   " + text)


def _times(much: int, little: int) -> str:
    """How many times over: one decimal place while that says something."""
    tenths = much * 10 // little
    return f"{tenths // 10}.{tenths % 10}" if tenths < 1000 else short(much // little, 9)


def _who_knows(snapshot: Snapshot, sale: qe.Sale, width: int) -> Content:
    kept = _("In your ledger.") if snapshot.room.rules.get("notes", True) else ""
    if sale.winner is None or sale.winner == sale.auctioneer:
        told = _("The price is known to all; the other bids only to you.")
    else:
        told = _("Only you and {name} know the price, and only you the rest.").format(
            name=table_words.who(snapshot, sale.winner)
        )
    line = f"   {kept}  {told}" if kept else f"   {told}"
    return Content.styled(line if cell_len(line) <= width else f"   {told}", ink.QUIET)


# --- For everybody else ---------------------------------------------------------------------


def _as_others(sight: Sight, sale: qe.Sale, width: int) -> tuple[list[Content], list[Content]]:
    snapshot = sight.snapshot
    seat = facts.me(snapshot)
    body: list[Content] = []
    if sale.auctioneer is not None:
        name = table_words.Who(snapshot, sale.auctioneer)
        body.append(
            Content.styled("   " + _("{name} is looking at the cheques.").format(name=name))
        )
        opening = grouped(sale.opening or "0", 40)
        body.append(
            ink.text(
                "   ", (_("{name} had opened at").format(name=name), ink.QUIET), f"  {opening}"
            )
        )
    foot: list[Content] = []
    if seat is not None and not sight.covered:
        own = facts.standing(snapshot, sale.auction).get(seat)
        if own is not None and own.source == "own":
            said = _("Your bid was {amount}.").format(amount=grouped(own.amount, 30))
            if seat == sale.winner:
                said = _("You pay {amount}.").format(amount=grouped(own.amount, 30))
            body.append(Content("   " + said))
    if sale.price is not None and sale.winner == sale.auctioneer:
        foot.append(Content("   " + _("The auctioneer kept it, so the price is open.")))
    elif seat is not None and seat == sale.winner and sale.auctioneer is not None:
        foot.append(
            Content.styled(
                "   "
                + _("Only you and {name} know what you paid.").format(
                    name=table_words.who(snapshot, sale.auctioneer)
                ),
                ink.QUIET,
            )
        )
    elif seat is not None and not sight.covered and facts.price(snapshot, sale) is None:
        floor = grouped(facts.price_floor(snapshot, sale), 30)
        foot.append(
            Content.styled(
                "   " + _("The price was {amount} or more.").format(amount=floor), ink.QUIET
            )
        )
    if sale.ties:
        foot.append(Content.styled("   " + _ties(snapshot, sale), ink.QUIET))
    peeked = _peeked(sight, sale)
    if peeked is not None:
        foot.append(peeked)
    return body, foot


def _ties(snapshot: Snapshot, sale: qe.Sale) -> str:
    times = len(sale.ties)
    names = words.listed([table_words.who(snapshot, seat) for seat in sale.ties[0]])
    return ngettext(
        "{names} tied and bid again.", "{names} tied first; {count} ties in all.", times
    ).format(names=names[:1].upper() + names[1:], count=times)


def _peeked(sight: Sight, sale: qe.Sale) -> Content | None:
    """What the reader's own peek showed, or that it may be made."""
    snapshot = sight.snapshot
    game, you = snapshot.game, snapshot.you
    if game is None or you is None:
        return None
    if you.may_peek == sale.auction:
        return ink.text("   ", (" F2 ", ink.BADGE), " " + _("peeks at the price, once a game."))
    if game.seats[you.seat].peeked == sale.auction and not sight.covered:
        paid = facts.price(snapshot, sale)
        if paid is not None:
            return ink.text(
                "   ",
                (_("You peeked: {amount}.").format(amount=grouped(paid, 30)), ink.MINE),
                (" " + _("That you looked is known, what you saw is not."), ink.QUIET),
            )
    return None


# --- A tie ----------------------------------------------------------------------------------


def _tie(sight: Sight, game: qe.Game, width: int, height: int) -> Content:
    """The auctioneer's view of the bids while those who tied bid again."""
    snapshot = sight.snapshot
    if game.tile is None:
        return Content("")
    title = ink.ends(
        ink.text(
            " ",
            ink.nation(game.tile.nation),
            " ",
            (words.industry(game.tile.industry).upper(), "bold"),
            ("   " + _("{value} VP").format(value=game.tile.value), ink.MINE),
        ),
        Content.styled(_("tie {number} of 3").format(number=game.rebids) + " ", "bold"),
        width,
    )
    bids = facts.standing(snapshot, game.auction)
    if sight.covered:
        return ink.rows([title, Content(""), Content(" " + _("Covered.  Esc shows it."))])
    order = sorted(bids, key=lambda seat: -bids[seat].amount)
    body = [_bar(sight, None, seat, bids, width) for seat in order]
    foot = [
        Content.styled("   " + _("The tied know each other's amount, nobody else does."), ink.QUIET)
    ]
    return _fit(title, body, foot, height)
