from __future__ import annotations

import asyncio
import ssl
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ByeCode, FrameError
from protocol.frames import frame, pack
from protocol.stream import read_frame

MESSAGES: list[dict[str, Any]] = [
    {"type": "ping"},
    {"type": "say", "id": 1, "text": "x" * 100},
    {"type": "ok", "id": 2, "result": {}},
]
WIRE = b"".join(frame(pack(message)) for message in MESSAGES)


@given(st.sets(st.integers(1, len(WIRE) - 1), max_size=12))
def test_frames_come_out_whole_however_the_bytes_arrive(cuts: set[int]) -> None:
    async def read() -> list[dict[str, Any] | None]:
        reader = asyncio.StreamReader()

        async def feed() -> None:
            for start, end in pairwise([0, *sorted(cuts), len(WIRE)]):
                reader.feed_data(WIRE[start:end])
                await asyncio.sleep(0)
            reader.feed_eof()

        feeding = asyncio.create_task(feed())
        got = [await read_frame(reader, 1000) for _ in range(len(MESSAGES) + 1)]
        await feeding
        return got

    assert asyncio.run(read()) == [*MESSAGES, None]


async def _read(data: bytes, limit: int = 1000) -> dict[str, Any] | None:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return await read_frame(reader, limit)


async def test_an_end_inside_a_frame_is_an_error_at_every_place() -> None:
    whole = frame(pack({"a": 1}))
    assert len(whole) == 8  # the payload is as long as the length before it
    assert await _read(b"") is None
    for end in range(1, len(whole)):
        with pytest.raises(FrameError) as caught:
            await _read(whole[:end])
        assert caught.value.code == ByeCode.BAD_FRAME


async def test_a_frame_over_the_limit_is_refused_before_it_has_come() -> None:
    with pytest.raises(FrameError) as caught:
        await _read(b"\0\0\x04\0", limit=1023)
    assert caught.value.code == ByeCode.TOO_LARGE


@pytest.mark.parametrize("error", [ssl.SSLError(1, "x"), TimeoutError(), OSError(113, "x")])
async def test_whatever_breaks_the_connection_is_a_connection_error(error: Exception) -> None:
    reader = asyncio.StreamReader()
    reader.set_exception(error)
    with pytest.raises(ConnectionError):
        await read_frame(reader, 1000)
