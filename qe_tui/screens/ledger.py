"""The ledger: every bid that its reader may know, by auction and seat; at the end, all of them."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from protocol import qe
from qe_tui import words
from qe_tui.amounts import short
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens import rules_help, table_words
from qe_tui.screens import table_facts as facts
from qe_tui.screens.table_facts import Known, Sight
from qe_tui.widgets import ink
from qe_tui.widgets.ink import Painted

_MARKS = {facts.OPENING: "o", "auctioneer": "a", "peek": "p", facts.TIED: "="}
_AUCTION = 15


class LedgerScreen(ModalScreen[bool | None]):
    """Dismissed with True where the table is to be covered."""

    CSS_PATH = "../styles/table.tcss"
    BINDINGS = [
        Binding("tab,b,q", "back", _("back"), priority=True),
        Binding("escape", "cover", _("back, covered"), priority=True),
        Binding("o", "order", _("order"), priority=True),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown,space", "scroll(10)", show=False),
    ]

    def __init__(self, sight: Sight) -> None:
        super().__init__()
        self._sight = sight
        self._newest_first = False

    def compose(self) -> ComposeResult:
        yield Painted(self._paint_title, id="ledger-title")
        yield Painted(lambda w, h: _columns(self._sight, w), id="ledger-columns")
        with VerticalScroll(id="ledger-rows", can_focus=False):
            yield Painted(lambda w, h: ink.rows(self._rows(w)), id="ledger-text")
        yield Painted(lambda w, h: _totals(self._sight, w), id="ledger-totals")
        yield Painted(self._paint_legend, id="ledger-legend")
        yield Painted(self._paint_keys, id="ledger-keys")

    def on_mount(self) -> None:
        self._measure()
        self.call_after_refresh(self._to_the_newest)

    def update_sight(self, sight: Sight) -> None:
        """Shows what became known meanwhile."""
        self._sight = sight
        if self.is_mounted:
            self._measure()
            for painted in self.query(Painted):
                painted.refresh()

    def _measure(self) -> None:
        self.query_one("#ledger-text").styles.height = max(1, len(self._rows(80)))

    def _to_the_newest(self) -> None:
        where = self.query_one("#ledger-rows", VerticalScroll)
        if self._newest_first:
            where.scroll_home(animate=False)
        else:
            where.scroll_end(animate=False)

    def _rows(self, width: int) -> list[Content]:
        game = self._sight.snapshot.game
        if game is None:
            return []
        if self._sight.covered:
            return [Content(" " + _("Covered.  Esc at the table uncovers it."))]
        sales = list(reversed(game.history)) if self._newest_first else game.history
        rows = [row for sale in sales for row in _sale(self._sight, sale, width)]
        return rows or [Content.styled(" " + _("Nothing is sold yet."), ink.QUIET)]

    def _paint_title(self, width: int, height: int) -> Content:
        snapshot = self._sight.snapshot
        over = snapshot.game is not None and snapshot.game.result is not None
        title = _("ALL BIDS, TURNED UP") if over else _("YOUR LEDGER")
        note = ""
        if not over and not snapshot.room.rules.get("notes", True):
            note = _("by memory: openings, open prices, and what you bought")
        elif not over and snapshot.you is None:
            title, note = _("THE LEDGER"), _("as far as everybody knows")
        elif not over:
            note = _("every bid that you have rightly seen")
        return ink.ends(
            Content.styled(" " + title, ink.MINE), Content.styled(note + " ", ink.QUIET), width
        )

    def _paint_legend(self, width: int, height: int) -> Content:
        return Content.styled(_legend(self._sight, width), ink.QUIET)

    def _paint_keys(self, width: int, height: int) -> Content:
        over = (
            self._sight.snapshot.game is not None and self._sight.snapshot.game.result is not None
        )
        back = "b" if over else "Tab"
        may_cover = not (over or self._sight.covered) and self._sight.snapshot.you is not None
        escape = _("cover everything") if may_cover else _("back")
        return ink.text(
            " ", (back, ink.KEY), " " + _("back"),
            "   ", ("o", ink.KEY), " " + (
                _("oldest first") if self._newest_first else _("newest first")),
            "   ", ("j k", ink.KEY), " " + _("scroll"),
            "   ", ("Esc", ink.KEY), " " + escape,
        )  # fmt: skip

    def action_back(self) -> None:
        if self.is_current:
            self.dismiss(None)

    def action_cover(self) -> None:
        if self.is_current:
            self.dismiss(self._sight.snapshot.you is not None or None)

    def action_order(self) -> None:
        self._newest_first = not self._newest_first
        self.update_sight(self._sight)
        self._to_the_newest()

    def action_scroll(self, rows: int) -> None:
        self.query_one("#ledger-rows").scroll_relative(y=rows, animate=False)


def newest(sight: Sight, width: int, height: int) -> Content:
    """As much of the ledger as there is room for below the boards, the newest auction first."""
    game = sight.snapshot.game
    if game is None or sight.covered or height < 5:
        return Content("")
    rows = [row for sale in reversed(game.history) for row in _sale(sight, sale, width)]
    if not rows:
        short_rules = Content("\n").join(map(Content, rules_help.in_short(len(game.seats))))
        heading = Content.styled(_("QE IN A MINUTE"), ink.QUIET)
        lines = [heading, *short_rules.wrap(width - 2)]
        return ink.rows(line.pad_left(1) for line in lines[:height])
    totals = _totals(sight, width)
    legend = Content.styled(_legend(sight, width), ink.QUIET)
    room = height - 3 - (totals.plain.count("\n") + 1)
    return ink.rows([_columns(sight, width), *rows[:room], Content(""), totals, legend])


def _legend(sight: Sight, width: int) -> str:
    """What the marks mean."""
    marks = [_("* bought"), _("o opening")]
    game = sight.snapshot.game
    if game is not None and game.result is None:
        if sight.snapshot.you is not None:
            marks.append(_("a as auctioneer"))
            if len(game.seats) == 5:
                marks.append(_("p peeked"))
            seat = sight.snapshot.you.seat
            if any(seat in tied for sale in game.history for tied in sale.ties):
                marks.append(_("= tied with you"))
        marks += [_("> more than"), _("? unknown")]
    return ink.fitting(width, *(" " + gap.join(marks) for gap in ("   ", "  ")))


def all_bids(sight: Sight, width: int) -> list[Content]:
    """The whole ledger, the oldest auction first, without its totals."""
    game = sight.snapshot.game
    sales = game.history if game is not None else []
    return [_columns(sight, width), *(row for sale in sales for row in _sale(sight, sale, width))]


# --- Rows -----------------------------------------------------------------------------------


def _cells(sight: Sight, width: int) -> int:
    """How wide a seat's column is."""
    return min(22, (width - _AUCTION - 1) // max(1, facts.players(sight.snapshot)))


def _columns(sight: Sight, width: int) -> Content:
    snapshot = sight.snapshot
    cells = _cells(sight, width)
    pieces: list[ink.Piece] = [(ink.left(" " + _("AUCTION"), _AUCTION), ink.QUIET)]
    for seat in range(facts.players(snapshot)):
        name = table_words.Who(snapshot, seat)
        style = ink.MINE if seat == facts.me(snapshot) else "bold"
        pieces.append((ink.right(name, cells - 2) + "  ", style))
    return ink.text(*pieces)


def _sale(sight: Sight, sale: qe.Sale, width: int) -> list[Content]:
    """An auction's rows: one for each time that was bid."""
    snapshot = sight.snapshot
    cells = _cells(sight, width)
    stages = facts.stages(snapshot, sale.auction)
    count = max(len(stages), facts.rebids(sale) + 1)
    rows: list[Content] = []
    for number in range(count):
        stage = stages[number] if number < len(stages) else {}
        if number == 0:
            lead = f"{sale.auction:>3} {words.tile(sale.tile)}"
        else:
            lead = "    " + _("re-bid {number}").format(number=number)
        pieces: list[ink.Piece] = [(ink.left(lead, _AUCTION), "" if number else "bold")]
        for seat in range(facts.players(snapshot)):
            pieces.append(_cell(snapshot, sale, seat, stage, number, cells))
        rows.append(ink.text(*pieces))
    return rows


def _cell(
    snapshot: Snapshot,
    sale: qe.Sale,
    seat: int,
    stage: facts.Stage,
    number: int,
    cells: int,
) -> Content:
    known = stage.get(seat)
    won = seat == sale.winner and number == facts.winning_stage(sale)
    bid_here = number == 0 or seat in sale.ties[number - 1]
    over = snapshot.game is not None and snapshot.game.result is not None
    mark = "*" if won else _mark(known, over)
    if known is not None:
        return _figure(short(known.amount, cells - 3), mark, won, cells)
    if not bid_here:
        return Content(" " * cells)
    if won and sale.price is not None:
        return _figure(short(sale.price, cells - 3), mark, won, cells)
    if won:
        floor = ">" + short(facts.price_floor(snapshot, sale) - 1, cells - 4, floor=True)
        return _figure(floor, mark, won, cells)
    if seat in sale.zeros:
        return _figure("0", " ", False, cells)
    return Content.styled(ink.right("?", cells - 2) + "  ", ink.FAINT)


def _mark(known: Known | None, over: bool) -> str:
    """Where a bid is known from; once all are turned up that says nothing any more."""
    if known is None or (over and known.source != facts.OPENING):
        return " "
    return _MARKS.get(known.source, " ")


def _figure(figure: str, mark: str, won: bool, cells: int) -> Content:
    return ink.text(
        (ink.right(figure, cells - 2), ink.MINE if won else ""),
        (mark, ink.MINE if won else ink.QUIET),
        " ",
    )


def _totals(sight: Sight, width: int) -> Content:
    """What each has spent: what is known, and what it is at least."""
    snapshot = sight.snapshot
    if sight.covered:
        return Content("")
    cells = _cells(sight, width)
    game = snapshot.game
    if game is not None and game.result is not None:
        spent = [ink.text((ink.left(" " + _("SPENT"), _AUCTION), ink.QUIET))]
        for line in game.result.seats:
            style = ink.BAD if line.eliminated else "bold"
            figure = ink.right(short(line.spent, cells - 3), cells - 2)
            spent.append(ink.text((figure + "  ", style)))
        return Content("").join(spent)
    known: list[ink.Piece] = [(ink.left(" " + _("known spent"), _AUCTION), ink.QUIET)]
    least: list[ink.Piece] = [(ink.left(" " + _("at least"), _AUCTION), ink.QUIET)]
    for purse in facts.purses(snapshot):
        known.append(ink.right(short(purse.known, cells - 3), cells - 2) + "  ")
        floor = short(purse.at_least, cells - 3, floor=True)
        least.append((ink.right(floor, cells - 2), "bold"))
        least.append(("+ " if purse.hidden else "  ", ink.WARN))
    if snapshot.you is None:
        return ink.text(*least)
    return ink.rows([ink.text(*known), ink.text(*least)])
