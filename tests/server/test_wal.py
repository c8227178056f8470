"""The write-ahead log after a kill: nothing answered is lost, and no damage goes unnoticed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from server.journal import NAME, WAL_LIMIT
from server.store import Entry, Store
from tests.server.journals import (
    OPENED,
    SAID,
    SHM,
    WAL,
    events,
    fill,
    flip,
    put,
    said,
    stock,
)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("journal"))


def middle(folder: Path) -> int:
    return (folder / WAL).stat().st_size // 2


@pytest.mark.parametrize("without_index", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        lambda f: flip(f / WAL, middle(f)),
        lambda f: flip(f / WAL, 5000),
        lambda f: flip(f / WAL, 3),
        lambda f: flip(f / WAL, 18),
        lambda f: put(f / WAL, 0, b"\0" * 4096),
        lambda f: put(f / WAL, middle(f), b"\0" * 9000),
        lambda f: os.truncate(f / NAME, 0),
    ],
)
async def test_a_damaged_log_does_not_take_answered_actions_with_it(
    states: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[Path], object],
    without_index: bool,
) -> None:
    """SQLite alone would go on from what stood before the damage, and say nothing."""
    folder = tmp_path / "data"
    shutil.copytree(states / "killed", folder)
    damage(folder)
    if without_index:
        (folder / SHM).unlink()
    before = stock(folder)
    store = Store(folder)
    assert [*store.tables()] == []
    await store.close()
    kept = stock(folder)
    for end in ("", "-wal"):
        (name,) = (n for n in kept if n.endswith(f".set-aside.sqlite3{end}"))
        assert kept[name] == before[NAME + end]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: os.truncate(f / WAL, middle(f)),
        lambda f: flip(f / WAL, -100),
        lambda f: (f / WAL).unlink(),
        lambda f: os.truncate(f / WAL, 0),
    ],
)
async def test_a_log_that_lost_its_end_is_known_by_its_index(
    states: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], object]
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(states / "killed", folder)
    damage(folder)
    store = Store(folder)
    assert [*store.tables()] == []
    await store.close()
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda f: None,
        lambda f: (f / SHM).unlink(),
        lambda f: os.truncate(f / SHM, 0),
        lambda f: put(f / SHM, 0, os.urandom(32768)),
        lambda f: put(f / SHM, 16, b"\xff\xff\xff\x7f"),
    ],
)
async def test_after_a_kill_everything_is_there(
    states: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, change: Callable[[Path], object]
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(states / "killed", folder)
    change(folder)
    store = Store(folder)
    assert events(store) == SAID
    await store.close()
    assert not caplog.records


async def test_what_was_being_written_when_the_power_went_is_no_damage(
    states: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody had an answer to it: the last transaction, cut off or never synced."""
    size = (states / "killed" / WAL).stat().st_size
    for number, cut in enumerate((1, 24, 4000, 4120)):
        folder = tmp_path / str(number)
        shutil.copytree(states / "killed", folder)
        (folder / SHM).unlink()
        os.truncate(folder / WAL, size - cut)
        store = Store(folder)
        assert events(store) == SAID - 1
        await store.close()
    assert not caplog.records


async def test_a_log_that_was_begun_again_is_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Old frames stay behind the new ones when a log starts from its beginning again."""
    store = Store(tmp_path / "live")
    await store.append([Entry(1, 0, 1000, OPENED)])
    count = 1
    for _ in range(3):
        for _ in range(40):
            await store.append([said(count)])
            count += 1
        store._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    for last in range(3):
        await store.append([said(count)])
        count += 1
        folder = tmp_path / f"copy {last}"
        shutil.copytree(tmp_path / "live", folder)
        for number, index in enumerate((True, False)):
            if not index:
                (folder / SHM).unlink(missing_ok=True)
            shutil.copytree(folder, tmp_path / f"{last} {number}")
            again = Store(tmp_path / f"{last} {number}")
            assert events(again) == count
            await again.close()
    await store.close()
    assert not caplog.records


async def test_it_is_synced_and_the_log_does_not_grow_without_bound(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    await store.append([Entry(1, 0, 1000, OPENED)])
    sizes = []
    for batch in range(30):
        await store.append([said(1 + 100 * batch + n, "x" * 50) for n in range(100)])
        sizes.append((tmp_path / WAL).stat().st_size)
    written = (tmp_path / NAME).stat().st_size
    assert written > 1.5 * WAL_LIMIT
    assert max(sizes) < 2 * WAL_LIMIT
    await store.close()
