"""Hosts found on the loopback interface: real ones, dead addresses, and liars."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from places import Den
from zeroconf.asyncio import AsyncServiceInfo

from protocol import mdns
from protocol.broker import HostCard
from protocol.errors import FingerprintChanged
from protocol.invitation import Where
from protocol.messages import Create, TableInfo
from protocol.trust import Pins
from qe_tui import browse
from qe_tui.browse import Browser, Downgraded, FoundHost, reach
from qe_tui.lan import nearest_first
from qe_tui.settings import Home
from server.announce import Announcer

Until = Callable[[Callable[[], Any]], Awaitable[Any]]
LOOPBACK = ["127.0.0.1"]
FP = "ab" * 32
DEAD = "203.0.113.7"
"""An address kept for documentation: nobody answers there."""


@contextlib.asynccontextmanager
async def announced(
    *cards: tuple[int, mdns.Notice, Sequence[str]],
) -> AsyncIterator[list[Announcer]]:
    """Announcements on the loopback interface of these ports, records and addresses."""
    announcers = [
        Announcer(
            f"Den {time.monotonic_ns()}",
            port,
            notice,
            lambda addresses=addresses: list(addresses),
            interfaces=LOOPBACK,
        )
        for port, notice, addresses in cards
    ]
    for announcer in announcers:
        announcer.start()
    try:
        yield announcers
    finally:
        await asyncio.gather(*(announcer.stop() for announcer in announcers))


def table(code: str = "WOLF", **fields: Any) -> TableInfo:
    plain: dict[str, Any] = {
        "title": "", "game": "qe", "stage": "lobby", "seats": 3, "taken": 1, "free": 2, "bots": 0,
        "spectators": 0, "locked": False, "standing": False,
    }  # fmt: skip
    return TableInfo(table=code, **{**plain, **fields})


def the(browser: Browser, id: str) -> list[FoundHost]:
    """What is listed of the host of an id: others may be about on this machine."""
    return [host for host in browser.hosts if host.id == id]


@pytest.mark.usefixtures("alone_on_mdns")
async def test_a_host_is_one_with_its_tables_and_goes_when_it_goes(
    tls_den: Den, home: Home, until: Until
) -> None:
    guest = await tls_den.guest(home, "Bo")
    id, fingerprint, port = guest.welcome.host.id, guest.stay.fingerprint, tls_den.where.port
    real = mdns.Notice(id=id, fp=fingerprint)
    async with (
        announced(
            (port, real, [DEAD, "127.0.0.1"]),
            (port, real, [DEAD, "127.0.0.1", "127.0.0.2"]),  # by another interface
            (port, mdns.Notice(id="somebody-else", fp=fingerprint), ["127.0.0.1"]),
            (port, mdns.Notice(id=id, fp=FP), ["127.0.0.1"]),  # a liar about the certificate
        ),
        Browser(interfaces=LOOPBACK) as browser,
    ):
        (host,) = await until(lambda: the(browser, id))
        assert (host.name, host.tables, host.refused) == ("Den", (), None)
        assert host.where == Where("127.0.0.1", port, fingerprint=fingerprint)
        code = (await guest.stay.ask(Create(game="qe", seats=3, title="Fri", name="Bo")))["table"]
        (host,) = await until(lambda: [host for host in the(browser, id) if host.tables])
        assert [(there.table, there.title, there.free) for there in host.tables] == [
            (code, "Fri", 2)
        ]
        assert len(the(browser, id)) == 1
        assert the(browser, "somebody-else") == []
        await tls_den.close()
        await until(lambda: not the(browser, id))
        await tls_den.open()
        await until(lambda: the(browser, id))
    assert not home.pins.exists() or id not in home.pins.read_text(), "looking pins nothing"


@pytest.mark.long
@pytest.mark.usefixtures("alone_on_mdns")
async def test_a_host_that_moves_is_found_again(den: Den, home: Home, until: Until) -> None:
    id = (await den.guest(home, "Bo")).welcome.host.id
    addresses = [DEAD]
    announcer = Announcer(
        "Den",
        den.where.port,
        mdns.Notice(id=id, fp=None),
        lambda: list(addresses),
        interfaces=LOOPBACK,
        look_every=0.05,
    )
    announcer.start()
    async with Browser(interfaces=LOOPBACK) as browser:
        await until(lambda: browser._hosts)
        addresses[:] = ["127.0.0.1"]
        (host,) = await until(lambda: the(browser, id))
        assert host.where == Where("127.0.0.1", den.where.port, False)
    await announcer.stop()


@pytest.mark.usefixtures("alone_on_mdns")
async def test_what_is_pinned_stands_above_what_is_announced(
    tls_den: Den, den: Den, home: Home, until: Until
) -> None:
    known = await tls_den.guest(home, "Bo")
    id, fingerprint = known.welcome.host.id, known.stay.fingerprint
    pins = Pins(home.settings.parent / "mine.json")
    pins.pin(id, "den.local", 7373, FP)
    true = Where("127.0.0.1", tls_den.where.port, fingerprint=fingerprint)
    with pytest.raises(FingerprintChanged) as changed:
        await reach([true], id, pins)
    assert FP in str(changed.value)
    plain = await den.guest(home, "Cy")
    pins.pin(plain.welcome.host.id, "plain.local", 7373, FP)
    with pytest.raises(Downgraded):
        await reach([den.where], plain.welcome.host.id, pins)
    # So in the list: it says what is wrong with the host, and shows no table.
    async with (
        announced((tls_den.where.port, mdns.Notice(id=id, fp=fingerprint), ["127.0.0.1"])),
        Browser(pins, interfaces=LOOPBACK) as browser,
    ):
        (host,) = await until(lambda: the(browser, id))
        assert host.refused is not None
        assert FP in host.refused
        assert host.tables == ()


@pytest.mark.usefixtures("alone_on_mdns")
async def test_what_got_lost_on_the_way_is_asked_for_again(
    den: Den, home: Home, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = (await den.guest(home, "Bo")).welcome.host.id
    request, asked = AsyncServiceInfo.async_request, Counter[str]()

    async def lossy(info: AsyncServiceInfo, *more: Any) -> bool:
        asked[info.name] += 1
        return asked[info.name] > 3 and await request(info, *more)

    monkeypatch.setattr(AsyncServiceInfo, "async_request", lossy)
    async with (
        announced((den.where.port, mdns.Notice(id=id, fp=None), ["127.0.0.1"])),
        Browser(interfaces=LOOPBACK) as browser,
    ):
        await until(lambda: the(browser, id))


async def test_who_repeats_a_host_elsewhere_does_not_hide_it(
    tls_den: Den, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = await tls_den.guest(home, "Bo")
    id, fp, port = guest.welcome.host.id, guest.stay.fingerprint, tls_den.where.port
    open_now = most = 0

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await reader.read()
        open_now -= 1
        writer.close()

    async with await asyncio.start_server(silent, "0.0.0.0") as liar:
        false_port = liar.sockets[0].getsockname()[1]
        false = [
            [Where(f"127.0.{n}.{m}", false_port, fingerprint=fp) for m in range(1, 17)]
            for n in range(3)
        ]
        real = Where("127.0.0.1", port, fingerprint=fp)
        wheres = browse.in_turn([*false, [real]])
        assert wheres.index(real) == 3
        assert len(wheres) == 49
        # Even where it comes last, it is found, and no more are called than may be.
        monkeypatch.setattr(browse, "ANSWER_WITHIN", 0.5)
        client, where = await reach(
            [*wheres[:3], *wheres[4:12], real], id, None, asyncio.Semaphore(5)
        )
        assert where == real
        await client.close()
    assert 2 <= most <= 5


async def test_where_nothing_can_be_found_a_sentence_says_so(until: Until) -> None:
    async with Browser(interfaces=["203.0.113.1"]) as browser:
        (trouble,) = await until(lambda: browser.troubles)
    assert "mDNS" in trouble
    async with Browser() as browser:  # QE_NO_DISCOVERY is set for all tests
        (trouble,) = await until(lambda: browser.troubles)
    assert "QE_NO_DISCOVERY" in trouble


def test_what_hosts_say_of_their_tables_is_made_fit_to_be_shown() -> None:
    said = [
        table("wolf", title="Fri\x1b[2Jday\u202e", game="q\x07e"),
        table("W0LF"),
        table("LONG", title="x" * 500),
        table("MANY", taken=10**9),
        table("LESS", free=-1),
    ]
    wolf, long = browse.sane(said)
    assert (wolf.table, wolf.title, wolf.game) == ("WOLF", "Fri[2Jday", "qe")
    assert (long.table, len(long.title)) == ("LONG", 40)
    assert browse.sane([table(), table("LYNX"), table(free=1)]) == (table(free=1), table("LYNX"))
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    codes = ("".join(four) for four in itertools.product(letters, repeat=4))
    many = [table(code) for code in itertools.islice(codes, 10_000)]
    assert len(browse.sane(many)) == browse.MOST_TABLES


def test_a_brokers_hosts_are_bounded_and_make_sense() -> None:
    def card(**fields: Any) -> HostCard:
        plain: dict[str, Any] = {
            "name": "Den", "version": "1", "addresses": ["10.0.0.5"], "port": 7373, "tls": True,
            "fp": FP,
        }  # fmt: skip
        return HostCard(**{**plain, **fields})

    cards = {
        "good": card(name="D\x1ben", addresses=["10.0.0.5", "fe80::1", "no such", "a/b"]),
        "plain": card(tls=False, fp=None),
        "no certificate": card(fp=None),
        "no fingerprint": card(fp="abc"),
        "nowhere": card(addresses=[]),
        "no port": card(port=0),
    }
    found = dict(browse._card_hosts(cards))
    assert found.keys() == {("good", FP), ("plain", None)}
    good = found["good", FP]
    assert [where.address for where in good.wheres] == ["10.0.0.5", "fe80::1"]
    assert (good.name, good.by_broker) == ("Den", True)
    many = {str(n): card() for n in range(1000)}
    assert len(browse._card_hosts(many)) == browse.MOST_HOSTS


def test_the_nearest_addresses_come_first() -> None:
    found = nearest_first(["fe80::1%1", "2001:db8::1", "203.0.113.1", "127.0.0.1", "203.0.113.1"])
    assert found == ["127.0.0.1", "203.0.113.1", "2001:db8::1", "fe80::1%1"]
