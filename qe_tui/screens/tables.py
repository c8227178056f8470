"""The tables at a host, to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from protocol.errors import QEError
from protocol.messages import TableInfo
from protocol.text import printable
from qe_tui.i18n import _
from qe_tui.screens.parts import Banner, Headline, Picks, TopLine, key_line
from qe_tui.visit import Visit
from qe_tui.work import work

if TYPE_CHECKING:
    from qe_tui.app import QEApp

REFRESH = 2.0
"""Seconds between two looks at the host's tables."""

Chosen = tuple[str, str]
"""What to do (`join`, `watch`, `create`, `back`) and at which table."""


class TablesScreen(Screen[Chosen]):
    """Dismissed with what to do, and at which table."""

    BINDINGS = [
        Binding("w", "take('watch')", _("Watch")),
        Binding("c", "create", _("Create a table")),
        Binding("escape", "back", _("Back")),
    ]
    app: QEApp

    def __init__(self, visit: Visit, tables: list[TableInfo], watching: bool) -> None:
        super().__init__()
        self._visit = visit
        self._tables = tables
        self._watching = watching

    def compose(self) -> ComposeResult:
        yield TopLine(_("TABLES"))
        yield Banner()
        yield Headline()
        yield Static("", id="heading")
        yield Picks(id="tables", compact=True)
        yield Static("", id="none")
        yield key_line()

    def on_mount(self) -> None:
        self.query_one(TopLine).say(self._visit.welcome.host.name, self._visit.where.short)
        self.query_one("#heading", Static).update(
            Content.styled(
                _row(
                    _("TABLE"), _("TITLE"), _("PLAYERS"), _("COMPUTERS"), _("WATCHING"), _("STAGE")
                ),
                "$text-muted",
            )
        )
        self._show(self._tables)
        self.query_one(OptionList).focus()
        self.set_interval(REFRESH, self._look)

    def _look(self) -> None:
        if self.is_current:
            work(self, self._refresh(), "tables")

    async def _refresh(self) -> None:
        try:
            tables = await self._visit.tables()
        except QEError as error:
            self.query_one(Banner).say(str(error))
            return
        self.query_one(Banner).say(None)
        self._show(tables)

    def _show(self, tables: list[TableInfo]) -> None:
        options = self.query_one(OptionList)
        if tables != self._tables or options.option_count != len(tables):
            kept = options.highlighted_option.id if options.highlighted_option else None
            self._tables = tables
            options.clear_options()
            options.add_options([Option(_line(table), id=table.table) for table in tables])
            codes = [table.table for table in tables]
            options.highlighted = codes.index(kept) if kept in codes else (0 if codes else None)
        options.display = bool(tables)
        empty = _("There is no table here yet.") + (
            "" if self._watching else " " + _("c creates the first one.")
        )
        self.query_one("#none", Static).update(Content("" if tables else empty))
        self.query_one(Headline).say(self._headline())
        self.refresh_bindings()

    def _headline(self) -> str:
        if self._watching:
            return (
                _("Which table do you want to watch?") if self._tables else _("Nothing to see yet.")
            )
        if not self._tables:
            return _("Create the first table.")
        return _("Choose a table, or create one of your own.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "take":
            return bool(self._tables)
        return True

    @on(OptionList.OptionSelected)
    def _selected(self) -> None:
        self.action_take("watch" if self._watching else "join")

    def action_take(self, how: str) -> None:
        option = self.query_one(OptionList).highlighted_option
        if option is not None and option.id and self.is_current:
            self.dismiss((how, option.id))

    def action_create(self) -> None:
        if self.is_current:
            self.dismiss(("create", ""))

    def action_back(self) -> None:
        if self.is_current:
            self.dismiss(("back", ""))


def _line(table: TableInfo) -> Content:
    match table.stage:
        case "lobby":
            stage = _("{n} free").format(n=table.free) if table.free else _("full")
        case "playing":
            stage = _("playing, {n} free").format(n=table.free) if table.free else _("playing")
        case _:
            stage = _("game over")
    if table.locked:
        stage += ", " + _("password")
    return Content(
        _row(
            table.table,
            printable(table.title),
            f"{table.taken}/{table.seats}",
            str(table.bots or "-"),
            str(table.spectators or "-"),
            stage,
        )
    )


def _row(code: str, title: str, players: str, bots: str, watching: str, stage: str) -> str:
    if cell_len(title) > 22:
        title = set_cell_size(title, 19) + "..."
    return (
        f" {set_cell_size(printable(code), 6)} {set_cell_size(title, 22)} "
        f"{set_cell_size(players, 8)} {set_cell_size(bots, 9)} {set_cell_size(watching, 8)} {stage}"
    )
