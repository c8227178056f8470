"""The command `qe-server`, run as people run it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import signal
import socket
import sqlite3
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from protocol import messages as m
from protocol.client import connect
from server.cli import main
from server.journal import APPLICATION_ID

ROOT = Path(__file__).parents[2]
Run = Callable[..., Awaitable[tuple[asyncio.subprocess.Process, list[str]]]]


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    """Starts a host of its own; gives its process and the lines up to the certificate's."""
    started: list[asyncio.subprocess.Process] = []

    async def start(*arguments: str) -> tuple[asyncio.subprocess.Process, list[str]]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "server", "--data", str(tmp_path / "data"), "--port", "0",
            *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        lines: list[str] = []
        async with asyncio.timeout(20):
            while line := await process.stdout.readline():
                lines.append(line.decode().rstrip("\n"))
                if line.startswith(b"certificate") or "--no-tls" in arguments:
                    break
        return process, lines

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


def port_of(lines: list[str]) -> int:
    found = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)", lines[0])
    assert found is not None, lines
    return int(found[1])


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """The status and what was said on standard error."""
    async with asyncio.timeout(15):
        _, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, errors.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_says_where_it_listens_and_ends_when_asked_to(run, number, tmp_path):
    process, lines = await run("--bind", "127.0.0.1", "--name", "A name", "--verbose")
    assert len(lines) == 2
    fingerprint = lines[1].removeprefix("certificate ")
    client = await connect("127.0.0.1", port_of(lines), fingerprint=fingerprint)
    assert client.welcome.host.name == "A name"
    create = m.Create(game="qe", seats=3, title="", name="Ana")
    table = (await client.ask(create))["table"]
    await client.next()
    process.send_signal(number)
    status, errors = await ended(process)
    await client.close()
    assert status == 0
    assert f"Ana opened table {table}" in errors
    assert "Traceback" not in errors
    folder = tmp_path / "data"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir() if p.name != "lock"} == {0o600}
    assert (folder / "journal.sqlite3").exists()


async def test_every_flag_is_heeded(run, tmp_path):
    process, lines = await run(
        "--bind", "127.0.0.1", "--no-tls", "--players", "4", "--bots", "3", "--bot-delay", "0",
        "--seed", "golden", "--max-tables", "3", "--max-connections", "3", "--name", "Zoë",
    )  # fmt: skip
    client = await connect("127.0.0.1", port_of(lines), tls=False)
    (info,) = (await client.ask(m.Tables()))["tables"]
    assert (info["standing"], info["seats"], info["bots"]) == (True, 4, 3)
    await client.ask(m.Join(table=info["table"], name="Ana"))
    while True:
        view = await client.next()
        if isinstance(view, m.View) and view.game is not None:
            break
    assert view.game["commitment"] == hashlib.sha256(b"golden/1").hexdigest()
    await client.close()
    # A second host on that folder, and one on that port, say what is wrong.
    second, lines_of_second = await run("--bind", "127.0.0.1", "--no-tls")
    assert lines_of_second == []
    status, said = await ended(second)
    assert status == 2
    assert said.startswith("Error: Another host runs on the data folder ")
    assert said.count("\n") == 1
    third, _ = await run("--bind", "127.0.0.1", "--no-tls", "--port", str(port_of(lines)),
                         "--data", str(tmp_path / "other"))  # fmt: skip
    status, errors = await ended(third)
    assert status == 2
    where = f"127.0.0.1:{port_of(lines)}"
    assert errors.startswith(f"Error: Cannot listen on {where}: Address already in use; --port")
    process.terminate()
    assert (await ended(process))[0] == 0


async def test_a_host_for_everybody_says_all_its_addresses(run):
    process, lines = await run()
    assert lines[0].startswith("listening on ")
    ports = {line.rsplit(":", 1)[1] for line in lines[:-1]}
    assert len(ports) == 1
    assert f"127.0.0.1:{ports.pop()}" in lines[-2]
    assert all(line.startswith("also on ") for line in lines[1:-1])
    assert not any("0.0.0.0" in line for line in lines)
    process.terminate()
    assert (await ended(process))[0] == 0


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
async def test_an_ipv6_address_is_shown_as_one_types_it(run):
    process, lines = await run("--bind", "::1", "--no-tls")
    if not lines:
        pytest.skip("this machine has no IPv6 loopback: " + (await ended(process))[1])
    assert re.fullmatch(r"listening on \[::1\]:\d+", lines[0])
    process.terminate()
    assert (await ended(process))[0] == 0


# --- What it cannot do is said in a sentence ----------------------------------------------------


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(main, arguments)


def fails(tmp_path: Path, *arguments: str) -> str:
    """The last line that is said where the host cannot start; the status is 2."""
    folder = ["--data", str(tmp_path / "data")] if "--data" not in arguments else []
    result = invoke("--bind", "127.0.0.1", "--port", "0", *folder, *arguments)
    assert result.exit_code == 2, result.exception
    assert "Traceback" not in result.output
    line: str = result.stderr.rstrip("\n").rsplit("\n", 1)[-1]
    assert line.startswith("Error: ")
    return line


async def test_a_journal_that_is_none_is_set_aside(run, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "journal.sqlite3").write_bytes(b"a diary, not a journal" * 99)
    process, lines = await run("--bind", "127.0.0.1", "--no-tls")
    port_of(lines)
    process.terminate()
    status, errors = await ended(process)
    assert status == 0
    assert "set aside" in errors
    (aside,) = (tmp_path / "data").glob("*set-aside*")
    assert aside.read_bytes().startswith(b"a diary")


def test_a_journal_of_a_newer_version(tmp_path):
    (tmp_path / "data").mkdir()
    db = sqlite3.connect(tmp_path / "data" / "journal.sqlite3")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("PRAGMA user_version = 99")
    db.close()
    assert fails(tmp_path).startswith("Error: The journal was written by a newer version of this")


def test_a_certificate_that_is_none(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("certificate.pem", "key.pem"):
        (tmp_path / "data" / name).write_text("none")
    assert fails(tmp_path).startswith("Error: The certificate cannot be used")


@pytest.mark.parametrize("address", ["no host", "a..b", "203.0.113.7"])
def test_an_address_that_is_not_ours(address, tmp_path):
    line = fails(tmp_path, "--no-tls", "--bind", address)
    assert re.fullmatch(rf"Error: Cannot listen on {re.escape(address)}:0: [A-Za-z' ]+\.", line)
    assert "Unknown error" not in line


# --- What is refused before anything is done --------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--players", "2"], "--players"),
        (["--players", "6"], "--players"),
        (["--players", "-1"], "--players"),
        (["--players", "four"], "--players"),
        (["--bots", "1"], "--bots"),
        (["--players", "4", "--bots", "4"], "--bots"),
        (["--players", "4", "--bots", "-1"], "--bots"),
        (["--turn-seconds", "30"], "--turn-seconds"),
        (["--players", "4", "--turn-seconds", "86401"], "--turn-seconds"),
        (["--players", "4", "--turn-seconds", "-1"], "--turn-seconds"),
        (["--port", "65536"], "--port"),
        (["--port", "-1"], "--port"),
        (["--port", "http"], "--port"),
        (["--bot-delay", "-1"], "--bot-delay"),
        (["--bot-delay", "nan"], "--bot-delay"),
        (["--bot-delay", "inf"], "--bot-delay"),
        (["--max-tables", "0"], "--max-tables"),
        (["--max-tables", "1000000"], "--max-tables"),
        (["--max-connections", "0"], "--max-connections"),
        (["--name", "x" * 41], "--name"),
        (["--name", "a\x1b[2Jb"], "--name"),
        (["--seed", "a\udcffb"], "--seed"),
        (["--data", __file__], "--data"),
        (["--speed", "9"], "--speed"),
        (["WOLF"], "WOLF"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(arguments, hint, tmp_path):
    assert hint in fails(tmp_path, *arguments)
    assert not (tmp_path / "data").exists()


def test_help_and_version():
    result = invoke("--help")
    assert result.exit_code == 0
    for flag in ("--bind", "--port", "--name", "--data", "--no-tls", "--players", "--bots",
                 "--turn-seconds", "--bot-delay", "--seed", "--max-tables",
                 "--max-connections"):  # fmt: skip
        assert flag in result.output
    assert invoke("-h").output == result.output
    assert max(map(len, result.output.splitlines())) <= 80
    version = invoke("--version")
    assert version.exit_code == 0
    assert re.fullmatch(r"qe-server, version \S+\n", version.output)
