"""Who is at a table: coming and going, being away, the host's role, and what is said to whom."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import pytest

from protocol import messages as m
from protocol.errors import ByeCode
from server import table as tables


def kinds(view: m.View) -> list[str]:
    return [seat.kind for seat in view.room.seats]


# --- Away ------------------------------------------------------------------------------------


async def test_a_seat_away_in_the_lobby_is_free_after_a_minute(running, clock):
    ana, bo = await running.table("Ana", "Bo")
    bo.drop()
    await ana.until(lambda view: not view.room.seats[1].connected)
    clock.skip(59)
    assert kinds(await ana.turn()) == ["human", "human", "open"]
    clock.skip(1.1)
    await ana.until(lambda view: kinds(view) == ["human", "open", "open"])
    late = await running.peer()
    assert (await late.refused(m.Resume(table=ana.code, token=bo.token)))[0] == "bad_token"


async def test_who_is_back_within_the_minute_keeps_the_seat(running, clock):
    ana, bo = await running.table("Ana", "Bo")
    bo.drop()
    await ana.until(lambda view: not view.room.seats[1].connected)
    clock.skip(59)
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))
    clock.skip(30)
    await ana.turn()
    clock.skip(31)
    assert kinds(await ana.turn()) == ["human", "human", "open"]


@pytest.mark.parametrize("stage", ["lobby", "playing"])
async def test_the_hosts_role_passes_to_the_longest_seated_who_is_here(running, clock, stage):
    options = {"away_seconds": 40}
    ana, bo, cy, dee = await running.table("Ana", "Bo", "Cy", "Dee", seats=4, options=options)
    await ana.ask(m.Move(seat=2, to=3))
    if stage == "playing":
        await ana.ask(m.Start())
    bo.drop()
    ana.drop()
    await dee.until(lambda view: sum(not seat.connected for seat in view.room.seats) == 2)
    clock.skip(39)
    assert (await dee.turn()).room.host == 0
    clock.skip(1.1)
    view = await dee.until(lambda view: view.room.host != 0)
    assert view.room.seats[view.room.host].name == "Cy"
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=ana.token))
    assert (await again.until(lambda view: True)).room.host == cy.view.room.me


async def test_the_host_role_passes_at_once_to_who_comes_late(running, clock):
    ana, bo = await running.table("Ana", "Bo", options={"away_seconds": 5})
    ana.drop()
    bo.drop()
    watching = await running.watcher(ana.code)
    await watching.until(lambda view: not any(seat.connected for seat in view.room.seats))
    clock.skip(30)
    assert (await watching.turn()).room.host == 0
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))
    await again.until(lambda view: view.room.host == 1)


async def test_the_role_passes_when_the_host_leaves(running):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    await ana.ask(m.Leave())
    view = await bo.until(lambda view: view.room.host == 1)
    assert kinds(view) == ["stand_in", "human", "human"]
    assert view.room.seats[0].released
    await ana.refused(m.Say(text="hello?"))
    await ana.ask(m.Join(table=bo.code, name="Zoe"))
    view = await bo.until(lambda view: view.room.seats[0].name == "Zoe")
    assert kinds(view) == ["human"] * 3
    assert view.room.host == 1
    assert (await cy.refused(m.Pause(on=True))) == ("not_host", "host")


async def test_a_released_seat_is_its_holders_until_somebody_takes_it(running, clock):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", options={"away_seconds": 5})
    assert await ana.refused(m.Release(seat=1)) == ("not_ready", "here")
    bo.drop()
    cy.drop()
    await ana.until(lambda view: sum(not seat.connected for seat in view.room.seats) == 2)
    await ana.ask(m.Release(seat=1))
    await ana.ask(m.Release(seat=2))
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))
    assert [s.released for s in (await ana.turn()).room.seats] == [False, False, True]
    zoe = await running.peer()
    assert (await zoe.ask(m.Join(table=ana.code, name="Zoe")))["seat"] == 2
    late = await running.peer()
    assert await late.refused(m.Resume(table=ana.code, token=cy.token)) == ("bad_token", "token")
    assert await late.refused(m.Join(table=ana.code, name="Cy")) == ("already_started", "started")


# --- Coming and going ---------------------------------------------------------------------


async def test_the_newest_connection_wins(running):
    ana, bo = await running.table("Ana", "Bo")
    newest = await running.peer()
    await newest.ask(m.Resume(table=ana.code, token=bo.token))
    goodbye = await bo.end()
    assert goodbye is not None
    assert goodbye.code == ByeCode.REPLACED
    await newest.turn()
    assert newest.view.room.seats[1].connected
    assert newest.me == 1
    assert (await newest.ask(m.Say(text="hi"))) == {}


async def test_a_token_is_void_once_the_next_has_been_used(running):
    ana, bo = await running.table("Ana", "Bo")
    first = bo.token
    second = (await (await running.peer()).ask(m.Resume(table=ana.code, token=first)))["token"]
    # The answer to that may have been lost, so that the first one is good until then.
    third = (await (await running.peer()).ask(m.Resume(table=ana.code, token=first)))["token"]
    assert (await (await running.peer()).refused(m.Resume(table=ana.code, token=second)))[0] == (
        "bad_token"
    )
    last = await running.peer()
    await last.ask(m.Resume(table=ana.code, token=third))
    assert (await (await running.peer()).refused(m.Resume(table=ana.code, token=first)))[0] == (
        "bad_token"
    )
    assert len({first, second, third, last.token}) == 4


async def test_a_second_resume_on_the_same_connection_is_no_replacement(running):
    ana, bo = await running.table("Ana", "Bo")
    before = len(bo.views)
    await bo.ask(m.Resume(table=ana.code, token=bo.token))
    await bo.turn()
    assert len(bo.views) == before + 1
    assert bo.goodbye is None


@pytest.mark.parametrize("by", ["client", "host"])
@pytest.mark.parametrize("what", ["join", "resume", "create", "watch"])
async def test_who_is_gone_before_the_answer_leaves_no_ghost(running, clock, what, by):
    ana, bo = await running.table("Ana", "Bo")
    store = running.host._store
    commit, release = store._commit, asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(entries: Any) -> None:
        if entries:
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result(10)
        commit(entries)

    store._commit = slow
    gone = await running.peer()
    cut_off = list(running.host._sessions)[-1]
    body: m.Body = {
        "join": m.Join(table=ana.code, name="Cy"),
        "resume": m.Resume(table=ana.code, token=bo.token),
        "create": m.Create(game="qe", seats=3, title="", name="Cy"),
        "watch": m.Watch(table=ana.code, name="Cy"),
    }[what]
    gone.send(body)
    await gone.writer.drain()
    await asyncio.sleep(0.05)
    if by == "client":
        gone.drop()
    else:  # as one that reads nothing
        cut_off._outbox.abort()
    await asyncio.sleep(0.05)
    release.set()
    store._commit = commit
    await ana.ask(m.Set(title="after that"))  # is on disk later than what was held up
    here = 1 if what == "resume" else 2
    await running.eventually(lambda: len(running.host._sessions) == here)
    view = await ana.turn()
    assert view.room.spectators == 0
    here = {seat.name: seat.connected for seat in view.room.seats if seat.name}
    assert here.pop("Ana")
    assert here.pop("Bo") is (what != "resume")
    assert not any(here.values())
    clock.skip(61)
    await ana.turn()
    expected = {"join": ["Ana", "Bo", ""], "resume": ["Ana", "", ""]}
    assert [s.name for s in ana.view.room.seats] == expected.get(what, ["Ana", "Bo", ""])
    await running.listed(lambda tables: [t["table"] for t in tables] == [ana.code])


async def test_a_spectator_moves_to_a_seat_and_a_seat_goes_nowhere_else(running):
    ana, bo = await running.table("Ana", "Bo")
    (dee,) = await running.table("Dee")
    watching = await running.watcher(ana.code, "Cy")
    assert (await ana.until(lambda view: view.room.spectators == 1)).room.me == 0
    await watching.ask(m.Watch(table=dee.code, name="Cy"))
    await dee.until(lambda view: view.room.spectators == 1)
    await ana.until(lambda view: view.room.spectators == 0)
    await watching.ask(m.Join(table=ana.code, name="Cy"))
    await dee.until(lambda view: view.room.spectators == 0)
    assert (await watching.until(lambda view: view.table == ana.code)).room.me == 2
    for body in (
        m.Join(table=dee.code, name="Cy"),
        m.Watch(table=dee.code),
        m.Watch(table=ana.code),
        m.Create(game="qe", seats=3, title="", name="Cy"),
        m.Resume(table=ana.code, token=bo.token),
    ):
        assert await watching.refused(body) == ("already_seated", "seated")
    assert len((await ana.ask(m.Tables()))["tables"]) == 2


async def test_the_removed_are_told_and_the_seat_is_open(running):
    ana, bo = await running.table("Ana", "Bo")
    await ana.ask(m.Remove(seat=1))
    goodbye = await bo.end()
    assert goodbye is not None
    assert goodbye.code == ByeCode.REMOVED
    assert kinds(await ana.turn()) == ["human", "open", "open"]
    late = await running.peer()
    assert (await late.refused(m.Resume(table=ana.code, token=bo.token)))[0] == "bad_token"


async def test_names_are_not_confusable_among_players_and_spectators(running):
    ana, _ = await running.table("Ana", "Bo")
    other = await running.watcher(ana.code, "Zoë")
    assert await (await running.peer()).refused(m.Join(table=ana.code, name="АNA")) == (
        "name_taken", "name",
    )  # fmt: skip
    assert await (await running.peer()).refused(m.Watch(table=ana.code, name="B0")) == (
        "name_taken", "name",
    )  # fmt: skip
    assert await (await running.peer()).refused(m.Join(table=ana.code, name="Zoe")) == (
        "name_taken", "name",
    )  # fmt: skip
    await other.ask(m.Join(table=ana.code, name="Zoë"))


async def test_a_table_closes_when_nobody_is_left(running):
    ana, bo = await running.table("Ana", "Bo")
    await ana.ask(m.AddBot())
    await ana.ask(m.Leave())
    assert [t["table"] for t in (await ana.ask(m.Tables()))["tables"]] == [ana.code]
    await bo.ask(m.Leave())
    await asyncio.sleep(0)
    assert (await bo.ask(m.Tables()))["tables"] == []
    for body in (
        m.Join(table=ana.code, name="Zoe"),
        m.Watch(table=ana.code),
        m.Resume(table=ana.code, token=bo.token),
    ):
        assert await bo.refused(body) == ("unknown_table", "table")
    with sqlite3.connect(running.host.settings.data / "journal.sqlite3") as db:
        assert db.execute("SELECT open FROM tables").fetchall() == [(0,)]
    db.close()


async def test_who_asks_while_the_table_closes_is_answered(running):
    (ana,) = await running.table("Ana")
    late = [await running.peer() for _ in range(6)]
    bodies: list[m.Body] = [m.Join(table=ana.code, name="Cy"), m.Watch(table=ana.code),
                            m.Resume(table=ana.code, token=ana.token)]  # fmt: skip
    leaving = ana.send(m.Leave())
    answers = [peer.send(bodies[n % 3]) for n, peer in enumerate(late)]
    async with asyncio.timeout(5):
        await asyncio.gather(leaving, *answers, return_exceptions=True)
    for answer in answers:
        error = answer.exception()
        if error is not None:
            assert error.code in {"unknown_table", "bad_token"}, error.code  # type: ignore[attr-defined]


async def test_spectators_alone_keep_a_table_open_and_one_may_become_its_host(running):
    (ana,) = await running.table("Ana")
    watching = await running.watcher(ana.code)
    await ana.ask(m.Leave())
    assert (await watching.until(lambda view: view.room.host is None)).room.me is None
    await watching.ask(m.Join(table=ana.code, name="Cy"))
    assert (await watching.until(lambda view: view.room.me == 0)).room.host == 0


async def test_a_table_that_everybody_has_dropped_from_closes_in_the_lobby(running, clock):
    ana, bo = await running.table("Ana", "Bo")
    code, asking = ana.code, await running.peer()
    ana.drop()
    bo.drop()
    await running.eventually(lambda: len(running.host._sessions) == 1)
    clock.skip(61)
    await running.listed(lambda tables: not tables)
    assert await asking.refused(m.Watch(table=code)) == ("unknown_table", "table")


async def test_a_table_that_nobody_came_back_to_closes(running, clock):
    people = await running.game("Ana", "Bo", "Cy")
    await running.play_out(*people)
    for person in people:
        person.drop()
    await running.eventually(lambda: not running.host._sessions)
    clock.skip(3600)
    assert [t["stage"] for t in await running.listed()] == ["over"]
    clock.skip(tables.ALONE_FOR / 1000)
    await running.listed(lambda tables: not tables)


async def test_a_game_that_nobody_comes_back_to_for_a_day_closes_too(running, clock):
    people = await running.game("Ana", "Bo", "Cy")
    for person in people:
        person.drop()
    await running.eventually(lambda: not running.host._sessions)
    clock.skip(tables.ALONE_FOR / 1000 - 60)
    again = await running.peer()
    await again.ask(m.Resume(table=people[0].code, token=people[0].token))
    assert (await again.until(lambda view: True)).game["step"] == 1
    again.drop()
    await running.eventually(lambda: not running.host._sessions)
    clock.skip(120)
    assert await running.listed(), "the day begins when the last one goes"
    clock.skip(tables.ALONE_FOR / 1000)
    await running.listed(lambda tables: not tables)


# --- Chat -----------------------------------------------------------------------------------


async def test_spectators_chat_stays_apart_while_a_game_runs(running):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy")
    watching = await running.watcher(ana.code, "Wu")
    other = await running.watcher(ana.code)
    await watching.ask(m.Say(text="she bids high"))
    await ana.ask(m.Say(text="who is there?"))
    await bo.turn()
    await other.turn()
    assert [s.text for s in bo.said] == ["who is there?"]
    assert [(s.seat, s.name, s.text) for s in other.said] == [
        (None, "Wu", "she bids high"), (0, "Ana", "who is there?"),
    ]  # fmt: skip
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))
    await again.turn()
    assert [s.text for s in again.said] == ["who is there?"]
    third = await running.watcher(ana.code)
    await third.turn()
    assert [s.text for s in third.said] == ["she bids high", "who is there?"]


async def test_the_last_fifty_come_again_and_chat_has_a_rate(running, monkeypatch):
    (ana,) = await running.table("Ana")
    rate = running.host._services.chat
    monkeypatch.setattr(rate, "burst", 60.0)
    for n in range(60):
        await ana.ask(m.Say(text=f"line {n}"))
    monkeypatch.setattr(rate, "per_second", 0.0)
    rate._buckets.clear()
    monkeypatch.setattr(rate, "burst", 2.0)
    await ana.ask(m.React(kind="laugh"))
    await ana.ask(m.Say(text="line 60"))
    assert await ana.refused(m.Say(text="line 61")) == ("rate_limited", "chat")
    assert await ana.refused(m.React(kind="poker")) == ("rate_limited", "chat")
    assert await ana.ask(m.AddBot()) == {"seat": 1}
    watching = await running.watcher(ana.code)
    await watching.turn()
    assert [s.text for s in watching.said] == [f"line {n}" for n in range(11, 61)]
