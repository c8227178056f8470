"""The rules against sending the wrong thing, with two guests who decide when a step closes."""

from __future__ import annotations

import time

import pytest
from director import ENTER_AFTER, REACTION
from guest import Guest
from tmux import Terminal

SOON = 0.38
"""Seconds within which Enter was surely pressed while it does nothing."""


@pytest.fixture
def table(run_host, open_terminal):
    """Ana in a terminal, and two guests: Cy opens, and Ana after him."""
    # With this seed the third to sit down opens first.
    host = run_host("--players", "3", "--seed", "late")
    ana = open_terminal("ana", "join", *host.at, "--name", "Ana")
    ana.wait_for("LOBBY")
    bo, cy = Guest(host.port, "Bo"), Guest(host.port, "Cy")
    yield ana, bo, cy
    bo.close()
    cy.close()


def seal(ana: Terminal, typed: str) -> None:
    time.sleep(REACTION)
    ana.type(typed)
    ana.wait_for(lambda screen: f" {typed} " in screen)
    time.sleep(ENTER_AFTER)
    ana.keys("Enter")
    ana.wait_for(">>> SEALED.")


def test_a_change_that_came_too_late_is_no_opening_bid(table) -> None:
    ana, bo, cy = table
    cy.bid(100)
    ana.wait_for(">>> YOUR SECRET BID.")
    seal(ana, "300")
    ana.type("987654")
    ana.wait_for("987,654")
    bo.bid(0)
    screen = ana.wait_for(">>> YOU OPEN.")
    screen = ana.wait_for("Closed before your change; 300 stood.")
    assert "auction 2/16" in screen.header
    assert "987" not in screen
    # However often Enter is pressed: nothing is opened.
    for _ in range(3):
        ana.keys("Enter")
        time.sleep(0.25)
    game = cy.look()["game"]
    assert (game["phase"], game["opening"], game["auction"]) == ("opening", None, 2)
    assert ">>> YOU OPEN." in ana.look().todo
    assert b"987654" not in ana.written


def test_keys_that_arrive_in_one_write_are_taken_in_their_order(table) -> None:
    ana, bo, cy = table
    cy.bid(100)
    ana.wait_for(">>> YOUR SECRET BID.")
    time.sleep(REACTION)
    ana.type("700")
    ana.wait_for(" 700 ")
    time.sleep(ENTER_AFTER)
    ana.keys("BSpace", "5", "Enter")
    ana.wait_for(">>> SEALED.")
    bo.bid(0)
    known = cy.look()["you"]["known"]
    assert [bid["amount"] for bid in known if bid["seat"] == 0] == ["705"]


def test_enter_does_nothing_right_after_the_focus_has_moved(table) -> None:
    ana, bo, cy = table
    cy.bid(100)
    ana.wait_for(">>> YOUR SECRET BID.")
    time.sleep(REACTION)
    ana.type("777")
    ana.wait_for(" 777 ")
    ana.keys("/")
    ana.wait_for("Enter says it")
    # Enter twice, as it happens: the second one reaches the table, at once.
    ana.type("hello there", "Enter", "Enter")
    ana.wait_for(lambda screen: "Ana: hello there" in screen and "Enter says it" not in screen)
    assert ">>> YOUR SECRET BID." in ana.screen.todo
    assert " 777 " in ana.screen
    bo.look()
    assert [said["text"] for said in bo.said] == ["hello there"]
    assert len(bo.view["game"]["waiting"]) == 2
    time.sleep(ENTER_AFTER)
    ana.keys("Enter")
    ana.wait_for(">>> SEALED.")


def test_enter_does_nothing_right_after_a_step_has_begun(table) -> None:
    ana, bo, cy = table
    ana.wait_for("Cy writes the opening bid")
    asked = time.monotonic()
    cy.bid(100)
    ana.wait_for(">>> YOUR SECRET BID.")
    time.sleep(REACTION)
    ana.type("777", "Enter")
    if time.monotonic() - asked > SOON:
        pytest.skip("this machine was too slow to press Enter in time")
    ana.wait_for("Enter once more seals it.")
    assert bo.look()["game"]["waiting"] == [0, 1]
    time.sleep(ENTER_AFTER)
    ana.keys("Enter")
    ana.wait_for(">>> SEALED.")
    assert bo.look()["game"]["waiting"] == [1]
