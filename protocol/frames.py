"""Bytes to maps and back: the length, the limits, the padding, msgpack. No sockets here.

A frame is a 4-byte big-endian length and that many bytes, one msgpack map with string keys.
Of a key that comes twice in a map the last value counts. See docs/protocol.md, "Frames".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgpack

from protocol.errors import ByeCode, FrameError
from protocol.messages import Act, Body, encode_request

HEADER_SIZE = 4
LIMIT_BEFORE_HELLO = 4096
LIMIT_TO_HOST = 65_536
LIMIT_FROM_HOST = 1_048_576

ACT_SIZE = 1536
ACT_STEP = 512
"""What the payload of an `act` is padded to, and by how much more where that is too small."""

MAX_DEPTH = 32
MAX_ITEMS = 1024
"""How deep maps and lists may lie in each other, and how many items one may have; more, one for
each 128 bytes, in a large frame. A header of three bytes can claim 65,535 items, and memory is
set aside for them before they have come."""

_PAD_KEY = b"\xa3pad"
_BIN16 = 0xC5
_BIN32 = 0xC6
_FIXMAP = 0x80
_MAP16 = 0xDE
_MAP32 = 0xDF


def pack(fields: Mapping[str, Any]) -> bytes:
    """The msgpack map of the fields, a payload without its length.

    >>> pack({"type": "ping"})
    b'\\x81\\xa4type\\xa4ping'
    """
    packed: bytes = msgpack.packb(dict(fields), use_bin_type=True)
    return packed


def unpack(payload: bytes) -> dict[str, Any]:
    """The map that a payload holds. Raises FrameError, whose message repeats none of the bytes.

    >>> unpack(b"\\x81\\xa4type\\xa4ping")
    {'type': 'ping'}
    """
    size = len(payload)
    items = min(size, max(MAX_ITEMS, size // 128))
    try:
        fields = msgpack.unpackb(
            payload,
            raw=False,
            strict_map_key=True,
            ext_hook=_refuse_extension,
            max_str_len=size,
            max_bin_len=size,
            max_array_len=items,
            max_map_len=items,
            max_ext_len=0,
        )
    except Exception:  # the decoder's own errors are of many types, and show what they read
        raise FrameError(ByeCode.BAD_FRAME, "A frame could not be decoded.") from None
    if not isinstance(fields, dict):
        raise FrameError(ByeCode.BAD_FRAME, "A frame must hold one map.")
    _check_nesting(fields)
    return fields


def padded(payload: bytes, first: int, then: int) -> bytes:
    """The payload's map with a last entry `pad`, so that its size tells little of what it holds.

    Args:
        payload: a msgpack map without a `pad`.
        first: the size in bytes to reach, without the frame's length.
        then: what to add to `first`, as often as needed, where the map is too long for it.

    >>> len(padded(pack({"type": "ping"}), 64, 16))
    64
    """
    grown = _with_one_entry_more(payload) + _PAD_KEY
    needed = len(grown) + 3
    target = first if needed <= first else first + -(-(needed - first) // then) * then
    # The header is always one that could hold more, so that every size can be reached.
    room = target - needed
    if room <= 0xFFFF:
        return b"".join((grown, bytes((_BIN16,)), room.to_bytes(2, "big"), bytes(room)))
    room -= 2
    return b"".join((grown, bytes((_BIN32,)), room.to_bytes(4, "big"), bytes(room)))


def frame(payload: bytes) -> bytes:
    """The payload with its length before it, ready to be sent."""
    return len(payload).to_bytes(HEADER_SIZE, "big") + payload


def payload_length(header: bytes, limit: int) -> int:
    """How many bytes follow this header. Raises FrameError, TOO_LARGE above the limit in bytes."""
    if len(header) != HEADER_SIZE:
        raise FrameError(ByeCode.BAD_FRAME, "A frame begins with a length of four bytes.")
    length = int.from_bytes(header, "big")
    if length == 0:
        raise FrameError(ByeCode.BAD_FRAME, "A frame must not be empty.")
    if length > limit:
        raise FrameError(ByeCode.TOO_LARGE, f"A frame may have {limit:,} bytes here, no more.")
    return length


def request_frame(id: int, body: Body) -> bytes:
    """A request's whole frame, every `act` padded so that its size hides the amount in it."""
    payload = pack(encode_request(id, body))
    if isinstance(body, Act):
        payload = padded(payload, ACT_SIZE, ACT_STEP)
    return frame(payload)


def _with_one_entry_more(payload: bytes) -> bytes:
    """The bytes of a map whose header counts one entry more than there are."""
    kind = payload[0] if payload else 0
    if kind & 0xF0 == _FIXMAP:
        count, rest = kind & 0x0F, payload[1:]
    elif kind == _MAP16:
        count, rest = int.from_bytes(payload[1:3], "big"), payload[3:]
    elif kind == _MAP32:
        count, rest = int.from_bytes(payload[1:5], "big"), payload[5:]
    else:
        raise ValueError("Only the payload of a map can be padded.")
    count += 1
    if count <= 0x0F:
        return bytes((_FIXMAP | count,)) + rest
    if count <= 0xFFFF:
        return bytes((_MAP16,)) + count.to_bytes(2, "big") + rest
    return bytes((_MAP32,)) + count.to_bytes(4, "big") + rest


def _check_nesting(fields: dict[Any, Any]) -> None:
    """Raises FrameError where a map has a key that is no string, or something lies too deep."""
    level: list[Any] = [fields]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for container in level:
            if isinstance(container, dict):
                if not all(isinstance(key, str) for key in container):
                    raise FrameError(ByeCode.BAD_FRAME, "The keys of a map must be strings.")
                below += [value for value in container.values() if isinstance(value, dict | list)]
            else:
                below += [value for value in container if isinstance(value, dict | list)]
        if not below:
            return
        level = below
    raise FrameError(ByeCode.BAD_FRAME, "A frame is nested too deeply.")


def _refuse_extension(code: int, data: bytes) -> Any:
    raise ValueError("extension types are not part of the protocol")
