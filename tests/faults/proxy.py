"""A TCP proxy between clients and a host that does to them what networks do.

It knows nothing of what it passes on: under TLS all that it could spoil are bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections import Counter
from dataclasses import dataclass, field
from random import Random

FAULTS = {
    "delay": 20, "split": 20, "join": 16, "reset": 10, "close": 10, "deaf up": 6, "deaf down": 6,
    "dead": 4, "refuse": 8,
}  # fmt: skip
"""Every fault, and how often it is chosen.

`reset` and `close` end a connection in the middle of what is being passed on, with a RST or a FIN;
after `deaf up`, `deaf down` and `dead` nothing gets through any more in one direction or both,
and neither end is told; `refuse` turns a newcomer away.
"""

LONG_DELAY, SHORT_DELAY = 0.8, 0.05
BYTE_BY_BYTE = 400
"""How many bytes of a piece are passed on one by one."""

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(eq=False)
class _Wire:
    """One proxied connection. A direction in `deaf` swallows what it is given."""

    near: Ends
    far: Ends
    seen: dict[str, bytearray] = field(
        default_factory=lambda: {"up": bytearray(), "down": bytearray()}
    )
    deaf: set[str] = field(default_factory=set)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def cut(self, *, reset: bool) -> None:
        for _, writer in (self.near, self.far):
            _cut(writer, reset=reset)


class Proxy:
    """Listens on a port of its own. Without a `rate` it passes everything on as it comes.

    `rate` is the share of pieces that something happens to, `limit` after how many faults no more
    are made, and while it is `calm` none are. `up` and `down` count the bytes to and from the
    host; `captured` has those of each connection, to the host and from it, where `capture` is set.
    """

    def __init__(
        self,
        target: int,
        rng: Random,
        *,
        rate: float = 0.0,
        limit: int | None = None,
        capture: bool = False,
    ) -> None:
        self.target = target
        self.port = 0
        self.faults: Counter[str] = Counter()
        self.up = self.down = 0
        self.calm = False
        self.enough = asyncio.Event()
        self.captured: list[dict[str, bytearray]] = []
        self._rng, self._rate, self._limit, self._capture = rng, rate, limit, capture
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._wires: set[_Wire] = set()
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut_all()
        if self._serving:
            await asyncio.wait(self._serving, timeout=5)

    # --- What a test does to it ------------------------------------------------------------------

    def hold(self) -> None:
        """From now on, what comes from the host gets no further."""
        self._open.clear()

    def cut_one(self) -> None:
        """Ends a connection with a RST."""
        if self._wires:
            self._rng.choice(sorted(self._wires, key=id)).cut(reset=True)

    def cut_all(self) -> None:
        """Ends all connections, and drops what was held back."""
        for wire in tuple(self._wires):
            for task in wire.tasks:
                task.cancel()
            wire.cut(reset=True)
        self._wires.clear()
        self._open.set()

    # --- Passing on --------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if self._choose(newcomer=True) == "refuse":
                _cut(writer, reset=True)
                return
            try:
                far = await asyncio.open_connection("127.0.0.1", self.target)
            except OSError:
                _cut(writer, reset=True)
                return
            wire = _Wire((reader, writer), far)
            self._wires.add(wire)
            if self._capture:
                self.captured.append(wire.seen)
            wire.tasks = [
                asyncio.create_task(self._pump(wire, "up")),
                asyncio.create_task(self._pump(wire, "down")),
            ]
            await asyncio.wait(wire.tasks)
            if not wire.deaf:  # else an end is left that believes in the other one
                wire.cut(reset=False)
                self._wires.discard(wire)
        finally:
            self._serving.discard(task)

    async def _pump(self, wire: _Wire, way: str) -> None:
        """Passes on what comes from one end, until it ends or is ended."""
        (reader, _), (_, writer) = (wire.near, wire.far) if way == "up" else (wire.far, wire.near)
        try:
            while data := await reader.read(65_536):
                if way == "down":
                    await self._open.wait()
                    self.down += len(data)
                else:
                    self.up += len(data)
                if self._capture:
                    wire.seen[way] += data
                if way not in wire.deaf:
                    await self._pass_on(wire, way, data, reader, writer)
            if not wire.deaf:
                writer.close()
        except OSError:
            if not wire.deaf:
                wire.cut(reset=True)

    async def _pass_on(
        self,
        wire: _Wire,
        way: str,
        data: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        part = data[: self._rng.randrange(len(data))]
        match fault := self._choose():
            case "delay":
                longest = LONG_DELAY if self._rng.random() < 0.1 else SHORT_DELAY
                await asyncio.sleep(self._rng.uniform(0, longest))
            case "split":
                for byte in data[:BYTE_BY_BYTE]:
                    writer.write(bytes((byte,)))
                    await asyncio.sleep(0)
                data = data[BYTE_BY_BYTE:]
            case "join":
                await asyncio.sleep(SHORT_DELAY)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.01):
                        data += await reader.read(65_536)
            case "reset" | "close":
                writer.write(part)
                await asyncio.sleep(0)
                wire.cut(reset=fault == "reset")
                return
            case "deaf up" | "deaf down" | "dead":
                wire.deaf |= {"up", "down"} if fault == "dead" else {fault.removeprefix("deaf ")}
                data = part if way in wire.deaf else data
        writer.write(data)
        await writer.drain()

    def _choose(self, *, newcomer: bool = False) -> str | None:
        """What happens to a piece, or to somebody who connects."""
        if self.calm or self.enough.is_set() or self._rng.random() >= self._rate:
            return None
        kinds = [kind for kind in FAULTS if (kind == "refuse") == newcomer]
        weights = [1 if self.faults[kind] else 1000 for kind in kinds]  # each of them soon
        weights = [FAULTS[kind] * weight for kind, weight in zip(kinds, weights, strict=True)]
        (fault,) = self._rng.choices(kinds, weights)
        self.faults[fault] += 1
        if self._limit is not None and self.faults.total() >= self._limit:
            self.enough.set()
        return fault


def _cut(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    """Ends a connection at once, with what its end has not read: a RST, or a FIN."""
    sock = writer.get_extra_info("socket")
    if reset and sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if reset:
        writer.transport.abort()
    else:
        writer.close()
