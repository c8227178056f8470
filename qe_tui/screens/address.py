"""Where is the host? Asked before joining and watching."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from protocol.invitation import WhereError, parse
from protocol.text import printable, tidy
from qe_tui.i18n import _
from qe_tui.screens.parts import Headline, Tick, TopLine, key_line

if TYPE_CHECKING:
    from qe_tui.app import QEApp


class _Address(Input):
    BINDINGS = [Binding("enter", "submit", _("Connect"))]


class AddressScreen(Screen[None]):
    """Takes an address and connects; what went wrong is said under it, and the text kept."""

    BINDINGS = [
        Binding("escape", "back", _("Back")),
    ]
    app: QEApp

    def __init__(self, watching: bool, address: str, tls: bool) -> None:
        super().__init__()
        self._watching = watching
        self._address = address
        self._tls = tls

    def compose(self) -> ComposeResult:
        yield TopLine(_("WATCH") if self._watching else _("JOIN"))
        yield Headline()
        with Vertical(classes="form"):
            yield Static(_("Address"), classes="label")
            yield _Address(self._address, placeholder=_("for example 192.168.1.5"), id="address")
            yield Tick(_("The host was started with --no-tls (not encrypted)"), not self._tls)
            yield Static("", id="wrong", classes="wrong")
            yield Static(
                Content(
                    _(
                        "The host's lobby shows its address. A name, an IPv4 or an IPv6 address; "
                        "a port after a colon, if it is not 7373. An invitation that begins with "
                        "qe:// may be pasted whole."
                    )
                ),
                classes="hint",
            )
        yield key_line()

    def on_mount(self) -> None:
        self.query_one(Headline).say(
            _("Where is the table that you want to watch?")
            if self._watching
            else _("Where is the table that you want to join?")
        )
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def action_connect(self) -> None:
        if not self.query_one(Input).value.strip():
            self.wrong(_("Type the address of the host."))
            return
        try:
            typed = re.sub(r"\Aqe\s+(join|watch)\s+", "", tidy(self.query_one(Input).value))
            where = parse(typed, tls=not self.query_one(Tick).value)
        except WhereError as error:
            self.wrong(str(error))
            return
        self.query_one("#wrong", Static).update(
            Content(_("Calling {where} ...").format(where=where))
        )
        self.app.call_at(where, self._watching)

    def wrong(self, sentence: str) -> None:
        """Says why there is no connection."""
        self.query_one("#wrong", Static).update(Content(printable(sentence)))

    def action_back(self) -> None:
        self.app.go("menu")
