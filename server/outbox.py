"""What is still to be sent on one connection: bounded, and never waited for by a table."""

from __future__ import annotations

import asyncio
from collections import deque

from protocol.stream import abort

MAX_FRAMES = 512
MAX_BYTES = 4 * 1_048_576
"""What may wait for a peer beside one view. Answers are not among it, since nothing more is read
from one for whom HIGH_WATER bytes are waiting: it is what others say."""

HIGH_WATER = 65_536
"""Bytes that the transport holds, and the most that it is given at once: under TLS a view in one
piece would pass below the transport's own limit, and its progress could not be seen."""

STALLED_AFTER = 30.0
"""Seconds without progress after which a peer counts as one that reads nothing."""


class Outbox:
    """The frames for one writer. A newer view replaces an unsent older one.

    A peer that reads nothing for STALLED_AFTER is aborted: closing would wait for it.
    """

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=HIGH_WATER)
        self._frames: deque[bytes | None] = deque()
        self._view: bytes | None = None
        self._bytes = 0
        self._filled = asyncio.Event()
        self._calm = asyncio.Event()
        self._calm.set()
        self._ending = False
        self._aborted = False

    def put(self, frame: bytes) -> bool:
        """Adds a frame. False where the peer is too far behind: then all is dropped."""
        if self._ending:
            return True
        self._frames.append(frame)
        self._bytes += len(frame)
        self._filled.set()
        if self._bytes > HIGH_WATER:
            self._calm.clear()
        if len(self._frames) > MAX_FRAMES or self._bytes > MAX_BYTES:
            self._drop()
            return False
        return True

    def put_view(self, frame: bytes) -> None:
        """Adds a view's frame. Its place among the frames is a None; an older one loses its."""
        if self._ending:
            return
        if self._view is not None:
            self._frames.remove(None)
        self._view = frame
        self._frames.append(None)
        self._filled.set()

    async def calm(self) -> None:
        """Returns when little is waiting: until then the peer need not be asked for more."""
        await self._calm.wait()

    def finish(self) -> None:
        """Takes nothing more; `run` returns when everything is written."""
        self._ending = True
        self._filled.set()
        self._calm.set()

    def abort(self) -> None:
        """Drops everything, and the connection with it."""
        self._aborted = True
        self._drop()
        abort(self._writer)
        self.finish()

    def _drop(self) -> None:
        self._frames.clear()
        self._view = None
        self._bytes = 0

    async def run(self) -> None:
        """Writes until the end. Raises ConnectionError when the connection breaks."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._frames:
                frame = self._next()
                for start in range(0, len(frame), HIGH_WATER):
                    self._writer.write(frame[start : start + HIGH_WATER])
                    await self._drained()
                    if self._aborted:
                        return
            if self._ending:
                return

    async def _drained(self) -> None:
        """Returns when little is left in the transport; aborts where that does not get less."""
        while True:
            left = self._writer.transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(STALLED_AFTER):
                    return await self._writer.drain()
            except TimeoutError:
                if self._writer.transport.get_write_buffer_size() >= left:
                    return self.abort()

    def _next(self) -> bytes:
        frame = self._frames.popleft()
        if frame is None:
            frame, self._view = self._view or b"", None
        else:
            self._bytes -= len(frame)
        if self._bytes <= HIGH_WATER:
            self._calm.set()
        return frame
