"""The commands, a host that is a process of its own, and a real terminal."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from hosting import HostProcess
from mosquitto import WAIT, Mosquitto
from publishing import IN_TIME, Observer
from wire import Connection

from qe_tui import hosting
from qe_tui.broker import BrokerHosts

sys.path.insert(0, str(Path(__file__).parents[1] / "terminal"))

from tmux import Terminal, Tmux

ROOT = Path(__file__).parents[2]
QE = [sys.executable, "-m", "qe_tui"]


@pytest.fixture
def host(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[HostProcess]:
    host = HostProcess(data=tmp_path / "den", more=("--name", "The den", "--broker", mosquitto.url))
    try:
        host.start()
        yield host
    finally:
        host.kill()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Opens a terminal with `qe` and these arguments."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, so nothing was tried in a real terminal")
    server = Tmux()
    environment = {
        "QE_HOME": str(tmp_path / "home"), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
        "TEXTUAL_ANIMATIONS": "none",
    }  # fmt: skip
    yield lambda *arguments: server.open(
        "audience", [*QE, *arguments], folder=ROOT, environment=environment, unset=["NO_COLOR"]
    )
    server.end()


async def play(port: int, *, start: bool = True) -> str:
    """Opens a table at which a game with computers waits for its human; its code."""
    link = await Connection.open(port, tls=False)
    wanted = {"game": "qe", "seats": 3, "title": "Friday", "name": "Ana"}
    code: str = (await link.ask("create", **wanted, rules={"first": "host"}))["table"]
    if start:
        await link.ask("add_bot")
        await link.ask("add_bot")
        await link.ask("start")
    await link.close()
    return code


async def listed(url: str, there: bool, within: float = WAIT, tables: int = 1) -> float:
    """How many seconds it takes until the list of hosts has one with its tables, or none."""
    began = time.monotonic()
    async with asyncio.timeout(within), aclosing(BrokerHosts(url).hosts()) as hosts:
        async for now in hosts:
            if there == any(len(card.tables) >= tables for card in now.values()):
                return time.monotonic() - began
    raise AssertionError("the list has ended")


def test_a_spectator_sees_the_host_go_and_come_back(
    mosquitto: Mosquitto, host: HostProcess, terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    code = asyncio.run(play(host.port))
    other = asyncio.run(play(host.port, start=False))
    asyncio.run(listed(mosquitto.guests, True, tables=2))
    screen = terminal("watch", "--broker", mosquitto.guests, "the den")
    tables = subprocess.run(
        [*QE, "tables", "--broker", mosquitto.guests, "--json", "--wait", "1"],
        cwd=ROOT,
        env=os.environ | {"QE_HOME": str(tmp_path / "tables")},
        capture_output=True,
        timeout=WAIT,
        check=True,
    )
    found = {table["table"]: table for table in json.loads(tables.stdout)}
    assert found.keys() == {code, other}
    table = found[code]
    assert (table["table"], table["title"], table["host"]) == (code, "Friday", "The den")
    assert (table["address"], table["port"]) == ("127.0.0.1", host.port)

    # Games that run come first.
    asked = screen.wait_for("Which table do you want to watch?")
    assert code in asked.line("1 ")
    assert other in asked.line("2 ")
    screen.type("1", "Enter")
    seen = screen.wait_for("YOU ARE WATCHING")
    assert f"Watching through the broker {mosquitto.guests}" in seen
    keys = seen.line("^Q")
    assert "leave" in keys
    assert "chat" not in keys
    assert "react" not in keys
    host.kill()
    assert asyncio.run(listed(mosquitto.guests, False)) < IN_TIME
    screen.wait_for("The table's host has gone")
    host.start()
    assert asyncio.run(listed(mosquitto.guests, True)) < IN_TIME
    screen.wait_for(lambda seen: "has gone" not in seen)
    screen.keys("C-q")
    assert screen.status() == 0
    way_back = f"Watch table {code} again with: qe watch --broker {mosquitto.guests} {code}"
    assert way_back in " ".join(screen.scrolled().split())
    assert host.terminate() == 0
    assert not host.errors()
    assert "w%C3%B6rd" not in host.log()


async def test_a_game_against_computers_is_nobody_elses(
    mosquitto: Mosquitto,
    observe: Callable[..., Awaitable[Observer]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The private host of `qe play` publishes nothing, though this user has a broker."""
    monkeypatch.setenv("QE_BROKER", mosquitto.url)
    everything = await observe()
    log = tmp_path / "log"
    private = await hosting.start(
        tmp_path / "own", port=0, tls=False, bind="127.0.0.1", discovery=False, log=log
    )
    await play(private.port)
    assert await hosting.stop(private)
    assert everything.seen == []
    assert "broker" not in log.read_text()


@pytest.mark.long
async def test_a_host_without_a_word_is_gone_and_comes_back(
    mosquitto: Mosquitto, host: HostProcess, put: Callable[[str, bytes], Awaitable[None]]
) -> None:
    """As when a cable is pulled: the broker speaks the last will after a while."""
    await play(host.port)
    await listed(mosquitto.guests, True)
    host.process.send_signal(signal.SIGSTOP)
    try:
        took = await listed(mosquitto.guests, False, within=40)
        assert took < 25
    finally:
        host.process.send_signal(signal.SIGCONT)
    assert await listed(mosquitto.guests, True) < 5
    # And where an older connection's last will has come late, the card is there again soon.
    async with aclosing(BrokerHosts(mosquitto.guests).hosts()) as hosts:
        (identity,) = await anext(hosts)
    await put(f"qe/1/hosts/{identity}", b"")
    await listed(mosquitto.guests, False)
    assert await listed(mosquitto.guests, True) < 12
