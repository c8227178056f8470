"""Terminals as they come: small, without colours, resized; and the way in through the menu."""

from __future__ import annotations

import re
import time

import pytest
from director import ENTER_AFTER, REACTION, write
from tmux import Screen, Steps, Terminal


@pytest.fixture
def host(run_host):
    return run_host("--players", "3", "--bots", "2", "--bot-delay", "0", "--seed", "terminals")


def test_from_the_menu_to_the_first_bid(tmux, open_terminal) -> None:
    ana = open_terminal("ana")
    screen = ana.wait_for("Play now")
    assert "Host a table" in screen
    assert "Join a table" in screen
    ana.keys("p")
    ana.wait_for("How many players")
    ana.keys("Enter")
    # Whatever seat one has: sooner or later one is asked for a bid.
    before = seated(ana).todo

    def bid() -> Steps:
        yield from write(ana, "12.5k", 12_500)
        yield lambda: ana.screen.todo != before

    tmux.act({ana: bid()})
    ana.keys("C-q")
    assert ana.status() == 0
    assert "Your game is kept. Go on with it: qe play" in ana.scrolled()


def said(screen: Screen) -> str:
    """What a screen says, on however many lines."""
    return " ".join(screen.text.split())


def seated(ana: Terminal) -> Screen:
    """Waits until a bid is asked for."""
    ana.wait_for(lambda screen: re.search(r">>> YOU(R SECRET BID| OPEN)\.", screen.todo))
    time.sleep(REACTION)
    return ana.screen


def test_a_terminal_that_is_too_small_says_so_and_loses_nothing(host, open_terminal) -> None:
    ana = open_terminal("ana", "join", *host.at, "--name", "Ana", size=(60, 18))
    sentence = "80 columns and 24 rows; there are 60 by 18"
    screen = ana.wait_for(lambda screen: sentence in said(screen), sentence)
    assert all(len(line) <= 60 for line in screen.lines)
    ana.resize(80, 24)
    seated(ana)
    ana.type("4321")
    ana.wait_for(" 4,321 ")
    ana.resize(79, 24)
    ana.wait_for(lambda screen: "there are 79 by 24" in said(screen))
    ana.resize(80, 24)
    ana.wait_for(" 4,321 ")


def test_larger_and_back_again(host, open_terminal) -> None:
    ana = open_terminal("ana", "join", *host.at, "--name", "Ana")
    seated(ana)
    ana.type("4321")
    ana.wait_for(" 4,321 ")
    small = ana.wait_for("Enter opens").text
    ana.resize(120, 40)
    large = ana.wait_for(lambda screen: len(screen.lines) > 40 and "^Q leave" in screen.lines[39])
    assert small.split("\n")[2].strip() in large
    assert " 4,321 " in large
    assert re.search("LEDGER", large.text, re.I)
    assert re.search("CHAT", large.text, re.I)
    assert any(len(line) > 100 for line in large.lines)
    ana.resize(80, 24)
    ana.wait_for(lambda screen: screen.text == small, "the same screen as before")
    time.sleep(ENTER_AFTER)
    todo = ana.screen.todo
    ana.keys("Enter")
    ana.wait_for(lambda screen: screen.todo != todo)


@pytest.mark.parametrize(
    ("environment", "colours"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": ""}, r"[34]8;5;\d+"),
        ({"NO_COLOR": "1"}, r"[34]8;2;(\d+);\1;\1"),
    ],
    ids=["256 colours", "no colours"],
)
def test_other_colours(host, open_terminal, environment, colours) -> None:
    ana = open_terminal("ana", "join", *host.at, "--name", "Ana", **environment)
    screen = seated(ana)
    assert "auction 1/16" in screen.header
    written = set(re.findall(r"[34]8;[25];[\d;]+", ana.coloured()))
    assert written
    assert all(re.fullmatch(colours, colour) for colour in written), written
