"""docs/rules.md says what the code does: its tile table, its rounds and its worked example."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from protocol.qe import Rules
from server.games.qe import QE
from server.games.qe.scoring import score, settle
from server.games.qe.tiles import TILES, Tile, tiles_in_play

RULES = Path(__file__).parents[4] / "docs" / "rules.md"
Table = list[list[str]]


def section(title: str) -> str:
    """The text under a heading, up to the next one of any depth."""
    found = re.search(
        rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", RULES.read_text("utf-8"), re.M | re.S
    )
    assert found, f"docs/rules.md has no section {title!r}"
    return found[1]


def tables(text: str) -> list[Table]:
    """The tables of a text, as rows of cells; the line under each head is left out."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.M)
    rows = [[line.strip("|").split("|") for line in block.splitlines()] for block in blocks]
    return [
        [[cell.strip() for cell in row] for number, row in enumerate(table) if number != 1]
        for table in rows
    ]


def columns(table: Table) -> dict[str, dict[str, str]]:
    """A table by the heads of its columns and then of its rows."""
    head, *rows = table
    return {
        name: {row[0]: row[number] for row in rows} for number, name in enumerate(head) if number
    }


def test_headings_that_other_pages_cite() -> None:
    headings = re.findall(r"^## (.*)$", RULES.read_text("utf-8"), re.M)
    assert headings == [
        "Contents",
        "Tiles",
        "An auction",
        "Ties",
        "Zero bids",
        "Three players: the blind final",
        "Five players: the peek",
        "Rounds and the auctioneer",
        "Limits of a networked table",
        "The end",
        "Scoring",
        "Terms",
    ]
    for title, anchor in re.findall(r"^- \[(.*)\]\(#(.*)\)$", section("Contents"), re.M):
        assert title in headings
        assert anchor == re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-")


def test_the_tile_table() -> None:
    table, in_play = tables(section("Tiles"))
    written = {
        (nation, industry, int(value))
        for industry, values in columns(table).items()
        for nation, value in values.items()
        if value
    }
    assert written == {(tile.nation, tile.industry, tile.value) for tile in TILES}
    counts = columns(in_play)["in play"]
    assert counts == {"3 or 4": "16", "5": "15"}
    assert [len(tiles_in_play(players)) for players in (3, 4, 5)] == [16, 16, 15]


@pytest.mark.parametrize("players", [3, 4, 5])
def test_rounds_and_auctions(players: int) -> None:
    (table,) = tables(section("Rounds and the auctioneer"))
    view = QE.public(QE.new(players, None, Rules(), "docs", 1, 1))
    assert hasattr(view, "rounds")
    assert hasattr(view, "auctions")
    assert columns(table)["rounds"][str(players)].split(",")[0] == str(view.rounds)
    assert columns(table)["auctions"][str(players)] == str(view.auctions)


def points(players: int, tiles: Sequence[Tile], token: str = "finance") -> dict[str, int]:
    scored = score(players, "US", token, tiles, 0)  # type: ignore[arg-type]
    return {
        "Nationalization": scored.nationalization,
        "Monopolization": scored.monopolization,
        "Diversification": scored.diversification,
    }


@pytest.mark.parametrize(("players", "column"), [(4, "3 or 4 players"), (5, "5 players")])
def test_the_scoring_table(players: int, column: str) -> None:
    """Each list of points, by hands that have just so many pieces."""
    (table,) = tables(section("Scoring"))
    listed = {
        re.sub(r"\*\*(.*?)\*\*.*", r"\1", row): [int(n) for n in re.findall(r"\d+", cell)]
        for row, cell in columns(table)[column].items()
    }
    own = [Tile("US", "finance", 1)] * 4
    assert listed["Nationalization"] == [
        points(players, own[:count])["Nationalization"]
        for count in range(1, len(listed["Nationalization"]) + 1)
    ]
    assert listed["Monopolization"] == [
        points(players, own[:count])["Monopolization"] for count in (1, 2, 3)
    ]
    others = [
        Tile("EU", "agriculture", 1),
        Tile("EU", "housing", 1),
        Tile("EU", "manufacturing", 1),
        Tile("JP", "government", 1),
    ]
    assert listed["Diversification"][: players - 2] == [
        points(players, others[:count])["Diversification"] for count in range(2, players)
    ]
    bonus = settle([0] * players, list(range(players))).standings[0].least_spent
    assert listed["Least spent"] == [bonus]
    if players == 4:
        assert points(4, own)["Monopolization"] == 10, "five with the token score like four"


def test_the_best_split_is_not_the_largest_set_first() -> None:
    assert "8 + 8" in section("Scoring")
    tiles = [
        Tile("EU", "agriculture", 2),
        Tile("US", "agriculture", 4),
        Tile("EU", "finance", 3),
        Tile("EU", "housing", 2),
        Tile("EU", "manufacturing", 4),
    ]
    assert points(5, tiles, "finance")["Diversification"] == 16


def test_the_worked_example() -> None:
    hands, sheet = tables(section("A worked example"))
    head, *rows = hands
    assert head == ["player", "nation", "tiles and token", "zero bids", "spent"]
    held: list[Tile] = []
    scores = []
    for _, nation, pieces, zeros, _ in rows:
        *tiles, token = pieces.split(", ")
        mine = [Tile(*_tile(text)) for text in tiles]
        held += mine
        scores.append(score(4, nation, token.strip("*"), mine, int(zeros)))  # type: ignore[arg-type]
    assert sorted(held, key=repr) == sorted(tiles_in_play(4), key=repr), "every tile, once"
    assert len({row[2].split("*")[1] for row in rows}) == 4, "four different tokens"
    end = settle([s.subtotal for s in scores], [int(row[4].replace(",", "")) for row in rows])
    written = columns(sheet)
    assert list(written) == [row[0] for row in rows]
    for scored, standing, column in zip(scores, end.standings, written.values(), strict=True):
        assert column == {
            "companies": str(scored.companies),
            "zero bids": str(scored.zero_bids),
            "nationalization": str(scored.nationalization),
            "monopolization": str(scored.monopolization),
            "diversification": str(scored.diversification),
            "least spent": str(standing.least_spent),
            "total": str(standing.total),
            "rank": "out" if standing.rank is None else str(standing.rank),
        }
    assert [row[0] for row in rows][end.winners[0]] + " wins." in section("A worked example")


def _tile(text: str) -> tuple[str, str, int]:
    nation, industry, value = text.split(" ")
    return nation, industry, int(value)
