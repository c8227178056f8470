"""The list of the tables that were found, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.binding import Binding
from textual.content import Content
from textual.widgets.option_list import Option

from protocol.messages import TableInfo
from protocol.text import printable
from qe_tui.browse import MOST_TABLES, FoundHost
from qe_tui.i18n import _
from qe_tui.screens.parts import Picks

if TYPE_CHECKING:
    from qe_tui.app import QEApp

_NARROW = (5, 13, 16, 7, 15, 0)
_WIDE = (5, 20, 26, 7, 15, 21)
"""Cells of the columns: table, host, title, players, what one may do, the host's address."""


@dataclass(frozen=True, slots=True)
class Row:
    """A table of a host, or a host that has none or is not to be trusted."""

    host: FoundHost
    table: TableInfo | None

    @property
    def id(self) -> str:
        code = self.table.table if self.table else ""
        return f"{self.host.id} {self.host.where.fingerprint} {code}"


def rows(hosts: Sequence[FoundHost]) -> list[Row]:
    """Each table once: those with a free seat first, then those to watch, then the rest."""
    found: dict[str, Row] = {}
    for host in hosts:
        if host.tables and not host.refused:
            for table in host.tables:
                row = Row(host, table)
                found.setdefault(row.id, row)
        else:
            row = Row(host, None)
            found.setdefault(row.id, row)
    return sorted(found.values(), key=_rank)[:MOST_TABLES]


def _rank(row: Row) -> tuple[int, str, str]:
    table = row.table
    if table is None:
        rank = 3
    elif table.free:
        rank = 0
    else:
        rank = 1 if table.stage == "playing" else 2
    return rank, row.host.name.casefold(), table.table if table else ""


def heading(wide: bool) -> str:
    """The names of the columns."""
    return _line(
        (_("TABLE"), _("HOST"), _("TITLE"), _("PLAYERS"), _("STAGE"), _("ADDRESS")), _("LOCK"), wide
    )


def line(row: Row, wide: bool) -> Content:
    """A row as it is shown."""
    host, table = row.host, row.table
    name = printable(host.name)
    if host.refused is not None:
        cells = ("!", name, _("new certificate"), "", "", host.where.short)
        return Content.styled(_line(cells, "", wide), "$error")
    if table is None:
        cells = ("-", name, _("no table yet"), "", "", host.where.short)
        return Content.styled(_line(cells, _lock(host, None), wide), "$text-muted")
    return Content(
        _line(
            (
                table.table,
                name,
                printable(table.title),
                f"{table.taken}/{table.seats}",
                stage(table),
                host.where.short,
            ),
            _lock(host, table),
            wide,
        )
    )


def stage(table: TableInfo) -> str:
    """What is going on at a table, and what one could do there."""
    match table.stage:
        case "lobby":
            return _("{n} free").format(n=table.free) if table.free else _("full: watch")
        case "playing":
            return (
                _("playing, {n} free").format(n=table.free) if table.free else _("playing: watch")
            )
        case _:
            return _("over, {n} free").format(n=table.free) if table.free else _("over: watch")


def _lock(host: FoundHost, table: TableInfo | None) -> str:
    words = [_("password")] if table is not None and table.locked else []
    if not host.where.tls:
        words.append(_("no TLS"))
    return ", ".join(words)


def _line(cells: Sequence[str], last: str, wide: bool) -> str:
    widths = _WIDE if wide else _NARROW
    line = " ".join(_fit(cell, width) for cell, width in zip(cells, widths, strict=True) if width)
    return f" {line} {last}"


def _fit(text: str, width: int) -> str:
    if cell_len(text) > width:
        text = set_cell_size(text, width - 3).rstrip() + "..."
    return set_cell_size(text, width)


class FoundTables(Picks):
    """The tables that were found. Enter joins, or watches where no seat is free."""

    BINDINGS = [
        Binding("enter", "select", _("Join"), key_display="Enter"),
        Binding("w", "watch", _("Watch")),
    ]
    app: QEApp

    def __init__(self) -> None:
        super().__init__(id="tables", compact=True)
        self._rows: list[Row] = []
        self._wide = False

    def show(self, found: Sequence[Row], wide: bool) -> None:
        """Brings the list up to date; what is highlighted stays so, or nothing is."""
        if (found, wide) == (self._rows, self._wide):
            return
        highlighted = self.highlighted_option
        kept = highlighted.id if highlighted is not None else None
        same = [row.id for row in found] == [row.id for row in self._rows]
        self._rows, self._wide = list(found), wide
        if same:
            for row in found:
                self.replace_option_prompt(row.id, line(row, wide))
            return
        self.clear_options()
        self.add_options([Option(line(row, wide), id=row.id) for row in found])
        ids = [row.id for row in found]
        # Never another table under the same Enter.
        self.highlighted = ids.index(kept) if kept in ids else None

    def row(self, id: str | None) -> Row | None:
        return next((row for row in self._rows if row.id == id), None)

    def action_cursor_up(self) -> None:
        if self.highlighted in (None, 0):
            self.screen.query_one("#ways").focus()
        else:
            super().action_cursor_up()

    def action_watch(self) -> None:
        option = self.highlighted_option
        row = self.row(option.id) if option is not None else None
        if row is not None and row.table is not None:
            self.app.visit_found(row.host, row.table.table, True)

    def on_option_list_option_selected(self, event: Picks.OptionSelected) -> None:
        event.stop()
        row = self.row(event.option_id)
        if row is None:
            return
        code = row.table.table if row.table else None
        self.app.visit_found(row.host, code, row.table is not None and not row.table.free)

    def on_focus(self) -> None:
        if self.highlighted is None and self._rows:
            self.highlighted = 0
