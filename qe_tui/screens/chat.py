"""The chat, over the lower part of the table: the last lines, and a line to write."""

from __future__ import annotations

from typing import Protocol

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from protocol import text
from protocol.errors import TextError
from qe_tui.i18n import _
from qe_tui.screens import table_facts as facts
from qe_tui.screens.table_facts import Sight
from qe_tui.widgets import ink, side
from qe_tui.widgets.ink import Painted


class KeepsALine(Protocol):
    """Where a line that was begun waits for the next time."""

    unsaid: str


class ChatScreen(ModalScreen[str | None]):
    """Gives a line to say, or None. What was typed is kept when the chat is closed."""

    CSS_PATH = "../styles/table.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]
    BINDINGS = [Binding("escape", "back", _("back"), priority=True)]

    def __init__(self, keeper: KeepsALine, sight: Sight) -> None:
        super().__init__()
        self._keeper = keeper
        self._sight = sight
        self._wrong = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="chat"):
            yield Painted(self._paint_head, id="chat-head")
            yield Painted(
                lambda width, height: side.chat(self._sight.snapshot, width, height),
                id="chat-log",
            )
            yield Input(
                self._keeper.unsaid,
                placeholder=_("say something to the table"),
                id="say",
                compact=True,
                max_length=280,
                select_on_focus=False,
            )
            yield Painted(self._paint_foot, id="chat-foot")

    def update_sight(self, sight: Sight) -> None:
        """Shows what was said meanwhile."""
        self._sight = sight
        if self.is_mounted:
            for painted in self.query(Painted):
                painted.refresh()

    def _paint_head(self, width: int, height: int) -> Content:
        snapshot = self._sight.snapshot
        to = _("CHAT")
        if facts.me(snapshot) is None and snapshot.game is not None:
            to = _("CHAT  (those who watch reach those who watch)")
        turn = Content.styled(_("the table waits for you") + " ", ink.MINE)
        end = turn if facts.my_turn(snapshot) else Content("")
        return ink.ends(Content.styled(to, "bold"), end, width)

    def _paint_foot(self, width: int, height: int) -> Content:
        if self._wrong:
            return Content.styled(self._wrong, ink.BAD)
        return Content.styled(_("Enter says it   Esc back to the table"), ink.QUIET)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._keeper.unsaid = event.value
        self._wrong = ""
        self.query_one("#chat-foot").refresh()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line = text.tidy(event.value)
        if not line:
            self.action_back()
            return
        try:
            text.chat(line)
        except TextError as error:
            self._wrong = str(error)
            self.query_one("#chat-foot").refresh()
            return
        if self.is_current:
            self._keeper.unsaid = ""
            self.dismiss(line)

    def action_back(self) -> None:
        if self.is_current:
            self.dismiss(None)
