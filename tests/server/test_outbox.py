"""What waits to be sent: bounded, in order, and never waited for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator

import pytest

from protocol import frames
from protocol import messages as m
from server import outbox, session
from server.outbox import Outbox

LONG = bool(os.environ.get("QE_LONG"))


class Line:
    """An outbox at one end of a real connection, and a socket at the other that reads when told."""

    def __init__(self, writer: asyncio.StreamWriter, far: socket.socket) -> None:
        self.writer, self.far = writer, far
        self.outbox = Outbox(writer)

    async def read(self, size: int) -> bytes:
        """The next bytes, `size` of them or all up to the end."""
        loop, got = asyncio.get_running_loop(), b""
        async with asyncio.timeout(5):
            while len(got) < size:
                more = await loop.sock_recv(self.far, min(65_536, size - len(got)))
                if not more:
                    break
                got += more
        return got


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    far.setblocking(False)
    _, writer = await asyncio.open_connection(sock=near)
    made = Line(writer, far)
    yield made
    if not writer.transport.is_closing():
        writer.transport.abort()
    far.close()


async def test_frames_go_out_in_their_order(line):
    for n in range(100):
        line.outbox.put(b"%02d" % n)
    line.outbox.finish()
    await line.outbox.run()
    assert await line.read(200) == b"".join(b"%02d" % n for n in range(100))


async def test_of_unsent_views_the_newest_counts_at_its_place(line):
    line.outbox.put(b"a")
    line.outbox.put_view(b"1")
    line.outbox.put(b"b")
    line.outbox.put_view(b"2")
    line.outbox.put_view(b"3")
    line.outbox.put(b"c")
    line.outbox.finish()
    await line.outbox.run()
    line.writer.close()
    assert await line.read(99) == b"ab3c"


async def test_a_view_that_is_on_its_way_is_not_replaced(line):
    running = asyncio.create_task(line.outbox.run())
    line.outbox.put_view(b"1")
    assert await line.read(1) == b"1"
    line.outbox.put_view(b"2")
    assert await line.read(1) == b"2"
    line.outbox.finish()
    await running


async def test_nothing_is_taken_after_the_end(line):
    line.outbox.put(b"a")
    line.outbox.finish()
    line.outbox.put(b"b")
    line.outbox.put_view(b"c")
    await line.outbox.run()
    line.writer.close()
    assert await line.read(99) == b"a"


async def test_a_peer_that_reads_nothing_costs_one_view(line):
    running = asyncio.create_task(line.outbox.run())
    for n in range(2000):
        line.outbox.put_view(b"%05d" % n + bytes(100_000))
        if n % 100 == 0:
            await asyncio.sleep(0)
    held = line.writer.transport.get_write_buffer_size()
    assert held <= outbox.HIGH_WATER + 100_005
    assert sum(len(frame or b"") for frame in line.outbox._frames) == 0
    assert not line.writer.transport.is_closing()
    reading = asyncio.create_task(line.read(10**9))
    line.outbox.finish()
    await running
    line.writer.close()
    got = await reading
    assert len(got) <= 3 * 100_005
    assert got[-100_005:-100_000] == b"01999"


@pytest.mark.parametrize(("count", "size"), [(outbox.MAX_FRAMES + 40, 10), (80, 65_536)])
async def test_for_a_peer_with_too_much_before_it_all_of_that_is_dropped(line, count, size):
    running = asyncio.create_task(line.outbox.run())
    line.outbox.put_view(bytes(1_000_000))
    await asyncio.sleep(0)
    most = 0
    taken = []
    for _ in range(count):
        taken.append(line.outbox.put(bytes(size)))
        most = max(most, sum(len(frame or b"") for frame in line.outbox._frames))
    assert most <= outbox.MAX_BYTES + size
    assert not all(taken)
    line.outbox.abort()
    async with asyncio.timeout(5):
        with contextlib.suppress(ConnectionError):
            await running
    assert not line.outbox._frames


async def test_a_peer_that_stands_still_is_cut_off(line, monkeypatch):
    monkeypatch.setattr(outbox, "STALLED_AFTER", 0.2)
    line.outbox.put_view(bytes(1_000_000))
    start = time.monotonic()
    async with asyncio.timeout(5):
        await line.outbox.run()
    assert time.monotonic() - start > 0.15
    assert line.writer.transport.is_closing()


async def test_a_peer_that_is_slow_but_reads_is_not(line, monkeypatch):
    monkeypatch.setattr(outbox, "STALLED_AFTER", 0.4)
    running = asyncio.create_task(line.outbox.run())
    line.outbox.put_view(bytes(400_000))
    got = 0
    while got < 400_000 and not line.writer.transport.is_closing():
        got += len(await line.read(20_000))
        await asyncio.sleep(0.05)
    line.outbox.finish()
    async with asyncio.timeout(5):
        await running
    assert got == 400_000


async def test_who_falls_behind_may_be_told_so(line):
    running = asyncio.create_task(line.outbox.run())
    line.outbox.put(bytes(300_000))
    await asyncio.sleep(0)
    taken = [line.outbox.put(b"x") for _ in range(outbox.MAX_FRAMES + 1)]
    assert taken == [True] * outbox.MAX_FRAMES + [False]
    assert line.outbox.put(b"goodbye")
    line.outbox.finish()
    reading = asyncio.create_task(line.read(10**9))
    await running
    line.writer.close()
    assert (await reading).endswith(bytes(100) + b"goodbye")


async def test_it_is_calm_while_little_is_waiting(line):
    running = asyncio.create_task(line.outbox.run())
    line.outbox.put(bytes(300_000))
    await asyncio.sleep(0)
    await line.outbox.calm()
    line.outbox.put(bytes(2 * outbox.HIGH_WATER))
    waiting = asyncio.create_task(line.outbox.calm())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await line.read(300_000)
    async with asyncio.timeout(5):
        await waiting
    line.outbox.abort()
    await asyncio.gather(running, return_exceptions=True)
    await line.outbox.calm()


# --- At a table ---------------------------------------------------------------------------------


async def deaf(running, code: str) -> socket.socket:
    """A spectator that says what it must and then never reads again."""
    loop = asyncio.get_running_loop()
    far = socket.socket()
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    far.setblocking(False)
    await loop.sock_connect(far, running.address)
    hello = m.Hello(versions=[1], client="deaf")
    for id, body in ((1, hello), (2, m.Watch(table=code))):
        await loop.sock_sendall(far, frames.request_frame(id, body))
    return far


@pytest.fixture
def narrow(running, monkeypatch):
    """A host whose lines hold little, so that one who does not read is soon felt."""
    monkeypatch.setattr(outbox, "HIGH_WATER", 1024)
    monkeypatch.setattr(outbox, "MAX_FRAMES", 100)
    running.host._doors.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    running.host._services.chat.burst = 1e9
    return running


async def test_spectators_that_never_read_slow_nobody(narrow):
    ana, bo, cy = await narrow.game("Ana", "Bo", "Cy")
    alone = time.perf_counter()
    for _ in range(5):
        await narrow.auction(ana, bo, cy)
    alone = time.perf_counter() - alone
    deaf_ones = [await deaf(narrow, ana.code) for _ in range(50)]
    await ana.until(lambda view: view.room.spectators == 50)
    for n in range(60):  # so that their lines are full
        await ana.ask(m.Say(text=f"{n}" + "x" * 270))
    crowded = time.perf_counter()
    for _ in range(5):
        await narrow.auction(ana, bo, cy)
    crowded = time.perf_counter() - crowded
    assert crowded < 5 * alone + 1 or not LONG
    assert ana.view.room.spectators == 50
    # Where too much piles up they are cut off, and the seats are not.
    for n in range(100):
        await ana.ask(m.Say(text=f"{n}" + "x" * 270))
    await ana.until(lambda view: view.room.spectators == 0)
    assert [seat.connected for seat in ana.view.room.seats] == [True] * 3
    for far in deaf_ones:
        far.close()


async def test_a_player_that_never_reads_keeps_the_seat(narrow, monkeypatch):
    monkeypatch.setattr(outbox, "STALLED_AFTER", 0.2)
    ana, bo, _ = await narrow.game("Ana", "Bo", "Cy")
    bo.drop()
    await ana.until(lambda view: not view.room.seats[1].connected)
    far = await deaf(narrow, ana.code)
    resume = m.Resume(table=ana.code, token=bo.token)
    await asyncio.get_running_loop().sock_sendall(far, frames.request_frame(3, resume))
    await ana.until(lambda view: view.room.seats[1].connected)
    for _ in range(40):
        await ana.ask(m.Say(text="x" * 280))
    await ana.until(lambda view: not view.room.seats[1].connected)
    assert ana.view.room.seats[1].kind == "human"
    assert ana.view.room.seats[1].name == "Bo"
    far.close()
    again = await narrow.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))


async def test_a_slow_one_is_told_so_where_it_reads_at_last(narrow):
    (ana,) = await narrow.table("Ana")
    far = await deaf(narrow, ana.code)
    await ana.until(lambda view: view.room.spectators == 1)
    (slow,) = [s for s in narrow.host._sessions if s.table and not s.table.key_of(s)]
    while not slow._ended:
        await ana.ask(m.Say(text="x" * 280))
    said, loop = b"", asyncio.get_running_loop()
    async with asyncio.timeout(8):
        while more := await loop.sock_recv(far, 65_536):
            said += more
    far.close()
    assert frames.unpack(said[said.rindex(b"\x83\xa4type\xa3bye") :])["code"] == "slow"


async def test_who_asks_and_never_listens_is_asked_no_more(open_host, monkeypatch):
    running = await open_host()
    for n in range(60):
        await running.table(f"Ana{n}", title="x" * 40)
    loop, far = asyncio.get_running_loop(), await deaf(running, running.peers[-1].code)
    await running.peers[-1].until(lambda view: view.room.spectators == 1)
    (greedy,) = [s for s in running.host._sessions if s.table and not s.table.key_of(s)]
    ask = frames.request_frame(9, m.Tables())
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.5):
            while True:
                await loop.sock_sendall(far, ask * 100)
                await asyncio.sleep(0)
    one_answer = 60 * 400
    assert outbox.HIGH_WATER < greedy._outbox._bytes < outbox.HIGH_WATER + one_answer
    # Who listens again gets all that was asked for.
    async with asyncio.timeout(20):
        got = 0
        while got < 3_000_000:
            got += len(await loop.sock_recv(far, 1_000_000))
    assert greedy in running.host._sessions
    far.close()


@pytest.mark.parametrize("reads", [False, True])
async def test_under_tls_too_a_slow_one_stays_and_a_deaf_one_goes(open_host, monkeypatch, reads):
    monkeypatch.setattr(outbox, "STALLED_AFTER", 1.0)
    running = await open_host(tls=True)
    running.host._doors.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
    (ana,) = await running.table("Ana")
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, running.address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(
        sock=sock, ssl=context, server_hostname="x", limit=1024
    )
    for id, body in ((1, m.Hello(versions=[1], client="x")), (2, m.Watch(table=ana.code))):
        writer.write(frames.request_frame(id, body))
    await ana.until(lambda view: view.room.spectators == 1)
    (session_,) = [s for s in running.host._sessions if s.table and not s.table.key_of(s)]
    for n in range(5):
        session_._outbox.put_view(frames.frame(b"%d" % n + bytes(900_000)))
        await asyncio.sleep(0.05)
    start, got = time.monotonic(), 0
    with contextlib.suppress(ConnectionError):
        while time.monotonic() - start < 2.5 and session_ in running.host._sessions:
            if reads:
                got += len(await reader.read(20_000))
            await asyncio.sleep(0.04)
    assert (session_ in running.host._sessions) is reads
    assert reads is (got > 200_000)
    writer.transport.abort()


def test_limits_hold_what_a_table_sends() -> None:
    # Fifty lines of chat come at once to whoever sits down, and a view of any game fits.
    assert outbox.MAX_FRAMES > 2 * 50
    assert outbox.MAX_BYTES > 2 * 1_048_576
    assert session.GOODBYE_WITHIN < outbox.STALLED_AFTER
