"""`qe-server games`, as its user has it: beside a running host, with hostile names, out and in."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from protocol import messages as m
from server import events as ev
from server.cli import main
from server.journal import NAME
from server.store import Entry, Store
from tests.server.test_importing import journal

HOSTILE = "B\x1b[2Jo\u202e\x9b"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["games", *map(str, arguments)])


def refused(*arguments: object) -> str:
    """The sentence of a refusal."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit)
    return result.output.strip().removeprefix("Error: ")


def keep(folder: Path, *journals: list[tuple[int, ev.AnyEvent]]) -> None:
    """Writes tables into the journal of a data folder."""

    async def write() -> None:
        store = Store(folder)
        for number, told in enumerate(journals, store.next_table()):
            await store.append([Entry(number, n, *entry) for n, entry in enumerate(told)])
        await store.close()

    asyncio.run(write())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of three games: one over, one under way at a hostile table, one never ended."""
    over = journal(3, 0, "human", "stand_in", "bot")
    running = [(at + 10_000_000, event) for at, event in journal(4, 1, *["human"] * 4) if at > 0][
        :12
    ]
    running[0] = running[0][0], ev.Opened(
        code="BEAR", game="qe", size=4, title=HOSTILE, options=m.Options(),
        rules={"notes": False, "first": "host"},
    )  # fmt: skip
    running[1] = running[1][0], ev.Joined(seat=0, name=HOSTILE, token=bytes(32))
    ended = [(at + 20_000_000, event) for at, event in journal(5, 0, *["human"] * 5)][:15]
    ended.append((ended[-1][0], ev.Closed()))
    keep(tmp_path / "data", over, running, ended)
    return tmp_path / "data"


def test_the_list(folder: Path) -> None:
    shown = run("--data", folder)
    assert shown.exit_code == 0
    lines = shown.output.splitlines()
    assert len(lines) == 3
    assert lines[0].split()[0] == "1"
    for part in ("WOLF", "finished", "Zoë0", "Bot2", '"嗯 [/b]"'):
        assert part in lines[0]
    assert lines[0].count("*") == 1
    assert "BEAR  running        B[2Jo, Zoë1" in lines[1]
    assert "unfinished" in lines[2]
    assert all(line.isprintable() for line in lines)


def test_the_list_as_json(folder: Path) -> None:
    shown = run("--data", folder, "--json")
    assert shown.output.isascii()
    found = json.loads(shown.output)
    assert [game["stage"] for game in found] == ["finished", "running", "unfinished"]
    assert [game["number"] for game in found] == [1, 2, 3]
    assert found[1]["players"][0] == HOSTILE
    assert found[1]["winners"] is None
    for secret in ("seed", "314159", "amount"):
        assert secret not in shown.output


def test_where_the_data_is(folder: Path, tmp_path: Path) -> None:
    expected = run("--data", folder).output
    for arguments in (
        ["--data", str(folder), "games"],
        ["--data", str(tmp_path / "none"), "games", "--data", str(folder)],
    ):
        assert CliRunner().invoke(main, arguments).output == expected
    whole = run("export", "1", "--data", folder).output
    assert run("--data", folder, "export", "1").output == whole
    assert run("--data", tmp_path / "none", "export", "1", "--data", folder).output == whole
    assert f"There is no journal in {tmp_path / 'none'}." in refused("--data", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_out_in_and_out_again_is_the_same(folder: Path, tmp_path: Path) -> None:
    for name, how in (("plain", []), ("chat", ["--chat"])):
        first, second = tmp_path / f"{name}.json", tmp_path / f"{name} again.json"
        shown = run("--data", folder, "export", "--all", *how, "-o", first)
        assert shown.exit_code == 0
        assert f"1 game written to {first}." in shown.output
        assert "2 games left out, not being over" in shown.output
        assert stat.S_IMODE(first.stat().st_mode) == 0o600
        assert run("import", first, "--data", tmp_path / name).output == "1 game imported.\n"
        shown = run("--data", tmp_path / name, "export", "1", *how, "-o", second)
        assert shown.output == f"1 game written to {second}.\n"
        assert second.read_bytes() == first.read_bytes()
        assert first.read_bytes().isascii()
        assert (b'"chat"' in first.read_bytes()) is bool(how)
        assert json.loads(run("--data", tmp_path / name, "--json").output)[0]["stage"] == "finished"


def test_what_is_secret_does_not_come_out_by_mistake(folder: Path, tmp_path: Path) -> None:
    for number in (2, 3):
        sentence = refused("--data", folder, "export", number)
        assert f"Game {number} is not over; --unfinished" in sentence
        assert "its secrets included" in sentence
    assert "reveals what is still secret" in " ".join(run("export", "--help").output.split())
    shown = run("--data", folder, "export", "2", "--unfinished")
    (game,) = map(json.loads, shown.output.splitlines())
    assert (game["seed"], game["result"]) == ("a seed", None)
    assert len(run("--data", folder, "export", "--all", "--unfinished").stdout.splitlines()) == 3
    shown = run("--data", folder, "export", "3", "--unfinished")
    (tmp_path / "running.json").write_text(shown.output)
    sentence = refused("--data", tmp_path / "new", "import", tmp_path / "running.json")
    assert "only games that are over can be imported. Nothing has been imported." in sentence
    assert not (tmp_path / "new").exists()


def test_orders_that_make_no_sense(folder: Path, tmp_path: Path) -> None:
    assert "or give --all" in refused("--data", folder, "export")
    assert "or give --all" in refused("--data", folder, "export", "1", "--all")
    assert "There is no game 9 in the list." in refused("--data", folder, "export", "1", "9")
    assert "There is no game 0 in the list." in refused("--data", folder, "export", "0")
    refused("--data", folder, "export", "x")
    refused("import")
    gone = tmp_path / "nowhere" / "x.json"
    assert "cannot be written: No such file" in refused("--data", folder, "export", "1", "-o", gone)
    assert "cannot be read: No such file" in refused("--data", folder, "import", gone)
    assert "1 game imported" not in run("--data", folder, "export", "1", "1").output
    assert len(run("--data", folder, "export", "1", "1").output.splitlines()) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_only_files_are_replaced(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is not a file" in refused("--data", folder, "export", "1", "-o", tmp_path / "pipe")
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    assert run("--data", folder, "export", "1", "-o", tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text().startswith('{"format":"qe-game"')


def test_all_files_or_none(folder: Path, tmp_path: Path) -> None:
    def file(name: str, *games: dict[str, Any]) -> Path:
        (tmp_path / name).write_text("\n".join(map(json.dumps, games)))
        return tmp_path / name

    good = json.loads(run("--data", folder, "export", "1").output)
    other = good | {"started": good["started"] + 1}
    wrong = good | {"started": 7, "result": {"totals": [0, 0, 0], "winners": [1]}}
    hostile = good | {"title": "\x1b[2J"}
    new = tmp_path / "new"
    fine = file("fine.json", good, other)
    for name, games, why in (
        ("wrong", (good | {"started": 5}, wrong), "game 2: Its result is not the one"),
        ("hostile", (hostile,), "game 1: It has text that is not allowed"),
        ("same", (good,), "game 1: It is the same as"),
        ("twice", (good | {"started": 6}, other), "game 2: It is the same as"),
    ):
        sentence = refused("import", fine, file(f"{name}.json", *games), "--data", new)
        assert why in sentence
        assert sentence.endswith("Nothing has been imported.")
        assert not new.exists()
    assert run("import", fine, "--data", new).output == "2 games imported.\n"
    before = run("--data", new).output
    sentence = refused("import", file("third.json", other, good | {"started": 9}), "--data", new)
    assert "game 1: It is here already, as game 2. Nothing has been imported." in sentence
    assert run("--data", new).output == before
    assert "It is here already, as game 1." in refused("import", fine, "--data", folder)


async def test_beside_a_running_host(open_host: Any, tmp_path: Path) -> None:
    running = await open_host()
    people = await running.game("Ana", "Bo", "Cy")
    await running.play_out(*people)
    await people[0].ask(m.Rematch())
    await people[0].ask(m.Start())
    await people[0].until(lambda view: view.room.stage == "playing")
    await people[0].bid(31415926535)
    folder = tmp_path / "data"
    before = sorted(os.listdir(folder))
    listed = json.loads((await asyncio.to_thread(run, "--data", folder, "--json")).output)
    assert [game["stage"] for game in listed] == ["finished", "running"]
    over = people[0].view.room.results[0]
    assert (listed[0]["winners"], listed[0]["players"]) == (over.winners, over.names)
    exported = await asyncio.to_thread(run, "--data", folder, "export", "--all")
    (game,) = map(json.loads, exported.stdout.splitlines())
    assert game["result"] == {"totals": over.totals, "winners": over.winners}
    assert "31415926535" not in exported.output
    (tmp_path / "game.json").write_text(exported.stdout)
    sentence = await asyncio.to_thread(refused, "--data", folder, "import", tmp_path / "game.json")
    assert sentence == f"Another host runs on the data folder {folder}."
    assert sorted(os.listdir(folder)) == before
    # What was imported into another folder does not come back as a table there.
    await asyncio.to_thread(run, "--data", tmp_path / "other", "import", tmp_path / "game.json")
    other = await open_host(data=tmp_path / "other")
    assert await other.listed() == []
    (dee,) = await other.table("Dee")
    assert dee.code


def test_a_journal_that_is_none(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("Dear diary," * 99)
    assert "is not a database." in refused("--data", tmp_path)
    assert "is not a database." in refused("--data", tmp_path, "export", "--all")
    assert os.listdir(tmp_path) == [NAME]
    keep(tmp_path / "empty")
    assert run("--data", tmp_path / "empty").output == "No game has been played here yet.\n"
