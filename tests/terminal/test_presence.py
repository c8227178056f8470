"""A player's program is killed: a computer stands in, the seat is given back, and given on."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from tmux import Steps, Terminal, Tmux

from protocol.frames import HEADER_SIZE, LIMIT_FROM_HOST, payload_length, request_frame, unpack
from protocol.messages import VERSION, Body, Create, Hello, Leave


class Opener:
    """Opens a table that waits for nobody longer than a second, and goes."""

    def __init__(self, port: int) -> None:
        self._line = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._file = self._line.makefile("rb")
        self._ask(1, Hello(versions=[VERSION], client="a test"))
        options = {"away_seconds": 1}
        self._ask(2, Create(game="qe", seats=3, title="", name="Opener", options=options))

    def _ask(self, id: int, body: Body) -> None:
        self._line.sendall(request_frame(id, body))
        while True:
            length = payload_length(self._file.read(HEADER_SIZE), LIMIT_FROM_HOST)
            fields = unpack(self._file.read(length))
            if fields.get("id") == id:
                assert fields["type"] == "ok", fields
                return

    def leave(self) -> None:
        self._ask(3, Leave())
        self._file.close()
        self._line.close()


def row(terminal: Terminal, name: str) -> str:
    """What the table's board says of a player."""
    lines = terminal.screen.lines
    heads = [n for n, line in enumerate(lines) if "PLAYER" in line and "NOW" in line]
    board = lines[heads[0] :] if heads else []
    return next((line for line in board if f" {name} " in line), "")


def press(terminal: Terminal, key: str, question: str, done: Callable[[], bool]) -> Steps:
    """Presses a key now and again until it has asked its question, and says yes to that."""

    def ready() -> bool:
        if not done():
            terminal.keys("y" if question in terminal.screen.text else key)
        return done()

    yield ready


def test_killed_stood_in_for_back_and_taken_over(
    tmux: Tmux,
    run_host: Callable[..., object],
    open_terminal: Callable[..., Terminal],
    tmp_path: Path,
) -> None:
    host = run_host("--bot-delay", "30", "--seed", "presence")
    opener = Opener(host.port)  # type: ignore[attr-defined]
    join = ("join", *host.at, "--name")  # type: ignore[attr-defined]

    ana = open_terminal("ana", *join, "Ana")
    ana.wait_for("LOBBY")
    opener.leave()
    bo = open_terminal("bo", *join, "Bo")
    bo.wait_for("LOBBY")
    ana.wait_for(lambda screen: "Bo" in screen and "a Computer" in screen)
    ana.keys("a")
    ana.wait_for("Everybody is here.")
    ana.keys("s")
    for terminal in (ana, bo):
        terminal.wait_for(">>> ")

    os.kill(bo.pid, signal.SIGKILL)
    ana.wait_for(lambda screen: "AWAY" in row(ana, "Bo"))
    called = press(ana, "F5", "a computer play for Bo?", lambda: "computer" in row(ana, "Bo"))
    tmux.act({ana: called}, "a stand-in")

    again = open_terminal("again", *join, "Bo", QE_HOME=str(tmp_path / "home-bo"))
    again.wait_for(">>> ")
    assert "YOU ARE WATCHING" not in again.screen
    ana.wait_for(lambda screen: row(ana, "Bo") and "computer" not in row(ana, "Bo"))

    os.kill(again.pid, signal.SIGKILL)
    ana.wait_for(lambda screen: "AWAY" in row(ana, "Bo"))
    freed = press(ana, "F6", "Free Bo's seat?", lambda: "free" in row(ana, "Bo"))
    tmux.act({ana: freed}, "a free seat")

    zed = open_terminal("zed", *join, "Zed")
    zed.wait_for(">>> ")
    assert "YOU ARE WATCHING" not in zed.screen
    ana.wait_for(lambda screen: "free" not in row(ana, "Zed") and row(ana, "Zed"))

    late = open_terminal("late", *join, "Bo", QE_HOME=str(tmp_path / "home-bo"))
    late.wait_for("No seat is free at table")
    late.keys("w")
    late.wait_for("YOU ARE WATCHING")
