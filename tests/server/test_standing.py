"""Standing tables: one is on offer for whoever comes, and none is left behind."""

from __future__ import annotations

import json
import logging
import sqlite3
from typing import Any

from protocol import messages as m
from protocol.errors import ByeCode


def kinds(view: m.View) -> list[str]:
    return [seat.kind for seat in view.room.seats]


async def test_a_standing_table_starts_when_full_and_another_opens(open_host, clock):
    running = await open_host(players=3, bots=1, bot_delay=0)
    ana, bo = await running.peer(), await running.peer()
    (info,) = (await ana.ask(m.Tables()))["tables"]
    assert info["standing"]
    assert (info["taken"], info["free"], info["bots"]) == (1, 2, 1)
    code = info["table"]
    await ana.ask(m.Join(table=code, name="Ana"))
    view = await ana.until(lambda view: True)
    assert view.room.host is None
    for body in (m.Start(), m.AddBot(), m.Set(title="mine"), m.Remove(seat=0)):
        assert await ana.refused(body) == ("not_host", "host")
    await bo.ask(m.Join(table=code, name="Bo"))
    await ana.until(lambda view: view.room.stage == "playing")
    listed = await running.listed(lambda tables: len(tables) > 1)
    assert [(t["table"] == code, t["stage"]) for t in listed] == [
        (True, "playing"), (False, "lobby"),
    ]  # fmt: skip


def is_offered(tables: list[dict[str, Any]]) -> bool:
    """Whether a seat of a standing table's lobby is free."""
    return any(t["standing"] and t["stage"] == "lobby" and t["free"] for t in tables)


async def standing_game(running: Any, *names: str) -> list[Any]:
    people = [await running.peer() for _ in names]
    (info,) = [t for t in await running.listed(is_offered) if is_offered([t])]
    for person, name in zip(people, names, strict=True):
        await person.ask(m.Join(table=info["table"], name=name))
    for person in people:
        await person.until(lambda view: view.room.stage == "playing")
    return people


async def test_who_keeps_a_seat_plays_the_next_game_of_a_standing_table(open_host, clock):
    running = await open_host(players=3)
    ana, bo, cy = await standing_game(running, "Ana", "Bo", "Cy")
    assert await ana.refused(m.Rematch()) == ("not_over", "not_over")
    await running.play_out(ana, bo, cy)
    view = ana.view
    assert view.room.stage == "over"
    assert view.room.deadline == view.room.since + 45_000
    await ana.ask(m.Rematch())
    await ana.ask(m.Rematch())
    await cy.ask(m.Rematch())
    view = await bo.until(lambda view: view.room.seats[2].keeps)
    assert [seat.keeps for seat in view.room.seats] == [True, False, True]
    cy.drop()
    await ana.until(lambda view: not view.room.seats[2].connected)
    clock.skip(44)
    assert (await ana.turn()).room.stage == "over"
    clock.skip(1.1)
    view = await ana.until(lambda view: view.room.stage == "lobby")
    assert [seat.name for seat in view.room.seats] == ["Ana", "", "Cy"]
    assert (await bo.until(lambda view: view.room.stage == "lobby")).room.me is None
    assert not any(seat.keeps for seat in view.room.seats)
    # Who is away has a minute to come back, as in every lobby.
    back = await running.peer()
    await back.ask(m.Resume(table=ana.code, token=cy.token))
    back.drop()
    await ana.until(lambda view: not view.room.seats[2].connected)
    clock.skip(60.1)
    view = await ana.until(lambda view: view.room.seats[2].kind == "open")
    assert [seat.name for seat in view.room.seats] == ["Ana", "", ""]


async def test_a_standing_table_that_nobody_keeps_closes(open_host, clock):
    running = await open_host(players=3)
    ana, bo, cy = await standing_game(running, "Ana", "Bo", "Cy")
    await running.play_out(ana, bo, cy)
    clock.skip(45.1)
    for person in (ana, bo, cy):
        goodbye = await person.end()
        assert goodbye is not None
        assert goodbye.code == ByeCode.TABLE_CLOSED
    late = await running.peer()
    (info,) = (await late.ask(m.Tables()))["tables"]
    assert info["stage"] == "lobby"


async def test_away_at_a_standing_table(open_host, clock):
    running = await open_host(players=3, bot_delay=0)
    ana, bo, cy = await standing_game(running, "Ana", "Bo", "Cy")
    bo.drop()
    await ana.until(lambda view: not view.room.seats[1].connected)
    clock.skip(59)
    assert kinds(await ana.turn())[1] == "human"
    clock.skip(1.1)
    await ana.until(lambda view: kinds(view)[1] == "stand_in")
    assert not (await ana.turn()).room.seats[1].released
    for _ in range(18):
        clock.skip(30)
        await ana.turn()
        await cy.turn()
    await ana.until(lambda view: view.room.seats[1].released)
    for _ in range(3):
        clock.skip(1)
        await ana.turn()
    with sqlite3.connect(running.host.settings.data / "journal.sqlite3") as db:
        happened = [json.loads(event)["event"] for (event,) in db.execute(
            'SELECT event FROM events WHERE "table" = 1')]  # fmt: skip
    db.close()
    assert (happened.count("stood_in"), happened.count("released")) == (1, 1)
    dee = await running.peer()
    assert (await dee.ask(m.Join(table=ana.code, name="Dee")))["seat"] == 1
    assert kinds(await ana.turn()) == ["human"] * 3


async def test_a_standing_table_that_could_not_open_opens_later(open_host, clock):
    running = await open_host(players=3, max_tables=1)
    ana, bo, cy = await standing_game(running, "Ana", "Bo", "Cy")
    assert len((await ana.ask(m.Tables()))["tables"]) == 1
    await running.play_out(ana, bo, cy)
    clock.skip(45.1)
    await ana.end()
    await running.listed(lambda tables: [t["stage"] for t in tables] == ["lobby"])


async def test_standing_tables_come_back_as_they_were(open_host, clock):
    first = await open_host(players=3)
    ana, bo, cy = await standing_game(first, "Ana", "Bo", "Cy")
    await first.play_out(ana, bo, cy)
    await ana.ask(m.Rematch())
    before = {t["table"]: t for t in (await ana.ask(m.Tables()))["tables"]}
    await first.stop()
    second = await open_host(players=3)
    late = await second.peer()
    assert {t["table"]: t for t in (await late.ask(m.Tables()))["tables"]} == before
    await late.ask(m.Resume(table=ana.code, token=ana.token))
    clock.skip(45.1)
    view = await late.until(lambda view: view.room.stage == "lobby")
    assert [seat.name for seat in view.room.seats] == ["Ana", "", ""]


# --- None is left behind ----------------------------------------------------------------------


async def test_a_lobby_beyond_the_one_on_offer_closes_when_nobody_is_there(open_host, clock):
    running = await open_host(players=3)
    crews = [await standing_game(running, "Ana", "Bo", "Cy") for _ in range(3)]
    for crew in crews:
        await running.play_out(*crew)
        await crew[0].ask(m.Rematch())
    clock.skip(45.1)
    for crew in crews:
        await crew[0].until(lambda view: view.room.stage == "lobby")
    # Those with somebody in them stay; the empty one is needed no more.
    listed = await running.listed(lambda tables: len(tables) == 3)
    assert {table["taken"] for table in listed} == {1}
    for crew in crews:
        await crew[0].ask(m.Leave())
        for person in crew:
            person.drop()
    (last,) = await running.listed(lambda tables: len(tables) == 1)
    assert (last["taken"], last["stage"]) == (0, "lobby")
    clock.skip(25 * 3600)
    running.host.table(last["table"]).look()
    assert await running.listed() == [last]


async def test_who_looks_on_keeps_a_lobby(open_host, clock):
    running = await open_host(players=3)
    crew = await standing_game(running, "Ana", "Bo", "Cy")
    await running.play_out(*crew)
    await crew[0].ask(m.Rematch())
    clock.skip(45.1)
    await crew[0].until(lambda view: view.room.stage == "lobby")
    await running.listed(lambda tables: len(tables) == 1)
    await crew[0].ask(m.Leave())
    assert (await crew[1].turn()).room.spectators == 2
    assert [t["table"] for t in await running.listed()] == [crew[0].code]


async def test_other_flags_close_what_was_on_offer(open_host):
    first = await open_host(players=4)
    (offered,) = await first.listed()
    assert (offered["standing"], offered["seats"]) == (True, 4)
    await first.stop()
    for settings, seats in (({"players": 5}, [5]), ({"players": 5, "turn_seconds": 30}, [5]),
                            ({}, []), ({"players": 3}, [3])):  # fmt: skip
        running = await open_host(**settings)
        listed = await running.listed(
            lambda tables, seats=seats: [t["seats"] for t in tables] == seats
        )
        for table in listed:
            watcher = await running.watcher(table["table"])
            view = await watcher.until(lambda view: True)
            assert view.room.options.turn_seconds == settings.get("turn_seconds", 0)
        await running.stop()


async def test_a_game_at_a_standing_table_closes_when_nobody_was_there_for_a_day(open_host, clock):
    first = await open_host(players=3, bot_delay=3600)
    crew = await standing_game(first, "Ana", "Bo", "Cy")
    await first.stop()
    second = await open_host(bot_delay=3600)
    assert [t["table"] for t in await second.listed()] == [crew[0].code]
    clock.skip(24 * 3600 + 1)
    await second.listed(lambda tables: not tables)


# --- Its clock ------------------------------------------------------------------------------------


async def test_the_clock_of_a_standing_table_deals_with_who_sits_still(open_host, clock):
    running = await open_host(players=3, turn_seconds=30)
    ana, _, _ = await standing_game(running, "Ana", "Bo", "Cy")
    view = ana.view
    assert view.room.options.turn_seconds == 30
    assert view.room.deadline == view.room.since + 30_000
    clock.skip(30.1)
    await ana.until(lambda view: view.game["step"] == 2)


# --- A host that has no more room -------------------------------------------------------------


async def test_one_that_cannot_open_is_tried_by_one_timer_and_said_once(
    open_host, clock, caplog, monkeypatch
):
    running = await open_host(players=3, max_tables=2)
    tries, new_table = [], running.host.new_table

    def counted(opener: str) -> Any:
        tries.append(opener)
        return new_table(opener)

    monkeypatch.setattr(running.host, "new_table", counted)
    (dee,) = await running.table("Dee")
    tries.clear()
    with caplog.at_level(logging.ERROR):
        ana, *_ = await standing_game(running, "Ana", "Bo", "Cy")
        for _ in range(20):
            await ana.ask(m.React(kind="gasp"))
        await running.eventually(lambda: tries)
        for number in range(2, 5):
            clock.skip(5.1)
            await running.eventually(lambda number=number: len(tries) >= number)
            await dee.turn()
        assert len(tries) == 4
        assert caplog.text.count("no standing table") == 1
    await dee.ask(m.Leave())
    clock.skip(5.1)
    await running.listed(lambda tables: [t["stage"] for t in tables] == ["playing", "lobby"])
