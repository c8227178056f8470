"""The table: all that is needed to play on 80 by 24 cells, more beside it where there is room."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from protocol import qe
from protocol.errors import Code, LinkError, Refused
from protocol.messages import Act, Body, Pause, React, Reacted, Release, Rematch, Say, StandIn
from protocol.text import printable
from qe_tui import words
from qe_tui.amounts import AmountError, parse
from qe_tui.i18n import _
from qe_tui.model import Desk, Snapshot
from qe_tui.presence import Absences, takes_over
from qe_tui.screens import table_actions as actions
from qe_tui.screens import table_facts as facts
from qe_tui.screens import table_seat
from qe_tui.screens.chat import ChatScreen
from qe_tui.screens.ledger import LedgerScreen, newest
from qe_tui.screens.over import OverPanel
from qe_tui.screens.rules_help import RulesHelp
from qe_tui.screens.table_facts import Sight
from qe_tui.screens.table_react import ReactScreen
from qe_tui.screens.table_story import StoryScreen, save_story
from qe_tui.widgets import award, boards, ink, lines, side, tile_card
from qe_tui.widgets.cheque import NOTHING, Cheque, Note
from qe_tui.widgets.ink import Painted
from qe_tui.work import work

SMALLEST = (80, 24)
MOOD_SECONDS = 4.0

_log = logging.getLogger(__name__)


class TableScreen(Screen[None]):
    """A game, from its first tile to the end of it, for a seat or for somebody who looks on."""

    CSS_PATH = "../styles/table.tcss"
    AUTO_FOCUS = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (32, "-tall")]
    BINDINGS = [deed.binding for deed in actions.DEEDS]
    COMMANDS = {actions.TableCommands}

    def __init__(
        self,
        desk: Desk,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`clock` measures how long ago the focus moved; `now` is Unix time, for deadlines."""
        super().__init__()
        self._desk = desk
        self._now = now
        self._snapshot: Snapshot | None = desk.snapshot
        self._covered = False
        self._which: tuple[str, str, int | None] | None = None
        self._tied: tuple[int, frozenset[int]] = (0, frozenset())
        self._moods: dict[int, tuple[str, float]] = {}
        self._mood_line: tuple[str, float] = ("", 0.0)
        self._notice = NOTHING
        self._was_my_turn = False
        self.absences = Absences(now)
        self._reading = False
        """Whether one who may bid still has the last award before them, not the cheque."""
        self._focus_own = False
        """Whether the focus moves next because the reader began to type."""
        self._award_read = 0
        """The step at which the last award made room for the cheque."""
        self._inherited = 0
        """The last auction in which who sat here before has bid."""
        self._painted_second: object = None
        self.unsaid = ""
        """A chat line that was begun and not sent."""
        self._warned = ""
        """A chat line that looked like a bid."""
        self.cheque = Cheque(clock)
        self.over = OverPanel(now)

    # --- Layout -------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield Painted(self._painter(lambda s, w, h: lines.header(s, w)), id="header")
        with Horizontal(id="body"):
            with Vertical(id="table"):
                yield Painted(self._painter(self._paint_banner), id="banner")
                with Vertical(id="play"):
                    yield Painted(self._painter(lambda s, w, h: lines.todo(s, w)), id="todo")
                    with Horizontal(id="stage"):
                        yield Painted(self._painter(tile_card.paint), id="tile")
                        yield self.cheque
                        yield Painted(self._painter(tile_card.waiting_panel), id="wait")
                        yield Painted(self._painter(award.paint), id="award")
                    yield Painted(self._painter(self._paint_awaited), id="awaited")
                    yield Painted(self._painter(lambda s, w, h: boards.paint(s, w)), id="boards")
                    yield Painted(self._painter(lambda s, w, h: lines.score(s, w)), id="score")
                    yield Painted(self._painter(lambda s, w, h: lines.last(s, w)), id="last")
                    yield Painted(self._painter(newest), id="low")
                yield self.over
                yield Painted(self._painter(self._paint_chat), id="said")
            with Vertical(id="side"):
                yield Painted(self._painter(side.ledger), id="side-ledger")
                yield Painted(
                    self._painter(lambda s, w, h: side.chat(s.snapshot, w, h)), id="side-chat"
                )
        yield Painted(self._painter(self._paint_keys), id="keys")
        yield Static("", id="small")

    def on_mount(self) -> None:
        self.set_interval(0.25, self._tick)
        if self._snapshot is not None:
            self.show(self._snapshot)
            self._show()

    def on_resize(self, event: events.Resize) -> None:
        wide, high = SMALLEST
        small = event.size.width < wide or event.size.height < high
        grown = self.has_class("-small") and not small
        self.set_class(small, "-small")
        if small or grown:
            # What cannot be seen is not typed on; seen again, it takes keys again.
            self.call_after_refresh(self._show)
        if small:
            self.query_one("#small", Static).update(
                Content(
                    _(
                        "The table needs {wide} columns and {high} rows; there are {columns} by "
                        "{rows}. Please make the window larger. Nothing is lost meanwhile."
                    ).format(wide=wide, high=high, columns=event.size.width, rows=event.size.height)
                )
            )

    def _painter(
        self, paint: Callable[[Sight, int, int], Content]
    ) -> Callable[[int, int], Content]:
        def painted(width: int, height: int) -> Content:
            sight = self.sight
            return paint(sight, width, height) if sight is not None else Content("")

        return painted

    def _paint_banner(self, sight: Sight, width: int, height: int) -> Content:
        return lines.banner(sight, self._notice.shown(sight), width)

    def _paint_awaited(self, sight: Sight, width: int, height: int) -> Content:
        game = sight.snapshot.game
        if self.has_class("-award") and game is not None and facts.award_on_show(game):
            return lines.awaited(sight, width, lines.next_tile(sight, width))
        return lines.awaited(sight, width, tile_card.gain_line(sight))

    def _paint_chat(self, sight: Sight, width: int, height: int) -> Content:
        mood, until = self._mood_line
        return lines.chat(sight, mood if self._now() < until else "", width, height)

    def _paint_keys(self, sight: Sight, width: int, height: int) -> Content:
        snapshot = sight.snapshot
        game, seated = snapshot.game, facts.me(snapshot) is not None
        may_bid = snapshot.you is not None and snapshot.you.may_bid is not None
        first = None
        sealed = facts.has_bid(snapshot) and not self.cheque.typing
        if self._reading:
            first = ("0-9", _("bid"))
        elif may_bid and game is not None and not sealed and snapshot.lost is None:
            first = (_("Enter"), _("open") if game.phase == "opening" else _("seal"))
        tail = _("quit")
        if seated and snapshot.game is not None and snapshot.game.result is None:
            tail = _("leave, seat is kept")
        deeds = list(actions.possible(snapshot))
        if width < 100:
            spared = {"react"} if may_bid else {"react", "rules"} if self.has_class("-over") else ()
            deeds = [deed for deed in deeds if deed.name not in spared]
        elif width >= 120:
            # All that there is, but not both what is urgent and what can wait.
            urgent = any(deed.name in ("stand_in", "release") for deed in deeds)
            deeds = [
                replace(actions.at_length(deed, snapshot), in_line=True)
                for deed in deeds
                if not (urgent and deed.name == "give_up")
            ]
        if self._covered:
            deeds = [
                replace(deed, label=_("uncover")) if deed.name == "cover" else deed
                for deed in deeds
            ]
        return lines.keys(deeds, first, tail, width)

    @property
    def snapshot(self) -> Snapshot | None:
        """The table as it is shown now."""
        return self._snapshot

    # --- What is shown ------------------------------------------------------------------------

    @property
    def sight(self) -> Sight | None:
        """The snapshot and how it is looked at now."""
        if self._snapshot is None:
            return None
        now = self._now()
        moods = {seat: kind for seat, (kind, until) in self._moods.items() if now < until}
        return Sight(
            self._snapshot,
            now,
            self._covered,
            facts.tied_now(self._snapshot, self._tied[1]),
            moods,
            self._reading,
            self._inherited,
        )

    def show(self, snapshot: Snapshot) -> None:
        """Shows another state of the table."""
        before = self._snapshot
        self._snapshot = snapshot = self.absences.marked(snapshot)
        if before is not None and takes_over(before, snapshot):
            self.notify(
                _("You are the host of this table now.  ? lists what its host may do."),
                timeout=8,
                markup=False,
            )
        game = snapshot.game
        if game is not None:
            which = (snapshot.table, game.commitment, snapshot.room.me)
            if which != self._which:
                self._begin(which)
            self._inherited = facts.inherited(snapshot, self._inherited)
            step, tied = self._tied
            waiting = frozenset(game.waiting)
            self._tied = (game.step, tied | waiting if step == game.step else waiting)
            if step != game.step:
                self._notice = NOTHING
        if self.is_mounted:
            self._show()

    def _begin(self, which: tuple[str, str, int | None]) -> None:
        """Another game: nothing of the last one is left, a bid that was typed least of all."""
        if self._which is not None and self._which[0] != which[0]:
            self.unsaid = ""
        self._which = which
        self._tied = (0, frozenset())
        self._moods.clear()
        self._mood_line = ("", 0.0)
        self._notice = NOTHING
        self._was_my_turn = False
        self._award_read = 0
        self._inherited = 0
        self.workers.cancel_group(self, "bid")
        self.cheque.reset()

    def _show(self) -> None:
        sight = self.sight
        if sight is None or sight.snapshot.game is None:
            return
        snapshot, game = sight.snapshot, sight.snapshot.game
        you = snapshot.you
        assert game is not None
        over = game.result is not None
        may_bid = you is not None and you.may_bid is not None
        tie = game.phase == "rebid" and facts.me(snapshot) == game.auctioneer
        on_show = facts.award_on_show(game) is not None or tie
        wiped = self.cheque.show(sight)
        self._reading = may_bid and not over and self._award_unread(snapshot, game)
        bidding = may_bid and not over and not self._reading
        small = self.has_class("-small")
        self.set_class(over, "-over")
        self.set_class(snapshot.lost is not None, "-lost")
        self.set_class(bidding, "-cheque")
        self.set_class(not bidding and on_show and not over, "-award")
        self.set_class(not bidding and not on_show and not over, "-wait")
        self.set_class(len(game.seats) == 5, "-five")
        self.set_class(len(game.seats) == 3, "-three")
        self.query_one("#boards").styles.height = len(game.seats) + 1
        if wiped is not None and not (bidding and self.cheque.remarks):
            self._notice = wiped
        noticed = bool(self._notice.sentence)
        self.set_class(bool(snapshot.lost or noticed or snapshot.room.paused), "-banner")
        if over:
            self.over.show(sight)
        self._focus_bid(bidding and not small)
        for painted in self.query(Painted):
            painted.refresh()
        self._my_turn(facts.my_turn(snapshot) and not over)
        for screen in self.app.screen_stack:
            if isinstance(screen, LedgerScreen | ChatScreen | StoryScreen):
                screen.update_sight(sight)

    def _award_unread(self, snapshot: Snapshot, game: qe.Game) -> bool:
        """Whether there is an award that one who may bid has not sent away by typing."""
        return (
            facts.award_on_show(game) is not None
            and not facts.has_bid(snapshot)
            and not self.cheque.typing
            and self._award_read != game.step
        )

    def _begin_typing(self) -> None:
        """Lets the cheque take the award's place."""
        if self._reading and self._snapshot is not None and self._snapshot.game is not None:
            self._award_read = self._snapshot.game.step
            self._show()

    def _focus_bid(self, may_bid: bool) -> None:
        """The bid line has the focus while there is something to bid on. It is the only line on
        this screen that takes text, so nobody's line is taken from under their hands."""
        line = self.cheque.line
        line.disabled = not may_bid
        if may_bid and self.focused is not line:
            # It can have the focus only once it is on show; `on_key` brings it keys till then.
            self.call_after_refresh(self.set_focus, line)

    def _my_turn(self, mine: bool) -> None:
        if mine and not self._was_my_turn:
            self.app.bell()
        self._was_my_turn = mine

    def _tick(self) -> None:
        """Once a second where a clock runs; at once when a reaction has been seen enough."""
        if self._snapshot is not None:
            aged = self.absences.marked(self._snapshot)
            if aged.long_away != self._snapshot.long_away:
                self._snapshot = aged
                self._show()
        sight = self.sight
        if sight is None:
            return
        left = facts.seconds_left(sight.snapshot, sight.now)
        mood = self._now() < self._mood_line[1]
        seen = (None if left is None else int(left), mood, frozenset(sight.moods.items()))
        if seen != self._painted_second:
            self._painted_second = seen
            for name in ("#awaited", "#said", "#boards"):
                self.query_one(name).refresh()
            self.over.refresh_sheet()

    def reacted(self, reaction: Reacted) -> None:
        """Shows a reaction for a few seconds."""
        if reaction.kind not in words.REACTIONS:
            return
        until = self._now() + MOOD_SECONDS
        name = ink.cut(printable(reaction.name), 20) or _("somebody")
        self._mood_line = (words.REACTIONS[reaction.kind][2].format(name=name), until)
        if reaction.seat is not None:
            self._moods[reaction.seat] = (reaction.kind, until)
        self._painted_second = None
        if self.is_mounted:
            for painted in ("#said", "#boards"):
                self.query_one(painted).refresh()

    def notice(self, sentence: str) -> None:
        """Says that something went wrong, until the next step or the next thing that goes well."""
        self._notice = Note(sentence, "", sentence)
        if self.is_mounted:
            self._show()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if not self._focus_own:
            self.cheque.line.focus_moved()
        self._focus_own = False

    def on_screen_resume(self) -> None:
        self.cheque.line.focus_moved()

    # --- What is asked for --------------------------------------------------------------------

    def on_bid_line_edited(self) -> None:
        self.query_one("#keys").refresh()

    def on_cheque_sealed(self, event: Cheque.Sealed) -> None:
        body = Act(step=event.step, action={"kind": "bid", "amount": str(event.amount)})
        work(self, self._send_bid(body), "bid", exclusive=False)

    async def _send_bid(self, body: Act) -> None:
        wrong, unsure = await self._tried(body)
        if not self.is_mounted:
            return
        if unsure:
            self.cheque.unsure(body.step, wrong)
        elif wrong:
            self.cheque.failed(body.step, wrong)
        else:
            self.cheque.sent(body.step)

    async def _ask(self, body: Body) -> str:
        """Asks the host; a sentence about what went wrong, empty where nothing did."""
        wrong, _unsure = await self._tried(body)
        return wrong

    async def _tried(self, body: Body) -> tuple[str, bool]:
        """What went wrong, empty where nothing did; and whether the host may have it all the
        same."""
        if self._snapshot is not None and self._snapshot.lost is not None:
            return _("Not sent: the connection is away.  Try again when it is back."), False
        try:
            await self._desk.ask(body)
        except Refused as refused:
            if refused.code == Code.STALE:
                return _("Too late: that step had closed.  Nothing was sent in its place."), False
            return printable(str(refused)) or _("The host refused, and did not say why."), False
        except LinkError:
            return _("The connection went meanwhile; whether the host has it will show."), True
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # The type alone: a message or a traceback might hold what was asked for.
            _log.error("asking for %s failed: %s", type(body).__name__, type(error).__name__)
            return _("That did not work; why is in the log."), False
        return "", False

    def _ask_for(self, body: Body) -> None:
        async def ask() -> None:
            wrong = await self._ask(body)
            if self.is_mounted:
                self.notice(wrong)

        work(self, ask(), "ask", exclusive=False)

    # --- Deeds --------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "deed":
            return True
        if self._snapshot is None or not self.is_current:
            return False
        return actions.deed(str(parameters[0])).possible(self._snapshot)

    def action_deed(self, name: str) -> None:
        """Does one of the registry's deeds."""
        sight = self.sight
        deed = actions.deed(name)
        if sight is None or not deed.possible(sight.snapshot):
            return
        if self.over.skip():
            return
        if deed.asks and sight.snapshot.lost is not None:
            self.notify(_("Not while the connection is lost."), timeout=3, markup=False)
            return
        getattr(self, f"_do_{name}")(sight)

    def _do_again(self, sight: Sight) -> None:
        self._ask_for(Rematch())

    def _do_bids(self, sight: Sight) -> None:
        self.app.push_screen(LedgerScreen(sight))

    def _do_story(self, sight: Sight) -> None:
        self.app.push_screen(StoryScreen(sight))

    def _do_save(self, sight: Sight) -> None:
        async def save() -> None:
            try:
                path = await asyncio.to_thread(save_story, sight.snapshot)
            except OSError as error:
                sentence = _("The game could not be saved: {reason}.").format(
                    reason=error.strerror or _("the system gave no reason")
                )
            else:
                sentence = _("Saved: {path}").format(path=printable(str(path)))
            if self.is_mounted:
                self.over.say(sentence)

        work(self, save(), "save")

    def _do_ledger(self, sight: Sight) -> None:
        def closed(cover: bool | None) -> None:
            if cover:
                self._set_cover(True)

        self.app.push_screen(LedgerScreen(sight), closed)

    def _do_peek(self, sight: Sight) -> None:
        if sight.snapshot.game is not None:
            self._ask_for(Act(step=sight.snapshot.game.step, action={"kind": "peek"}))

    def _do_chat(self, sight: Sight) -> None:
        def closed(line: str | None) -> None:
            if line and self._looks_like_a_bid(line):
                self._warned = self.unsaid = line
                self.notice(_("That looks like a bid, and all would read it. Enter again says it."))
                self.action_deed("chat")
            elif line:
                self._warned = ""
                self._ask_for(Say(text=line))

        self.app.push_screen(ChatScreen(self, sight), closed)

    def _looks_like_a_bid(self, line: str) -> bool:
        """Whether a chat line is an amount while one is due, and was not said a second time."""
        you = self._snapshot.you if self._snapshot is not None else None
        if you is None or you.may_bid is None or line == self._warned:
            return False
        try:
            parse(line)
        except AmountError:
            return False
        return True

    def _do_react(self, sight: Sight) -> None:
        def chosen(kind: str | None) -> None:
            if kind in words.REACTIONS:
                self._ask_for(React(kind=kind))  # type: ignore[arg-type]

        self.app.push_screen(ReactScreen(), chosen)

    def _do_cover(self, sight: Sight) -> None:
        self._set_cover(not self._covered)

    def _set_cover(self, covered: bool) -> None:
        self._covered = covered
        self._show()

    def _do_rules(self, sight: Sight) -> None:
        self.app.push_screen(RulesHelp(sight.snapshot))

    def _do_pause(self, sight: Sight) -> None:
        self._ask_for(Pause(on=not sight.snapshot.room.paused))

    def _do_stand_in(self, sight: Sight) -> None:
        table_seat.ask_about(
            self.app,
            table_seat.stand_in,
            actions.stand_in_seats,
            lambda: self._snapshot,
            lambda seat: self._ask_for(StandIn(seat=seat)),
        )

    def _do_release(self, sight: Sight) -> None:
        table_seat.ask_about(
            self.app,
            table_seat.release,
            actions.release_seats,
            lambda: self._snapshot,
            lambda seat: self._ask_for(Release(seat=seat)),
        )

    def _do_sit(self, sight: Sight) -> None:
        app: Any = self.app
        if app.visit is not None:
            work(self, table_seat.take_freed(app, app.visit, sight.snapshot.room), "seat")

    def _do_leave(self, sight: Sight) -> None:
        self._desk.leave_table()

    def _do_give_up(self, sight: Sight) -> None:
        self._desk.leave_table()

    def on_key(self, event: events.Key) -> None:
        """Keys that come while the bid line has not the focus, or not yet."""
        if self.over.skip():
            event.stop()
            return
        line = self.cheque.line
        shown = self._reading or self.has_class("-cheque")
        if not shown or self.has_class("-small") or self.focused is line:
            return
        if event.key == "enter":
            self._begin_typing()
            return
        typed = event.character or ""
        begins = typed.isdecimal() or not self._reading
        if line.takes(typed) and not line.swallows(event) and begins:
            # The focus moves by the reader's own key: no reason to mistrust the next Enter.
            self._focus_own = True
            self._begin_typing()
            line.insert_text_at_cursor(typed)

    def on_paste(self, event: events.Paste) -> None:
        if self._reading and not self.has_class("-small"):
            self._begin_typing()
            self.cheque.line.post_message(event)

    def on_click(self, event: events.Click) -> None:
        if event.widget is not None and event.widget.id == "award":
            self._begin_typing()
