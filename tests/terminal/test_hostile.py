"""What others write stays text, whatever it is: from a guest at the table, and from a host."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from director import ENTER_AFTER, REACTION
from guest import Guest
from rogue import Rogue
from tmux import Screen, Terminal

from protocol.messages import React

CLOSING, CLICK = "[/b]", "[@click=app.quit]x"


def check_whole(terminal: Terminal) -> Screen:
    """The screen has its frame, its title is untouched, and nothing was written that acts."""
    screen = terminal.look()
    assert screen.header.startswith(" QE ")
    assert len(screen.lines) == 25
    assert terminal.ask("#{pane_title}#{window_name}").count("PWNED") == 0
    written = terminal.written.decode()
    # The program itself sets modes and colours, moves the cursor, rings the bell, and chooses a
    # pointer for the mouse, which is the one string that a terminal is sent.
    controls = r"[\x80-\x9f]|[\x00-\x06\x08\x0b-\x0c\x0e-\x1a]"
    acts = re.findall(rf"\x1b(?!\[|]22;)[^\x1b]|{controls}", written)
    assert set(acts) <= {"\x1b>", "\x1b=", "\x1bP"}, set(acts)
    assert not set("\u202e\u2066\u2069\u200b\u00ad\ufeff") & set(written)
    return screen


@pytest.mark.long
def test_a_guest_with_such_a_name_who_says_such_things(tmux, run_host, open_terminal) -> None:
    host = run_host("--players", "3", "--seed", "late")
    ana = open_terminal("ana", "join", *host.at, "--name", "Ana")
    ana.wait_for("LOBBY")
    bo = Guest(host.port, CLOSING)
    ana.wait_for(CLOSING)
    bo.say(f"{CLOSING} {CLICK} [bold red]what? [")
    ana.wait_for(f"{CLOSING}: {CLOSING} {CLICK} [bold red]what? [")
    cy = Guest(host.port, CLICK)
    ana.wait_for(f"auctioneer {CLICK[:11]}")
    for kind in ("gasp", "laugh", "poker", "applause"):
        cy.ask(React(kind=kind))  # type: ignore[arg-type]
    cy.say(f"{CLICK}[/]")
    cy.bid(100)
    ana.wait_for(">>> YOUR SECRET BID.")
    ana.keys("/")
    ana.wait_for(f"{CLICK}[/]")
    ana.type(f"{CLOSING} yourself", "Enter")
    ana.wait_for(lambda screen: "Enter says it" not in screen)
    ana.wait_for(f"Ana: {CLOSING} yourself")
    bo.bid(0)
    time.sleep(REACTION)
    ana.type("1000")
    ana.wait_for(" 1,000 ")
    time.sleep(ENTER_AFTER)
    ana.keys("Enter")
    ana.wait_for(">>> YOU OPEN.")
    for key in ("Tab", "?"):
        ana.keys(key)
        ana.wait_for(lambda screen: ">>> YOU OPEN." not in screen)
        ana.keys("Escape")
        ana.wait_for(lambda screen: ">>> YOU OPEN." in screen)
    check_whole(ana)
    for guest in (bo, cy):
        guest.close()
    ana.wait_for("AWAY")
    check_whole(ana)


@pytest.fixture
def rogue() -> Iterator[Rogue]:
    host = Rogue()
    yield host
    host.close()


def test_a_host_that_means_harm(tmux, open_terminal, rogue) -> None:
    ana = open_terminal("ana", "join", f"127.0.0.1:{rogue.port}", "--no-tls", "--name", "Ana")
    ana.wait_for("Choose a table")
    check_whole(ana)
    ana.keys("Enter")
    ana.wait_for(">>> YOUR SECRET BID.")
    check_whole(ana)
    time.sleep(REACTION)
    ana.type("1000")
    ana.wait_for(" 1,000 ")
    time.sleep(ENTER_AFTER)
    ana.keys("Enter")
    ana.wait_for("[@click=app.quit]here")
    check_whole(ana)
    ana.keys("/")
    ana.wait_for("Enter says it")
    check_whole(ana)
    ana.keys("Escape")
    ana.wait_for(lambda screen: "Enter says it" not in screen)

    # Messages that make no sense, and half a frame: a new connection, and the game goes on.
    rogue.send(type="unheard of", text="\x1b]0;PWNED\x07")
    before = len(rogue.peers)
    rogue.half_a_frame()
    ana.wait_for("CONNECTION LOST.")
    check_whole(ana)
    ana.wait_for(lambda screen: len(rogue.peers) > before and "CONNECTION LOST." not in screen)
    check_whole(ana)

    # A view in which a seat is awaited that there is not: said in a sentence, until it makes sense.
    rogue.show(waiting=[7])
    ana.wait_for("things that make no sense")
    check_whole(ana)
    rogue.show()
    ana.wait_for(lambda screen: "WOLF" in screen and "no sense" not in screen)

    # A goodbye for good.
    rogue.send(type="bye", code="table_closed", message="\x1b]0;PWNED\x07[/b]")
    ana.wait_for(lambda screen: "CLOSED" in screen and "WOLF" not in screen)
    check_whole(ana)
