"""The table: what it says, what it sends, and the three rules against sending the wrong thing."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot

from protocol.errors import ConnectionLost
from protocol.messages import Act, React, Say
from tests.qe_tui.table_harness import NOW, Play, Table

SMALL = (80, 24)
LARGE = (120, 40)


def secret_phase(players: int = 4, auctions: int = 8, opening: int = 12_000) -> tuple[Play, int]:
    """A game in the phase of secret bids, and the seat after its auctioneer."""
    play = Play(players).through(auctions)
    opener = play.game.auctioneer
    play.bid(opener, opening)
    return play, (opener + 1) % players


async def enter(pilot: Pilot[None], app: Table) -> None:
    """Enter, as somebody presses it who has looked."""
    app.clock.at += 1
    await pilot.press("enter")
    await settled(pilot, app)


async def settled(pilot: Pilot[None], app: Table) -> None:
    """Until all that was asked for is answered and shown."""
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()


# --- What is there --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_secret_bid_has_everything_on_one_screen(size: tuple[int, int]) -> None:
    play, seat = secret_phase()
    play.say((seat + 1) % 4, "nobody needs a house")
    app = Table(play, seat, deadline=int((NOW + 41) * 1000))
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press(*"13500")
        await pilot.pause()
        text = app.text()
        you = app.snapshot.you
        for wanted in (
            "auction 9/16",
            "round 3/4",
            "table WOLF",
            "2 watching",
            "YOUR SECRET BID",
            "12,000",
            f"you would gain {you.gain} VP",
            "13,500",
            "thirteen thousand, five hundred",
            "over the opening",
            "Enter seals it",
            "0:41",
            "thinks",
            "YOU",
            f"You: {you.score.subtotal} VP",
            "spent",
            "Last:",
            "nobody needs a house",
            "leave, seat is kept",
        ):
            assert wanted in text, wanted


@pytest.mark.parametrize(
    ("typed", "remark"),
    [
        ("12000", "Equal to the opening"),
        ("12001", "over the opening"),
        ("11999", "under the opening"),
        ("0", "zero bid"),
        ("1.5", "whole"),
        ("12kk", "ending"),
    ],
)
async def test_the_remark_follows_what_is_typed(typed: str, remark: str) -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*(key if key != "." else "full_stop" for key in typed))
        await pilot.pause()
        assert remark in app.text()


@pytest.mark.parametrize("typed", ["12000", "12kk", ""])
async def test_what_the_rules_forbid_is_not_sent(typed: str) -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*typed)
        await enter(pilot, app)
        assert app.asked == []
        assert app.table.cheque.line.value.replace(",", "") == typed


async def test_enter_seals_with_the_step_and_a_sealed_bid_hides_its_figures() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        step = play.game.step
        await pilot.press(*"13500")
        await enter(pilot, app)
        (act,) = app.asked
        assert isinstance(act, Act)
        assert (act.step, act.action) == (step, {"kind": "bid", "amount": "13500"})
        text = app.text()
        assert "SEALED" in text
        assert "13,500" not in text
        assert "13500" not in text


async def test_a_sealed_bid_may_be_changed_by_typing_again() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        for amount in ("500", "600"):
            await pilot.press(*amount)
            await enter(pilot, app)
        assert [act.action["amount"] for act in app.asked] == ["500", "600"]
        assert app.snapshot.you.bid == "600"


async def test_a_thousand_digits_are_typed_shown_and_sent() -> None:
    play, seat = secret_phase(opening=10**999)
    app = Table(play, seat)
    digits = "123456" + "7" * 988 + "654321"
    async with app.run_test(size=SMALL) as pilot:
        for digit in digits:
            app.table.cheque.line.insert_text_at_cursor(digit)
        await pilot.pause()
        assert "(1,000 digits)" in app.text()
        assert "10^999" in app.text()
        await enter(pilot, app)
        assert app.asked[0].action["amount"] == digits
        assert len(app.text().splitlines()) == 24


async def test_a_paste_is_cleaned_and_bound_to_its_step() -> None:
    from textual.events import Paste

    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        line = app.table.cheque.line
        line.post_message(Paste("1 500\x1b[31m\nsecond line"))
        await pilot.pause()
        assert line.belongs_to == play.game.step
        assert "second" not in line.value
        assert "\x1b" not in line.value


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


# --- Keys -----------------------------------------------------------------------------------


async def test_letters_belong_to_amounts_and_other_keys_do_not() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"pbsel")
        assert app.table.cheque.line.value == "pbsel"
        await pilot.press("semicolon", "dollar_sign")
        assert app.table.cheque.line.value == "pbsel"


async def test_a_reaction_is_two_keys_and_shows_for_a_while() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("exclamation_mark")
        assert "applause" in app.text()
        await pilot.press("g")
        await pilot.pause()
        assert app.asked == [React(kind="gasp")]
        app.react((seat + 1) % 4, "laugh")
        await pilot.pause()
        assert "laughs" in app.text()
        app.wall.at += 10
        await pilot.pause(0.4)
        assert "laughs" not in app.text()
        app.react((seat + 1) % 4, "[/b] no reaction")


async def test_the_palette_offers_what_is_possible_now() -> None:
    from qe_tui.screens import table_actions as actions

    names = {deed.name for deed in actions.DEEDS}
    assert len({deed.binding.id for deed in actions.DEEDS}) == len(names)
    play, seat = secret_phase()
    now = {deed.name for deed in actions.possible(play.snapshot(seat))}
    assert {"ledger", "chat", "cover"} <= now
    assert not {"peek", "again", "bids", "save", "leave"} & now
    watching = {deed.name for deed in actions.possible(play.snapshot(None))}
    assert "leave" in watching
    assert "cover" not in watching
    for deed in actions.DEEDS:
        assert hasattr(Table(play, seat).table, f"_do_{deed.name}")


async def test_rules_and_keys_open_from_anywhere_and_close() -> None:
    play, seat = secret_phase(5, 3)
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"12", "question_mark")
        assert "QE IN A MINUTE" in app.text()
        await pilot.press("escape")
        assert app.table.cheque.line.value == "12"


async def test_giving_up_the_seat_asks_first() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("f9")
        await pilot.pause()
        assert "Give up your seat?" in app.text()
        await pilot.press("s")
        assert not app.left
        await pilot.press("f9")
        await pilot.pause()
        await pilot.press("l")
        await pilot.pause()
        assert app.left


# --- The award, ties, the blind final, the peek ----------------------------------------------


async def test_the_auctioneer_sees_the_bids_and_the_others_do_not() -> None:
    play = Play(4).through(7)
    opener = play.game.auctioneer
    play.auction(1500, 9999, 4000, 0)
    app = Table(play, opener)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        text = app.text()
        for wanted in ("FOR YOUR EYES ONLY", "9,999", "4,000", "1,500", "WINS", "█", "+2 VP",
                       "bid zero", "6.6 times over", "by 5,999", "NEXT:"):  # fmt: skip
            assert wanted in text, wanted
    loser = (opener + 2) % 4
    app = Table(play, loser)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        text = app.text()
        assert "is looking at the cheques" in text
        assert "Your bid was 4,000" in text
        assert "4,001 or more" in text
        assert "9,999" not in text


async def test_the_award_goes_when_the_next_opening_comes() -> None:
    play = Play(4).through(3)
    opener = play.game.auctioneer
    play.auction(1500, 9999, 4000, 0)
    app = Table(play, opener)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "FOR YOUR EYES ONLY" in app.text()
        play.bid(play.game.auctioneer, 5)
        app.show()
        await pilot.pause()
        assert "FOR YOUR EYES ONLY" not in app.text()
        assert app.focused is app.table.cheque.line


async def test_a_tie_says_who_bids_again_and_what_stands() -> None:
    play = Play(4).through(4)
    opener = play.game.auctioneer
    play.auction(100, 500, 500, 3)
    tied, other, third = ((opener + step) % 4 for step in (1, 2, 3))
    for seat, wanted in (
        (tied, f"You tied with {play.names[other]}."),
        (third, "What you bid stands."),
        (opener, "TIED, bids again"),
        (None, "A tie!"),
    ):
        app = Table(play, seat)
        async with app.run_test(size=SMALL) as pilot:
            await pilot.pause()
            assert wanted in app.text()
    app = Table(play, third)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        play.bid(tied, 7)
        app.show()
        await pilot.pause()
        row = next(row for row in app.text().splitlines() if play.names[tied] in row[:8])
        assert "sealed" in row


async def test_the_next_opener_has_the_award_until_the_first_digit() -> None:
    play = Play(4).auction(10, 5, 20, 0)
    app = Table(play, play.game.auctioneer)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "goes to" in app.text()
        assert "YOU OPEN." in app.text()
        await pilot.press("l", "x")
        await pilot.pause()
        assert "goes to" in app.text()
        await pilot.press("1", "2", "0", "0")
        await pilot.pause()
        text = app.text()
        assert "goes to" not in text
        assert "1,200" in text
        assert app.asked == []
        await pilot.press(*["backspace"] * 5)
        await pilot.pause()
        assert "pays for" in app.text(), "the cheque stays once it was begun"


async def test_a_spectator_is_told_what_the_table_heard() -> None:
    play = Play(4).auction(10, 5, 20, 0)
    app = Table(play, None)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "The table heard: “Cy buys it. Dee bid zero.”" in app.text()


async def test_the_blind_final_counts_the_total_while_typing() -> None:
    play = Play(3).through(15)
    app = Table(play, 0)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        spent = int(app.snapshot.you.spent)
        text = app.text()
        assert "A TIE, AND NOBODY GETS IT" in text
        assert "THE LAST TILE" in text
        await pilot.press("enter")
        await pilot.pause()
        text = app.text()
        assert f"spent so far {spent:,}; with this bid {spent:,}" in text
        await pilot.press(*"1000")
        await pilot.pause()
        assert f"with this bid {spent + 1000:,}" in app.text()


async def test_a_peek_is_offered_made_and_shown_to_its_maker_only() -> None:
    play = Play(5).through(6)
    peeker = next(
        seat
        for seat in range(5)
        if play.snapshot(seat).you.may_peek and seat != play.game.auctioneer
    )
    app = Table(play, peeker)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "F2" in app.text()
        await pilot.press("f2")
        await pilot.pause()
        seen = [bid for bid in app.snapshot.you.known if bid.source == "peek"]
        assert f"You peeked: {int(seen[0].amount):,}." in app.text()
        assert "F2 peek" not in app.text()
    other = next(
        s
        for s in range(5)
        if not any(
            bid.auction == 6 for bid in play.snapshot(s).you.known if bid.amount == seen[0].amount
        )
    )
    app = Table(play, other)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert f"{int(seen[0].amount):,}" not in app.text()


# --- Trouble --------------------------------------------------------------------------------


async def test_a_lost_connection_is_a_banner_and_typing_is_kept() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        app.show(lost="No answer; trying again in 3 s.")
        await pilot.pause()
        assert "CONNECTION LOST" in app.text()
        assert "trying again in 3 s." in app.text()
        await pilot.press("0")
        app.show(lost=None)
        await pilot.pause()
        assert "CONNECTION LOST" not in app.text()
        assert app.table.cheque.line.value == "3,000"


async def test_pause_and_absence_show() -> None:
    play, seat = secret_phase()
    away = next(s for s in play.game.waiting if s != seat)
    app = Table(play, seat, paused=True, gone=(away,), deadline=int((NOW + 30) * 1000))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "PAUSED" in app.text()
        assert "AWAY" in app.text()
        assert "0:30" not in app.text()
        app.show(kinds={away: "stand_in"})
        await pilot.pause()
        assert "stand-in" in app.text()


async def test_a_small_window_gets_a_polite_sentence_and_loses_nothing() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*"300")
        await pilot.resize_terminal(70, 20)
        await pilot.pause()
        assert "70 by" in app.text()
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert app.table.cheque.line.value == "300"
        assert "AUCTION" in app.text()


@pytest.mark.parametrize("players", [3, 4, 5])
async def test_every_phase_of_a_whole_game_shows_at_every_seat(players: int) -> None:
    play = Play(players)
    app = Table(play, 1)
    async with app.run_test(size=SMALL) as pilot:
        phases = set()
        while (game := play.game).result is None:
            seat = game.waiting[0]
            amount = 10 * game.auction + (7 if game.phase == "rebid" else 0) * seat
            play.bid(seat, amount + (str(amount) == game.opening))
            if (game.phase, seat) not in phases:
                phases.add((game.phase, seat))
                for reader in (None, *range(players)):
                    app.table.show(play.snapshot(reader))
                    await pilot.pause()
        app.show()
        await pilot.pause()
        assert "GAME OVER" in app.text()
        assert {phase for phase, seat in phases} >= {"opening", "secret", "rebid"}
