from __future__ import annotations

import contextlib
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ByeCode, FrameError
from protocol.frames import (
    HEADER_SIZE,
    MAX_DEPTH,
    frame,
    pack,
    padded,
    payload_length,
    request_frame,
    unpack,
)
from protocol.messages import Act, Say, decode_request

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | TEXTS
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
MAPS = st.dictionaries(TEXTS, VALUES, max_size=6)


@given(MAPS)
def test_what_is_packed_is_unpacked(fields: dict[str, Any]) -> None:
    assert unpack(pack(fields)) == fields


@given(st.binary(max_size=300))
def test_junk_raises_nothing_but_frame_error(junk: bytes) -> None:
    for payload in (junk, b"\x81\xa1a" + junk, pack({"a": junk}) + junk):
        with contextlib.suppress(FrameError):
            assert isinstance(unpack(payload), dict)


@given(MAPS, st.data())
def test_a_damaged_frame_raises_nothing_but_frame_error(
    fields: dict[str, Any], data: st.DataObject
) -> None:
    payload = bytearray(pack(fields))
    place = data.draw(st.integers(0, len(payload) - 1))
    payload[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FrameError):
        assert isinstance(unpack(bytes(payload)), dict)


SECRET = b"\xa7canary1"
HOSTILE = {
    "empty": b"",
    "a list": b"\x91" + SECRET,
    "a string": SECRET,
    "a number": b"\x01",
    "trailing bytes": b"\x81\xa1a" + SECRET + b"\xc0",
    "two maps": b"\x81\xa1a" + SECRET + b"\x80",
    "cut short": b"\x82\xa1a" + SECRET,
    "a number as a key": b"\x82\x01\x01\xa1a" + SECRET,
    "bytes as a key": b"\x82\xc4\x01a\x01\xa1a" + SECRET,
    "bytes as an inner key": b"\x81\xa1a\x81\xc4\x01a" + SECRET,
    "invalid UTF-8": b"\x82\xa1a\xa2\xff\xfe\xa1b" + SECRET,
    "a surrogate": b"\x82\xa1a\xa3\xed\xa0\x80\xa1b" + SECRET,
    "a timestamp": b"\x82\xa1a\xd6\xff\0\0\0\0\xa1b" + SECRET,
    "an extension": b"\x82\xa1a\xd4\x05\0\xa1b" + SECRET,
    "an empty extension": b"\x82\xa1a\xc7\x00\x05\xa1b" + SECRET,
    "an unused code": b"\x82\xa1a\xc1\xa1b" + SECRET,
    "a string longer than the frame": b"\x81\xa1a\xdb\xff\xff\xff\xff" + SECRET,
    "a list longer than the frame": b"\x81\xa1a\xdd\xff\xff\xff\xff" + SECRET,
    "deep nesting": b"\x81\xa1a" + b"\x91" * 5000 + SECRET,
    "nesting one too deep": b"\x81\xa1a" + b"\x91" * MAX_DEPTH + SECRET,
    "headers that claim much": b"\x81\xa1a" + b"\xdc\xff\xff" * 20_000,
}


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE.keys())
def test_bytes_that_are_no_frame(payload: bytes) -> None:
    with pytest.raises(FrameError) as caught:
        unpack(payload)
    assert caught.value.code == ByeCode.BAD_FRAME
    assert "canary" not in str(caught.value) + repr(caught.value)
    assert caught.value.__cause__ is None


def test_nesting_up_to_the_limit_is_allowed() -> None:
    assert unpack(b"\x81\xa1a" + b"\x91" * (MAX_DEPTH - 1) + b"\xc0")


def test_of_a_key_that_comes_twice_the_last_counts() -> None:
    assert unpack(b"\x82\xa1a\x01\xa1a\x02") == {"a": 2}


@pytest.mark.parametrize("entries", [1, 14, 15, 16, 300])
def test_padding_reaches_every_size(entries: int) -> None:
    fields = {f"k{number}": number for number in range(entries)}
    payload = pack(fields)
    for target in range(len(payload) + 9, len(payload) + 600):
        grown = padded(payload, target, 512)
        assert len(grown) == target
        assert unpack(grown) == fields | {"pad": unpack(grown)["pad"]}
        assert list(unpack(grown))[-1] == "pad"


def test_padding_beyond_64_kib_reaches_every_size_too() -> None:
    payload = pack({"a": 1})
    for target in range(65_530, 65_560):
        grown = padded(payload, target, 1)
        assert len(grown) == target
        assert len(msgpack.unpackb(grown)) == 2


@given(st.integers(0, 9000), st.integers(16, 4096), st.integers(1, 4096))
def test_padding_takes_the_smallest_step_that_holds(size: int, first: int, then: int) -> None:
    payload = pack({"a": bytes(size)})
    grown = padded(payload, first, then)
    steps, rest = divmod(len(grown) - first, then)
    assert rest == 0
    assert steps >= 0
    assert unpack(grown)["a"] == bytes(size)
    if steps:
        assert len(payload) + 7 > first + (steps - 1) * then


def test_only_a_map_can_be_padded() -> None:
    with pytest.raises(ValueError, match="map"):
        padded(b"\x91\x01", 64, 16)


def test_lengths() -> None:
    assert payload_length(frame(b"x" * 70)[:HEADER_SIZE], 70) == 70
    for header, limit, code in (
        (b"\0\0\0\x47", 70, ByeCode.TOO_LARGE),
        (b"\xff\xff\xff\xff", 2**20, ByeCode.TOO_LARGE),
        (b"\0\0\0\0", 70, ByeCode.BAD_FRAME),
        (b"\0\0\0", 70, ByeCode.BAD_FRAME),
    ):
        with pytest.raises(FrameError) as caught:
            payload_length(header, limit)
        assert caught.value.code == code


def test_every_act_has_the_same_size_whatever_its_amount() -> None:
    actions: list[dict[str, Any]] = [{"kind": "peek"}]
    actions += [{"kind": "bid", "amount": "9" * digits} for digits in (1, 7, 250, 1000)]
    for id in (0, 2**53 - 1):
        frames = [request_frame(id, Act(step=3, action=action)) for action in actions]
        assert {len(each) for each in frames} == {HEADER_SIZE + 1536}
        for each, action in zip(frames, actions, strict=True):
            assert decode_request(unpack(each[HEADER_SIZE:])) == (id, Act(step=3, action=action))


def test_a_longer_act_goes_to_the_next_512() -> None:
    sizes = {
        len(request_frame(1, Act(step=1, action={"kind": "bid", "amount": "9" * digits})))
        for digits in range(1400, 2100)
    }
    assert sizes == {HEADER_SIZE + size for size in (1536, 2048, 2560)}


def test_other_requests_are_not_padded() -> None:
    payload = request_frame(1, Say(text="hello"))[HEADER_SIZE:]
    assert unpack(payload) == {"type": "say", "id": 1, "text": "hello"}
