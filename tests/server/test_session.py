"""One connection: hello, requests, silence, and bytes that are none of these."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgpack
import pytest

from protocol import frames
from protocol import messages as m
from protocol.errors import Refused
from server import session

HELLO = {"type": "hello", "id": 1, "versions": [1], "client": "a test"}


def framed(fields: Any) -> bytes:
    return frames.frame(msgpack.packb(fields))


async def answer(peer: Any, fields: Any) -> Any:
    """The host's answer to a map, whatever it is."""
    loop = asyncio.get_running_loop()
    id = fields.get("id")
    if isinstance(id, int) and not isinstance(id, bool) and 0 <= id <= m.MAX_ID:
        peer._asked[id] = loop.create_future()
        peer.writer.write(framed(fields))
        async with asyncio.timeout(5):
            return await peer._asked[id]
    before = len(peer.errors)
    peer.writer.write(framed(fields))
    async with asyncio.timeout(5):
        while len(peer.errors) == before:
            peer._stirred.clear()
            await peer._stirred.wait()
    return peer.errors[-1]


async def code(peer: Any, fields: Any) -> tuple[str, str]:
    try:
        error = await answer(peer, fields)
    except Refused as refused:
        return str(refused.code), refused.reason
    assert isinstance(error, m.Error), error
    return error.code, error.reason


# --- Hello --------------------------------------------------------------------------------------


async def test_hello_tells_who_the_host_is(open_host, clock):
    running = await open_host(name="Zoë's machine")
    peer = await running.connect()
    welcome = m.decode_result(
        await peer.ask(m.Hello(versions=[7, 1, 9], client="a client of 2031")), m.Welcome
    )
    assert welcome.version == 1
    assert abs(welcome.now - clock.now()) < 1000
    assert welcome.host.name == "Zoë's machine"
    assert len(welcome.host.id) == 32
    assert welcome.games["qe"].seats == [3, 5]
    assert welcome.games["qe"].levels
    now = (await peer.ask(m.PingRequest()))["now"]
    assert abs(now - clock.now()) < 1000


async def test_nothing_goes_before_hello_and_a_slip_may_be_mended(running):
    peer = await running.connect()
    assert await peer.refused(m.Tables()) == ("not_hello", "hello")
    assert await peer.refused(m.Hello(versions=[2], client="x")) == (
        "unsupported_version", "version",
    )  # fmt: skip
    assert (await peer.refused(m.Hello(versions=[1], client="a\nb")))[0] == "bad_text"
    assert (await peer.refused(m.Hello(versions=[1], client="x" * 65)))[0] == "bad_text"
    assert await code(peer, {"type": "hello", "id": 90, "versions": []}) == (
        "bad_message", "fields",
    )  # fmt: skip
    await peer.ask(m.Hello(versions=[1], client="x"))
    assert await peer.ask(m.Tables()) == {"tables": []}


async def test_hello_must_come_in_time(running, monkeypatch):
    monkeypatch.setattr(session, "HELLO_WITHIN", 0.2)
    silent, talking = await running.connect(), await running.connect()
    while not talking.ended.is_set():  # requests that are no hello gain no time
        talking.send(m.PingRequest())
        await asyncio.sleep(0.02)
    for peer in (silent, talking):
        goodbye = await peer.end()
        assert goodbye is not None
        assert goodbye.code == "hello_timeout"
    await running.eventually(lambda: not running.host._sessions)


# --- Frames that are none -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"\x00\x00\x00\x00", "bad_frame"),
        (frames.frame(b"\xc1"), "bad_frame"),
        (frames.frame(b"\x93\x01\x02\x03"), "bad_frame"),
        (frames.frame(b"\x81\x01\x02"), "bad_frame"),
        (frames.frame(msgpack.packb({"type": "ping", "id": 2}) + b"\x00"), "bad_frame"),
        (b"GET / HTTP/1.1\r\n\r\n", "too_large"),
        ((65_537).to_bytes(4, "big"), "too_large"),
    ],
)
async def test_bytes_that_are_no_frame_end_the_connection(running, sent, expected):
    peer = await running.peer()
    peer.writer.write(sent)
    goodbye = await peer.end()
    assert goodbye is not None
    assert goodbye.code == expected
    await running.eventually(lambda: not running.host._sessions)


@pytest.mark.parametrize("cut", [1, 3, 4, 19])
async def test_half_a_frame_and_then_the_end(running, caplog, cut):
    ana, bo = await running.table("Ana", "Bo")
    bo.writer.write(framed({"type": "leave", "id": 99})[:cut])
    bo.writer.write_eof()
    goodbye = await bo.end()
    assert goodbye is None or goodbye.code == "bad_frame"
    view = await ana.until(lambda view: not view.room.seats[1].connected)
    assert view.room.seats[1].name == "Bo"
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]


async def test_a_frame_in_many_pieces_is_one(running):
    peer = await running.connect()
    whole = framed({**HELLO, "pad": bytes(500)})
    peer._asked[1] = answered = asyncio.get_running_loop().create_future()
    for byte in whole:
        peer.writer.write(bytes([byte]))
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        assert (await answered)["version"] == 1


async def test_many_frames_in_one_piece_are_answered_each_in_order(running):
    peer = await running.peer()
    answers = [peer.send(m.PingRequest() if n % 2 else m.Tables()) for n in range(200)]
    done: list[int] = []
    for n, one in enumerate(answers):
        one.add_done_callback(lambda _, n=n: done.append(n))
    async with asyncio.timeout(5):
        await asyncio.gather(*answers)
    await asyncio.sleep(0)
    assert done == list(range(200))


async def test_the_limit_is_small_before_hello_and_larger_after(running):
    for size, fits in ((frames.LIMIT_BEFORE_HELLO, True), (frames.LIMIT_BEFORE_HELLO + 1, False)):
        peer = await running.connect()
        hello = frames.frame(frames.padded(msgpack.packb(HELLO), size, 1))
        assert len(hello) == size + 4
        peer._asked[1] = greeted = asyncio.get_running_loop().create_future()
        peer.writer.write(hello)
        if fits:
            async with asyncio.timeout(5):
                await greeted
            large = {"type": "ping", "id": 2}
            payload = frames.padded(msgpack.packb(large), frames.LIMIT_TO_HOST, 1)
            peer._asked[2] = waiting = asyncio.get_running_loop().create_future()
            peer.writer.write(frames.frame(payload))
            async with asyncio.timeout(5):
                assert "now" in await waiting
        else:
            goodbye = await peer.end()
            assert goodbye is not None
            assert goodbye.code == "too_large"


# --- Messages that are none -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "id"),
        ({"type": "ping"}, "id"),
        ({"type": "ping", "id": None}, "id"),
        ({"type": "ping", "id": "7"}, "id"),
        ({"type": "ping", "id": -1}, "id"),
        ({"type": "ping", "id": True}, "id"),
        ({"type": "ping", "id": 1.0}, "id"),
        ({"type": "ping", "id": 2**53}, "id"),
        ({"id": 50}, "type"),
        ({"id": 50, "type": None}, "type"),
        ({"id": 50, "type": ["ping"]}, "type"),
        ({"id": 50, "type": "dance"}, "type"),
        ({"id": 50, "type": "ok", "result": {}}, "type"),
        ({"id": 50, "type": "ping", "more": 1}, "fields"),
        ({"id": 50, "type": "ping", "pad": "text"}, "pad"),
        ({"id": 50, "type": "join", "table": "WOLF"}, "fields"),
        ({"id": 50, "type": "join", "table": 7, "name": "Ana"}, "fields"),
        ({"id": 50, "type": "move", "seat": -1, "to": 0}, "fields"),
        ({"id": 50, "type": "move", "seat": 2**63, "to": 0}, "fields"),
        ({"id": 50, "type": "pause", "on": 1}, "fields"),
        ({"id": 50, "type": "react", "kind": "boo"}, "fields"),
        ({"id": 50, "type": "act", "step": 1, "action": [1]}, "fields"),
        ({"id": 50, "type": "create", "game": "qe", "seats": "3", "title": "", "name": "A"},
         "fields"),
    ],
)  # fmt: skip
async def test_a_map_that_is_no_message_is_an_error_and_no_end(running, fields, reason):
    peer = await running.peer()
    assert await code(peer, fields) == ("bad_message", reason)
    assert len(peer.errors) == (reason == "id")
    await peer.ask(m.PingRequest())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"game": "go"}, ("bad_message", "game")),
        ({"seats": 2}, ("bad_message", "seats")),
        ({"seats": 6}, ("bad_message", "seats")),
        ({"seats": 2**62}, ("bad_message", "seats")),
        ({"name": ""}, ("bad_text", "empty")),
        ({"name": "x" * 21}, ("bad_text", "length")),
        ({"name": "[/b] \x1b"}, ("bad_text", "character")),
        ({"title": " x"}, ("bad_text", "untrimmed")),
        ({"title": "x" * 41}, ("bad_text", "length")),
        ({"password": "x" * 129}, ("bad_text", "length")),
        ({"options": {"turn_seconds": "9"}}, ("bad_message", "options")),
        ({"options": {1: 2}}, None),
        ({"rules": {"notes": 1}}, ("bad_message", "rules")),
        ({"rules": {"seed": "mine"}}, ("bad_message", "rules")),
    ],
)
async def test_what_cannot_be_created_is_not(running, fields, expected):
    peer = await running.peer()
    create = {"type": "create", "id": 60, "game": "qe", "seats": 3, "title": "", "name": "Ana"}
    if expected is None:
        peer.writer.write(framed(create | fields))
        goodbye = await peer.end()
        assert goodbye is not None
        assert goodbye.code == "bad_frame"
    else:
        assert await code(peer, create | fields) == expected
    assert await running.listed() == []


async def test_an_id_may_come_again_and_be_large(running):
    peer = await running.peer()
    for id in (0, 2**53 - 1, 0):
        assert "now" in await answer(peer, {"type": "ping", "id": id, "pad": b"x"})


async def test_markup_in_texts_travels_as_it_is(running):
    (ana,) = await running.table("[bold]Ana[/]", title="[/] $x {y} %s")
    assert ana.view.room.seats[0].name == "[bold]Ana[/]"
    assert (await running.listed())[0]["title"] == "[/] $x {y} %s"


async def test_a_fault_of_the_host_is_said_and_ends_nothing(running, monkeypatch, caplog):
    peer = await running.peer()

    def broken() -> None:
        raise RuntimeError("the amount was 31415926535")

    monkeypatch.setattr(running.host, "list_tables", broken)
    assert await peer.refused(m.Tables()) == ("internal", "internal")
    await peer.ask(m.PingRequest())
    assert "RuntimeError" in caplog.text
    assert "31415926535" not in caplog.text


# --- Silence ------------------------------------------------------------------------------------


async def test_a_silent_client_is_asked_and_then_told_goodbye(running, monkeypatch):
    ana, bo = await running.table("Ana", "Bo")
    monkeypatch.setattr(session, "PING_AFTER", 0.15)
    monkeypatch.setattr(session, "IDLE_AFTER", 0.45)
    bo.answers_pings = False
    await ana.ask(m.PingRequest())  # the times hold from a client's next message on
    await bo.ask(m.PingRequest())
    start = asyncio.get_running_loop().time()
    goodbye = await bo.end()
    assert asyncio.get_running_loop().time() - start >= 0.4
    assert goodbye is not None
    assert goodbye.code == "idle"
    assert bo.pings == 1
    view = await ana.until(lambda view: not view.room.seats[1].connected)
    assert view.room.seats[1].name == "Bo"
    assert ana.pings >= 1
    assert ana.goodbye is None


async def test_a_frame_that_never_ends_counts_as_silence(running, monkeypatch):
    monkeypatch.setattr(session, "PING_AFTER", 0.1)
    monkeypatch.setattr(session, "IDLE_AFTER", 0.3)
    peer = await running.peer()
    peer.answers_pings = False
    await peer.ask(m.PingRequest())
    peer.writer.write(b"\x00\x00\x10\x00")
    for _ in range(100):
        peer.writer.write(b"x")
        await asyncio.sleep(0.02)
        if peer.ended.is_set():
            break
    goodbye = await peer.end()
    assert goodbye is None or goodbye.code == "idle"


async def test_silence_is_measured_in_the_documented_times():
    times = (session.HELLO_WITHIN, session.PING_AFTER, session.IDLE_AFTER)
    assert times == (10.0, 20.0, 60.0)


# --- Ends -------------------------------------------------------------------------------------


async def test_everyday_ends_are_no_errors(running, caplog):
    ana, *_ = await running.game("Ana", "Bo", "Cy")
    with caplog.at_level(logging.DEBUG):
        for ending in range(3):
            people = [await running.peer() for _ in range(10)]
            for person in people:
                person.send(m.Watch(table=ana.code))
                if ending == 0:
                    person.drop()
                elif ending == 1:
                    person.writer.write_eof()
                else:
                    person.writer.close()
        await running.eventually(lambda: len(running.host._sessions) == 3)
    await ana.until(lambda view: view.room.spectators == 0)
    await asyncio.sleep(0.05)
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]
    tasks = [t.get_name() for t in asyncio.all_tasks() if t.get_name().startswith("session")]
    assert len(tasks) == 6


async def test_too_many_connections(open_host):
    running = await open_host(max_connections=2)
    first, _ = await running.peer(), await running.peer()
    third = await running.connect()
    goodbye = await third.end()
    assert goodbye is not None
    assert goodbye.code == "host_full"
    first.drop()
    await running.eventually(lambda: len(running.host._sessions) == 1)
    await running.peer()


async def test_a_host_that_stops_says_so_and_keeps_the_game(open_host):
    running = await open_host()
    people = await running.game("Ana", "Bo", "Cy")
    await people[0].bid(7)
    await running.host.stop()
    for person in people:
        goodbye = await person.end()
        assert goodbye is not None
        assert goodbye.code == "shutting_down"
    with pytest.raises(OSError):
        await running.connect()
    again = await open_host()
    back = await again.peer()
    await back.ask(m.Resume(table=people[1].code, token=people[1].token))
    assert (await back.until(lambda view: True)).game["opening"] == "7"
