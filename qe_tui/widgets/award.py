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
    said = table_words.heard(sight.snapshot, sale)
    if said not in table_words.todo(sight)[1]:
        # The line at the top has something else to say.
        told = ink.fitting(width - 3, *table_words.told(sight.snapshot, sale))
        body.insert(0, _row(told, width, "bold"))
    return _fit(_title(sight, sale, width), body, foot, height)


def _row(text: str, width: int, style: str = "") -> Content:
    return Content.styled("   " + ink.cut(text, width - 3), style)


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
    start = _lot(sale.auction, sale.tile)
    if sale.winner is None:
        return ink.ends(start, Content.styled(_("goes to nobody") + " ", "bold"), width)
    name = words.name(sight.snapshot.room, sale.winner)
    if sale.winner == facts.me(sight.snapshot):
        name = _("you")
    name = name.upper()
    spaced = name if len(name) > 8 else " ".join(name)
    end = ink.text(
        (_("goes to") + "   ", ink.QUIET),
        (ink.cut(spaced, 24), ink.MINE),
        "  ",
        ink.nation(sight.snapshot.game.seats[sale.winner].nation) if sight.snapshot.game else "",
        " ",
    )
    if start.cell_length + end.cell_length + 2 > width:
        start = _lot(None, sale.tile)
    return ink.ends(start, end, width)


def _lot(auction: int | None, tile: qe.Tile) -> Content:
    number = "" if auction is None else _("auction {number}").format(number=auction) + "  "
    return ink.text(
        "   ",
        (number, ink.QUIET),
        ink.nation(tile.nation),
        " ",
        (words.industry(tile.industry).upper(), "bold"),
        ("   " + _("{value} VP").format(value=tile.value), ink.MINE),
    )


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
    comment = ink.fitting(width - 3, *_comment(snapshot, sale, bids))
    return body, [_row(comment, width), _who_knows(snapshot, sale, width)]


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
        scored = facts.zero_scored(game, sale, seat)
        note = _("zero bid, +2 VP") if scored else _("zero bid, no VP: one a round")
    if sale is None and bid.amount == 0:
        note = _("zero, stands")
    if sale is None and seat in sight.tied:
        note, style = _("TIED, bids again"), ink.MINE
    if sale is not None and len(sale.ties) == 3 and seat in sale.ties[-1]:
        note = _("tied, out")
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


def _comment(snapshot: Snapshot, sale: qe.Sale, bids: dict[int, Known]) -> list[str]:
    """How the highest bids compare, in wordings that get shorter."""
    if sale.winner is None or sale.winner not in bids:
        return [""]
    paid = bids[sale.winner].amount
    name = table_words.Who(snapshot, sale.winner)
    others = sorted(
        (seat for seat in bids if seat != sale.winner), key=lambda seat: -bids[seat].amount
    )
    if not others:
        return [""]
    second = others[0]
    by = short(abs(paid - bids[second].amount), 20)
    other = table_words.who(snapshot, second)
    opening = int(sale.opening or "0")
    if len(sale.ties) == 3:
        out = _("Third tie: {names} out at {amount}").format(
            names=table_words.listed(snapshot, sale.ties[-1]),
            amount=short(bids[sale.ties[-1][0]].amount, 14),
        )
        wins = _("; {amount} is the highest bid of one alone.").format(amount=short(paid, 14))
        return [out + wins, out + ".", _("Third tie: the highest bid of one alone wins.")]
    if sale.winner == sale.auctioneer:
        kept = _("{name} kept it: nobody bid more.").format(name=name)
        below = _("Next was {other}, {by} below.").format(other=other, by=by)
        return [kept + "  " + below, kept]
    by_much = _("{name} topped {other} by {by}.").format(name=name, other=other, by=by)
    if opening and paid >= opening * 11 // 10:
        over = _("{name} topped your opening {times} times over").format(
            name=name, times=_times(paid, opening)
        )
        beside = _(", and {other} by {by}.").format(other=other, by=by)
        return [over + beside, over + "."]
    return [by_much]


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
        body.append(_row(_("{name} is looking at the cheques.").format(name=name), width))
        opening = grouped(sale.opening or "0", width - 30)
        opened = _("{name} opened at {amount}.").format(name=name, amount=opening)
        body.append(_row(opened, width, ink.QUIET))
    foot: list[Content] = []
    if seat is not None and not sight.covered:
        own = facts.standing(snapshot, sale.auction).get(seat)
        if own is not None and own.source == "own":
            amount = grouped(own.amount, 30)
            said = _("Your bid was {amount}.").format(amount=amount)
            if seat == sale.winner:
                said = _("You pay {amount}.").format(amount=amount)
            if sight.inherited == sale.auction:
                said = _("The bid of your seat was {amount}, sealed before you came.").format(
                    amount=amount
                )
                if seat == sale.winner:
                    said = _("You pay {amount}: sealed before you came.").format(amount=amount)
            body.append(_row(said, width, "bold" if seat == sale.winner else ""))
    if sale.price is not None and sale.winner == sale.auctioneer:
        paid = grouped(sale.price, 30)
        kept = _("The auctioneer kept it, so all know the price: {amount}.").format(amount=paid)
        foot.append(_row(kept, width))
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
        third = len(sale.ties) == 3
        said = ink.fitting(width - 3, *_ties(snapshot, sale))
        foot.insert(0, _row(said, width, "bold" if third else ink.QUIET))
    peeked = _peeked(sight, sale, width)
    if peeked is not None:
        foot.append(peeked)
    return body, foot


def _ties(snapshot: Snapshot, sale: qe.Sale) -> list[str]:
    """Who tied, and what came of it, in wordings that get shorter."""
    times = len(sale.ties)
    if times == 3:
        out = table_words.listed(snapshot, sale.ties[-1])
        return [
            _("The third tie: {names} cancel out; the highest bid of one alone wins.").format(
                names=out
            ),
            _("The third tie: the highest bid that one player alone made wins."),
        ]
    names = table_words.listed(snapshot, sale.ties[0], start=True)
    tied = _("{names} tied").format(names=names)
    again = ngettext(" and bid again.", " first; {count} ties in all.", times).format(count=times)
    return [tied + again, ngettext("A tie broken.", "{count} ties.", times).format(count=times)]


def _peeked(sight: Sight, sale: qe.Sale, width: int) -> Content | None:
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
            saw = Content.styled(
                "   " + _("You peeked: {amount}.").format(amount=grouped(paid, 30)), ink.MINE
            )
            hidden = "  " + _("That you looked is known, what you saw is not.")
            fits = saw.cell_length + cell_len(hidden) <= width
            return ink.text(saw, (hidden if fits else "", ink.QUIET))
    return None


# --- A tie ----------------------------------------------------------------------------------


def _tie(sight: Sight, game: qe.Game, width: int, height: int) -> Content:
    """The auctioneer's view of the bids while those who tied bid again."""
    snapshot = sight.snapshot
    if game.tile is None:
        return Content("")
    title = ink.ends(
        _lot(game.auction, game.tile),
        Content.styled(_("tie {number} of 3").format(number=game.rebids) + " ", "bold"),
        width,
    )
    bids = facts.standing(snapshot, game.auction)
    if sight.covered:
        return ink.rows([title, Content(""), Content(" " + _("Covered.  Esc shows it."))])
    order = sorted(bids, key=lambda seat: -bids[seat].amount)
    body = [_bar(sight, None, seat, bids, width) for seat in order]
    foot = [_row(_("Only they and you know the amount that they tied at."), width, ink.QUIET)]
    return _fit(title, body, foot, height)
