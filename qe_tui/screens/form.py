"""A table as its host wants it: asked when one is created, and changed in the lobby."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Button, Input, Select, Static

from protocol import text
from protocol.errors import TextError
from protocol.messages import Create, Options, Room, Set
from qe_tui.i18n import _, ngettext
from qe_tui.screens.parts import Banner, Headline, Tick, TopLine, key_line
from qe_tui.widgets.discreet import DiscreetInput

CLOCKS = (0, 30, 60, 120, 300)
"""Seconds a turn, to choose from."""


def clock_name(seconds: int) -> str:
    """How long a turn may take, in a few words."""
    if not seconds:
        return _("none")
    if seconds % 60:
        return ngettext("{n} second a turn", "{n} seconds a turn", seconds).format(n=seconds)
    minutes = seconds // 60
    return ngettext("{n} minute a turn", "{n} minutes a turn", minutes).format(n=minutes)


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a table shall be. A password of None leaves it as it is, an empty one takes it away."""

    seats: int = 4
    title: str = ""
    password: str | None = field(default=None, repr=False)
    options: Options = field(default_factory=Options)
    notes: bool = True
    first: str = "random"

    @classmethod
    def of(cls, room: Room) -> Wishes:
        """How a table is now."""
        return cls(
            seats=room.size,
            title=text.printable(room.title),
            options=room.options,
            notes=room.rules.get("notes", True) is not False,
            first="host" if room.rules.get("first") == "host" else "random",
        )

    def create(self, name: str) -> Create:
        return Create(
            game="qe",
            seats=self.seats,
            title=self.title,
            name=name,
            password=self.password or None,
            options=self._options(),
            rules=self._rules(),
        )

    def set(self) -> Set:
        return Set(
            seats=self.seats,
            title=self.title,
            password=self.password,
            options=self._options(),
            rules=self._rules(),
        )

    def _options(self) -> dict[str, Any]:
        return {
            "turn_seconds": self.options.turn_seconds,
            "start_when_full": self.options.start_when_full,
            "away_seconds": self.options.away_seconds,
        }

    def _rules(self) -> dict[str, Any]:
        return {"notes": self.notes, "first": self.first}


class TableForm(Screen[Wishes | None]):
    """Dismissed with the wishes, or None."""

    BINDINGS = [
        Binding("ctrl+s", "done", _("Done"), priority=True),
        Binding("escape", "cancel", _("Back")),
    ]

    def __init__(self, wishes: Wishes, *, creating: bool, locked: bool = False) -> None:
        super().__init__()
        self._wishes = wishes
        self._creating = creating
        self._locked = locked

    def compose(self) -> ComposeResult:
        wishes = self._wishes
        clocks = sorted({*CLOCKS, wishes.options.turn_seconds})
        yield TopLine(_("NEW TABLE") if self._creating else _("OPTIONS"))
        yield Banner()
        yield Headline()
        with Vertical(classes="form"):
            with Horizontal(classes="row"):
                yield Static(_("Seats"), classes="label")
                yield Select(
                    [
                        (_("3, with a blind final"), 3),
                        ("4", 4),
                        (_("5, with a peek each"), 5),
                    ],
                    value=wishes.seats,
                    allow_blank=False,
                    compact=True,
                    id="seats",
                )
            with Horizontal(classes="row"):
                yield Static(_("Title"), classes="label")
                yield Input(
                    wishes.title,
                    placeholder=_("none"),
                    max_length=text.TITLE_LENGTH,
                    compact=True,
                    id="title",
                )
            with Horizontal(classes="row"):
                yield Static(_("Password"), classes="label")
                yield DiscreetInput(
                    password=True,
                    placeholder=_("unchanged") if self._locked else _("none"),
                    compact=True,
                    id="password",
                )
            if self._locked:
                with Horizontal(classes="row"):
                    yield Static("", classes="label")
                    yield Tick(_("take the password away"), id="unlock")
            with Horizontal(classes="row"):
                yield Static(_("Clock"), classes="label")
                yield Select(
                    [(clock_name(seconds), seconds) for seconds in clocks],
                    value=wishes.options.turn_seconds,
                    allow_blank=False,
                    compact=True,
                    id="clock",
                )
            with Horizontal(classes="row"):
                yield Static(_("Opens"), classes="label")
                yield Select(
                    [(_("a random player"), "random"), (_("the table's host"), "host")],
                    value=wishes.first,
                    allow_blank=False,
                    compact=True,
                    id="first",
                )
            with Horizontal(classes="row"):
                yield Static(_("Notes"), classes="label")
                yield Tick(
                    _("a ledger keeps the bids that one has rightly seen"), wishes.notes, id="notes"
                )
            with Horizontal(classes="row"):
                yield Static(_("Start"), classes="label")
                yield Tick(
                    _("by itself, when all seats are taken"),
                    wishes.options.start_when_full,
                    id="full",
                )
            yield Button(_("Open the table") if self._creating else _("Change it"), id="done")
        yield key_line()

    def on_mount(self) -> None:
        self.query_one(Headline).say(
            _("Your table.  Tab goes from line to line, Enter opens a list.")
        )
        if self._creating:
            self.query_one("#done").focus()
        else:
            self.query_one("#seats").focus()

    @on(Button.Pressed)
    @on(Input.Submitted)
    def action_done(self) -> None:
        try:
            wishes = self._read()
        except TextError as error:
            self.query_one(Banner).say(str(error))
            return
        if self.is_current:
            self.dismiss(wishes)

    def action_cancel(self) -> None:
        if self.is_current:
            self.dismiss(None)

    def _read(self) -> Wishes:
        password = self.query_one("#password", Input).value or None
        if password is not None:
            text.password(password)
        elif self._locked and self.query_one("#unlock", Tick).value:
            password = ""
        return Wishes(
            seats=_chosen(self.query_one("#seats", Select), int),
            title=text.title(text.tidy(self.query_one("#title", Input).value)),
            password=password,
            options=Options(
                turn_seconds=_chosen(self.query_one("#clock", Select), int),
                start_when_full=self.query_one("#full", Tick).value,
                away_seconds=self._wishes.options.away_seconds,
            ),
            notes=self.query_one("#notes", Tick).value,
            first=_chosen(self.query_one("#first", Select), str),
        )


def _chosen(select: Select[Any], kind: type) -> Any:
    value = select.value
    assert isinstance(value, kind)
    return value
