from __future__ import annotations

import asyncio
import socket
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol.client import Client, Timings, connect
from protocol.errors import (
    CannotConnect,
    Code,
    ConnectionLost,
    FingerprintChanged,
    Goodbye,
    Refused,
)
from protocol.inbox import MAX_UNREAD
from protocol.messages import Act, Hello, Join, PingRequest, Rematch, Said, Say, Tables, View
from protocol.trust import Pins

HOST = "127.0.0.1"
ViewOf = Callable[..., dict[str, Any]]


async def _open(peer: Any, **more: Any) -> Client:
    return await connect(HOST, peer.port, tls=False, **more)


def _said(text: str) -> dict[str, Any]:
    return {"type": "said", "table": "WOLF", "seat": 1, "name": "Bo", "text": text, "at": 1}


# --- Opening -----------------------------------------------------------------------------------


async def test_hello(make_peer: Any) -> None:
    peer = await make_peer()
    client = await _open(peer)
    assert client.welcome.host.name == "Den"
    assert client.fingerprint is None
    (hello,) = peer.lines[0].asked
    assert isinstance(hello, Hello)
    assert hello.versions == [1]
    await client.close()
    await client.close()
    assert client.ended
    await peer.lines[0].ended.wait()


async def test_the_clock_is_the_hosts_less_ours(
    make_peer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = await make_peer()
    times = iter([1_600_000_000.0, 1_600_000_000.5])
    monkeypatch.setattr("protocol.client.time.time", lambda: next(times))
    client = await _open(peer)
    assert client.clock == 100_000_000_000 - 250
    await client.close()


async def test_tls_shows_the_certificate_and_pins_nothing(
    make_peer: Any, certificates: Any, tmp_path: Path
) -> None:
    context, fingerprint = certificates[0]
    peer = await make_peer(context)
    path = tmp_path / "pins.json"
    client = await connect(HOST, peer.port, pins=Pins(path), fingerprint=fingerprint.upper())
    assert client.fingerprint == fingerprint
    assert await client.ask(PingRequest())
    assert not path.exists()
    await client.close()


@pytest.mark.parametrize("known_by", ["invitation", "address", "id beforehand"])
async def test_nothing_is_sent_to_a_host_with_another_certificate(
    make_peer: Any, certificates: Any, tmp_path: Path, known_by: str
) -> None:
    peer = await make_peer(certificates[0][0])
    pins = Pins(tmp_path / "pins.json")
    expected = certificates[1][1]
    more: dict[str, Any] = {}
    if known_by == "invitation":
        more["fingerprint"] = expected
    elif known_by == "address":
        pins.pin("attic", HOST, peer.port, expected)
    else:
        pins.pin("den", "10.0.0.1", 7373, expected)
        more["host_id"] = "den"
    with pytest.raises(FingerprintChanged) as caught:
        await connect(HOST, peer.port, pins=pins, **more)
    assert caught.value.pinned == expected
    assert caught.value.shown == certificates[0][1]
    for line in peer.lines:
        await line.ended.wait()
    assert peer.received == 0


async def test_a_known_id_with_another_certificate_is_refused_after_hello(
    make_peer: Any, certificates: Any, tmp_path: Path
) -> None:
    peer = await make_peer(certificates[0][0])
    pins = Pins(tmp_path / "pins.json")
    pins.pin("den", "10.0.0.1", 7373, certificates[1][1])
    with pytest.raises(FingerprintChanged):
        await connect(HOST, peer.port, pins=pins)
    assert [type(each) for each in peer.lines[0].asked] == [Hello]


async def test_tls_is_never_given_up(make_peer: Any) -> None:
    peer = await make_peer()
    with pytest.raises(CannotConnect, match="--no-tls"):
        await connect(HOST, peer.port)
    assert peer.received == 0


async def test_plain_tcp_to_a_host_with_tls(make_peer: Any, certificates: Any) -> None:
    peer = await make_peer(certificates[0][0])
    with pytest.raises(CannotConnect, match="speaks TLS"):
        await _open(peer)


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        with pytest.raises(CannotConnect, match="Nobody listens"):
            await connect(HOST, taken.getsockname()[1])


@pytest.mark.parametrize(
    ("address", "port"),
    [("fe80::1%nowhere", 1), ("a" * 300, 1), ("\0\x1b", 1), ("x..y", 1), (HOST, 0), (HOST, 65_536)],
)
async def test_addresses_that_are_none(address: str, port: int) -> None:
    with pytest.raises(
        CannotConnect, match=r"cannot be reached|no address|No machine is called"
    ) as caught:
        await connect(address, port, tls=False, timeout=5)
    assert str(caught.value).endswith(".")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("tls", [True, False])
async def test_a_host_that_does_not_answer(tls: bool) -> None:
    with socket.socket() as mute:
        mute.bind((HOST, 0))
        mute.listen()
        with pytest.raises(CannotConnect, match="does not answer"):
            await connect(HOST, mute.getsockname()[1], tls=tls, timeout=0.1)


@pytest.mark.parametrize(
    "welcome",
    [
        {},
        {"version": 2},
        {"host": {"id": "", "name": "Den", "version": "0"}},
        {"host": {"id": "x" * 200, "name": "Den", "version": "0"}},
        {"host": None},
        {"now": "soon"},
    ],
)
async def test_a_welcome_that_makes_no_sense(make_peer: Any, welcome: dict[str, Any]) -> None:
    peer = await make_peer()
    peer.script[Hello] = lambda line, body: {**peer.welcome(), **welcome} if welcome else {}
    with pytest.raises(CannotConnect, match="not a QE host"):
        await _open(peer)


async def test_a_refused_hello_says_what_the_host_said(make_peer: Any) -> None:
    peer = await make_peer()

    def refuse(line: Any, body: Any) -> None:
        raise Refused(Code.UNSUPPORTED_VERSION, "version", "I speak 2\x1b[2J.")

    peer.script[Hello] = refuse
    with pytest.raises(CannotConnect, match=r"I speak 2\[2J\."):
        await _open(peer)


async def test_a_goodbye_instead_of_a_welcome(make_peer: Any) -> None:
    peer = await make_peer()
    peer.script[Hello] = lambda line, body: line.send(
        type="bye", code="host_full", message="Too many."
    )
    with pytest.raises(Goodbye, match="Too many") as caught:
        await _open(peer)
    assert caught.value.code == "host_full"


# --- Asking and being told ---------------------------------------------------------------------


async def test_answers_find_their_questions_in_any_order(make_peer: Any) -> None:
    peer = await make_peer()
    first: list[int] = []

    def later(line: Any, body: Any) -> dict[str, Any] | None:
        first.append(len(first))
        if len(first) < 3:
            return None
        for id in (4, 99, 3, 2):  # the ids of `hello` and three requests are 1 to 4
            line.send(type="ok", id=id, result={"id": id})
        return None

    peer.script[Tables] = later
    client = await _open(peer)
    answers = await asyncio.gather(*(client.ask(Tables()) for _ in range(3)))
    assert [answer["id"] for answer in answers] == [2, 3, 4]
    await client.close()


async def test_a_refusal(make_peer: Any) -> None:
    peer = await make_peer()

    def refuse(line: Any, body: Any) -> None:
        raise Refused("a_code_of_tomorrow", "why", "No.\u202e")

    peer.script[Rematch] = refuse
    client = await _open(peer)
    with pytest.raises(Refused) as caught:
        await client.ask(Rematch())
    assert (caught.value.code, caught.value.reason) == ("a_code_of_tomorrow", "why")
    assert str(caught.value) == "No."
    assert await client.ask(PingRequest())
    await client.close()


@pytest.mark.parametrize(
    "body",
    [
        Say(text="\ud800"),
        Say(text="x" * 70_000),
        Act(step=1, action={"kind": "bid", "amount": 2**64}),
        Act(step=1, action={"kind": object()}),
    ],
)
async def test_what_cannot_be_sent_is_refused_here(make_peer: Any, body: Any) -> None:
    peer = await make_peer()
    client = await _open(peer)
    with pytest.raises(Refused) as caught:
        await client.ask(body)
    assert "18446744073709551616" not in "".join(traceback.format_exception(caught.value))
    assert await client.ask(PingRequest())
    await client.close()


async def test_of_unread_views_only_the_latest_is_kept(make_peer: Any, view: ViewOf) -> None:
    peer = await make_peer()
    client = await _open(peer)
    line = peer.lines[0]
    line.send(type="of tomorrow", id="?")
    line.send(type=["view"])
    for number in range(2000):
        line.send(**view(number))
        line.send(**_said(str(number)), later=1)
    await client.ask(PingRequest())
    got = [await client.next() for _ in range(MAX_UNREAD + 1)]
    said = [each.text for each in got if isinstance(each, Said)]
    views = [each for each in got if isinstance(each, View)]
    assert said == [str(number) for number in range(2000 - MAX_UNREAD, 2000)]
    assert [each.room.spectators for each in views] == [1999]
    await client.close()


async def test_what_a_host_should_have_refused_is_left_out(make_peer: Any, view: ViewOf) -> None:
    peer = await make_peer()
    client = await _open(peer)
    peer.lines[0].send(**view(title="Ba\u202enk"))
    peer.lines[0].send(**_said("\x1b]0;x\x07" + "y" * 9000))
    shown, said = await client.next(), await client.next()
    assert isinstance(shown, View)
    assert isinstance(said, Said)
    assert (shown.room.title, shown.room.seats[0].name) == ("Bank", "Ana[2J")
    assert said.text.startswith("]0;xyyy")
    assert len(said.text) <= 500
    await client.close()


async def test_pings_are_answered_one_at_a_time(make_peer: Any) -> None:
    peer = await make_peer()
    client = await _open(peer)
    line = peer.lines[0]
    peer.script[PingRequest] = lambda line, body: None
    for _ in range(100):
        line.send(type="ping")
    await line.has_asked(2)
    line.send(type="ok", id=2, result={"now": 1})
    line.send(type="ping")
    await line.has_asked(3)
    assert [type(each) for each in line.asked[1:]] == [PingRequest] * 2
    await client.close()


# --- The end -----------------------------------------------------------------------------------


async def _every_way_out(client: Client, kind: type[Exception]) -> Exception:
    """What waits and what is asked afterwards: all of it ends by this exception."""
    waiting = asyncio.create_task(client.ask(Tables()))
    reading = asyncio.create_task(client.next())
    done, pending = await asyncio.wait((waiting, reading), timeout=10)
    assert not pending
    assert {type(task.exception()) for task in done} == {kind}
    with pytest.raises(kind) as caught:
        await client.ask(Tables())
    with pytest.raises(kind):
        await client.next()
    await client.close()
    return caught.value


BAD_BYTES = {
    "junk": b"\0\0\0\x03abc",
    "too large": b"\x7f\xff\xff\xff",
    "half a frame": b"\0\0\0\x09ab",
    "a view of nothing": b"\0\0\0\x0b\x81\xa4type\xa4view",
    "an answer without its id": b"\0\0\0\x11\x82\xa4type\xa2ok\xa6result\x80",
}


@pytest.mark.parametrize("data", BAD_BYTES.values(), ids=BAD_BYTES.keys())
async def test_a_host_that_breaks_the_protocol_is_left(make_peer: Any, data: bytes) -> None:
    peer = await make_peer()
    client = await _open(peer)

    def answer(line: Any, body: Any) -> None:
        line.writer.write(data)
        line.writer.write_eof()

    peer.script[Tables] = answer
    await _every_way_out(client, ConnectionLost)


async def test_a_line_that_is_cut(make_peer: Any) -> None:
    peer = await make_peer()
    client = await _open(peer)
    peer.script[Tables] = lambda line, body: line.cut()
    await _every_way_out(client, ConnectionLost)


async def test_a_goodbye_comes_after_what_was_sent_before(make_peer: Any) -> None:
    peer = await make_peer()
    client = await _open(peer)
    peer.lines[0].send(**_said("last words"))
    await client.ask(PingRequest())

    def bye(line: Any, body: Any) -> None:
        line.send(type="bye", code="removed", message="You were removed.\x9b")

    peer.script[Tables] = bye
    message = await client.next()
    assert isinstance(message, Said)
    end = await _every_way_out(client, Goodbye)
    assert isinstance(end, Goodbye)
    assert (end.code, str(end)) == ("removed", "You were removed.")


async def test_closing_ends_what_waits(make_peer: Any) -> None:
    peer = await make_peer()
    peer.script[Tables] = lambda line, body: None
    client = await _open(peer)
    waiting = asyncio.create_task(client.ask(Tables()))
    reading = asyncio.create_task(client.next())
    await asyncio.sleep(0)
    await client.close()
    for task in (waiting, reading):
        with pytest.raises(ConnectionLost):
            await task


async def test_no_answer_in_time_is_a_lost_connection(make_peer: Any) -> None:
    peer = await make_peer()
    peer.script[Tables] = lambda line, body: None
    client = await _open(peer, timings=Timings(answer=0.05))
    with pytest.raises(ConnectionLost, match="does not answer"):
        await client.ask(Tables())
    with pytest.raises(ConnectionLost):
        await client.next()
    await peer.lines[0].ended.wait()
    await client.close()


async def test_a_silent_host_is_asked_for_a_sign_of_life(make_peer: Any) -> None:
    peer = await make_peer()
    client = await _open(peer, timings=Timings(silence=0.02, sign=0.05))
    line = peer.lines[0]
    await line.has_asked(4)
    assert not client.ended
    peer.script[PingRequest] = lambda line, body: None
    with pytest.raises(ConnectionLost):
        await asyncio.wait_for(client.next(), 5)
    await client.close()


async def test_a_fault_here_is_logged_and_ends_the_connection(
    make_peer: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    peer = await make_peer()
    client = await _open(peer)

    def fault(message: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("protocol.client.fit_to_show", fault)
    peer.lines[0].send(**_said("hello"))
    with pytest.raises(ConnectionLost, match="fault"):
        await client.next()
    assert "ZeroDivisionError" in caplog.text
    await client.close()


async def test_an_asker_who_gives_up_leaves_the_connection_alone(make_peer: Any) -> None:
    peer = await make_peer()
    peer.script[Join] = lambda line, body: None
    client = await _open(peer)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.ask(Join(table="WOLF", name="Ana")), 0.01)
    peer.lines[0].send(type="ok", id=2, result={"seat": 1, "token": "late"})
    assert await client.ask(PingRequest())
    await client.close()
