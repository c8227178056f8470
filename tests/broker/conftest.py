"""A broker that runs, hosts that publish on it, and those who listen to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "whole"))
sys.path.insert(0, str(Path(__file__).parent))

from mosquitto import USERS, Mosquitto, find
from publishing import Observer, Publishing

from protocol.broker import Broker
from protocol.mqtt import connected
from server.host import Host, Settings


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a password file; making one takes a while."""
    if find("mosquitto") is None or find("mosquitto_passwd") is None:
        pytest.skip("Mosquitto is not installed, so nothing was published on a real broker")
    folder = tmp_path_factory.mktemp("mosquitto")
    (folder / "passwords").write_text("")
    for user, password in USERS.items():
        passwd = [str(find("mosquitto_passwd")), "-b", str(folder / "passwords"), user, password]
        subprocess.run(passwd, check=True, capture_output=True)
    return folder


@pytest.fixture
def mosquitto(made: Path, tmp_path: Path) -> Iterator[Mosquitto]:
    """A broker that runs."""
    broker = Mosquitto(tmp_path, made / "passwords")
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


@pytest.fixture
async def observe(mosquitto: Mosquitto) -> AsyncIterator[Callable[..., Awaitable[Observer]]]:
    """Listens to the broker as one of its users, the tests' own unless told otherwise."""
    observers: list[Observer] = []

    async def observing(user: str | None = "admin", topics: str = "#") -> Observer:
        observer = Observer(mosquitto.port, user, topics)
        observers.append(observer)
        await observer.start()
        return observer

    yield observing
    for observer in observers:
        await observer.stop()


@pytest.fixture
async def publish(
    mosquitto: Mosquitto, tmp_path: Path
) -> AsyncIterator[Callable[..., Awaitable[Publishing]]]:
    """Starts a host that publishes on the broker; all of them stop with the test."""
    publishing: list[Publishing] = []

    async def start(
        url: str | None = None, card_every: float = 0.05, sweep_for: float = 3.0, **settings: Any
    ) -> Publishing:
        settings = {"data": tmp_path / "data", "name": "The den", "tls": False} | settings
        host = Host(Settings(bind="127.0.0.1", port=0, bot_delay=0, **settings))
        one = Publishing(
            host, mosquitto.url if url is None else url, card_every=card_every, sweep_for=sweep_for
        )
        publishing.append(one)
        await host.start()
        one.feed.start()
        return one

    yield start
    for one in publishing:
        await one.feed.stop()
        await one.host.stop()


@pytest.fixture
def put(mosquitto: Mosquitto) -> Callable[[str, bytes], Awaitable[None]]:
    """Publishes whatever it is given, with the rights of a host."""
    broker = Broker("127.0.0.1", mosquitto.port, False, "qe-host", USERS["qe-host"])

    async def put(topic: str, payload: bytes) -> None:
        async with connected(broker) as client:
            await client.publish(topic, payload, qos=1, retain=True)

    return put
