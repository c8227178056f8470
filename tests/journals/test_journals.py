"""A journal that any released version wrote: the same answers from it, and its games go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from protocol import messages as m
from server.archive import games_in
from server.importing import checked
from server.journal import NAME, read_journal
from tests.journals.make import PASSWORD, answers, go_on, listed, start
from tests.server.conftest import Running

JOURNALS = sorted(Path(__file__).parent.glob("*.sqlite3"))


def test_there_is_a_journal_of_every_release() -> None:
    assert {path.stem for path in JOURNALS} >= {"0.1.0"}
    for path in JOURNALS:
        assert path.stat().st_size < 100_000
        assert path.with_suffix(".json").exists()


@pytest.fixture(params=JOURNALS, ids=lambda path: path.stem)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A data folder with a copy of the journal, and what is known of it."""
    path: Path = request.param
    (tmp_path / "data").mkdir()
    shutil.copyfile(path, tmp_path / "data" / NAME)
    known: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return tmp_path / "data", known


def has(found: Any, expected: Any) -> bool:
    """Whether all that is expected is there; maps may have got more fields since."""
    if isinstance(expected, dict):
        return all(name in found and has(found[name], part) for name, part in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(has, found, expected))
    return bool(found == expected)


async def locked(running: Running, known: dict[str, Any]) -> None:
    """Nobody comes to the table with a password without it."""
    code = known["codes"]["lobby"]
    peer = await running.peer()
    for password in (None, "a hedgehot"):
        join = m.Join(table=code, name="Guy", password=password)
        assert await peer.refused(join) == ("wrong_password", "password")
    await peer.ask(m.Join(table=code, name="Guy", password=PASSWORD))


async def test_every_view_is_the_same(
    journal: tuple[Path, dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    folder, known = journal
    running = await start(folder)
    try:
        tables = {table["table"] for table in await running.listed()}
        assert tables == set(known["codes"].values())
        found = await answers(running, known)
        for code, expected in known["answers"].items():
            assert has(found[code], expected), code
        await locked(running, known)
    finally:
        await running.stop()
    assert not caplog.records


async def test_its_games_go_on_and_end_as_they_did(journal: tuple[Path, dict[str, Any]]) -> None:
    folder, known = journal
    running = await start(folder)
    try:
        assert has(await go_on(running, known), known["go_on"])
    finally:
        await running.stop()


def test_its_games_are_listed_and_can_be_exported(journal: tuple[Path, dict[str, Any]]) -> None:
    folder, known = journal
    assert has(listed(folder), known["games"])
    records = [item.record() for item in read_journal(folder / NAME, games_in)]
    over = [record for record in records if record is not None and record.result is not None]
    assert len(over) == sum(game["stage"] == "finished" for game in known["games"])
    for record in over:
        checked(record)
