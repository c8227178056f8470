"""The host is killed in the middle of a game, and started again."""

from __future__ import annotations

import pytest
from director import Bid, Director, seated
from tmux import Steps, Terminal

NAMES = ("Ana", "Bo", "Cy")


def script(number: int, name: str, stage: int | None) -> Bid:
    amount = 10 * number if stage is None else 1_000_000 * number + 1000 * NAMES.index(name) + 7
    return str(amount), amount


@pytest.mark.long
def test_the_terminals_play_on(tmux, run_host, open_terminal) -> None:
    host = run_host("--players", "3", "--seed", "lost")
    players: dict[str, Terminal] = {}
    for name in NAMES:
        players[name] = open_terminal(name, "join", *host.at, "--name", name)
        players[name].wait_for(seated, "a seat")
    play = Director(tmux, players, script)
    for terminal in players.values():
        terminal.wait_for("auction 1/16")
    play.play(until=2)

    host.kill()

    def lost(terminal: Terminal) -> Steps:
        yield lambda: "CONNECTION LOST." in terminal.screen
        assert "auction 2/16" in terminal.screen.header

    tmux.act({terminal: lost(terminal) for terminal in players.values()}, "a banner")
    host.start()

    def back(terminal: Terminal) -> Steps:
        yield lambda: "CONNECTION LOST." not in terminal.screen

    tmux.act({terminal: back(terminal) for terminal in players.values()}, "the banner goes")
    play.play(until=4)
    for terminal in players.values():
        terminal.keys("C-q")
    for terminal in players.values():
        assert terminal.status() == 0
        assert "Come back with: qe join" in terminal.scrolled()
