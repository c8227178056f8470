"""The three rules against sending the wrong thing, and what a covered line must not tell."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from protocol.errors import ConnectionLost
from protocol.messages import Say
from qe_tui.widgets.cheque import ENTER_AFTER, REST
from tests.qe_tui.table_harness import Play, Table, enter, secret_phase, settled

SMALL = (80, 24)


def close_the_step(play: Play, mine: int, amount: int = 9) -> None:
    """All who are still to bid do, the clock for the reader too if need be."""
    for seat in list(play.game.waiting):
        play.bid(seat, amount + seat if seat != mine else 1)


# --- Rule 1: a bid belongs to the step at which its first key was typed ----------------------


async def test_a_new_step_empties_the_line_and_says_what_stood() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        await enter(pilot, app)
        await pilot.press(*"450")
        for other in list(play.game.waiting):
            play.bid(other, 20 + other)
        app.show()
        await pilot.pause()
        assert play.game.auctioneer == seat  # now it is the opening that a late Enter would make
        assert app.table.cheque.line.value == ""
        assert "Closed before your change; 300 stood." in app.text()
        await enter(pilot, app)
        assert len(app.asked) == 1


async def test_what_is_typed_on_a_new_step_belongs_to_it() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        await enter(pilot, app)
        for other in list(play.game.waiting):
            play.bid(other, 20 + other)
        app.show()
        await pilot.press(*"77")
        await enter(pilot, app)
        assert app.asked[-1].step > app.asked[0].step
        assert play.game.opening == "77"


async def test_nothing_typed_goes_on_to_another_table() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        other = Play(4, "another seed").through(8)
        other.bid(other.game.auctioneer, 12_000)
        assert other.game.step == play.game.step
        app.play = other
        app.seat = other.game.waiting[0]
        app.show()
        await enter(pilot, app)
        assert app.table.cheque.line.value == ""
        assert app.asked == []


async def test_a_bid_under_way_when_the_step_changes_keeps_its_own_step() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    reached, go = asyncio.Event(), asyncio.Event()
    ask = app.ask

    async def slow(body):  # type: ignore[no-untyped-def]
        reached.set()
        await go.wait()
        return await ask(body)

    app.ask = slow  # type: ignore[method-assign]
    async with app.run_test(size=SMALL) as pilot:
        step = play.game.step
        await pilot.press(*"300")
        app.clock.at += 1
        await pilot.press("enter")
        await reached.wait()
        await pilot.press(*"99")  # changes nothing any more
        for other in sorted(play.game.waiting, key=lambda other: other == seat):
            play.bid(other, 20 + other)  # the reader's own by the clock, as the host does it
        app.show()
        go.set()
        await settled(pilot, app)
        (act,) = app.asked
        assert (act.step, act.action["amount"]) == (step, "300")
        assert "Too late" in app.text()
        assert app.table.cheque.line.value == ""
        assert play.game.opening is None


async def test_a_refusal_keeps_what_was_typed_and_says_why() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    app.fails = ConnectionLost("gone")
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        await enter(pilot, app)
        assert app.table.cheque.line.value == "300"
        assert "connection went" in app.text()
        app.fails = RuntimeError("300 is secret")
        await enter(pilot, app)
        assert "300 is secret" not in app.text()
        assert "in the log" in app.text()
        app.fails = None
        await enter(pilot, app)
        assert app.snapshot.you.bid == "300"


# --- Rule 2: focus is never taken from a line with text in it --------------------------------


async def test_ones_turn_takes_nothing_from_a_line_that_is_being_written() -> None:
    play = Play(4).through(3)
    opener = play.game.auctioneer
    app = Table(play, (opener + 1) % 4)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("slash", *"I think")
        play.bid(opener, 50)
        app.show()
        await pilot.pause()
        assert "the table waits for you" in app.text()
        await pilot.press(*" 42", "enter")
        await settled(pilot, app)
        (say,) = app.asked
        assert isinstance(say, Say)
        assert say.text == "I think 42"
        assert app.focused is app.table.cheque.line


async def test_a_chat_line_closed_is_kept_for_the_next_time() -> None:
    app = Table(Play(4).through(3), 0)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("slash", *"half a", "escape", "slash", *" line", "enter")
        await pilot.pause()
        assert app.asked[-1].text == "half a line"


async def test_a_view_of_the_same_step_leaves_line_and_cursor_alone() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"12345", "left", "left")
        play.bid(next(other for other in play.game.waiting if other != seat), 7)
        app.show(spectators=9)
        await pilot.pause()
        line = app.table.cheque.line
        assert app.focused is line
        await pilot.press("9")
        assert line.value == "123,945"


# --- Rule 3: Enter does nothing for 400 ms after the focus has moved -------------------------


async def test_enter_does_nothing_just_after_the_focus_has_moved() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        await enter(pilot, app)
        await pilot.press(*"500", "slash", "escape")
        await pilot.pause()
        app.clock.at += 0.399
        await pilot.press("enter")
        await pilot.pause()
        assert len(app.asked) == 1
        app.clock.at += 0.002
        await pilot.press("enter")
        await pilot.pause()
        assert len(app.asked) == 2


async def test_enter_does_nothing_just_after_the_table_has_come() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300", "enter")
        await pilot.pause()
        assert app.asked == []


# --- Keys that were meant for something that has gone ----------------------------------------


@pytest.mark.parametrize("gap", [pytest.param(0.12, marks=pytest.mark.long), 0.2, REST - 0.05])
@pytest.mark.parametrize("sealed", [True, False])
async def test_the_rest_of_a_number_is_not_the_next_opening(gap: float, sealed: bool) -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        if sealed:
            await pilot.press(*"300")
            await enter(pilot, app)
        for key in "13":
            await pilot.press(key)
            app.clock.at += gap
        before = len(app.asked)
        close_the_step(play, seat)
        app.show()
        await pilot.pause()
        for key in [*"500", "enter"]:
            await pilot.press(key)
            app.clock.at += gap
        await settled(pilot, app)
        assert len(app.asked) == before
        assert app.table.cheque.line.value == ""
        app.clock.at += REST
        await pilot.press(*"77")
        await enter(pilot, app)
        assert play.game.opening == "77"


async def test_the_rest_of_a_number_is_no_bid_in_a_tie() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        await enter(pilot, app)
        await pilot.press(*"13")
        for other in list(play.game.waiting):
            play.bid(other, 300)
        app.show()
        await pilot.pause()
        app.clock.at += 0.15
        await pilot.press(*"500")
        await enter(pilot, app)
        assert play.game.phase in ("rebid", "opening")
        assert len(app.asked) == 1


async def test_keys_that_waited_since_before_the_step_are_not_taken() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        await enter(pilot, app)
        late = [events.Key(key, key) for key in "42"]
        paste = events.Paste("4242")
        enter_key = events.Key("enter", None)
        await asyncio.sleep(0.02)
        for other in list(play.game.waiting):
            play.bid(other, 300)
        app.show()
        await pilot.pause()
        app.clock.at += 1
        for event in (*late, paste, enter_key):
            app.table.cheque.line.post_message(event)
        await settled(pilot, app)
        assert app.table.cheque.line.value == ""
        assert len(app.asked) == 1


async def test_a_burst_of_keys_over_an_award_arrives_whole() -> None:
    play = Play(4).auction(10, 5, 20, 0)
    app = Table(play, play.game.auctioneer)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        for key in "23k":
            app.post_message(events.Key(key, key))
        await settled(pilot, app)
        assert app.table.cheque.line.value == "23k"
        await enter(pilot, app)
        assert play.game.opening == "23000"


async def test_a_paste_over_an_award_arrives() -> None:
    play = Play(4).auction(10, 5, 20, 0)
    app = Table(play, play.game.auctioneer)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        app.post_message(events.Paste("1,200"))
        await settled(pilot, app)
        assert app.table.cheque.line.value == "1,200"


async def test_what_became_of_a_change_is_said_over_the_award_too() -> None:
    play, _ = secret_phase()
    app = Table(play, (play.game.auctioneer + 2) % 4)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        await enter(pilot, app)
        await pilot.press(*"45")
        close_the_step(play, -1)
        app.show()
        await pilot.pause()
        assert "Closed before your change; 300 stood." in app.text()
        await pilot.press("escape")
        await pilot.pause()
        assert "300" not in app.text()
        assert "your bid stood" in app.text()


async def test_an_enter_too_soon_says_so() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300", "enter")
        await pilot.pause()
        assert app.asked == []
        assert "Enter once more seals it." in app.text()
        app.clock.at += ENTER_AFTER + 0.01
        await pilot.press("enter")
        await settled(pilot, app)
        assert len(app.asked) == 1


async def test_an_opening_typed_over_the_award_needs_no_second_enter() -> None:
    play = Play(4).auction(10, 5, 20, 0)
    app = Table(play, play.game.auctioneer)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        app.clock.at += 1
        await pilot.press(*"20", "enter")
        await settled(pilot, app)
        assert play.game.opening == "20"


async def test_an_amount_in_the_chat_is_asked_about_first() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("slash", *"777123", "enter")
        await settled(pilot, app)
        assert app.asked == []
        await pilot.press("enter")
        await settled(pilot, app)
        assert [(type(body), body.text) for body in app.asked] == [(Say, "777123")]


async def test_nothing_is_typed_on_a_table_that_cannot_be_seen() -> None:
    play = Play(4).auction(10, 5, 20, 0)
    app = Table(play, play.game.auctioneer)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        await pilot.press(*"77")
        await enter(pilot, app)
        assert app.asked == []
        await pilot.resize_terminal(80, 24)
        await settled(pilot, app)
        await pilot.press(*"78")
        await enter(pilot, app)
        assert play.game.opening == "78"


async def test_the_keyboard_works_again_when_the_window_has_grown() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=(60, 18)) as pilot:
        await pilot.pause()
        await pilot.resize_terminal(80, 24)
        await settled(pilot, app)
        await pilot.press(*"300")
        assert app.table.cheque.line.value == "300"


async def test_a_view_that_overtakes_the_answer_shows_no_figures() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    reached, go = asyncio.Event(), asyncio.Event()

    async def slow(body):  # type: ignore[no-untyped-def]
        play.bid(seat, 777_123)
        reached.set()
        await go.wait()
        return {}

    app.ask = slow  # type: ignore[method-assign]
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"777123")
        app.clock.at += 1
        await pilot.press("enter")
        await reached.wait()
        app.show()
        await pilot.pause()
        text = app.text()
        assert "SEALED" in text
        assert "777" not in text
        go.set()
        await settled(pilot, app)


# --- A covered line ---------------------------------------------------------------------------


async def test_a_covered_line_looks_the_same_whatever_is_on_it() -> None:
    seen = set()
    for typed in ("7", "123", "1234567", "9" * 900):
        play, seat = secret_phase()
        app = Table(play, seat)
        async with app.run_test(size=SMALL) as pilot:
            await pilot.press("escape")
            app.post_message(events.Paste(typed))
            await settled(pilot, app)
            assert app.table.cheque.line.value.replace(",", "") == typed
            seen.add(app.text())
    assert len(seen) == 1


async def test_a_covered_amount_cannot_be_copied() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"777123", "escape", "home", "shift+end", "ctrl+c", "ctrl+x")
        await pilot.pause()
        assert app.clipboard == ""
        assert app.table.cheque.line.value == "777,123"


async def test_a_remark_that_tells_the_amount_is_covered_with_it() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"12000")
        await enter(pilot, app)
        assert "Equal to the opening bid" in app.text()
        await pilot.press("escape")
        await pilot.pause()
        assert "Equal to the opening bid" not in app.text()
        assert "The rules do not allow that amount." in app.text()
