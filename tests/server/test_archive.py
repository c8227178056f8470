"""Games out of a journal: all of them, each for itself, and whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from protocol import messages as m
from server import events as ev
from server.archive import Item, Record, games_in, items
from server.games.qe import QE
from server.games.registry import GAMES
from server.journal import NAME, read_journal
from server.store import Entry, Journal, Store

RULES = {"notes": True, "first": "host"}
START = 1_700_000_000_000


def opened(**fields: Any) -> ev.Opened:
    given = {"code": "WOLF", "game": "qe", "size": 3, "title": "Friday", "rules": RULES}
    return ev.Opened(**given | {"options": m.Options()} | fields)


def played(seats: int = 3, seed: str = "a seed", host: int | None = 0, most: int = 999) -> Journal:
    """The actions of a whole game, each of a seat's time being up, or the first of them."""
    state = QE.new(seats, host, QE.rules(RULES), seed, 1, 1)
    acted: Journal = []
    while (waiting := QE.waiting(state)) and len(acted) < most:
        action = QE.timeout(state, waiting[0])
        at = START + 1000 * len(acted)
        acted.append((at, ev.Acted(seat=waiting[0], action=msgspec.to_builtins(action))))
        state = QE.act(state, waiting[0], action)
    return acted


def seated(*names: str) -> Journal:
    return [(5, ev.Joined(seat=n, name=name, token=bytes(32))) for n, name in enumerate(names)]


def table(*more: ev.AnyEvent, most: int = 999) -> Journal:
    """A table of three, a game on it, and what came after that."""
    game = played(most=most)
    return [
        (1, opened()),
        *seated("Ana", "Bo", "Cy"),
        (START, ev.Started(seed="a seed", version=1)),
        *game,
        *((game[-1][0] + 1 + n, event) for n, event in enumerate(more)),
    ]


def of(journal: Journal, whole: bool = True) -> list[Item]:
    return list(items(journal, whole, GAMES))


def record(journal: Journal, **how: Any) -> Record:
    (item,) = of(journal)
    found = item.record(**how)
    assert found is not None
    return found


def test_a_game_that_is_over():
    (item,) = of(table())
    assert item.summary() == {
        "number": 0,
        "table": "WOLF",
        "title": "Friday",
        "game": "qe",
        "started": START,
        "stage": "finished",
        "players": ["Ana", "Bo", "Cy"],
        "winners": item.winners,
    }
    found = item.record()
    assert found.seats[1].name == "Bo"
    assert (found.host, found.seed, found.rules, found.rules_version) == (0, "a seed", RULES, 1)
    assert len(found.actions) == len(played())
    assert found.actions[0] == msgspec.convert(
        {"at": START, "seat": 0, "action": {"kind": "bid", "amount": "1"}},
        type=type(found.actions[0]),
    )
    assert found.result.winners == item.winners
    assert found.commitment == QE.public(QE.new(3, 0, QE.rules(RULES), "a seed", 1, 1)).commitment
    assert found.chat is None
    assert "a seed" not in repr(item) + repr(found) + repr(found.actions[0]) + repr(item.played)


def test_the_exported_form_is_what_it_says_it_is():
    """Field by field as docs/games.md has it; nothing here may change within its version 1."""
    spoken = ev.Spoken(seat=1, name="Bo", text="hm", to="all")
    fields = json.loads(msgspec.json.encode(record(table(spoken), chat=True)))
    assert list(fields) == [
        "format", "version", "table", "title", "game", "rules_version", "rules", "options",
        "seats", "host", "seed", "commitment", "started", "actions", "result", "chat",
    ]  # fmt: skip
    assert (fields["format"], fields["version"]) == ("qe-game", 1)
    assert fields["seats"][0] == {"name": "Ana", "kind": "human", "level": None}
    assert list(fields["actions"][0]) == ["at", "seat", "action"]
    assert list(fields["result"]) == ["totals", "winners"]
    assert [(s["name"], s["text"], s["to"], s["seat"]) for s in fields["chat"]] == [
        ("Bo", "hm", "all", 1)
    ]


def test_no_token_and_no_password_comes_out():
    token = bytes(range(200, 232))
    journal = [
        (1, opened(password="5a17:4a54")),
        (2, ev.Joined(seat=0, name="Ana", token=token)),
        (2, ev.Joined(seat=1, name="Bo", token=token)),
        (2, ev.BotAdded(seat=2, name="Bea", level="normal")),
        (START, ev.Started(seed="a seed", version=1)),
        (START, ev.Resumed(seat=0, used=token, token=token)),
        (START, ev.Spoken(seat=0, name="Ana", text="a word", to="all")),
        *played(),
    ]
    text = msgspec.json.encode(record(journal)).decode()
    for secret in (token.hex(), "yMnKy8zN", "5a17", "4a54", "a word"):
        assert secret not in text
    assert '{"name":"Bea","kind":"bot","level":"normal"}' in text


def test_the_stages_of_games():
    stages = [
        (table(most=7), "running"),
        (table(ev.Closed(), most=7), "unfinished"),
        (table(), "finished"),
        (table(ev.Closed()), "finished"),
        (table(ev.Reopened(seats=[0, 1]), ev.Left(seat=1), ev.Closed()), "finished"),
    ]
    for journal, stage in stages:
        (item,) = of(journal)
        assert item.stage == stage
        assert (item.winners is None) is (stage != "finished")
        assert (item.record().result is None) is (stage != "finished")
    assert of([(1, opened()), *seated("Ana"), (9, ev.Closed())]) == []


def test_a_table_with_several_games():
    journal = table(ev.Left(seat=1), ev.Reopened(seats=[0, 2]))
    back = journal[-1][0]
    journal += [
        (back + 5, ev.Joined(seat=1, name="Dee", token=bytes(32))),
        (back + 6, ev.Changed(title="Saturday")),
        (back + 7, ev.Started(seed="another", version=1)),
        (back + 8, ev.StoodIn(seat=2)),
        *played(seed="another", most=3),
    ]
    first, second = of(journal)
    assert (first.players, first.title, first.stage) == (["Ana", "Bo", "Cy"], "Friday", "finished")
    assert (second.players, second.title) == (["Ana", "Dee", "Cy"], "Saturday")
    assert (second.started, second.stage) == (back + 7, "running")
    assert [seat.kind for seat in second.record().seats] == ["human", "human", "stand_in"]
    assert len(second.record().actions) == 3
    assert len(first.record().actions) == len(played())


def test_games_whose_rules_are_not_known():
    def newer(event: ev.AnyEvent) -> ev.AnyEvent:
        return ev.Started(seed="a seed", version=7) if isinstance(event, ev.Started) else event

    journal = [(at, newer(event)) for at, event in table(ev.Reopened(seats=[0, 1, 2]))]
    at = journal[-1][0]
    journal += [(at + 1, ev.Started(seed="old", version=1)), *played(seed="old", most=4)]
    first, second = of(journal)
    assert (first.stage, first.players) == ("unknown rules", ["Ana", "Bo", "Cy"])
    found = first.record()
    assert (len(found.actions), found.result, found.commitment) == (len(played()), None, None)
    assert (found.rules_version, second.stage) == (7, "running")
    (chess,) = of([(1, opened(game="chess")), (2, ev.Started(seed="x", version=1))])
    assert (chess.code, chess.game, chess.stage) == ("WOLF", "chess", "unknown rules")
    assert chess.record() is None


@pytest.mark.parametrize(
    ("journal", "whole", "stages"),
    [
        ([], True, ["unreadable"]),
        (table()[1:], True, ["unreadable"]),
        (table(most=9), False, ["unreadable"]),
        (table(), False, ["finished", "unreadable"]),
        (table(ev.Acted(seat=0, action={"kind": "bid", "amount": "x"}), most=9), True,
         ["unreadable"]),
        (table(ev.Moved(seat=0, to=99)), True, ["finished", "unreadable"]),
    ],
)  # fmt: skip
def test_what_cannot_be_read_hides_nothing_else(journal, whole, stages):
    found = of(journal, whole)
    assert [item.stage for item in found] == stages
    assert found[-1].record() is None


async def test_oldest_first_over_all_tables(tmp_path: Path):
    store = Store(tmp_path)
    for number, late in enumerate((50_000_000, 0, 90_000_000), 1):
        journal = [(at + late, event) for at, event in table(most=3)]
        await store.append([Entry(number, n, *entry) for n, entry in enumerate(journal)])
    found = read_journal(tmp_path / NAME, games_in)
    assert [item.number for item in found] == [1, 2, 3]
    assert [item.started for item in found] == [START, START + 50_000_000, START + 90_000_000]
    assert store.read(games_in)[0].identity() == found[0].identity()
    await store.close()
