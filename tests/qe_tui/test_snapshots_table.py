"""How the table looks, at both sizes. A change here is to be looked at before it is accepted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.qe_tui.table_harness import NOW, Play, Table

SIZES = [(80, 24), (120, 40)]


def secret() -> Table:
    play = Play(4).through(8)
    opener = play.game.auctioneer
    play.bid(opener, 12_000).bid((opener + 1) % 4, 4000)
    play.say((opener + 2) % 4, "nobody needs a house in Tokyo")
    return Table(play, (opener + 3) % 4, deadline=int((NOW + 41) * 1000))


def award() -> Table:
    play = Play(4).through(7)
    opener = play.game.auctioneer
    play.auction(1500, 9999, 4000, 0)
    return Table(play, opener, deadline=int((NOW + 12) * 1000))


def blind() -> Table:
    play = Play(3).through(15).bid(1, 77)
    play.say(2, "any round number and I'll know it was you")
    return Table(play, 0)


def five() -> Table:
    play = Play(5).through(6)
    return Table(play, next(s for s in range(5) if play.snapshot(s).you.may_peek))


def watching() -> Table:
    play = Play(4).through(8)
    play.bid(play.game.auctioneer, 12_000)
    return Table(play, None)


def over() -> Table:
    return Table(Play(4).through(16).say(3, "three tiles. THREE."), 0)


def reveal() -> Table:
    app = Table(Play(4).through(16), 1, since=int((NOW - 4.2) * 1000))
    app.animation_level = "full"
    return app


SCENES: dict[str, tuple[Callable[[], Table], list[str]]] = {
    "secret": (secret, list("13500")),
    "covered": (secret, [*"13500", "escape"]),
    "award": (award, []),
    "blind": (blind, list("1000000")),
    "five": (five, []),
    "watching": (watching, []),
    "over": (over, []),
    "reveal": (reveal, []),
    "ledger": (award, ["tab"]),
    "chat": (secret, ["slash", *"who"]),
    "rules": (five, ["question_mark"]),
}


@pytest.mark.parametrize(
    "size", [SIZES[0], pytest.param(SIZES[1], marks=pytest.mark.long)], ids=["small", "large"]
)
@pytest.mark.parametrize("scene", SCENES)
def test_looks(snap_compare, scene: str, size: tuple[int, int]) -> None:  # type: ignore[no-untyped-def]
    make, press = SCENES[scene]
    assert snap_compare(make(), press=press, terminal_size=size)
