"""What is still to be sent on one connection: bounded, and never waited for by a table."""

from __future__ import annotations

import asyncio
from collections import deque

from protocol.stream import abort

MAX_FRAMES = 512
MAX_BYTES = 4 * 1_048_576
HIGH_WATER = 65_536
STALLED_AFTER = 30.0
"""Seconds without progress after which a peer counts as one that reads nothing."""


class Outbox:
    """The frames for one writer. A newer view replaces an unsent older one.

    A peer that lets too much pile up, or reads nothing for STALLED_AFTER, is aborted:
    closing would wait for it.
    """

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=HIGH_WATER)
        self._frames: deque[bytes | None] = deque()
        self._view: bytes | None = None
        self._bytes = 0
        self._filled = asyncio.Event()
        self._ending = False

    def put(self, frame: bytes) -> None:
        """Adds a frame. Aborts the connection where the peer is too far behind."""
        if self._ending:
            return
        self._frames.append(frame)
        self._bytes += len(frame)
        self._filled.set()
        if len(self._frames) > MAX_FRAMES or self._bytes > MAX_BYTES:
            self.abort()

    def put_view(self, frame: bytes) -> None:
        """Adds a view's frame. Its place among the frames is a None; an older one loses its."""
        if self._ending:
            return
        if self._view is not None:
            self._frames.remove(None)
        self._view = frame
        self._frames.append(None)
        self._filled.set()

    def finish(self) -> None:
        """Takes nothing more; `run` returns when everything is written."""
        self._ending = True
        self._filled.set()

    def abort(self) -> None:
        """Drops everything, and the connection with it."""
        self._frames.clear()
        self._view = None
        abort(self._writer)
        self.finish()

    async def run(self) -> None:
        """Writes until the end. Raises ConnectionError when the connection breaks."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._frames:
                self._writer.write(self._next())
                await self._drained()
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
        return frame
