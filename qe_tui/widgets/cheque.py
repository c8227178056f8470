"""The cheque: the line that a bid is typed on, and the rules against sending the wrong one.

What is typed belongs to the step at which its first key was typed: on a new step the line is
emptied and says so, and the rest of that number is not taken for the beginning of another. Enter
does nothing for a moment after the focus has moved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.strip import Strip

from protocol.messages import Room
from protocol.qe import MAX_DIGITS
from qe_tui import amounts, words
from qe_tui.amounts import AmountError, grouped, in_words
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens import table_facts as facts
from qe_tui.screens.table_facts import Sight
from qe_tui.widgets import ink
from qe_tui.widgets.discreet import DiscreetInput
from qe_tui.widgets.ink import Painted

ENTER_AFTER = 0.4
"""Seconds after the focus has moved in which Enter does nothing."""

REST = 0.6
"""Seconds without a key after which a number that was being typed as its step closed is over."""

_ALLOWED = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ^.,_ *-'")
_MOST_TYPED = 2 * MAX_DIGITS


class BidLine(DiscreetInput):
    """Takes what belongs to amounts, groups digits while they are typed."""

    class Entered(Message):
        """Enter, late enough after the focus moved."""

    class TooEarly(Message):
        """Enter, too soon after the focus moved or the step began."""

    class Edited(Message):
        """The text is another one."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(id="bid", compact=True, select_on_focus=False, max_length=_MOST_TYPED)
        self._clock = clock
        self._moved = clock()
        self._last_key = clock() - REST
        self._swallowing = False
        self._begun = 0.0
        self.step = 0
        """The step that is open now."""
        self.belongs_to: int | None = None
        """The step at which the first key was typed, None while the line is empty."""
        self.locked = False
        """While a bid is under way, so that what is shown is what was sent."""

    def focus_moved(self) -> None:
        """To be called whenever the focus has moved, or another screen has gone."""
        self._moved = self._clock()

    def begin(self, step: int) -> bool:
        """Another step is open now. Whether the line has text of an older one."""
        stale = self.belongs_to is not None and self.belongs_to != step
        self.step = step
        self._moved = self._clock()
        self._swallowing = stale
        self._begun = Message().time
        return stale

    def swallows(self, event: events.Event) -> bool:
        """Whether a key or paste belongs to a step that has closed.

        A hand that types a number goes on for a moment after the line was wiped; and a key may
        have waited, by Textual's own clock, since before the step was on show.
        """
        if event.time < self._begun:
            return True
        now = self._clock()
        self._swallowing = self._swallowing and now - self._last_key < REST
        self._last_key = now
        return self._swallowing

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return self.takes(character)

    @staticmethod
    def takes(character: str | None) -> bool:
        """Whether a character may be part of an amount."""
        return character is not None and character in _ALLOWED

    async def _on_key(self, event: events.Key) -> None:
        # What is no amount is left out here; keys with a meaning are bindings with priority.
        if event.key == "enter" and self.swallows(event):
            event.prevent_default()
            event.stop()
            return
        swallowed = event.is_printable and self.swallows(event)
        if swallowed or (event.is_printable and (not self.takes(event.character) or self.locked)):
            event.prevent_default()
            event.stop()

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        if event.text and not self.locked and not self.swallows(event):
            line = "".join(c for c in event.text.splitlines()[0] if c in _ALLOWED)
            self.replace(line, *self.selection)

    def replace(self, text: str, start: int, end: int) -> None:
        """Every edit goes through here: it is grouped, and bound to the step."""
        if self.locked:
            return
        before = self.value
        super().replace(text, start, end)
        if self.value == before:
            return
        value, cursor = amounts.regroup(before, self.value, self.cursor_position)
        if value != self.value:
            self.value = value
            self.cursor_position = cursor
        if not self.value:
            self.belongs_to = None
        elif self.belongs_to is None:
            self.belongs_to = self.step
        self.post_message(self.Edited())

    def empty(self) -> None:
        """Wipes the line."""
        self.locked = False
        self.belongs_to = None
        self.value = ""

    async def action_submit(self) -> None:
        if not self.locked:
            early = self._clock() - self._moved < ENTER_AFTER
            self.post_message(self.TooEarly() if early else self.Entered())

    def render_line(self, y: int) -> Strip:
        """Covered, the line is the same whatever is on it; sealed, it has no cursor."""
        if y == 0 and self.password and self.value:
            return self._fixed("• • •")
        if y == 0 and self.placeholder and not self.value:
            return self._fixed(self.placeholder)
        return super().render_line(y)

    def _fixed(self, text: str) -> Strip:
        strip = Strip([Segment(text)]).extend_cell_length(self.size.width)
        return strip.crop(0, self.size.width).apply_style(self.rich_style)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark. `covered` is what it says while the neighbours may look."""

    sentence: str
    style: str
    covered: str

    def shown(self, sight: Sight) -> str:
        """What may be shown of it now."""
        return self.covered if sight.covered else self.sentence


NOTHING = Note("", "", "")


@dataclass(slots=True)
class Unsure:
    """A bid that was on its way when the connection went. `room` is the last one seen before a
    view can tell whether the host has it; None until the loss has been shown."""

    step: int
    auction: int
    amount: str = field(repr=False)
    room: Room | None = None


class Cheque(Vertical):
    """The payee, the amount, the amount in words, and a remark."""

    class Sealed(Message):
        """The player sealed an amount for a step."""

        def __init__(self, step: int, amount: int) -> None:
            super().__init__()
            self.step = step
            self.amount = amount

        def __rich_repr__(self):  # type: ignore[no-untyped-def]
            yield self.step

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(id="cheque")
        self.line = BidLine(clock)
        self._payee = Painted(self._paint_payee, id="payee")
        self._reading = Painted(self._paint_reading, id="reading")
        self._remark = Painted(self._paint_remark, id="remark")
        self._sight: Sight | None = None
        self._note = NOTHING
        """A remark that stays until the next key."""
        self._sending: int | None = None
        self._sent = ""
        """The amount that is on its way, while `_sending` says for which step."""
        self._auction = 0
        """The auction that it is for."""
        self._unsure: Unsure | None = None

    DEFAULT_CSS = """
    Cheque.-sealed { border: round $border-blurred; }
    """

    def compose(self) -> ComposeResult:
        yield self._payee
        yield self.line
        yield self._reading
        yield self._remark

    @property
    def typing(self) -> bool:
        """Whether there is text on the line."""
        return bool(self.line.value)

    # --- The first rule: a bid belongs to its step --------------------------------------------

    def show(self, sight: Sight) -> Note | None:
        """Shows another state of the table, and wipes what belonged to an older step.

        Gives what is to be said of what was wiped.
        """
        before = self._sight.snapshot if self._sight is not None else None
        self._sight = sight
        game, you = sight.snapshot.game, sight.snapshot.you
        self.line.password = sight.covered
        if game is None or you is None:
            return None
        became = self._settled(sight.snapshot)
        wiped = None
        if self.line.step != game.step:
            stale = self.line.begin(game.step)
            if became is not None:
                # It is no answer to what is asked for now: it stands beside this cheque, not on it.
                self.line.empty()
                self._note, wiped = NOTHING, became
            elif stale and self._sending is None:
                self.line.empty()
                self._note = wiped = self._what_became(before, sight.snapshot)
            elif not stale:
                self._note = NOTHING
        if self._sending == game.step and facts.sealed(sight.snapshot) == self._sent:
            # The view has overtaken the answer: nothing of a sealed bid stays on show.
            self.sent(game.step)
        self.line.placeholder = self._placeholder(sight.snapshot)
        self.set_class(facts.has_bid(sight.snapshot) and not self.typing, "-sealed")
        self._repaint()
        return wiped

    def _settled(self, now: Snapshot) -> Note | None:
        """Whether a bid that was on its way when the connection went has reached the host: what
        is to be said of it, once a view tells. It is never sent again by itself."""
        unsure, game, you = self._unsure, now.game, now.you
        if unsure is None or game is None or you is None:
            return None
        if now.lost is not None:
            unsure.room = now.room
            return None
        if unsure.room is None or unsure.room is now.room:
            return None
        self._unsure = None
        if game.step == unsure.step:
            reached = facts.sealed(now) == unsure.amount
        else:
            own = facts.standing(now, game.history[-1].auction if game.history else 0)
            stands = facts.standing(now, game.auction).get(you.seat) or own.get(you.seat)
            reached = stands is not None and str(stands.amount) == unsure.amount
        if not reached:
            if game.step == unsure.step:
                self.say(_("The host did not get it.  Enter seals it."), ink.WARN)
            return None
        has = _("The host has your bid of auction {number}.")
        if game.auction != unsure.auction:
            has = _("The host had your bid of auction {number}.")
        said = has.format(number=unsure.auction)
        note = Note(said, ink.GOOD, said)
        if self.typing and str(self._read()) == unsure.amount:
            self.line.empty()
        self._note = note if game.step == unsure.step else NOTHING
        return note

    def _what_became(self, before: Snapshot | None, now: Snapshot) -> Note:
        """What became of the step that the wiped text was for."""
        closed = _("That step is closed; what you typed was not sent.")
        game = before.game if before is not None else None
        if before is None or game is None or before.you is None:
            return Note(closed, ink.WARN, closed)
        stood = facts.sealed(before)
        if stood is not None:
            return Note(
                _("Closed before your change; {amount} stood.").format(
                    amount=amounts.short(stood, 16)
                ),
                ink.WARN,
                _("Closed before your change; your bid stood."),
            )
        own = facts.standing(now, game.auction).get(before.you.seat)
        if facts.stands_unseen(before):
            stood = _("Closed before your change; the bid from before you came stood.")
            return Note(stood, ink.WARN, stood)
        if own is not None:
            return Note(
                _("Time ran out before you sealed; {amount} was bid for you.").format(
                    amount=amounts.short(str(own.amount), 16)
                ),
                ink.WARN,
                _("Time ran out before you sealed; a bid was made for you."),
            )
        return Note(closed, ink.WARN, closed)

    def _placeholder(self, snapshot: Snapshot) -> str:
        if facts.stands_unseen(snapshot):
            return _("[ SEALED before you came ]")
        return _("[ SEALED ]") if facts.sealed(snapshot) is not None else ""

    @property
    def remarks(self) -> bool:
        """Whether there is a remark on it that stays until the next key."""
        return bool(self._note.sentence)

    # --- Sending ------------------------------------------------------------------------------
    def on_bid_line_too_early(self, event: BidLine.TooEarly) -> None:
        event.stop()
        if self.typing:
            self.say(_("Enter once more seals it."), ink.QUIET)

    def on_bid_line_entered(self, event: BidLine.Entered) -> None:
        event.stop()
        if self._sight is None or self._sending is not None:
            return
        try:
            amount = amounts.parse(self.line.value)
        except AmountError as error:
            self.say(str(error), ink.BAD, _("That is no amount."))
            return
        wrong = self._why_not(amount)
        if wrong or self.line.belongs_to is None:
            self.say(wrong, ink.BAD, _("The rules do not allow that amount."))
            return
        self._sending = self.line.belongs_to
        self._sent = str(amount)
        self._auction = game.auction if (game := self._sight.snapshot.game) is not None else 0
        self.line.locked = True
        self.say(_("Sealing it ..."), ink.QUIET)
        self.post_message(self.Sealed(self._sending, amount))

    def _why_not(self, amount: int) -> str:
        """A sentence on why the rules forbid the amount, empty where they do not."""
        you = self._sight.snapshot.you if self._sight is not None else None
        if you is None or you.may_bid is None:
            return _("There is nothing to bid on for you now.")
        if amount < int(you.may_bid.minimum):
            return _("The opening bid must be at least {amount}.").format(
                amount=you.may_bid.minimum
            )
        if you.may_bid.other_than is not None and amount == int(you.may_bid.other_than):
            return _("Equal to the opening bid: that one amount is not allowed.")
        return ""

    def reset(self) -> None:
        """Another game, or another table: nothing that was typed for the old one is left."""
        self._sight = None
        self._note = NOTHING
        self._sending = None
        self._sent = ""
        self._unsure = None
        self.line.empty()

    def sent(self, step: int) -> None:
        """The host has the bid of that step."""
        if self._sending != step:
            return
        self._sending = None
        self._sent = ""
        self.line.empty()
        self.say("", "")

    def failed(self, step: int, sentence: str) -> None:
        """The host does not have it, or nobody knows. What was typed stays, in its own step."""
        if self._sending != step:
            return
        self._sending = None
        self.line.locked = False
        if self.line.belongs_to != self.line.step:
            self.line.empty()
        self.say(sentence, ink.BAD, _("That bid was not taken."))

    def unsure(self, step: int, sentence: str) -> None:
        """The connection went before the answer came: a view will tell what became of the bid."""
        if self._sending == step:
            lost = self._sight is not None and self._sight.snapshot.lost is not None
            room = self._sight.snapshot.room if self._sight is not None and lost else None
            self._unsure = Unsure(step, self._auction, self._sent, room)
            self.failed(step, sentence)

    def say(self, sentence: str, style: str, covered: str | None = None) -> None:
        """A remark until the next key; `covered` where it would tell what is typed."""
        self._note = Note(sentence, style, sentence if covered is None else covered)
        self._repaint()

    def on_bid_line_edited(self) -> None:
        self._note = NOTHING
        sight = self._sight
        sealed = sight is not None and facts.has_bid(sight.snapshot)
        self.set_class(sealed and not self.typing, "-sealed")
        self._repaint()

    # --- Paint --------------------------------------------------------------------------------

    def _repaint(self) -> None:
        for part in (self._payee, self._reading, self._remark):
            part.refresh()

    def _paint_payee(self, width: int, height: int) -> Content:
        if self._sight is None:
            return Content("")
        game, you = self._sight.snapshot.game, self._sight.snapshot.you
        if game is None or you is None or game.tile is None:
            return Content("")
        text = _("{bank} pays for {tile}").format(
            bank=words.bank(game.seats[you.seat].nation), tile=words.tile_long(game.tile)
        )
        return Content.styled(text, ink.QUIET)

    def _read(self) -> int | None:
        try:
            return amounts.parse(self.line.value)
        except AmountError:
            return None

    def _paint_reading(self, width: int, height: int) -> Content:
        """How the line is read: in words, and in figures where they are not what was typed."""
        if self._sight is None or not self.line.value:
            return self._paint_hint(height)
        if self._sight.covered:
            return Content.styled(_("Covered.  Esc shows it."), ink.QUIET)
        amount = self._read()
        if amount is None:
            return Content("")
        plain = grouped(amount)
        lines: list[Content] = []
        if plain != self.line.value or len(plain) > width - 2:
            lines.append(Content("= " + grouped(amount, width - 2)))
        # Words break between rows, which costs some cells of the room.
        rows = height - len(lines)
        room = width * rows - 12 * (rows - 1)
        lines += Content(in_words(amount, room)).wrap(width)
        return ink.rows(lines[:height])

    def _paint_hint(self, height: int) -> Content:
        if self._sight is not None and facts.stands_unseen(self._sight.snapshot):
            return Content.styled(_("It counts, and you may not see it yet."), ink.QUIET)
        if self._sight is not None and facts.sealed(self._sight.snapshot) is not None:
            return Content.styled(_("Nobody sees it before all are in."), ink.QUIET)
        return Content.styled(_("12000   12k   1.5m   10^30"), ink.FAINT)

    def _paint_remark(self, width: int, height: int) -> Content:
        if self._sight is None:
            return Content("")
        game, you = self._sight.snapshot.game, self._sight.snapshot.you
        if game is None or you is None or you.may_bid is None:
            return Content("")
        sentence, style = self._note.shown(self._sight), self._note.style
        first = Content.styled(sentence, style) if sentence else self._compared()
        if first.cell_length > width:
            return ink.rows(first.wrap(width)[:height])
        does = _("Enter opens") if game.phase == "opening" else _("Enter seals it")
        can = self.typing and not sentence and self._sight.snapshot.lost is None
        enter = ink.text((does, ink.MINE)) if can else Content("")
        lines = [ink.ends(first, enter, width)]
        if game.phase == "blind" and not self._sight.covered:
            lines.append(Content.styled(self._dread(you.spent, width), ink.WARN))
        elif self.typing and facts.has_bid(self._sight.snapshot):
            lines.append(Content.styled(_("Until then your sealed bid stands."), ink.QUIET))
        return ink.rows(lines[-height:])

    def _compared(self) -> Content:
        """The amount beside the opening bid, while it is typed."""
        sight = self._sight
        assert sight is not None
        game, you = sight.snapshot.game, sight.snapshot.you
        assert game is not None
        assert you is not None
        if not self.line.value:
            return Content.styled(self._quiet_word(sight), ink.QUIET)
        if sight.covered:
            return Content("")
        try:
            amount = amounts.parse(self.line.value)
        except AmountError as error:
            return Content.styled(str(error), ink.WARN)
        wrong = self._why_not(amount)
        if wrong:
            return Content.styled(wrong, ink.BAD)
        if game.opening is None:
            return Content("")
        over = amount > int(game.opening)
        if over:
            return Content.styled("▲ " + _("over the opening"), ink.GOOD)
        if amount == 0:
            scores = facts.zero_scores(sight.snapshot)
            zero = _("a zero bid: +2 VP if it stands") if scores else _("a zero bid, no VP")
            return Content.styled("▼ " + zero, ink.WARN)
        return Content.styled("▼ " + _("under the opening"), ink.WARN)

    def _quiet_word(self, sight: Sight) -> str:
        game, you = sight.snapshot.game, sight.snapshot.you
        assert game is not None
        assert you is not None
        if facts.stands_unseen(sight.snapshot):
            return _("Type an amount to put yours in its place.")
        if facts.sealed(sight.snapshot) is not None:
            return _("Type an amount to change your bid.")
        if game.phase == "blind":
            return _("zero allowed, worth nothing")
        return _("Type an amount.")

    def _dread(self, spent: str, width: int) -> str:
        """The total with this bid: as it is typed, or else as it is sealed."""
        amount = self._read() if self.line.value else None
        if amount is None:
            if self._sight is not None and facts.has_bid(self._sight.snapshot):
                return _("spent so far {spent}").format(spent=grouped(spent, 30))
            amount = 0
        return _("spent so far {spent}; with this bid {total}").format(
            spent=amounts.short(spent, 12),
            total=amounts.short(int(spent) + amount, max(7, width - 34)),
        )
