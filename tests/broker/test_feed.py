"""What a host publishes on a real broker, to the byte, and what it never does."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiomqtt import Client
from mosquitto import USERS, WAIT, Mosquitto
from publishing import IN_TIME, LONG, Observer, Publishing, tables_of
from wire import Connection

from protocol.broker import read_card

Publish = Callable[..., Awaitable[Publishing]]
Observe = Callable[..., Awaitable[Observer]]


async def latest(link: Connection, condition: Callable[[dict[str, Any]], bool]) -> bytes:
    """The newest view's bytes, once it is as wished."""
    frame = await link.view()
    while not condition(frame.fields) or not link.views.empty():
        frame = await link.view()
    return frame.payload


class Canaries:
    """Amounts of which no two are alike, nor like anything else: found again wherever they go."""

    def __init__(self) -> None:
        self.spoken: list[str] = []

    def next(self) -> str:
        self.spoken.append(f"90817263{len(self.spoken):03}5544332211")
        return self.spoken[-1]


async def play(link: Connection, canaries: Canaries) -> None:
    """Plays a seat to the game's end: small openings, canaries for all that is secret."""
    acted = -1
    while True:
        fields = (await link.view()).fields
        game, you = fields["game"], fields["you"]
        if game is None:
            continue
        if game["phase"] == "over":
            return
        if you["may_bid"] is None or game["step"] == acted:
            continue
        acted = game["step"]
        opening = game["phase"] == "opening"
        amount = str(2 + game["auction"]) if opening else canaries.next()
        await link.ask("act", step=acted, action={"kind": "bid", "amount": amount})


async def test_view_is_the_spectators_to_the_byte_and_no_secret_bid_is_in_it(
    publish: Publish, observe: Observe
) -> None:
    """Through a whole game, two seats with foreseeable bids and a computer at the third."""
    everything = await observe()
    host = await publish(tls=True)
    ana, code = await host.table()
    bo = await host.connect()
    token = (await bo.ask("join", table=code, name="Bo"))["token"]
    await ana.ask("say", text="Nachtpfauenauge")
    await ana.ask("add_bot")
    spectator = await host.connect()
    await spectator.ask("watch", table=code)
    await latest(spectator, lambda view: view["room"]["spectators"] == 1)
    await ana.ask("start")
    canaries = Canaries()
    playing = [asyncio.create_task(play(link, canaries)) for link in (ana, bo)]
    topic = host.table_topic(code)
    sent = set()
    over = False
    while not over:
        frame = await spectator.view()
        sent.add(frame.payload)
        over = (frame.fields["game"] or {}).get("phase") == "over"
    await asyncio.gather(*playing)
    last = frame.payload
    await everything.until(lambda now: now.get(topic) == last)
    shown = [payload for seen, payload in everything.seen if seen == topic]
    before = next(n for n, payload in enumerate(shown) if payload in sent)
    assert set(shown[before:]) <= sent
    assert len(set(shown[before:])) > 20
    assert len(canaries.spoken) > 15
    for _topic, payload in everything.seen:
        assert token.encode() not in payload
        assert b"Nachtpfauenauge" not in payload
        if payload != last:
            assert not any(canary.encode() in payload for canary in canaries.spoken)
    revealed = [canary for canary in canaries.spoken if canary.encode() in last]
    assert len(revealed) == len(canaries.spoken)


async def test_nothing_of_a_table_with_a_password(publish: Publish, observe: Observe) -> None:
    everything = await observe()
    host = await publish()
    ana, locked = await host.table(title="Zitronenfalter", name="Hummelchen", password="s3cret")
    bo, code = await host.table(title="Open to all", name="Bo")
    topic = host.table_topic(code)
    await everything.until(lambda now: topic in now and tables_of(now.get(host.topic)) == [code])
    # Closed to others in its lobby, it is taken back; and open again it is there again.
    await bo.ask("set", password="another", title="Schwalbenschwanz")
    await everything.until(lambda now: topic not in now and tables_of(now[host.topic]) == [])
    await ana.ask("set", password="")
    await everything.until(
        lambda now: (
            b"Zitronenfalter" in now.get(host.table_topic(locked), b"")
            and tables_of(now[host.topic]) == [locked]
        )
    )
    before = next(n for n, (_, what) in enumerate(everything.seen) if b"Zitronenfalter" in what)
    for seen, payload in everything.seen[:before]:
        assert b"Hummelchen" not in payload
        assert locked not in seen
    assert not any(b"Schwalbenschwanz" in payload for _, payload in everything.seen)
    assert not any(
        word in payload for word in (b"s3cret", b"another") for _, payload in everything.seen
    )


async def test_closed_tables_and_hosts_that_stop_leave_nothing(
    publish: Publish, observe: Observe
) -> None:
    everything = await observe()
    host = await publish(name="Den [/b]")
    ana, first = await host.table()
    _bo, second = await host.table(name="Bo")
    await everything.until(lambda now: tables_of(now.get(host.topic)) == sorted([first, second]))
    card = read_card(everything.now[host.topic])
    assert card.name == "Den [/b]"
    assert (card.addresses, card.port) == (["127.0.0.1"], host.host.addresses[0][1])
    assert (card.tls, card.fp) == (False, None)
    assert [table.table for table in card.tables] == [t.info().table for t in host.host.tables]
    await ana.ask("leave")
    await everything.until(
        lambda now: host.table_topic(first) not in now and tables_of(now[host.topic]) == [second]
    )
    assert host.table_topic(second) in everything.now
    await host.feed.stop()
    await everything.until(lambda now: not now)


async def test_only_the_hosts_may_publish(
    mosquitto: Mosquitto, publish: Publish, observe: Observe
) -> None:
    host = await publish()
    _ana, code = await host.table()
    guest = await observe(None, "qe/1/#")
    await guest.until(lambda now: host.topic in now and host.table_topic(code) in now)
    before = dict(guest.now)
    for user in (None, "guest"):
        async with Client("127.0.0.1", mosquitto.port, username=user, password=user) as client:
            for topic in before:
                await client.publish(topic, b"forged", qos=1, retain=True)
                await client.publish(topic, b"", qos=1, retain=True)
    async with Client(
        "127.0.0.1", mosquitto.port, username="qe-host", password=USERS["qe-host"]
    ) as client:
        # Behind whatever came of the others.
        await client.publish("qe/1/hosts/other", b"a host", qos=1, retain=True)
    await guest.until(lambda now: "qe/1/hosts/other" in now)
    assert not any(payload in (b"forged", b"") for _, payload in guest.seen)
    assert {topic: guest.now[topic] for topic in before} == before


async def test_a_host_that_is_back_clears_what_it_left(
    mosquitto: Mosquitto, publish: Publish, observe: Observe
) -> None:
    everything = await observe()
    host = await publish()
    _ana, code = await host.table()
    await everything.until(lambda now: host.table_topic(code) in now)
    others = "qe/1/tables/somebody/WOLF"
    await host.feed.stop()
    async with Client(
        "127.0.0.1", mosquitto.port, username="qe-host", password=USERS["qe-host"]
    ) as client:
        for topic in (host.table_topic("ZZZZ"), host.table_topic(code), others):
            await client.publish(topic, b"of old", qos=1, retain=True)
    await host.host.stop()
    again = await publish()
    assert again.id == host.id
    await everything.until(
        lambda now: (
            b"Ana" in now.get(host.table_topic(code), b"")
            and host.table_topic("ZZZZ") not in now
            and tables_of(now.get(host.topic)) == [code]
        )
    )
    assert everything.now[others] == b"of old"


async def test_a_broker_that_is_away_and_comes_back(
    mosquitto: Mosquitto,
    publish: Publish,
    observe: Observe,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Away when the host starts, and killed later, which forgets what it retained."""
    mosquitto.kill()
    host = await publish()
    _ana, code = await host.table()
    await asyncio.sleep(0.7)
    for _ in range(2):
        mosquitto.start()
        started = time.monotonic()
        everything = await observe()
        await everything.until(
            lambda now: tables_of(now.get(host.topic)) == [code] and host.table_topic(code) in now
        )
        assert time.monotonic() - started < IN_TIME
        mosquitto.kill()
        await everything.stop()
        bo, _code = await host.table(name="Bo")
        await bo.ask("leave")
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) in (4, 5)
    assert [" back" in line for line in told] == [False, True, False, True, False][: len(told)]
    assert not any("wörd" in record.getMessage() for record in caplog.records)


async def test_a_broker_that_does_not_answer_slows_nobody(
    mosquitto: Mosquitto, publish: Publish, observe: Observe
) -> None:
    everything = await observe()
    host = await publish()
    ana, code = await host.table()
    await everything.until(lambda now: host.table_topic(code) in now)
    mosquitto.signal(signal.SIGSTOP)
    try:
        took = []
        for title in range(200):
            began = time.monotonic()
            await ana.ask("set", title=f"Title {title}")
            took.append(time.monotonic() - began)
        assert sorted(took)[100] < 0.05 or not LONG
        assert host.feed._changed.keys() <= {code}
    finally:
        mosquitto.signal(signal.SIGCONT)
    await everything.until(lambda now: b"Title 199" in now.get(host.table_topic(code), b""))
    shown = [payload for topic, payload in everything.seen if topic == host.table_topic(code)]
    assert len(shown) < 20


async def test_a_stop_does_not_wait_for_a_broker_that_does_not_answer(
    mosquitto: Mosquitto, publish: Publish, observe: Observe
) -> None:
    everything = await observe()
    host = await publish()
    await everything.until(lambda now: host.topic in now)
    mosquitto.signal(signal.SIGSTOP)
    try:
        async with asyncio.timeout(WAIT):
            began = time.monotonic()
            await host.feed.stop()
        assert time.monotonic() - began < 8
    finally:
        mosquitto.signal(signal.SIGCONT)


async def test_a_wrong_password_is_said_once_and_not_shown(
    mosquitto: Mosquitto, publish: Publish, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    host = await publish(f"mqtt://qe-host:Grasmücke@127.0.0.1:{mosquitto.port}")
    async with asyncio.timeout(WAIT):
        while "refuses" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    _ana, code = await host.table()
    assert code
    assert (
        f"The broker mqtt://127.0.0.1:{mosquitto.port} refuses the user or the password."
        in caplog.text
    )
    assert "Grasm" not in caplog.text


async def test_a_user_that_may_not_read_clears_nothing_and_goes_on(
    mosquitto: Mosquitto, publish: Publish, observe: Observe, caplog: pytest.LogCaptureFixture
) -> None:
    everything = await observe()
    url = f"mqtt://writer:writer@127.0.0.1:{mosquitto.port}"
    host = await publish(url, sweep_for=0.2)
    ana, code = await host.table(title="First")
    await everything.until(lambda now: b"First" in now.get(host.table_topic(code), b""))
    async with asyncio.timeout(WAIT):
        while "shows this host nothing" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await ana.ask("set", title="Second")
    await everything.until(lambda now: b"Second" in now.get(host.table_topic(code), b""))


async def test_the_card_comes_no_oftener_than_it_may(publish: Publish, observe: Observe) -> None:
    everything = await observe()
    host = await publish(card_every=0.4)
    ana, code = await host.table()
    began = time.monotonic()
    for title in range(100):
        await ana.ask("set", title=f"Title {title}")
    await everything.until(lambda now: b"Title 99" in now.get(host.topic, b""))
    cards = sum(topic == host.topic for topic, _ in everything.seen)
    assert cards <= 3 + (time.monotonic() - began) / 0.4
    assert b"Title 99" in everything.now[host.table_topic(code)]
