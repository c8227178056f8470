"""What a tile is worth to a computer player, in VP, by what its seat may see.

Tokens are hidden, so a rival's points are the mean over the tokens it could have
(docs/rules.md, Tiles and Scoring).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from protocol.qe import Board, Game, Industry, Nation, Tile, You
from server.games.qe.scoring import score

_INDUSTRIES: tuple[Industry, ...] = ("agriculture", "finance", "housing", "manufacturing")
_WITH_FIVE: tuple[Industry, ...] = (*_INDUSTRIES, "government")

_PROMISE = 1.6
"""VP that a tile may still help to earn later, at the start of a game."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """What the tile of this auction means to a seat.

    `own`: VP that it adds, with what it may still help to earn. `rivals`: VP that it would add to
    each other seat. `denial`: VP that keeping it from them is worth. `lead`: own points less those
    of the best rival, before anybody's spending is looked at.
    """

    own: float
    rivals: dict[int, float]
    denial: float
    lead: float


def stakes(public: Game, private: You) -> Stakes:
    """What is at stake in the auction that runs.

    `own` starts from `private.gain`; a game that is over has nothing at stake.
    """
    players = len(public.seats)
    tokens = _possible_tokens(players, private.industry)
    before: dict[int, float] = {}
    gains: dict[int, float] = {}
    for board in public.seats:
        if board.seat == private.seat:
            continue
        tiles = tuple(
            Tile(nation=tile.nation, industry=tile.industry, value=tile.value)
            for tile in board.tiles
        )
        before[board.seat] = _mean_points(players, board, tokens, tiles)
        if public.tile is not None:
            after = _mean_points(players, board, tokens, (*tiles, public.tile))
            gains[board.seat] = after - before[board.seat]
    left = (public.auctions - public.auction) / public.auctions
    own = 0.0 if private.gain is None else private.gain + _PROMISE * left
    return Stakes(
        own=own,
        rivals=gains,
        denial=_denial(tuple(gains.values())),
        lead=private.score.subtotal - max(before.values(), default=0.0),
    )


def _denial(gains: Sequence[float]) -> float:
    """A rival's gain hurts by its share among rivals; who gains most most likely takes the tile."""
    total = sum(gains)
    if total <= 0:
        return 0.0
    likely = sum(gain * gain for gain in gains) / total
    return 0.9 * likely / len(gains)


def _possible_tokens(players: int, own: Industry) -> tuple[Industry, ...]:
    in_play = _WITH_FIVE if players == 5 else _INDUSTRIES
    return tuple(industry for industry in in_play if industry != own)


def _mean_points(
    players: int, board: Board, tokens: tuple[Industry, ...], tiles: tuple[Tile, ...]
) -> float:
    zeros = len(board.zeros)
    points = (_points(players, board.nation, token, tiles, zeros) for token in tokens)
    return sum(points) / len(tokens)


@lru_cache(maxsize=4096)
def _points(
    players: int, nation: Nation, industry: Industry, tiles: tuple[Tile, ...], zeros: int
) -> int:
    return score(players, nation, industry, tiles, zeros).subtotal
