"""Hosts that run in the test, and peers that speak to them over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from protocol import frames
from protocol import messages as m
from protocol.errors import Refused
from protocol.stream import read_frame
from server.host import Host, Settings

WAIT = 8.0
"""Seconds after which something that should come has not come."""

NOWHERE = m.Move(seat=0, to=255)
"""A request of a table that is refused to everybody, at any time, and changes nothing."""


class Clock:
    """The host's time, and its event loop's with it, that a test can move on at once."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._real = self._loop.time
        self._ahead = 0.0
        self._loop.time = lambda: self._real() + self._ahead  # type: ignore[method-assign]

    def now(self) -> int:
        return 1_700_000_000_000 + int(self._loop.time() * 1000)

    def skip(self, seconds: float) -> None:
        self._ahead += seconds


class Peer:
    """A connection to a host: answers pings by itself and keeps all that it is told."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.views: list[m.View] = []
        self.raw: list[dict[str, Any]] = []
        """The maps of the views, as they came."""
        self.said: list[m.Said] = []
        self.reacted: list[m.Reacted] = []
        self.errors: list[m.Error] = []
        """Those that belong to no request."""
        self.pings = 0
        self.goodbye: m.Bye | None = None
        self.answers_pings = True
        self.ended = asyncio.Event()
        self.code = ""
        self.token = ""
        self._stirred = asyncio.Event()
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._id = 0
        self._task = asyncio.create_task(self._listen())

    @property
    def view(self) -> m.View:
        return self.views[-1]

    @property
    def me(self) -> int | None:
        return self.view.room.me

    async def _listen(self) -> None:
        with contextlib.suppress(ConnectionError):
            while (fields := await read_frame(self.reader, frames.LIMIT_FROM_HOST)) is not None:
                self._take(fields)
        self.ended.set()
        self._stirred.set()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(ConnectionResetError("no answer came"))

    def _take(self, fields: dict[str, Any]) -> None:
        match m.decode_message(fields):
            case m.Ok(id=id, result=result):
                self._asked.pop(id).set_result(result)
            case m.Error(id=None) as error:
                self.errors.append(error)
            case m.Error(id=int(id)) as error:
                self._asked.pop(id).set_exception(Refused(error.code, error.reason, error.message))
            case m.View() as view:
                self.views.append(view)
                self.raw.append(fields)
            case m.Said() as said:
                self.said.append(said)
            case m.Reacted() as reacted:
                self.reacted.append(reacted)
            case m.Ping():
                self.pings += 1
                if self.answers_pings:
                    self.send(m.PingRequest())
            case m.Bye() as bye:
                self.goodbye = bye
        self._stirred.set()

    def send(self, body: m.Body) -> asyncio.Future[dict[str, Any]]:
        self._id += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._asked[self._id] = answer
        self.writer.write(frames.request_frame(self._id, body))
        return answer

    async def ask(self, body: m.Body) -> dict[str, Any]:
        async with asyncio.timeout(WAIT):
            result = await self.send(body)
        self.token = result.get("token", self.token)
        if isinstance(body, m.Create):
            self.code = result["table"]
        elif isinstance(body, m.Join | m.Watch | m.Resume):
            self.code = body.table
        return result

    async def refused(self, body: m.Body) -> tuple[str, str]:
        """The code and reason of a request that is refused."""
        with pytest.raises(Refused) as info:
            await self.ask(body)
        assert str(info.value).endswith(".")
        return str(info.value.code), info.value.reason

    async def until(self, condition: Callable[[m.View], bool]) -> m.View:
        """The latest view, once it is as wished."""
        async with asyncio.timeout(WAIT):
            while not (self.views and condition(self.view)):
                assert not self.ended.is_set(), "the connection has ended"
                self._stirred.clear()
                await self._stirred.wait()
        return self.view

    async def turn(self) -> m.View:
        """The latest view, once the table has done all that it had to do by now."""
        for _ in range(3):
            with contextlib.suppress(Refused):
                await self.ask(NOWHERE)
        return self.view

    async def end(self) -> m.Bye | None:
        """The host's goodbye, once it has closed the connection."""
        async with asyncio.timeout(WAIT):
            await self.ended.wait()
        return self.goodbye

    async def bid(self, amount: int | str) -> None:
        assert self.view.game is not None
        action = {"kind": "bid", "amount": str(amount)}
        await self.ask(m.Act(step=self.view.game["step"], action=action))

    def drop(self) -> None:
        """Ends the connection as a pulled cable does."""
        self.writer.transport.abort()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.writer.transport.abort()


class Running:
    """A host that listens on loopback, and the peers that have come to it."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.peers: list[Peer] = []
        self._stopped = False

    @property
    def address(self) -> tuple[str, int]:
        return self.host.addresses[0]

    async def connect(self) -> Peer:
        """A connection that has not said anything yet."""
        context = None
        if self.host.fingerprint is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        peer = Peer(*await asyncio.open_connection(*self.address, ssl=context))
        self.peers.append(peer)
        return peer

    async def peer(self) -> Peer:
        peer = await self.connect()
        await peer.ask(m.Hello(versions=[m.VERSION], client="a test"))
        return peer

    async def table(self, *names: str, seats: int = 3, **fields: Any) -> list[Peer]:
        """A new table at which these sit, the first one being its host; and their connections."""
        people = [await self.peer() for _ in names]
        await people[0].ask(
            m.Create(**{"game": "qe", "seats": seats, "title": "", "name": names[0]} | fields)
        )
        for person, name in zip(people[1:], names[1:], strict=True):
            join = m.Join(table=people[0].code, name=name, password=fields.get("password"))
            await person.ask(join)
        await people[0].until(lambda view: sum(s.name != "" for s in view.room.seats) == len(names))
        return people

    async def game(self, *names: str, **fields: Any) -> list[Peer]:
        """A table with a game that has begun, the first one being the auctioneer."""
        fields.setdefault("rules", {"first": "host"})
        people = await self.table(*names, **fields)
        await people[0].ask(m.Start())
        for person in people:
            await person.until(lambda view: view.room.stage == "playing")
        return people

    async def auction(self, *people: Peer, opening: int = 10, bids: tuple[int, ...] = ()) -> None:
        """Plays one auction: the auctioneer opens, the others bid 1, 2 ... or as given."""
        step = people[0].view.game["step"]
        auctioneer = people[0].view.game["auctioneer"]
        by_seat = {person.me: person for person in people}
        others = [person for person in people if person.me != auctioneer]
        if auctioneer is not None:
            await by_seat[auctioneer].bid(opening)
            step += 1
        for person in people:
            await person.until(lambda view: view.game["step"] == step)
        for person, amount in zip(others, bids or range(1, 9), strict=False):
            await person.bid(amount)
        for person in people:
            await person.until(lambda view: view.game["step"] > step)

    async def play_out(self, *people: Peer) -> None:
        while people[0].view.game["phase"] != "over":
            await self.auction(*people)

    async def watcher(self, code: str, name: str | None = None) -> Peer:
        peer = await self.peer()
        await peer.ask(m.Watch(table=code, name=name))
        await peer.until(lambda view: True)
        return peer

    async def eventually(self, condition: Callable[[], Any]) -> None:
        """Waits for what a host does by itself and tells nobody of."""
        async with asyncio.timeout(WAIT):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.01)

    async def listed(
        self, condition: Callable[[list[dict[str, Any]]], Any] = lambda tables: True
    ) -> list[dict[str, Any]]:
        """The list of tables, once it is as wished."""
        peer = await self.peer()
        async with asyncio.timeout(WAIT):
            while True:
                tables: list[dict[str, Any]] = (await peer.ask(m.Tables()))["tables"]
                if condition(tables):
                    peer.drop()
                    return tables
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Shuts the host down, and what is left of the connections to it."""
        if self._stopped:
            return
        self._stopped = True
        await self.host.stop()
        for peer in self.peers:
            await peer.close()


OpenHost = Callable[..., Awaitable[Running]]


@pytest.fixture
async def clock() -> Clock:
    return Clock()


@pytest.fixture
async def open_host(tmp_path: Path, clock: Clock) -> AsyncIterator[OpenHost]:
    """Starts a host on a free port of loopback; all of them end with the test."""
    running: list[Running] = []

    async def start(
        before: Callable[[Host], Awaitable[None]] | None = None, **settings: Any
    ) -> Running:
        settings = {"data": tmp_path / "data", "name": "a host", "tls": False} | settings
        host = Host(Settings(bind="127.0.0.1", port=0, **settings), clock.now)
        running.append(Running(host))
        if before is not None:
            await before(host)
        await host.start()
        return running[-1]

    yield start
    for one in running:
        await one.stop()


@pytest.fixture
async def running(open_host: OpenHost) -> Running:
    return await open_host()
