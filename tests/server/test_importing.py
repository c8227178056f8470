"""Exported games are taken in where they are right in every word, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest

from protocol import messages as m
from server import events as ev
from server.archive import Record, items
from server.games.qe import QE
from server.games.registry import GAMES
from server.importing import ImportRefused, checked, parse
from server.room import fold
from server.store import Journal

START = 1_700_000_000_000
CANARY = "31415926535"


def journal(seats: int, host: int | None, *kinds: str) -> Journal:
    """A whole game, with a canary as an opening bid, and some chat."""
    rules = {"notes": False, "first": "host"}
    told: Journal = [
        (START - 9, ev.Opened(code="WOLF", game="qe", size=seats, title="嗯 [/b]", rules=rules,
                              options=m.Options(turn_seconds=30), standing=host is None)),
    ]  # fmt: skip
    for seat, kind in enumerate(kinds):
        if kind == "bot":
            told.append((START - 5, ev.BotAdded(seat=seat, name=f"Bot{seat}", level="normal")))
        else:
            told.append((START - 5, ev.Joined(seat=seat, name=f"Zoë{seat}", token=b"t" * 32)))
    if host:
        told.append((START - 4, ev.HostPassed(seat=host)))
    told.append((START, ev.Started(seed="a seed", version=1)))
    told += [
        (START + 3, ev.StoodIn(seat=seat)) for seat, kind in enumerate(kinds) if kind == "stand_in"
    ]
    told.append((START + 4, ev.Spoken(seat=None, name="Kim", text="hm", to="spectators")))
    state = QE.new(seats, host, QE.rules(rules), "a seed", 1, 1)
    at = START + 5
    while waiting := QE.waiting(state):
        action = QE.timeout(state, waiting[-1])
        if at == START + 5:
            action = QE.action({"kind": "bid", "amount": CANARY})
        told.append((at, ev.Acted(seat=waiting[-1], action=msgspec.to_builtins(action))))
        state = QE.act(state, waiting[-1], action)
        at += 700
    return told


@cache
def exported(seats: int = 3, host: int | None = 0, *kinds: str) -> Record:
    kinds = kinds or ("human",) * seats
    (item,) = items(journal(seats, host, *kinds), True, GAMES)
    found = item.record(chat=True)
    assert found is not None
    return found


def fields(**changes: Any) -> dict[str, Any]:
    """An exported game as a map, with other values here and there."""
    found: dict[str, Any] = msgspec.to_builtins(exported())
    for path, value in changes.items():
        *way, last = path.split("__")
        at: Any = found
        for step in way:
            at = at[int(step) if isinstance(at, list) else step]
        at[int(last) if isinstance(at, list) else last] = value
    return found


def data(found: Any) -> bytes:
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    "game",
    [
        (3, 0),
        (3, 2, "human", "bot", "human"),
        (4, None),
        (4, 1, "stand_in", "human", "bot", "stand_in"),
        (5, 0, "human", "bot", "bot", "bot", "bot"),
    ],
)
def test_what_goes_in_comes_out_the_same(game: tuple[Any, ...]) -> None:
    record = exported(*game)
    (again,) = parse(msgspec.json.encode(record))
    assert again == record
    told = checked(again)
    (item,) = items(told, True, GAMES)
    assert item.stage == "finished"
    assert msgspec.json.encode(item.record(chat=True)) == msgspec.json.encode(record)
    # It is a closed table, at which nobody has a seat who could come back to it.
    room = fold(told, GAMES)
    assert room.closed
    assert room.password is None
    assert {seat.token for seat in room.seats} <= {None, bytes(32)}
    without = msgspec.structs.replace(record, chat=None)
    assert not [event for _, event in checked(without) if isinstance(event, ev.Spoken)]


def test_chat_comes_between_the_actions_where_it_was_said() -> None:
    record = exported()
    at = record.actions[2].at
    chat = [
        msgspec.structs.replace(record.chat[0], at=at + 1, seat=seat, name=name)
        for seat, name in ((1, "Zoë1"), (None, "host"))
    ]
    told = checked(msgspec.structs.replace(record, chat=chat))
    assert [at for at, _ in told] == sorted(at for at, _ in told)
    (item,) = items(told, True, GAMES)
    assert item.record(chat=True).chat == chat


def test_a_clock_that_was_set_back_between_two_runs_of_a_host_is_no_hindrance() -> None:
    told = journal(3, 0, *("human",) * 3)
    late = [(at - 3_600_000 if n > 12 else at, event) for n, (at, event) in enumerate(told)]
    (item,) = items(late, True, GAMES)
    assert checked(item.record(chat=True))


def test_how_a_file_may_be_laid_out() -> None:
    one = fields()
    assert len(parse(data(one))) == 1
    assert len(parse(json.dumps(one, indent=4).encode())) == 1
    assert len(parse(data(one) + b"\n\r\n" + data(one) + b"\n")) == 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "There is no game in it."),
        (b"\n \n", "There is no game in it."),
        (b"hello", "Line 1 is no JSON."),
        (b"\xff\xfe\x00", "Line 1 is no JSON."),
        pytest.param(b"[" * 100_000, "It is no exported game.", id="deep"),
        pytest.param(
            b'{"format": "qe-game", "version": 1, "rules": ' + b"[" * 100_000,
            "It is no JSON.",
            id="deeper",
        ),
        (b"[]", "It is no exported game."),
        (b"7", "It is no exported game."),
        (b'{"format": "chess", "version": 1}', "It is no exported game."),
        (b'{"format": "qe-game", "version": "1"}', "It is no exported game."),
        (b'{"format": "qe-game", "version": 2}', "newer version of this program"),
        (data(fields()) + b"\n{", "Line 2 is no JSON."),
        (data(fields()) + b"\n" + data(fields(version=3)), "Line 2: Its format has a version"),
        (data(fields(extra=1)), "unknown field `extra`"),
        (data(fields(seats=None)), "Expected `array`, got `null`"),
        (data(fields(started="now")), "Expected `int`, got `str`"),
        (data(fields(started=-1)), "Expected `int` >= 0"),
        (data(fields(started=10**40)), "Expected `int`|out of range"),
        (data(fields(seats__0__kind="\x1b[2J")), r"Invalid enum value '.?\[2J'|Invalid enum"),
        (data(fields(actions__0__at=True)), "Expected `int`, got `bool`"),
        (data({k: v for k, v in fields().items() if k != "seed"}), "missing required field `seed`"),
    ],
)
def test_what_is_no_exported_game(content: bytes, why: str) -> None:
    with pytest.raises(ImportRefused, match=why) as info:
        parse(content)
    shown = str(info.value)
    assert shown.endswith(".")
    assert shown.isprintable()
    assert len(shown) < 300


def shift(found: dict[str, Any]) -> None:
    found["actions"][3]["seat"] = (found["actions"][3]["seat"] + 1) % 3


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"game": "chess"}, "Its game is not known here."),
        ({"rules_version": 2}, "It follows version 2 of the rules, which is not known here."),
        ({"rules_version": 10**30}, "Expected `int` <= 1000000"),
        ({"rules": {"notes": 1}}, "The rules of QE are"),
        ({"rules": {"pace": 1}}, "The rules of QE are"),
        ({"options": {"turn_seconds": -1}}, "options are not understood"),
        ({"table": "wolf"}, "no code of four letters"),
        ({"table": "WO\x1bF"}, "no code of four letters"),
        ({"title": "x" * 41}, "text that is not allowed: A title"),
        ({"title": "\x1b]0;x\x07"}, "text that is not allowed: A title"),
        ({"seats__1__name": "B\u202eo"}, "text that is not allowed: A name"),
        ({"seats__1__name": ""}, "text that is not allowed: A name"),
        ({"seats__1__name": "B\ud800o"}, "text that is not allowed: A name|no JSON"),
        ({"seats__1__level": "normal"}, "A computer player has a level"),
        ({"seats__1__kind": "bot"}, "A computer player has a level"),
        ({"seed": ""}, "Its seed is no line of text."),
        ({"seed": "a\nb"}, "Its seed is no line of text."),
        ({"seed": "another seed"}, "Its (result|commitment)|is not allowed"),
        ({"commitment": "00" * 32}, "Its commitment is not that of its seed."),
        ({"commitment": None}, "Its commitment is not that of its seed."),
        ({"host": 3}, "Its host is no seat that a player has."),
        ({"host": -1}, "Expected `int` >= 0"),
        ({"host": 1}, "Action 1 is not allowed. Only the auctioneer bids now"),
        ({"seats": []}, "It has 0 seats; this game has 3 to 5."),
        ({"chat__0__text": "\x9b2J"}, "text that is not allowed: A chat message"),
        ({"chat__0__name": "\x9b2J"}, "text that is not allowed: A name"),
        ({"actions__2__seat": 77}, "Action 3 is not allowed. There is no such seat"),
        ({"actions__2__seat": -1}, "Expected `int` >= 0"),
        ({"actions__2__seat": 10**30}, "Expected `int` <= 255|out of range"),
        ({"actions__2__at": START - 1}, "Its times go backwards."),
        ({"actions__2__at": 0}, "Its times go backwards."),
        ({"actions__2__at": -1}, "Expected `int` >= 0"),
        ({"chat__0__at": START - 1}, "Its times go backwards."),
        ({"chat__0__seat": 3}, "Its chat has a seat that the table has not."),
        ({"chat__0__seat": 2**80}, "Expected `int` <= 255|out of range"),
        ({"seats__1__name": "host"}, "Its players do not have names of their own."),
        ({"seats__1__name": "Zoë0"}, "Its players do not have names of their own."),
        ({"seats__1__name": "ZOË0"}, "Its players do not have names of their own."),
        ({"seats__1__kind": "bot", "seats__1__level": "zzz"}, "of a level that is not known here"),
        (
            {"actions__0__action": {"kind": "bid", "amount": "0"}},
            "Action 1 is not allowed. An open",
        ),
        ({"actions__1__action": {"kind": "bid", "amount": CANARY}}, "Action 2 is not allowed."),
        ({"actions__1__action": {"kind": "bid", "amount": 5}}, "Action 2 is none. An action of QE"),
        ({"actions__1__action": {"kind": "bid", "amount": "9" * 1001}}, "Action 2 is none."),
        ({"actions__1__action": {"kind": "raid"}}, "Action 2 is none."),
        ({"result": None}, "It is not over; only games that are over can be imported."),
        ({"result__winners": [0, 1, 2]}, "Its result is not the one that its actions lead to."),
        ({"result__totals": [1, 2, 3]}, "Its result is not the one that its actions lead to."),
        ({"actions": []}, "its actions do not lead to the end."),
    ],
)
def test_a_game_that_is_wrong_is_refused_in_a_sentence(change: dict[str, Any], why: str) -> None:
    with pytest.raises(ImportRefused, match=why) as info:
        checked(parse(data(fields(**change)))[0])
    shown = str(info.value)
    assert shown.endswith(".")
    assert shown.isprintable()
    assert CANARY not in shown
    assert len(shown) < 400


@pytest.mark.parametrize(
    "change",
    [
        shift,
        lambda found: found["actions"].pop(),
        lambda found: found["actions"].append(found["actions"][-1]),
        lambda found: found["actions"].insert(0, found["actions"].pop(1)),
    ],
)
def test_nor_is_one_taken_whose_actions_were_meddled_with(
    change: Callable[[dict[str, Any]], object],
) -> None:
    found = fields()
    change(found)
    for number, action in enumerate(found["actions"]):
        action["at"] = START + number
    with pytest.raises(ImportRefused, match=r"is not allowed|lead to the end"):
        checked(parse(data(found))[0])
