"""The list of the tables that were found, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.content import Content
from textual.widgets.option_list import Option

from protocol.messages import TableInfo
from protocol.text import printable
from qe_tui.browse import MOST_TABLES, FoundHost
from qe_tui.i18n import _
from qe_tui.screens.parts import Picks
from qe_tui.widgets import ink

if TYPE_CHECKING:
    from qe_tui.app import QEApp

_NARROW = (5, 13, 15, 7, 15, 0)
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
    columns = (_("TABLE"), _("HOST"), _("TITLE"), _("PLAYERS"), _("STAGE"), _("ADDRESS"))
    return _line(columns, _("NOTES"), wide)


def alike(found: Sequence[Row]) -> frozenset[str]:
    """Names of hosts that would look the same in a narrow list, though they are two."""
    hosts: dict[str, set[tuple[str, str | None]]] = {}
    names: dict[str, set[str]] = {}
    for row in found:
        name = printable(row.host.name)
        shown = ink.left(name, _NARROW[1])
        hosts.setdefault(shown, set()).add((row.host.id, row.host.where.fingerprint))
        names.setdefault(shown, set()).add(name)
    return frozenset(
        name for shown, several in hosts.items() if len(several) > 1 for name in names[shown]
    )


def line(row: Row, wide: bool, twins: frozenset[str] = frozenset()) -> Content:
    """A row as it is shown. Of the hosts named in `twins` a narrow one has the address."""
    host, table = row.host, row.table
    name = printable(host.name)
    if not wide and name in twins:
        name = ink.cut_start(host.where.short, _NARROW[1])
    if host.refused is not None:
        cells = ("!", name, _("new certificate"), "", "", host.where.short)
        return Content.styled(_line(cells, "", wide), "$error")
    if table is None:
        cells = ("-", name, _("no table yet"), "", "", host.where.short)
        return Content.styled(_line(cells, _notes(host, None), wide), "$text-muted")
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
            _notes(host, table),
            wide,
        )
    )


def _does(row: Row) -> str:
    """What Enter does on a row: `why`, `open`, `join` or `watch`."""
    if row.host.refused is not None:
        return "why"
    if row.table is None:
        return "open"
    return "join" if row.table.free else "watch"


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


def _notes(host: FoundHost, table: TableInfo | None) -> str:
    words = [_("password")] if table is not None and table.locked else []
    if host.by_broker:
        words.append(_("broker"))
    if not host.where.tls:
        words.append(_("no TLS"))
    return ", ".join(words)


def _line(cells: Sequence[str], last: str, wide: bool) -> str:
    widths = _WIDE if wide else _NARROW
    line = " ".join(
        ink.left(cell, width) for cell, width in zip(cells, widths, strict=True) if width
    )
    return f" {line} {last}"


class FoundTables(Picks):
    """The tables that were found. Enter joins, or watches where no seat is free."""

    BINDINGS = [
        Binding("enter", "enter('join')", _("Join"), key_display="Enter"),
        Binding("enter", "enter('watch')", _("Watch"), key_display="Enter"),
        Binding("enter", "enter('open')", _("Open the list"), key_display="Enter"),
        Binding("enter", "enter('why')", _("Why?"), key_display="Enter"),
        Binding("w", "watch", _("Watch")),
        # Elsewhere on this screen it means another thing.
        Binding("w", "nothing", show=False),
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
        twins = alike(found)
        highlighted = self.highlighted_option
        kept = highlighted.id if highlighted is not None else None
        same = [row.id for row in found] == [row.id for row in self._rows]
        self._rows, self._wide = list(found), wide
        if same:
            for row in found:
                self.replace_option_prompt(row.id, line(row, wide, twins))
            self.refresh_bindings()
            return
        self.clear_options()
        self.add_options([Option(line(row, wide, twins), id=row.id) for row in found])
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

    @property
    def _current(self) -> Row | None:
        option = self.highlighted_option
        return self.row(option.id) if option is not None else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        row = self._current
        if action == "enter":
            return row is not None and parameters[0] == _does(row)
        if action == "watch":
            return row is not None and _does(row) == "join"
        return True

    def action_enter(self, does: str) -> None:
        self.action_select()

    def action_watch(self) -> None:
        if (row := self._current) is not None and row.table is not None:
            self.app.visit_found(row.host, row.table.table, True)

    def action_nothing(self) -> None:
        """Takes the key, so that nobody else does."""

    def on_option_list_option_highlighted(self) -> None:
        self.refresh_bindings()

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
