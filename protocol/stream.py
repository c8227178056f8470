"""Frames from a stream, and the end of one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
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
    try:
        try:
            header = await reader.readexactly(HEADER_SIZE)
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise _ended() from None
            return None
        length = payload_length(header, limit)
        try:
            return unpack(await reader.readexactly(length))
        except asyncio.IncompleteReadError:
            raise _ended() from None
    except ConnectionError:
        raise
    except OSError as error:  # a TLS error, a host that is unreachable by now
        raise ConnectionResetError("The connection broke.") from error


def _ended() -> FrameError:
    return FrameError(ByeCode.BAD_FRAME, "The stream ended in the middle of a frame.")


def abort(writer: asyncio.StreamWriter) -> None:
    """Drops the connection at once, with all that is unsent; one that has gone already, too.

    Closing would wait for a peer that reads nothing, and what the system still holds could come
    through a minute later, when a newer connection has taken this one's place.
    """
    with contextlib.suppress(AttributeError, OSError):
        linger = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    # A transport of asyncio's that is closed has lost what its `abort` needs.
    with contextlib.suppress(AttributeError):
        writer.transport.abort()
