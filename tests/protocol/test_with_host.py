"""The client's side against the real host, over TLS, through a crash of it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from protocol.client import connect
from protocol.errors import CannotConnect, Refused
from protocol.messages import AddBot, Create, Rematch, Resume, Say, Start, View
from protocol.stay import Back, Lost, Stay
from protocol.tokens import Wallet
from protocol.trust import Pins

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
Started = tuple[asyncio.subprocess.Process, int]
StartHost = Callable[..., Awaitable[Started]]


@pytest.fixture
async def start_host(tmp_path: Path) -> AsyncIterator[StartHost]:
    processes: list[asyncio.subprocess.Process] = []

    async def start(port: int = 0, *flags: str) -> Started:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server", "--bind", HOST, "--port", str(port)),
            *("--data", str(tmp_path / "data"), *flags),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        processes.append(process)
        assert process.stdout is not None
        ready = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        return process, int(ready.rsplit(":", 1)[1])

    yield start
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def test_a_game_goes_on_after_both_sides_have_crashed(
    start_host: StartHost, tmp_path: Path
) -> None:
    process, port = await start_host()
    wallet, pins = Wallet(tmp_path / "seats"), Pins(tmp_path / "pins.json")
    stay = Stay(HOST, port, wallet=wallet, pins=pins)
    await stay.open()
    table = (await stay.ask(Create(game="qe", seats=3, title="", name="Ana")))["table"]
    for _ in range(2):
        await stay.ask(AddBot())
    await stay.ask(Start())
    await stay.ask(Say(text="hello"))

    process.kill()
    await process.wait()
    events = stay.events()
    async with asyncio.timeout(30):
        while not isinstance(await anext(events), Lost):
            pass
        process, _ = await start_host(port)
        while not isinstance(await anext(events), Back):
            pass
        view = await anext(events)
    assert isinstance(view, View)
    assert (view.room.stage, view.room.me) == ("playing", 0)
    await stay.close()

    again = Stay(HOST, port, wallet=wallet, pins=pins)
    await again.open()
    token = again.saved(table, "Ana")
    assert token is not None
    await again.ask(Resume(table=table, token=token))
    with pytest.raises(Refused, match="not over"):
        await again.ask(Rematch())
    await again.close()


async def test_a_host_with_tls_asked_without(start_host: StartHost) -> None:
    _, port = await start_host()
    with pytest.raises(CannotConnect, match="speaks TLS"):
        await connect(HOST, port, tls=False)


async def test_a_host_started_without_tls(start_host: StartHost) -> None:
    _, port = await start_host(0, "--no-tls")
    with pytest.raises(CannotConnect, match="--no-tls"):
        await connect(HOST, port)
    client = await connect(HOST, port, tls=False)
    await client.close()
