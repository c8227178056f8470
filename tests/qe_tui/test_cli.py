"""The command line: what it refuses, how it ends, and what it leaves behind in the terminal."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from places import ROOT, Den, Terminal

from protocol.invitation import parse
from protocol.messages import AddBot, Create, Start
from protocol.trust import Pins
from qe_tui import cli, hosting
from qe_tui.cli import main
from qe_tui.settings import Home

Start_ = Callable[..., Terminal]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["--version"], ["join", "-h"], ["host", "--help"]]
)
def test_help_and_version_do_not_load_textual(arguments: list[str]) -> None:
    code = (
        "import sys; from qe_tui.cli import main\n"
        f"try: main({arguments!r}, prog_name='qe')\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('textual', 'rich')]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "qe" in done.stdout


def test_parameters_are_of_no_generic_type() -> None:
    """Those of click 8.1 to 8.3 are not, and would end the program as it is loaded."""
    assert "__orig_bases__" not in vars(cli._Read)


@pytest.mark.parametrize("by", ["AB:" * 31 + "AB", "10.0.0.5"])
def test_a_certificate_is_forgotten(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QE_HOME", str(tmp_path))
    pins = Pins(Home.find().pins)
    pins.pin("den", "10.0.0.5", 7373, "ab" * 32)
    pins.pin("attic", "10.0.0.6", 7373, "cd" * 32)
    assert "counts as its first" in CliRunner().invoke(main, ["forget", by]).output
    assert (pins.certificate("den"), pins.certificate("attic")) == (None, "cd" * 32)
    again = CliRunner().invoke(main, ["forget", by])
    assert again.exit_code == 2
    assert "No such certificate is known." in again.output


def test_help_shows_examples() -> None:
    shown = CliRunner().invoke(main, ["--help"], prog_name="qe").output
    assert "qe join 192.168.1.5" in shown
    assert all(command in shown for command in ("play", "host", "join", "watch", "tables"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["join"], "ADDRESS"),
        (["join", "no such place"], "no address"),
        (["join", "10.0.0.5:0"], "1 to 65535"),
        (["join", "10.0.0.5:http"], "1 to 65535"),
        (["join", "[::1"], "IPv6"),
        (["join", "10.0.0.5", "--table", "WOLFS"], "four letters"),
        (["join", "10.0.0.5", "--name", "x" * 21], "20"),
        (["join", "10.0.0.5", "--name", "a\x1b[2Jb"], "control"),
        (["watch", "qe://10.0.0.5/TOOLONG"], "four letters"),
        (["join", "qe://10.0.0.5/WOLF?fp=abc"], "64 hex digits"),
        (["tables", "no such place"], "no address"),
        (["tables", "--wait", "-1"], "range"),
        (["play", "--players", "6"], "range"),
        (["host", "--port", "70000"], "range"),
        (["host", "--title", "t" * 41], "40"),
        (["dance"], "dance"),
    ],
)
def test_wrong_usage_is_status_2(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(main, arguments, prog_name="qe")
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("arguments", [[], ["play"], ["host"], ["join", "10.0.0.5"]])
def test_without_a_terminal_it_refuses(arguments: list[str], home: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "qe_tui", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 2
    assert "terminal" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not home.data.joinpath("play").exists()


# --- qe tables ----------------------------------------------------------------------------------


def qe_tables(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`qe tables` where no terminal is, and nothing that draws screens may be loaded."""
    code = (
        "import sys; from qe_tui.cli import main\n"
        f"try: main({['tables', *arguments]!r}, prog_name='qe')\n"
        "finally:\n"
        "    drawn = {name.split('.')[0] for name in sys.modules} & {'textual', 'rich'}\n"
        "    assert not drawn, drawn"
    )
    return subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        cwd=ROOT, check=False, env={**os.environ, **environment},
    )  # fmt: skip


async def test_the_tables_at_an_address_are_printed(tls_den: Den, home: Home) -> None:
    guest = await tls_den.guest(home, "Bo")
    create = Create(game="qe", seats=3, title="[/b] ベッド", name="Bo", password="open sesame")
    code = (await guest.stay.ask(create))["table"]
    where = str(tls_den.where)
    printed = await asyncio.to_thread(qe_tables, where)
    assert printed.returncode == 0, printed.stderr
    heading, line = printed.stdout.splitlines()
    assert heading.split() == [
        "HOST",
        "ADDRESS",
        "TABLE",
        "TITLE",
        "STAGE",
        "PLAYERS",
        "FREE",
        "LOCK",
    ]
    assert line.split() == ["Den", where, code, "[/b]", "ベッド", "lobby", "1/3", "2", "password"]
    (listed,) = json.loads((await asyncio.to_thread(qe_tables, where, "--json")).stdout)
    assert listed["host_id"] == guest.welcome.host.id
    assert listed["fp"] == guest.stay.fingerprint
    assert (listed["table"], listed["free"], listed["locked"]) == (code, 2, True)
    invited = parse(listed["invitation"])
    assert invited == replace(tls_den.where, table=code, fingerprint=listed["fp"])
    # Looking pins nothing, but an invitation's certificate is checked here too.
    assert not home.pins.exists()
    wrong = replace(invited, fingerprint="ab" * 32).invitation
    refused = await asyncio.to_thread(qe_tables, wrong)
    assert refused.returncode == 2
    assert listed["fp"] in refused.stderr
    Pins(home.pins).pin(listed["host_id"], "127.0.0.1", tls_den.where.port, "cd" * 32)
    changed = await asyncio.to_thread(qe_tables, where)
    assert f"qe forget {'cd' * 32}" in changed.stderr


async def test_one_address_that_fails_hides_no_other(den: Den, home: Home) -> None:
    printed = await asyncio.to_thread(qe_tables, str(den.where), "127.0.0.1:1", "--no-tls")
    assert printed.returncode == 2
    assert "no table yet" in printed.stdout
    assert printed.stderr.count("\n") == 1
    assert "127.0.0.1:1" in printed.stderr


def test_where_none_is_found_it_says_so(home: Home) -> None:
    printed = qe_tables("--wait", "0.2", "--json")
    assert (printed.returncode, json.loads(printed.stdout)) == (0, [])
    assert "QE_NO_DISCOVERY" in printed.stderr
    assert "No host was found" in printed.stderr
    assert qe_tables("--broker", "http://example.org").returncode == 2


# --- Endings ------------------------------------------------------------------------------------


def test_a_host_that_is_not_there_is_one_sentence(terminal: Start_, home: Home) -> None:
    qe = terminal("join", "127.0.0.1:1")
    assert qe.status() == 2
    assert "127.0.0.1:1" in qe.text
    assert qe.text.strip().count("\n") == 0
    assert "\x1b[?1049h" not in qe.text, "the screen was taken"


async def test_an_unknown_table_is_said_before_the_screen_is_taken(
    terminal: Start_, den: Den, home: Home
) -> None:
    guest = await den.guest(home, "Bo")
    code = (await guest.stay.ask(Create(game="qe", seats=3, title="", name="Bo")))["table"]
    other = "ABBA" if code != "ABBA" else "ABBE"
    qe = terminal("join", str(den.where), "--no-tls", "--table", other.lower())
    assert await asyncio.to_thread(qe.status) == 2
    assert other in qe.text
    assert code in qe.text, "it says which tables there are"
    assert "\x1b[?1049h" not in qe.text


async def test_a_changed_certificate_is_refused_with_both_fingerprints(
    terminal: Start_, tls_den: Den, home: Home
) -> None:
    known = "ab" * 32
    Pins(home.pins).pin("another", tls_den.where.address, tls_den.where.port, known)
    qe = terminal("watch", str(tls_den.where))
    assert await asyncio.to_thread(qe.status) == 2
    assert known in qe.text
    assert "Traceback" not in qe.text


def test_ctrl_q_leaves_the_menu_as_it_was(terminal: Start_) -> None:
    qe = terminal()
    qe.wait_for("Play now")
    qe.press("\x11")
    assert qe.status() == 0
    assert qe.restored
    assert qe.text.rsplit("\x1b[?1049l", 1)[1].find("Traceback") < 0


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_restores_the_terminal(terminal: Start_, name: str) -> None:
    qe = terminal()
    qe.wait_for("Play now")
    qe.process.send_signal(getattr(signal, name))
    assert qe.status() == 128 + getattr(signal, name)
    assert qe.restored


async def test_ctrl_q_says_how_to_come_back_and_that_command_does(
    terminal: Start_, den: Den, home: Home
) -> None:
    guest = await den.guest(home, "Bo")
    code = (await guest.stay.ask(Create(game="qe", seats=3, title="", name="Bo")))["table"]
    where = str(den.where)
    first = terminal("join", where, "--no-tls", "--name", "Ana O'Hara")
    await asyncio.to_thread(first.wait_for, "LOBBY")
    first.press("\x11")
    assert await asyncio.to_thread(first.status) == 0
    assert first.restored
    command = f"qe join {where} --table {code} --name 'Ana O'\"'\"'Hara' --no-tls"
    kept = f"Your seat at table {code} is kept for a minute."
    assert f"{kept} Come back with: {command}" in first.text
    # The game goes on to its start meanwhile; then nobody could join by that name.
    await guest.stay.ask(AddBot())
    await guest.stay.ask(Start())
    again = terminal("join", where, "--table", code, "--name", "Ana O'Hara", "--no-tls")
    await asyncio.to_thread(again.wait_for, "auction")
    again.press("\x11")
    assert await asyncio.to_thread(again.status) == 0


def test_a_host_may_run_on_and_is_come_back_to(terminal: Start_, home: Home) -> None:
    port = str(free_port())
    first = terminal("host", "--port", port, "--name", "Ana", "--title", "Friday", "--password",
                     QE_PASSWORD="open sesame")  # fmt: skip
    first.wait_for("Friday")
    first.wait_for("Tell the others")
    first.press("\x11")
    first.wait_for("run on for the others?")
    assert first.restored, "the question is asked when the screen is gone"
    first.press("\r")
    assert first.status() == 0
    assert "qe host --stop" in first.text
    told = first.text.rsplit("The host runs on", 1)[1]
    said = re.search(r"Say aloud:  qe join (\S+)", told)
    sent = re.search(r"Or send:  qe join '(\S+)'", told.replace("\r\n", "\n"))
    assert said
    assert sent
    invited = parse(sent[1])
    assert (invited.short, invited.tls) == (said[1], True)
    assert invited.table
    assert invited.fingerprint
    assert "Say aloud:" in first.text.split("\x1b[?1049h", 1)[0], "before the screen is taken"
    assert f"Come back with: qe host --name Ana --port {port}" in first.text
    running = hosting.remembered(home.data / "host")
    assert running is not None
    assert hosting.alive(running.pid)
    secret = Path(f"/proc/{running.pid}/environ")
    assert not secret.exists() or b"open sesame" not in secret.read_bytes()

    again = terminal("host", "--name", "Ana")
    again.wait_for("Friday")
    again.press("\x11")
    again.wait_for("run on for the others?")
    again.press("n\r")
    assert again.status() == 0
    assert "has stopped" in again.text
    assert not hosting.alive(running.pid)


def test_a_host_that_cannot_start_is_one_sentence(terminal: Start_, home: Home) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = str(taken.getsockname()[1])
        qe = terminal("host", "--port", port)
        assert qe.status() == 2
    assert port in qe.text
    assert qe.text.strip().count("\n") == 0
    assert "\x1b[?1049h" not in qe.text


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def test_a_crash_shows_no_locals_and_names_the_log(terminal: Start_, home: Home) -> None:
    code = """
from qe_tui.screens.menu import MenuScreen
from qe_tui.cli import main
def rename(self):
    secret_bid = "9182736450"
    raise ValueError(f"cannot print {secret_bid}")
MenuScreen.action_rename = rename
main([], prog_name="qe")
"""
    qe = terminal(code=code)
    qe.wait_for("Play now")
    qe.press("n")
    assert qe.status() == 1
    assert qe.restored
    assert str(home.log) in qe.text.replace("\r\n", "")
    log = home.log.read_text()
    assert "ValueError" in log
    assert "rename" in log
    for where in (qe.text, log):
        assert "9182736450" not in where
    assert "Traceback" not in qe.text
