"""The lobby: what each may see and do there, and how it looks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from places import Den
from textual.pilot import Pilot
from textual.widgets import Input, Static

from protocol.messages import Create, Join, Options, Room, Said, SeatInfo, Watch
from qe_tui.app import QEApp
from qe_tui.errands import Errand
from qe_tui.model import Snapshot
from qe_tui.screens.form import TableForm, Wishes
from qe_tui.screens.lobby import LobbyScreen, Seats
from qe_tui.screens.prompts import Choose
from qe_tui.settings import Home, Settings
from qe_tui.visit import visit

Until = Callable[[Callable[[], Any]], Awaitable[Any]]
HOSTILE = "[/b] [@click=app.quit]"
HOST_KEYS = {"s", "a", "x", "o", "[", "]"}


def seat(number: int, name: str = "", kind: str = "human", connected: bool = True) -> SeatInfo:
    level = "normal" if kind == "bot" else None
    return SeatInfo(
        seat=number,
        name=name,
        kind=kind,  # type: ignore[arg-type]
        level=level,
        connected=connected,
        released=False,
    )


def snapshot(me: int | None, **room: Any) -> Snapshot:
    """A lobby of five: two people, one of them away, two computers, and an open seat."""
    given: dict[str, Any] = {
        "title": "Friday night",
        "game": "qe",
        "stage": "lobby",
        "standing": False,
        "locked": True,
        "size": 5,
        "host": 0,
        "me": me,
        "seats": [
            seat(0, "Ana"),
            seat(1, HOSTILE, connected=False),
            seat(2, "Adam", "bot"),
            seat(3, "Bea", "bot"),
            seat(4, kind="open"),
        ],
        "spectators": 2,
        "options": Options(turn_seconds=60),
        "rules": {"notes": True, "first": "random"},
        "paused": False,
        "since": 0,
        "deadline": None,
        "results": [],
        **room,
    }
    said = [
        Said(table="WOLF", seat=0, name="Ana", text="Who brought the money?", at=1),
        Said(table="WOLF", seat=1, name=HOSTILE, text="[/] nobody [red", at=2),
        Said(table="WOLF", seat=None, name="Eve", text="x" * 280, at=3),
    ]
    return Snapshot(
        table="WOLF",
        room=Room(**given),
        game=None,
        you=None,
        said=said,
        addresses=["192.168.1.5", "10.0.0.7", "172.16.0.9"] if me == 0 else [],
    )


def showing(home: Home, shown: Snapshot) -> tuple[QEApp, Callable[[Pilot[None]], Awaitable[None]]]:
    app = QEApp(home, Settings(name="Ana"))

    async def show(pilot: Pilot[None]) -> None:
        await pilot.pause()
        app.present(shown)
        await pilot.pause()
        app.screen.query_one("#say", Input).cursor_blink = False
        await pilot.pause()

    return app, show


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("me", [0, 1, None], ids=["host", "guest", "spectator"])
def test_lobby_looks(snap_compare: Any, home: Home, me: int | None, size: tuple[int, int]) -> None:
    app, show = showing(home, snapshot(me))
    assert snap_compare(app, terminal_size=size, run_before=show)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_all_of_it_is_on_the_screen(home: Home, size: tuple[int, int]) -> None:
    app, show = showing(home, snapshot(0))
    async with app.run_test(size=size, notifications=True) as pilot:
        await show(pilot)
        whole = app.screen.region
        for selector in ("#heading", "#seats", "#rules", "#tell", "#say", "Footer"):
            widget = app.screen.query_one(selector)
            assert widget.region.area
            assert whole.contains_region(widget.region), selector
        assert app.screen.query_one(".chatlog").region.height >= 3
        keys = app.screen.query("FooterKey, FooterLabel")
        assert all(whole.contains_region(key.region) for key in keys), "a key is cut off"


@pytest.mark.parametrize(("me", "sees"), [(0, True), (1, False), (None, False)])
async def test_only_the_host_of_the_table_sees_its_keys(
    home: Home, me: int | None, sees: bool
) -> None:
    app, show = showing(home, snapshot(me))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await show(pilot)
        shown = {
            active.binding.key_display or active.binding.key
            for active in app.screen.active_bindings.values()
            if active.binding.show
        }
        assert (shown >= HOST_KEYS) == sees
        assert not HOST_KEYS & shown or sees
        await pilot.press("o")
        await pilot.pause()
        assert isinstance(app.screen, TableForm) == sees


@pytest.mark.parametrize(
    ("me", "room", "words"),
    [
        (0, {}, "1 seat is open.  s starts the game without it."),
        (0, {"seats": [seat(0, "Ana"), *(seat(n, kind="open") for n in (1, 2))]}, "2 more"),
        (0, {"seats": [seat(n, f"P{n}") for n in range(3)]}, "Everybody is here"),
        (1, {}, "Ana starts the game"),
        (None, {}, "You are watching"),
        (1, {"standing": True, "host": None}, "by itself"),
    ],
)
async def test_the_first_line_says_what_is_missing(
    home: Home, me: int | None, room: dict[str, Any], words: str
) -> None:
    app, show = showing(home, snapshot(me, **room))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await show(pilot)
        assert words in str(app.screen.query_one("Headline", Static).render())


async def test_a_lost_connection_is_a_banner(home: Home) -> None:
    import dataclasses

    shown = snapshot(0)
    app, show = showing(home, dataclasses.replace(shown, lost=f"Away: {HOSTILE}"))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await show(pilot)
        banner = app.screen.query_one("Banner", Static)
        assert banner.display
        said = str(banner.render())
        assert HOSTILE[:15] in said
        assert "CONNECTION LOST." in said
        assert "Trying again; your seat is kept." in said
        assert not app.screen.check_action("start", ())
        app.present(shown)
        await pilot.pause()
        assert not banner.display
        assert app.screen.check_action("start", ())


async def test_the_host_runs_the_table_with_keys(den: Den, home: Home, until: Until) -> None:
    called = await visit(home, den.where, "Ana")
    app = QEApp(home, Settings(), Errand(called, "host", wishes=Wishes(seats=4)), name="Ana")
    bo, eve = await den.guest(home, "Bo"), await den.guest(home, "Eve")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:

        def room() -> Room:
            assert isinstance(app.screen, LobbyScreen)
            assert app.snapshot is not None
            return app.snapshot.room

        async def seats(*names: str) -> None:
            await until(lambda: [seat.name for seat in room().seats] == list(names))
            await pilot.pause()

        await until(room)
        assert app.snapshot is not None
        table = app.snapshot.table
        await pilot.press("s")
        await pilot.pause()
        assert room().stage == "lobby", "it says what is missing instead"
        await bo.stay.ask(Join(table=table, name="Bo"))
        await eve.stay.ask(Watch(table=table, name="Eve"))
        await pilot.press("a")
        await until(lambda: room().seats[2].kind == "bot")
        bot = room().seats[2].name
        await seats("Ana", "Bo", bot, "")
        assert room().spectators == 1

        # The highlight goes with what is moved.
        picks = app.screen.query_one(Seats)
        picks.highlighted = 1
        await pilot.press("right_square_bracket")
        await seats("Ana", bot, "Bo", "")
        assert picks.highlighted == 2

        # People are removed when asked twice, computers at once.
        await pilot.press("x")
        await until(lambda: isinstance(app.screen, Choose))
        await pilot.press("y")
        await seats("Ana", bot, "", "")
        await pilot.press("up", "x")
        await seats("Ana", "", "", "")

        await pilot.press("o")
        await until(lambda: isinstance(app.screen, TableForm) and app.screen.query("#full"))
        app.screen.query_one("#title", Input).value = "High rollers"
        app.screen.query_one("#password", Input).value = "open sesame"
        app.screen.query_one("#clock").value = 30
        app.screen.query_one("#seats").value = 3
        app.screen.query_one("#notes").value = False
        await pilot.press("ctrl+s")
        await until(lambda: room().title == "High rollers")
        assert (room().size, room().locked) == (3, True)
        assert room().options.turn_seconds == 30
        assert room().rules == {"notes": False, "first": "random"}

        await pilot.press("o")
        await until(lambda: isinstance(app.screen, TableForm) and app.screen.query("#unlock"))
        app.screen.query_one("#unlock").value = True
        await pilot.press("ctrl+s")
        await until(lambda: not room().locked)
        assert room().rules["notes"] is False, "what was not changed stays"
        await app.depart()


async def test_what_a_guest_says_is_heard(den: Den, home: Home, until: Until) -> None:
    bo = await den.guest(home, "Bo")
    await bo.stay.ask(Create(game="qe", seats=3, title="", name="Bo"))
    called = await visit(home, den.where, "Ana")
    app = QEApp(home, Settings(), Errand(called, "join"), name="Ana")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(lambda: isinstance(app.screen, LobbyScreen) and app.screen.query("#say"))
        await pilot.press("slash", *"s a x", "enter")
        await until(lambda: app.snapshot and [said.text for said in app.snapshot.said] == ["s a x"])
        assert app.screen.query_one("#say", Input).value == ""
        await pilot.press("escape")
        assert app.screen.query_one(Seats).has_focus
        await app.depart()
