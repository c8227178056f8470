"""Whatever others are called and say: it is shown as it is, and breaks nothing."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.qe_tui.table_harness import Play, Table

NAMES = [
    ("[/b]", "[@click=app.quit]x", "[TODO]", "[$accent]y", "[/"),
    ("\x1b[2J\x1b[31mred", "\u202egnaT", "a\u0301\u0301\u0301\u0301b", "\x00\x07", "e\u200bve"),
    ("漢" * 10, "字" * 10, "한" * 10, "日本" * 5, "W" * 20),
    ("", " ", "\n", "\t", "…"),
    ("👩‍👩‍👧‍👦", "🇪🇺 EU", "✈️", "☠", "½"),
]
SAID = ["[/b]", "[@click=app.quit]x", "[TODO]", "\x1b]0;pwned\x07", "\u202eabc", "漢" * 140, "[/"]


@pytest.mark.parametrize(
    ("names", "size"),
    [
        pytest.param(names, (80, 24), marks=[] if number == 0 else [pytest.mark.long])
        for number, names in enumerate(NAMES)
    ]
    + [pytest.param(NAMES[2], (120, 40), marks=pytest.mark.long)],
)
async def test_hostile_names_break_nothing(names: tuple[str, ...], size: tuple[int, int]) -> None:
    play = Play(5, names=names).through(4)
    opener = play.game.auctioneer
    for text in SAID:
        play.say(1, text)
    app = Table(play, opener, title="[/b]")
    async with app.run_test(size=size, notifications=True) as pilot:
        for step in ("award", "secret", "tie", "over"):
            if step == "secret":
                play.bid(opener, 50)
            elif step == "tie":
                for seat in list(play.game.waiting):
                    play.bid(seat, 60)
            elif step == "over":
                play.through(15)
            for number in range(5):
                app.react(number, "gasp")
            app.table.show(play.snapshot(None, lost="[/b] \x1b[2J lost"))
            await pilot.pause()
            app.show()
            await pilot.pause()
            check(app, size)
            keys = (
                ("slash", "escape", "tab", "tab") if step != "over" else ("b", "b", "s", "escape")
            )
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
                check(app, size)
        assert app.is_running
        assert app.asked == []


def check(app: Table, size: tuple[int, int]) -> None:
    rows = app.text().splitlines()
    assert len(rows) == size[1]
    for row in rows:
        assert cell_len(row) == size[0], row
        assert "\x1b" not in row
        assert "\u202e" not in row
        assert "\u200b" not in row


async def test_markup_in_names_is_shown_and_does_nothing() -> None:
    play = Play(4, names=("Ana", "[@click=app.quit]x", "[b]Cy", "[/]Dee")).through(2)
    play.say(1, "[@click=app.quit]here[/]")
    app = Table(play, 0)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        text = app.text()
        assert "[@click=app" in text
        assert "[b]Cy" in text
        assert "[@click=app.quit]here[/]" in text
        for y in range(40):
            for x in range(0, 120, 3):
                meta = app.screen.get_style_at(x, y).meta
                assert "quit" not in str(meta.get("@click", ""))


async def test_a_hostile_host_cannot_break_the_refusal() -> None:
    from protocol.errors import Refused

    play = Play(4)
    app = Table(play, play.game.auctioneer)
    app.fails = Refused("illegal", "x", "[/b]\x1b[2J" + "漢" * 300)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("5")
        app.clock.at += 1
        await pilot.press("enter")
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "[/b][2J" in app.text()
        check(app, (80, 24))
