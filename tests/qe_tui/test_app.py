"""The app at a real host: from the door to the lobby, the table, and back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from places import Den
from textual.widgets import Input

from protocol.invitation import Where
from protocol.messages import (
    Act,
    AddBot,
    Create,
    Leave,
    Rematch,
    Remove,
    Say,
    Start,
    TableInfo,
)
from qe_tui import hosting, link, own
from qe_tui.app import QEApp
from qe_tui.errands import Errand
from qe_tui.model import Snapshot
from qe_tui.screens.form import TableForm, Wishes
from qe_tui.screens.lobby import LobbyScreen
from qe_tui.screens.menu import MenuScreen
from qe_tui.screens.prompts import AskText, Choose, Notice
from qe_tui.screens.table import TableScreen
from qe_tui.screens.tables import TablesScreen
from qe_tui.settings import Home, Settings, load
from qe_tui.visit import Visit, visit

Until = Callable[[Callable[[], Any]], Awaitable[Any]]
At = Callable[..., Any]

HOSTILE = "[/b] [@click=app.quit]no[/] [red"


@pytest.fixture
def at(home: Home) -> At:
    """The app of somebody who has called at a host for something, running."""

    @contextlib.asynccontextmanager
    async def run(
        where: Where, kind: Any = "join", name: str = "Ana", **errand: Any
    ) -> AsyncIterator[tuple[QEApp, Any]]:
        password = errand.pop("password", None)
        called = await visit(home, where, name)
        app = QEApp(
            home, Settings(name=name), Errand(called, kind, **errand), name=name, password=password
        )
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            try:
                yield app, pilot
            finally:
                await app.depart()

    return run


async def table_of(guest: Visit, seats: int = 3, **more: Any) -> str:
    create = Create(game="qe", seats=seats, name=guest.name, **{"title": "", **more})
    result = await guest.stay.ask(create)
    code: str = result["table"]
    return code


async def play_out(app: QEApp) -> None:
    """Bids as little as it may until the game is over."""
    acted = 0
    async with asyncio.timeout(30):
        while (now := app.snapshot) is None or now.room.stage != "over":
            game, you = now and now.game, now and now.you
            if game and you and you.may_bid and you.seat in game.waiting and game.step > acted:
                acted, amount = game.step, int(you.may_bid.minimum)
                if str(amount) == you.may_bid.other_than:
                    amount += 1
                await app.ask(Act(step=acted, action={"kind": "bid", "amount": str(amount)}))
            await asyncio.sleep(0.005)


async def text_line(app: QEApp, until: Until) -> Input:
    """The line that is asked for on the screen."""
    line = await until(lambda: isinstance(app.screen, AskText) and app.screen.query_one(Input))
    assert isinstance(line, Input)
    return line


def lobby(app: QEApp) -> Snapshot:
    assert isinstance(app.screen, LobbyScreen)
    assert app.snapshot is not None
    return app.snapshot


# --- Finding a seat ---------------------------------------------------------------------------


async def test_the_only_table_needs_no_code(den: Den, home: Home, at: At, until: Until) -> None:
    guest = await den.guest(home, HOSTILE[:20])
    code = await table_of(guest, title=HOSTILE)
    async with at(den.where) as (app, pilot):
        snapshot = await until(lambda: lobby(app))
        assert (snapshot.table, snapshot.room.me) == (code, 1)
        await guest.stay.ask(Say(text=HOSTILE))
        await until(lambda: [said.text for said in lobby(app).said] == [HOSTILE])
        await pilot.pause()
        assert app.is_running, "what others write is shown, not obeyed"


async def test_of_several_tables_one_is_chosen(den: Den, home: Home, at: At, until: Until) -> None:
    one, two = await den.guest(home, "Bo"), await den.guest(home, "Cy")
    await table_of(one)
    async with at(den.where) as (app, pilot):
        # A table that opens meanwhile is one more to choose from.
        await until(lambda: app.snapshot)
        await app.ask(Leave())
    code = await table_of(two)
    async with at(den.where) as (app, pilot):
        await until(lambda: isinstance(app.screen, TablesScreen))
        await pilot.press("down", "enter")
        snapshot = await until(lambda: lobby(app))
        assert snapshot.table == code


async def test_the_list_of_tables_is_alive(den: Den, home: Home, at: At, until: Until) -> None:
    async with at(den.where, "watch") as (app, _pilot):
        screen = await until(lambda: isinstance(app.screen, TablesScreen) and app.screen)
        options = screen.query_one("#tables")
        assert options.option_count == 0
        await table_of(await den.guest(home, "Bo"))
        await until(lambda: options.option_count == 1)


async def test_at_an_empty_host_one_creates_a_table(den: Den, at: At, until: Until) -> None:
    async with at(den.where) as (app, pilot):
        await until(lambda: isinstance(app.screen, TablesScreen))
        await pilot.press("c")
        await until(lambda: isinstance(app.screen, TableForm))
        await pilot.press("ctrl+s")
        snapshot = await until(lambda: lobby(app))
        assert snapshot.hosting
        assert snapshot.room.size == 4


async def test_a_full_table_offers_to_watch(den: Den, home: Home, at: At, until: Until) -> None:
    guest = await den.guest(home, "Bo")
    await table_of(guest)
    for _ in range(2):
        await guest.stay.ask(AddBot())
    async with at(den.where) as (app, pilot):
        await until(lambda: isinstance(app.screen, Choose))
        await pilot.press("w")
        snapshot = await until(lambda: lobby(app))
        assert snapshot.room.me is None
        assert "qe watch" in (app.way_back() or "")
        await guest.stay.ask(Start())
        await until(lambda: isinstance(app.screen, TableScreen))


async def test_a_password_is_asked_for_on_the_screen(
    den: Den, home: Home, at: At, until: Until
) -> None:
    code = await table_of(await den.guest(home, "Bo"), password="open sesame")
    async with at(den.where) as (app, pilot):
        (await text_line(app, until)).value = "wrong"
        await pilot.press("enter")
        await until(lambda: app.screen.query_one(".wrong").display)
        (await text_line(app, until)).value = "open sesame"
        await pilot.press("enter")
        assert (await until(lambda: lobby(app))).table == code


async def test_a_password_of_the_environment_is_not_asked_for(
    den: Den, home: Home, at: At, until: Until
) -> None:
    await table_of(await den.guest(home, "Bo"), password="open sesame")
    async with at(den.where, password="open sesame") as (app, _pilot):
        await until(lambda: lobby(app))


async def test_a_name_that_is_taken_is_asked_for_again(
    den: Den, home: Home, at: At, until: Until
) -> None:
    await table_of(await den.guest(home, "Ana"))
    async with at(den.where, name="Ana") as (app, pilot):
        (await text_line(app, until)).value = "Anouk"
        await pilot.press("enter")
        snapshot = await until(lambda: lobby(app))
        assert snapshot.name(1) == "Anouk"
        assert "--name Anouk" in (app.way_back() or "")


async def test_a_seat_that_is_kept_under_another_name_is_offered(
    den: Den, home: Home, at: At, until: Until
) -> None:
    await table_of(await den.guest(home, "Ana"))
    async with at(den.where, name="Ana") as (app, pilot):
        (await text_line(app, until)).value = "Anouk"
        await pilot.press("enter")
        await until(lambda: lobby(app))
    async with at(den.where, name="Ana") as (app, pilot):
        await until(lambda: isinstance(app.screen, Choose))
        await pilot.press("1")
        snapshot = await until(lambda: lobby(app))
        assert snapshot.name(snapshot.room.me) == "Anouk"
    async with at(den.where, name="Ana", named=True) as (app, _pilot):
        # Who has said by which name to sit down is not asked about another.
        await until(lambda: isinstance(app.screen, AskText))


async def test_started_again_it_finds_its_seat_among_several_tables(
    den: Den, home: Home, at: At, until: Until
) -> None:
    one, two = await den.guest(home, "Bo"), await den.guest(home, "Cy")
    code = await table_of(one)
    async with at(den.where) as (app, _pilot):
        await until(lambda: lobby(app))
    await table_of(two)
    async with at(den.where) as (app, _pilot):
        snapshot = await until(lambda: lobby(app))
        assert (snapshot.table, snapshot.room.me) == (code, 1)
        # On the same machine, by the same name: the seat in use is not taken from anybody.
        async with at(den.where, table=code) as (other, _pilot):
            await until(lambda: isinstance(other.screen, AskText))


# --- From stage to stage ----------------------------------------------------------------------


@pytest.mark.long
async def test_lobby_table_and_lobby_again(den: Den, home: Home, at: At, until: Until) -> None:
    async with at(den.where, "host", wishes=Wishes(seats=3, title="Friday")) as (app, pilot):
        await until(lambda: lobby(app))
        await pilot.press("a", "a")
        await until(lambda: all(seat.kind != "open" for seat in lobby(app).room.seats))
        await pilot.press("o")
        await until(lambda: isinstance(app.screen, TableForm))
        # The game begins while a form is open: the form goes.
        await app.ask(Start())
        table = await until(lambda: isinstance(app.screen, TableScreen) and app.screen)
        await play_out(app)
        assert table in app.screen_stack
        await app.ask(Rematch())
        assert (await until(lambda: lobby(app))).room.results
        await pilot.press("s")
        await until(lambda: app.screen is table)


async def test_a_lost_host_is_a_banner_and_comes_back(
    den: Den, home: Home, at: At, until: Until
) -> None:
    guest = await den.guest(home, "Bo")
    await table_of(guest)
    async with at(den.where) as (app, pilot):
        await until(lambda: lobby(app))
        await pilot.press("slash", "h", "e", "l", "l", "o")
        await den.close()
        await until(lambda: lobby(app).lost)
        banner = app.screen.query_one("Banner")
        await until(lambda: banner.display)
        await pilot.press("enter")
        await pilot.pause()
        say = app.screen.query_one("#say", Input)
        assert say.value == "hello", "what was typed is kept"
        await den.open()
        await until(lambda: lobby(app).lost is None)
        await until(lambda: not banner.display)
        await pilot.press("enter")
        await until(lambda: [said.text for said in lobby(app).said] == ["hello"])
        assert say.value == ""
        assert lobby(app).room.me == 1


async def test_ones_own_host_is_started_again_where_it_died_not_where_it_was_stopped(
    den: Den, home: Home, at: At, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    revived: list[Visit] = []

    async def revive(home: Home, visit: Visit) -> None:
        revived.append(visit)

    monkeypatch.setattr(own, "revive", revive)
    async with at(den.where, "play", players=3) as (app, pilot):
        await until(lambda: isinstance(app.screen, TableScreen))
        running = hosting.Running(
            pid=os.getpid(), port=den.where.port, tls=False, addresses=[], folder=str(home.data)
        )
        app.visit.running = running
        await den.close()
        await until(lambda: app.snapshot is not None and app.snapshot.lost)
        await pilot.pause()
        assert not revived
        app.post_message(link.LinkLost(app.visit, "The connection broke."))
        await until(lambda: revived == [app.visit])
        app.visit.running = None


async def test_a_game_goes_on_after_the_host_was_away(
    den: Den, home: Home, at: At, until: Until
) -> None:
    async with at(den.where, "play", players=3) as (app, _pilot):
        await until(lambda: isinstance(app.screen, TableScreen))
        await den.close()
        await until(lambda: app.snapshot is not None and app.snapshot.lost)
        await den.open()
        snapshot = await until(
            lambda: app.snapshot is not None and app.snapshot.lost is None and app.snapshot
        )
        assert snapshot.room.stage == "playing"
        assert isinstance(app.screen, TableScreen)


async def test_a_host_of_ones_own_that_died_is_started_again(home: Home, until: Until) -> None:
    private = await own.private(home, "Ana")
    assert private.running is not None
    first = private.running.pid
    app = QEApp(home, Settings(), Errand(private, "play", players=3), name="Ana")
    async with app.run_test(size=(80, 24), notifications=True):
        table = await until(lambda: isinstance(app.screen, TableScreen) and app.snapshot.table)
        os.kill(first, signal.SIGKILL)
        await until(lambda: app.snapshot.lost)
        snapshot = await until(lambda: app.snapshot.lost is None and app.snapshot)
        assert (snapshot.table, snapshot.room.stage) == (table, "playing")
        await until(lambda: private.running.pid != first)
        second = private.running.pid
        await app.depart()
    assert not hosting.alive(second)


async def test_a_new_game_against_computers_may_be_dealt_while_one_is_kept(
    home: Home, until: Until
) -> None:
    first = await own.private(home, "Ana")
    await own.deal(first, 3)
    await first.close()
    private = await own.private(home, "Ana")
    app = QEApp(home, Settings(), Errand(private, "play", players=5), name="Ana")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(lambda: isinstance(app.screen, Choose))
        await pilot.press("n")
        await until(lambda: isinstance(app.screen, TableScreen))
        assert len(app.snapshot.room.seats) == 5
        assert [table.seats for table in await private.tables()] == [5]
        await app.depart()


@pytest.mark.long
async def test_after_a_game_against_computers_another_is_dealt_at_once(
    den: Den, home: Home, until: Until
) -> None:
    alone = await visit(home, den.where, "Ana")
    alone.private = True
    app = QEApp(home, Settings(), Errand(alone, "play", players=3), name="Ana")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await play_out(app)
        await until(lambda: app.snapshot.game.result)
        await pilot.press("x")  # the reveal
        await pilot.press("p")
        snapshot = await until(
            lambda: (
                app.snapshot.room.results and app.snapshot.room.stage == "playing" and app.snapshot
            )
        )
        assert len(snapshot.room.results) == 1
        await app.depart()


# --- The end ----------------------------------------------------------------------------------


async def test_removed_is_said_and_another_table_can_be_chosen(
    den: Den, home: Home, at: At, until: Until
) -> None:
    guest = await den.guest(home, "Bo")
    await table_of(guest)
    async with at(den.where) as (app, pilot):
        await until(lambda: lobby(app))
        await guest.stay.ask(Remove(seat=1))
        await until(lambda: isinstance(app.screen, Notice))
        assert app.way_back() is None
        await pilot.press("t")
        await until(lambda: isinstance(app.screen, TablesScreen))
        await pilot.press("enter")
        assert (await until(lambda: lobby(app))).room.me == 1


async def test_leaving_asks_once_and_frees_the_seat(
    den: Den, home: Home, at: At, until: Until
) -> None:
    guest = await den.guest(home, "Bo")
    await table_of(guest)
    async with at(den.where) as (app, pilot):
        await until(lambda: lobby(app))
        app.leave_table()
        app.leave_table()
        await until(lambda: isinstance(app.screen, Choose))
        assert len([s for s in app.screen_stack if isinstance(s, Choose)]) == 1
        await pilot.press("n")
        assert isinstance(app.screen, LobbyScreen)
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, Choose))
        await pilot.press("y")
        await until(lambda: not app.is_running)
    tables: list[TableInfo] = await guest.tables()
    assert tables[0].taken == 1
    assert app.return_code == 0
    assert app.way_back() is None


async def test_from_the_menu_to_a_table_and_back(den: Den, home: Home, until: Until) -> None:
    await table_of(await den.guest(home, "Bo"))
    settings = Settings(name="Ana", tls=False)
    app = QEApp(home, settings)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(lambda: isinstance(app.screen, MenuScreen))
        await pilot.press("j")
        await pilot.pause()
        address = app.screen.query_one(Input)
        address.value = "nowhere to go"
        await pilot.press("enter")
        wrong = app.screen.query_one("#wrong")
        await until(lambda: "no address" in str(wrong.render()))
        address.value = str(den.where)
        await pilot.press("enter")
        await until(lambda: lobby(app))
        await pilot.press("escape", "y")
        await until(lambda: isinstance(app.screen, MenuScreen))
        assert app.visit is None
        assert app.is_running
    kept, sentence = load(home.settings)
    assert sentence is None
    assert (kept.address, kept.tls) == (den.where.short, False)


async def test_a_refusal_of_a_running_errand_is_a_sentence(
    den: Den, home: Home, at: At, until: Until
) -> None:
    async with at(den.where, "host", wishes=Wishes(seats=9)) as (app, pilot):
        await until(lambda: isinstance(app.screen, Notice))
        await pilot.press("q")
        await until(lambda: not app.is_running)
