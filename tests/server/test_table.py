"""A table as its guests see it, over real sockets: its clock, its computers, its games."""

from __future__ import annotations

import sqlite3
from typing import Any

from protocol import messages as m
from server import away

CLOCK = {"turn_seconds": 30}


def kinds(view: m.View) -> list[str]:
    return [seat.kind for seat in view.room.seats]


def journal(running: Any) -> int:
    """How many events the host has on disk."""
    path = running.host.settings.data / "journal.sqlite3"
    with sqlite3.connect(path) as db:
        (events,) = db.execute("SELECT count(*) FROM events").fetchone()
    db.close()
    return int(events)


# --- A clock that runs out ------------------------------------------------------------------


async def test_a_whole_game_whose_time_runs_out_in_every_phase(running, clock):
    ana, _, _ = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    phases = []
    while ana.view.room.stage == "playing":
        game, room = ana.view.game, ana.view.room
        phases.append(game["phase"])
        assert room.deadline == room.since + 30_000
        clock.skip(29)
        assert (await ana.turn()).game["step"] == game["step"]
        clock.skip(1.1)
        await ana.until(lambda view, step=game["step"]: view.game["step"] > step)
        await ana.turn()
    # All open with 1 and bid 0 against it; in the blind final all bid 1 and tie.
    assert phases == ["opening", "secret"] * 15 + ["blind"]
    history = ana.view.game["history"]
    assert {sale["opening"] for sale in history[:-1]} == {"1"}
    assert [sale["winner"] for sale in history] == [0, 1, 2] * 5 + [None]
    cheques = ana.view.game["result"]["auctions"]
    assert {bid["amount"] for c in cheques[:-1] for stage in c["stages"] for bid in stage} == {"0"}
    assert [bid["amount"] for bid in cheques[-1]["stages"][0]] == ["1", "1", "1"]
    assert ana.view.room.deadline is None


async def test_time_runs_out_in_a_rebid_of_those_who_tied(running, clock):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    await ana.bid(10)
    await cy.until(lambda view: view.game["step"] == 2)
    for person in (bo, cy):
        await person.bid(50)
    await cy.until(lambda view: view.game["phase"] == "rebid")
    await cy.bid(40)
    clock.skip(30.1)
    view = await ana.until(lambda view: view.game["step"] == 4)
    assert view.game["history"][0]["ties"] == [[1, 2]]
    known = {(k["stage"], k["seat"]): k["amount"] for k in view.you["known"]}
    assert known == {(0, 1): "50", (0, 2): "50", (1, 1): "1", (1, 2): "40"}


async def test_time_runs_out_only_for_who_is_waited_for(running, clock):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    await ana.bid(100)
    await bo.until(lambda view: view.game["step"] == 2)
    await bo.bid(70)
    clock.skip(30.1)
    view = await cy.until(lambda view: view.game["step"] == 3)
    assert view.game["history"][0]["winner"] == 0
    assert {k["amount"] for k in (await ana.turn()).you["known"]} == {"70", "1"}


async def test_each_step_has_its_own_time(running, clock):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    clock.skip(20)
    await ana.bid(100)
    view = await bo.until(lambda view: view.game["step"] == 2)
    assert view.room.deadline - view.room.since == 30_000
    clock.skip(20)
    assert (await bo.turn()).game["step"] == 2


async def test_a_changed_secret_bid_gives_no_more_time_and_tells_nobody(running, clock):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    await ana.bid(100)
    await bo.until(lambda view: view.game["step"] == 2)
    await bo.bid(70)
    await bo.turn()
    await cy.turn()
    before, deadline = len(cy.views), bo.view.room.deadline
    clock.skip(5)
    await bo.bid("9" * 400)
    await cy.turn()
    assert len(cy.views) == before
    assert bo.view.you["bid"] == "9" * 400
    assert bo.view.room.deadline == deadline


async def test_a_pause_stands_the_clock_still(running, clock):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    clock.skip(10)
    await ana.ask(m.Pause(on=True))
    view = await bo.until(lambda view: view.room.paused)
    assert view.room.deadline is None
    clock.skip(3600)
    assert (await bo.turn()).game["step"] == 1
    await ana.ask(m.Pause(on=False))
    view = await bo.until(lambda view: not view.room.paused)
    assert 19_000 < view.room.deadline - clock.now() <= 20_000
    clock.skip(20.1)
    await bo.until(lambda view: view.game["step"] == 2)


async def test_a_step_that_begins_in_a_pause_has_its_whole_time_after_it(running, clock):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    clock.skip(25)
    await ana.ask(m.Pause(on=True))
    await ana.bid(100)
    view = await bo.until(lambda view: view.game["step"] == 2)
    assert view.room.paused
    await ana.ask(m.Pause(on=False))
    view = await bo.until(lambda view: not view.room.paused)
    assert 29_000 < view.room.deadline - clock.now() <= 30_000


async def test_a_host_that_comes_back_gives_the_step_its_whole_time_again(open_host, clock):
    first = await open_host()
    people = await first.game("Ana", "Bo", "Cy", options=CLOCK)
    code, token = people[0].code, people[1].token
    clock.skip(29)
    await first.stop()
    clock.skip(3600)
    second = await open_host()
    bo = await second.peer()
    await bo.ask(m.Resume(table=code, token=token))
    view = await bo.until(lambda view: True)
    assert view.game["step"] == 1
    assert [seat.connected for seat in view.room.seats] == [False, True, False]
    assert 28_000 < view.room.deadline - clock.now() <= 30_000
    clock.skip(30)
    await bo.until(lambda view: view.game["step"] == 2)


async def test_an_own_pause_outlives_the_host(open_host, clock):
    first = await open_host()
    ana, *_ = await first.game("Ana", "Bo", "Cy", options=CLOCK)
    await ana.ask(m.Pause(on=True))
    code, token = ana.code, ana.token
    await first.stop()
    clock.skip(3600)
    second = await open_host()
    ana = await second.peer()
    await ana.ask(m.Resume(table=code, token=token))
    view = await ana.until(lambda view: True)
    assert view.room.paused
    assert view.room.deadline is None


# --- Computer players -----------------------------------------------------------------------


async def test_computer_players_play_a_game_to_its_end(open_host):
    running = await open_host(bot_delay=0)
    (ana,) = await running.table("Ana", seats=5, options={"away_seconds": 0})
    for _ in range(4):
        await ana.ask(m.AddBot())
    view = await ana.until(lambda view: view.room.seats[-1].kind == "bot")
    names = [seat.name for seat in view.room.seats]
    assert len(set(names)) == 5
    assert all(seat.connected for seat in view.room.seats)
    await ana.ask(m.Start())
    while ana.view.room.stage != "over":
        view = await ana.until(
            lambda view: view.room.stage == "over" or (view.you and view.you["may_bid"] is not None)
        )
        if view.room.stage == "playing":
            step, may = view.game["step"], view.you["may_bid"]
            await ana.bid(4 if may["other_than"] == "3" else 3)
            await ana.until(lambda view, step=step: view.game["step"] != step)
    assert len(ana.view.game["history"]) == 15
    assert ana.view.room.results[0].names == names


async def test_thoughts_are_dropped_when_the_player_comes_back(open_host, clock):
    running = await open_host(bot_delay=100)
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", options={"away_seconds": 5})
    await ana.bid(100)
    await cy.until(lambda view: view.game["step"] == 2)
    await cy.bid(50)
    bo.drop()
    await ana.until(lambda view: not view.room.seats[1].connected)
    assert await ana.refused(m.StandIn(seat=1)) == ("not_ready", "here")
    clock.skip(5.1)
    await ana.ask(m.StandIn(seat=1))
    assert kinds(await ana.turn()) == ["human", "stand_in", "human"]
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))
    assert kinds(await ana.until(lambda view: view.room.seats[1].connected)) == ["human"] * 3
    clock.skip(200)
    assert (await ana.turn()).game["step"] == 2
    await again.until(lambda view: True)
    await again.bid(60)
    await ana.until(lambda view: view.game["step"] == 3)
    assert {k["amount"] for k in ana.view.you["known"]} == {"50", "60"}


async def test_a_stand_in_bids_when_it_has_thought(open_host, clock):
    running = await open_host(bot_delay=100)
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", options={"away_seconds": 5})
    await ana.bid(100)
    await cy.until(lambda view: view.game["step"] == 2)
    await cy.bid(50)
    bo.drop()
    await ana.until(lambda view: not view.room.seats[1].connected)
    clock.skip(5.1)
    await ana.ask(m.StandIn(seat=1))
    clock.skip(60)
    assert (await ana.turn()).game["waiting"] == [1]
    clock.skip(1000)
    view = await ana.until(lambda view: view.game["step"] > 2)
    assert {k["seat"] for k in view.you["known"]} == {1, 2}


# --- What is refused changes nothing ------------------------------------------------------


async def test_what_is_refused_is_neither_journaled_nor_told(running):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    watching = await running.watcher(ana.code)
    await ana.turn()
    events, views = journal(running), [len(p.views) for p in (ana, bo, cy, watching)]
    bid = {"kind": "bid", "amount": "5"}
    for peer, body, code in (
        (bo, m.Act(step=1, action=bid), "illegal"),
        (ana, m.Act(step=0, action=bid), "stale"),
        (ana, m.Act(step=2, action=bid), "stale"),
        (ana, m.Act(step=1, action={"kind": "bid", "amount": "05"}), "bad_message"),
        (ana, m.Act(step=1, action={"kind": "bid", "amount": 5}), "bad_message"),
        (ana, m.Act(step=1, action={"kind": "bid", "amount": "0"}), "illegal"),
        (ana, m.Act(step=1, action={"kind": "peek"}), "illegal"),
        (watching, m.Act(step=1, action=bid), "not_seated"),
        (bo, m.Pause(on=True), "not_host"),
        (ana, m.Rematch(), "not_over"),
        (ana, m.Start(), "already_started"),
        (ana, m.Set(seats=4), "already_started"),
        (ana, m.Set(title="\u202e"), "bad_text"),
        (ana, m.Say(text=""), "bad_text"),
        (ana, m.Move(seat=0, to=1), "already_started"),
        (ana, m.AddBot(), "already_started"),
        (ana, m.Remove(seat=1), "already_started"),
        (ana, m.StandIn(seat=1), "not_ready"),
        (ana, m.Release(seat=7), "bad_message"),
    ):
        assert (await peer.refused(body))[0] == code, body
    assert (await (await running.peer()).refused(m.Start()))[0] == "not_seated"
    assert journal(running) == events
    assert [len(p.views) for p in (ana, bo, cy, watching)] == views


async def test_a_view_comes_only_when_it_has_changed(running):
    ana, bo = await running.table("Ana", "Bo")
    await ana.turn()
    before = len(bo.views)
    await ana.ask(m.Move(seat=1, to=1))
    await ana.ask(m.Say(text="hi"))
    await ana.ask(m.React(kind="gasp"))
    await bo.turn()
    assert len(bo.views) == before
    assert [s.text for s in bo.said] == ["hi"]
    assert [(r.seat, r.name, r.kind) for r in bo.reacted] == [(0, "Ana", "gasp")]
    await ana.ask(m.Set(title="A title"))
    await bo.turn()
    assert len(bo.views) == before + 1


# --- Several games at a table --------------------------------------------------------------


async def test_a_rematch_seats_who_is_here_and_goes_on_counting_steps(running, clock):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", seats=5)
    dee = await running.watcher(ana.code)
    await running.play_out(ana, bo, cy)
    assert await bo.refused(m.Rematch()) == ("not_host", "host")
    last = ana.view.game["step"]
    assert len(ana.view.room.results) == 1
    cy.drop()
    await ana.until(lambda view: not view.room.seats[2].connected)
    await ana.ask(m.Rematch())
    view = await ana.until(lambda view: view.room.stage == "lobby")
    assert kinds(view) == ["human", "human", "open", "open", "open"]
    assert view.game is None
    assert view.you is None
    assert await ana.refused(m.Start()) == ("not_ready", "too_few")
    await dee.ask(m.Join(table=ana.code, name="Dee"))
    await ana.ask(m.Start())
    view = await dee.until(lambda view: view.room.stage == "playing")
    assert view.game["step"] == last + 1
    await running.play_out(ana, bo, dee)
    assert [result.names for result in ana.view.room.results] == [
        ["Ana", "Bo", "Cy"], ["Ana", "Bo", "Dee"],
    ]  # fmt: skip


async def test_open_seats_go_at_the_start_and_the_rest_is_numbered_anew(running):
    ana, bo, cy = await running.table("Ana", "Bo", "Cy", seats=5)
    await ana.ask(m.Move(seat=0, to=4))
    await ana.ask(m.Start())
    await ana.until(lambda view: view.room.stage == "playing")
    assert [person.me for person in (bo, cy, ana)] != [1, 2, 4]
    for number, person in enumerate((bo, cy, ana)):
        await person.until(lambda view: view.room.stage == "playing")
        assert person.me == number == person.view.you["seat"]
    assert ana.view.room.host == 2
    assert ana.view.room.size == 5


async def test_a_table_starts_by_itself_when_full_where_that_was_asked(running):
    ana, bo = await running.table("Ana", "Bo", options={"start_when_full": True})
    cy = await running.peer()
    await cy.ask(m.Join(table=ana.code, name="Cy"))
    for person in (ana, bo, cy):
        await person.until(lambda view: view.room.stage == "playing")


async def test_minutes_are_as_documented():
    assert (away.LOBBY_AWAY, away.STANDING_RELEASE) == (60_000, 600_000)
