"""Seats that are given on, pauses, races for a seat, and what is left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol import messages as m
from protocol.errors import ByeCode, Refused
from protocol.stay import Stay
from protocol.tokens import KEPT_FOR, Wallet
from server import table as tables

AT_ONCE = {"away_seconds": 0}
CLOCK = {"turn_seconds": 30}


def kinds(view: m.View) -> list[str]:
    return [seat.kind for seat in view.room.seats]


def the_table(running: Any, code: str) -> tables.Table:
    return running.host.table(code)


async def gone(view_of: Any, seat: int, *who: Any) -> None:
    """These drop, and the table knows it."""
    for peer in who:
        peer.drop()
    await view_of.until(lambda view: not view.room.seats[seat].connected)


# --- A seat that somebody else takes ----------------------------------------------------------


async def taken_over(running: Any, sealed: int) -> tuple[Any, Any, Any, Any]:
    """Bo has sealed a bid and dropped; Zed has the seat now. Ana opened; Cy has yet to bid."""
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    await ana.bid(100)
    await bo.until(lambda view: view.game["step"] == 2)
    await bo.bid(sealed)
    await gone(ana, 1, bo)
    await ana.ask(m.Release(seat=1))
    zed = await running.peer()
    assert (await zed.ask(m.Join(table=ana.code, name="Zed")))["seat"] == 1
    await zed.until(lambda view: True)
    return ana, bo, cy, zed


async def test_a_newcomer_is_not_shown_what_the_holder_before_them_has_sealed(running):
    ana, bo, cy, zed = await taken_over(running, 70707070707)
    assert zed.view.game["waiting"] == [2]
    assert zed.view.you["bid"] is None
    assert zed.view.you["may_bid"] == {"minimum": "0", "other_than": "100"}
    assert "70707070707" not in repr([*zed.raw, *cy.raw, *ana.raw])
    assert "70707070707" in repr(bo.raw)
    # It stands all the same, and is the newcomer's when the step has closed.
    await cy.bid(5)
    view = await zed.until(lambda view: view.game["step"] == 3)
    assert {(k["seat"], k["amount"], k["source"]) for k in view.you["known"]} == {
        (1, "70707070707", "own")
    }
    assert view.game["history"][0]["winner"] == 1
    assert await (await running.peer()).refused(m.Resume(table=ana.code, token=bo.token)) == (
        "bad_token", "token",
    )  # fmt: skip


async def test_a_newcomers_own_bid_takes_the_place_of_the_sealed_one(running):
    ana, _, cy, zed = await taken_over(running, 70707070707)
    before = len(ana.views)
    await zed.bid(60)
    view = await zed.until(lambda view: view.you["bid"] == "60")
    assert view.game["waiting"] == [2]
    await ana.turn()
    assert len(ana.views) == before, "nobody is told"
    await cy.bid(5)
    view = await ana.until(lambda view: view.game["step"] == 3)
    assert {k["amount"] for k in view.you["known"]} == {"60", "5"}
    assert "70707070707" not in repr(zed.raw)


async def test_who_comes_back_first_has_the_seat_and_the_sealed_bid(running):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    await ana.bid(100)
    await bo.until(lambda view: view.game["step"] == 2)
    await bo.bid(70707070707)
    await gone(ana, 1, bo)
    await ana.ask(m.Release(seat=1))
    assert kinds(await cy.until(lambda view: view.room.seats[1].released))[1] == "stand_in"
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))
    assert (await again.until(lambda view: True)).you["bid"] == "70707070707"
    late = await running.peer()
    assert await late.refused(m.Join(table=ana.code, name="Zed")) == ("already_started", "started")
    assert kinds(await ana.turn()) == ["human"] * 3


async def sealed_when_a_peek_is_due(running: Any) -> tuple[Any, Any]:
    """Five players, the second auction: Cy, who may peek at the first, has sealed a bid."""
    people = await running.game("Ana", "Bo", "Cy", "Dee", "Eva", seats=5)
    await running.auction(*people, opening=100, bids=(900, 20, 30, 40))
    ana, bo, cy = people[:3]
    await bo.bid(100)
    await cy.until(lambda view: view.game["step"] == 4)
    await cy.bid(70707070707)
    return ana, cy


async def test_a_peek_does_not_turn_the_sealed_bid_up(running):
    ana, cy = await sealed_when_a_peek_is_due(running)
    await gone(ana, 2, cy)
    await ana.ask(m.Release(seat=2))
    zed = await running.peer()
    await zed.ask(m.Join(table=ana.code, name="Zed"))
    await zed.until(lambda view: view.you["may_peek"] == 1)
    await zed.ask(m.Act(step=4, action={"kind": "peek"}))
    view = await zed.until(lambda view: view.you["may_peek"] is None)
    peeked = [(k["amount"], k["source"]) for k in view.you["known"] if k["seat"] == 1]
    assert peeked == [("900", "peek")]
    assert view.you["bid"] is None
    assert "70707070707" not in repr(zed.raw)


async def test_a_peek_that_the_holder_before_them_has_made_is_no_newcomers(running):
    ana, cy = await sealed_when_a_peek_is_due(running)
    await cy.ask(m.Act(step=4, action={"kind": "peek"}))
    await cy.ask(m.Leave())
    zed = await running.peer()
    await zed.ask(m.Join(table=ana.code, name="Zed"))
    view = await zed.until(lambda view: True)
    assert (view.you["may_peek"], view.you["bid"]) == (None, None)
    assert (await zed.refused(m.Act(step=4, action={"kind": "peek"})))[0] == "illegal"
    assert "70707070707" not in repr(zed.raw)


async def test_two_want_the_one_released_seat(running):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy")
    watching = await running.watcher(ana.code, "Wim")
    await bo.ask(m.Leave())
    zed = await running.peer()
    asked = [
        zed.send(m.Join(table=ana.code, name="Zed")),
        watching.send(m.Join(table=ana.code, name="Wim")),
    ]
    async with asyncio.timeout(10):
        answers = await asyncio.gather(*asked, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, Refused)]
    assert [str(error) for error in refused] == ["The game has begun; no seat is free."]
    assert sorted(kinds(await ana.turn())) == ["human"] * 3
    assert ana.view.room.seats[1].name in {"Zed", "Wim"}


async def test_a_name_finds_its_own_released_seat_and_is_confusable_with_no_other(running):
    ana, bo, cy, dee = await running.game("Ana", "Bo", "Cy", "Dee", seats=4)
    for peer in (bo, cy, dee):
        await peer.ask(m.Leave())
    late = await running.peer()
    assert await late.refused(m.Join(table=ana.code, name="АNA")) == ("name_taken", "name")
    assert (await late.ask(m.Join(table=ana.code, name="cy")))["seat"] == 2
    other = await running.peer()
    assert (await other.ask(m.Join(table=ana.code, name="D\u00e9e")))["seat"] == 3
    assert (await (await running.peer()).ask(m.Join(table=ana.code, name="Zed")))["seat"] == 1
    assert [t["free"] for t in await running.listed()] == [0]


async def test_a_seat_whose_token_may_never_have_arrived_is_released_again(running, clock):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    for leaving in (bo, cy):
        await leaving.ask(m.Leave())
    zed, dee = await running.peer(), await running.peer()
    await zed.ask(m.Join(table=ana.code, name="Zed"))
    await dee.ask(m.Join(table=ana.code, name="Dee"))
    await ana.bid(100)
    await dee.until(lambda view: view.game["step"] == 2)
    await dee.bid(7)
    await gone(ana, 1, zed)
    await gone(ana, 2, dee)
    clock.skip(60.1)
    await ana.until(lambda view: view.room.seats[1].released)
    # Who has played can come back, and is waited for.
    assert not (await ana.turn()).room.seats[2].released
    # Nothing is lost to one who has the token all the same.
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=zed.token))
    await gone(ana, 1, again)
    clock.skip(60.1)
    assert not (await ana.turn()).room.seats[1].released


async def test_a_table_waits_for_whom_it_gave_a_seat_last(running, clock):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    zed = await running.peer()
    await bo.ask(m.Leave())
    await zed.ask(m.Join(table=ana.code, name="Zed"))
    for leaving in (cy, ana):
        await leaving.ask(m.Leave())
        leaving.drop()
    bo.drop()
    zed.drop()
    await running.eventually(lambda: not the_table(running, zed.code)._audience)
    clock.skip(60.1)
    await running.listed(lambda tables: tables[0]["free"] == 3)
    again = await running.peer()
    await again.ask(m.Resume(table=zed.code, token=zed.token))
    await again.until(lambda view: kinds(view)[1] == "human")


async def test_a_table_closes_when_a_newcomer_leaves_who_was_the_last(running):
    people = await running.game("Ana", "Bo", "Cy")
    zed = await running.peer()
    await people[1].ask(m.Leave())
    await zed.ask(m.Join(table=people[0].code, name="Zed"))
    for leaving in (people[0], people[2], zed):
        await leaving.ask(m.Leave())
    for person in people:
        person.drop()
    await running.listed(lambda tables: not tables)


async def test_a_seat_that_was_left_is_played_by_a_computer_already(running):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy", options=AT_ONCE)
    await bo.ask(m.Leave())
    await ana.until(lambda view: view.room.seats[1].released)
    before = ana.view
    await ana.ask(m.StandIn(seat=1))
    await ana.ask(m.Release(seat=1))
    assert (await ana.turn()) is before


# --- Coming back at the same moment as something else ------------------------------------------


async def test_one_token_on_two_connections_at_once(running):
    ana, bo = await running.table("Ana", "Bo")
    bo.drop()
    rivals = [await running.peer() for _ in range(2)]
    resume = m.Resume(table=ana.code, token=bo.token)
    async with asyncio.timeout(10):
        answers = await asyncio.gather(*(peer.send(resume) for peer in rivals))
    goodbye = await rivals[0].end()
    assert goodbye is not None
    assert goodbye.code == ByeCode.REPLACED
    assert (await rivals[1].turn()).room.me == 1
    late = await running.peer()
    older = m.Resume(table=ana.code, token=answers[0]["token"])
    assert (await late.refused(older))[0] == "bad_token"
    await late.ask(m.Resume(table=ana.code, token=answers[1]["token"]))
    assert (await late.refused(resume))[0] == "already_seated" or late.goodbye is None


async def test_a_stand_in_is_asked_for_as_its_player_comes_back(running):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy", options=AT_ONCE)
    for first in ("resume", "stand_in"):
        await gone(ana, 1, bo)
        again = await running.peer()
        asked = [again.send(m.Resume(table=ana.code, token=bo.token))]
        asked.insert(first == "resume", ana.send(m.StandIn(seat=1)))
        async with asyncio.timeout(10):
            answers = await asyncio.gather(*asked, return_exceptions=True)
        again.token = next(a["token"] for a in answers if isinstance(a, dict) and "token" in a)
        view = await ana.until(lambda view: view.room.seats[1].connected)
        assert kinds(view) == ["human"] * 3
        bo = again


async def test_the_host_leaves_as_the_game_starts(running):
    for start_first in (True, False):
        ana, bo, _cy = await running.table("Ana", "Bo", "Cy")
        asked = [ana.send(m.Leave())]
        asked.insert(not start_first, ana.send(m.Start()))
        async with asyncio.timeout(10):
            await asyncio.gather(*asked, return_exceptions=True)
        view = await bo.until(lambda view: view.room.host is not None and "Ana" not in [
            seat.name for seat in view.room.seats if not seat.released
        ])  # fmt: skip
        assert view.room.seats[view.room.host].name == "Bo"
        assert view.room.stage in ("lobby", "playing")
        assert (await bo.ask(m.Pause(on=True)) if view.room.stage == "playing" else {}) == {}


async def test_a_host_away_after_the_end_holds_nothing_up_and_loses_seat_and_token(running, clock):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", options={"away_seconds": 20})
    await running.play_out(ana, bo, cy)
    await gone(bo, 0, ana)
    assert await bo.refused(m.Rematch()) == ("not_host", "host")
    clock.skip(20.1)
    await bo.until(lambda view: view.room.host == 1)
    await bo.ask(m.Rematch())
    view = await cy.until(lambda view: view.room.stage == "lobby")
    assert kinds(view) == ["open", "human", "human"]
    late = await running.peer()
    assert await late.refused(m.Resume(table=bo.code, token=ana.token)) == ("bad_token", "token")
    assert (await late.ask(m.Join(table=bo.code, name="Ana")))["seat"] == 0


# --- Pauses -----------------------------------------------------------------------------------


async def test_computers_wait_in_a_pause_and_go_on_where_they_were(open_host, clock):
    running = await open_host(bot_delay=100)
    (ana,) = await running.table("Ana", rules={"first": "host"}, options=AT_ONCE)
    for _ in range(2):
        await ana.ask(m.AddBot())
    await ana.ask(m.Start())
    await ana.until(lambda view: view.room.stage == "playing")
    await ana.bid(10)
    await ana.until(lambda view: view.game["step"] == 2)
    clock.skip(60)
    await ana.ask(m.Pause(on=True))
    clock.skip(7200)
    assert (await ana.turn()).game["waiting"] == [1, 2]
    await ana.ask(m.Pause(on=False))
    assert (await ana.turn()).game["waiting"] == [1, 2]
    # Each takes 67 to 134 seconds in all, of which 60 were over before the pause.
    clock.skip(75)
    await ana.until(lambda view: view.game["step"] > 2)


async def test_a_pause_holds_computers_across_a_restart(open_host, clock):
    first = await open_host(bot_delay=0.5)
    (ana,) = await first.table("Ana", rules={"first": "host"})
    for _ in range(2):
        await ana.ask(m.AddBot())
    await ana.ask(m.Start())
    await ana.ask(m.Pause(on=True))
    await ana.bid(10)
    await ana.until(lambda view: view.game["step"] == 2)
    await first.stop()
    second = await open_host(bot_delay=0.5)
    again = await second.peer()
    await again.ask(m.Resume(table=ana.code, token=ana.token))
    clock.skip(3600)
    assert (await again.turn()).game["waiting"] == [1, 2]
    await again.ask(m.Pause(on=False))
    clock.skip(10)
    await again.until(lambda view: view.game["step"] > 2)


async def test_the_role_passes_in_a_pause_so_that_somebody_can_end_it(running, clock):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy", options=CLOCK | {"away_seconds": 20})
    clock.skip(10)
    await ana.ask(m.Pause(on=True))
    await gone(bo, 0, ana)
    clock.skip(20.1)
    await bo.until(lambda view: view.room.host == 1)
    await bo.ask(m.Pause(on=False))
    view = await bo.until(lambda view: not view.room.paused)
    assert 18_000 < view.room.deadline - clock.now() <= 20_000


async def test_a_pause_at_the_very_end_of_a_clock(running, clock):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    asked = ana.send(m.Pause(on=True))
    clock.skip(30.1)
    await asked
    view = await bo.until(lambda view: view.room.paused)
    left = the_table(running, ana.code).room.left
    assert left is not None
    assert left == 0 if view.game["step"] == 1 else left > 25_000
    clock.skip(3600)
    assert (await bo.turn()).game["step"] == view.game["step"]
    await ana.ask(m.Pause(on=False))
    await bo.until(lambda view: not view.room.paused or view.game["step"] > 1)


# --- What is left behind ----------------------------------------------------------------------


async def test_a_day_begins_when_the_last_one_goes_however_long_they_were_still(running, clock):
    people = await running.game("Ana", "Bo", "Cy")
    for peer in people[1:]:
        peer.drop()
    await people[0].until(lambda view: not view.room.seats[2].connected)
    clock.skip(tables.ALONE_FOR / 1000 + 60)
    people[0].drop()
    await running.eventually(lambda: not running.host._sessions)
    assert await running.listed(), "somebody was there till now"
    clock.skip(tables.ALONE_FOR / 1000)
    await running.listed(lambda listed: not listed)


async def test_of_a_closed_table_nothing_is_left(running, clock):
    ana, _, cy = await running.game("Ana", "Bo", "Cy", options=CLOCK)
    watching = await running.watcher(ana.code)
    table = the_table(running, ana.code)
    left = weakref.ref(table)
    cy.drop()
    await table.close()
    for peer in (ana, watching):
        goodbye = await peer.end()
        assert goodbye is not None
        assert goodbye.code == ByeCode.TABLE_CLOSED
    await running.eventually(lambda: not running.host._sessions)
    assert table._timer is None or table._timer.cancelled()
    assert table._task.done()
    assert running.host.tables == []
    del table
    # A cancelled timer stays in the loop's queue until its time has come.
    clock.skip(tables.ALONE_FOR / 1000)
    for _ in range(3):
        await asyncio.sleep(0.01)
    gc.collect()
    assert left() is None


# --- With the client's own side -----------------------------------------------------------------


def stay_at(running: Any, wallet: Wallet) -> Stay:
    return Stay(*running.address, tls=False, wallet=wallet)


async def test_a_seat_is_found_after_a_restart_though_the_last_answer_was_lost(
    open_host: Callable[..., Any], tmp_path: Path
) -> None:
    first = await open_host()
    ana, bo, _ = await first.game("Ana", "Bo", "Cy")
    await bo.ask(m.Leave())
    wallet = Wallet(tmp_path / "wallet")
    stay = stay_at(first, wallet)
    await stay.open()
    await stay.ask(m.Join(table=ana.code, name="Dee"))
    await stay.close()
    kept = stay.saved(ana.code, "Dee")
    assert kept is not None
    # The host gives a newer token, whose answer never comes to be on disk.
    killed = await first.peer()
    await killed.ask(m.Resume(table=ana.code, token=kept))
    killed.drop()
    await first.stop()
    second = await open_host()
    again = stay_at(second, wallet)
    await again.open()
    token = again.saved(ana.code, "Dee")
    assert token is not None
    assert (await again.ask(m.Resume(table=ana.code, token=token)))["seat"] == 1
    await again.close()


async def test_who_does_not_keep_a_standing_seat_looks_on_from_then(
    open_host: Callable[..., Any], clock: Any, tmp_path: Path
) -> None:
    running = await open_host(players=3)
    wallet = Wallet(tmp_path / "wallet")
    stay = stay_at(running, wallet)
    await stay.open()
    code = (await stay.ask(m.Tables()))["tables"][0]["table"]
    people = [await running.peer() for _ in range(2)]
    await stay.ask(m.Join(table=code, name="Dee"))
    for peer, name in zip(people, ("Ana", "Bo"), strict=True):
        await peer.ask(m.Join(table=code, name=name))
    ana, bo = people
    await ana.until(lambda view: view.room.stage == "playing")
    events = stay.events()

    async def seen(condition: Callable[[m.View], bool]) -> m.View:
        async with asyncio.timeout(10):
            async for event in events:
                if isinstance(event, m.View) and condition(event):
                    return event
        raise AssertionError("the stay has ended")

    view = await seen(lambda view: view.room.stage == "playing")
    while view.room.stage == "playing":
        step = view.game["step"]
        if 0 in view.game["waiting"]:
            action = {"kind": "bid", "amount": str(7 + step)}
            await stay.ask(m.Act(step=step, action=action))
        for peer in (ana, bo):
            await peer.until(lambda view, step=step: view.game["step"] >= step)
            if peer.view.game["step"] == step and peer.me in peer.view.game["waiting"]:
                await peer.bid(1000 + step * 3 + (peer.me or 0))
        view = await seen(lambda view, step=step: view.game["step"] > step)
    await ana.ask(m.Rematch())
    clock.skip(45.1)
    view = await seen(lambda view: view.room.stage == "lobby")
    assert view.room.me is None
    assert stay.saved(code, "Dee") is None, "a token that opens nothing is not kept"
    join = stay.seat_here("Dee")
    assert join is not None
    assert (await stay.ask(join))["seat"] == 0
    await seen(lambda view: view.room.me == 0)
    await stay.close()


async def test_tokens_of_tables_that_are_gone_are_thrown_away_after_a_while(
    running: Any, tmp_path: Path
) -> None:
    (ana,) = await running.table("Ana")
    wallet = Wallet(tmp_path / "wallet")
    for host, table, age in (
        (running.host.id, ana.code, 2 * KEPT_FOR),
        (running.host.id, "GONE", 2 * KEPT_FOR),
        (running.host.id, "LATE", KEPT_FOR / 2),
        ("another host", "GONE", 2 * KEPT_FOR),
    ):
        held = wallet.hold(host, table, "Ana")
        assert held is not None
        held.keep("a token")
        held.release()
        path = wallet._path(host, table, "Ana")
        at = path.stat().st_mtime - age
        os.utime(path, (at, at))
    stay = stay_at(running, wallet)
    await stay.open()
    await stay.ask(m.Tables())
    assert wallet.seats(running.host.id) == sorted([(ana.code, "Ana"), ("LATE", "Ana")])
    assert wallet.seats("another host") == [("GONE", "Ana")]
    assert len(list((tmp_path / "wallet").glob("*.lock"))) == 3
    await stay.close()


# --- A line that died delivers late -----------------------------------------------------------


async def test_a_late_resume_on_an_older_connection_changes_nothing(running):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy")
    token = bo.token
    await gone(ana, 1, bo)
    older, newer = await running.peer(), await running.peer()
    await newer.ask(m.Resume(table=ana.code, token=token))
    assert await older.refused(m.Resume(table=ana.code, token=token)) == ("bad_token", "late")
    # Also when the newer connection has gone meanwhile: what it was given still counts.
    await gone(ana, 1, newer)
    assert await older.refused(m.Resume(table=ana.code, token=token)) == ("bad_token", "late")
    latest = await running.peer()
    assert (await latest.ask(m.Resume(table=ana.code, token=newer.token)))["seat"] == 1


async def test_a_newer_connection_may_come_by_the_same_token(running):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy")
    token = bo.token
    older, newer = await running.peer(), await running.peer()
    await older.ask(m.Resume(table=ana.code, token=token))
    await newer.ask(m.Resume(table=ana.code, token=token))
    await older.ended.wait()
    assert older.goodbye is not None
    assert older.goodbye.code == ByeCode.REPLACED
