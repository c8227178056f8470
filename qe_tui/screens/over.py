"""The end: who won, who printed most, the score sheet, and the reveal before it."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer

from protocol import qe
from qe_tui import words
from qe_tui.amounts import short
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens import table_facts as facts
from qe_tui.screens import table_fairness as fairness
from qe_tui.screens import table_words
from qe_tui.screens.ledger import all_bids
from qe_tui.screens.reveal import STAMP, printed_most, reveal
from qe_tui.screens.table_facts import Sight
from qe_tui.widgets import ink
from qe_tui.widgets.ink import Painted


class OverPanel(Vertical):
    """The end of a game, in the place of the table's play."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(id="over")
        self._now = now
        self._sight: Sight | None = None
        self._shown_for: str | None = None
        self._revealing = False
        self._said = ""
        self._frames: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Painted(self._paint, id="over-sheet")

    def on_mount(self) -> None:
        self._frames = self.set_interval(1 / 15, self._tick, pause=not self._revealing)

    def show(self, sight: Sight) -> None:
        """Shows the end; the first time a young one is seen, the reveal runs before it."""
        self._sight = sight
        game = sight.snapshot.game
        if game is None or game.result is None:
            return
        if self._shown_for != game.commitment:
            self._shown_for = game.commitment
            self._said = ""
            self._revealing = self.app.animation_level != "none" and self._age() < STAMP
            if self._revealing and self._frames is not None:
                self._frames.resume()
        self.refresh_sheet()

    def say(self, sentence: str) -> None:
        """A sentence below the sheet."""
        self._said = sentence
        self.refresh_sheet()

    def skip(self) -> bool:
        """Ends the reveal on this screen; whether one was running."""
        was, self._revealing = self._revealing, False
        if was:
            self._still()
            self.refresh_sheet()
        return was

    def refresh_sheet(self) -> None:
        """Paints again."""
        if self.is_mounted:
            self.query_one("#over-sheet").refresh()

    def _age(self) -> float:
        """Seconds since the end, the same on all screens: by the host's clock."""
        if self._sight is None:
            return STAMP
        snapshot = self._sight.snapshot
        return self._now() + (snapshot.clock - snapshot.room.since) / 1000

    def _tick(self) -> None:
        if self._revealing:
            if self._age() >= STAMP:
                self._revealing = False
                self._still()
            self.refresh_sheet()

    def _still(self) -> None:
        if self._frames is not None:
            self._frames.pause()

    def _paint(self, width: int, height: int) -> Content:
        sight = self._sight
        game = sight.snapshot.game if sight is not None else None
        if sight is None or game is None or game.result is None:
            return Content("")
        if self._revealing:
            return reveal(sight.snapshot, game.result, max(0.0, self._age()), width, height)
        return _sheet(sight.snapshot, game, game.result, self._said, self._now(), width, height)


# --- The score sheet ------------------------------------------------------------------------


def _sheet(
    snapshot: Snapshot,
    game: qe.Game,
    result: qe.Result,
    said: str,
    now: float,
    width: int,
    height: int,
) -> Content:
    table = _table(snapshot, game, result, width)
    loud = ink.middle(Content.styled(winners(snapshot, game, result, width), ink.MINE), width)
    printed = ink.cut(printed_most(snapshot, result), width - 2)
    out = ink.middle(Content.styled(printed, ink.BAD), width)
    foot = [
        _cheque_that_did_it(snapshot, game, result, width),
        _what_you_knew(snapshot, game, result, width),
        _next(snapshot, said, now, width),
    ]
    lines = [loud, out, *table, *foot]
    spare = height - len(lines)
    # Where there is room for it, every bid at once.
    bids = all_bids(Sight(snapshot), width)
    if spare >= len(bids) + 3:
        bids.insert(0, Content(""))
        spare -= len(bids)
    else:
        bids = []
    # Air, in the order in which it does most good.
    for place in (1, 0, len(table) + 4, 2 + 2):
        if spare <= 0:
            break
        lines.insert(place, Content(""))
        spare -= 1
    if not bids and height > 26:
        lines[0:0] = [Content("")] * min(4, spare // 3)
    return ink.rows([*lines, *bids][:height])


def winners(snapshot: Snapshot, game: qe.Game, result: qe.Result, width: int) -> str:
    """Who won, in spaced letters where there is room for them."""
    by_seat = {line.seat: line for line in result.seats}
    if not result.winners:
        text = _("NOBODY WINS: ALL SPENT THE SAME")
    else:
        me = facts.me(snapshot)
        shown = {seat: ink.cut(words.name(snapshot.room, seat), 20) for seat in result.winners}
        names = [
            _("YOU") if seat == me else f"{name.upper()} ({game.seats[seat].nation})"
            for seat, name in shown.items()
        ]
        total = by_seat[result.winners[0]].total
        if result.winners == [me]:
            text = _("YOU WIN WITH {total} VP").format(total=total)
        elif len(names) == 1:
            text = _("{name} WINS WITH {total} VP").format(name=names[0], total=total)
        else:
            text = _("{names} SHARE IT WITH {total} VP").format(
                names=" & ".join(names), total=total
            )
    spaced = " ".join(text)
    return spaced if cell_len(spaced) <= width - 4 else ink.cut(text, width - 2)


def _table(snapshot: Snapshot, game: qe.Game, result: qe.Result, width: int) -> list[Content]:
    """The score sheet, a column for each seat, the best first."""
    order = sorted(result.seats, key=lambda line: (line.rank is None, line.rank or 0, -line.total))
    cells = min(20, (width - 19 - 1) // len(order))
    margin = max(0, (width - 19 - cells * len(order)) // 2)
    best = {line.seat for line in order if line.rank == 1}

    def row(title: str, figures: list[str], style: str = "", loud: str = "") -> Content:
        pieces: list[ink.Piece] = [
            " " * margin,
            (ink.left("  " + title, 19), style or ink.QUIET),
        ]
        for line, figure in zip(order, figures, strict=True):
            shown = style
            if loud:
                shown = ink.MINE if line.seat in best else ink.BAD if line.eliminated else style
            pieces.append((ink.right(figure, cells), shown))
        return ink.text(*pieces)

    def points(values: list[int]) -> list[str]:
        return [str(value) if value else "-" for value in values]

    heads = [
        f"{ink.cut(table_words.Who(snapshot, line.seat), cells - 4)} {game.seats[line.seat].nation}"
        for line in order
    ]
    totals = [
        f"{line.total} {_('OUT') if line.rank is None else _place(line.rank)}" for line in order
    ]
    industries = [
        name if len(name := words.industry(line.industry)) < cells else name[: cells - 2] + "."
        for line in order
    ]
    rule = Content.styled("─" * width, "$border-blurred")
    rows = [
        rule,
        row("", heads, "bold", "yes"),
        row(_("companies"), points([line.companies for line in order])),
    ]
    if len(order) > 3:
        rows.append(row(_("zero bids"), points([line.zero_bids for line in order])))
    rows += [
        row(_("nationalization"), points([line.nationalization for line in order])),
        row(_("monopolization"), points([line.monopolization for line in order])),
        row(_("diversification"), points([line.diversification for line in order])),
        row(_("least spent"), points([line.least_spent for line in order])),
        row(_("TOTAL"), totals, "bold", "yes"),
        row(_("token"), industries),
        row(_("SPENT"), [short(line.spent, cells - 2) for line in order], "bold", "yes"),
        rule,
    ]
    return rows


def _place(rank: int) -> str:
    return (_("1st"), _("2nd"), _("3rd"), _("4th"), _("5th"))[rank - 1]


def _cheque_that_did_it(
    snapshot: Snapshot, game: qe.Game, result: qe.Result, width: int
) -> Content:
    """The dearest cheque of whoever is out."""
    out = {line.seat for line in result.seats if line.eliminated}
    if len(out) == len(result.seats):
        return Content("")
    bought = [sale for sale in game.history if sale.winner in out and sale.price is not None]
    if not bought:
        return Content("")
    sale = max(bought, key=lambda sale: int(sale.price or "0"))
    assert sale.winner is not None
    bids = facts.standing(snapshot, sale.auction)
    others = [bid.amount for seat, bid in bids.items() if seat != sale.winner]
    name, tile = table_words.who(snapshot, sale.winner), words.tile(sale.tile)
    start = _("The cheque that did it: ")
    told = _("auction {number}, {tile}, {name} paid {amount}")
    wordings = []
    for cells in (14, 9):
        paid = told.format(
            number=sale.auction, tile=tile, name=name, amount=short(sale.price or "0", cells)
        )
        if others:
            beside = "; " + _("next was {amount}").format(amount=short(max(others), cells))
            wordings.append(start + paid + beside)
        wordings.append(start + paid)
    return Content(" " + ink.fitting(width - 1, *wordings))


def _what_you_knew(snapshot: Snapshot, game: qe.Game, result: qe.Result, width: int) -> Content:
    """What the reader knew of the biggest spender; and whether the deal was honest."""
    honest, verdict = fairness.verdict(snapshot)
    check = Content.styled(verdict + " ", ink.QUIET if honest else ink.BAD)
    out = [line for line in result.seats if line.eliminated]
    seat = facts.me(snapshot)
    text = ""
    if seat is not None and out and out[0].seat != seat:
        known = facts.before_the_end(snapshot, out[0].seat)
        told = _("You knew of {known} that {name} had spent.  It was {spent}.")
        name = table_words.who(snapshot, out[0].seat)
        text = ink.fitting(
            width - check.cell_length - 3,
            *(
                told.format(known=short(known, cells), name=name, spent=short(out[0].spent, cells))
                for cells in (11, 9, 7)
            ),
            _("You knew of {known} of it.").format(known=short(known, 9)),
        )
    if not text:
        return check.pad_left(1)
    return ink.ends(Content(" " + text), check, width)


def _next_at_standing(snapshot: Snapshot, now: float, width: int) -> Content:
    """When the lobby reopens, and who is in."""
    left = facts.seconds_left(snapshot, now)
    start = _("NEXT GAME in {time}").format(time=words.clock(left or 0.0))
    seats = []
    for info in snapshot.room.seats:
        if info.released:
            continue
        stays = info.kind == "bot" or info.keeps
        word = _("in") if stays else _("away") if not info.connected else "?"
        seats.append(f"{table_words.Who(snapshot, info.seat)} {word}")
    me = facts.me(snapshot)
    hint = ""
    if me is not None and not snapshot.room.seats[me].keeps:
        hint = "   " + _("p keeps your place")
    line = f" {start}{hint}   " + "   ".join(seats)
    return Content.styled(ink.cut(line, width), "bold")


def _next(snapshot: Snapshot, said: str, now: float, width: int) -> Content:
    """How to play again, or what was just done."""
    if said:
        return Content.styled(" " + ink.cut_start(said, width - 1), ink.GOOD)
    room = snapshot.room
    if room.standing:
        return _next_at_standing(snapshot, now, width)
    if snapshot.hosting:
        text = _("Another game?  p opens the lobby, everybody where they were.")
    elif room.host is not None:
        text = _("Another game?  {name} decides, as the table's host.").format(
            name=table_words.who(snapshot, room.host)
        )
    else:
        text = ""
    return Content.styled(" " + ink.cut(text, width - 1), "bold")
