"""Views that hang together, and views that somebody has tampered with."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest
from table_harness import NOW, Play, some_bid

from protocol.errors import WireError
from protocol.messages import View
from qe_tui.model import Snapshot, read_view
from qe_tui.screens.ledger import all_bids, newest
from qe_tui.screens.table_facts import Sight
from qe_tui.screens.table_fairness import verdict
from qe_tui.screens.table_story import story
from qe_tui.widgets import award, boards, lines, side, tile_card
from server.games.qe import QE


def views(players: int) -> Iterator[dict[str, Any]]:
    """What a spectator and a seat see of a whole game, as maps."""
    play = Play(players)
    while True:
        game = play.game
        for seat in (None, 0):
            you = None if seat is None else QE.private(play.state, seat)
            view = View(
                table="WOLF",
                room=play.room(seat),
                game=msgspec.to_builtins(game),
                you=msgspec.to_builtins(you),
            )
            yield msgspec.to_builtins(view)
        if game.result is not None:
            return
        amount = some_bid(game.auction, game.waiting[0])
        if game.phase == "opening":
            amount = max(1, amount)
        play.bid(game.waiting[0], amount + (str(amount) == game.opening))


@pytest.mark.parametrize("players", [3, 4, 5])
def test_views_of_real_games_hang_together(players: int) -> None:
    seen = list(views(players))
    assert len(seen) > 40
    for fields in seen:
        read_view(msgspec.convert(fields, View))
    assert seen[-1]["game"]["result"] is not None


def look_at(view: View) -> None:
    """Paints all that a table's screen has."""
    game, you = read_view(view)
    snapshot = Snapshot(table=view.table, room=view.room, game=game, you=you)
    sight = Sight(snapshot, NOW)
    for paint in (lines.header, lines.todo, lines.score, lines.last, boards.paint):
        paint(sight, 80)
    for paint in (tile_card.paint, tile_card.waiting_panel, award.paint, newest, side.ledger):
        paint(sight, 80, 20)
    all_bids(sight, 80)
    if game is not None and game.result is not None:
        story(snapshot)
        verdict(snapshot)


def tampered(fields: dict[str, Any], rng: Random) -> dict[str, Any]:
    """The view with one to three of its values changed."""
    fields = copy.deepcopy(fields)
    for _ in range(rng.randint(1, 3)):
        holder: Any = fields[rng.choice([part for part in ("room", "game", "you") if fields[part]])]
        while True:
            key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.1:
                break
            holder = holder[key]
        match holder[key]:
            case list() as items:
                holder[key] = [] if items and rng.random() < 0.5 else [*items, *items[-1:], 7]
            case bool() as on:
                holder[key] = not on
            case int():
                holder[key] = rng.choice([0, 1, -1, 5, 99, 2**60, None])
            case _:
                holder[key] = rng.choice(["", "0", "9" * 1000, "over", "US", "finance", 3, None])
    return fields


def test_what_is_let_through_can_be_painted() -> None:
    rng = Random("tampering")
    seen = [fields for players in (3, 4, 5) for fields in views(players)]
    through = refused = 0
    for _ in range(600):
        try:
            view = msgspec.convert(tampered(rng.choice(seen), rng), View)
            game, _you = read_view(view)
        except (msgspec.ValidationError, WireError):
            refused += 1
            continue
        if game is not None:
            look_at(view)
            through += 1
    assert min(through, refused) > 50
