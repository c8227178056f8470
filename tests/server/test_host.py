"""All tables of one process: opened, listed, restored."""

from __future__ import annotations

import asyncio
import hashlib
import time

import pytest

from protocol import messages as m
from server import doors
from server.host import Host, Settings
from server.store import StoreError


async def test_a_table_is_created_listed_and_found(running):
    ana = await running.peer()
    given = await ana.ask(
        m.Create(game="qe", seats=5, title="Friday", name="Ana", password="x",
                 options={"turn_seconds": 60}, rules={"notes": False})
    )  # fmt: skip
    assert set(given) == {"table", "seat", "token"}
    assert given["seat"] == 0
    view = await ana.until(lambda view: True)
    assert view.table == given["table"]
    assert view.room.host == view.room.me == 0
    assert view.room.options == m.Options(turn_seconds=60)
    assert view.room.rules == {"notes": False, "first": "random"}
    (info,) = await running.listed()
    assert info == {
        "table": given["table"], "title": "Friday", "game": "qe", "stage": "lobby", "seats": 5,
        "taken": 1, "free": 4, "bots": 0, "spectators": 0, "locked": True, "standing": False,
    }  # fmt: skip
    bo = await running.peer()
    for code in ("NONE", given["table"].lower(), ""):
        assert await bo.refused(m.Join(table=code, name="Bo")) == ("unknown_table", "table")


async def test_only_so_many_tables(open_host):
    running = await open_host(max_tables=2)
    (ana,), _ = await running.table("Ana"), await running.table("Bo")
    cy = await running.peer()
    create = m.Create(game="qe", seats=3, title="", name="Cy")
    assert await cy.refused(create) == ("host_full", "tables")
    await ana.ask(m.Leave())
    await running.listed(lambda tables: len(tables) == 1)
    await cy.ask(create)


async def test_one_address_leaves_a_table_for_others(open_host, monkeypatch):
    running = await open_host(max_tables=20)
    first = await running.table("Ana")
    for _ in range(17):
        await running.table("Ana")
    peer = await running.peer()
    create = m.Create(game="qe", seats=3, title="", name="Ana")
    locked = m.Create(game="qe", seats=3, title="", name="Ana", password="x")
    for request in (create, locked):
        assert await peer.refused(request) == ("host_full", "share")
    # From elsewhere there is one still.
    with monkeypatch.context() as patch:
        patch.setattr(doors, "origin", lambda address: "192.0.2.7")
        other = await running.peer()
    await other.ask(create)
    await other.ask(m.Leave())
    await first[0].ask(m.Leave())
    await running.listed(lambda tables: len(tables) == 17)
    await peer.ask(create)
    # After a restart nobody knows who opened them.
    await running.stop()
    again = await open_host(max_tables=20)
    peer = await again.peer()
    await peer.ask(create)


async def test_a_clock_that_is_set_anew_changes_nothing(tmp_path, monkeypatch):
    wall, passed = [1_700_000_000 * 10**9], [5 * 10**9]
    monkeypatch.setattr(time, "time_ns", lambda: wall[0])
    monkeypatch.setattr(time, "monotonic_ns", lambda: passed[0])
    now = Host(Settings(data=tmp_path / "data", name="x", tls=False)).now
    assert now() == 1_700_000_000_000
    for jump in (-3600, 25 * 3600):
        wall[0] += jump * 10**9
        passed[0] += 10**9
    assert now() == 1_700_000_002_000


async def test_many_tables_at_once_have_codes_and_journals_of_their_own(running):
    people = [await running.peer() for _ in range(25)]
    create = m.Create(game="qe", seats=3, title="", name="Ana")
    await asyncio.gather(*(person.ask(create) for person in people))
    assert len({person.code for person in people}) == 25
    assert len(await running.listed()) == 25
    tokens = {person.code: person.token for person in people}
    await asyncio.gather(*(p.ask(m.Leave()) for p in people[:20]))
    await running.listed(lambda tables: len(tables) == 5)
    for person in people[20:]:
        other = await running.peer()
        await other.ask(m.Resume(table=person.code, token=tokens[person.code]))


async def test_everything_is_as_it_was_after_a_restart(open_host, clock):
    first = await open_host()
    ana, bo, cy = await first.game("Ana", "Bo", "Cy", title="Friday")
    for _ in range(4):
        await first.auction(ana, bo, cy)
    await ana.ask(m.Say(text="hm"))
    (dee,) = await first.table("Dee", password="x")
    await ana.turn()
    before = {person: person.raw[-1] for person in (ana, bo, cy, dee)}
    listed = await first.listed()
    host_id = first.host._store.host_id
    await first.stop()
    second = await open_host()
    assert await second.listed() == listed
    assert second.host._store.host_id == host_id
    back = {}
    for person in before:
        back[person] = await second.peer()
        await back[person].ask(m.Resume(table=person.code, token=person.token))
    for person, again in back.items():
        await again.until(
            lambda view: all(seat.connected for seat in view.room.seats if seat.kind == "human")
        )
        assert again.raw[-1] == before[person]
    assert [said.text for said in back[ana].said] == ["hm"]
    await second.play_out(back[ana], back[bo], back[cy])
    assert back[ana].view.room.results


async def test_a_given_seed_makes_the_deals_foreseeable(open_host):
    running = await open_host(seed="golden")
    for number in (1, 2):
        people = await running.game("Ana", "Bo", "Cy")
        commitment = people[0].view.game["commitment"]
        assert commitment == hashlib.sha256(f"golden/{number}".encode()).hexdigest()
    await running.stop()
    again = await open_host(seed="golden")
    people = await again.game("Ana", "Bo", "Cy")
    assert people[0].view.game["commitment"] == hashlib.sha256(b"golden/3").hexdigest()


async def test_no_two_games_have_a_seed_in_common(running):
    seen = set()
    for _ in range(3):
        people = await running.game("Ana", "Bo", "Cy")
        await running.play_out(*people)
        seed = people[0].view.game["result"]["seed"]
        assert len(bytes.fromhex(seed)) == 32
        assert hashlib.sha256(seed.encode()).hexdigest() == people[0].view.game["commitment"]
        seen.add(seed)
    assert len(seen) == 3


async def test_a_folder_has_one_host_and_is_free_when_that_has_stopped(open_host, tmp_path):
    first = await open_host()
    with pytest.raises(StoreError, match="Another host"):
        Host(Settings(data=tmp_path / "data", name="x", tls=False))
    await first.stop()
    await open_host()


async def test_a_host_may_be_stopped_twice_and_before_it_has_started(tmp_path):
    host = Host(Settings(data=tmp_path / "data", name="x", bind="127.0.0.1", port=0, tls=False))
    async with asyncio.timeout(5):
        await host.stop()
        await host.stop()
        host = Host(Settings(data=tmp_path / "data", name="x", bind="127.0.0.1", port=0, tls=False))
        await host.start()
        await host.stop()
        await host.stop()


async def test_a_host_stops_in_the_middle_of_requests(open_host):
    running = await open_host()
    people = await running.game("Ana", "Bo", "Cy")
    late = [await running.peer() for _ in range(10)]
    answers = [peer.send(m.Watch(table=people[0].code)) for peer in late]
    answers += [people[0].send(m.Say(text="x")) for _ in range(10)]
    await asyncio.sleep(0)
    async with asyncio.timeout(8):
        await running.host.stop()
        await asyncio.wait(answers)
    await running.eventually(lambda: not running.host._sessions)
    names = [t.get_name() for t in asyncio.all_tasks()]
    assert not [name for name in names if name.startswith(("session", "table", "journal"))]


def test_settings_do_not_show_the_seed(tmp_path):
    settings = Settings(data=tmp_path, name="x", seed="31415926535")
    assert "31415926535" not in repr(settings) + str(settings)
