"""What must not be seen: covered secrets, sealed figures, what is hidden from those who watch."""

from __future__ import annotations

import pytest

from qe_tui.screens import table_actions as actions
from tests.qe_tui.table_harness import Play, Table

SIZES = [(80, 24), (120, 40)]
CANARY = 777_123_457
SHOWN = f"{CANARY:,}"


def played(players: int = 4, auctions: int = 7) -> Play:
    """A game in which every secret bid is a canary of its own."""
    return Play(players).through(
        auctions,
        lambda number, seat: 100 + number if number % players == seat else CANARY + 10 * seat,
    )


@pytest.mark.parametrize("size", SIZES)
async def test_those_who_watch_see_no_secret_at_any_step(size: tuple[int, int]) -> None:
    play = Play(4)
    app = Table(play, None)
    async with app.run_test(size=size) as pilot:
        opened = set()
        for number in range(1, 6):
            opener = play.game.auctioneer
            play.bid(opener, 100 + number)
            opened.add(100 + number)
            for offset, seat in enumerate(list(play.game.waiting)):
                play.bid(seat, CANARY + 10 * number + offset)
                app.show()
                await pilot.pause()
                assert "777,123" not in app.text()
                assert not list(app.table.query("#bid:focus"))
        assert "YOU ARE WATCHING" in app.text() or "watching" in app.text()
        await pilot.press("tab")
        await pilot.pause()
        assert "777,123" not in app.text()
        assert ">105*" in app.text()


@pytest.mark.parametrize("size", SIZES)
async def test_cover_hides_bid_token_money_and_ledger_and_esc_shows_them_again(
    size: tuple[int, int],
) -> None:
    play = played()
    opener = play.game.auctioneer
    play.bid(opener, 5000)
    seat = next(s for s in play.game.waiting if int(play.snapshot(s).you.spent) > CANARY)
    app = Table(play, seat)
    async with app.run_test(size=size) as pilot:
        await pilot.press(*"87654")
        await pilot.pause()
        open_text = app.text()
        you = app.snapshot.you
        assert int(you.spent) > CANARY
        secrets = ["87,654", f"spent {int(you.spent):,}", "= tiles", "over the opening",
                   "eighty", "you would gain", f"({you.industry[:3]}"]  # fmt: skip
        for secret in secrets:
            assert secret in open_text, secret
        await pilot.press("escape")
        await pilot.pause()
        covered = app.text()
        for secret in (*secrets, "777,123"):
            assert secret not in covered, secret
        await pilot.press("tab")
        await pilot.pause()
        assert "777,123" not in app.text()
        await pilot.press("tab", "escape")
        await pilot.pause()
        assert app.text() == open_text


async def test_cover_hides_what_only_the_auctioneer_sees() -> None:
    play = Play(4)
    opener = play.game.auctioneer
    play.auction(100, CANARY, 50, 60)
    app = Table(play, opener)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert SHOWN in app.text()
        await pilot.press("escape")
        await pilot.pause()
        assert SHOWN not in app.text()


async def test_a_loser_never_sees_the_price() -> None:
    play = Play(4)
    opener = play.game.auctioneer
    play.auction(100, CANARY, 50, 60)
    loser = (opener + 3) % 4
    for size in SIZES:
        app = Table(play, loser)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            assert "777,123" not in app.text()
            await pilot.press("tab")
            await pilot.pause()
            assert "777,123" not in app.text()


async def test_what_closed_before_a_change_is_not_said_while_covered() -> None:
    play = Play(4)
    opener = play.game.auctioneer
    play.bid(opener, 100)
    seat = (opener + 1) % 4
    play.bid(seat, 87_654)
    app = Table(play, seat)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("escape", *"99")
        for other in list(play.game.waiting):
            play.bid(other, 7)
        app.show()
        await pilot.pause()
        assert "Closed before your change" in app.text()
        assert "87,654" not in app.text()


def test_no_action_shows_an_amount_in_its_repr() -> None:
    from qe_tui.screens.table_facts import Known, Purse
    from qe_tui.widgets.cheque import Cheque

    assert "777" not in repr(Known(CANARY, "own"))
    assert "777" not in repr(Purse(CANARY, CANARY, 0))
    assert "777123457" not in repr(Cheque.Sealed(3, CANARY))
    assert all(deed.about for deed in actions.DEEDS)
