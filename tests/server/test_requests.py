"""Who may do what, and when; what is refused leads to nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from protocol import messages as m
from protocol.errors import MessageError, QEError, Refused
from server import events as ev
from server import requests, room
from server.games.registry import GAMES

QE = GAMES["qe"]
TOKENS = [bytes([n]) * 32 for n in range(16)]
HOST, GUEST, SPECTATOR = 0, 1, None


def lobby(*names: str, **fields: Any) -> room.Room:
    """A table with seats for four; names with a dot are computer players."""
    opened = ev.Opened(
        code="WOLF", game="qe", size=fields.pop("size", 4), title="", options=m.Options(),
        rules=requests.read_rules(QE, {}), **fields,
    )  # fmt: skip
    now = room.fold([(0, opened)], GAMES)
    for seat, name in enumerate(names or ("Ana", "Bo", "Adam.")):
        event: ev.AnyEvent = ev.Joined(seat=seat, name=name, token=TOKENS[seat])
        if name.endswith("."):
            event = ev.BotAdded(seat=seat, name=name[:-1], level="normal")
        now = room.apply(now, event, 0)
    return now


def playing(*names: str, **fields: Any) -> room.Room:
    return room.apply(lobby(*names, **fields), ev.Started(seed="x", version=1), 0)


def over(*names: str, **fields: Any) -> room.Room:
    now = playing(*names, **fields)
    while now.stage != "over":
        seat = QE.waiting(now.state)[0]
        action = msgspec.to_builtins(QE.timeout(now.state, seat))
        now = room.apply(now, ev.Acted(seat=seat, action=action), 0)
    return now


def with_seat(now: room.Room, number: int, **fields: Any) -> room.Room:
    seats = list(now.seats)
    seats[number] = replace(seats[number], **fields)
    return replace(now, seats=tuple(seats))


STAGES: Mapping[str, Callable[..., room.Room]] = {
    "lobby": lobby, "playing": playing, "over": over,
}  # fmt: skip
HOSTS_REQUESTS: Mapping[str, Callable[[room.Room, int | None], Any]] = {
    "set": lambda now, seat: requests.change(now, seat, m.Set(title="x"), None),
    "move": lambda now, seat: requests.move(now, seat, m.Move(seat=0, to=1)),
    "add_bot": lambda now, seat: requests.add_bot(now, seat, m.AddBot()),
    "remove": lambda now, seat: requests.remove(now, seat, m.Remove(seat=1)),
    "start": requests.start,
    "pause": lambda now, seat: requests.pause(now, seat, m.Pause(on=True)),
    "stand_in": lambda now, seat: requests.stand_in(now, seat, m.StandIn(seat=1), {1: 60_000}),
    "release": lambda now, seat: requests.release(now, seat, m.Release(seat=1), {1: 1}),
    "rematch": lambda now, seat: requests.rematch(now, seat, {}),
}
WHEN = {
    "set": "lobby", "move": "lobby", "add_bot": "lobby", "remove": "lobby", "start": "lobby",
    "pause": "playing", "stand_in": "playing", "release": "playing", "rematch": "over",
}  # fmt: skip
TOO = {"lobby": "already_started", "playing": "stale", "over": "not_over"}


def refusal(request: Callable[..., Any], now: room.Room, *given: Any) -> tuple[str, str]:
    """The code and reason of a request that is refused; the room is as it was."""
    before = copy.deepcopy(replace(now, game=None))
    with pytest.raises(QEError) as info:
        request(now, *given)
    assert replace(now, game=None) == before
    assert str(info.value).endswith(".")
    error = info.value
    code = error.code if isinstance(error, Refused) else "bad_message"
    assert isinstance(error, Refused | MessageError)
    return str(code), error.reason


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("what", HOSTS_REQUESTS)
def test_what_is_the_hosts(what: str, stage: str) -> None:
    now, request = STAGES[stage](), HOSTS_REQUESTS[what]
    for seat in (GUEST, SPECTATOR):
        assert refusal(request, now, seat) == ("not_host", "host")
    if stage == WHEN[what]:
        request(now, HOST)
    else:
        code, _ = refusal(request, now, HOST)
        assert code == TOO[WHEN[what]]


@pytest.mark.parametrize("what", [what for what in HOSTS_REQUESTS if what != "rematch"])
def test_a_standing_table_has_no_host(what: str) -> None:
    now = STAGES[WHEN[what]](standing=True)
    assert now.host is None
    for seat in (0, 1, SPECTATOR):
        assert refusal(HOSTS_REQUESTS[what], now, seat) == ("not_host", "host")


def test_a_rematch_at_a_standing_table_is_everybodys_own() -> None:
    now = over(standing=True)
    (kept,) = requests.rematch(now, GUEST, {})
    assert isinstance(kept, ev.Kept)
    assert kept.seat == GUEST
    assert requests.rematch(room.apply(now, kept, 0), GUEST, {}) == []
    assert refusal(requests.rematch, now, SPECTATOR, {}) == ("not_seated", "seat")
    early = playing(standing=True)
    assert refusal(requests.rematch, early, GUEST, {}) == ("not_over", "not_over")


# --- Sitting down and coming back -----------------------------------------------------------


def test_who_joins_takes_the_first_open_seat() -> None:
    assert requests.join(lobby(), "Cy", TOKENS[9]).seat == 3
    gone = room.apply(lobby(), ev.Left(seat=1), 0)
    assert requests.join(gone, "Bo", TOKENS[9]).seat == 1


def test_where_there_is_no_seat() -> None:
    full = lobby("Ana", "Bo", "Cy", "Dee")
    assert refusal(requests.join, full, "Eva", TOKENS[9]) == ("table_full", "full")
    begun = playing()
    assert refusal(requests.join, begun, "Eva", TOKENS[9]) == (
        "already_started", "started",
    )  # fmt: skip
    done = over()
    assert refusal(requests.join, done, "Eva", TOKENS[9]) == ("table_full", "full")


@pytest.mark.parametrize("now", [playing(), over()], ids=["playing", "over"])
def test_a_released_seat_may_be_taken_under_its_own_name_too(now: room.Room) -> None:
    now = room.apply(now, ev.Released(seat=1), 0)
    assert requests.join(now, "Bo", TOKENS[9]).seat == 1
    assert refusal(requests.join, now, "Ana", TOKENS[9]) == ("name_taken", "name")


@pytest.mark.parametrize("name", ["Ana", "ANA", "anа", "Аnа", "Adam", "B0"])
def test_a_name_like_anothers(name: str) -> None:
    now = lobby()
    assert refusal(requests.join, now, name, TOKENS[9]) == ("name_taken", "name")


def test_a_name_like_a_spectators() -> None:
    now = lobby()
    assert refusal(requests.join, now, "Wu", TOKENS[9], ["Zoe", "wu"]) == ("name_taken", "name")


def test_only_a_seats_own_tokens_resume_it() -> None:
    now = room.apply(lobby(), ev.Resumed(seat=1, used=TOKENS[1], token=TOKENS[7]), 0)
    for good in (TOKENS[1], TOKENS[7]):
        resumed = requests.resume(now, good, TOKENS[8])
        assert (resumed.seat, resumed.used, resumed.token) == (1, good, TOKENS[8])
    for bad in (TOKENS[2], TOKENS[5], TOKENS[15]):
        assert refusal(requests.resume, now, bad, TOKENS[8]) == ("bad_token", "token")
    left = room.apply(playing(), ev.Left(seat=1), 0)
    assert refusal(requests.resume, left, TOKENS[1], TOKENS[8])[0] == "bad_token"


# --- The lobby --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (m.Set(seats=2), ("bad_message", "seats")),
        (m.Set(seats=6), ("bad_message", "seats")),
        (m.Set(seats=-(2**62)), ("bad_message", "seats")),
        (m.Set(options={"turn_seconds": -1}), ("bad_message", "options")),
        (m.Set(options={"turn_seconds": 86_401}), ("bad_message", "options")),
        (m.Set(options={"turn_seconds": 1.5}), ("bad_message", "options")),
        (m.Set(options={"turn_seconds": True}), ("bad_message", "options")),
        (m.Set(options={"away_seconds": None}), ("bad_message", "options")),
        (m.Set(options={"start_when_full": 1}), ("bad_message", "options")),
        (m.Set(options={"speed": 1}), ("bad_message", "options")),
        (m.Set(rules={"notes": "yes"}), ("bad_message", "rules")),
        (m.Set(rules={"first": "me"}), ("bad_message", "rules")),
        (m.Set(rules={"seed": "x"}), ("bad_message", "rules")),
        (m.Set(title="fine", seats=4, rules={"notes": 1}), ("bad_message", "rules")),
    ],
)
def test_what_may_not_be_set(body: m.Set, expected: tuple[str, str]) -> None:
    now = lobby()
    assert refusal(requests.change, now, HOST, body, None) == expected


def test_fewer_seats_than_are_taken() -> None:
    now = lobby("Ana", "Bo", "Cy", "Dee")
    assert refusal(requests.change, now, HOST, m.Set(seats=3), None) == ("table_full", "taken")


def test_what_is_not_set_stays() -> None:
    now = lobby()
    for options in ({"turn_seconds": 30}, {"away_seconds": 5}, {"start_when_full": True}):
        (event,) = requests.change(now, HOST, m.Set(options=options), None)
        now = room.apply(now, event, 0)
    assert now.options == m.Options(turn_seconds=30, away_seconds=5, start_when_full=True)
    (event,) = requests.change(now, HOST, m.Set(rules={"first": "host"}), None)
    now = room.apply(now, event, 0)
    (event,) = requests.change(now, HOST, m.Set(rules={"notes": False}), None)
    now = room.apply(now, event, 0)
    assert now.rules == {"notes": False, "first": "host"}


def test_to_set_what_is_so_already_is_nothing() -> None:
    now = lobby()
    for body in (m.Set(), m.Set(title=now.title, seats=now.size, password=""),
                 m.Set(options={}, rules={}), m.Set(options={"away_seconds": 60}),
                 m.Set(rules={"notes": True})):  # fmt: skip
        password = body.password
        assert requests.change(now, HOST, body, password) == []
    assert requests.change(now, HOST, m.Set(title="new", seats=now.size), None) == [
        ev.Changed(title="new")
    ]
    locked = room.apply(now, ev.Changed(password="a hash"), 0)
    assert requests.change(locked, HOST, m.Set(password=""), "") == [ev.Changed(password="")]
    assert (now.title, now.size, now.password) == ("", 4, None)


def test_seats_that_are_not_there() -> None:
    now, begun = lobby(), playing()
    wrong = ("bad_message", "seat")
    assert refusal(requests.move, now, HOST, m.Move(seat=0, to=4)) == wrong
    assert refusal(requests.move, now, HOST, m.Move(seat=255, to=0)) == wrong
    assert refusal(requests.remove, now, HOST, m.Remove(seat=4)) == wrong
    assert refusal(requests.stand_in, begun, HOST, m.StandIn(seat=3), {}) == wrong
    assert refusal(requests.release, begun, HOST, m.Release(seat=3), {}) == wrong


def test_who_may_be_removed() -> None:
    now = lobby()
    assert refusal(requests.remove, now, HOST, m.Remove(seat=3)) == ("illegal", "open")
    assert refusal(requests.remove, now, HOST, m.Remove(seat=0)) == (
        "illegal", "yourself",
    )  # fmt: skip
    assert requests.remove(now, HOST, m.Remove(seat=2)).seat == 2


def test_computer_players_have_names_of_their_own() -> None:
    now = lobby("Ana", "adam")
    added = requests.add_bot(now, HOST, m.AddBot(level="normal"))
    assert (added.seat, added.name) == (2, "Bea")
    assert refusal(requests.add_bot, now, HOST, m.AddBot(level="grandmaster")) == (
        "bad_message",
        "level",
    )
    full = lobby("Ana", "Bo", "Cy", "Dee")
    assert refusal(requests.add_bot, full, HOST, m.AddBot()) == ("table_full", "full")
    names = [event.name for event in requests.computers(QE, 4)]  # type: ignore[union-attr]
    assert len(set(names)) == 4


def test_too_few_to_start() -> None:
    now = lobby("Ana", "Bo")
    assert refusal(requests.start, now, HOST) == ("not_ready", "too_few")


# --- The game ---------------------------------------------------------------------------------


def test_what_may_not_be_done_in_a_game() -> None:
    now = playing("Ana", "Bo", "Cy", size=3)
    first = QE.waiting(now.state)[0]
    other = (first + 1) % 3
    bid = {"kind": "bid", "amount": "5"}
    for seat, step, action, expected in (
        (None, 1, bid, ("not_seated", "seat")),
        (first, 2, bid, ("stale", "step")),
        (first, 0, bid, ("stale", "step")),
        (other, 1, bid, ("illegal", "not_auctioneer")),
        (first, 1, {"kind": "bid", "amount": "0"}, ("illegal", "opening_zero")),
        (first, 1, {"kind": "peek"}, ("illegal", "peek_players")),
        (first, 1, {"kind": "fold"}, ("bad_message", "action")),
        (first, 1, {"kind": "bid", "amount": "1" * 1001}, ("bad_message", "action")),
        (first, 1, {"kind": "bid", "amount": "5\n"}, ("bad_message", "action")),
        (first, 1, {"kind": "bid", "amount": "٥"}, ("bad_message", "action")),
        (first, 1, {"kind": "bid", "amount": 5}, ("bad_message", "action")),
        (first, 1, {"kind": "bid", "amount": "5", "more": 1}, ("bad_message", "action")),
        (first, 1, {}, ("bad_message", "action")),
    ):
        body = m.Act(step=step, action=action)
        assert refusal(requests.act, now, seat, body) == expected
    for there in (lobby(), over()):
        assert refusal(requests.act, there, 0, m.Act(step=1, action=bid)) == ("stale", "no_game")
    (acted,) = requests.act(now, first, m.Act(step=1, action=bid))
    assert acted.action == bid
    now = room.apply(now, acted, 0)
    other = next(seat for seat in range(3) if seat != first)
    sealed = m.Act(step=2, action={"kind": "bid", "amount": "7"})
    (acted,) = requests.act(now, other, sealed)
    now = room.apply(now, acted, 1)
    assert requests.act(now, other, sealed) == []
    assert requests.act(now, other, m.Act(step=2, action={"kind": "bid", "amount": "8"}))


def test_standing_in_takes_its_time() -> None:
    now = playing()
    body = m.StandIn(seat=1)
    for away in ({}, {1: 0}, {1: 59_999}, {0: 60_000}):
        assert refusal(requests.stand_in, now, HOST, body, away) == ("not_ready", "here")
    (event,) = requests.stand_in(now, HOST, body, {1: 60_000})
    assert event == ev.StoodIn(seat=1)
    assert requests.stand_in(room.apply(now, event, 0), HOST, body, {1: 60_000}) == []
    assert refusal(requests.stand_in, now, HOST, m.StandIn(seat=2), {}) == ("illegal", "computer")


def test_releasing_is_for_who_is_away_or_stood_in() -> None:
    now = playing()
    body = m.Release(seat=1)
    assert refusal(requests.release, now, HOST, body, {}) == ("not_ready", "here")
    assert refusal(requests.release, now, HOST, m.Release(seat=2), {}) == ("illegal", "computer")
    assert requests.release(now, HOST, body, {1: 0}) == [ev.Released(seat=1)]
    stood_in = room.apply(now, ev.StoodIn(seat=1), 0)
    assert requests.release(stood_in, HOST, body, {}) == [ev.Released(seat=1)]
    released = room.apply(now, ev.Released(seat=1), 0)
    assert requests.release(released, HOST, body, {}) == []


def test_asking_for_what_is_so_already_changes_nothing() -> None:
    now = playing()
    assert requests.pause(now, HOST, m.Pause(on=False)) == []
    paused = room.apply(now, ev.Paused(on=True), 0)
    assert requests.pause(paused, HOST, m.Pause(on=True)) == []
    assert requests.move(lobby(), HOST, m.Move(seat=1, to=1)) == []


def test_who_stays_for_another_game() -> None:
    now = over("Ana", "Bo", "Cy", "Adam.")
    assert requests.reopen(now, {}).seats == [0, 1, 2, 3]
    assert requests.reopen(now, {1: 5}).seats == [0, 2, 3]
    assert requests.reopen(with_seat(now, 2, stand_in=True), {}).seats == [0, 1, 3]
    assert requests.reopen(with_seat(now, 2, released=True), {}).seats == [0, 1, 3]
    standing = over("Ana", "Bo", "Cy", "Adam.", standing=True)
    assert requests.reopen(standing, {}).seats == [3]
    kept = with_seat(with_seat(standing, 0, keeps=True), 1, keeps=True)
    assert requests.reopen(kept, {0: 5}).seats == [0, 1, 3]
    assert requests.reopen(with_seat(kept, 0, released=True), {}).seats == [1, 3]


def test_whose_chat_is_for_whom() -> None:
    for now in (lobby(), over()):
        assert requests.say(now, SPECTATOR, "Wu", "hm").to == "all"
    assert requests.say(playing(), SPECTATOR, "Wu", "hm").to == "spectators"
    assert requests.say(playing(), GUEST, "Bo", "hm").to == "all"


# --- Fields -----------------------------------------------------------------------------------


def test_options_and_rules_have_defaults() -> None:
    assert requests.read_options({}) == m.Options()
    assert requests.read_rules(QE, {}) == {"notes": True, "first": "random"}
    with pytest.raises(MessageError):
        requests.read_options({"turn_seconds": 10**30})


def test_no_request_or_event_shows_what_it_holds() -> None:
    secret = "31415926535"
    bodies: list[Any] = [
        m.Act(step=1, action={"kind": "bid", "amount": secret}),
        m.Resume(table="WOLF", token=secret), m.Join(table="WOLF", name="Ana", password=secret),
        m.Set(password=secret), m.Say(text=secret), m.Watch(table="WOLF", password=secret),
        m.Create(game="qe", seats=3, title="", name="Ana", password=secret),
        m.Seated(seat=0, token=secret), m.Ok(id=1, result={"token": secret}),
        ev.Acted(seat=0, action={"kind": "bid", "amount": secret}),
        ev.Started(seed=secret, version=1), ev.Spoken(seat=0, name="Ana", text=secret, to="all"),
        ev.Changed(password=secret),
        QE.action({"kind": "bid", "amount": secret}),
        m.View(table="WOLF", room=None, game={"opening": secret}, you={"bid": secret}),  # type: ignore[arg-type]
    ]  # fmt: skip
    for body in bodies:
        assert secret not in f"{body!r}{body}{[body]}", type(body)
