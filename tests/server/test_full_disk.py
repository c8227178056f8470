"""A disk without room, or that may not be written: refused in a sentence, and nothing lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from protocol import messages as m
from server.journal import NAME, WAL_LIMIT
from server.store import Entry, Store, StoreError
from tests.server.journals import (
    OPENED,
    SAID,
    SHM,
    WAL,
    events,
    fill,
    fill_up,
    read_only,
    said,
    small_disk,
    stock,
)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("journal"))


async def test_a_folder_that_may_not_be_written_is_refused(states: Path, tmp_path: Path) -> None:
    if os.name == "posix" and os.geteuid() != 0:
        shutil.copytree(states / "clean", tmp_path / "data")
        (tmp_path / "data" / NAME).chmod(0o400)
        with pytest.raises(StoreError, match=r"may not be .*written|cannot be opened"):
            Store(tmp_path / "data")
        return
    with small_disk(tmp_path / "disk", 1000) as disk:
        shutil.copytree(states / "clean", disk / "data")
        before = stock(disk / "data")
        read_only(disk)
        with pytest.raises(StoreError, match=r"^The (data folder|journal).* cannot be .*\.$"):
            Store(disk / "data")
        assert stock(disk / "data") == before


async def test_a_disk_that_is_full_at_the_start(states: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1000) as disk:
        shutil.copytree(states / "killed", disk / "old")
        (disk / "old" / SHM).unlink()
        (disk / "old" / "lock").touch()
        (disk / "new").mkdir()
        before = stock(disk / "old")
        filler = fill_up(disk)
        for folder in (disk / "old", disk / "new"):
            with pytest.raises(StoreError, match=r"^The (data folder|journal).* (full|space).*\.$"):
                Store(folder)
        filler.unlink()
        assert {name: stock(disk / "old")[name] for name in before} == before
        for folder, there in ((disk / "old", SAID), (disk / "new", 0)):
            store = Store(folder)
            assert events(store) == there
            await store.close()
            assert set(stock(folder)) == {NAME}


async def test_a_game_on_a_full_disk_loses_nothing(
    open_host: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "disk", 600) as disk:
        first = await open_host(data=disk / "data")
        ana, bo, cy = await first.game("Ana", "Bo", "Cy")
        await ana.bid(7)
        await bo.until(lambda view: view.game["step"] == 2)
        filler = fill_up(disk, leave=60_000)
        answered = ""
        for number in range(1000):  # a secret bid may be changed while its phase is open
            answer = bo.send(bid(2, f"{number + 1:0<900}"))
            await asyncio.wait({answer})
            if (error := answer.exception()) is not None:
                assert error.code == "not_saved"
                break
            answered = f"{number + 1:0<900}"
        assert await bo.refused(bid(2, "8" * 900)) == ("not_saved", "journal")
        assert await cy.refused(bid(2, "9" * 900)) == ("not_saved", "journal")
        await first.listed(lambda tables: len(tables) == 1)
        token = bo.token
        await first.stop()  # the disk being full still
        with contextlib.suppress(StoreError):
            again = await open_host(data=disk / "data")
            assert len(await again.listed()) == 1
            await again.stop()
        filler.unlink()
        second = await open_host(data=disk / "data")
        bo = await second.peer()
        await bo.ask(m.Resume(table=ana.code, token=token))
        view = await bo.until(lambda view: True)
        assert (view.game["step"], view.game["waiting"]) == (2, [2])
        assert view.you["bid"] == answered != ""
        await bo.bid(8)
        assert answered[:9] not in caplog.text
        assert "set aside" not in caplog.text
        await second.stop()


def bid(step: int, amount: int | str) -> m.Act:
    return m.Act(step=step, action={"kind": "bid", "amount": str(amount)})


async def test_a_checkpoint_that_finds_no_room_is_made_up_for(tmp_path: Path) -> None:
    """The log is full of room, the database is not: commits go on while the log has some."""
    with small_disk(tmp_path / "disk", 12_000) as disk:
        store = Store(disk / "data")
        await store.append([Entry(1, 0, 1000, OPENED)])
        count = 1
        while (disk / "data" / NAME).stat().st_size < WAL_LIMIT:
            await store.append([said(count + n, "x" * 50) for n in range(100)])
            count += 100
        filler = fill_up(disk)
        full = (disk / "data" / NAME).stat().st_size
        with contextlib.suppress(StoreError):
            while True:
                await store.append([said(count, "x" * 50)])
                count += 1
        shutil.copytree(disk / "data", tmp_path / "killed then")
        filler.unlink()
        for _ in range(300):
            await store.append([said(count, "x" * 50)])
            count += 1
        assert (disk / "data" / NAME).stat().st_size > full
        assert (disk / "data" / WAL).stat().st_size < 2 * WAL_LIMIT
        await store.close()
        then = Store(tmp_path / "killed then")
        assert events(then) == count - 300
        await then.close()
        again = Store(disk / "data")
        assert events(again) == count
        await again.close()
