"""The table: what it says and what it sends."""

from __future__ import annotations

import pytest

from protocol.messages import Act, React
from tests.qe_tui.table_harness import NOW, Play, Table, enter, secret_phase

SMALL = (80, 24)
LARGE = (120, 40)


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


async def test_giving_up_the_seat_is_the_desks_to_ask_about() -> None:
    play, seat = secret_phase()
    app = Table(play, seat)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("f9")
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
        app.show(lost="The host closed the connection, and gave a reason that goes on and on.")
        await pilot.pause()
        banner = app.text().splitlines()[1]
        assert "CONNECTION LOST.  The host closed" in banner
        assert banner.rstrip().endswith("…  Trying again; your seat is kept.")
        assert ">>> WAIT." in app.text()
        assert "Enter seal" not in app.text()
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
        assert "PAUSED." in app.text()
        assert f"{play.names[0]}, the host, goes on with it." in app.text()
        assert "still to bid (paused)" in app.text()
        assert "AWAY" in app.text()
        assert "0:30" not in app.text()
        app.show(kinds={away: "stand_in"})
        await pilot.pause()
        assert "computer" in app.text()


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


@pytest.mark.parametrize(
    "players", [3, *(pytest.param(many, marks=pytest.mark.long) for many in (4, 5))]
)
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
