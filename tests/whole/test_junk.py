"""Junk of every kind at a host's port: it lives, and a game beside it plays to its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgpack
import pytest
from audience import Table
from hosting import HostProcess
from randomplay import play
from wire import Connection, RefusedError, framed, tls_context, until

BEFORE_HELLO, AFTER_HELLO = 4096, 65_536
NAMES = ("Bo", "Cy", "Dee")


@pytest.fixture(autouse=True)
def lives(host: HostProcess) -> Iterator[None]:
    yield
    assert host.alive()
    assert host.errors() == []


async def _raw(host: HostProcess, *data: bytes, tls: bool = False) -> Connection:
    link = await Connection.open(host.port, tls=tls, hello=False)
    for part in data:
        link.write(part)
        with contextlib.suppress(ConnectionError):
            await link.drain()
    return link


# --- Bytes that are no frame ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/1.1\r\nHost: qe\r\n\r\n", "too_large"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), "too_large"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "too_large"),
        (b"\xff" * 4, "too_large"),
        (struct.pack(">I", 2**31), "too_large"),
        (struct.pack(">I", BEFORE_HELLO + 1), "too_large"),
        (struct.pack(">I", AFTER_HELLO), "too_large"),
        (struct.pack(">I", 0), "bad_frame"),
        (framed(b"\xc1"), "bad_frame"),
        (framed(b"\x80\x80"), "bad_frame"),
        (framed(b"\x90"), "bad_frame"),
        (framed(b"\xc0"), "bad_frame"),
        (framed(b"\x2a"), "bad_frame"),
        (framed(b"\xa5hello"), "bad_frame"),
        (framed(b"\x81\xa4type"), "bad_frame"),
        (framed(b"\x81\x01\xa5hello"), "bad_frame"),
        (framed(b"\x81\xc4\x04type\xa5hello"), "bad_frame"),
        (framed(b"\x81\xa4type\xa5h\xff\xffxx"), "bad_frame"),
        (framed(b"\x81\xa4type\xdf\xff\xff\xff\xff"), "bad_frame"),
        (framed(b"\x81\xa4type\xdd\xff\xff\xff\xff"), "bad_frame"),
        (framed(b"\x81\xa4type\xdb\xff\xff\xff\xff"), "bad_frame"),
        (framed(b"\x81\xa4type\xc7\x01\x05x"), "bad_frame"),
        (framed(b"\x81\xa4type\xd6\xff\x00\x00\x00\x00"), "bad_frame"),
        (framed(b"\x81\xa4type" + b"\x91" * 4000 + b"\xc0"), "bad_frame"),
        (framed(b"\x81\xa4type" + b"\x81\xa1a" * 1300 + b"\xc0"), "bad_frame"),
    ],
)
async def test_no_frame(host: HostProcess, data: bytes, code: str) -> None:
    link = await _raw(host, data)
    await link.goodbye(code)
    assert len(link.frames) == 1
    await link.close()


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\x00\x00\x00", framed(b"\x80")[:-1], struct.pack(">I", 4096) + b"x"]
)
async def test_half_a_frame_then_the_end(host: HostProcess, data: bytes) -> None:
    """The host closes too, whether it says why or not."""
    reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
    writer.write(data)
    writer.write_eof()
    async with asyncio.timeout(5):
        rest = await reader.read()
    assert not rest or msgpack.unpackb(rest[4:])["code"] == "bad_frame"
    writer.close()


@pytest.mark.parametrize("length", [BEFORE_HELLO, AFTER_HELLO])
async def test_limits_before_and_after_hello(host: HostProcess, length: int) -> None:
    """A frame of just the limit is read; one byte more is not."""

    def padded(size: int) -> bytes:
        fields = {"type": "hello", "id": 1, "versions": [1], "client": "x"}
        bare = len(msgpack.packb({**fields, "pad": bytes(300)})) - 300
        return framed(msgpack.packb({**fields, "pad": bytes(size - bare)}))

    for size in (length, length + 1):
        link = await Connection.open(host.port, tls=False, hello=length == AFTER_HELLO)
        link.write(padded(size))
        if size > length:
            await link.goodbye("too_large")
        else:
            await until(lambda: len(link.frames) > (length == AFTER_HELLO))  # noqa: B023
            assert not link.ended
        await link.close()


async def test_random_bytes(host: HostProcess) -> None:
    rng = Random(1)
    links = []
    for _ in range(40):
        size = rng.choice((1, 4, 5, 60, 3000))
        links.append(await _raw(host, rng.randbytes(size)))
    for _ in range(40):
        links.append(await _raw(host, framed(rng.randbytes(rng.randrange(1, 200)))))
    hello = framed(msgpack.packb({"type": "hello", "id": 1, "versions": [1], "client": "x"}))
    for _ in range(60):
        broken = bytearray(hello)
        for _ in range(rng.randrange(1, 4)):
            broken[rng.randrange(4, len(broken))] = rng.randrange(256)
        links.append(await _raw(host, bytes(broken)))
    await asyncio.sleep(0.1)
    for link in links:
        await link.close()
    link = await Connection.open(host.port, tls=False)
    assert link.welcome["version"] == 1
    await link.close()


async def test_frames_in_pieces_and_many_at_once(host: HostProcess) -> None:
    """A frame may come byte by byte; many may come together, and are answered in order."""
    link = await Connection.open(host.port, tls=False, hello=False)
    hello = framed(msgpack.packb({"type": "hello", "id": 9, "versions": [1], "client": "x"}))
    for byte in hello:
        link.write(bytes((byte,)))
        await link.drain()
        await asyncio.sleep(0.001)
    await until(lambda: len(link.frames) == 1)
    answers = [link.send("ping") for _ in range(300)]
    assert all(set(answer) == {"now"} for answer in await asyncio.gather(*answers))
    ids = [msgpack.unpackb(frame)["id"] for frame in link.frames]
    assert ids[1:] == sorted(ids[1:])
    await link.close()


async def test_tls_at_a_plain_port_and_the_reverse(
    host: HostProcess, run_host: Callable[..., HostProcess]
) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await Connection.open(host.port, tls=True, patience=5)
    secure = run_host(tls=True)
    for data in (
        framed(msgpack.packb({"type": "hello", "id": 1, "versions": [1], "client": "x"})),
        b"GET / HTTP/1.1\r\n\r\n",
        os.urandom(3000),
        b"\x16\x03\x01\x40\x00" + os.urandom(200),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", secure.port)
        writer.write(data)
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(15):
                answer = await reader.read()
            assert b"hello" not in answer
            assert b"bye" not in answer
        writer.close()
    link = await Connection.open(secure.port, tls=True, fingerprint=secure.fingerprint)
    link.write(b"\xff" * 64)
    await link.goodbye("too_large")
    await link.close()
    assert secure.alive()
    assert secure.errors() == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_old_tls_is_not_spoken(run_host: Callable[..., HostProcess]) -> None:
    secure = run_host(tls=True)
    context = tls_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    plain = socket.create_connection(("127.0.0.1", secure.port))
    with plain, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(plain)


# --- Maps that are no message -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "id"),
    [
        ({}, None),
        ({"type": "ping"}, None),
        ({"type": "ping", "id": None}, None),
        ({"type": "ping", "id": "1"}, None),
        ({"type": "ping", "id": True}, None),
        ({"type": "ping", "id": 1.0}, None),
        ({"type": "ping", "id": -1}, None),
        ({"type": "ping", "id": 2**53}, None),
        ({"type": "ping", "id": 2**64 - 1}, None),
        ({"type": "ping", "id": 2**53 - 1, "more": 1}, 2**53 - 1),
        ({"type": "ping", "id": 0, "pad": "text"}, 0),
        ({"type": "ping", "id": 0, "now": 1}, 0),
        ({"id": 77}, 77),
        ({"id": 77, "type": None}, 77),
        ({"id": 77, "type": ["ping"]}, 77),
        ({"id": 77, "type": {"type": "ping"}}, 77),
        ({"id": 77, "type": b"ping"}, 77),
        ({"id": 77, "type": "PING"}, 77),
        ({"id": 77, "type": "view"}, 77),
        ({"id": 77, "type": "ok", "result": {}}, 77),
        ({"id": 77, "type": "[/b]"}, 77),
        ({"id": 77, "type": "\x1b]0;x\x07"}, 77),
        ({"id": 77, "type": "say"}, 77),
        ({"id": 77, "type": "say", "text": 5}, 77),
        ({"id": 77, "type": "say", "text": None}, 77),
        ({"id": 77, "type": "say", "text": b"hello"}, 77),
        ({"id": 77, "type": "say", "text": ["hello"]}, 77),
        ({"id": 77, "type": "react", "kind": "boo"}, 77),
        ({"id": 77, "type": "move", "seat": "0", "to": 1}, 77),
        ({"id": 77, "type": "move", "seat": 0, "to": 1.0}, 77),
        ({"id": 77, "type": "move", "seat": -1, "to": 1}, 77),
        ({"id": 77, "type": "move", "seat": True, "to": 1}, 77),
        ({"id": 77, "type": "remove", "seat": 2**63}, 77),
        ({"id": 77, "type": "pause", "on": 1}, 77),
        ({"id": 77, "type": "act", "step": 1}, 77),
        ({"id": 77, "type": "act", "step": "1", "action": {"kind": "peek"}}, 77),
        ({"id": 77, "type": "act", "step": -1, "action": {"kind": "peek"}}, 77),
        ({"id": 77, "type": "act", "step": 1, "action": "peek"}, 77),
        ({"id": 77, "type": "act", "step": 1, "action": [["kind", "peek"]]}, 77),
        ({"id": 77, "type": "join", "table": "WOLF"}, 77),
        ({"id": 77, "type": "join", "table": 5, "name": "Ana"}, 77),
        ({"id": 77, "type": "create", "game": "qe", "seats": 3, "title": "T"}, 77),
        ({"id": 77, "type": "create", "game": "qe", "seats": "3", "title": "T", "name": "A"}, 77),
        ({"id": 77, "type": "create", "game": "qe", "seats": 2, "title": "T", "name": "A"}, 77),
        ({"id": 77, "type": "create", "game": "qe", "seats": 6, "title": "T", "name": "A"}, 77),
        ({"id": 77, "type": "create", "game": "go", "seats": 3, "title": "T", "name": "A"}, 77),
        ({"id": 77, "type": "resume", "table": "WOLF", "token": 5}, 77),
        ({"id": 77, "type": "hello", "versions": [], "client": "x"}, 77),
        ({"id": 77, "type": "hello", "versions": 1, "client": "x"}, 77),
        ({"id": 77, "type": "hello", "versions": ["1"], "client": "x"}, 77),
    ],
)
async def test_no_message(link: Connection, fields: dict[str, Any], id: int | None) -> None:
    """An error that names the request where it can, and the connection stays."""
    link.write(framed(msgpack.packb(fields)))
    error = await link.stray()
    assert error["code"] == "bad_message", error
    assert error["id"] == id
    await link.silent()


@pytest.mark.parametrize(
    "more",
    [
        {"options": {"turn_seconds": -1}},
        {"options": {"turn_seconds": "5"}},
        {"options": {"turn_seconds": 1.5}},
        {"options": {"turn_seconds": True}},
        {"options": {"turn_seconds": 10**9}},
        {"options": {"start_when_full": 1}},
        {"options": {"speed": 1}},
        {"options": []},
        {"rules": {"notes": "yes"}},
        {"rules": {"first": "me"}},
        {"rules": {"zero": False}},
        {"rules": 7},
        {"password": 5},
        {"seats": 3.0},
    ],
)
async def test_no_table_of_that_kind(link: Connection, more: dict[str, Any]) -> None:
    given = {"game": "qe", "seats": 3, "title": "T", "name": "A", **more}
    await link.refused("bad_message", "create", **given)
    assert (await link.ask("tables"))["tables"] == []


async def test_deep_nesting_stays_an_error(link: Connection) -> None:
    """As deep as a frame of 64 KiB can be: no crash, and no more than this connection lost."""
    deep: Any = {"kind": "peek"}
    for _ in range(20):
        deep = {"kind": deep}
    await link.refused("not_seated", "act", step=1, action=deep)
    head = msgpack.packb({"type": "act", "id": 5, "step": 1, "action": 0})[:-1]
    link.write(framed(head + b"\x81\xa1a" * 20_000 + b"\xc0"))
    await link.goodbye("bad_frame")


async def test_pad_is_ignored_everywhere(link: Connection) -> None:
    assert "now" in await link.ask("ping", pad=bytes(10))
    assert "tables" in await link.ask("tables", pad=b"")
    assert "now" in await link.ask("ping", pad=bytes(60_000))


async def test_same_key_twice(link: Connection) -> None:
    """Whatever is made of it, it is an answer or an error, and the host lives."""
    link.write(framed(b"\x83\xa4type\xa4ping\xa2id\x07\xa2id\x08"))
    await asyncio.sleep(0.05)
    assert link.ended or len(link.frames) == 2 or link.strays.qsize() == 1


# --- Hostile text -------------------------------------------------------------------------------

HOSTILE = {
    "escape": "a\x1b]0;x\x07b",
    "escape alone": "a\x1bb",
    "c1": "a\x9b31mb",
    "bell": "a\x07",
    "nul": "a\x00b",
    "delete": "a\x7fb",
    "newline": "a\nb",
    "tab": "a\tb",
    "return": "a\rb",
    "line separator": "a\u2028b",
    "paragraph separator": "a\u2029b",
    "right to left override": "a\u202eb",
    "isolate": "a\u2066b\u2069",
    "mark": "a\u200fb",
    "zero width space": "a\u200bb",
    "zero width joiner": "a\u200db",
    "word joiner": "a\u2060b",
    "soft hyphen": "a\u00adb",
    "byte order mark": "\ufeffab",
    "hangul filler": "a\u3164b",
    "combining grapheme joiner": "a\u034fb",
    "variation selector": "a\ufe0fb",
    "tag": "a\U000e0041b",
    "marks": "a" + "\u0301" * 3,
    "not NFC": "e\u0301",
    "space before": " ab",
    "space after": "ab ",
    "nothing": "",
    "a space": " ",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_hostile_text_is_refused(host: HostProcess, link: Connection, text: str) -> None:
    """As a name, a title, and in chat, for a seat and for a spectator; as a password too."""
    given = {"game": "qe", "seats": 3}
    await link.refused("bad_text", "create", **given, title="T", name=text)
    if text:
        await link.refused("bad_text", "create", **given, title=text, name="Ana")
        await link.refused("bad_text", "create", **given, title="T", name="Ana", password=text)
    assert {table["title"] for table in (await link.ask("tables"))["tables"]} <= {"A table"}
    table = await Table.create(host, 3)
    try:
        await link.refused("bad_text", "join", table=table.code, name=text)
        if text:
            await link.refused("bad_text", "watch", table=table.code, name=text)
            await table.members[0].link.refused("bad_text", "set", title=text)
        await table.members[0].link.refused("bad_text", "say", text=text)
        await table.silent()
    finally:
        await table.members[0].link.ask("leave")
        await table.close()


async def test_lone_surrogates_are_no_text(link: Connection) -> None:
    lone = b"\xed\xa0\x80"
    fields = msgpack.packb({"type": "say", "id": 5, "text": "xyz"}).replace(b"xyz", lone)
    link.write(framed(fields))
    await link.goodbye("bad_frame")


@pytest.mark.parametrize(
    "text", ["[/b]", "[bold]x", "[@click=app.quit]x", "{x}", "%s", "\\", "'\"", "<b>", "$x", "|"]
)
async def test_markup_is_text_like_any_other(host: HostProcess, text: str) -> None:
    """The host passes on what is harmless on the wire, as it is."""
    table = await Table.create(host, 3)
    try:
        await table.join(text)
        await table.members[1].link.ask("say", text=text)
        for member in table.members:
            word = await member.link.word()
            assert (word["name"], word["text"], word["seat"]) == (text, text, 1)
    finally:
        for member in table.members:
            await member.link.ask("leave")
        await table.close()


async def test_lengths_of_text(host: HostProcess, link: Connection) -> None:
    """20 cells a name, 40 a title, 280 characters of chat, 128 a password, 64 a client."""
    await link.refused("bad_text", "create", game="qe", seats=3, title="T", name="n" * 21)
    await link.refused("bad_text", "create", game="qe", seats=3, title="T", name="王" * 11)
    await link.refused("bad_text", "create", game="qe", seats=3, title="t" * 41, name="Ana")
    await link.refused(
        "bad_text", "create", game="qe", seats=3, title="T", name="Ana", password="p" * 129
    )
    made = await link.ask(
        "create", game="qe", seats=3, title="t" * 40, name="王" * 10, password="p" * 128
    )
    await link.ask("say", text="c" * 280)
    await link.refused("bad_text", "say", text="c" * 281)
    other = await Connection.open(host.port, tls=False)
    await other.ask("join", table=made["table"], name="n" * 20, password="p" * 128)
    await other.ask("leave")
    await link.ask("leave")
    await other.close()
    raw = await Connection.open(host.port, tls=False, hello=False)
    with pytest.raises(RefusedError, match="bad_text"):
        await raw.ask("hello", versions=[1], client="c" * 65)
    with pytest.raises(RefusedError, match="bad_text"):
        await raw.ask("hello", versions=[1], client="c\x1b[2J")
    assert (await raw.ask("hello", versions=[1], client="c" * 64))["version"] == 1
    await raw.close()


@pytest.mark.parametrize("like", ["Ana", "ana", "ANA", "\u0410na", "\u0410n\u0430"], ids=ascii)
async def test_confusable_names(host: HostProcess, like: str) -> None:
    """A name that looks like another's is taken; letters of another script do not help."""
    table = await Table.create(host, 3)
    link = await table.connect()
    await link.refused("name_taken", "join", table=table.code, name=like)
    await link.refused("name_taken", "watch", table=table.code, name=like)
    await link.close()
    await table.members[0].link.ask("leave")
    await table.close()


# --- Beside a game ------------------------------------------------------------------------------


async def test_a_game_beside_the_junk_plays_to_its_end(host: HostProcess) -> None:
    table = await Table.create(host, 4)
    rng = Random(7)
    junk = asyncio.create_task(_junk(host, rng))
    try:
        for name in NAMES:
            await table.join(name)
        await table.watch()
        await table.start()
        await play(table, Random(5), returning=2)
        assert not junk.done(), junk.exception()
    finally:
        junk.cancel()
        await asyncio.gather(junk, return_exceptions=True)
        await table.close()


async def _junk(host: HostProcess, rng: Random) -> None:
    """Connects, spoils something, and goes, again and again."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
        hello = framed(msgpack.packb({"type": "hello", "id": 1, "versions": [1], "client": "x"}))
        with contextlib.suppress(ConnectionError):
            if rng.random() < 0.5:
                writer.write(hello)
            writer.write(
                rng.choice(
                    (
                        rng.randbytes(rng.randrange(1, 5000)),
                        framed(rng.randbytes(50)),
                        framed(msgpack.packb({"type": "act", "id": 1, "step": 1, "action": {}})),
                        b"\x00\x00\x00\xff" + b"x" * 100,
                        hello * 50,
                    )
                )
            )
            await writer.drain()
            if rng.random() < 0.5:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await reader.read(100)
        if rng.random() < 0.5:
            writer.transport.abort()
        else:
            writer.close()
        await asyncio.sleep(0.01)
