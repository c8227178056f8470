"""The menu, and the screens it leads to, as they look and as they are used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from places import Den
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from protocol import mdns
from protocol.errors import FingerprintChanged
from protocol.invitation import Where
from protocol.messages import AddBot, Create, HostInfo, TableInfo, Welcome
from protocol.trust import Pins
from qe_tui.app import QEApp
from qe_tui.browse import Browser, FoundHost
from qe_tui.screens.address import AddressScreen
from qe_tui.screens.form import TableForm
from qe_tui.screens.found import FoundTables, Row, alike, line, rows
from qe_tui.screens.lobby import LobbyScreen
from qe_tui.screens.menu import MenuScreen
from qe_tui.screens.parts import Tick
from qe_tui.screens.prompts import AskText, Choose, Notice
from qe_tui.screens.stop import Stop
from qe_tui.screens.tables import TablesScreen
from qe_tui.settings import Home, Settings, load
from qe_tui.visit import Visit
from server.announce import Announcer

Until = Callable[[Callable[[], Any]], Awaitable[Any]]
SIZES = [(80, 24), (120, 40)]
HOSTILE = "[/b] [red"
FP = "ab" * 32


def table(code: str, stage: str = "lobby", free: int = 2, **fields: Any) -> TableInfo:
    plain: dict[str, Any] = {"title": "", "game": "qe", "seats": 4, "taken": 4 - free, "bots": 0,
                             "spectators": 0, "locked": False, "standing": False}  # fmt: skip
    return TableInfo(table=code, stage=cast(Any, stage), free=free, **{**plain, **fields})


def found(name: str, *tables: TableInfo, tls: bool = True, refused: str | None = None) -> FoundHost:
    where = Where("192.168.1.5", 7373, tls, None, FP if tls else None)
    return FoundHost(name, name, "1", (where,), tables, refused)


HOSTS = [
    found("Bo's den", table("WOLF", title="Friday night"), table("LYNX", "playing", 0)),
    found(HOSTILE, table("MILL", "lobby", 0, locked=True, title=HOSTILE), tls=False),
    found("ベッドルームのホスト", table("TOWN", "over", 0, locked=True), tls=False),
    found("empty"),
    found("liar", refused="192.168.1.5 shows another certificate than before."),
]


def menu(home: Home, **settings: Any) -> QEApp:
    return QEApp(home, Settings(name="Ana", address="192.168.1.5", **settings))


async def settle(pilot: Pilot[None]) -> None:
    await pilot.pause()
    pilot.app.screen.query("Input").set(disabled=False)
    for typed in pilot.app.screen.query(Input):
        typed.cursor_blink = False
    for screen in pilot.app.screen_stack:
        if isinstance(screen, MenuScreen):
            pilot.app.workers.cancel_group(screen, "browse")
            await pilot.pause()
            screen.show([], [])
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
def test_menu_looks(snap_compare: Any, home: Home, size: tuple[int, int]) -> None:
    assert snap_compare(menu(home), terminal_size=size, run_before=settle)


@pytest.mark.parametrize("size", SIZES)
def test_form_looks(snap_compare: Any, home: Home, size: tuple[int, int]) -> None:
    assert snap_compare(menu(home), press=["h"], terminal_size=size, run_before=settle)


def test_address_looks(snap_compare: Any, home: Home) -> None:
    assert snap_compare(menu(home), press=["j"], terminal_size=(80, 24), run_before=settle)


def test_question_looks(snap_compare: Any, home: Home) -> None:
    assert snap_compare(menu(home), press=["p"], terminal_size=(80, 24), run_before=settle)


@pytest.mark.parametrize("size", SIZES)
def test_menu_with_tables_looks(snap_compare: Any, home: Home, size: tuple[int, int]) -> None:
    async def show(pilot: Pilot[None]) -> None:
        await settle(pilot)
        cast(MenuScreen, pilot.app.screen).show(HOSTS, [])
        await pilot.pause()
        await pilot.press("tab")

    assert snap_compare(menu(home), terminal_size=size, run_before=show)


@pytest.mark.parametrize("size", SIZES)
async def test_all_of_it_is_on_the_screen(home: Home, size: tuple[int, int]) -> None:
    app = menu(home)
    async with app.run_test(size=size) as pilot:
        for key in ("", "tab", "h", "j"):
            if key == "tab":
                cast(MenuScreen, app.screen).show(HOSTS, [HOSTILE])
            elif key:
                await pilot.press(key)
            await pilot.pause()
            whole = app.screen.region
            for widget in app.screen.query("Static, OptionList, Input, Select, Button, Tick"):
                if widget.display and widget.region.area:
                    assert whole.contains_region(widget.region), widget
            await pilot.press("escape")


@pytest.mark.long
async def test_keys_and_arrows_lead_to_the_same_places(home: Home) -> None:
    app = menu(home)
    async with app.run_test(size=(80, 24)) as pilot:
        for key, steps, kind in (
            ("p", 0, Choose),
            ("h", 1, TableForm),
            ("j", 2, AddressScreen),
            ("w", 3, AddressScreen),
        ):
            for keys in ([key], ["down"] * steps + ["enter"]):
                await pilot.press(*keys)
                await pilot.pause()
                assert isinstance(app.screen, kind)
                await pilot.press("escape")
                await pilot.pause()
                assert isinstance(app.screen, MenuScreen)
                app.screen.query_one(OptionList).highlighted = 0


async def test_the_mouse_leads_there_too(home: Home) -> None:
    app = menu(home)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#ways", offset=(10, 2))
        await pilot.pause()
        assert isinstance(app.screen, AddressScreen)


# --- Tables on the network ----------------------------------------------------------------------


def test_each_table_is_one_row_and_what_one_may_do_there_comes_first() -> None:
    listed = rows([*HOSTS, *HOSTS])
    assert [row.table.table if row.table else row.host.name for row in listed] == [
        "WOLF", "LYNX", "MILL", "TOWN", "empty", "liar",
    ]  # fmt: skip
    narrow = [line(row, False).plain for row in listed]
    assert all(cell_len(text) <= 78 for text in narrow)
    assert all(cell_len(line(row, True).plain) <= 118 for row in listed)
    for words, text in zip(
        ("2 free", "playing: watch", "full: watch", "over: watch", "no table", "certificate"),
        narrow,
        strict=True,
    ):
        assert words in text
    assert "password, no TLS" in narrow[2]
    many = [found(f"host {n}", *(table(code(i)) for i in range(600))) for n in range(3)]
    assert len(rows(many)) == 500


def code(number: int) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "AA" + letters[number // 26] + letters[number % 26]


async def test_enter_is_never_about_another_table_than_the_one_highlighted(home: Home) -> None:
    app = menu(home)
    chosen: list[tuple[str, str | None, bool]] = []
    app.visit_found = (  # type: ignore[method-assign]
        lambda host, code, watching: chosen.append((host.name, code, watching))
    )
    async with app.run_test(size=(80, 24)) as pilot:
        app.workers.cancel_group(app.screen, "browse")
        screen = cast(MenuScreen, app.screen)
        screen.show(HOSTS, [])
        await pilot.press("down", "down", "down", "down")
        tables = screen.query_one(FoundTables)
        assert tables.has_focus
        await pilot.press("enter", "w", "down", "enter")
        assert chosen == [
            ("Bo's den", "WOLF", False), ("Bo's den", "WOLF", True), ("Bo's den", "LYNX", True),
        ]  # fmt: skip
        # The list changes under the hand: the same table stays, or none is meant.
        screen.show([found("a new one", table("ABBA")), *HOSTS], [])
        await pilot.press("enter")
        assert chosen[-1] == ("Bo's den", "LYNX", True)
        screen.show([found("a new one", table("ABBA"))], [])
        await pilot.press("enter", "w")
        assert len(chosen) == 4
        await pilot.click("#tables", offset=(5, 0))
        assert chosen[-1] == ("a new one", "ABBA", False)
        screen.show([], [])
        await pilot.pause()
        assert screen.query_one("#ways").has_focus
        await pilot.press("w")
        assert isinstance(app.screen, AddressScreen)


async def test_an_empty_list_says_how_else_to_come_to_a_table(home: Home) -> None:
    app = menu(home)
    async with app.run_test(size=(80, 24)):
        app.workers.cancel_group(app.screen, "browse")
        screen = cast(MenuScreen, app.screen)

        def shown() -> str:
            return str(screen.query_one("#none", Static).visual)

        screen.show([], [])
        assert "Looking" in shown()
        screen._settle()
        assert "still looking" in shown()
        assert "192.168.1.5" in shown()
        screen.show([], [HOSTILE])
        assert HOSTILE in str(screen.query_one("#trouble", Static).visual)


@pytest.mark.usefixtures("alone_on_mdns")
async def test_a_table_is_found_and_joined(tls_den: Den, home: Home, until: Until) -> None:
    guest = await tls_den.guest(home, "Bo")
    create = Create(game="qe", seats=3, title=HOSTILE, name="Bo", password="open sesame")
    wolf = (await guest.stay.ask(create))["table"]
    notice = mdns.Notice(id=guest.welcome.host.id, fp=guest.stay.fingerprint)
    announcer = Announcer(
        HOSTILE, tls_den.where.port, notice, lambda: ["127.0.0.1"], interfaces=["127.0.0.1"]
    )
    announcer.start()
    app = menu(home)
    browsers: list[Browser] = []

    def browser() -> Browser:
        browsers.append(Browser(Pins(home.pins), interfaces=["127.0.0.1"]))
        return browsers[-1]

    app.browser = browser  # type: ignore[method-assign]
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        tables = app.screen.query_one(FoundTables)

        def mine() -> Row | None:
            return next(
                (row for row in tables._rows if row.table and row.table.table == wolf), None
            )

        row = await until(mine)
        app.visit_found(row.host, wolf, False)
        line = await until(lambda: isinstance(app.screen, AskText) and app.screen.query_one(Input))
        await until(lambda: not browsers[0]._tasks)  # it has stopped looking
        line.value = "open sesame"
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, LobbyScreen) and app.snapshot.table == wolf)
        assert app.visit is not None
        assert app.visit.where.fingerprint == guest.stay.fingerprint
        assert guest.welcome.host.id in home.pins.read_text(), "who sits down pins"
        await app.depart()
    await announcer.stop()


async def test_a_host_without_tls_is_asked_about(den: Den, home: Home, until: Until) -> None:
    guest = await den.guest(home, "Bo")
    await guest.stay.ask(Create(game="qe", seats=3, title="", name="Bo"))
    for _ in range(2):
        await guest.stay.ask(AddBot())
    host = FoundHost(guest.welcome.host.id, HOSTILE, "1", (den.where,))
    app = menu(home)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.visit_found(host, None, True)
        await until(lambda: isinstance(app.screen, Choose))
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, MenuScreen))
        app.visit_found(host, None, True)
        await until(lambda: isinstance(app.screen, Choose))
        await pilot.press("g")
        await until(lambda: isinstance(app.screen, LobbyScreen))
        assert app.visit is not None
        assert app.visit.watching
        await app.depart()


async def test_a_host_not_to_be_trusted_is_not_called(home: Home, until: Until) -> None:
    app = menu(home)
    async with app.run_test(size=(80, 24)):
        changed = FingerprintChanged("192.168.1.5", FP, "cd" * 32)
        for error in (None, changed):
            app.visit_found(replace(HOSTS[-1], error=error), None, False)
            await until(lambda: isinstance(app.screen, Notice) and app.screen.has_class("stop"))
            assert isinstance(app.screen, Stop) == (error is not None)
            assert app.visit is None
            app.go("menu")
            await until(lambda: isinstance(app.screen, MenuScreen))


async def test_the_key_line_says_what_enter_does_here(home: Home) -> None:
    app = menu(home)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        cast(MenuScreen, app.screen).show(HOSTS, [])
        said = []
        await pilot.press("tab")
        for _ in rows(HOSTS):
            await pilot.pause()
            shown = [each.binding for each in app.screen.active_bindings.values() if each.enabled]
            keys = {binding.key: binding.description for binding in shown if binding.show}
            said.append((keys["enter"], keys.get("w")))
            await pilot.press("down")
        assert said == [
            ("Join", "Watch"), ("Watch", None), ("Watch", None), ("Watch", None),
            ("Open the list", None), ("Why?", None),
        ]  # fmt: skip
        await pilot.press("end", "w")
        await pilot.pause()
        assert isinstance(app.screen, MenuScreen), "w on a row is not the menu's"


def test_hosts_that_look_alike_are_told_apart() -> None:
    def host(end: str, address: str, **changes: Any) -> FoundHost:
        one = found(f"the host in the {end}", table("WOLF"))
        return replace(one, wheres=(replace(one.where, address=address),), **changes)

    listed = rows([host("kitchen", "10.0.0.5"), host("hall", "fd00:1234:5678:9abc::7")])
    twins = alike(listed)
    shown = [line(row, False, twins).plain for row in listed]
    assert any(" 10.0.0.5 " in text for text in shown)
    assert any("9abc::7" in text for text in shown)
    assert alike(listed[:1]) == frozenset()
    assert "broker" in line(rows([host("den", "10.0.0.5", by_broker=True)])[0], False).plain


async def test_a_long_list_of_tables_keeps_its_headline(home: Home) -> None:
    where = Where("192.168.1.5", 7373)
    welcome = Welcome(version=1, now=0, host=HostInfo(id="x", name=HOSTILE, version="1"), games={})
    at = Visit(cast(Any, None), where, welcome, "Ana", cast(Any, None))
    app = menu(home)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = TablesScreen(at, [table(code(n)) for n in range(26)], False)
        screen._look = lambda: None  # type: ignore[method-assign]
        app.push_screen(screen)
        await pilot.pause()
        for key in ("home", "end"):
            await pilot.press(key)
            for selector in ("Headline", "#heading", "#tables", "Footer"):
                assert screen.region.contains_region(screen.query_one(selector).region), selector
            assert screen.max_scroll_y == 0
            assert screen.query_one("#heading").region.y > screen.query_one("Headline").region.y


async def test_two_certificates_can_be_compared_and_the_command_is_copied(home: Home) -> None:
    app = menu(home)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settle(pilot)
        app.stop(FingerprintChanged("192.168.1.5", FP, "cd" * 32))
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        text = ["".join(segment.text for segment in strip).strip() for strip in strips]
        for one in ("abababab", "cdcdcdcd"):
            assert sum(row.endswith(" ".join([one] * 4)) for row in text) == 2
        assert f"qe forget {FP}" in text, "whole on a row of its own"
        await pilot.press("c")
        assert app.clipboard == f"qe forget {FP}"
        await pilot.press("m")
        await pilot.pause()
        assert isinstance(app.screen, MenuScreen)


async def test_a_certificate_other_than_invited_to_is_not_to_be_forgotten(home: Home) -> None:
    app = menu(home)
    async with app.run_test(size=(80, 24)) as pilot:
        app.stop(FingerprintChanged("192.168.1.5", FP, "cd" * 32, told=True))
        await pilot.pause()
        assert not app.screen.query("#command")
        await pilot.press("c")
        assert app.clipboard == ""


async def test_another_host_than_the_one_found_is_refused(
    tls_den: Den, home: Home, until: Until
) -> None:
    guest = await tls_den.guest(home, "Bo")
    where = replace(tls_den.where, fingerprint=guest.stay.fingerprint)
    app = menu(home)
    async with app.run_test(size=(80, 24)):
        app.visit_found(FoundHost("another id", "Den", "1", (where,)), None, False)
        await until(lambda: isinstance(app.screen, Notice))
        host = FoundHost(guest.welcome.host.id, "Den", "1", (where,))
        app.visit_found(host, None, False)
        await until(lambda: isinstance(app.screen, TablesScreen))
        await app.depart()


async def test_a_name_is_checked_and_kept(home: Home, until: Until) -> None:
    app = menu(home)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("n")
        line = await until(lambda: isinstance(app.screen, AskText) and app.screen.query_one(Input))
        line.value = "x" * 21
        await pilot.press("enter")
        assert isinstance(app.screen, AskText), "too long"
        assert app.screen.query_one(".wrong").display
        line.value = f"  {HOSTILE}\t"
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, MenuScreen))
        assert app.player == HOSTILE
    assert load(home.settings)[0].name == HOSTILE


async def test_the_last_address_is_there(home: Home) -> None:
    app = menu(home, tls=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j")
        await pilot.pause()
        assert app.screen.query_one(Input).value == "192.168.1.5"
        assert app.screen.query_one(Tick).value


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"players": "4"}',
        b'{"players": 7}',
        b'{"port": 0}',
        b'{"nmae": "Ana"}',
    ],
)
def test_a_broken_file_is_set_aside_with_a_sentence(home: Home, broken: bytes) -> None:
    home.settings.parent.mkdir(parents=True)
    home.settings.write_bytes(broken)
    settings, sentence = load(home.settings)
    assert settings == Settings()
    assert sentence is not None
    aside = home.settings.with_name("settings.json.broken")
    assert str(aside) in sentence
    assert aside.read_bytes() == broken
    if b"nmae" in broken:
        assert "'nmae'" in sentence
        assert "'name'" in sentence
    assert load(home.settings) == (Settings(), None)


async def test_that_sentence_is_shown(home: Home) -> None:
    app = QEApp(home, Settings(), name="Ana", notice=f"{HOSTILE} was set aside.")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        assert any(HOSTILE in toast.message for toast in app._notifications)
