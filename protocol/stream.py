"""Frames from a stream, and the end of one."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from protocol.errors import ByeCode, FrameError
from protocol.frames import HEADER_SIZE, payload_length, unpack


async def read_frame(reader: asyncio.StreamReader, limit: int) -> dict[str, Any] | None:
    """The next frame's map, or None where the stream ends cleanly between two frames.

    Args:
        reader: where the bytes come from.
        limit: the most bytes that a payload may have.

    Raises:
        FrameError: for bytes that are no frame, and for an end in the middle of one.
        ConnectionError: when the connection breaks, for whatever reason.
    """
    ended = FrameError(ByeCode.BAD_FRAME, "The stream ended in the middle of a frame.")
    try:
        try:
            header = await reader.readexactly(HEADER_SIZE)
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise ended from None
            return None
        length = payload_length(header, limit)
        try:
            return unpack(await reader.readexactly(length))
        except asyncio.IncompleteReadError:
            raise ended from None
    except ConnectionError:
        raise
    except OSError as error:  # a TLS error, a host that is unreachable by now
        raise ConnectionResetError("The connection broke.") from error


def abort(writer: asyncio.StreamWriter) -> None:
    """Drops the connection at once, with all that is unsent; one that has gone already, too.

    Closing would wait for a peer that reads nothing.
    """
    # A transport of asyncio's that is closed has lost what its `abort` needs.
    with contextlib.suppress(AttributeError):
        writer.transport.abort()
