"""Games written down beforehand, and the same games with a secret changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from referee import Fields, Referee


@dataclass(frozen=True)
class Move:
    """What a seat does. `amount` is None for a peek; `stage` is None for an opening."""

    seat: int
    amount: int | None
    step: int
    auction: int
    stage: int | None = None

    @property
    def action(self) -> Fields:
        if self.amount is None:
            return {"kind": "peek"}
        return {"kind": "bid", "amount": str(self.amount)}


Script = tuple[Move, ...]
Chooser = Callable[[Referee, int], int]


def new_referee(players: int, seed: str, *, notes: bool = True) -> Referee:
    """A game at its first step, no host asked."""
    referee = Referee(players, host=0, notes=notes, first="random", seed=seed)
    referee.begin(step=1)
    return referee


def write(players: int, seed: str, choose: Chooser, rng: Random) -> Script:
    """A game in which `choose` makes the bids, in any order, and whoever may peeks sometimes."""
    referee = new_referee(players, seed)
    moves = []
    while not referee.over:
        for seat in range(players):
            if referee.may_peek(seat) is not None and rng.random() < 0.05:
                moves.append(Move(seat, None, referee.step, referee.auction.number))
                referee.peek(seat)
        seat = rng.choice(referee.waiting)
        amount = choose(referee, seat)
        if referee.bid_is_legal(seat, amount):
            stage = None if referee.phase == "opening" else len(referee.auction.stages) - 1
            moves.append(Move(seat, amount, referee.step, referee.auction.number, stage))
            referee.bid(seat, amount)
    return tuple(moves)


def follow(referee: Referee, move: Move) -> None:
    if move.amount is None:
        referee.peek(move.seat)
    else:
        referee.bid(move.seat, move.amount)


def with_amounts(script: Script, amounts: dict[int, int]) -> Script:
    """The script with other amounts at some places."""
    return tuple(
        replace(move, amount=amounts[place]) if place in amounts else move
        for place, move in enumerate(script)
    )


def public(players: int, seed: str, script: Script) -> list[Fields] | None:
    """What everybody sees after each move, but for the end; None where a move is illegal."""
    referee, seen = new_referee(players, seed), []
    for move in script:
        if move.step != referee.step:
            return None
        if move.amount is not None and not referee.bid_is_legal(move.seat, move.amount):
            return None
        if move.amount is None and referee.may_peek(move.seat) is None:
            return None
        follow(referee, move)
        if not referee.over:
            seen.append(referee.game())
    return seen


def secrets_changed(
    players: int, seed: str, script: Script, place: int, rng: Random
) -> tuple[Script, set[int]] | None:
    """The script with another amount at that place, and in whatever tied with it, so that nobody
    can tell in public; and the seats that may know. None where no such amount is found."""
    move = script[place]
    together = [
        n for n, other in enumerate(script)
        if other.stage == move.stage and other.auction == move.auction
        and other.amount == move.amount
    ]  # fmt: skip
    seen = public(players, seed, script)
    for _ in range(30):
        amount = rng.randrange(1, 10 ** rng.choice((1, 2, 3, 6, 30, 900)))
        changed = with_amounts(script, dict.fromkeys(together, amount))
        if amount != move.amount and public(players, seed, changed) == seen:
            return changed, _who_may_know(players, seed, script, [script[n] for n in together])
    return None


def _who_may_know(players: int, seed: str, script: Script, moves: list[Move]) -> set[int]:
    """The bidders, the auctioneer, and whoever peeked at it."""
    referee = new_referee(players, seed)
    for move in script:
        follow(referee, move)
    auction = referee.auctions[moves[0].auction - 1]
    know = {move.seat for move in moves}
    if auction.auctioneer is not None:
        know.add(auction.auctioneer)
    if auction.winner in know and auction.winning_stage() == moves[0].stage:
        know |= {seat for seat, number in referee.peeked.items() if number == auction.number}
    return know
