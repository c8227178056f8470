"""Small pieces that the screens around a game share."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Checkbox, Footer, OptionList, Static

from protocol.messages import Said
from protocol.text import printable
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.widgets import lines

CHAT_LINES = 100
"""How many chat messages are kept on a screen."""


class TopLine(Horizontal):
    """The one line that says where one is."""

    def __init__(self, place: str) -> None:
        super().__init__(classes="topline")
        self._place = place

    def compose(self) -> ComposeResult:
        yield Static(Content.assemble((" QE ", "bold $background on $accent"), " "), classes="logo")
        yield Static(Content(self._place), classes="place")
        yield Static("", classes="subject")
        yield Static("", classes="aside")

    def say(self, subject: str = "", aside: str = "") -> None:
        """Both may be hostile text."""
        self.query_one(".subject", Static).update(Content(printable(subject)))
        self.query_one(".aside", Static).update(Content(printable(aside)))


class Picks(OptionList):
    """A list to choose from, whose Enter is named in the key line."""

    BINDINGS = [Binding("enter", "select", _("Choose"), key_display="Enter")]


class Tick(Checkbox):
    """A box that is ticked or empty, in any colours or none."""

    BUTTON_LEFT = ""
    BUTTON_RIGHT = ""

    def __init__(self, label: str, value: bool = False, *, id: str | None = None) -> None:
        super().__init__(Content(label), value, compact=True, id=id)

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]
        """The mark in the box."""
        return "[x]" if self.value else "[ ]"


class Headline(Static):
    """What to do now, in words: the most prominent line."""

    def say(self, sentence: str) -> None:
        self.update(Content.assemble((">>> ", "bold $accent"), (sentence, "bold")))


class Banner(Static):
    """A sentence that something is wrong, or nothing at all."""

    def lost(self, snapshot: Snapshot) -> None:
        """That the connection is away, as the table says it, or nothing."""
        self.display = snapshot.lost is not None
        self.add_class("-stripe")
        width = self.app.size.width
        self.update(lines.connection_lost(snapshot, width) if self.display else Content(""))

    def say(self, sentence: str | None) -> None:
        self.display = bool(sentence)
        self.update(Content(f" ! {printable(sentence)}" if sentence else ""))

    def on_mount(self) -> None:
        self.display = False


class ChatLog(VerticalScroll, can_focus=False):
    """What was said, the newest at the bottom."""

    def __init__(self) -> None:
        super().__init__(classes="chatlog")
        self._shown: Sequence[Said] | None = None

    def compose(self) -> ComposeResult:
        yield Static("")

    def on_mount(self) -> None:
        self.anchor()

    def show(self, said: Sequence[Said]) -> None:
        if said == self._shown:
            return
        self._shown = said
        lines = [
            Content.assemble(
                (printable(line.name), "bold $accent" if line.seat is not None else "$text-muted"),
                (": ", "$text-muted"),
                printable(line.text),
            )
            for line in said[-CHAT_LINES:]
        ]
        quiet = Content.styled(_("Nobody has said anything yet."), "$text-muted")
        self.query_one(Static).update(Content("\n").join(lines) if lines else quiet)


def key_line() -> Footer:
    """The keys that do something now."""
    return Footer(compact=True, show_command_palette=False)
