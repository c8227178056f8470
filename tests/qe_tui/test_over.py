"""The end: the winner, the score sheet, the reveal, and what one may do then."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from protocol.messages import Rematch
from qe_tui.screens import table_fairness as fairness
from qe_tui.screens.over import winners
from qe_tui.screens.reveal import STAMP, reveal
from qe_tui.screens.table_story import story
from tests.qe_tui.table_harness import NOW, Play, Table

SMALL = (80, 24)


@pytest.mark.parametrize("players", [3, 4, 5])
@pytest.mark.parametrize("size", [SMALL, (120, 40)])
async def test_the_score_sheet_has_every_figure(players: int, size: tuple[int, int]) -> None:
    play = Play(players).through(16 if players < 5 else 15)
    app = Table(play, 1)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        text = app.text()
        result = play.game.result
        assert "GAME OVER" in text
        assert "Deal checked: honest" in text
        verb = "YOU WIN" if result.winners == [1] else "WINS"
        assert " ".join(f"{verb} WITH {result.seats[result.winners[0]].total} VP") in text
        rows = {row.split("  ")[1].strip(): row for row in text.splitlines() if row[:2] == "  "}
        rows |= {row.strip().split("  ")[0]: row for row in text.splitlines()}
        for title, figures in (
            ("companies", [line.companies for line in result.seats]),
            ("nationalization", [line.nationalization for line in result.seats]),
            ("monopolization", [line.monopolization for line in result.seats]),
            ("diversification", [line.diversification for line in result.seats]),
            ("least spent", [line.least_spent for line in result.seats]),
        ):
            shown = sorted(rows[title].replace(title, "").split("│")[0].split())
            assert shown == sorted(str(figure) if figure else "-" for figure in figures), title
        for line in result.seats:
            assert f"{int(line.spent):,}" in rows["SPENT"]
        assert "OUT" in rows["TOTAL"]
        assert ("zero bids" in rows) == (players > 3)
        assert "The cheque that did it" in text
        assert len(text.splitlines()) == size[1]


async def test_the_host_opens_the_next_game_and_others_are_told_who_decides() -> None:
    play = Play(4).through(16)
    host, guest = Table(play, 0), Table(play, 2)
    async with host.run_test(size=SMALL) as pilot:
        await pilot.press("p")
        await pilot.pause()
        assert host.asked == [Rematch()]
    async with guest.run_test(size=SMALL) as pilot:
        await pilot.press("p")
        await pilot.pause()
        assert guest.asked == []
        assert "Ana decides" in guest.text()
        await pilot.press("l")
        assert guest.left


async def test_all_bids_are_a_key_away() -> None:
    play = Play(4).through(16)
    app = Table(play, 3)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("b")
        await pilot.pause()
        text = app.text()
        assert "ALL BIDS" in text
        assert "?" not in "".join(text.splitlines()[2:20])
        for cheques in play.game.result.auctions:
            for stage in cheques.stages:
                for bid in stage:
                    assert f"{int(bid.amount):,}" in text
        await pilot.press("b")
        await pilot.pause()
        assert "GAME OVER" in app.text()


async def test_save_writes_the_whole_game_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QE_HOME", str(tmp_path))
    play = Play(4).through(16)
    app = Table(play, 0)
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.press("e")
        await app.workers.wait_for_complete()
        await pilot.pause()
        (file,) = (tmp_path / "qe-games").iterdir()
        assert file.name in app.text()
    text = file.read_text(encoding="utf-8")
    assert text.count("Auction ") == 16
    assert play.game.result.seed in text
    for cheques in play.game.result.auctions:
        for bid in cheques.stages[0]:
            assert f"{int(bid.amount):,}" in text


async def test_a_save_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("QE_HOME", str(blocked))
    app = Table(Play(4).through(16), 0)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("e")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "could not be saved" in app.text()


# --- The reveal -----------------------------------------------------------------------------


async def test_a_young_end_is_revealed_and_any_key_skips_it() -> None:
    play = Play(4).through(16)
    app = Table(play, 1, since=int(NOW * 1000) - 1000)
    app.animation_level = "full"
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "THE CHEQUES ARE TURNED UP" in app.text()
        most = max(int(line.spent) for line in play.game.result.seats)
        assert f"{most:,}" not in app.text()
        await pilot.press("x")
        await pilot.pause()
        assert "W I N S" in app.text()


@pytest.mark.parametrize("size", [SMALL, (120, 24), (120, 40), (200, 50)])
async def test_nothing_beside_the_reveal_tells_the_money(size: tuple[int, int]) -> None:
    play = Play(4).through(16)
    app = Table(play, 1, since=int(NOW * 1000) - 1000)
    app.animation_level = "full"
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        text = app.text()
        assert "THE CHEQUES ARE TURNED UP" in text
        for line in play.game.result.seats:
            assert f"{int(line.spent):,}" not in text
        for sale in play.game.history:
            assert f" {int(sale.price):,} " not in text


async def test_the_winner_reads_that_they_win() -> None:
    play = Play(4).through(16)
    (winner,) = play.game.result.winners
    app = Table(play, winner)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "Y O U   W I N   W I T H" in app.text()


@pytest.mark.parametrize(("since", "level"), [(-60_000, "full"), (-1000, "none")])
async def test_no_reveal_of_an_old_end_or_without_animations(since: int, level: str) -> None:
    app = Table(Play(4).through(16), 1, since=int(NOW * 1000) + since)
    app.animation_level = level  # type: ignore[assignment]
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "W I N S" in app.text()


async def test_the_reveal_ends_by_itself() -> None:
    app = Table(Play(4).through(16), 1, since=int(NOW * 1000) - 1000)
    app.animation_level = "full"
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        app.wall.at += STAMP
        await pilot.pause(0.3)
        assert "W I N S" in app.text()


@pytest.mark.parametrize("age", [0.0, 0.5, 2.9, 3.0, 4.9, 5.0, 6.9])
def test_the_reveal_shows_no_more_than_was_spent(age: float) -> None:
    play = Play(4).through(15)
    play.through(1, lambda number, seat: 10**999 + seat)
    snapshot = play.snapshot(1)
    text = reveal(snapshot, play.game.result, age, 80, 20).plain
    assert len(text.splitlines()) <= 20
    assert max(map(len, text.splitlines())) <= 80
    assert (" OUT " in text) == (age >= 5)


# --- Rare ends ------------------------------------------------------------------------------


def changed_result(play: Play, **by_seat: object) -> object:
    return msgspec.structs.replace(play.game.result, **by_seat)


def test_shared_and_missing_wins_are_said() -> None:
    play = Play(4).through(16)
    snapshot, game = play.snapshot(0), play.game
    none = changed_result(play, winners=[])
    assert "N O B O D Y" in winners(snapshot, game, none, 80)  # type: ignore[arg-type]
    two = changed_result(play, winners=[0, 1])
    assert "YOU&BO(" in winners(snapshot, game, two, 80).replace(" ", "")  # type: ignore[arg-type]
    assert "SHAREIT" in winners(snapshot, game, two, 80).replace(" ", "")  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["seed", "commitment", "nation", "token", "deck", "bid"])
def test_a_dishonest_deal_is_named(part: str) -> None:
    play = Play(4, rules={"first": "random"}).through(16)
    snapshot = play.snapshot(1)
    assert fairness.verdict(snapshot) == (True, "Deal checked: honest")
    game = snapshot.game
    assert game is not None
    assert game.result is not None
    change = msgspec.structs.replace
    if part == "seed":
        game = change(game, result=change(game.result, seed="other"))
    elif part == "commitment":
        game = change(game, commitment="0" * 64)
    elif part == "nation":
        boards = list(game.seats)
        boards[0] = change(boards[0], nation=boards[1].nation)
        game = change(game, seats=boards)
    elif part == "token":
        lines = list(game.result.seats)
        lines[0] = change(lines[0], industry=lines[1].industry)
        game = change(game, result=change(game.result, seats=lines))
    elif part == "deck":
        history = list(game.history)
        history[0] = change(history[0], tile=history[1].tile)
        game = change(game, history=history)
    else:
        auctions = list(game.result.auctions)
        stage = [change(bid, amount="1" + bid.amount) for bid in auctions[3].stages[0]]
        auctions[3] = change(auctions[3], stages=[stage])
        game = change(game, result=change(game.result, auctions=auctions))
    from dataclasses import replace

    honest, sentence = fairness.verdict(replace(snapshot, game=game))
    assert not honest
    assert "NOT HONEST" in sentence


def test_the_story_tells_ties() -> None:
    play = Play(4).auction(100, 500, 500, 3)
    for seat in list(play.game.waiting):
        play.bid(seat, 600 + seat)
    play.through(15)
    text = story(play.snapshot(None))
    assert "tied and bid again" in text
