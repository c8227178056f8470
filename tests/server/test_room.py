"""A table is the fold of its journal, whatever happens at it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from protocol import messages as m
from protocol import text
from protocol.errors import QEError, Refused
from server import events as ev
from server import requests, room
from server.games.game import UnknownVersion
from server.games.registry import GAMES

QE = GAMES["qe"]
NAMES = ("Ana", "Bo", "Cy", "Dee", "Eva", "Fritz", "Gil", "Hal")
numbers = st.integers(0, 5)


def token(number: int) -> bytes:
    return number.to_bytes(32, "big")


def on_disk(event: ev.AnyEvent) -> ev.AnyEvent:
    """The event as the journal gives it back."""
    return msgspec.json.decode(msgspec.json.encode(event), type=ev.AnyEvent)


def a_room(**fields: Any) -> tuple[room.Room, list[tuple[int, ev.AnyEvent]]]:
    fields = {
        "code": "WOLF",
        "game": "qe",
        "size": 4,
        "title": "",
        "options": m.Options(),
        "rules": requests.read_rules(QE, {}),
    } | fields
    opened = ev.Opened(**fields)
    return room.fold([(0, opened)], GAMES), [(0, opened)]


class Tables(RuleBasedStateMachine):
    """What may happen at a table in any order, as requests and time let it."""

    @initialize(standing=st.booleans(), turn=st.sampled_from([0, 30]), size=st.integers(3, 5))
    def open(self, standing: bool, turn: int, size: int) -> None:
        options = m.Options(turn_seconds=turn)
        self.room, self.journal = a_room(standing=standing, options=options, size=size)
        self.again = self.room
        self.now = 0
        self.tokens = 0
        self.away: dict[int, int] = {}
        self.step = 0
        self.finished = 0
        self.opens: dict[bytes, int] = {}
        """By token, whose seat it opens: the key of its holder."""
        self.void: set[bytes] = set()
        self.join("Ana")

    def happen(self, *events: ev.AnyEvent) -> None:
        for event in events:
            before = self.room
            self.room = room.apply(self.room, event, self.now)
            self.count_tokens(event, before)
            self.again = room.apply(self.again, on_disk(event), self.now)
            self.journal.append((self.now, on_disk(event)))
            self.finished += before.stage == "playing" and self.room.stage == "over"
            if self.room.state is not None:
                step = QE.step(self.room.state)
                assert step >= self.step
                if before.stage == "lobby":
                    assert step > self.step, "a game began with a step that was there before"
                self.step = step

    def count_tokens(self, event: ev.AnyEvent, before: room.Room) -> None:
        """Which tokens open what, by docs/protocol.md alone."""
        gone: set[int] = set()
        match event:
            case ev.Joined(seat=seat, token=fresh):
                gone = {before.seats[seat].key}
                self.opens[fresh] = self.room.seats[seat].key
            case ev.Resumed(seat=seat, used=used, token=fresh):
                key = before.seats[seat].key
                self.void |= {t for t, its in self.opens.items() if its == key and t != used}
                self.opens[fresh] = key
            case ev.Left(seat=seat):
                gone = {before.seats[seat].key}
            case ev.Reopened():
                gone = {s.key for s in before.seats} - {s.key for s in self.room.seats}
        self.void |= {t for t, its in self.opens.items() if its in gone}
        self.opens = {t: its for t, its in self.opens.items() if t not in self.void}

    def allowed(self, made: Any) -> list[ev.AnyEvent]:
        """What a request leads to; nothing where it is refused."""
        try:
            events = made()
        except QEError:
            return []
        if events is None:
            return []
        return events if isinstance(events, list) else [events]

    def next_token(self) -> bytes:
        self.tokens += 1
        return token(self.tokens)

    # --- What people do

    @precondition(lambda self: self.room.first_open() is not None)
    @rule(name=st.sampled_from(NAMES))
    def join(self, name: str) -> None:
        self.happen(*self.allowed(lambda: requests.join(self.room, name, self.next_token())))

    @rule(seat=numbers, newest=st.booleans())
    def resume(self, seat: int, newest: bool) -> None:
        if seat < len(self.room.seats):
            used = self.room.seats[seat].next_token if newest else self.room.seats[seat].token
            fresh = self.next_token()
            events = self.allowed(lambda: requests.resume(self.room, used or token(0), fresh))
            self.happen(*events)
            if events:
                back = self.room.seats[seat]
                assert (back.token, back.next_token) == (used, fresh)
                assert back.kind == "human"
                self.away.pop(back.key, None)

    @rule(seat=numbers)
    def leave(self, seat: int) -> None:
        if seat < len(self.room.seats) and self.room.seats[seat].held:
            self.happen(requests.leave(self.room, seat))

    @rule(seat=numbers)
    def drop(self, seat: int) -> None:
        if seat < len(self.room.seats) and self.room.seats[seat].human:
            self.away[self.room.seats[seat].key] = self.now

    @rule(who=st.sampled_from(NAMES) | numbers.map(str))
    def kick(self, who: str) -> None:
        events = self.allowed(lambda: requests.kick(self.room, who))
        self.happen(*events)
        for left in events:
            assert isinstance(left, ev.Left)
            seat = self.room.seats[left.seat]
            assert (seat.token, seat.next_token) == (None, None)
            assert seat.released if seat.taken else self.room.stage == "lobby"

    @precondition(lambda self: len(self.journal) % 5 == 0)
    @rule(who=st.sampled_from(NAMES) | numbers.map(str), name=st.sampled_from(NAMES))
    def rename(self, who: str, name: str) -> None:
        self.happen(*self.allowed(lambda: requests.rename(self.room, who, name)))

    # --- What hosts do

    @precondition(lambda self: self.room.stage == "lobby" or len(self.journal) % 5 == 0)
    @rule(seat=numbers, to=numbers)
    def move(self, seat: int, to: int) -> None:
        host = self.room.host
        before = sorted(s.key for s in self.room.seats)
        self.happen(*self.allowed(lambda: requests.move(self.room, host, m.Move(seat=seat, to=to))))
        assert sorted(s.key for s in self.room.seats) == before

    @precondition(lambda self: self.room.stage == "lobby" or len(self.journal) % 5 == 0)
    @rule()
    def add_bot(self) -> None:
        host = self.room.host
        self.happen(*self.allowed(lambda: requests.add_bot(self.room, host, m.AddBot())))

    @precondition(lambda self: self.room.stage == "lobby" or len(self.journal) % 5 == 0)
    @rule(seat=numbers)
    def remove(self, seat: int) -> None:
        host = self.room.host
        self.happen(*self.allowed(lambda: requests.remove(self.room, host, m.Remove(seat=seat))))

    @precondition(lambda self: self.room.stage == "lobby" or len(self.journal) % 5 == 0)
    @rule(size=st.integers(2, 6), first=st.sampled_from(["host", "random"]))
    def change(self, size: int, first: str) -> None:
        order = [s.key for s in self.room.seats if s.taken]
        body = m.Set(seats=size, rules={"first": first}, title=f"for {size}")
        events = self.allowed(lambda: requests.change(self.room, self.room.host, body, None))
        self.happen(*events)
        if events:
            assert [s.key for s in self.room.seats if s.taken] == order
            assert len(self.room.seats) == size

    @precondition(lambda self: self.room.stage == "lobby")
    @rule(seed=st.text("abc", max_size=3), names=st.permutations(NAMES))
    def start(self, seed: str, names: list[str]) -> None:
        for name in names:
            if sum(s.taken for s in self.room.seats) < 3 or self.room.standing:
                self.join(name)
        if self.room.standing:
            may = self.room.full
        else:
            may = self.allowed(lambda: requests.start(self.room, self.room.host) or []) == []
            may = may and sum(s.taken for s in self.room.seats) >= 3
            may = may and self.room.host is not None
        if may:
            self.happen(ev.Started(seed=seed, version=1))
            assert len(self.room.seats) >= 3

    @precondition(lambda self: self.room.stage == "playing" or len(self.journal) % 5 == 0)
    @rule(seat=numbers)
    def stand_in(self, seat: int) -> None:
        host, away = self.room.host, self.away_for()
        body = m.StandIn(seat=seat)
        self.happen(*self.allowed(lambda: requests.stand_in(self.room, host, body, away)))

    @precondition(lambda self: self.room.stage == "playing" or len(self.journal) % 5 == 0)
    @rule(seat=numbers)
    def release(self, seat: int) -> None:
        host, away = self.room.host, self.away_for()
        body = m.Release(seat=seat)
        self.happen(*self.allowed(lambda: requests.release(self.room, host, body, away)))

    @precondition(lambda self: self.room.stage == "playing" or len(self.journal) % 5 == 0)
    @rule(on=st.booleans())
    def pause(self, on: bool) -> None:
        host = self.room.host
        self.happen(*self.allowed(lambda: requests.pause(self.room, host, m.Pause(on=on))))

    @precondition(lambda self: self.room.stage == "over" or len(self.journal) % 5 == 0)
    @rule(seat=numbers)
    def rematch(self, seat: int) -> None:
        number = seat if self.room.standing else self.room.host
        if number is None or number < len(self.room.seats):
            away = self.away_for()
            self.happen(*self.allowed(lambda: requests.rematch(self.room, number, away)))

    @precondition(lambda self: len(self.journal) % 5 == 0)
    @rule(seat=st.none() | numbers)
    def say(self, seat: int | None) -> None:
        self.happen(requests.say(self.room, seat, "Ana", "hm"))

    # --- What happens by itself

    def away_for(self) -> dict[int, int]:
        seats = {self.room.seat_of(key): self.now - at for key, at in self.away.items()}
        return {seat: away for seat, away in seats.items() if seat is not None}

    @rule(seconds=st.integers(1, 90))
    def wait(self, seconds: int) -> None:
        self.now += seconds * 1000

    @precondition(lambda self: len(self.journal) % 5 == 1)
    @rule()
    def restart(self) -> None:
        self.happen(ev.Restored())
        self.away = {seat.key: self.now for seat in self.room.seats if seat.human}

    @precondition(lambda self: self.room.standing and self.room.stage == "over")
    @rule()
    def reopen(self) -> None:
        self.happen(requests.reopen(self.room, self.away_for()))

    @precondition(lambda self: self.room.stage == "playing")
    @rule(amounts=st.lists(st.sampled_from(["0", "1", "7", "99999999999999999999"]), min_size=1))
    def act(self, amounts: list[str]) -> None:
        state = self.room.state
        for seat, amount in zip(QE.waiting(state), amounts * 5, strict=False):
            step = QE.step(self.room.state)
            body = m.Act(step=step, action={"kind": "bid", "amount": amount})
            self.happen(
                *self.allowed(lambda seat=seat, body=body: requests.act(self.room, seat, body))
            )

    @precondition(lambda self: self.room.stage == "playing")
    @rule(most=st.sampled_from([1, 10, 100]))
    def time_runs_out(self, most: int) -> None:
        for _ in range(most):
            if self.room.stage != "playing":
                break
            state = self.room.state
            self.happen(
                *(
                    ev.Acted(seat=n, action=msgspec.to_builtins(QE.timeout(state, n)))
                    for n in QE.waiting(state)
                )
            )

    # --- What is always so

    @invariant()
    def the_fold_is_the_room(self) -> None:
        assert self.again == self.room

    @invariant()
    def every_seat_is_one_persons(self) -> None:
        keys = [seat.key for seat in self.room.seats if seat.taken]
        assert len(set(keys)) == len(keys)
        assert all(0 < key < self.room.next_key for key in keys)
        names = [text.skeleton(seat.name) for seat in self.room.seats if seat.taken]
        assert len(set(names)) == len(names)
        tokens = [t for s in self.room.seats for t in {s.token, s.next_token} - {None}]
        assert len(set(tokens)) == len(tokens)
        assert all(s == room.OPEN for s in self.room.seats if not s.taken)

    @invariant()
    def a_token_opens_its_holders_seat_or_none(self) -> None:
        for known, key in self.opens.items():
            resumed = requests.resume(self.room, known, token(0))
            assert self.room.seats[resumed.seat].key == key
        for known in self.void:
            with pytest.raises(Refused):
                requests.resume(self.room, known, token(0))

    @invariant()
    def a_newcomer_sees_nothing_of_what_was_done_before_in_this_step(self) -> None:
        for number, seat in enumerate(self.room.seats):
            if seat.view is not None:
                assert self.room.stage == "playing"
                assert QE.step(seat.view) == QE.step(self.room.state)
                assert seat.human
                own, real = (QE.private(s, number) for s in (seat.view, self.room.state))
                assert (own.spent, own.industry) == (real.spent, real.industry)
                assert all(bid in real.known for bid in own.known)

    @invariant()
    def the_host_is_a_held_human_where_there_is_one(self) -> None:
        held = [n for n, seat in enumerate(self.room.seats) if seat.held]
        if self.room.standing or not held:
            assert self.room.host is None or self.room.seats[self.room.host].held
        else:
            assert self.room.host in held
        assert not (self.room.standing and self.room.host is not None)

    @invariant()
    def stage_and_game_fit(self) -> None:
        now = self.room
        if now.stage == "lobby":
            assert (now.state, now.deadline, now.paused, now.left) == (None, None, False, None)
            assert len(now.seats) == now.size
            assert not any(s.released or s.stand_in or s.keeps for s in now.seats)
        else:
            assert all(seat.taken for seat in now.seats)
            assert (QE.winners(now.state) is not None) == (now.stage == "over")
            assert now.next_step == QE.step(now.state) + 1
        if now.stage == "playing":
            ticks = bool(now.options.turn_seconds)
            assert (now.deadline is not None) == (ticks and not now.paused)
            assert (now.left is not None) == (ticks and now.paused)
        if now.stage == "over":
            assert (now.deadline is not None) == now.standing
        assert len(now.results) == self.finished
        assert len(now.chat) <= room.CHAT_KEPT

    def teardown(self) -> None:
        if hasattr(self, "journal"):
            assert room.fold(self.journal, GAMES) == self.room


def test_a_table_is_the_fold_of_its_journal() -> None:
    run_state_machine_as_test(
        Tables,
        settings=settings(
            max_examples=30,
            derandomize=True,
            stateful_step_count=50,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# --- What a journal may not be ----------------------------------------------------------------


def test_a_journal_begins_with_its_opening_and_opens_once() -> None:
    _, journal = a_room()
    with pytest.raises(ValueError, match="at least one event"):
        room.fold([], GAMES)
    with pytest.raises(ValueError, match="begins with its opening"):
        room.fold([(0, ev.Restored())], GAMES)
    with pytest.raises(ValueError, match="not known here"):
        room.fold([(0, replace_event(journal[0][1], game="go"))], GAMES)


def replace_event(event: Any, **fields: Any) -> Any:
    return msgspec.structs.replace(event, **fields)


def test_a_game_of_unknown_rules_is_not_folded() -> None:
    _, journal = a_room(size=3)
    joins = [(1, ev.Joined(seat=n, name=NAMES[n], token=token(n))) for n in range(3)]
    started = (2, ev.Started(seed="x", version=99))
    with pytest.raises(UnknownVersion):
        room.fold([*journal, *joins, started], GAMES)


# --- Small things that sequences seldom meet ---------------------------------------------------


def seated(*names: str, **fields: Any) -> room.Room:
    now, _ = a_room(**fields)
    for number, name in enumerate(names):
        now = room.apply(now, ev.Joined(seat=number, name=name, token=token(number)), 0)
    return now


def test_fewer_seats_take_the_open_ones_from_the_end_and_keep_the_order() -> None:
    now = seated("Ana", "Bo", size=5)
    now = room.apply(now, ev.Moved(seat=0, to=4), 0)
    now = room.apply(now, ev.Changed(size=3), 0)
    assert [seat.name for seat in now.seats] == ["", "Bo", "Ana"]
    assert now.host == 2


def test_a_password_is_set_kept_and_taken_away() -> None:
    now = seated("Ana", password="a hash")
    assert room.apply(now, ev.Changed(title="x"), 0).password == "a hash"
    assert room.apply(now, ev.Changed(password="other"), 0).password == "other"
    assert room.apply(now, ev.Changed(password=""), 0).password is None


def test_the_role_goes_to_the_longest_seated() -> None:
    now = seated("Ana", "Bo", "Cy")
    now = room.apply(now, ev.Moved(seat=1, to=2), 0)
    now = room.apply(now, ev.Left(seat=0), 0)
    assert now.seats[now.host or 0].name == "Bo"
    now = room.apply(now, ev.Joined(seat=0, name="Ana", token=token(9)), 0)
    now = room.apply(now, ev.Left(seat=2), 0)
    assert now.seats[now.host or 0].name == "Cy"


def test_the_role_goes_to_who_comes_back_where_nobody_has_it() -> None:
    now = seated("Ana", "Bo", "Cy", size=3)
    now = room.apply(now, ev.Started(seed="x", version=1), 0)
    for event in (ev.Released(seat=1), ev.Released(seat=2), ev.Left(seat=0)):
        now = room.apply(now, event, 0)
    assert now.host is None
    now = room.apply(now, ev.Resumed(seat=2, used=token(2), token=token(9)), 0)
    assert now.host == 2


def test_only_the_last_chat_is_kept_in_its_order() -> None:
    now = seated("Ana")
    for n in range(70):
        spoken = ev.Spoken(seat=0, name="Ana", text=str(n), to="all")
        now = room.apply(now, spoken, n)
    assert [(at, spoken.text) for at, spoken in now.chat] == [(n, str(n)) for n in range(20, 70)]


def test_a_clock_that_is_paused_twice_stands_as_it_stood() -> None:
    now = seated("Ana", "Bo", "Cy", size=3, options=m.Options(turn_seconds=30))
    now = room.apply(now, ev.Started(seed="x", version=1), 1000)
    now = room.apply(now, ev.Paused(on=True), 11_000)
    assert (now.deadline, now.left) == (None, 20_000)
    assert room.apply(now, ev.Paused(on=True), 15_000) == now
    assert room.apply(now, ev.Restored(), 50_000) == now
    now = room.apply(now, ev.Paused(on=False), 100_000)
    assert now.deadline == 120_000
    # What ran out in the very moment of the pause has nothing left, and never less.
    late = room.apply(now, ev.Paused(on=True), 130_000)
    assert late.left == 0
    assert room.apply(late, ev.Paused(on=False), 200_000).deadline == 200_000


def test_no_room_or_seat_shows_a_secret() -> None:
    seed, amount = "the-seed", "31415926535"
    now = seated("Ana", "Bo", "Cy", size=3, password="the-hash")
    now = room.apply(now, ev.Started(seed=seed, version=1), 0)
    seat = QE.waiting(now.state)[0]
    acted = ev.Acted(seat=seat, action={"kind": "bid", "amount": amount})
    now = room.apply(now, acted, 0)
    now = replace(now, seats=(replace(now.seats[0], token=b"T" * 32, next_token=b"N" * 32),))
    shown = "".join(
        repr(x) + str(x)
        for x in (now, now.seats, now.seats[0], now.state, now.state.auction, now.state.deal,
                  acted, ev.Started(seed=seed, version=1), (0, acted), [acted])
    )  # fmt: skip
    for secret in (seed, amount, "the-hash", "TTT", "NNN"):
        assert secret not in shown
    assert "industry" not in repr(now.state.deal) or now.state.deal.tokens[0] not in repr(
        now.state.deal
    )
