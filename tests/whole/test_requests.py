"""Every request and every error code of the wire against a real host, and what everybody at the
table is shown of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from audience import OPTIONS, Member, Table, open_seat
from hosting import HostProcess
from wire import Connection, until

RunHost = Callable[..., HostProcess]
HOST_REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("set", {"title": "Mine"}),
    ("move", {"seat": 0, "to": 1}),
    ("add_bot", {}),
    ("remove", {"seat": 1}),
    ("start", {}),
    ("stand_in", {"seat": 1}),
    ("release", {"seat": 1}),
    ("pause", {"on": True}),
)
AT_A_TABLE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("leave", {}),
    ("act", {"step": 1, "action": {"kind": "peek"}}),
    ("say", {"text": "hello"}),
    ("react", {"kind": "gasp"}),
    ("rematch", {}),
    *HOST_REQUESTS,
)


async def _playing(table: Table, *names: str) -> None:
    for name in names:
        await table.join(name)
    await table.start()


async def _info(link: Connection, code: str) -> dict[str, Any] | None:
    for info in (await link.ask("tables"))["tables"]:
        if info["table"] == code:
            found: dict[str, Any] = info
            return found
    return None


# --- Hello, ping, tables --------------------------------------------------------------------


async def test_hello(host: HostProcess, link: Connection) -> None:
    welcome = link.welcome
    assert welcome["version"] == 1
    assert abs(welcome["now"] - time.time() * 1000) < 10_000
    assert set(welcome["host"]) == {"id", "name", "version"}
    assert welcome["host"]["name"] == "A host"
    assert welcome["host"]["id"]
    assert set(welcome["games"]) == {"qe"}
    game = welcome["games"]["qe"]
    assert set(game) == {"seats", "levels"}
    assert game["seats"] == [3, 5]
    assert game["levels"]
    assert all(isinstance(level, str) for level in game["levels"])
    assert abs((await link.ask("ping"))["now"] - time.time() * 1000) < 10_000


async def test_before_hello(host: HostProcess) -> None:
    link = await Connection.open(host.port, tls=False, hello=False)
    for kind, fields in (("ping", {}), ("tables", {}), *AT_A_TABLE):
        await link.refused("not_hello", kind, **fields)
    await link.refused("unsupported_version", "hello", versions=[2, 99], client="x")
    welcome = await link.ask("hello", versions=[7, 1, 2], client="x")
    assert welcome["version"] == 1
    await link.close()


async def test_tables(table: Table, link: Connection) -> None:
    """All that a list shows, in each of a table's stages."""
    wanted = {
        "table": table.code, "title": "A table", "game": "qe", "stage": "lobby", "seats": 4,
        "taken": 1, "free": 3, "bots": 0, "spectators": 0, "locked": False, "standing": False,
    }  # fmt: skip
    assert await _info(link, table.code) == wanted
    await table.join("Bo")
    await _add_bot(table)
    await table.watch()
    wanted |= {"taken": 3, "free": 1, "bots": 1, "spectators": 1}
    assert await _info(link, table.code) == wanted
    await table.members[0].link.ask("set", password="pass", title="Another")
    wanted |= {"locked": True, "title": "Another"}
    assert await _info(link, table.code) == wanted
    await table.members[0].link.ask("start")
    wanted |= {"stage": "playing", "seats": 3, "free": 0}
    assert await _info(link, table.code) == wanted
    await table.at(1).link.ask("leave")
    assert await _info(link, table.code) == wanted | {"free": 1}


@pytest.mark.parametrize(("kind", "fields"), AT_A_TABLE)
async def test_not_at_a_table(link: Connection, kind: str, fields: dict[str, Any]) -> None:
    await link.refused("not_seated", kind, **fields)


async def test_unknown_table(link: Connection) -> None:
    for code in ("ZZZZ", "", "wolf", "A" * 300, "[/b]", "\x1b"):
        await link.refused("unknown_table", "join", table=code, name="Bo")
        await link.refused("unknown_table", "watch", table=code)
        await link.refused("unknown_table", "resume", table=code, token="0" * 32)


# --- Sitting down and getting up ------------------------------------------------------------


async def test_join_and_already_seated(table: Table) -> None:
    member = await table.join("Bo")
    assert member.seat == 1
    create = {"game": "qe", "seats": 3, "title": "T", "name": "Bo"}
    await member.link.refused("already_seated", "create", **create)
    await member.link.refused("already_seated", "join", table=table.code, name="Cy")
    await member.link.refused("already_seated", "watch", table=table.code)
    await table.silent()


async def test_full_and_begun(table: Table) -> None:
    for name in ("Bo", "Cy", "Dee"):
        await table.join(name)
    late = await table.connect()
    await late.refused("table_full", "join", table=table.code, name="Eve")
    await table.at(0).link.refused("table_full", "add_bot")
    await table.at(0).link.refused("table_full", "set", seats=3)
    await table.start()
    await late.refused("already_started", "join", table=table.code, name="Eve")
    await late.close()
    await table.silent()


async def test_a_spectator_moves_to_a_seat(table: Table) -> None:
    member = await table.watch("Bo")
    made = await member.link.ask("join", table=table.code, name="Bo")
    member.seat, member.token = made["seat"], made["token"]
    table.room["seats"][1] |= {"name": "Bo", "kind": "human", "connected": True}
    await table.settle()
    await member.link.ask("leave")
    table.members.remove(member)
    table.room["seats"][1] = open_seat(1)
    await table.settle()
    made = await member.link.ask("join", table=table.code, name="Bob")  # and once more
    assert made["seat"] == 1
    await member.link.close()


async def test_a_spectator_goes_to_another_table(table: Table) -> None:
    other = await Table.create(table.host, 3)
    member = await table.watch("Zoe")
    assert await member.link.ask("watch", table=other.code) == {}
    table.members.remove(member)
    member.last, member.name = None, "spectator"
    other.members.append(member)
    await other.settle()
    await table.settle()
    await other.close()


async def test_watching(table: Table) -> None:
    first = await table.watch("Zoe")
    link = await table.connect()
    for taken in ("Zoe", "zoe", "Ana"):
        await link.refused("name_taken", "watch", table=table.code, name=taken)
    await link.close()
    await table.watch()
    await table.watch()
    await first.link.refused("not_host", "start")
    assert await first.link.ask("leave") == {}
    table.members.remove(first)
    await table.settle()
    await first.link.refused("not_seated", "say", text="hello")
    await first.link.silent()
    await first.link.close()


async def test_leave_before_the_start(table: Table) -> None:
    """The seat is free, its token void; the host's role goes to the longest seated human."""
    bo, cy = await table.join("Bo"), await table.join("Cy")
    await table.move_seats(1, 2)
    ana = table.members[0]
    assert await ana.link.ask("leave") == {}
    table.members.remove(ana)
    table.room["seats"][0] = open_seat(0)
    table.room["host"] = bo.seat
    await table.settle()
    await ana.link.refused("bad_token", "resume", table=table.code, token=ana.token)
    await cy.link.refused("not_host", "set", title="Mine")
    again = await table.join("Ana")
    assert again.seat == 0
    await ana.link.close()


async def test_the_last_one_closes_the_table(table: Table, link: Connection) -> None:
    """Who looks on keeps it open, and is its host on sitting down."""
    ana, zoe = table.at(0), await table.watch("Zoe")
    await ana.link.ask("leave")
    table.members.remove(ana)
    table.room["seats"][0], table.room["host"] = open_seat(0), None
    await table.settle()
    made = await zoe.link.ask("join", table=table.code, name="Zoe")
    zoe.seat, zoe.token, table.room["host"] = made["seat"], made["token"], 0
    table.room["seats"][0] |= {"name": "Zoe", "kind": "human", "connected": True}
    await table.settle()
    await zoe.link.ask("leave")

    async def closed() -> bool:
        return await _info(link, table.code) is None

    await until(closed)
    await link.refused("unknown_table", "watch", table=table.code)
    await ana.link.close()


async def test_leave_in_a_game(table: Table) -> None:
    """The seat is released: a computer plays it, and whoever joins has it."""
    await _playing(table, "Bo", "Cy")
    bo, referee = table.at(1), table.referee
    assert referee is not None
    if referee.waiting == [1]:
        await table.bid(1, 5)
    assert await bo.link.ask("leave") == {}
    async with asyncio.timeout(5):
        while (view := (await table.at(0).link.view()).fields)["room"]["seats"][1]["released"]:
            if view["game"]["waiting"] != [1]:
                break
    assert view["room"]["seats"][1]["kind"] == "stand_in"
    await bo.link.refused("bad_token", "resume", table=table.code, token=bo.token)
    await bo.link.refused("name_taken", "join", table=table.code, name="Ana")
    made = await bo.link.ask("join", table=table.code, name="Bo")
    assert made["seat"] == 1
    view = await _latest(bo)
    assert view["you"]["seat"] == 1
    assert {"keeps": False, **view["room"]["seats"][1]} == {
        "seat": 1, "name": "Bo", "kind": "human", "level": None, "connected": True,
        "released": False, "keeps": False,
    }  # fmt: skip


async def _latest(member: Member) -> dict[str, Any]:
    """The view that stands after all that has been sent."""
    await member.link.ask("ping")
    fields: dict[str, Any] = {}
    while not member.link.views.empty():
        fields = member.link.views.get_nowait().fields
    return fields


# --- The lobby ------------------------------------------------------------------------------


async def _add_bot(table: Table, **fields: Any) -> int:
    ana = table.at(0)
    made = await ana.link.ask("add_bot", **fields)
    shown = (await ana.link.view()).fields["room"]["seats"][made["seat"]]
    levels = ana.link.welcome["games"]["qe"]["levels"]
    assert shown["kind"] == "bot"
    assert shown["level"] == fields.get("level", levels[0])
    assert shown["name"]
    table.room["seats"][made["seat"]] = {
        **open_seat(made["seat"]), "name": shown["name"], "kind": "bot", "level": shown["level"],
        "connected": True,
    }  # fmt: skip
    ana.last = table.wanted(ana)
    await table.settle()
    seat: int = made["seat"]
    return seat


async def test_set(table: Table) -> None:
    ana = table.at(0)
    await table.join("Bo")
    room = table.room

    async def set_(**fields: Any) -> None:
        assert await ana.link.ask("set", **fields) == {}
        await table.settle()

    room["title"] = "A game of QE"
    await set_(title="A game of QE")
    room["options"] = {**OPTIONS, "turn_seconds": 90}
    await set_(options={"turn_seconds": 90})
    room["options"] = {**OPTIONS, "turn_seconds": 90, "away_seconds": 5}
    await set_(options={"away_seconds": 5})
    room["rules"] = {"notes": False, "first": "random"}
    await set_(rules={"notes": False})
    room["rules"] = {"notes": False, "first": "host"}
    await set_(rules={"first": "host"})
    room["locked"] = True
    await set_(password="secret")
    room["locked"] = False
    await set_(password="")
    room["size"], room["seats"] = 5, [*room["seats"], open_seat(4)]
    await set_(seats=5)
    room["size"], room["seats"] = 3, room["seats"][:3]
    await set_(seats=3)
    assert await ana.link.ask("set") == {}
    assert await ana.link.ask("set", seats=3, title="A game of QE") == {}
    await table.silent()
    for seats in (2, 6, 0, -1):
        await ana.link.refused("bad_message", "set", seats=seats)
    await ana.link.refused("bad_message", "set", rules={"notes": 1})
    await ana.link.refused("bad_message", "set", options={"away_seconds": -1})
    await table.silent()


async def test_move(table: Table) -> None:
    await table.join("Bo")
    await table.move_seats(0, 1)
    await table.move_seats(1, 3)
    await table.move_seats(2, 3)
    for seat, to in ((0, 4), (9, 0), (255, 255)):
        await table.at(table.room["host"]).link.refused("bad_message", "move", seat=seat, to=to)
    await table.silent()


async def test_bots(table: Table) -> None:
    ana = table.at(0)
    for level in ana.link.welcome["games"]["qe"]["levels"]:
        seat = await _add_bot(table, level=level)
        assert await ana.link.ask("remove", seat=seat) == {}
        table.room["seats"][seat] = open_seat(seat)
        await table.settle()
    await ana.link.refused("bad_message", "add_bot", level="godlike")
    assert [await _add_bot(table) for _ in range(3)] == [1, 2, 3]
    names = [seat["name"] for seat in table.room["seats"]]
    assert len(set(names)) == 4


async def test_remove(table: Table) -> None:
    bo, ana = await table.join("Bo"), table.at(0)
    await ana.link.refused("bad_message", "remove", seat=4)
    assert await ana.link.ask("remove", seat=1) == {}
    await bo.link.goodbye("removed")
    table.members.remove(bo)
    table.room["seats"][1] = open_seat(1)
    await table.settle()
    link = await table.connect()
    await link.refused("bad_token", "resume", table=table.code, token=bo.token)
    await link.close()
    await bo.link.close()


@pytest.mark.parametrize(("kind", "fields"), HOST_REQUESTS)
async def test_not_host(table: Table, kind: str, fields: dict[str, Any]) -> None:
    bo, zoe = await table.join("Bo"), await table.watch("Zoe")
    await bo.link.refused("not_host", kind, **fields)
    await zoe.link.refused("not_host", kind, **fields)
    await bo.link.refused("not_host", "rematch")
    await table.silent()


async def test_start(table: Table) -> None:
    """Enough seats must be taken; open ones go, and the rest are numbered from 0, in order."""
    ana = table.at(0)
    await ana.link.refused("not_ready", "start")
    await table.join("Bo")
    await ana.link.refused("not_ready", "start")
    await ana.link.refused("not_over", "rematch")
    await table.join("Cy")
    await table.move_seats(0, 3)
    await table.move_seats(1, 2)
    await table.start()
    assert [seat["name"] for seat in table.room["seats"]] == ["Cy", "Bo", "Ana"]
    lobby_only = [request for request in HOST_REQUESTS if request[0] in
                  ("set", "move", "add_bot", "remove", "start")]  # fmt: skip
    for kind, fields in lobby_only:
        await ana.link.refused("already_started", kind, **fields)
    await ana.link.refused("not_over", "rematch")
    await table.silent()


async def test_start_when_full(host: HostProcess) -> None:
    table = await Table.create(host, 3, options={"start_when_full": True})
    await table.join("Bo")
    link = await table.connect()
    made = await link.ask("join", table=table.code, name="Cy")
    cy = Member("Cy", link, made["token"], made["seat"])
    table._sit(cy)
    await table.begun()
    assert table.referee is not None
    await table.bid(table.referee.waiting[0], 3)
    await table.close()


# --- Words ----------------------------------------------------------------------------------


async def test_chat(table: Table) -> None:
    """To all; while a game runs, spectators' chat to spectators. The last 50 come again."""
    bo, zoe = await table.join("Bo"), await table.watch("Zoe")
    anonymous = await table.watch()
    lines = await _say(table, bo, 1, "Bo", "Hello!", table.members)
    lines += await _say(table, zoe, None, "Zoe", "Good luck", table.members)
    await table.join("Cy")
    assert [w for w in _words(table.at(2)) if w["type"] == "said"] == lines
    await table.start()
    apart = await _say(table, zoe, None, "Zoe", "He has nothing", [zoe, anonymous])
    await table.silent()
    lines += await _say(table, table.at(0), 0, "Ana", "I heard that", table.members)
    await table.resume(bo)
    await bo.link.ask("ping")
    assert _words(bo) == lines
    late = await table.watch("Yan")
    await late.link.ask("ping")
    assert _words(late) == [*lines[:2], *apart, *lines[2:]]
    name = (await table.watch()).name
    assert name == "spectator"


async def _say(
    table: Table, who: Member, seat: int | None, name: str, text: str, to: list[Member]
) -> list[dict[str, Any]]:
    assert await who.link.ask("say", text=text) == {}
    words = [await member.link.word() for member in to]
    assert all(word == words[0] for word in words)
    at = words[0].pop("at")
    assert abs(at - time.time() * 1000) < 10_000
    assert words[0] == {
        "type": "said", "table": table.code, "seat": seat, "name": name, "text": text
    }  # fmt: skip
    return [{**words[0], "at": at}]


def _words(member: Member) -> list[dict[str, Any]]:
    found = []
    while not member.link.said.empty():
        found.append(member.link.said.get_nowait())
    return found


async def test_reactions(table: Table) -> None:
    zoe = await table.watch("Zoe")
    for who, seat in ((table.at(0), 0), (zoe, None)):
        for kind in ("gasp", "laugh", "poker", "applause"):
            assert await who.link.ask("react", kind=kind) == {}
            for member in table.members:
                assert await member.link.word() == {
                    "type": "reacted", "table": table.code, "seat": seat, "name": who.name,
                    "kind": kind,
                }  # fmt: skip
    late = await table.watch()
    await late.link.silent()  # shown, not kept
