"""What to tell others who want to come to the table, on top of whatever is on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from protocol.invitation import Where, say_aloud
from protocol.text import printable
from qe_tui import invite
from qe_tui.i18n import _
from qe_tui.screens.parts import key_line

if TYPE_CHECKING:
    from qe_tui.app import QEApp

SHOWN = 5
"""How many of a host's addresses are shown."""


class Invite(ModalScreen[None]):
    """The line to say aloud for each address, and the invitation to the first, to be copied."""

    BINDINGS = [
        Binding("c", "copy", _("Copy the invitation")),
        Binding("escape,i", "back", _("Back"), key_display="Esc"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    app: QEApp

    def __init__(self, wheres: Sequence[Where], locked: bool = False) -> None:
        super().__init__(classes="prompt invite")
        self._wheres = wheres
        self._locked = locked

    def compose(self) -> ComposeResult:
        first = self._wheres[0]
        spoken = Content("\n").join(
            [
                Content.styled(printable(_spoken(where)), "bold $secondary")
                for where in self._wheres[:SHOWN]
            ]
        )
        with Vertical(classes="box"):
            yield Static(
                Content.styled(_("Invite others to this table"), "bold"), classes="question"
            )
            yield Static(
                Content(
                    _("To say aloud; one of these, if there are several:")
                    if len(self._wheres) > 1
                    else _("To say aloud:")
                ),
                classes="label",
            )
            yield Static(spoken, classes="spoken")
            yield Static(
                Content(
                    _("To send; it names the table, and the host's certificate is checked:")
                    if first.fingerprint is not None
                    else _("To send; it names the table:")
                ),
                classes="label",
            )
            # Whole from the first column on, where there is room: a mouse copies what it sees.
            yield Static(Content.styled(invite.command(first), "$secondary"), id="invitation")
            yield Static(Content(_("It is one line; c copies it whole.")), classes="one label")
            if self._locked:
                asked = _("They will be asked for the password of the table: tell it too.")
                yield Static(Content(asked), classes="label")
        yield key_line()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(invite.command(self._wheres[0]))
        self.notify(_("Copied, if your terminal allows it."), timeout=3, markup=False)

    def action_back(self) -> None:
        if self.is_current:
            self.dismiss(None)


def _spoken(where: Where) -> str:
    table = f" --table {where.table}" if where.table else ""
    return say_aloud(where) + table


def show(app: QEApp) -> None:
    """Shows how others come to the table that this player is at."""
    visit, snapshot = app.visit, app.snapshot
    wheres = invite.invitations(visit, snapshot.table) if visit and snapshot else []
    if wheres and snapshot is not None:
        app.push_screen(Invite(wheres, snapshot.room.locked))
    else:
        app.notify(_("Nobody else can come to this table."), markup=False)
