"""The journal: on disk before anybody is told, all or none, and for its owner only."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol import messages as m
from server import events as ev
from server.host import Host
from server.store import Entry, Store, StoreError

OPENED = ev.Opened(code="WOLF", game="qe", size=3, title="", options=m.Options(), rules={})


def opened(table: int) -> Entry:
    return Entry(table, 0, 1000, OPENED)


def said(table: int, number: int, text: str = "hi") -> Entry:
    spoken = ev.Spoken(seat=None, name="Ana", text=text, to="all")
    return Entry(table, number, 1000 + number, spoken)


def database(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "journal.sqlite3", isolation_level=None)


def spoil(folder: Path, sql: str, *values: Any) -> None:
    db = database(folder)
    db.execute(sql, values)
    db.close()


async def test_a_journal_gives_back_what_it_was_given(tmp_path):
    given: list[ev.AnyEvent] = [
        ev.Opened(
            code="WOLF",
            game="qe",
            size=5,
            title="Zoë's",
            options=m.Options(turn_seconds=30),
            rules={"notes": False, "first": "host"},
            password="salt:hash",
            standing=True,
        ),
        ev.Joined(seat=0, name="Ana", token=bytes(range(32))),
        ev.Resumed(seat=0, used=bytes(32), token=b"\xff" * 32),
        ev.BotAdded(seat=1, name="Bea", level="normal"),
        ev.Changed(size=3, password="", options=m.Options(away_seconds=0), rules={}),
        ev.Changed(title=""),
        ev.Moved(seat=0, to=2),
        ev.Started(seed="a seed", version=1),
        ev.Acted(seat=0, action={"kind": "bid", "amount": "9" * 1000}),
        ev.Paused(on=True),
        ev.StoodIn(seat=0),
        ev.Released(seat=0),
        ev.HostPassed(seat=1),
        ev.Spoken(seat=None, name="Wu", text="嗯\U0001f600", to="spectators"),
        ev.Kept(seat=0),
        ev.Reopened(seats=[0, 2]),
        ev.Restored(),
        ev.Left(seat=0),
    ]
    store = Store(tmp_path / "data")
    host_id = store.host_id
    assert store.next_table() == 1
    await store.append([Entry(1, n, 5 * n, event) for n, event in enumerate(given)])
    await store.close()
    again = Store(tmp_path / "data")
    assert list(again.tables()) == [(1, [(5 * n, event) for n, event in enumerate(given)])]
    assert (again.host_id, again.next_table(), again.games_begun()) == (host_id, 2, 1)
    await again.close()
    assert len(host_id) == 32
    other = Store(tmp_path / "other")
    assert other.host_id != host_id
    await other.close()


async def test_many_tables_share_a_commit_and_each_has_its_own(tmp_path):
    store = Store(tmp_path / "data")
    commits: list[int] = []
    commit = store._commit
    store._commit = lambda entries: (commits.append(len(entries)), commit(entries))[1]
    await asyncio.gather(*(store.append([opened(table)]) for table in range(1, 101)))
    await asyncio.gather(*(store.append([said(table, 1)]) for table in range(1, 101)))
    assert sum(commits) == 200
    assert len(commits) <= 6
    await store.append([Entry(7, 2, 0, ev.Closed())])
    assert [number for number, _ in store.tables()] == [n for n in range(1, 101) if n != 7]
    assert store.next_table() == 101
    await store.close()


async def test_the_numbers_of_closed_tables_are_not_given_again(tmp_path):
    store = Store(tmp_path / "data")
    await store.append([opened(1), Entry(1, 1, 0, ev.Closed())])
    await store.close()
    store = Store(tmp_path / "data")
    assert list(store.tables()) == []
    assert store.next_table() == 2
    await store.close()


async def test_all_or_none(tmp_path):
    store = Store(tmp_path / "data")
    await store.append([opened(1), said(1, 1)])
    with pytest.raises(StoreError, match="nothing has changed"):
        await store.append([said(1, 2), said(1, 1), said(1, 3)])
    await store.append([said(1, 2, "again")])
    ((_, journal),) = store.tables()
    assert [event.text for _, event in journal[1:]] == ["hi", "again"]
    await store.close()


async def test_what_cannot_be_written_stops_no_other(tmp_path):
    store = Store(tmp_path / "data")
    await store.append([opened(1)])
    for entry in (said(1, 1, "\ud800"), Entry(1, 1, 2**70, ev.Restored())):
        with pytest.raises(StoreError):
            async with asyncio.timeout(5):
                await store.append([entry])
    async with asyncio.timeout(5):
        await store.append([said(1, 1)])
        await store.close()


async def test_only_the_owner_may_read_it(tmp_path):
    old = os.umask(0)
    try:
        store = Store(tmp_path / "data")
        await store.append([opened(1)])
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode)
            for path in [tmp_path / "data", *(tmp_path / "data").iterdir()]
        }
        await store.close()
    finally:
        os.umask(old)
    assert modes.pop("data") == 0o700
    modes.pop("lock")  # which is empty
    assert set(modes) == {"journal.sqlite3", "journal.sqlite3-wal", "journal.sqlite3-shm"}
    assert set(modes.values()) == {0o600}


async def test_two_hosts_do_not_share_a_folder(tmp_path):
    store = Store(tmp_path / "data")
    with pytest.raises(StoreError, match="Another host runs on the data folder"):
        Store(tmp_path / "data")
    # Nor from another process.
    code = "import sys; from pathlib import Path; from server.store import Store, StoreError\n"
    code += "try: Store(Path(sys.argv[1]))\nexcept StoreError as error: print(error)"
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path / "data"), stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    shown, _ = await child.communicate()
    assert shown.decode().startswith("Another host runs on the data folder ")
    await store.append([opened(1)])
    await store.close()
    again = Store(tmp_path / "data")
    await again.close()


async def test_a_closed_journal_takes_nothing_and_may_be_closed_again(tmp_path):
    store = Store(tmp_path / "data")
    await store.append([opened(1)])
    async with asyncio.timeout(5):
        await store.close()
        with pytest.raises(StoreError):
            await store.append([said(1, 1)])
        await store.close()


async def test_what_is_pending_is_written_before_it_closes(tmp_path):
    store = Store(tmp_path / "data")
    pending = asyncio.gather(*(store.append([opened(table)]) for table in range(1, 20)))
    await asyncio.sleep(0)
    await store.close()
    await pending
    again = Store(tmp_path / "data")
    assert again.next_table() == 20
    await again.close()


# --- Folders and files that are none ----------------------------------------------------------


async def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"^The data folder cannot be made: .*\.$"):
        Store(tmp_path / "file" / "data")


@pytest.mark.parametrize(
    "bad",
    [
        "'{not json'",
        "''",
        "'[]'",
        '\'{"event":"opened"}\'',
        '\'{"event":"exploded"}\'',
        "x'7b22ff'",
        "CAST(x'7b22657665ff6e74227d' AS TEXT)",
        "replace(hex(zeroblob(5000)), '00', '[')",
        "7",
        '{"event":"moved","seat":7,"to":0}',
        '{"event":"left","seat":1e300}',
        '{"event":"left","seat":' + "9" * 400 + "}",
        '{"event":"acted","seat":0,"action":{"kind":"bid","amount":"1"}}',
        '{"event":"started","seed":"x","version":1}',
    ],
)
async def test_an_unreadable_event_of_one_table_does_not_stop_the_others(
    open_host, tmp_path, bad, caplog
):
    first = await open_host()
    ana, _ = await first.table("Ana", "Bo", title="good")
    await first.table("Cy", title="spoilt")
    seats = ana.token
    await first.stop()
    value = f"'{bad}'" if bad.startswith("{") else bad
    spoil(tmp_path / "data", f'UPDATE events SET event = {value} WHERE "table" = 2 AND number = 1')
    second = await open_host()
    assert [t["title"] for t in await second.listed()] == ["good"]
    again = await second.peer()
    await again.ask(m.Resume(table=ana.code, token=seats))
    # A new table gets a number and a code of its own, and the spoilt one is kept.
    (dee,) = await second.table("Dee")
    assert dee.code not in {"", ana.code}
    db = database(tmp_path / "data")
    assert db.execute("SELECT id, open FROM tables").fetchall() == [(1, 1), (2, 1), (3, 1)]
    db.close()
    assert "cannot be restored and is kept" in caplog.text


@pytest.mark.parametrize(
    "sql",
    [
        'DELETE FROM events WHERE "table" = 2 AND number = 1',
        'UPDATE events SET number = number + 1 WHERE "table" = 2 AND number = 2',
        """UPDATE events SET at = 'noon' WHERE "table" = 2 AND number = 1""",
        """UPDATE events SET at = 9e99 WHERE "table" = 2 AND number = 1""",
    ],
)
async def test_a_table_that_lacks_an_event_does_not_go_on(tmp_path, sql):
    store = Store(tmp_path / "data")
    for table in (1, 2):
        await store.append([opened(table), said(table, 1), said(table, 2)])
    await store.close()
    spoil(tmp_path / "data", sql)
    store = Store(tmp_path / "data")
    (good, journal), (bad, nothing) = store.tables()
    assert (good, len(journal), bad, nothing) == (1, 3, 2, None)
    assert store.code(2) == "WOLF"
    await store.close()


async def test_a_journal_that_cannot_be_followed_is_kept_too(open_host, tmp_path, caplog):
    first = await open_host()
    ana, *_ = await first.game("Ana", "Bo", "Cy")
    await ana.bid(31415926535)
    await first.stop()
    spoil(tmp_path / "data", """UPDATE events SET event = replace(event, '"version":1',
        '"version":99') WHERE event LIKE '%started%'""")  # fmt: skip
    second = await open_host()
    assert await second.listed() == []
    assert "rules of a version that is not known" in caplog.text
    await second.stop()
    spoil(tmp_path / "data", """UPDATE events SET event = replace(event, '"version":99',
        '"version":1') WHERE event LIKE '%started%'""")  # fmt: skip
    spoil(tmp_path / "data", "DELETE FROM events WHERE number = 1")
    third = await open_host()
    assert await third.listed() == []
    assert "31415926535" not in caplog.text


# --- A disk that is full ------------------------------------------------------------------------


class FullDisk:
    """A journal that may not grow, as on a full disk, until there is room again."""

    def __init__(self, store: Store) -> None:
        self._db = store._db

    def __enter__(self) -> None:
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        self._db.execute(f"PRAGMA max_page_count = {pages}")

    def __exit__(self, *_: object) -> None:
        self._db.execute("PRAGMA max_page_count = 1000000")


def long(number: int) -> m.Say:
    """Chat that soon needs another page."""
    return m.Say(text="x" * 270 + str(number))


async def until_full(ana: Any, running: Any) -> None:
    running.host._services.chat.burst = 1000.0
    for number in range(100):
        answer = ana.send(long(number))
        await asyncio.wait({answer})
        if answer.exception() is not None:
            assert answer.exception().code == "not_saved"
            return
    raise AssertionError("the disk does not get full")


async def test_a_full_disk_is_a_refusal_and_nothing_has_changed(open_host, tmp_path, caplog):
    running = await open_host()
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    dee = await running.peer()
    with FullDisk(running.host._store):
        await until_full(ana, running)
        told = len(bo.said)
        views = [len(p.views) for p in (ana, bo, cy)]
        bid = m.Act(step=1, action={"kind": "bid", "amount": "9" * 1000})
        assert await ana.refused(bid) == ("not_saved", "journal")
        assert await ana.refused(long(0)) == ("not_saved", "journal")
        big = m.Create(game="qe", seats=3, title="x" * 40, name="Dee", password="p" * 128)
        codes = set()
        for _ in range(3):
            codes.add((await dee.refused(big))[0])
        assert codes == {"not_saved"}
        assert len(await running.listed()) == 1
        await bo.turn()
        assert [len(p.views) for p in (ana, bo, cy)] == views
        assert len(bo.said) == told
        assert ana.view.game["step"] == 1
    await ana.bid("9" * 1000)
    await bo.until(lambda view: view.game["step"] == 2)
    await dee.ask(big)
    before = [t for t in await running.listed() if t["table"] == ana.code]
    token = bo.token
    await running.stop()
    assert "999999" not in caplog.text
    second = await open_host()
    assert [t for t in await second.listed() if t["table"] == ana.code] == before
    again = await second.peer()
    await again.ask(m.Resume(table=ana.code, token=token))
    assert (await again.until(lambda view: True)).game["step"] == 2


async def test_a_clock_that_cannot_be_saved_is_tried_again_and_not_in_a_frenzy(
    open_host, clock, caplog
):
    running = await open_host()
    ana, bo, _ = await running.game("Ana", "Bo", "Cy", options={"turn_seconds": 30})
    with FullDisk(running.host._store), caplog.at_level(logging.ERROR):
        await until_full(ana, running)
        caplog.clear()
        # The last bytes of a page are taken by short events.
        for _ in range(20):
            answer = ana.send(m.Say(text="x"))
            await asyncio.wait({answer})
            if answer.exception() is not None:
                break
        else:
            raise AssertionError("the disk does not get full")
        caplog.clear()
        clock.skip(31)
        await asyncio.sleep(0.3)
        assert 1 <= len(caplog.records) <= 4  # two lines each time
        assert ana.view.game["step"] == 1
    clock.skip(2)
    await bo.until(lambda view: view.game["step"] == 2)


def refuse(store: Store, kind: type[ev.Event]) -> Callable[[], None]:
    """Lets the disk be full whenever such an event comes, till the returned function is called."""
    commit = store._commit

    def failing(entries: Any) -> None:
        if any(isinstance(entry.event, kind) for entry in entries):
            raise sqlite3.OperationalError("database or disk is full")
        commit(entries)

    store._commit = failing  # type: ignore[method-assign]
    return lambda: setattr(store, "_commit", commit)


async def test_a_start_that_cannot_be_saved_is_made_up_for(open_host, clock):
    running = await open_host(players=3)
    people = [await running.peer() for _ in range(3)]
    (info,) = await running.listed()
    for person, name in zip(people[:2], ("Ana", "Bo"), strict=True):
        await person.ask(m.Join(table=info["table"], name=name))
    heal = refuse(running.host._store, ev.Started)
    await people[2].ask(m.Join(table=info["table"], name="Cy"))
    view = await people[2].until(lambda view: True)
    assert view.room.stage == "lobby"
    heal()
    clock.skip(5)
    await people[2].until(lambda view: view.room.stage == "playing")


async def test_a_host_whose_disk_is_full_serves_what_it_has(open_host, clock, caplog):
    first = await open_host()
    ana, *_ = await first.game("Ana", "Bo", "Cy", options={"turn_seconds": 30})
    await first.stop()

    heal: list[Callable[[], None]] = []

    async def full(host: Host) -> None:
        heal.append(refuse(host._store, ev.Restored))

    second = await open_host(before=full)
    assert "a clock could not be started anew" in caplog.text
    assert [t["table"] for t in await second.listed()] == [ana.code]
    again = await second.peer()
    await again.ask(m.Watch(table=ana.code))
    assert (await again.until(lambda view: True)).game["step"] == 1
    # Nobody's time runs out before the clock has been started anew.
    clock.skip(31)
    await second.eventually(lambda: caplog.text.count("in a table's own time") >= 1)
    heal[0]()
    clock.skip(1.1)
    view = await again.until(lambda view: view.room.deadline > clock.now())
    assert view.game["step"] == 1
    clock.skip(30.1)
    await again.until(lambda view: view.game["step"] == 2)
