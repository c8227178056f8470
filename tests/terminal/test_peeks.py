"""Five terminals: the peek, in an auction and while a tie is broken."""

from __future__ import annotations

import re

import pytest
from director import Bid, Director, auction, board_row, seated
from tmux import Screen, Steps, Terminal

NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")
TIED = 3


def script(number: int, name: str, stage: int | None) -> Bid:
    if stage is None:
        return str(100 + number), 100 + number
    if stage == 0 and number == TIED and name in ("Ana", "Bo", "Cy"):
        return "8.080808m", 8_080_808
    place = NAMES.index(name) + 1
    # Not in the order of the seats, and not in the same order every time.
    amount = 1_000_000 * (1 + (place * (number + 1)) % 7) + 111_000 * place + 7 * number + 1
    return str(amount), amount


def may_peek(play: Director, number: int) -> list[str]:
    """Who may peek at an auction, and does not open the next one."""
    knows = {play.auctioneer(number), play.winner(number).name}
    after = (play.seats.index(play.auctioneer(number)) + 1) % 5
    return [name for name in NAMES if name not in knows and name != play.seats[after]]


def peek(play: Director, terminal: Terminal, name: str, number: int) -> Steps:
    amount = play.winner(number).amount
    play.peeks.add((name, number))
    assert f"{amount:,}" not in terminal.screen
    terminal.keys("F2")
    yield lambda: f"{amount:,}" in terminal.screen


@pytest.mark.long
def test_two_peek(tmux, run_host, open_terminal) -> None:
    host = run_host("--players", "5", "--seed", "peeks")
    players = {}
    for name in NAMES:
        players[name] = open_terminal(name, "join", *host.at, "--name", name)
        players[name].wait_for(seated, "a seat")
    for terminal in players.values():
        terminal.wait_for("auction 1/15")
    play = Director(tmux, players, script)

    play.play(until=2)
    tmux.look(play.everybody)
    first = may_peek(play, 1)[0]
    players[first].wait_for("peeks at the price, once a game")
    players[first].wait_for("F2 peek")
    tmux.act({players[first]: peek(play, players[first], first, 1)}, watched=play.everybody)
    players[first].wait_for("You peeked: ")
    players[first].wait_for(lambda screen: "F2" not in screen, "no F2 any more")
    for name in NAMES:
        if name != first:
            players[name].wait_for(
                lambda screen: (
                    re.search(r"[0.-] +#?1(  +\w+)?$", board_row(screen, first)) is not None
                ),
                f"that {first} has peeked",
            )
    nobody_else(play, first)

    play.play(until=3)
    second = next(name for name in may_peek(play, 2) if name != first)
    players[second].wait_for("F2 peek")

    looked: list[str] = []

    def while_the_tie_is_broken(name: str, screen: Screen) -> Steps:
        if "A TIE" not in screen.todo:
            return
        if not looked:
            looked.append(name)
            yield lambda: all("TIE" in other.screen.todo for other in players.values())
            yield from peek(play, players[second], second, 2)
            looked.append("done")
        yield lambda: len(looked) == 2

    play.play(until=4, between=while_the_tie_is_broken)
    assert len(looked) == 2
    assert any("A TIE" in s.todo and auction(s) == TIED for s in play.seen[second])
    nobody_else(play, second)


def nobody_else(play: Director, name: str) -> None:
    """Nobody but those who know it has had the peeked amount on the screen."""
    number = next(number for who, number in play.peeks if who == name)
    amount = f"{play.winner(number).amount:,}"
    knows = {play.auctioneer(number), play.winner(number).name, name}
    for other in NAMES:
        written = play.players[other].written.decode()
        assert (amount in written) == (other in knows), f"{other}, {amount}"
