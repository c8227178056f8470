"""The tiles, and how they are dealt from a seed.

See docs/rules.md, Tiles, and docs/protocol.md, Fair play. All that is dealt follows from the
seed's text alone, in a way that any language can check once the seed is known: a list is shuffled
by sorting it on the SHA-256 of `SEED/PURPOSE/NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeVar

from protocol.qe import Industry, Nation

Item = TypeVar("Item")

FEWEST, MOST = 3, 5
"""Players at a table."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A company for sale. `value` is its victory points, 1 to 4."""

    nation: Nation
    industry: Industry
    value: int

    @property
    def name(self) -> str:
        """What the tile is called when the deck is shuffled.

        >>> Tile("US", "housing", 1).name
        'US-housing-1'
        """
        return f"{self.nation}-{self.industry}-{self.value}"


TILES: tuple[Tile, ...] = (
    Tile("US", "agriculture", 4),
    Tile("US", "finance", 2),
    Tile("US", "housing", 1),
    Tile("US", "manufacturing", 3),
    Tile("EU", "agriculture", 1),
    Tile("EU", "finance", 3),
    Tile("EU", "housing", 2),
    Tile("EU", "manufacturing", 4),
    Tile("JP", "agriculture", 3),
    Tile("JP", "finance", 1),
    Tile("JP", "housing", 4),
    Tile("JP", "manufacturing", 2),
    Tile("JP", "government", 3),
    Tile("CN", "agriculture", 2),
    Tile("CN", "finance", 4),
    Tile("CN", "housing", 3),
    Tile("CN", "manufacturing", 1),
    Tile("CN", "government", 4),
    Tile("UK", "agriculture", 3),
    Tile("UK", "finance", 4),
    Tile("UK", "government", 2),
)
"""All 21 company tiles."""


def nations_in_play(players: int) -> tuple[Nation, ...]:
    """The nations that are dealt: UK only with five players.

    >>> nations_in_play(3)
    ('US', 'EU', 'JP', 'CN')
    """
    return ("US", "EU", "JP", "CN", "UK") if players == MOST else ("US", "EU", "JP", "CN")


def industries_in_play(players: int) -> tuple[Industry, ...]:
    """The industry tokens that are dealt: government only with five players."""
    four: tuple[Industry, ...] = ("agriculture", "finance", "housing", "manufacturing")
    return (*four, "government") if players == MOST else four


def tiles_in_play(players: int) -> tuple[Tile, ...]:
    """The tiles that are auctioned, as they lie in the table of the rules.

    >>> [len(tiles_in_play(players)) for players in (3, 4, 5)]
    [16, 16, 15]
    """
    if players == MOST:
        return tuple(
            tile
            for tile in TILES
            if tile.value > 1 and tile.name not in {"JP-agriculture-3", "CN-finance-4"}
        )
    return tuple(tile for tile in TILES if tile.nation != "UK" and tile.industry != "government")


def shuffled(
    seed: str, purpose: str, items: Iterable[Item], name: Callable[[Item], str] = str
) -> tuple[Item, ...]:
    """The items in the order that the seed gives them for this purpose."""

    def digest(item: Item) -> str:
        return sha256(f"{seed}/{purpose}/{name(item)}".encode()).hexdigest()

    return tuple(sorted(items, key=digest))


@dataclass(frozen=True, slots=True)
class Deal:
    """What the seed gives: by seat the nations and the hidden tokens, and the deck in its order."""

    nations: tuple[Nation, ...]
    tokens: tuple[Industry, ...] = field(repr=False)
    deck: tuple[Tile, ...] = field(repr=False)
    first: int
    """The first auctioneer's seat, where it is drawn at random."""


def deal(players: int, seed: str) -> Deal:
    """What is dealt to so many players from this seed.

    >>> deal(4, "a seed").first
    0
    """
    return Deal(
        nations=shuffled(seed, "nation", nations_in_play(players))[:players],
        tokens=shuffled(seed, "token", industries_in_play(players))[:players],
        deck=shuffled(seed, "deck", tiles_in_play(players), lambda tile: tile.name),
        first=shuffled(seed, "first", range(players))[0],
    )


def commitment(seed: str) -> str:
    """What is shown of the seed before the end: the SHA-256 of its text, in hex."""
    return sha256(seed.encode()).hexdigest()
