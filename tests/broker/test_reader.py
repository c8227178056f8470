"""What is read of a broker: hosts, and one table to look on at. Junk on it does no harm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgpack
import pytest
from mosquitto import WAIT, Mosquitto
from publishing import Publishing

from protocol.broker import HostCard, read_url
from protocol.errors import CannotConnect, Goodbye, Refused
from protocol.messages import Leave, Say, TableList, Tables, View, Watch, decode_result
from protocol.stay import Back, Lost
from qe_tui.broker import BrokerHosts
from qe_tui.broker_choice import meant, offers
from qe_tui.broker_stay import BrokerStay

Publish = Callable[..., Awaitable[Publishing]]
Put = Callable[[str, bytes], Awaitable[None]]
Hosts = dict[str, HostCard]


async def until(hosts: AsyncIterator[Hosts], condition: Callable[[Hosts], Any]) -> Hosts:
    async with asyncio.timeout(WAIT):
        async for now in hosts:
            if condition(now):
                return now
    raise AssertionError("the reader has ended")


async def test_hosts_are_listed_live(mosquitto: Mosquitto, publish: Publish, put: Put) -> None:
    reader = BrokerHosts(mosquitto.guests)
    async with aclosing(reader.hosts()) as hosts:
        assert await until(hosts, lambda now: True) == {}
        host = await publish()
        _ana, code = await host.table(title="Friday")
        now = await until(hosts, lambda now: now.get(host.id) and now[host.id].tables)
        assert [(table.table, table.title) for table in now[host.id].tables] == [(code, "Friday")]
        # Junk is passed over, and what was known is kept.
        await put(f"qe/1/hosts/{host.id}", b"\xc1")
        await put("qe/1/hosts/other/more", b"junk")
        await put("qe/1/hosts/other", b"\x80" * 2000)
        await put("qe/1/hosts/another", msgpack.packb(ANOTHER))
        now = await until(hosts, lambda now: len(now) > 1)
        assert set(now) == {host.id, "another"}
        assert now[host.id].tables
        mosquitto.kill()
        await until(hosts, lambda now: reader.trouble is not None)
        assert reader.trouble is not None
        assert reader.trouble.startswith("There is no connection to the broker mqtt://127.0.0.1")
        mosquitto.start()
        now = await until(hosts, lambda now: reader.trouble is None and host.id in now)
        assert "another" not in now
        await host.feed.stop()
        assert await until(hosts, lambda now: host.id not in now) == {}


ANOTHER = {
    "name": "Another", "version": "1", "addresses": [], "port": 7373, "tls": False, "fp": None,
    "tables": [],
}  # fmt: skip


async def test_choosing_a_table(mosquitto: Mosquitto, publish: Publish) -> None:
    host = await publish(name="The den")
    _ana, first = await host.table()
    _bo, second = await host.table(name="Bo")
    _cy, _locked = await host.table(name="Cy", password="s3cret")
    async with asyncio.timeout(WAIT):
        while len(there := await offers(mosquitto.guests)) < 2:
            pass
    assert {offer.table.table for offer in there} == {first, second}
    assert [offer.table.table for offer in meant(there, first.lower())] == [first]
    assert meant(there, "the DEN") == meant(there, "den") == meant(there, None) == there
    assert meant(there, "elsewhere") == meant(there, "") == []
    mosquitto.kill()
    with pytest.raises(CannotConnect, match="no connection to the broker"):
        await offers(mosquitto.guests)


class Watching:
    """A table looked on at through the broker."""

    def __init__(self, stay: BrokerStay) -> None:
        self.stay = stay
        self._events = stay.events()

    async def until(self, kind: type, condition: Callable[[Any], Any] = lambda event: True) -> Any:
        async with asyncio.timeout(WAIT):
            async for event in self._events:
                if isinstance(event, kind) and condition(event):
                    return event
        raise AssertionError("nothing more has come")

    async def end(self) -> Goodbye:
        with pytest.raises(Goodbye) as info:
            await self.until(int)
        return info.value


@asynccontextmanager
async def watching(
    mosquitto: Mosquitto, code: str, gone_after: float = 60.0
) -> AsyncIterator[Watching]:
    async with asyncio.timeout(WAIT):
        while not (found := meant(await offers(mosquitto.guests), code)):
            pass
    broker = read_url(mosquitto.guests)
    stay = BrokerStay(broker, found[0].host, found[0].card, code, gone_after=gone_after)
    await stay.open()
    try:
        await stay.ask(Watch(table=code))
        yield Watching(stay)
    finally:
        await stay.close()


async def test_a_table_is_watched_through_everything_but_its_end(
    mosquitto: Mosquitto, publish: Publish, put: Put
) -> None:
    host = await publish(name="The den")
    ana, code = await host.table(title="First")
    async with watching(mosquitto, code) as watch:
        view = await watch.until(View)
        assert (view.table, view.room.title, view.you) == (code, "First", None)
        listed = decode_result(await watch.stay.ask(Tables()), TableList).tables
        assert [(table.table, table.free, table.locked) for table in listed] == [(code, 2, False)]
        with pytest.raises(Refused, match="look on"):
            await watch.stay.ask(Say(text="hello"))
        topic = host.table_topic(code)
        seen = [frame for name, frame in host.feed._shown.items() if name == code]
        own = msgpack.unpackb(seen[0][4:])
        for junk in (
            b"\xc1",
            b"x" * 1_000_000,
            msgpack.packb(own | {"table": "ZZZZ"}),
            msgpack.packb(own | {"you": {}}),
            msgpack.packb(own | {"room": own["room"] | {"me": 0}}),
            msgpack.packb(own | {"game": {"phase": 1}}),
            msgpack.packb(own | {"room": own["room"] | {"title": "Dress\x1b[2J"}}),
        ):
            await put(topic, junk)
        await ana.ask("set", title="Second")
        shown = await watch.until(View)
        while shown.room.title != "Second":
            assert shown.room.title == "Dress[2J"
            shown = await watch.until(View)
        mosquitto.kill()
        await watch.until(Lost)
        await ana.ask("set", title="Third")
        mosquitto.start()
        await watch.until(Back)
        await watch.until(View, lambda view: view.room.title == "Third")
        # The host goes as by a pulled plug: the broker says its last will, the view is still there.
        await put(host.topic, b"")
        lost = await watch.until(Lost)
        assert lost.sentence.endswith(".")
        await ana.ask("set", title="Fourth")
        await watch.until(Back)
        await watch.until(View, lambda view: view.room.title == "Fourth")
        await ana.ask("set", password="s3cret")
        goodbye = await watch.end()
        assert str(goodbye) == "The table has been closed, or has a password now."
    assert await watch.stay.ask(Leave()) == {}


async def test_a_table_whose_host_does_not_come_back_is_given_up(
    mosquitto: Mosquitto, publish: Publish
) -> None:
    host = await publish()
    _ana, code = await host.table()
    async with watching(mosquitto, code, gone_after=0.3) as watch:
        await watch.until(View)
        await host.feed.stop()
        await watch.until(Lost)
        assert "not come back" in str(await watch.end())
