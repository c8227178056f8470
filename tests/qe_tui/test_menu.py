"""The menu, and the screens it leads to, as they look and as they are used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from qe_tui.app import QEApp
from qe_tui.screens.address import AddressScreen
from qe_tui.screens.form import TableForm
from qe_tui.screens.menu import MenuScreen
from qe_tui.screens.parts import Tick
from qe_tui.screens.prompts import AskText, Choose
from qe_tui.settings import Home, Settings, load

Until = Callable[[Callable[[], Any]], Awaitable[Any]]
SIZES = [(80, 24), (120, 40)]
HOSTILE = "[/b] [red"


def menu(home: Home, **settings: Any) -> QEApp:
    return QEApp(home, Settings(name="Ana", address="192.168.1.5", **settings))


async def settle(pilot: Pilot[None]) -> None:
    await pilot.pause()
    pilot.app.screen.query("Input").set(disabled=False)
    for line in pilot.app.screen.query(Input):
        line.cursor_blink = False
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
async def test_all_of_it_is_on_the_screen(home: Home, size: tuple[int, int]) -> None:
    app = menu(home)
    async with app.run_test(size=size) as pilot:
        for key in ("", "h", "j"):
            if key:
                await pilot.press(key)
            await pilot.pause()
            whole = app.screen.region
            for widget in app.screen.query("Static, OptionList, Input, Select, Button, Tick"):
                if widget.display and widget.region.area:
                    assert whole.contains_region(widget.region), widget
            await pilot.press("escape")


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
