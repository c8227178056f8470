"""Games over lines that are delayed, cut, half-open, chopped up and run together.

No table hangs, no bid is lost or made twice, everybody comes back by themselves, and all games end
as their bids say. `make faults` has 500 faults. QE_SEED, which is printed, repeats the choices.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from random import Random

import pytest
from evening import MakeLine, Party
from hosting import HostProcess
from ledger import Ledger, check_actions, check_ends, lost_resumes, read_journal
from lines import Line, RawLine, StayLine
from proxy import FAULTS, Proxy
from wire import until

COUNT = int(os.environ.get("QE_FAULTS", "15"))
SEED = os.environ.get("QE_SEED") or secrets.token_hex(4)
GAME_WITHIN = 300.0
"""Seconds; only a table that hangs comes near it."""


class Address:
    """The proxy's port, and what the host behind it shows."""

    def __init__(self, host: HostProcess, proxy: Proxy) -> None:
        self.tls, self.fingerprint, self.port = host.tls, host.fingerprint, proxy.port


@pytest.mark.timeout(240 + COUNT)
async def test_faults(run_host: Callable[..., HostProcess]) -> None:
    print(f"QE_SEED={SEED}")
    rng, ledger = Random(SEED), Ledger()
    host = run_host(tls=True)
    lines: list[Line] = []
    async with Proxy(host.port, rng, rate=0.05, limit=COUNT) as proxy:
        proxy.calm = True
        where = Address(host, proxy)

        def raw() -> Line:
            lines.append(RawLine(where, rng))
            return lines[-1]

        def stay() -> Line:
            lines.append(StayLine(where))
            return lines[-1]

        seats: list[tuple[list[MakeLine], int]] = [
            ([stay, raw, stay], 0), ([stay, stay, raw], 1), ([stay, stay, stay, raw, raw], 0),
        ]  # fmt: skip
        tables = [
            Party(f"Table {n}", makers, computers, ledger, rng)
            for n, (makers, computers) in enumerate(seats)
        ]
        async with asyncio.TaskGroup() as tasks:
            for table in tables:
                tasks.create_task(table.play(proxy.enough, GAME_WITHIN))
            await until(lambda: all(table.seated for table in tables))
            proxy.calm = False
        faults = proxy.faults
    host.kill()
    journal = read_journal(host.data)
    unanswered = check_actions(ledger, journal)
    games = check_ends(ledger, journal)
    came_back = sum(max(0, line.epoch - 1) for line in lines)
    print(
        f"{faults.total()} faults ({dict(faults)}), {games} games, {ledger.bids} answered actions; "
        f"{len(unanswered)} taken but never answered; "
        f"{lost_resumes(ledger, journal)} resumes whose answer was lost; "
        f"{came_back} times somebody came back"
    )
    assert faults.total() == COUNT
    assert set(faults) <= set(FAULTS)
    assert games == sum(table.games for table in tables)
    assert all(table.games for table in tables)
    assert came_back, "nobody had to come back"
    assert host.errors() == []
