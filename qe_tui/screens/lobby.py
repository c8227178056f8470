"""A table before its game: who sits where, and how it will be played."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static
from textual.widgets.option_list import Option

from protocol.errors import QEError, TextError
from protocol.messages import AddBot, Body, Move, Reacted, Remove, Room, Say, SeatInfo, Start
from protocol.text import CHAT_LENGTH, chat, printable, tidy
from qe_tui.i18n import _, ngettext
from qe_tui.model import Snapshot
from qe_tui.screens import invite, lobby_words
from qe_tui.screens.form import TableForm, Wishes
from qe_tui.screens.parts import Banner, ChatLog, Headline, Picks, TopLine, key_line
from qe_tui.screens.prompts import Choice, Choose
from qe_tui.screens.rules_help import RulesHelp
from qe_tui.screens.table_facts import may_sit
from qe_tui.screens.table_seat import take_seat
from qe_tui.work import work

if TYPE_CHECKING:
    from qe_tui.app import QEApp

ADDRESSES_LOW, ADDRESSES_HIGH = 2, 5
"""How many of the host's addresses are shown on a low and on a high screen."""

_MOVE = Binding.Group(_("Move"), compact=True)


class Seats(Picks):
    """The seats; the keys of the lobby are about the highlighted one."""

    BINDINGS = [Binding("enter", "select", _("Seat"), show=False)]


class LobbyScreen(Screen[None]):
    """Only the table's host sees the host's keys; all others see whom they wait for."""

    BINDINGS = [
        Binding("s", "start", _("Start")),
        Binding("j", "sit", _("Take a seat"), tooltip=_("Takes the first open seat")),
        Binding("a", "add_bot", _("Computer"), tooltip=_("Seats a computer player")),
        Binding("x", "remove", _("Remove")),
        Binding("left_square_bracket,shift+up", "move(-1)", _("Up"), key_display="[", group=_MOVE),
        Binding(
            "right_square_bracket,shift+down", "move(1)", _("Down"), key_display="]", group=_MOVE
        ),
        Binding("o", "options", _("Options")),
        Binding("i", "invite", _("Invite"), show=False),
        Binding("slash", "chat", _("Chat"), key_display="/"),
        Binding("question_mark", "rules", _("Rules"), key_display="?"),
        Binding("escape", "leave", _("Leave"), key_display="Esc"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (32, "-high")]
    app: QEApp

    def __init__(self) -> None:
        super().__init__()
        self._snapshot: Snapshot | None = None
        self._follow: int | None = None

    def compose(self) -> ComposeResult:
        yield TopLine(_("LOBBY"))
        yield Banner()
        yield Headline()
        with Horizontal(id="lobby"):
            with Vertical(id="table"):
                yield Static(
                    Content.styled(lobby_words.line("", _("SEAT"), _("PLAYER"), ""), "$text-muted"),
                    id="heading",
                )
                yield Seats(id="seats", compact=True)
                yield Static("", id="rules")
                yield Static("", id="tell")
            with Vertical(id="talk"):
                yield ChatLog()
                yield Input(
                    placeholder=_("/ to say something"),
                    max_length=CHAT_LENGTH,
                    compact=True,
                    id="say",
                )
        yield key_line()

    def on_mount(self) -> None:
        self.query_one(Seats).focus()

    # --- What is shown ------------------------------------------------------------------------

    def show(self, snapshot: Snapshot) -> None:
        """Brings every line up to date."""
        self._snapshot = snapshot
        room = snapshot.room
        watching = ngettext("{n} watching", "{n} watching", room.spectators)
        self.query_one(TopLine).say(
            room.title,
            _("table {code}").format(code=snapshot.table)
            + "   "
            + watching.format(n=room.spectators),
        )
        self.query_one(Banner).lost(snapshot)
        self.query_one("#say").display = snapshot.broker is None
        self.query_one(Headline).say(lobby_words.headline(snapshot))
        self._show_seats(room)
        self.query_one("#rules", Static).update(lobby_words.rules(room, self.has_class("-high")))
        self._show_tell(snapshot)
        self.query_one(ChatLog).show(snapshot.said)
        self.refresh_bindings()

    def reacted(self, reaction: Reacted) -> None:
        """Somebody gasped; nothing of it is kept."""
        self.notify(
            f"{printable(reaction.name)}: {printable(reaction.kind)}", timeout=2, markup=False
        )

    def _show_tell(self, snapshot: Snapshot) -> None:
        tell = self.query_one("#tell", Static)
        visit = self.app.visit
        tell.set_class(bool(snapshot.addresses), "-own")
        tell.border_title = _("Tell the others   i: invite") if snapshot.addresses else None
        tell.update(
            lobby_words.tell(
                snapshot,
                where=None if visit is None else visit.where,
                most=ADDRESSES_HIGH if self.has_class("-high") else ADDRESSES_LOW,
            )
        )

    def _show_seats(self, room: Room) -> None:
        seats = self.query_one(Seats)
        # The keys are about the highlighted seat, and only the host has any.
        seats.set_class(self._snapshot is None or not self._snapshot.hosting, "-idle")
        highlighted = seats.highlighted
        air = "\n" if self.has_class("-high") else ""
        prompts = [Content.assemble(air, lobby_words.seat(room, seat), air) for seat in room.seats]
        if seats.option_count == len(prompts):
            for index, prompt in enumerate(prompts):
                seats.replace_option_prompt_at_index(index, prompt)
        else:
            seats.clear_options()
            seats.add_options([Option(prompt) for prompt in prompts])
        if highlighted is None:
            highlighted = room.me or 0
        if self._follow is not None:
            highlighted, self._follow = self._follow, None
        if prompts:
            seats.highlighted = min(highlighted, len(prompts) - 1)

    def on_resize(self) -> None:
        """A higher screen has more air and more addresses."""
        self.call_after_refresh(self._show_again)

    def _show_again(self) -> None:
        if self._snapshot is not None:
            self.show(self._snapshot)

    # --- What may be done ---------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        snapshot = self._snapshot
        there = snapshot is not None and snapshot.lost is None
        if action in ("start", "add_bot", "remove", "move", "options"):
            return there and snapshot is not None and snapshot.hosting
        if action == "sit":
            return there and snapshot is not None and may_sit(snapshot)
        if action == "chat":
            return snapshot is not None and snapshot.broker is None
        if action == "rules":
            return snapshot is not None
        return True

    def action_start(self) -> None:
        snapshot = self._snapshot
        if snapshot is None:
            return
        if missing := lobby_words.missing(snapshot.room):
            self.notify(missing, severity="warning", markup=False)
            return
        self._ask(Start())

    def action_add_bot(self) -> None:
        room = self._room
        if room is None:
            return
        if all(seat.kind != "open" for seat in room.seats):
            self.notify(
                _("No seat is open. Make the table larger with o, or remove somebody with x."),
                severity="warning",
                markup=False,
            )
            return
        levels = self._levels()
        if len(levels) < 2:
            self._ask(AddBot())
            return

        def answered(level: str | None) -> None:
            if level is not None:
                self._ask(AddBot(level=levels[int(level)]))

        choices = [
            Choice(str(number), printable(level), str(number + 1))
            for number, level in enumerate(levels)
        ]
        self.app.push_screen(Choose(_("How well shall the computer play?"), choices), answered)

    def _levels(self) -> list[str]:
        """The levels of computer players that the host has for this game."""
        visit, room = self.app.visit, self._room
        if visit is None or room is None or room.game not in visit.welcome.games:
            return []
        return visit.welcome.games[room.game].levels

    def action_sit(self) -> None:
        if self.app.visit is not None:
            work(self, take_seat(self.app, self.app.visit), "seat")

    def action_remove(self) -> None:
        seat = self._highlighted
        if seat is None or seat.kind == "open":
            return
        if self._room is not None and seat.seat == self._room.me:
            self.notify(
                _("That is your own seat. Esc leaves the table."),
                severity="warning",
                markup=False,
            )
        elif seat.kind == "human":

            def answered(choice: str | None) -> None:
                # The seats may have been changed meanwhile: it is the same person or nobody.
                now = self._room
                if choice == "remove" and now is not None:
                    for other in now.seats:
                        if other.kind == "human" and other.name == seat.name:
                            self._ask(Remove(seat=other.seat))

            self.app.push_screen(
                Choose(
                    _("Remove {name} from the table?").format(name=printable(seat.name)),
                    [
                        Choice("keep", _("No"), "n"),
                        Choice("remove", _("Yes, the seat is open again then"), "y"),
                    ],
                ),
                answered,
            )
        else:
            self._ask(Remove(seat=seat.seat))

    def action_move(self, by: int) -> None:
        seat, room = self._highlighted, self._room
        if seat is None or room is None:
            return
        to = seat.seat + by
        if 0 <= to < len(room.seats):
            self._follow = to
            self._ask(Move(seat=seat.seat, to=to))

    def action_options(self) -> None:
        room = self._room
        if room is None:
            return

        def answered(wishes: Wishes | None) -> None:
            if wishes is not None:
                self._ask(wishes.set())

        self.app.push_screen(
            TableForm(Wishes.of(room), creating=False, locked=room.locked), answered
        )

    def action_invite(self) -> None:
        invite.show(self.app)

    def action_rules(self) -> None:
        if self._snapshot is not None:
            self.app.push_screen(RulesHelp(self._snapshot))

    def action_chat(self) -> None:
        self.query_one("#say", Input).focus()

    @on(Input.Submitted, "#say")
    def _say(self, event: Input.Submitted) -> None:
        line = event.input
        try:
            words = chat(tidy(line.value))
        except TextError as error:
            if line.value.strip():
                self.notify(str(error), severity="warning", markup=False)
            return
        if self._snapshot is not None and self._snapshot.lost:
            self.notify(_("Not sent yet: the connection is away."), markup=False)
            return
        line.value = ""
        self._ask(Say(text=words))

    def action_leave(self) -> None:
        if self.query_one("#say").has_focus:
            self.query_one(Seats).focus()
        else:
            self.app.leave_table()

    # --- Helpers ------------------------------------------------------------------------------

    @property
    def _room(self) -> Room | None:
        return self._snapshot.room if self._snapshot else None

    @property
    def _highlighted(self) -> SeatInfo | None:
        index, room = self.query_one(Seats).highlighted, self._room
        if room is None or index is None or index >= len(room.seats):
            return None
        return room.seats[index]

    def _ask(self, body: Body) -> None:
        async def ask() -> None:
            try:
                await self.app.ask(body)
            except QEError as error:
                self._follow = None
                self.notify(printable(str(error)), severity="warning", markup=False)

        work(self, ask(), "ask", exclusive=False)
