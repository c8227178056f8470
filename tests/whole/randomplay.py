"""Random play: legal bids of every temper, and on the way what a host must refuse."""

from __future__ import annotations

from random import Random
from typing import Any

from audience import Table
from referee import Referee

LARGEST = 10**1000 - 1
TEMPERS = ("ties", "stubborn", "stubborn", "small", "large", "giant")
BAD_AMOUNTS: tuple[Any, ...] = (
    "", "01", "00", "-1", "+1", "1e3", "1.0", " 1", "1 ", "1\n", "1_000", "1,000", "５", "٣",
    "0x10", "one", "9" * 1001, 5, 5.0, True, None, b"5", ["5"], {"amount": "5"},
)  # fmt: skip
BAD_ACTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"kind": "bid"},
    {"kind": "peek", "amount": "5"},
    {"kind": "peek", "auction": 1},
    {"kind": "bid", "amount": "5", "seat": 0},
    {"kind": "pass"},
    {"kind": None},
    {"amount": "5"},
)


async def play(
    table: Table, rng: Random, *, returning: int | None = None, thrifty: int | None = None
) -> None:
    """Plays the running game to its end.

    `returning` is a seat whose holder comes back now and then on a new connection, sometimes with
    the old one still open; `thrifty` is one that bids as little as it may.
    """
    referee = table.referee
    assert referee is not None
    tempers = {n: rng.choice(TEMPERS) for n in range(1, 17)}
    while not referee.over:
        if rng.random() < 0.3:
            await _nuisance(table, referee, rng)
        if rng.random() < 0.4:
            await _peeks(table, referee, rng)
        if returning is not None and rng.random() < 0.1:
            await _come_back(table, rng, returning)
        await _one_phase(table, referee, rng, tempers[referee.auction.number], thrifty)
    for seat in range(referee.players):
        link = table.at(seat).link
        bid = {"kind": "bid", "amount": "7"}
        await link.refused("stale", "act", step=referee.step, action=bid)
        await link.refused("stale", "act", step=referee.step - 1, action=bid)
    await table.silent()


async def _one_phase(
    table: Table, referee: Referee, rng: Random, temper: str, thrifty: int | None
) -> None:
    def amount(seat: int) -> int:
        if seat == thrifty:
            return 1 if referee.phase == "opening" else 0
        return _amount(referee, rng, seat, temper)

    step = referee.step
    if rng.random() < 0.3:
        await table.bid_at_once([(seat, amount(seat)) for seat in referee.waiting])
        return
    while not referee.over and referee.step == step:
        seat = rng.choice(referee.waiting)
        bidden = sorted(set(referee.asked) - set(referee.waiting))
        if bidden and rng.random() < 0.25:
            seat = rng.choice(bidden)
        await table.bid(seat, amount(seat))


def _amount(referee: Referee, rng: Random, seat: int, temper: str) -> int:
    """A legal bid."""
    while True:
        match temper:
            case "ties":
                amount = rng.randrange(4)
            case "stubborn":
                amount = rng.choice((8, 8, 8, 8, 8, 8, 8, 8, 2, 0))
            case "small":
                amount = rng.randrange(100)
            case "large":
                amount = rng.randrange(10 ** rng.randrange(1, 25))
            case _:
                amount = rng.choice((LARGEST, 0, LARGEST - 1, rng.randrange(LARGEST)))
        if temper == "stubborn" and referee.phase == "opening":
            amount = rng.randrange(1, 8)
        if referee.bid_is_legal(seat, amount):
            return amount


async def _nuisance(table: Table, referee: Referee, rng: Random) -> None:
    """Something that must be refused, and changes nothing."""
    seat = rng.randrange(referee.players)
    link, step = table.at(seat).link, referee.step
    bid = {"kind": "bid", "amount": str(rng.randrange(1, 50))}
    match rng.randrange(6):
        case 0:
            for other in (step - 1, step + 1, 0, 2**53 - 1):
                await link.refused("stale", "act", step=other, action=bid)
        case 1:
            bad = {"kind": "bid", "amount": rng.choice(BAD_AMOUNTS)}
            await link.refused("bad_message", "act", step=step, action=bad)
        case 2:
            await link.refused("bad_message", "act", step=step, action=rng.choice(BAD_ACTIONS))
        case 3:
            if seat not in referee.asked:
                await link.refused("illegal", "act", step=step, action=bid)
        case 4:
            forbidden = "0" if referee.phase == "opening" else str(referee.auction.opening)
            if seat in referee.asked and referee.phase != "blind":
                error = await link.refused(
                    "illegal", "act", step=step, action={"kind": "bid", "amount": forbidden}
                )
                assert forbidden == "0" or forbidden not in str(error)
        case _ if table.spectators:
            spectator = rng.choice(table.spectators).link
            await spectator.refused("not_seated", "act", step=step, action=bid)
    if rng.random() < 0.3:
        await table.silent()


async def _peeks(table: Table, referee: Referee, rng: Random) -> None:
    seat = rng.randrange(referee.players)
    if referee.may_peek(seat) is None:
        await table.at(seat).link.refused(
            "illegal", "act", step=referee.step, action={"kind": "peek"}
        )
    else:
        await table.peek(seat)


async def _come_back(table: Table, rng: Random, seat: int) -> None:
    member = table.at(seat)
    if rng.random() < 0.5:
        await table.lose(member)
    await table.resume(member)
