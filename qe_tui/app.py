"""The application: it owns what is known of the table, and decides which screen shows it."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from rich.text import Text
from textual import on
from textual.app import SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from protocol.errors import ConnectionLost, FingerprintChanged, MessageError, QEError
from protocol.invitation import Where
from protocol.messages import Body, Leave, Reacted, Said, View
from protocol.text import printable
from protocol.trust import Pins
from qe_tui import errands, hosting, link, own, terminal
from qe_tui.browse import Browser, Downgraded, FoundHost
from qe_tui.hosting import HostingError, Running
from qe_tui.i18n import _
from qe_tui.keys import KeysInOrder
from qe_tui.model import Snapshot, read_view
from qe_tui.screens.address import AddressScreen
from qe_tui.screens.form import TableForm, Wishes
from qe_tui.screens.lobby import LobbyScreen
from qe_tui.screens.menu import MenuScreen
from qe_tui.screens.prompts import Choice, Choose, Notice, Waiting
from qe_tui.screens.stop import Stop
from qe_tui.screens.table import TableScreen
from qe_tui.settings import Home, Settings, default_name, save
from qe_tui.theme import THEME
from qe_tui.visit import Visit
from qe_tui.work import work

log = logging.getLogger("qe.app")

KEPT_CHAT = 200
"""How many chat messages are kept."""

MENU = Choice("menu", _("Back to the menu"), "m")
QUIT = Choice("quit", _("Quit"), "q")


class QEApp(KeysInOrder):
    """The screens of one player or spectator. It is the `Desk` of the table's screens."""

    TITLE = "QE"
    CSS_PATH = "styles/app.tcss"
    BINDINGS = [
        Binding("ctrl+q", "quit", _("Quit"), key_display="^q", priority=True, id="quit"),
    ]

    def __init__(
        self,
        home: Home,
        settings: Settings,
        errand: errands.Errand | None = None,
        *,
        name: str | None = None,
        password: str | None = None,
        notice: str | None = None,
        broker: str | None = None,
    ) -> None:
        """`errand` is what the command line asked for, to be done at once; the program ends with
        it. Without one there is the menu, which lists the hosts on the `broker` at that URL too.
        `password` answers the first locked table."""
        super().__init__()
        self.home = home
        self.settings = settings
        self.player = name or settings.name or default_name()
        self.visit: Visit | None = errand.visit if errand else None
        self.password = password
        self.left_running: Running | None = None
        self._errand = errand
        self._notice = notice
        self._broker = broker
        self._snapshot: Snapshot | None = None
        self._table_screen: TableScreen | None = None
        self._early: tuple[Said, ...] = ()
        self._hold_lobby = False
        self._reviving = False

    def on_mount(self) -> None:
        if not self.is_headless:
            terminal.stay_gone()
        self.register_theme(THEME)
        if "TEXTUAL_THEME" not in os.environ:
            self.theme = THEME.name
        if self._notice:
            self.notify(self._notice, severity="warning", timeout=10, markup=False)
        if self._errand is None:
            self.show_only(MenuScreen())
        else:
            self.run_errand(self._errand.run(self))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Without the screenshot: it would leave a file with the bid that is being typed."""
        for command in super().get_system_commands(screen):
            if command.title != "Screenshot":
                yield command

    def action_help_quit(self) -> None:
        """Ctrl+C is no way out: it may be meant to copy."""
        self.notify(_("Ctrl+Q leaves. A seat is kept."), markup=False)

    # --- Desk -----------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot | None:
        return self._snapshot

    async def ask(self, body: Body) -> dict[str, Any]:
        """Sends a request and gives its result. Raises Refused and LinkError."""
        if self.visit is None:
            raise ConnectionLost(_("There is no connection to a host."))
        return await self.visit.stay.ask(body)

    def leave_table(self) -> None:
        """Asks once, then gives the seat up."""
        visit, snapshot = self.visit, self._snapshot
        if visit is None or snapshot is None or isinstance(self.screen, Choose):
            return
        if visit.watching:
            self._leave(True)
            return
        stay = Choice("stay", _("Stay"), "n")
        if visit.private and snapshot.room.stage == "playing":
            question = _("Leave the game?")
            choices = [
                stay,
                Choice("keep", _("Leave, and go on with it another time"), "y"),
                Choice("give", _("Leave it for good"), "x"),
            ]
        else:
            question = _("Leave the table?")
            choices = [stay, Choice("give", _("Leave, and give the seat up"), "y")]
            if not visit.private:
                choices.append(Choice("keep", _("Leave, and keep the seat for later"), "k"))

        def answered(choice: str | None) -> None:
            if choice in ("give", "keep") and self.visit is visit:
                self._leave(choice == "give")

        self.push_screen(Choose(question, choices), answered)

    def _leave(self, give_up: bool) -> None:
        async def leave() -> None:
            self.show_only(Waiting(_("Leaving the table ...")))
            if give_up:
                with contextlib.suppress(QEError):
                    await self.ask(Leave())
                await self.end_visit()
            self.done()

        self.run_errand(leave())

    # --- Where one may go -----------------------------------------------------------------------

    def show_only(self, screen: Screen[Any], callback: Callable[[Any], None] | None = None) -> None:
        """Makes a screen the only one, whatever was there before."""
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.push_screen(screen, callback)

    def go(self, way: str) -> None:
        """What the menu offers, and `menu` itself."""
        match way:
            case "menu":
                self.run_errand(self._to_menu())
            case "play":
                self._ask_players()
            case "host":

                def wished(wishes: Wishes | None) -> None:
                    if wishes is not None:
                        self.run_errand(errands.host(self, wishes))

                seats = Wishes(seats=self.settings.players)
                self.push_screen(TableForm(seats, creating=True), wished)
            case "join" | "watch":
                self.show_only(
                    AddressScreen(way == "watch", self.settings.address, self.settings.tls)
                )

    def _ask_players(self) -> None:
        def answered(choice: str | None) -> None:
            if choice is not None:
                self.settings.players = int(choice)
                self.remember()
                self.run_errand(errands.play(self, int(choice)))

        choices = [
            Choice("4", _("4 players, 16 auctions"), "4"),
            Choice("3", _("3 players, and a last tile sold blind"), "3"),
            Choice("5", _("5 players, and a peek for each"), "5"),
        ]
        choices.sort(key=lambda choice: choice.id != str(self.settings.players))
        self.push_screen(Choose(_("How many players, you among them?"), choices), answered)

    def call_at(self, where: Where, watching: bool) -> None:
        """Connects to a host, from the address screen."""
        self.run_errand(errands.call(self, where, watching))

    def browser(self) -> Browser:
        """Looks for hosts, for as long as it is entered."""
        broker = None
        if self._broker is not None:
            # Its library takes its time to load, and most know no broker.
            from qe_tui.broker import BrokerHosts

            broker = BrokerHosts(self._broker)
        return Browser(Pins(self.home.pins), broker=broker)

    def visit_found(self, host: FoundHost, code: str | None, watching: bool) -> None:
        """Goes to a table in the menu's list, or to the list of a host that has none."""
        self.run_errand(errands.go_to(self, host, code, watching))

    async def _to_menu(self) -> None:
        if errands.given_way_back():
            self.exit()
            return
        await self.end_visit()
        self.show_only(MenuScreen())

    def done(self) -> None:
        """The errand is over: the program ends if it was started for that, else the menu comes."""
        if self._errand is not None:
            self.exit()
        else:
            self.go("menu")

    def run_errand(self, errand: Awaitable[None]) -> None:
        """Runs what may take a while; a newer errand ends an older one."""

        async def run() -> None:
            try:
                await errand
            except (FingerprintChanged, Downgraded) as error:
                self.stop(error)
            except (QEError, HostingError) as error:
                log.info("An errand failed: %s", type(error).__name__)
                self.failed(str(error))

        work(self, run(), "errand")

    def stop(self, why: QEError) -> None:
        """Says that a host is not to be trusted."""
        log.info("A host is not to be trusted: %s", type(why).__name__)
        shown = why if isinstance(why, FingerprintChanged) else str(why)
        self._end_with(_("STOP"), shown, [MENU, QUIT])

    def failed(self, sentence: str) -> None:
        """Says what went wrong, and what may be done now."""
        if isinstance(self.screen, AddressScreen):
            self.screen.wrong(sentence)
            return
        self._end_with(_("SORRY"), sentence, [MENU, QUIT])

    def _end_with(self, place: str, why: str | FingerprintChanged, choices: list[Choice]) -> None:
        visit = self.visit

        def chosen(choice: str | None) -> None:
            if choice == "quit" or (choice != "tables" and errands.given_way_back()):
                self.exit()
            elif choice == "tables" and visit is not None:
                self.run_errand(errands.again(self, visit))
            else:
                self._errand = None
                self.go("menu")

        if errands.given_way_back():
            choices = [choice for choice in choices if choice is not MENU]
        over = Notice(place, why, choices) if isinstance(why, str) else Stop(why, choices)
        over.set_class(place == _("STOP"), "stop")
        self.show_only(over, chosen)

    # --- Names and settings -----------------------------------------------------------------------

    def rename(self, name: str) -> None:
        self.player = self.settings.name = name
        self.remember()

    def remember(self) -> None:
        """Keeps the settings; that they could not be kept is no reason to stop."""
        try:
            save(self.home.settings, self.settings)
        except OSError as error:
            log.warning("The settings could not be kept: %s", type(error).__name__)

    # --- The connection -------------------------------------------------------------------------

    def arrive(self, visit: Visit, *, hold_lobby: bool = False) -> None:
        """Listens to a host from now on. `hold_lobby` keeps its lobby from being shown."""
        self.visit = visit
        self._snapshot = None
        self._early = ()
        self._hold_lobby = hold_lobby
        work(self, link.listen(visit, self.post_message), "link")

    def release_lobby(self) -> None:
        self._hold_lobby = False

    async def end_visit(self) -> None:
        """Leaves a host: a private one ends, one for others runs on."""
        visit, self.visit = self.visit, None
        self._snapshot = None
        if visit is None:
            return
        self.workers.cancel_group(self, "link")
        await self._part(visit)

    async def depart(self) -> None:
        """To be called when the screen is gone."""
        if self.visit is not None:
            await self._part(self.visit, self._snapshot)

    async def _part(self, visit: Visit, snapshot: Snapshot | None = None) -> None:
        if visit.private and snapshot is not None and snapshot.room.stage == "over":
            with contextlib.suppress(QEError):
                await visit.stay.ask(Leave())
        await visit.close()
        if visit.running is not None:
            if visit.private:
                await hosting.stop(visit.running)
            else:
                self.left_running = visit.running

    @on(link.Heard)
    def _heard(self, message: link.Heard) -> None:
        if message.visit is not self.visit:
            return
        match message.event:
            case View() as view:
                self._viewed(message.visit, view)
            case Said() as said:
                self._said(said)
            case Reacted() as reaction:
                for screen in self.screen_stack:
                    if callable(reacted := getattr(screen, "reacted", None)):
                        screen.call_later(reacted, reaction)

    def _viewed(self, visit: Visit, view: View) -> None:
        try:
            game, you = read_view(view)
        except MessageError as error:
            log.error("%s", error)
            self._end_with(
                _("SORRY"),
                _("The host speaks of things that make no sense, or that this version is too old "
                  "to know."),
                [MENU, QUIT],
            )  # fmt: skip
            return
        visit.table = view.table
        visit.watching = view.room.me is None
        before = self._snapshot
        said = before.said if before is not None and before.table == view.table else ()
        self.present(
            Snapshot(
                table=view.table,
                room=view.room,
                game=game,
                you=you,
                clock=visit.stay.clock,
                said=said or self._early,
                addresses=visit.addresses,
                broker=visit.broker,
            )
        )

    def _said(self, said: Said) -> None:
        if self._snapshot is None or self._snapshot.table != said.table:
            self._early = (*self._early, said)[-KEPT_CHAT:]
            return
        self.present(replace(self._snapshot, said=(*self._snapshot.said, said)[-KEPT_CHAT:]))

    @on(link.LinkLost)
    def _lost(self, message: link.LinkLost) -> None:
        if message.visit is not self.visit:
            return
        if self._snapshot is not None:
            self.present(replace(self._snapshot, lost=printable(message.sentence)))
        died = message.visit.running is not None and not message.shut_down
        if died and not self._reviving:
            self._reviving = True
            work(self, self._revive(message.visit), "revive")

    async def _revive(self, visit: Visit) -> None:
        try:
            await own.revive(self.home, visit)
        except HostingError as error:
            log.warning("The host could not be started again: %s", error)
        finally:
            self._reviving = False

    @on(link.LinkBack)
    def _back(self, message: link.LinkBack) -> None:
        if message.visit is self.visit and self._snapshot is not None:
            self.present(replace(self._snapshot, lost=None, clock=message.visit.stay.clock))

    @on(link.LinkEnded)
    def _ended(self, message: link.LinkEnded) -> None:
        if message.visit is not self.visit:
            return
        self.workers.cancel_group(self, "errand")
        place, sentence, may_return = errands.parting(message.error, message.visit.watching)
        may_return = may_return and message.visit.broker is None
        tables = [Choice("tables", _("See the tables of this host"), "t")] if may_return else []
        message.visit.table = None
        stopped = message.error if isinstance(message.error, FingerprintChanged) else None
        self._end_with(place, stopped or sentence, [*tables, MENU, QUIT])

    def present(self, snapshot: Snapshot) -> None:
        """Brings the right screen up, and every screen of the table up to date."""
        self._snapshot = snapshot
        lobby = snapshot.room.stage == "lobby"
        if lobby and self._hold_lobby:
            return
        if lobby and self.visit is not None and self.visit.private:
            work(self, errands.deal_again(self.visit), "again")
            return
        kind = LobbyScreen if lobby else TableScreen
        if not any(isinstance(screen, kind) for screen in self.screen_stack):
            self.show_only(LobbyScreen() if lobby else self._the_table())
        for screen in self.screen_stack:
            if callable(show := getattr(screen, "show", None)):
                # Later, when what was just put up has been composed.
                screen.call_later(partial(show, snapshot))

    def _the_table(self) -> TableScreen:
        if self._table_screen is None:
            self._table_screen = TableScreen(self)
            self.install_screen(self._table_screen, "table")
        return self._table_screen

    # --- The end ----------------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Leaves at once. Seats are kept."""
        self.exit()

    def way_back(self) -> str | None:
        """How to come back, said in the shell when the screen is gone."""
        visit, snapshot = self.visit, self._snapshot
        if visit is None or visit.table is None or snapshot is None:
            return None
        return errands.way_back(visit, snapshot)

    def _handle_exception(self, error: Exception) -> None:
        """A fault of ours: the details go to the log, without values, and a sentence to the shell.

        Textual would print local variables, and with them bids and tokens.
        """
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        log.error("The screens have failed", exc_info=error)
        self._fatal_error()

    def _fatal_error(self) -> None:
        self._exit_renderables[:] = [Text(terminal.crashed(self.home.log))]
        self._close_messages_no_wait()
