"""kill -9 at random moments of an evening of games, and everything that was answered is there.

Every kill is one of three: at any moment; as soon as the journal on disk grows, so that the
host dies about the time at which it would answer; and after its answers have been held back for
a while on their way, so that it has certainly written what nobody was answered. `make crash`
has 200 of them. QE_SEED, which is printed, repeats what the test chose, if not the machine's part.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from evening import MakeLine, Party
from hosting import HostProcess
from ledger import (
    Journal,
    Ledger,
    check_actions,
    check_ends,
    check_nothing_changed,
    lost_resumes,
    read_journal,
    written_since,
)
from lines import Line, RawLine, StayLine
from proxy import Proxy

KILLS = int(os.environ.get("QE_KILLS", "3"))
SEED = os.environ.get("QE_SEED") or secrets.token_hex(4)
KINDS = ("any", "journal", "held")
GAME_WITHIN = 300.0
"""Seconds; only a table that hangs comes near it."""


class Killing:
    """A host that is killed again and again, while games are played on it."""

    def __init__(self, host: HostProcess, proxy: Proxy, ledger: Ledger, rng: Random) -> None:
        self.host, self.proxy, self.ledger, self.rng = host, proxy, ledger, rng
        self.journal: Journal = {}
        self.kinds: list[str] = []
        self.restarts: list[float] = []

    async def kill(self, kind: str) -> None:
        """Ends the host's life, looks at what is written, and starts it again."""
        match kind:
            case "any":
                await asyncio.sleep(self.rng.uniform(0, 0.5))
                self.host.kill()
            case "journal":
                await asyncio.sleep(self.rng.uniform(0.05, 0.5))
                await asyncio.to_thread(self._when_the_journal_grows, self.rng.randrange(1500))
            case _:
                await asyncio.sleep(self.rng.uniform(0.05, 0.4))
                while not await self._somebody_waits_for_an_answer():
                    self.proxy.cut_all()
                    await asyncio.sleep(0.5)
                self.host.kill()
        self.proxy.cut_all()
        self.kinds.append(kind)
        self.ledger.life += 1
        journal = read_journal(self.host.data)
        check_nothing_changed(self.journal, journal)
        check_actions(self.ledger, journal)
        self.journal = journal
        before = time.monotonic()
        await asyncio.to_thread(self.host.start)
        self.restarts.append(time.monotonic() - before)

    def _when_the_journal_grows(self, microseconds: int) -> None:
        killer = Path(__file__).with_name("killer.py")
        pid, wal = self.host.process.pid, self.host.data / "journal.sqlite3-wal"
        subprocess.run(
            [sys.executable, "-ISE", killer, str(pid), wal, str(microseconds)],
            check=True, capture_output=True,
        )  # fmt: skip
        self.host.kill()

    async def _somebody_waits_for_an_answer(self) -> bool:
        """Holds the host's answers back until an action is written that one of them is for."""
        self.proxy.hold()
        now = time.time_ns() // 1_000_000
        for _ in range(200):
            if written_since(self.host.data, now) & self.ledger.unanswered():
                return True
            await asyncio.sleep(0.005)
        return False


class Address:
    """The proxy's port, and what the host behind it shows."""

    def __init__(self, host: HostProcess, proxy: Proxy) -> None:
        self.tls, self.fingerprint, self.port = host.tls, host.fingerprint, proxy.port


def parties(where: Address, ledger: Ledger, rng: Random, lines: list[Line]) -> list[Party]:
    """Tables of three, of four with a computer, of four, and of five, by both kinds of clients."""

    def raw() -> Line:
        lines.append(RawLine(where, rng))
        return lines[-1]

    def stay() -> Line:
        lines.append(StayLine(where))
        return lines[-1]

    seats: Sequence[tuple[list[MakeLine], int]] = (
        ([raw, stay, raw], 0), ([stay, raw, raw], 1), ([raw, raw, stay, raw, raw], 0),
    )  # fmt: skip
    return [
        Party(f"Table {n}", makers, computers, ledger, rng)
        for n, (makers, computers) in enumerate(seats)
    ]


@pytest.mark.timeout(120 + 10 * KILLS)
async def test_kills(run_host: Callable[..., HostProcess]) -> None:
    print(f"QE_SEED={SEED}")
    rng, ledger, enough = Random(SEED), Ledger(), asyncio.Event()
    host = run_host(tls=True)
    lines: list[Line] = []
    async with Proxy(host.port, rng) as proxy:
        killing = Killing(host, proxy, ledger, rng)
        tables = parties(Address(host, proxy), ledger, rng, lines)
        async with asyncio.TaskGroup() as tasks:
            for table in tables:
                tasks.create_task(table.play(enough, GAME_WITHIN))
            for number in range(KILLS):
                await killing.kill(KINDS[number % len(KINDS)])
            enough.set()
    host.kill()
    journal = read_journal(host.data)
    check_nothing_changed(killing.journal, journal)
    unanswered = check_actions(ledger, journal)
    games = check_ends(ledger, journal)
    assert games == sum(table.games for table in tables)
    assert all(table.games for table in tables)
    assert host.errors() == []
    between = {attempt.life for attempt in unanswered}
    kinds = Counter(killing.kinds[life] for life in between)
    resumes = lost_resumes(ledger, journal)
    print(
        f"{KILLS} kills, {games} games, {ledger.bids} answered actions; "
        f"{len(unanswered)} actions written that were never answered, in {len(between)} kills "
        f"({dict(kinds)}); {resumes} resumes written whose answer was lost; "
        f"restart {min(killing.restarts):.2f} to {max(killing.restarts):.2f} s"
    )
    assert between, "no kill fell between the journal and the answer"
