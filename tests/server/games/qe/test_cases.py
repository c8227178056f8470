"""The worked examples of tests/cases, each by value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from protocol import qe
from server.games.qe import QE
from server.games.qe.scoring import score, settle
from server.games.qe.tiles import Tile

CASES = next(folder for folder in Path(__file__).parents if folder.name == "tests") / "cases"


def cases(name: str) -> list[Any]:
    rows = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    assert rows
    return [
        pytest.param(row, id=f"{number}-{row.get('note', 'as it falls')}")
        for number, row in enumerate(rows)
    ]


@pytest.mark.parametrize("case", cases("auctions"))
def test_auction(case: dict[str, Any], play: Any) -> None:
    blind = case["auctioneer"] is None
    state = play.final() if blind else play.new(case["players"], case["auctioneer"])
    number = QE.public(state).auction
    spent = [int(QE.private(state, seat).spent) for seat in range(case["players"])]
    if not blind:
        state = play.bid(state, case["auctioneer"], case["opening"])
    for rebids, stage in enumerate(case["stages"]):
        public = QE.public(state)
        assert public.rebids == rebids
        assert public.auction == number
        assert list(QE.waiting(state)) == sorted(int(seat) for seat in stage)
        for seat, amount in stage.items():
            state = play.bid(state, int(seat), amount)
    sale = QE.public(state).history[-1]
    assert (sale.auction, sale.auctioneer, sale.opening) == (
        number,
        case["auctioneer"],
        case["opening"],
    )
    assert sale.winner == case["winner"]
    assert sale.ties == case["ties"]
    assert sale.zeros == case["zeros"]
    price_is_open = blind or case["winner"] == case["auctioneer"]
    assert sale.price == (case["price"] if price_is_open else None)
    for seat in range(case["players"]):
        paid = int(QE.private(state, seat).spent) - spent[seat]
        assert paid == (int(case["price"]) if seat == case["winner"] else 0)
        board = QE.public(state).seats[seat]
        assert (number in [tile.auction for tile in board.tiles]) == (seat == case["winner"])
        assert board.zeros == ([1] if seat in case["zeros"] else [])


@pytest.mark.parametrize("case", cases("scoring"))
def test_scoring(case: dict[str, Any]) -> None:
    on_the_wire = msgspec.convert(case["tiles"], type=list[qe.Tile])
    in_the_rules = [Tile(**tile) for tile in case["tiles"]]
    for tiles in (on_the_wire, in_the_rules):
        found = score(case["players"], case["nation"], case["industry"], tiles, case["zero_rounds"])
        assert msgspec.to_builtins(found) == case["score"]


@pytest.mark.parametrize("case", cases("endings"))
def test_ending(case: dict[str, Any]) -> None:
    assert len(case["seats"]) == case["players"]
    scores = [
        score(
            case["players"],
            seat["nation"],
            seat["industry"],
            [Tile(**tile) for tile in seat["tiles"]],
            seat["zero_rounds"],
        )
        for seat in case["seats"]
    ]
    spent = [int(seat["spent"]) for seat in case["seats"]]
    end = settle([line.subtotal for line in scores], spent)
    assert list(end.winners) == case["result"]["winners"]
    for points, standing, paid, expected in zip(
        scores, end.standings, spent, case["result"]["seats"], strict=True
    ):
        found = msgspec.to_builtins(points) | {
            "spent": str(paid),
            "eliminated": standing.eliminated,
            "least_spent": standing.least_spent,
            "total": standing.total,
        }
        assert found == expected
