"""The first screen: what one may do with the evening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from protocol import text
from qe_tui.browse import FoundHost
from qe_tui.i18n import _, ngettext
from qe_tui.screens.found import FoundTables, heading, rows
from qe_tui.screens.parts import Picks, key_line
from qe_tui.screens.prompts import AskText
from qe_tui.work import work

if TYPE_CHECKING:
    from qe_tui.app import QEApp

CHEQUE = r"""
.--------------------------------------------------------------------.
|                                                      No. 000000001 |
|    ____     ______       CENTRAL BANK                              |
|   / __ \   / ____/                                                 |
|  / / / /  / __/          pays the bearer, on demand,               |
| / /_/ /  / /___                                                    |
| \___\_\ /_____/          ..any number you like.................... |
|                                                                    |
| the auction without a budget              signed   ~ yourself ~    |
'--------------------------------------------------------------------'
""".strip("\n")

SMALL_CHEQUE = r"""
.--------------------------------------------------------------------.
|  Q E   pays the bearer, on demand,  ..any number you like......... |
|        the auction without a budget       signed   ~ yourself ~    |
'--------------------------------------------------------------------'
""".strip("\n")

LOOKING = 5.0
"""Seconds after which it is likely that there is nothing to be found."""


class Ways(Picks):
    """The ways to a table; below the last one comes the list of tables."""

    def action_cursor_down(self) -> None:
        if self.highlighted == self.option_count - 1:
            self.screen.query_one(FoundTables).focus()
        else:
            super().action_cursor_down()


class MenuScreen(Screen[None]):
    """Four ways to a table, and the tables of all hosts on the network."""

    BINDINGS = [
        Binding("p", "go('play')", _("Play"), show=False),
        Binding("h", "go('host')", _("Host"), show=False),
        Binding("j", "go('join')", _("Join"), show=False),
        Binding("w", "go('watch')", _("Watch"), show=False),
        Binding("n", "rename", _("Change name")),
        Binding("tab", "tables", _("Tables"), key_display="Tab"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (116, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]
    app: QEApp

    def __init__(self) -> None:
        super().__init__()
        self._hosts: Sequence[FoundHost] = ()
        self._troubles: Sequence[str] = ()
        self._settled = False

    def compose(self) -> ComposeResult:
        with Vertical(id="top"):
            yield Static(_cheque(SMALL_CHEQUE), classes="cheque small")
            yield Static(_cheque(CHEQUE), classes="cheque large")
            yield Static("", id="who")
            yield Ways(
                _entry("play", "p", _("Play now"), _("against computers, on this machine")),
                _entry("host", "h", _("Host a table"), _("others join you over the network")),
                _entry("join", "j", _("Join a table"), _("by the address its host tells you")),
                _entry("watch", "w", _("Watch"), _("see what everybody at a table may see")),
                id="ways",
            )
        with Vertical(id="network"):
            yield Static("", id="heading")
            yield FoundTables()
            yield Static("", id="trouble")
            yield Static("", id="none")
        yield key_line()

    def on_mount(self) -> None:
        self._show_name()
        self.query_one(Ways).focus()
        self.show((), ())
        self.set_timer(LOOKING, self._settle)
        work(self, self._browse(), "browse")

    # --- Tables on the network ------------------------------------------------------------------

    async def _browse(self) -> None:
        """Looks for hosts for as long as the menu is there."""
        async with self.app.browser() as browser:
            async for _change in browser.changes():
                self.show(browser.hosts, browser.troubles)

    def show(self, hosts: Sequence[FoundHost], troubles: Sequence[str]) -> None:
        """Brings the list of tables up to date. `troubles` are sentences."""
        self._hosts, self._troubles = hosts, troubles
        wide = self.has_class("-wide")
        found = rows(hosts)
        tables = self.query_one(FoundTables)
        if not found and tables.has_focus:
            self.query_one(Ways).focus()
        tables.show(found, wide)
        tables.display = bool(found)
        count = sum(row.table is not None for row in found)
        counted = ngettext("{n} TABLE FOUND", "{n} TABLES FOUND", count).format(n=count)
        self.query_one("#network").border_title = counted if found else None
        self.query_one("#heading", Static).update(
            Content.styled(heading(wide), "$text-muted")
            if found
            else Content.styled(" " + _("TABLES ON YOUR NETWORK"), "$text-muted")
        )
        self.query_one("#none", Static).update(Content("" if found else self._nothing()))
        self.query_one("#none").display = not found
        trouble = self.query_one("#trouble", Static)
        trouble.update(Content("\n".join(troubles)))
        trouble.display = bool(troubles)
        self.refresh_bindings()

    def _nothing(self) -> str:
        how = _(
            "If you know a host's address: j, and then for example 192.168.1.5, or the "
            "invitation that its host has sent."
        )
        if self._troubles:
            return how
        if not self._settled:
            return _("Looking for tables ...") + "\n\n" + how
        return _("No table has been found so far; still looking.") + "\n\n" + how

    def _settle(self) -> None:
        self._settled = True
        self.show(self._hosts, self._troubles)

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.show(self._hosts, self._troubles))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._hosts) if action == "tables" else True

    def action_tables(self) -> None:
        """To the list, and back."""
        tables = self.query_one(FoundTables)
        (self.query_one(Ways) if tables.has_focus else tables).focus()

    # --- The ways -------------------------------------------------------------------------------

    def _show_name(self) -> None:
        self.query_one("#who", Static).update(
            Content.assemble(
                (_("You are "), "$text-muted"),
                (text.printable(self.app.player), "bold $secondary"),
            )
        )

    @on(OptionList.OptionSelected, "#ways")
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.action_go(event.option_id or "")

    def action_go(self, way: str) -> None:
        if self.is_current:
            self.app.go(way)

    def action_rename(self) -> None:
        def renamed(name: str | None) -> None:
            if name:
                self.app.rename(name)
                self._show_name()

        self.app.push_screen(
            AskText(
                _("What shall the others call you?"),
                detail=_("Up to 20 columns wide; kept for next time."),
                value=self.app.player,
                check=text.name,
            ),
            renamed,
        )


def _entry(id: str, key: str, label: str, detail: str) -> Option:
    return Option(
        Content.assemble(f" {key}  ", (f"{label:<16}", "bold"), f"  {detail}"),
        id=id,
    )


_LOGO = (
    "____     ______",
    r"/ __ \   / ____/",
    "/ / / /  / __/",
    "/ /_/ /  / /___",
    r"\___\_\ /_____/",
    " Q E ",
)


def _cheque(picture: str) -> Content:
    art = Content(picture).stylize("$primary")
    for words, style in (
        *((line, "bold $accent") for line in _LOGO),
        ("any number you like", "bold $secondary"),
        ("~ yourself ~", "bold $secondary"),
        ("the auction without a budget", "italic $text-muted"),
    ):
        start = picture.find(words)
        if start >= 0:
            art = art.stylize(style, start, start + len(words))
    return art
