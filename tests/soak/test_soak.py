"""A long evening: twenty tables of computers and people who come and go. Nothing grows.

`make soak` plays for ten minutes against a host of its own and watches it from outside; here a
host in this process is watched from inside for some seconds, its tasks too.
"""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest
from crowd import Regular, Wanderer
from freezing import HostHere
from gauges import MEGABYTE, descriptors, memory, slope, threads
from hosting import HostProcess
from ledger import games_of, read_journal, refereed
from lines import Line, RawLine, StayLine, Where
from proxy import Proxy
from wire import Connection, until

from server.host import Host, Settings

SECONDS = int(os.environ.get("QE_SOAK_SECONDS", "0"))
SEED = os.environ.get("QE_SEED") or secrets.token_hex(4)
WARM_UP = 0.4
"""The share of the time after which everything has its size: the host's caches are full."""


class Address:
    """The proxy's port, and what the host behind it shows."""

    def __init__(self, host: Where, proxy: Proxy) -> None:
        self.tls, self.fingerprint, self.port = host.tls, host.fingerprint, proxy.port


class Evening:
    """A crowd at a host. `tally` counts what it does."""

    def __init__(self, host: Where, proxy: Proxy, tables: int, wanderers: int, rng: Random) -> None:
        self.tally: Counter[str] = Counter()
        self.enough = asyncio.Event()
        where = Address(host, proxy)

        def raw() -> Line:
            return RawLine(where, rng, patience=20.0)

        def stay() -> Line:
            return StayLine(where)

        self._proxy = proxy
        self._jobs = [
            *(
                Regular(f"Regular {n}", stay if n % 2 else raw, rng, self.tally).stay
                for n in range(tables)
            ),
            *(
                Wanderer(f"Guest {n}", lambda: proxy.port, host.tls, rng, self.tally).wander
                for n in range(wanderers)
            ),
        ]

    async def last(self, seconds: float, cut_every: float) -> None:
        """Until the time is up and all games have ended."""
        async with asyncio.TaskGroup() as tasks:
            for job in self._jobs:
                tasks.create_task(job(self.enough))
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                await asyncio.sleep(cut_every)
                self._proxy.cut_one()
                self.tally["cut"] += 1
            self.enough.set()


async def tables_at(host: Where) -> int:
    link = await Connection.open(host.port, tls=host.tls)
    tables = (await link.ask("tables"))["tables"]
    await link.close()
    return len(tables)


async def _one_comes_and_goes(host: Where) -> None:
    """So that a host has all that it opens once only."""
    link = await Connection.open(host.port, tls=host.tls)
    await link.ask("create", game="qe", seats=3, title="First", name="Ana", password="a word")
    await link.ask("leave")
    await link.close()
    await asyncio.sleep(0.2)


async def test_a_short_evening_leaves_nothing_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Tasks, files and threads of a host in this process, before and after."""
    rng, loop = Random(SEED), asyncio.get_running_loop()
    settings = Settings(data=tmp_path / "data", name="soak", bind="127.0.0.1", port=0, tls=False,
                        bot_delay=0.01)  # fmt: skip
    host = Host(settings)
    await host.start()
    here = HostHere(host)
    try:
        await _one_comes_and_goes(here)
        tasks, files = len(asyncio.all_tasks()), descriptors(os.getpid())
        async with Proxy(here.port, rng) as proxy:
            evening = Evening(here, proxy, tables=3, wanderers=2, rng=rng)
            await evening.last(1.5, cut_every=0.2)
        assert evening.tally["games begun"] == evening.tally["games ended"] > 0
        del evening, proxy

        def as_before() -> bool:
            gc.collect()
            return (
                len(asyncio.all_tasks()) == tasks + len(host.tables)
                and descriptors(os.getpid()) <= files
            )

        await until(as_before)
        assert loop.is_running()
    finally:
        await host.stop()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.skipif(not SECONDS, reason="takes ten minutes: make soak")
@pytest.mark.timeout(SECONDS + 600)
async def test_soak(tmp_path: Path) -> None:
    print(f"QE_SEED={SEED}")
    rng = Random(SEED)
    host = HostProcess(data=tmp_path / "data", tls=True, more=("--bot-delay", "0.05"))
    samples: list[tuple[float, int, int, int]] = []
    try:
        host.start()
        pid = host.process.pid
        files = descriptors(pid)
        async with AsyncExitStack() as stack:
            proxy = await stack.enter_async_context(Proxy(host.port, rng))
            evening = Evening(host, proxy, tables=20, wanderers=12, rng=rng)
            watching = asyncio.create_task(_watch(pid, samples))
            stack.callback(watching.cancel)
            await evening.last(SECONDS, cut_every=0.5)
        await until(lambda: descriptors(pid) <= files)
        _judge(samples, evening.tally)
        await _journal(host, evening.tally)
        assert host.errors() == []
    finally:
        host.kill()


async def _watch(pid: int, samples: list[tuple[float, int, int, int]]) -> None:
    begun = time.monotonic()
    while True:
        now = time.monotonic() - begun
        samples.append((now, memory(pid), descriptors(pid), threads(pid)))
        await asyncio.sleep(1)


def _judge(samples: list[tuple[float, int, int, int]], tally: Counter[str]) -> None:
    """From the warm-up on, nothing grows by a tenth of itself."""
    warm = [sample for sample in samples if WARM_UP * SECONDS < sample[0] < SECONDS]
    lasted = warm[-1][0] - warm[0][0]
    names = ("memory", "descriptors", "threads")
    print(f"{SECONDS} s: {dict(sorted(tally.items()))}")
    for column, name in enumerate(names, 1):
        values = [sample[column] for sample in warm]
        mean = sum(values) / len(values)
        grown = slope([(sample[0], sample[column]) for sample in warm]) * lasted
        unit = MEGABYTE if name == "memory" else 1
        print(
            f"{name}: {samples[0][column] / unit:.1f} at first, {mean / unit:.1f} on average, "
            f"{max(values) / unit:.1f} at most, {grown / unit:+.2f} in {lasted:.0f} s"
        )
        assert grown < mean / 10, f"{name} grows"
    assert tally["games begun"] == tally["games ended"] > 0


async def _journal(host: HostProcess, tally: Counter[str]) -> None:
    """What the evening has left on the disk: games with an end, and how long it takes to read."""
    open_tables = await tables_at(host)
    assert await asyncio.to_thread(host.terminate) == 0
    size = sum(path.stat().st_size for path in host.data.glob("journal.sqlite3*"))
    journal = read_journal(host.data)
    games = [game for events in journal.values() for game in games_of(events)]
    assert len(games) >= tally["games ended"]
    assert all(refereed(game).over for game in games)
    before = time.monotonic()
    await asyncio.to_thread(host.start)
    took = time.monotonic() - before
    assert await tables_at(host) == open_tables
    print(
        f"journal: {size / MEGABYTE:.2f} MB, {sum(map(len, journal.values()))} events, "
        f"{len(games)} games, {size / len(games) / 1024:.1f} kB a game; "
        f"restart with {open_tables} open tables in {took:.2f} s"
    )
