"""`qe-server ctl`: what the owner of the machine asks of a host, and who else may."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from protocol import messages as m
from server import control
from server.cli import main
from server.control import SOCKET, Control

if sys.platform == "win32":
    pytest.skip("Windows has no such sockets", allow_module_level=True)

ROOT = Path(__file__).parents[2]
CANARY = "31415926535"


class Owner:
    """Somebody at the host's machine."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.stopped = asyncio.Event()

    async def __call__(self, *arguments: str, code: int = 0) -> str:
        """What `qe-server ctl` says."""
        command = ["ctl", "--data", str(self.data), *arguments]
        result = await asyncio.to_thread(CliRunner().invoke, main, command)
        assert result.exit_code == code, (result.output, result.exception)
        assert "Traceback" not in result.output
        return result.output

    async def raw(self, line: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self.data / SOCKET)
        writer.write(line)
        async with asyncio.timeout(8):
            answer = await reader.readline()
        writer.close()
        return answer


@pytest.fixture
async def owner(running, tmp_path) -> AsyncIterator[Owner]:
    who = Owner(tmp_path / "data")
    socket_ = Control(running.host, who.stopped.set)
    await socket_.start()
    yield who
    socket_.stop()


# --- What it does -------------------------------------------------------------------------------


async def test_tables_are_listed_with_who_sits_there(running, owner):
    assert await owner("tables") == "No table is open.\n"
    assert await owner("tables", "--json") == "[]\n"
    ana, bo = await running.table("Ana", "Bo", title="[red]Friday[/]", password=CANARY)
    await ana.ask(m.AddBot())
    out = await owner("tables")
    assert out.startswith(f"{ana.code}  lobby  3 of 3  locked  [red]Friday[/]  1 Ana, 2 Bo, 3 ")
    assert out.endswith("(computer)\n")
    (table,) = json.loads(await owner("tables", "--json"))
    assert table["table"] == ana.code
    assert [seat["name"] for seat in table["players"]][:2] == ["Ana", "Bo"]
    await ana.ask(m.Start())
    await bo.until(lambda view: view.room.stage == "playing")
    (person,) = [p for p in (ana, bo) if p.me == p.view.game["auctioneer"]] or [None]
    if person is not None:
        await person.bid(CANARY)
    said = await owner("tables") + await owner("tables", "--json")
    assert "playing" in said
    for secret in (CANARY, ana.token, bo.token, running.host._store.host_id):
        assert secret not in said


async def test_an_announcement_is_chat_of_the_host(running, owner):
    (ana,), (bo,) = await running.table("Ana"), await running.table("Bo")
    watcher = await running.watcher(bo.code)
    assert await owner("announce", "Pizza is here!") == "Said at 2 tables.\n"
    assert await owner("announce", "Only you", "--table", bo.code.lower()) == "Said at 1 table.\n"
    for peer, expected in ((ana, ["Pizza is here!"]), (bo, ["Pizza is here!", "Only you"]),
                           (watcher, ["Pizza is here!", "Only you"])):  # fmt: skip
        await running.eventually(lambda peer=peer, wanted=expected: len(peer.said) == len(wanted))
        assert [said.text for said in peer.said] == expected
        assert {(said.name, said.seat) for said in peer.said} == {("host", None)}


async def test_who_is_kicked_is_told_so_and_cannot_come_back_with_the_token(running, owner):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    watcher = await running.watcher(ana.code, "Eve")
    for who, peer in (("Bo", bo), (str(cy.me + 1), cy), ("Eve", watcher)):
        assert await owner("kick", ana.code, who) == ""
        goodbye = await peer.end()
        assert goodbye is not None
        assert goodbye.code == "removed"
    view = await ana.until(lambda view: view.room.spectators == 0)
    assert [seat.released for seat in view.room.seats].count(True) == 2
    again = await running.peer()
    assert (await again.refused(m.Resume(table=ana.code, token=bo.token)))[0] == "bad_token"
    await again.ask(m.Join(table=ana.code, name="Dee"))


async def test_an_announcement_reaches_the_others_where_a_table_closes_meanwhile(
    running, owner, monkeypatch
):
    (ana,), (bo,), (cy,) = [await running.table(name) for name in ("Ana", "Bo", "Cy")]
    gone = running.host.table(bo.code)
    monkeypatch.setattr(type(running.host), "tables", list(running.host.tables))
    await gone.close()
    assert await owner("announce", "Pizza!") == "Said at 2 tables.\n"
    for peer in (ana, cy):
        await running.eventually(lambda peer=peer: peer.said)


async def test_spectators_are_reached_whatever_they_are_called(running, owner):
    ana, bo = await running.table("Ana", "Bo")
    one, nameless, word, stays = [
        await running.watcher(ana.code, name) for name in ("1", None, "spectator", "Eve")
    ]
    for who, peer in ((["1"], one), ([], nameless), (["spectator"], word)):
        await owner("kick", ana.code, *who, "--spectator")
        goodbye = await peer.end()
        assert goodbye is not None
        assert goodbye.code == "removed"
    for who in (["1"], [], ["Ana"]):
        said = await owner("kick", ana.code, *who, "--spectator", code=1)
        assert said == "Error: No such spectator is there.\n"
    await owner("kick", ana.code, code=2)
    await owner("kick", ana.code, "", code=1)
    await owner("kick", ana.code, "1")
    assert await ana.end() is not None
    view = await bo.until(lambda view: view.room.spectators == 1)
    assert view.room.seats[0].kind == "open"
    assert not stays.ended.is_set()


async def test_another_name_is_seen_by_all_and_stays_after_a_restart(open_host, running, owner):
    ana, bo = await running.table("Ana", "Bo")
    assert await owner("rename", ana.code, "Bo", "Robert") == ""
    for peer in (ana, bo):
        await peer.until(lambda view: view.room.seats[1].name == "Robert")
    await owner("rename", ana.code, "2", "Bob")
    await ana.until(lambda view: view.room.seats[1].name == "Bob")
    await running.stop()
    second = await open_host()
    back = await second.peer()
    await back.ask(m.Resume(table=bo.code, token=bo.token))
    assert (await back.until(lambda view: True)).room.seats[1].name == "Bob"


async def test_a_closed_table_is_gone(running, owner):
    (ana,) = await running.table("Ana")
    watcher = await running.watcher(ana.code)
    assert await owner("close", ana.code) == ""
    for peer in (ana, watcher):
        goodbye = await peer.end()
        assert goodbye is not None
        assert goodbye.code == "table_closed"
    assert await running.listed() == []


# --- What it does not -------------------------------------------------------------------------


async def test_what_cannot_be_done_is_said_in_a_sentence(running, owner):
    (ana,) = await running.table("Ana")
    for arguments, sentence in (
        (["close", "NONE"], "There is no such table."),
        (["announce", "x", "--table", "NONE"], "There is no such table."),
        (["kick", ana.code, "Zed"], "Nobody of that name or seat number is there."),
        (["kick", ana.code, "2"], "Nobody of that name or seat number is there."),
        (["rename", ana.code, "Ana", "host"], "Somebody at this table has that name"),
        (["rename", ana.code, "Ana", "a\x1b[2Jb"], "A name"),
        (["rename", ana.code, "Ana", ""], "A name must not be empty."),
        (["announce", ""], "A chat message must not be empty."),
        (["announce", "x" * 281], "A chat message may have 280 characters"),
        (["announce", "x" * 9999], "That is no request."),
    ):
        said = await owner(*arguments, code=1)
        assert said.startswith(f"Error: {sentence}"), said
        assert said.count("\n") == 1
    await owner("kick", code=2)
    await owner("dance", code=2)
    await owner("tables")
    assert not owner.stopped.is_set()


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"tables\n",
        b"[]\n",
        b'{"do":"tables","more":1}\n',
        b'{"do":"read","table":"X"}\n',
        b'{"do":"kick","table":1,"who":2}\n',
        b"[" * 10_000 + b"\n",
        b'{"do":"announce","text":"\\ud800"}\n',
        b"\xff\xfe\n",
    ],
)
async def test_what_is_no_request_is_answered_too(owner, line):
    assert "error" in json.loads(await owner.raw(line))
    await owner("tables")


async def test_endless_and_broken_off_requests_end_alone(owner, caplog):
    assert await owner.raw(b"x" * 2 * control.LINE) == b""
    for half in (b"", b'{"do":"sto'):
        _, writer = await asyncio.open_unix_connection(owner.data / SOCKET)
        writer.write(half)
        writer.close()
    await owner("tables")
    assert not owner.stopped.is_set()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def ctl(data: Path, *arguments: str) -> Any:
    return CliRunner().invoke(main, ["ctl", "--data", str(data), *arguments])


def test_where_no_host_runs(tmp_path):
    left = tmp_path / "left"
    left.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(left / SOCKET))
    for folder in (tmp_path / "none", tmp_path, left):
        result = ctl(folder, "tables")
        assert result.exit_code == 1
        assert result.stderr == f"Error: No host runs on {folder}.\n"
    result = ctl(tmp_path / ("x" * 120), "tables")
    assert result.exit_code == 1
    assert "cannot be reached: AF_UNIX path too long." in result.stderr
    nasty = ctl(tmp_path / "a\x1b[2Jb", "stop")
    assert "\x1b" not in nasty.stderr


def test_what_answers_badly_is_no_host(tmp_path):
    with socket.socket(socket.AF_UNIX) as server, ThreadPoolExecutor(1) as pool:
        server.bind(str(tmp_path / SOCKET))
        server.listen()
        for answer, said in (
            (b"", "Error: The host has ended without an answer.\n"),
            (b"hello\n", "Error: What answers there is no host.\n"),
            (b"[]\n", "Error: What answers there is no host.\n"),
            (b'{"error": "a\\u001b[2Jb"}\n', "Error: a[2Jb\n"),
        ):
            asked = pool.submit(ctl, tmp_path, "tables")
            server.settimeout(30)
            peer, _ = server.accept()
            peer.recv(1000)
            peer.sendall(answer)
            peer.close()
            result = asked.result(timeout=30)
            assert (result.exit_code, result.stderr) == (1, said)


def test_the_folder_may_be_named_before_ctl_too(tmp_path):
    result = CliRunner().invoke(main, ["--data", str(tmp_path / "x"), "ctl", "stop"])
    assert result.stderr == f"Error: No host runs on {tmp_path / 'x'}.\n"


def test_help_fits_a_terminal():
    for arguments in ([], ["--help"], ["kick", "--help"], ["rename", "--help"]):
        result = CliRunner().invoke(main, ["ctl", *arguments], terminal_width=80)
        assert max(map(len, result.output.splitlines())) <= 80
    assert {"announce", "close", "kick", "rename", "stop", "tables"} <= set(
        CliRunner().invoke(main, ["ctl", "--help"]).output.split()
    )


# --- The file -----------------------------------------------------------------------------------


async def test_only_the_owner_can_open_the_file(owner):
    mode = (owner.data / SOCKET).lstat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    assert stat.S_IMODE(owner.data.stat().st_mode) == 0o700


AS_NOBODY = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as sock:
    try:
        sock.connect(sys.argv[1])
    except PermissionError:
        print("refused")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_somebody_else_cannot_open_it_even_in_a_folder_for_all(owner, tmp_path):
    path = owner.data / SOCKET
    for mode in (0o700, 0o777):
        owner.data.chmod(mode)
        opened = [f for f in path.parents if not f.stat().st_mode & 0o001]
        before = {folder: folder.stat().st_mode for folder in opened}
        try:
            if mode == 0o777:
                for folder in opened:
                    folder.chmod(0o755)
            done = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-I", "-c", AS_NOBODY, str(path)],
                capture_output=True, text=True, timeout=30, check=False,
            )  # fmt: skip
        finally:
            for folder, was in before.items():
                folder.chmod(was)
        assert (done.stdout, done.stderr) == ("refused\n", "")
    owner.data.chmod(0o700)
    await owner("tables")


async def test_the_file_of_a_dead_host_is_replaced_and_goes_with_the_host(running, tmp_path):
    path = tmp_path / "data" / SOCKET
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    one = Control(running.host, lambda: None)
    await one.start()
    assert await Owner(tmp_path / "data")("tables") == "No table is open.\n"
    one.stop()
    assert not path.exists()


async def test_a_host_that_ends_leaves_the_file_of_the_next_one(running, owner, tmp_path):
    one = Control(running.host, lambda: None)
    next_one = Control(running.host, lambda: None)
    await one.start()
    await next_one.start()
    one.stop()
    assert await owner("tables") == "No table is open.\n"
    next_one.stop()
    assert not (tmp_path / "data" / SOCKET).exists()


async def test_where_no_socket_can_be_the_host_says_so_and_runs(open_host, tmp_path, caplog):
    running = await open_host(data=tmp_path / ("x" * 100))
    blocked = await open_host(data=tmp_path / "blocked")
    kept = tmp_path / "blocked" / SOCKET
    kept.write_text("somebody's file")
    for host in (running.host, blocked.host):
        one = Control(host, lambda: None)
        await one.start()
        one.stop()
    assert [r.getMessage() for r in caplog.records] == [
        "qe-server ctl cannot reach this host: AF_UNIX path too long.",
        "qe-server ctl cannot reach this host: Address already in use.",
    ]
    assert kept.read_text() == "somebody's file"
    await running.peer()


# --- A whole host -------------------------------------------------------------------------------


async def test_stop_does_what_a_signal_does_and_waits_for_the_end(tmp_path):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "server", "--data", str(tmp_path / "data"), "--port", "0",
        "--bind", "127.0.0.1", "--no-tls", "--no-discovery", "--verbose", cwd=ROOT,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            await process.stdout.readline()
        owner = Owner(tmp_path / "data")
        await owner("tables")
        _, idle = await asyncio.open_unix_connection(owner.data / SOCKET)
        await owner("stop")
        assert not (tmp_path / "data" / SOCKET).exists()
        assert await owner("tables", code=1) == f"Error: No host runs on {tmp_path / 'data'}.\n"
        async with asyncio.timeout(10):
            _, errors = await process.communicate()
        assert process.returncode == 0
        assert b"the owner asks: stop" in errors
        assert b"Traceback" not in errors
        assert b"ERROR" not in errors
        idle.close()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
