"""Keys that arrive together, as over a slow line, are taken in their order."""

from __future__ import annotations

from collections.abc import Callable

from table_harness import Table, secret_phase
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from protocol.messages import Act, Say
from qe_tui.screens.chat import ChatScreen

SIZE = (80, 24)


def at_once(app: Table, *keys: str) -> None:
    """Lets keys arrive in one write."""
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 else key
        app.post_message(events.Key(name, key if len(key) == 1 else None))


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    for _ in range(500):
        if condition():
            return
        await pilot.pause()
    raise AssertionError("it did not happen")


async def test_a_correction_is_made_before_the_bid_is_sealed() -> None:
    app = Table(*secret_phase())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.clock.at += 1
        at_once(app, "7", "0", "0", "backspace", "5", "left", "left", "1", "enter", "9")
        await until(pilot, lambda: app.asked)
        await pilot.pause()
        (act,) = app.asked
        assert isinstance(act, Act)
        assert act.action["amount"] == "7105"


async def test_what_is_typed_after_a_chat_line_is_not_said() -> None:
    app = Table(*secret_phase())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        at_once(app, "5", "/", "h", "i", "x", "backspace", "enter", "7", "0", "backspace", "1")
        await until(pilot, lambda: app.table.cheque.line.value == "571")
        (said,) = app.asked
        assert said == Say(text="hi")
        assert not isinstance(app.screen, ChatScreen)


async def test_the_first_key_that_brings_up_the_cheque_can_be_taken_back() -> None:
    play, seat = secret_phase()
    app = Table(play.bid(seat, 1).bid((seat + 1) % 4, 2).bid((seat + 2) % 4, 3), seat)
    assert play.game.auctioneer == seat
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert app.table.has_class("-award")
        at_once(app, "9", "backspace", "4", "2")
        await until(pilot, lambda: app.table.cheque.line.value == "42")


async def test_keys_go_on_where_whoever_had_one_is_gone() -> None:
    app = Table(*secret_phase())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        at_once(app, "?", "escape", "/", "escape", "tab", "escape", "3", "1")
        await until(pilot, lambda: app.table.cheque.line.value == "31")
