"""The ledger: every bid that one may know, its source, and a lower bound of what others spent."""

from __future__ import annotations

import random

import pytest

from qe_tui.screens import table_facts as facts
from tests.qe_tui.table_harness import Play, Table


def true_spending(play: Play) -> list[int]:
    return [int(line.spent) for line in play.game.result.seats]


@pytest.mark.parametrize("players", [3, 4, 5])
@pytest.mark.parametrize("notes", [True, False])
def test_lower_bounds_hold_in_random_games(players: int, notes: bool) -> None:
    rng = random.Random(7 * players + notes)
    play = Play(players, rules={"notes": notes})
    bounds: list[list[facts.Purse]] = []
    while play.game.result is None:
        seat = play.game.waiting[0]
        # Few amounts, so that ties are many.
        amount = rng.choice([1, 2, 3, 5, 8]) if play.game.phase == "opening" else rng.randrange(7)
        play.bid(seat, amount + (str(amount) == play.game.opening))
        if play.game.result is None and len(play.game.history) == play.game.auctions - 1:
            bounds = [facts.purses(play.snapshot(reader)) for reader in range(players)]
            bounds.append(facts.purses(play.snapshot(None)))
    spent = true_spending(play)
    for purses in bounds:
        for seat, purse in enumerate(purses):
            assert purse.known <= purse.at_least <= spent[seat]
    assert any(sale.ties for sale in play.game.history)


def test_known_prices_are_exact_and_hidden_ones_are_counted() -> None:
    play = Play(4)
    opener = play.game.auctioneer
    play.auction(100, 500, 70, 0)
    winner, loser = (opener + 1) % 4, (opener + 2) % 4
    sale = play.game.history[0]
    assert facts.price(play.snapshot(opener), sale) == 500
    assert facts.price(play.snapshot(winner), sale) == 500
    assert facts.price(play.snapshot(loser), sale) is None
    assert facts.price(play.snapshot(None), sale) is None
    assert facts.price_floor(play.snapshot(loser), sale) == 101
    purse = facts.purses(play.snapshot(loser))[winner]
    assert (purse.known, purse.at_least, purse.hidden) == (0, 101, 1)


async def test_the_ledger_marks_sources_and_tab_goes_back() -> None:
    play = Play(4)
    opener = play.game.auctioneer
    play.auction(100, 500, 70, 0)
    app = Table(play, opener)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        row = next(row for row in app.text().splitlines() if row.startswith("  1 "))
        assert row.split()[-4:] == ["100o", "500*", "70a", "0a"]
        await pilot.press("tab")
        await pilot.pause()
        assert "YOUR LEDGER" not in app.text()


async def test_an_unknown_price_shows_as_more_than_what_one_knows() -> None:
    play = Play(4)
    opener = play.game.auctioneer
    play.auction(100, 500, 70, 0)
    app = Table(play, (opener + 2) % 4)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        text = app.text()
        assert ">100*" in text
        assert "500" not in text
        assert "101+" in text


async def test_ties_have_a_row_for_each_time_that_was_bid() -> None:
    play = Play(4)
    play.auction(100, 500, 500, 3)
    tied = list(play.game.waiting)
    for seat in tied:
        play.bid(seat, 600 + seat)
    app = Table(play, tied[0])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        again = next(row for row in app.text().splitlines() if "re-bid 1" in row)
        assert f"{600 + tied[0]}" in again
        assert f">{600 + tied[0]}*" in again


async def test_by_memory_it_says_so_and_forgets() -> None:
    play = Play(4, rules={"notes": False}).through(6)
    app = Table(play, 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        text = app.text()
        assert "by memory" in text
        known = {bid.amount for bid in app.snapshot.you.known}
        forgotten = [
            bid.amount
            for bid in Play(4).through(6).snapshot(0).you.known
            if bid.amount not in known and int(bid.amount) > 99
        ]
        assert forgotten
        openings = {sale.opening for sale in play.game.history}
        for amount in set(forgotten) - openings:
            assert f" {int(amount):,} " not in text


async def test_the_order_turns_around_and_the_covered_ledger_is_empty() -> None:
    play = Play(4).through(10)
    app = Table(play, 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        first = [row[:4].strip() for row in app.text().splitlines() if row[:3].strip().isdigit()]
        await pilot.press("o")
        await pilot.pause()
        second = [row[:4].strip() for row in app.text().splitlines() if row[:3].strip().isdigit()]
        assert first == list(reversed(second))
        await pilot.press("escape")
        await pilot.pause()
        assert "covered" in app.text()
        await pilot.press("tab")
        await pilot.pause()
        assert "Covered" in app.text()


def test_the_tied_know_what_the_others_bid_and_nobody_else_does() -> None:
    play = Play(4)
    opener = play.game.auctioneer
    play.auction(100, 500, 500, 3)
    first, second = list(play.game.waiting)
    third = next(seat for seat in range(4) if seat not in (opener, first, second))
    play.bid(first, 400).bid(second, 450)
    sale = play.game.history[0]
    stages = facts.stages(play.snapshot(first), sale.auction)
    assert stages[0][second] == facts.Known(500, facts.TIED)
    assert second not in stages[1], "what was bid again is the auctioneer's secret"
    # The winner paid 450: the 500 that is known of them stands no more.
    assert facts.price(play.snapshot(first), sale) is None
    assert facts.price_floor(play.snapshot(first), sale) == 401
    for reader in (third, None):
        assert second not in facts.stages(play.snapshot(reader), sale.auction)[0]
