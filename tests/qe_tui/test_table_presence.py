"""Those who are away, as the table shows them; the keys for it, and who has them when."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from places import Den
from table_harness import Play, Table, enter, secret_phase, settled
from textual.widgets import OptionList

from protocol.errors import ConnectionLost
from protocol.messages import (
    AddBot,
    Create,
    Join,
    Leave,
    Pause,
    Release,
    SeatInfo,
    StandIn,
    Start,
    Watch,
)
from protocol.stay import Stay
from qe_tui.app import QEApp
from qe_tui.errands import Errand
from qe_tui.model import Snapshot
from qe_tui.screens import table_actions as actions
from qe_tui.screens.lobby import LobbyScreen
from qe_tui.screens.prompts import AskText, Choose
from qe_tui.screens.rules_help import RulesHelp
from qe_tui.screens.table import TableScreen
from qe_tui.settings import Home, Settings
from qe_tui.visit import Visit
from server.games.qe import QE

SMALL, LARGE = (80, 24), (120, 40)
Until = Callable[[Callable[[], Any]], Awaitable[Any]]


def seats(play: Play, **changes: dict[str, Any]) -> list[SeatInfo]:
    """The seats of a table, those with a name here as told."""
    return [
        msgspec.structs.replace(seat, **changes.get(seat.name, {})) for seat in play.room(0).seats
    ]


def key_line(app: Table) -> str:
    return app.text().splitlines()[-1]


def deeds(app: Table) -> set[str]:
    assert app.table.snapshot is not None
    return names_of_deeds(app.table.snapshot)


# --- Whose keys -------------------------------------------------------------------------------


async def test_a_computer_may_be_called_once_somebody_has_been_away_for_long() -> None:
    play, me = secret_phase()
    away = (me + 1) % 4
    app = Table(play, me, host=me)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert not deeds(app) & {"stand_in", "release"}
        app.show(gone=(away,))
        await pilot.pause()
        assert f"({play.names[away]} away)" in app.text()
        await pilot.press("f5", "f6")
        app.wall.at += 59
        app.show()
        await pilot.press("f5", "f6")
        assert app.asked == []
        app.wall.at += 1
        app.table._tick()
        await pilot.pause()
        for key in ("F5 computer", "F6 free seat", "? rules", "^Q leave"):
            assert f"  {key}" in key_line(app)
        name = play.names[away]
        await pilot.press("f5")
        await pilot.pause()
        assert f"Let a computer play for {name}?" in app.text()
        await pilot.press("enter", "f5", "escape")
        await settled(pilot, app)
        assert app.asked == [], "what comes first does nothing"
        await pilot.press("f5", "y")
        await settled(pilot, app)
        assert app.asked == [StandIn(seat=away)]
        app.show(gone=(), kinds={away: "stand_in"})
        await pilot.press("f6")
        await pilot.pause()
        assert f"Free {name}'s seat?" in app.text()
        assert "Whoever joins gets it" in app.text()
        await pilot.press("y")
        await settled(pilot, app)
        assert app.asked[1:] == [Release(seat=away)]


async def test_who_is_back_while_it_is_asked_keeps_the_seat() -> None:
    play, me = secret_phase()
    away = (me + 1) % 4
    app = Table(play, me, host=me, kinds={away: "stand_in"})
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("f6")
        await pilot.pause()
        app.show(kinds={})
        await pilot.press("y")
        await settled(pilot, app)
        assert app.asked == []


async def test_while_the_connection_is_lost_keys_that_need_the_host_say_so() -> None:
    play, me = secret_phase()
    gone = ((me + 1) % 4,)
    app = Table(play, me, host=me, gone=gone)
    async with app.run_test(size=LARGE, notifications=True) as pilot:
        app.show()
        app.wall.at += 61
        app.table._tick()
        assert "F4 pause" in app.text()
        lost(app)
        await pilot.pause()
        assert not deeds(app) & {"pause", "stand_in", "release", "chat", "react", "give_up"}
        assert deeds(app) >= {"ledger", "cover", "rules"}
        assert "F4" not in key_line(app)
        await pilot.press("f4")
        await settled(pilot, app)
        assert app.asked == []
        assert [toast.message for toast in app._notifications] == [
            "Not while the connection is lost."
        ]


def test_who_was_away_and_came_back_is_waited_for_anew() -> None:
    play, me = secret_phase()
    away = (me + 1) % 4
    app = Table(play, me, host=me)
    gone = play.snapshot(me, host=me, gone=(away,))
    for between in (play.snapshot(me, host=me), replace(gone, lost="No answer.")):
        app.table.absences.marked(gone)
        app.wall.at += 50
        app.table.absences.marked(between)
        app.table.absences.marked(gone)
        app.wall.at += 50
        assert app.table.absences.marked(gone).long_away == frozenset()
        app.wall.at += 10
        assert app.table.absences.marked(gone).long_away == {away}


async def test_only_the_host_has_the_hosts_keys_and_the_help_tells_nobody_else() -> None:
    play, me = secret_phase()
    app = Table(play, me, host=(me + 1) % 4, gone=((me + 2) % 4,))
    async with app.run_test(size=LARGE, notifications=True) as pilot:
        app.wall.at += 100
        app.show()
        await pilot.press("f4", "f5", "f6")
        assert app.asked == []
        told = {deed.name for deed in RulesHelp(app.table.snapshot)._deeds()}  # type: ignore[arg-type]
        assert not told & {"pause", "stand_in", "release", "sit"}
        assert "give_up" in told
        app.show(host=me)
        await pilot.pause()
        assert [toast.message for toast in app._notifications] == [
            "You are the host of this table now.  ? lists what its host may do."
        ]
        told = {deed.name for deed in RulesHelp(app.table.snapshot)._deeds()}  # type: ignore[arg-type]
        assert told >= {"pause", "stand_in", "release"}
        await pilot.press("f4")
        await settled(pilot, app)
        assert app.asked == [Pause(on=True)]


async def test_of_several_seats_the_host_chooses_which_one_is_freed() -> None:
    play, me = secret_phase()
    first, second = sorted({(me + 1) % 4, (me + 2) % 4})
    app = Table(play, me, host=me, kinds={first: "stand_in", second: "stand_in"})
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("f6")
        await pilot.pause()
        assert isinstance(app.screen, Choose)
        assert "Whose seat shall be free?" in app.text()
        await pilot.press("2")
        await settled(pilot, app)
        assert app.asked == [Release(seat=second)]
        await pilot.press("f6", "escape")
        await settled(pilot, app)
        assert app.asked == [Release(seat=second)]
        await pilot.press("f6", "a")
        await settled(pilot, app)
        assert app.asked[1:] == [Release(seat=first), Release(seat=second)]
        app.asked.clear()
        app.show(kinds={}, gone=(first, second))
        app.wall.at += 61
        app.table._tick()
        await pilot.press("f5")
        await pilot.pause()
        assert "For whom shall a computer play?" in app.text()
        await pilot.press("1")
        await settled(pilot, app)
        assert app.asked == [StandIn(seat=first)]


def names_of_deeds(snapshot: Snapshot) -> set[str]:
    return {deed.name for deed in actions.possible(snapshot)}


def test_a_kept_place_at_a_standing_table_is_not_offered_again() -> None:
    play = Play(4).through(16)
    over = play.snapshot(1, standing=True, host=None)
    assert "again" in names_of_deeds(over)
    kept = play.snapshot(1, standing=True, host=None, seats=seats(play, Bo={"keeps": True}))
    assert "again" not in names_of_deeds(kept)


def test_a_free_seat_is_for_who_watches_and_can_ask_for_it() -> None:
    play, me = secret_phase()
    free = seats(play, Cy={"kind": "stand_in", "released": True, "connected": False})
    watching = play.snapshot(None, seats=free)
    assert {"sit", "chat", "react"} <= names_of_deeds(watching)
    assert "sit" not in names_of_deeds(play.snapshot(None))
    assert "sit" not in names_of_deeds(play.snapshot(me, seats=free))
    from_afar = replace(watching, broker="mqtt://den")
    assert not {"sit", "chat", "react"} & names_of_deeds(from_afar)


# --- A bid that was on its way ------------------------------------------------------------------


def lost(app: Table, away: bool = True) -> None:
    """The connection goes, or stands again, with the view of before."""
    assert app.table.snapshot is not None
    app.table.show(replace(app.table.snapshot, lost="The connection broke." if away else None))


async def a_bid_in_flight(app: Table, pilot: Any, amount: str = "777") -> None:
    asked = len(app.asked)
    await pilot.press(*amount)
    app.fails = ConnectionLost("The connection broke.")
    await enter(pilot, app)
    app.fails = None
    lost(app)
    await pilot.pause()
    assert "CONNECTION LOST." in app.text()
    assert "The connection went meanwhile; whether" in app.text()
    await enter(pilot, app)
    assert len(app.asked) == asked + 1, "nothing is sent while there is no connection"
    assert "Not sent: the connection is away." in app.text()
    lost(app, away=False)
    await pilot.pause()
    assert "The host" not in app.text(), "the view of before the loss says nothing"


async def test_a_bid_in_flight_shows_as_sealed_or_waits_for_enter() -> None:
    play, me = secret_phase()
    app = Table(play, me)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await a_bid_in_flight(app, pilot)
        app.show()
        await pilot.pause()
        assert "The host did not get it.  Enter seals it." in app.text()
        assert app.table.cheque.line.value == "777"
        assert len(app.asked) == 1, "it is never sent again by itself"
        await enter(pilot, app)
        assert len(app.asked) == 2
        assert QE.private(play.state, me).bid == "777"

        await a_bid_in_flight(app, pilot, "888")
        play.bid(me, 888)
        app.show()
        await pilot.pause()
        assert len(app.asked) == 3
        assert "The host has your bid of auction 9." in app.text()
        assert "[ SEALED ]" in app.text()
        assert "888" not in app.text()


async def test_a_bid_in_flight_whose_step_has_closed_meanwhile() -> None:
    play, me = secret_phase()
    app = Table(play, me)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await a_bid_in_flight(app, pilot)
        play.bid(me, 777)
        for seat in list(play.game.waiting):
            play.bid(seat, 50 + seat)
        app.show()
        await pilot.pause()
        assert app.table.cheque.line.value == ""
        assert "The host had your bid of auction 9." in app.text().splitlines()[1]
        assert len(app.asked) == 1
        assert "Your bid was 777." in app.text(), "the award is not skipped"
        await pilot.press("enter")
        await pilot.pause()
        assert app.table.has_class("-cheque")
        assert app.text().count("The host had your bid of auction 9.") == 1, "not on the cheque"


# --- A bid that is not one's own ----------------------------------------------------------------


class TakenOver(Table):
    """The seat has sealed before its holder came: the bid is not shown before the step closes."""

    came_late = True

    @property
    def snapshot(self) -> Snapshot | None:
        now = super().snapshot
        assert now is not None
        hidden = msgspec.structs.replace(now.you, bid=None) if now.you is not None else None
        return replace(now, you=hidden) if self.came_late else now


async def test_a_bid_of_who_sat_here_before_is_never_called_ones_own() -> None:
    play, me = secret_phase()
    play.bid(me, 777)
    app = TakenOver(play, me)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        for words in ("A BID OF THIS SEAT IS SEALED", "put yours in its place", "before you came"):
            assert words in app.text()
        assert "YOUR SECRET BID" not in app.text()
        assert "Enter seal" not in key_line(app)
        for seat in list(play.game.waiting):
            play.bid(seat, 50 + seat)
        app.came_late = False
        app.show()
        await pilot.pause()
        assert "The bid of your seat was 777, sealed before you came." in app.text()
        assert "Your bid was" not in app.text()


async def test_a_bid_put_in_its_place_is_ones_own() -> None:
    play, me = secret_phase()
    play.bid(me, 777)
    app = TakenOver(play, me)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"888")
        await pilot.pause()
        app.came_late = False
        await enter(pilot, app)
        assert "SEALED." in app.text()
        for seat in list(play.game.waiting):
            play.bid(seat, 50 + seat)
        app.show()
        await pilot.pause()
        assert "Your bid was 888." in app.text()


# --- Taking a seat, at a real host ---------------------------------------------------------------


async def spectator(den: Den, home: Home, code: str, password: str | None) -> QEApp:
    guest = await den.guest(home, "Wim")
    guest.watching = True
    return QEApp(
        home, Settings(), Errand(guest, "watch", table=code), name="Wim", password=password
    )


def shown(app: QEApp) -> str:
    """What is on the screen."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def a_table(visit: Visit, *, password: str | None = None, bots: int = 2) -> str:
    create = Create(game="qe", seats=3, title="", name=visit.name, password=password)
    code: str = (await visit.stay.ask(create))["table"]
    for _ in range(bots):
        await visit.stay.ask(AddBot())
    return code


async def test_a_spectator_takes_the_seat_of_one_who_has_left(
    den: Den, home: Home, until: Until
) -> None:
    ana, bo = await den.guest(home, "Ana"), await den.guest(home, "Bo")
    code = await a_table(ana, password="hush", bots=1)
    await bo.stay.ask(Join(table=code, name="Bo", password="hush"))
    await ana.stay.ask(Start())
    app = await spectator(den, home, code, "hush")
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await until(lambda: isinstance(app.screen, TableScreen))
        await until(lambda: app.snapshot is not None)
        assert not app.screen.check_action("deed", ("sit",))
        await bo.stay.ask(Leave())
        await until(lambda: any(seat.released for seat in app.snapshot.room.seats))
        await until(lambda: "j take Bo's seat" in shown(app))
        assert "free, a computer plays" in shown(app)
        await pilot.press("j")
        await until(lambda: "Take Bo's seat?" in shown(app))
        await pilot.press("y")
        await until(lambda: app.snapshot.room.me is not None)
        assert app.snapshot.room.seats[app.snapshot.room.me].name == "Wim"
        assert app.snapshot.you is not None
        assert app.visit is not None
        assert app.visit.watching is False
        assert app.visit.wallet.seats(den._host.id) == []  # type: ignore[union-attr]
        assert (code, "Wim") not in app.visit.kept(), "the token is kept, and in use"


async def test_a_spectator_takes_an_open_seat_of_the_lobby_by_another_name(
    den: Den, home: Home, until: Until
) -> None:
    ana = await den.guest(home, "Ana")
    code = await a_table(ana, bots=0)
    app = await spectator(den, home, code, None)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await until(lambda: isinstance(app.screen, LobbyScreen) and app.snapshot is not None)
        await until(lambda: app.screen.check_action("sit", ()))
        assert app.visit is not None
        app.visit.name = "ANA"
        await pilot.press("j")
        await until(lambda: isinstance(app.screen, AskText))
        await pilot.press(*"Zoe", "enter")
        await until(lambda: app.snapshot is not None and app.snapshot.room.me is not None)
        assert app.visit.name == "Zoe"
        await until(lambda: app.screen.check_action("sit", ()) is False)


async def test_the_level_of_a_computer_is_asked_for_where_there_are_several(
    den: Den, home: Home, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = await den.guest(home, "Ana")
    monkeypatch.setattr(QE, "levels", ("normal", "keen [/b]"))
    app = QEApp(home, Settings(), Errand(ana, "host"), name="Ana")
    async with app.run_test(size=SMALL) as pilot:
        await until(lambda: isinstance(app.screen, LobbyScreen) and app.snapshot is not None)
        assert app.visit is not None
        games = app.visit.welcome.games
        games["qe"] = msgspec.structs.replace(games["qe"], levels=list(QE.levels))
        await pilot.press("a")
        await until(lambda: isinstance(app.screen, Choose))
        assert app.screen.query_one(OptionList).option_count == 2
        await pilot.press("2")
        await until(lambda: any(seat.level == "keen [/b]" for seat in app.snapshot.room.seats))


def test_watching_is_what_leads_to_a_seat() -> None:
    assert Stay("127.0.0.1", 1).seat_here("Ana") is None
    stay = Stay("127.0.0.1", 1)
    stay._place = Watch(table="WOLF", name="Wim", password="hush")
    assert stay.seat_here("Ana") == Join(table="WOLF", name="Ana", password="hush")
