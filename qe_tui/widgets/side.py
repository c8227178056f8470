"""What larger screens show beside the table: the ledger in short, the auctions so far, the chat."""

from __future__ import annotations

from textual.content import Content

from protocol import qe
from protocol.messages import Said
from protocol.text import printable
from qe_tui import words
from qe_tui.amounts import short
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens import rules_help, table_words
from qe_tui.screens import table_facts as facts
from qe_tui.screens.table_facts import Sight
from qe_tui.widgets import ink

POINTS_ROWS = 9
"""In so few rows, or less, there is no ledger but what gives points."""


def ledger(sight: Sight, width: int, height: int) -> Content:
    """Who has spent how much as far as one knows, then the auctions, the newest first; or what
    gives points, where the whole ledger is on the screen besides, and at the end: no money is
    told here before the reveal has told it."""
    snapshot = sight.snapshot
    game = snapshot.game
    if game is None:
        return Content("")
    if game.result is not None or height <= POINTS_ROWS:
        return _points(len(game.seats), width, height)
    if sight.covered:
        return ink.rows([_heading(_("LEDGER"), width), Content(_("Covered.  Esc shows it."))])
    lines = [_heading(_("SPENT, AS FAR AS YOU KNOW"), width)]
    if snapshot.you is None:
        lines = [_heading(_("SPENT, AS FAR AS ALL KNOW"), width)]
    for seat, purse in enumerate(facts.purses(snapshot)):
        amount = short(purse.at_least, 12, floor=True)
        more = _("or more") if purse.hidden else ""
        lines.append(
            ink.text(
                (ink.left(table_words.Who(snapshot, seat), 12), "bold"),
                " ",
                ink.nation(game.seats[seat].nation),
                " ",
                ink.right(amount, 12),
                (" " + more, ink.QUIET),
            )
        )
    if height <= len(lines) + 2:
        return ink.rows(lines[:height])
    lines += [Content(""), _heading(_("AUCTIONS"), width)]
    for sale in reversed(game.history):
        lines += _sale(snapshot, sale, width)
    if not game.history:
        lines.append(Content.styled(_("Nothing is sold yet."), ink.QUIET))
    return ink.rows(lines[:height])


def _points(players: int, width: int, height: int) -> Content:
    lines = [_heading(_("POINTS WITH {players} PLAYERS").format(players=players), width)]
    for what, of, figures in rules_help.points(players):
        if figures or what == _("companies"):
            lines.append(ink.text((ink.left(what, 16), "bold"), ink.cut(figures or of, width - 16)))
    lines.append(Content(ink.cut(_("Who has spent most is out."), width)))
    return ink.rows(lines[:height])


def _heading(title: str, width: int) -> Content:
    return Content.styled(ink.left(title, width), ink.QUIET)


def _sale(snapshot: Snapshot, sale: qe.Sale, width: int) -> list[Content]:
    winner = _("nobody") if sale.winner is None else table_words.Who(snapshot, sale.winner)
    paid = facts.price(snapshot, sale)
    if paid is not None:
        amount = short(paid, 11)
    elif sale.winner is None:
        amount = "-"
    else:
        amount = ">" + short(facts.price_floor(snapshot, sale) - 1, 10, floor=True)
    first = ink.text(
        (f"{sale.auction:>2} ", ink.QUIET),
        (ink.left(words.tile(sale.tile), 9), "bold"),
        ink.left(winner, width - 24),
        " ",
        ink.right(amount, 11),
    )
    others = [
        f"{table_words.who(snapshot, seat)} {short(bid.amount, 9)}"
        for seat, bid in facts.standing(snapshot, sale.auction).items()
        if seat != sale.winner or paid is None
    ]
    if not others:
        return [first]
    return [first, Content.styled("   " + ink.cut("  ".join(others), width - 3), ink.QUIET)]


def chat(snapshot: Snapshot, width: int, height: int) -> Content:
    """What was said, the newest at the bottom."""
    lines: list[Content] = []
    for one in reversed(snapshot.said):
        message = ink.text((said_by(one) + ": ", "bold"), printable(one.text))
        lines[:0] = message.wrap(max(10, width))
        if len(lines) >= height:
            break
    if not lines:
        quiet = _("Nothing was said yet.")
        if snapshot.broker is not None:
            quiet = _("No chat through a broker.")
        lines = [Content.styled(quiet, ink.QUIET)]
    lines = lines[-height:]
    return ink.rows([Content("")] * (height - len(lines)) + lines)


def said_by(said: Said) -> str:
    """Whose words these are, fit to be shown in a line."""
    name = ink.cut(printable(said.name), 12) or _("somebody")
    return name if said.seat is not None else _("{name} (watching)").format(name=name)
