"""The award and the tie: what each reads of them, and that no number is ever cut."""

from __future__ import annotations

import pytest

from tests.qe_tui.table_harness import Play, Table

SMALL = (80, 24)


def tied(play: Play, ties: int, third: int = 0) -> tuple[int, list[int]]:
    """Two tie, first at 5,000, then at 6,000. Gives the auctioneer and all others."""
    opener = play.game.auctioneer
    play.bid(opener, 1500)
    others = list(play.game.waiting)
    for seat, amount in zip(others, (5000, 5000, third), strict=True):
        play.bid(seat, amount)
    for _ in range(ties - 1):
        for seat in list(play.game.waiting):
            play.bid(seat, 6000)
    return opener, others


async def text_of(play: Play, seat: int | None, *keys: str, size: tuple[int, int] = SMALL) -> str:
    app = Table(play, seat)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        return app.text()


async def test_the_third_tie_is_told_to_everybody_as_it_is() -> None:
    play = Play(4).through(7)
    opener, (first, second, third) = tied(play, 3)
    name = play.names
    assert "Third tie" in await text_of(play, opener)
    assert "nobody bid more" not in await text_of(play, opener)
    assert f"The third tie: you and {name[second]} cancel out" in await text_of(play, first)
    for seat in (third, None):
        text = await text_of(play, seat)
        assert f"The third tie: {name[first]} and {name[second]} cancel out" in text
        assert "6,000" not in text


async def test_a_tied_bidder_reads_the_amount_and_what_a_third_tie_means() -> None:
    play = Play(4).through(7)
    first, _, third = tied(play, 2)[1]
    text = await text_of(play, first)
    assert "you both bid 6,000: tie 2 of 3, a third loses it" in text
    assert "6,000" not in await text_of(play, first, "escape")
    assert "6,000" not in await text_of(play, third)
    assert "6,000" not in await text_of(play, None)


async def test_a_second_zero_in_a_round_is_not_said_to_score() -> None:
    play = Play(4).auction(10, 5, 0, 20)
    zero = play.game.history[0].zeros[0]
    opener = play.game.auctioneer
    play.bid(opener, 99)
    for seat in list(play.game.waiting):
        play.bid(seat, 0 if seat == zero else 500 + seat)
    text = await text_of(play, opener)
    assert "zero bid, no VP: one a round" in text
    assert "+2 VP" not in text


async def test_the_buyer_reads_you() -> None:
    play = Play(4).through(7)
    opener = play.game.auctioneer
    play.auction(1500, 99, 400, 0)
    text = await text_of(play, opener)
    assert "goes to   Y O U" in text
    assert "The table heard" not in text
    assert "You buy it." in text


@pytest.mark.parametrize("name", ["Eve", "Бo-Александр Великий"])
async def test_the_number_to_beat_is_whole_or_rounded(name: str) -> None:
    for opening, shown in ((12_345_678, "12,345,678"), (int("7" * 1000), "7.777778e999")):
        play = Play(4, names=(name,) * 4).through(8)
        opener = play.game.auctioneer
        play.bid(opener, opening)
        card = await text_of(play, (opener + 1) % 4)
        row = next(row for row in card.splitlines() if row.startswith(" │") and "opened" in row)
        assert shown in row.split("│")[1]
        assert "…" not in row.split("│")[1]


async def test_somebody_away_is_what_one_waits_for() -> None:
    play = Play(4).through(8)
    opener = play.game.auctioneer
    app = Table(play, (opener + 1) % 4, gone=(opener,), host=(opener + 1) % 4)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        text = app.text()
        assert f"WAIT.  {play.names[opener]} is away; the seat is kept." in text
        assert "After 60 s a computer may play" in text
        app.wall.at += 60
        app.show()
        await pilot.pause()
        text = app.text()
        assert "F5 lets a computer play" in text
        assert "buys it" in text
