"""Short questions and plain statements, on top of whatever is on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from protocol.errors import TextError
from protocol.text import printable, tidy
from qe_tui.i18n import _
from qe_tui.screens.parts import Picks, TopLine, key_line
from qe_tui.widgets.discreet import DiscreetInput


class AskText(ModalScreen[str | None]):
    """Asks for one line of text; None if the person thinks better of it.

    `check` gives the text back or raises TextError, whose sentence is shown.
    """

    BINDINGS = [Binding("escape", "cancel", _("Back"))]

    def __init__(
        self,
        question: str,
        *,
        detail: str = "",
        value: str = "",
        secret: bool = False,
        wrong: str = "",
        check: Callable[[str], str] = str,
    ) -> None:
        super().__init__(classes="prompt")
        self._question = question
        self._detail = detail
        self._value = value
        self._secret = secret
        self._wrong = wrong
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(Content.styled(printable(self._question), "bold"), classes="question")
            if self._detail:
                yield Static(Content(printable(self._detail)), classes="detail")
            yield DiscreetInput(self._value, password=self._secret)
            wrong = Static(Content(printable(self._wrong)), classes="wrong")
            wrong.display = bool(self._wrong)
            yield wrong
            yield Static(Content(_("Enter goes on   Esc goes back")), classes="keys")

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        try:
            value = self._check(event.value if self._secret else tidy(event.value))
        except TextError as error:
            wrong = self.query_one(".wrong", Static)
            wrong.update(Content(printable(str(error))))
            wrong.display = True
            return
        if self.is_current:
            self.dismiss(value)

    def action_cancel(self) -> None:
        if self.is_current:
            self.dismiss(None)


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that may be done. `key` is a letter that does it at once."""

    id: str
    label: str
    key: str = ""


class Choose(ModalScreen[str | None]):
    """Asks which of a few things to do; None if the person thinks better of it."""

    BINDINGS = [Binding("escape", "cancel", _("Back"))]

    def __init__(self, question: str, choices: Sequence[Choice], *, detail: str = "") -> None:
        super().__init__(classes="prompt")
        self._question = question
        self._detail = detail
        self._choices = choices

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(Content.styled(printable(self._question), "bold"), classes="question")
            if self._detail:
                yield Static(Content(printable(self._detail)), classes="detail")
            yield options(self._choices)
            yield Static(Content(_("Enter chooses   Esc goes back")), classes="keys")

    def on_key(self, event: object) -> None:
        _shortcut(self, event, self._choices)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.choose(event.option_id)

    def choose(self, id: str | None) -> None:
        if self.is_current:
            self.dismiss(id)

    def action_cancel(self) -> None:
        self.choose(None)


class Notice(Screen[str]):
    """Something is over: says what, and offers what one may do. Dismissed with a choice's id."""

    def __init__(
        self, place: str, sentence: str, choices: Sequence[Choice], detail: str = ""
    ) -> None:
        super().__init__(classes="notice")
        self._place = place
        self._sentence = sentence
        self._choices = choices
        self._detail = detail

    def compose(self) -> ComposeResult:
        yield TopLine(self._place)
        with Vertical(classes="middle"):
            yield Static(Content.styled(printable(self._sentence), "bold"), classes="question")
            if self._detail:
                yield Static(Content(printable(self._detail)), classes="detail")
            yield options(self._choices)
        yield key_line()

    def on_key(self, event: object) -> None:
        _shortcut(self, event, self._choices)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.choose(event.option_id)

    def choose(self, id: str | None) -> None:
        if id is not None and self.is_current:
            self.dismiss(id)


class Waiting(Screen[None]):
    """Says what is being done, while it takes its time."""

    def __init__(self, sentence: str) -> None:
        super().__init__(classes="waiting")
        self._sentence = sentence

    def compose(self) -> ComposeResult:
        with Vertical(classes="middle"):
            yield Static(Content(self._sentence), classes="question")
        yield key_line()


def options(choices: Sequence[Choice]) -> OptionList:
    return Picks(
        *(
            Option(
                Content(f" {choice.key or ' '}  {choice.label}"),
                id=choice.id,
            )
            for choice in choices
        ),
        compact=True,
    )


def _shortcut(screen: Choose | Notice, event: object, choices: Sequence[Choice]) -> None:
    key = getattr(event, "character", None)
    for choice in choices:
        if key and choice.key == key:
            screen.choose(choice.id)
