"""A host that is killed in mid-game comes back with everything that it had answered."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from audience import Member, Table
from hosting import ROOT, HostProcess
from randomplay import play
from wire import GoneError, entries

RunHost = Callable[..., HostProcess]
NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")


async def _table(host: HostProcess, players: int, **more: Any) -> Table:
    table = await Table.create(host, players, **more)
    for name in NAMES[1:players]:
        await table.join(name)
    return table


async def _back(host: HostProcess, table: Table) -> None:
    """The host starts again, and all seats are taken up with the tokens that they had."""
    for member in table.members:
        await member.link.goodbye(None)
    table.members = [member for member in table.members if member.seat is not None]
    for seat in table.room["seats"]:
        seat["connected"] = False
    host.start()
    for member in table.members:
        await table.resume(member)


@pytest.mark.long
@pytest.mark.parametrize("players", [3, 4, 5])
async def test_kill_at_any_point(run_host: RunHost, players: int) -> None:
    """Killed in the lobby, after the start, and at random places between the bids of a game."""
    rng = Random(players)
    host = run_host(seed="kill", tls=players == 4)
    table = await _table(host, players, rules={"notes": players != 4})
    try:
        host.kill()
        await _back(host, table)
        referee = await table.start()
        moments = {0, *rng.sample(range(1, 40), 3)}
        made = 0
        while not referee.over and made < 45:
            if made in moments:
                host.kill()
                await _back(host, table)
                moments.remove(made)
            for seat in range(players):
                if referee.may_peek(seat) is not None and rng.random() < 0.2:
                    await table.peek(seat)
            seat, amount = rng.choice(referee.waiting), rng.randrange(4)
            if referee.bid_is_legal(seat, amount):
                await table.bid(seat, amount)
                made += 1
        assert not moments
        await table.watch("Zoe")
        if not referee.over:
            await play(table, rng)
        host.kill()
        await _back(host, table)
        assert referee.over
        await table.rematch()
        await table.start()
        assert host.errors() == []
    finally:
        await table.close()


@pytest.mark.long
async def test_kill_while_bids_are_on_their_way(run_host: RunHost) -> None:
    """What was answered is there, once; what was not may be there, whole, or not at all."""
    host = run_host(seed="kill")
    table = await _table(host, 4)
    rng = Random(1)
    kept = 0
    try:
        referee = await table.start()
        for round_ in range(5):
            await table.bid(referee.waiting[0], 100 + round_)
            seats, step = referee.waiting, referee.step
            await table.bid(seats.pop(), rng.randrange(50))
            sent = {seat: rng.randrange(51, 99) * (1 + seat) for seat in seats}
            answers = [
                table.at(seat).link.send(
                    "act", step=step, action={"kind": "bid", "amount": str(amount)}
                )
                for seat, amount in sent.items()
            ]
            await asyncio.sleep(rng.random() * 0.002)
            host.kill()
            outcomes = await asyncio.gather(*answers, return_exceptions=True)
            granted = {seat for seat, outcome in zip(sent, outcomes, strict=True) if outcome == {}}
            assert all(o == {} or isinstance(o, GoneError) for o in outcomes)
            there = await _what_is_there(host, table, step)
            assert granted <= there, "an answered bid is lost"
            kept += len(there)
            for seat in sorted(there):
                table.move(seat, sent[seat])
            for member in table.members:
                await table.resume(member)
            for seat in sorted(set(seats) - there):
                await table.bid(seat, sent[seat])
            while referee.phase != "opening":
                await table.bid(referee.waiting[0], rng.randrange(50))
        assert kept, "no bid was ever there: nothing was tried"
        await play(table, rng)
    finally:
        await table.close()


async def _what_is_there(host: HostProcess, table: Table, step: int) -> set[int]:
    """Starts the host again, and asks a spectator's view who has bid."""
    for member in table.members:
        with contextlib.suppress(GoneError):
            await member.link.goodbye(None)
        while not member.link.views.empty():
            member.link.views.get_nowait()
    for seat in table.room["seats"]:
        seat["connected"] = False
    host.start()
    link = await table.connect()
    await link.ask("watch", table=table.code)
    game = (await link.view()).fields["game"]
    await link.close()
    referee = table.referee
    assert referee is not None
    if game["step"] == step:
        return set(referee.waiting) - set(game["waiting"])
    assert game["step"] == step + 1
    return set(referee.waiting)


async def test_old_token_stands_until_the_new_one_is_used(run_host: RunHost) -> None:
    """Killed right after a resume was answered or not: one of the two tokens always fits."""
    host = run_host()
    table = await _table(host, 3)
    try:
        await table.start()
        member = table.members[1]
        first = member.token
        await table.resume(member)
        second = member.token
        host.kill()
        member.token = first  # as if the answer with the second had never come
        await _back(host, table)
        third = member.token
        assert len({first, second, third}) == 3
        link = await table.connect()
        await link.refused("bad_token", "resume", table=table.code, token=second)
        await link.close()
        await table.resume(member)
        link = await table.connect()
        await link.refused("bad_token", "resume", table=table.code, token=first)
        await link.close()
    finally:
        await table.close()


def test_second_host_on_the_same_folder(run_host: RunHost) -> None:
    host = run_host()
    second = subprocess.run(
        [sys.executable, "-m", "server", "--bind", "127.0.0.1", "--port", "0", "--no-tls",
         "--data", str(host.data)],
        cwd=ROOT, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert second.returncode == 2
    assert second.stdout == ""
    assert second.stderr.strip().endswith(".")
    assert "Traceback" not in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
    assert host.alive()
    asyncio.run(_has_a_table(host))


async def _has_a_table(host: HostProcess) -> None:
    await (await Table.create(host, 3)).close()


@pytest.mark.parametrize("tls", [False, True])
async def test_sigterm(run_host: RunHost, tls: bool) -> None:
    """Everybody is told, the exit status is 0, and the game goes on at the next start."""
    host = run_host(seed="term", tls=tls)
    table = await _table(host, 3)
    try:
        await table.watch()
        referee = await table.start()
        await table.bid(referee.waiting[0], 5)
        assert await asyncio.to_thread(host.terminate) == 0
        for member in table.members:
            await member.link.goodbye("shutting_down")
        table.members = [member for member in table.members if member.seat is not None]
        host.start()
        for seat in table.room["seats"]:
            seat["connected"] = False
        for member in table.members:
            await table.resume(member)
        await play(table, Random(1))
        assert host.errors() == []
    finally:
        await table.close()


async def test_the_public_part_is_the_same_after_a_restart(run_host: RunHost) -> None:
    """The same bytes: the fold of the journal is the game."""
    host = run_host()
    table = await _table(host, 4)
    try:
        referee = await table.start()
        rng = Random(2)
        while referee.auction.number < 6:
            seat, amount = rng.choice(referee.waiting), rng.randrange(3)
            if referee.bid_is_legal(seat, amount):
                await table.bid(seat, amount)
        before = {m.name: _last_view(m) for m in table.members}
        host.kill()
        await _back(host, table)
        after = {m.name: _last_view(m) for m in table.members}
        for name, view in before.items():
            assert after[name]["game"] == view["game"]
            assert after[name]["you"] == view["you"]
    finally:
        await table.close()


def _last_view(member: Member) -> dict[str, bytes]:
    views = [frame for frame in member.link.frames if entries(frame)["type"] == b"\xa4view"]
    return entries(views[-1])
