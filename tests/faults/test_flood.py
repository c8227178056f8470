"""Junk by the thousand beside a running game: nothing crashes, grows, or touches the game.

The pieces are generated, and mutated from the frames of a game that was really played; they come
over many connections, with TLS and without, also each where the other is expected. `make faults`
sends 100,000 of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import ssl
import struct
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import msgpack
import pytest
from audience import Table
from gauges import MEGABYTE, memory, milliseconds
from hosting import HostProcess
from proxy import Proxy
from randomplay import play
from wire import Connection, framed, tls_context

PIECES = int(os.environ.get("QE_JUNK", "0"))
SEED = os.environ.get("QE_SEED") or secrets.token_hex(4)
THROWERS = 8
AT_ONCE = 12
"""The most pieces on one connection."""

NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")
HELLO = framed(msgpack.packb({"type": "hello", "id": 1, "versions": [1], "client": "junk"}))
WORDS = (None, True, -1, 0, 2**53, 2**64 - 1, 1.5, "", "0", "9" * 2000, "\x1b[2J", b"", [], {})


class TimedTable(Table):
    """A table that knows how long each action took to be answered."""

    times: list[float]

    async def _act(self, seat: int, action: dict[str, Any]) -> None:
        before = time.perf_counter()
        await super()._act(seat, action)
        self.times.append(time.perf_counter() - before)


async def recorded(host: HostProcess, rng: Random) -> list[bytes]:
    """The frames that the players of a whole game send, of every kind that there is."""
    async with Proxy(host.port, rng, capture=True) as proxy:
        direct, host.port = host.port, proxy.port
        try:
            table = await Table.create(host, 3)
            for name in NAMES[1:3]:
                await table.join(name)
            await table.watch("Zoe")
            await table.start()
            await table.resume(table.at(1))
            await play(table, rng)
            await table.at(0).link.ask("say", text="A word")
            await table.at(0).link.ask("react", kind="gasp")
            for member in reversed(table.members):
                await member.link.ask("leave")
            await table.close()
        finally:
            host.port = direct
    frames = []
    for wire in proxy.captured:
        stream, at = bytes(wire["up"]), 0
        while at < len(stream):
            end = at + 4 + int.from_bytes(stream[at : at + 4], "big")
            frames.append(stream[at:end])
            at = end
    return frames


def mutated(frames: list[bytes], rng: Random) -> bytes:
    """A frame with something wrong about it."""
    frame = bytearray(rng.choice(frames))
    match rng.randrange(7):
        case 0:
            for _ in range(rng.randrange(1, 9)):
                frame[rng.randrange(len(frame))] = rng.randrange(256)
        case 1:
            del frame[rng.randrange(1, len(frame)) :]
        case 2:
            at = rng.randrange(len(frame))
            frame[at:at] = rng.randbytes(rng.randrange(1, 60))
        case 3:
            other = rng.choice(frames)
            frame = frame[: rng.randrange(len(frame))] + other[rng.randrange(len(other)) :]
        case 4:
            frame[:4] = struct.pack(">I", rng.choice((0, 1, 65_536, 2**31, rng.randrange(4000))))
        case _:
            fields = msgpack.unpackb(bytes(frame[4:]))
            fields.pop("pad", None)
            key = rng.choice(list(fields))
            if rng.random() < 0.2:
                del fields[key]
            else:
                fields[rng.choice((key, "more"))] = rng.choice(WORDS)
            return framed(msgpack.packb(fields))
    return bytes(frame)


def generated(rng: Random) -> bytes:
    """Bytes that nobody has meant."""
    match rng.randrange(5):
        case 0:
            return rng.randbytes(rng.randrange(1, 3000))
        case 1:
            return framed(rng.randbytes(rng.randrange(1, 300)))
        case 2:
            return framed(b"\x81\xa4type" + rng.choice((b"\x91", b"\x81\xa1a")) * 1000 + b"\xc0")
        case 3:
            return rng.choice((b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + bytes(99)))
        case _:
            keys = rng.sample(("type", "id", "table", "name", "seat", "step", "action", "pad"), 4)
            return framed(msgpack.packb({key: rng.choice(WORDS[:9]) for key in keys}))


class Thrower:
    """Throws pieces at a host until enough have been thrown, connection after connection."""

    def __init__(self, host: HostProcess, frames: list[bytes], rng: Random, count: int) -> None:
        self.left = count
        self.connections = 0
        self._host, self._frames, self._rng = host, frames, rng
        self._context = tls_context()

    async def throw(self) -> None:
        while self.left > 0:
            await self._one_connection()

    async def _one_connection(self) -> None:
        rng, host = self._rng, self._host
        pieces = rng.randrange(1, AT_ONCE + 1)
        self.left -= pieces
        self.connections += 1
        tls = host.tls if rng.random() < 0.9 else not host.tls
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(5):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", host.port, ssl=self._context if tls else None
                )
            try:
                if rng.random() < 0.7:
                    writer.write(HELLO)
                for _ in range(pieces):
                    own = rng.random() < 0.3
                    writer.write(generated(rng) if own else mutated(self._frames, rng))
                async with asyncio.timeout(0.5):
                    await writer.drain()
                    await reader.read(65_536)
            finally:
                writer.transport.abort()


async def beside(host: HostProcess, rng: Random, enough: asyncio.Event) -> tuple[list[float], int]:
    """Strictly refereed games, one after the other: the times of their answers, and how many."""
    times: list[float] = []
    games = 0
    while not enough.is_set() or not games:
        table = await TimedTable.create(host, 4, password="nobody else")
        assert isinstance(table, TimedTable)
        table.times = times
        for name in NAMES[1:4]:
            await table.join(name, password="nobody else")
        await table.start()
        await play(table, rng, returning=2)
        for member in reversed(table.members):
            await member.link.ask("leave")
        await table.close()
        games += 1
    return times, games


@pytest.mark.skipif(not PIECES, reason="takes long: make faults")
@pytest.mark.timeout(3600)
async def test_junk_beside_a_game(run_host: Callable[..., HostProcess]) -> None:
    print(f"QE_SEED={SEED}")
    rng = Random(SEED)
    hosts = [run_host(tls=tls, more=("--max-tables", "20")) for tls in (False, True)]
    frames = await recorded(hosts[0], rng)
    kinds = Counter(msgpack.unpackb(frame[4:])["type"] for frame in frames)
    assert {"create", "join", "resume", "watch", "act", "say", "react", "start"} <= set(kinds)
    done = asyncio.Event()
    done.set()
    calm = [await beside(host, rng, done) for host in hosts]
    begun, connections = time.monotonic(), 0
    weights: list[list[int]] = []
    for share in (0.2, 0.3, 0.5):  # what a host takes at first is no leak
        enough = asyncio.Event()
        throwers = [
            Thrower(host, frames, rng, int(PIECES * share) // len(hosts) // THROWERS + 1)
            for host in hosts
            for _ in range(THROWERS)
        ]
        games = [asyncio.create_task(beside(host, rng, enough)) for host in hosts]
        await asyncio.gather(*(thrower.throw() for thrower in throwers))
        enough.set()
        stormy = await asyncio.gather(*games)
        connections += sum(thrower.connections for thrower in throwers)
        weights.append([memory(host.process.pid) for host in hosts])
    for host in hosts:
        assert host.alive()
        assert host.errors() == []
        await (await Connection.open(host.port, tls=host.tls)).close()
    grown = [last - first for first, last in zip(weights[0], weights[-1], strict=True)]
    print(
        f"{PIECES} pieces on {connections} connections in {time.monotonic() - begun:.0f} s; "
        f"memory (MB) {[[w / MEGABYTE for w in some] for some in weights]}; "
        f"answers in a calm: {milliseconds(calm[0][0])}, TLS {milliseconds(calm[1][0])}; "
        f"beside the junk: {milliseconds(stormy[0][0])}, TLS {milliseconds(stormy[1][0])}; "
        f"{[count for _, count in stormy]} games in the last half"
    )
    assert max(grown) < 16 * MEGABYTE
    with pytest.raises((ssl.SSLError, ConnectionError, TimeoutError)):
        await Connection.open(hosts[0].port, tls=True, patience=5)
