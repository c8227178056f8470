"""How connections come in: where the host listens, and what happens when too many want to."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import ssl
import sys
import time

import pytest

from protocol import messages as m
from server import callers, doors, host, outbox, session
from server.doors import listening

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8 on its loopback interface"
)
ELSEWHERE = "127.0.0.2"
LONG = bool(os.environ.get("QE_LONG"))


async def hold(running, count: int, source: str = ELSEWHERE) -> list[socket.socket]:
    """Connections that say nothing, one after the other."""
    loop = asyncio.get_running_loop()
    held = []
    for _ in range(count):
        sock = socket.socket()
        sock.setblocking(False)
        sock.bind((source, 0))
        await loop.sock_connect(sock, running.address)
        held.append(sock)
    return held


async def ended(sock: socket.socket) -> bytes:
    """What the host said before it closed."""
    loop, said = asyncio.get_running_loop(), b""
    async with asyncio.timeout(8):
        try:
            while more := await loop.sock_recv(sock, 4096):
                said += more
        except ConnectionError:
            pass
    return said


def is_open(sock: socket.socket) -> bool:
    try:
        return sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def close(socks: list[socket.socket]) -> None:
    for sock in socks:
        sock.close()


# --- Half-finished ones ---------------------------------------------------------------------


@linux
@pytest.mark.parametrize("tls", [False, True])
async def test_who_says_hello_gets_in_while_others_hold_the_door(open_host, monkeypatch, tls):
    monkeypatch.setattr(callers, "HALF_FINISHED", 80)
    running = await open_host(tls=tls)
    held = await hold(running, 200)
    for _ in range(3):
        peer = await running.peer()
        await peer.ask(m.PingRequest())
    # The oldest of the crowd made room, and the newest are there still.
    said = [await ended(sock) for sock in held[:120]]
    if not tls:
        assert all(b"hello_timeout" in one for one in said)
    assert all(is_open(sock) for sock in held[-40:])
    assert running.host._callers.pending <= 80
    close(held)
    await running.eventually(lambda: running.host._callers.pending == 0)
    assert running.host._callers.admitted == 3


@linux
async def test_who_is_in_the_middle_of_it_is_not_sent_away_for_a_crowd(open_host, monkeypatch):
    monkeypatch.setattr(callers, "HALF_FINISHED", 80)
    running = await open_host(tls=True)
    peer = await running.connect()
    held = await hold(running, 200)
    await peer.ask(m.Hello(versions=[1], client="a test"))
    close(held)


@pytest.mark.parametrize("tls", [False, True])
async def test_handshake_and_hello_have_one_time_together(open_host, monkeypatch, tls):
    monkeypatch.setattr(session, "HELLO_WITHIN", 0.5)
    running = await open_host(tls=tls)
    start = time.monotonic()
    (mute,) = await hold(running, 1, "127.0.0.1")
    greeting = await running.connect()
    assert b"hello_timeout" in await ended(mute) or tls
    goodbye = await greeting.end()
    assert goodbye is not None
    assert goodbye.code == "hello_timeout"
    assert time.monotonic() - start > 0.4
    mute.close()
    await running.eventually(lambda: running.host._callers.pending == 0)


async def test_bytes_that_are_no_handshake_end_quietly(open_host, caplog):
    running = await open_host(tls=True)
    held = await hold(running, 3, "127.0.0.1")
    for sock, junk in zip(
        held, (b"GET / HTTP/1.1\r\n\r\n", bytes(300), os.urandom(300)), strict=True
    ):
        await asyncio.get_running_loop().sock_sendall(sock, junk)
        await ended(sock)
    close(held)
    await running.eventually(lambda: running.host._callers.pending == 0)
    assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]


@pytest.mark.parametrize("tls", [False, True])
async def test_a_host_with_many_half_finished_ones_stops_at_once(open_host, tls):
    running = await open_host(tls=tls)
    await running.peer()
    held = await hold(running, 150, "127.0.0.1")
    half = [await running.connect() for _ in range(10)]
    sessions = 11 if tls else 161
    await running.eventually(lambda: len(running.host._sessions) == sessions)
    assert running.host._callers.pending == 160
    start = time.monotonic()
    await running.host.stop()
    assert time.monotonic() - start < session.GOODBYE_WITHIN or not LONG
    for peer in half:
        goodbye = await peer.end()
        assert goodbye is not None
        assert goodbye.code == "shutting_down"
    await asyncio.gather(*map(ended, held))
    close(held)
    names = [task.get_name() for task in asyncio.all_tasks()]
    assert not [name for name in names if name.startswith(("door", "session"))]


@pytest.mark.parametrize("tls", [False, True])
async def test_those_who_do_not_read_the_goodbye_are_not_waited_for(open_host, monkeypatch, tls):
    monkeypatch.setattr(host, "SHUT_DOWN_WITHIN", 0.5)
    running = await open_host(tls=tls)
    peers = [await running.peer() for _ in range(10)]
    for peer in peers:
        peer.writer.transport.pause_reading()
    for session_ in running.host._sessions:
        session_._outbox.put_view(bytes(8_000_000))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(outbox.STALLED_AFTER * 2 / 3):
        await running.host.stop()


# --- Whole ones -----------------------------------------------------------------------------


@linux
@pytest.mark.parametrize("tls", [False, True])
async def test_one_address_leaves_a_place_for_others(open_host, tls):
    running = await open_host(max_connections=20, tls=tls)
    for _ in range(18):
        await running.peer()
    late = await running.connect()
    goodbye = await late.end()
    assert goodbye is not None
    assert goodbye.code == "host_full"
    for _ in range(2):
        (friend,) = await hold(running, 1)
        reader, writer = await asyncio.open_connection(
            sock=friend, ssl=_trusting() if tls else None, server_hostname="x" if tls else None
        )
        peer = type(late)(reader, writer)
        running.peers.append(peer)
        await peer.ask(m.Hello(versions=[1], client="a friend"))
    (nobody,) = await hold(running, 1, "127.0.0.3")
    if not tls:
        assert b"host_full" in await ended(nobody)
    nobody.close()


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def test_hundreds_come_in_at_the_same_time(open_host):
    running = await open_host(tls=True)
    await asyncio.gather(*(running.peer() for _ in range(100)))
    assert running.host._callers.admitted == 100


async def test_a_place_is_not_given_twice_to_those_who_come_at_once(open_host):
    running = await open_host(max_connections=5)
    half = [await running.connect() for _ in range(8)]
    hello = m.Hello(versions=[1], client="a test")
    greeted = await asyncio.gather(*(one.send(hello) for one in half), return_exceptions=True)
    assert sum(isinstance(one, dict) for one in greeted) == 5
    goodbyes = [peer.goodbye for peer in half if peer.goodbye is not None]
    assert [goodbye.code for goodbye in goodbyes] == ["host_full"] * 3


# --- A system that gives no more ------------------------------------------------------------


async def test_a_host_that_may_open_no_more_files_waits_until_it_may(
    open_host, monkeypatch, caplog
):
    monkeypatch.setattr(doors, "ACCEPT_AGAIN", 0.05)
    running = await open_host()
    ana, *_ = await running.game("Ana", "Bo", "Cy")
    late = [socket.socket() for _ in range(5)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.dup(0)
    os.close(spare)
    before = time.process_time()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            os.dup(0)
        for sock in late:
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, running.address)
        await asyncio.sleep(0.3)
        await ana.bid(7)  # the game goes on
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert time.process_time() - before < 0.3  # it does not spin; of this process alone
    await running.eventually(lambda: running.host._callers.pending == 5)
    assert caplog.text.count("cannot be accepted") == 1
    close(late)
    await running.peer()


async def test_whatever_goes_wrong_at_the_door_the_next_one_comes_in(running, monkeypatch, caplog):
    monkeypatch.setattr(doors, "ACCEPT_AGAIN", 0.01)
    arrived, wrong = running.host._callers.arrived, [True]

    def arrive(caller):
        if wrong:
            raise ZeroDivisionError(wrong.pop())
        return arrived(caller)

    monkeypatch.setattr(running.host._callers, "arrived", arrive)
    assert await (await running.connect()).end() is None
    await running.peer()
    assert "connections cannot be accepted now: ZeroDivisionError" in caplog.text


# --- Where it listens -----------------------------------------------------------------------


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@ipv6
async def test_both_families_have_the_same_port():
    found = await listening(None, 0)
    try:
        (four, port), (six, same, *_) = [sock.getsockname() for sock in found]
        assert (four, six) == ("0.0.0.0", "::")
        assert port == same
        for address in ("127.0.0.1", "::1"):
            _, writer = await asyncio.open_connection(address, port)
            writer.close()
    finally:
        close(found)


@ipv6
async def test_a_port_that_one_family_has_taken_is_not_taken_for_the_other(monkeypatch):
    # The first free IPv4 port is in use with IPv6.
    taken = socket.create_server(("::", 0), family=socket.AF_INET6)
    make, tries = socket.create_server, []

    def meeting(address, **more):
        if more["family"] == socket.AF_INET:
            tries.append(address)
            if len(tries) == 1:
                address = (address[0], taken.getsockname()[1])
        return make(address, **more)

    monkeypatch.setattr(socket, "create_server", meeting)
    found = await listening(None, 0)
    assert len(tries) == 2
    assert len({sock.getsockname()[1] for sock in found}) == 1
    close([*found, taken])


async def test_a_family_that_the_machine_has_not_is_left_out(monkeypatch):
    make = socket.create_server

    def without(address, **more):
        if more["family"] == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "no such family")
        return make(address, **more)

    monkeypatch.setattr(socket, "create_server", without)
    found = await listening(None, 0)
    assert [sock.getsockname()[0] for sock in found] == ["0.0.0.0"]
    close(found)
    with pytest.raises(OSError, match="no such family"):
        await listening("::1", 0)


async def test_a_taken_port_is_an_error_whichever_family_has_it():
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        if family == socket.AF_INET6 and not has_ipv6():
            continue
        with socket.create_server((address, 0), family=family) as taken:
            with pytest.raises(OSError) as info:
                await listening(None, taken.getsockname()[1])
            assert info.value.errno == errno.EADDRINUSE


async def test_a_name_is_listened_at_wherever_it_points_to():
    found = await listening("localhost", 0)
    assert {sock.getsockname()[0] for sock in found} <= {"127.0.0.1", "::1"}
    assert len({sock.getsockname()[1] for sock in found}) == 1
    close(found)


@ipv6
async def test_a_host_is_reached_over_both_families(open_host, tmp_path):
    everywhere = host.Host(host.Settings(data=tmp_path / "both", name="x", port=0, tls=False))
    await everywhere.start()
    try:
        assert [address for address, _ in everywhere.addresses] == ["0.0.0.0", "::"]
        for address in ("127.0.0.1", "::1"):
            _, writer = await asyncio.open_connection(address, everywhere.addresses[0][1])
            writer.close()
    finally:
        await everywhere.stop()
