"""Hosts of one's own: real child processes."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from protocol.messages import Create
from qe_tui import hosting, own
from qe_tui.hosting import HostingError, Running
from qe_tui.settings import Home


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Callable[..., object]]:
    """Starts hosts on free ports and ends those that are left."""
    started: list[Running] = []

    async def go(folder: str = "host", port: int = 0, tls: bool = False) -> Running:
        running = await hosting.start(
            tmp_path / folder, port=port, tls=tls, bind="127.0.0.1", log=tmp_path / "host.log"
        )
        started.append(running)
        return running

    yield go
    for running in started:
        await hosting.stop(running)


def processes_of(folder: Path) -> list[str]:
    """The command lines that speak of a folder; none where there is no /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words.replace("\0", " "))
    return found


async def test_a_host_starts_is_visited_and_stops(home: Home, start: Callable[..., object]) -> None:
    running = await start(tls=True)
    assert isinstance(running, Running)
    assert running.port
    assert hosting.alive(running.pid)
    assert os.getsid(running.pid) != os.getsid(0), "a signal to our session would end it too"
    # Its certificate is known from itself, so that nothing has to be pinned.
    assert running.fingerprint
    found = await own.visit(home, running.where, "Ana", running=running)
    assert found.stay.fingerprint == running.fingerprint
    assert not home.pins.exists()
    await found.close()
    assert await hosting.stop(running)
    assert not hosting.alive(running.pid)
    assert hosting.remembered(Path(running.folder)) is None


async def test_a_port_in_use_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, start: Callable[..., object]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(HostingError) as caught:
            await start(port=port)
    sentence = str(caught.value)
    assert str(port) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "Error:" not in sentence
    assert processes_of(tmp_path) == []


async def test_a_folder_in_use_is_one_sentence(start: Callable[..., object]) -> None:
    await start()
    with pytest.raises(HostingError, match=r"\AAnother host [^\n]*\.\Z"):
        await start()


async def test_a_private_game_is_gone_on_with(home: Home) -> None:
    first = await own.private(home, "Ana")
    assert first.where.address == "127.0.0.1"
    assert await own.unfinished(first) is None
    await own.deal(first, 3)
    table = (await first.tables())[0]
    assert (table.seats, table.taken, table.bots, table.stage) == (3, 3, 2, "playing")
    assert table.locked, "others on this machine have no business there"
    await first.close()
    assert first.running is not None
    assert await hosting.stop(first.running)

    again = await own.private(home, "Another name by now")
    assert again.running is not None
    assert again.running.folder == first.running.folder
    kept = await own.unfinished(again)
    assert kept is not None
    await again.stay.ask(kept)
    assert again.name == "Ana"
    assert [there.table for there in await again.tables()] == [table.table]
    await again.close()
    await hosting.stop(again.running)


async def test_two_play_alone_on_one_machine(home: Home) -> None:
    first = await own.private(home, "Ana")
    await own.deal(first, 3)
    second = await own.private(home, "Ana")
    try:
        assert await own.unfinished(second) is None, "the other one's game is left alone"
        await own.deal(second, 3)
        assert first.running is not None
        assert second.running is not None
        assert first.running.folder != second.running.folder
    finally:
        for visit in (first, second):
            await visit.close()
            assert visit.running is not None
            await hosting.stop(visit.running)


async def test_a_host_left_running_is_found_again(home: Home) -> None:
    port = free_port()
    first, was_there = await own.public(home, "Ana", port=port, tls=True)
    assert not was_there
    await first.stay.ask(Create(game="qe", seats=3, title="", name="Ana"))
    await first.close()
    again, was_there = await own.public(home, "Ana", port=port + 1, tls=False)
    assert was_there
    assert again.where.port == port
    assert [name for _, name in again.kept()] == ["Ana"]
    await again.close()
    assert "stopped" in await own.end_public(home)
    assert "No host" in await own.end_public(home)


async def test_a_stranger_with_the_number_of_an_old_host_is_left_alone(home: Home) -> None:
    first, _ = await own.public(home, "Ana", port=free_port(), tls=False)
    await first.close()
    assert first.running is not None
    # As if the note were of another day, and the address somebody else's by now.
    hosting.remember(msgspec.structs.replace(first.running, host_id="another"))
    assert "No host" in await own.end_public(home)
    assert hosting.alive(first.running.pid)
    await hosting.stop(first.running)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
