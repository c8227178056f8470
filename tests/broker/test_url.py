"""A broker's URL, and what is told of one: never its password."""

from __future__ import annotations

import asyncio
import sys

import msgpack
import pytest

from protocol import mqtt
from protocol.broker import Broker, BrokerError, read_card, read_url
from protocol.errors import WireError
from server import serving

SECRET = "Blindschleiche"


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("mqtt://den.local", Broker("den.local", 1883, False)),
        ("mqtt://den.local/", Broker("den.local", 1883, False)),
        ("mqtts://den.local", Broker("den.local", 8883, True)),
        ("MQTT://10.0.0.5:1884", Broker("10.0.0.5", 1884, False)),
        ("mqtt://ana@den", Broker("den", 1883, False, "ana")),
        ("mqtt://ana:@den", Broker("den", 1883, False, "ana", "")),
        ("mqtt://a%40b:p%3A%2F%25@den:1", Broker("den", 1, False, "a@b", "p:/%")),
        ("mqtt://ana:p:w@[::1]", Broker("::1", 1883, False, "ana", "p:w")),
        ("mqtts://[fe80::1%25eth0]:9", Broker("fe80::1%eth0", 9, True)),
    ],
)
def test_urls(url: str, broker: Broker) -> None:
    assert read_url(url) == broker
    assert "@" not in str(broker)
    assert read_url(str(broker).replace("%", "%25")).address == broker.address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "den.local",
        f"http://ana:{SECRET}@den",
        "mqtt://",
        f"mqtt://ana:{SECRET}@",
        f"mqtt://:{SECRET}@den",
        f"mqtt://ana:{SECRET}/@den",
        f"mqtt://ana:{SECRET}#@den",
        f"mqtt://ana:{SECRET}?@den",
        f"mqtt://ana:{SECRET}%@den",
        f"mqtt://ana:{SECRET}%FF@den",
        f"mqtt://ana:{SECRET}%00@den",
        f"mqtt://ana:{SECRET} @den",
        f"mqtt://ana:{SECRET}@den\n",
        f"mqtt://ana:{SECRET}@::1",
        f"mqtt://ana:{SECRET}@[::1",
        f"mqtt://ana:{SECRET}@[::1]1",
        f"mqtt://ana:{SECRET}@den:0",
        f"mqtt://ana:{SECRET}@den:65536",
        f"mqtt://ana:{SECRET}@den:port",
        f"mqtt://ana:{SECRET}@den:１",
        f"mqtt://ana:{SECRET}@den/topic",
        f"mqtt://ana:{'x' * 70_000}@den",
    ],
)
def test_urls_without_sense_are_refused_in_a_sentence_that_repeats_nothing(url: str) -> None:
    with pytest.raises(BrokerError) as info:
        read_url(url)
    told = str(info.value)
    assert told.endswith(".")
    assert len(told) < 200
    assert SECRET not in told
    assert info.value.__cause__ is None


def test_password_is_in_no_repr() -> None:
    broker = read_url(f"mqtt://ana:{SECRET}@den")
    assert broker.password == SECRET
    assert SECRET not in repr(broker) + str(broker)


def test_loop_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows' usual loop cannot watch a socket for the library."""
    monkeypatch.setattr(sys, "platform", "win32")
    assert mqtt.loop_factory() is asyncio.SelectorEventLoop
    assert serving._loop_factory(True) is asyncio.SelectorEventLoop
    monkeypatch.undo()
    assert mqtt.loop_factory() is None


CARD = {
    "name": "The den", "version": "1", "addresses": ["10.0.0.5", "fe80::1%eth0"], "port": 7373,
    "tls": False, "fp": None, "tables": [],
}  # fmt: skip
TABLE = {
    "table": "WOLF", "title": "", "game": "qe", "stage": "lobby", "seats": 4, "taken": 1,
    "free": 3, "bots": 0, "spectators": 0, "locked": False, "standing": False,
}  # fmt: skip


def test_card_is_made_fit_to_show() -> None:
    card = CARD | {"name": "a\x1b[2J\u202eb", "tables": [TABLE | {"title": "t\x07t"}], "more": 1}
    read = read_card(msgpack.packb(card))
    assert (read.name, read.tables[0].title) == ("a[2Jb", "tt")


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"port": 0},
        {"port": 70_000},
        {"addresses": ["a b"]},
        {"addresses": ["x" * 256]},
        {"addresses": ["-\x1b"]},
        {"addresses": ["10.0.0.5"] * 17},
        {"tables": [TABLE, TABLE]},
        {"tables": [TABLE | {"table": "../x"}]},
        {"tables": [TABLE | {"stage": "new"}]},
        {"name": 5},
        {"name": "x" * 1_100_000},
    ],
)
def test_cards_without_sense_are_refused(card: dict[str, object]) -> None:
    payload = msgpack.packb(CARD | card) if card else b"\xc1"
    with pytest.raises(WireError):
        read_card(payload)
