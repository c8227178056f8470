"""One key for a reaction."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Static

from qe_tui import words
from qe_tui.i18n import _
from qe_tui.widgets import ink


class ReactScreen(ModalScreen[str | None]):
    """Asks for a reaction's kind; None for none."""

    CSS_PATH = "../styles/table.tcss"
    BINDINGS = [Binding("escape", "choose('')", _("back"))]

    def compose(self) -> ComposeResult:
        pieces: list[ink.Piece] = [(" " + _("React:"), "bold")]
        for kind, (key, label, _sentence) in words.REACTIONS.items():
            click = Style.from_meta({"@click": f"screen.choose({kind!r})"})
            pieces += ["   ", ink.text((key, ink.KEY), " " + label).stylize(click)]
        pieces += ["   ", ("Esc", ink.KEY), " " + _("back")]
        yield Static(Content.assemble(*pieces), id="react")

    def on_key(self, event: events.Key) -> None:
        for kind, (key, _label, _sentence) in words.REACTIONS.items():
            if event.character == key:
                event.stop()
                self.action_choose(kind)

    def action_choose(self, kind: str) -> None:
        if self.is_current:
            self.dismiss(kind or None)
