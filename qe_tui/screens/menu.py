"""The first screen: what one may do with the evening."""

from __future__ import annotations

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
from qe_tui.i18n import _
from qe_tui.screens.parts import Picks, key_line
from qe_tui.screens.prompts import AskText

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


class MenuScreen(Screen[None]):
    """Four ways to a table."""

    BINDINGS = [
        Binding("p", "go('play')", _("Play"), show=False),
        Binding("h", "go('host')", _("Host"), show=False),
        Binding("j", "go('join')", _("Join"), show=False),
        Binding("w", "go('watch')", _("Watch"), show=False),
        Binding("n", "rename", _("Change name")),
    ]
    app: QEApp

    def compose(self) -> ComposeResult:
        with Vertical(classes="middle"):
            yield Static(_cheque(), id="cheque")
            yield Static("", id="who")
            yield Picks(
                _entry("play", "p", _("Play now"), _("against computers, on this machine")),
                _entry("host", "h", _("Host a table"), _("others join you over the network")),
                _entry("join", "j", _("Join a table"), _("by the address its host tells you")),
                _entry("watch", "w", _("Watch"), _("see what everybody at a table may see")),
                id="ways",
            )
        yield key_line()

    def on_mount(self) -> None:
        self._show_name()
        self.query_one(OptionList).focus()

    def _show_name(self) -> None:
        self.query_one("#who", Static).update(
            Content.assemble(
                (_("You are "), "$text-muted"),
                (text.printable(self.app.player), "bold $secondary"),
            )
        )

    @on(OptionList.OptionSelected)
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


def _cheque() -> Content:
    art = Content(CHEQUE).stylize("$primary")
    for line in (r"____     ______", r"/ __ \   / ____/", r"/ / / /  / __/", r"/ /_/ /  / /___"):
        start = CHEQUE.index(line)
        art = art.stylize("bold $accent", start, start + len(line))
    last = CHEQUE.index(r"\___\_\ /_____/")
    art = art.stylize("bold $accent", last, last + 15)
    for words in ("any number you like", "~ yourself ~"):
        start = CHEQUE.index(words)
        art = art.stylize("bold $secondary", start, start + len(words))
    start = CHEQUE.index("the auction without a budget")
    return art.stylize("italic $text-muted", start, start + 28)
