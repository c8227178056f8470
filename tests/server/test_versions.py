"""Games go on by the rules they began with, and a host keeps what it cannot follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Struct, convert, structs

from protocol import messages as m
from server import codes
from server.archive import games_in
from server.games.game import Illegal, Malformed, Reason, UnknownVersion
from server.games.registry import GAMES
from server.journal import NAME, read_journal


class Count(Struct, frozen=True):
    """A number that the seats count up in turn."""

    number: int


class State(Struct, frozen=True):
    version: int
    seats: int
    step: int
    total: int = 0
    counted: tuple[int, ...] = ()


class Counting:
    """In turn, each names a number; who comes to ten has won. By the first rules a number from 1
    to 3, and it counts double; by the second ones from 1 to 5, and it counts once."""

    name = "counting"
    seats = (2, 4)
    levels = ("normal",)

    def __init__(self, *versions: int) -> None:
        self.versions = versions
        self.rules_version = max(versions)

    def rules(self, given: Mapping[str, Any]) -> Struct:
        return convert(dict(given), type=Struct)

    def action(self, given: Mapping[str, Any]) -> Count:
        try:
            return convert(dict(given), type=Count)
        except ValueError:
            raise Malformed("Name a number.") from None

    def new(
        self, seats: int, host: int | None, rules: Struct, seed: str, step: int, version: int
    ) -> State:
        if version not in self.versions:
            raise UnknownVersion("Counting of that version is not known here.")
        return State(version, seats, step)

    def why_not(self, state: State, seat: int, action: Count) -> Reason | None:
        if seat not in self.waiting(state):
            return Reason("turn", "It is not your turn.")
        if not 1 <= action.number <= {1: 3, 2: 5}[state.version]:
            return Reason("number", "That number is not allowed.")
        return None

    def secret(self, action: Count) -> bool:
        return False

    def act(self, state: State, seat: int, action: Count) -> State:
        if (reason := self.why_not(state, seat, action)) is not None:
            raise Illegal(reason)
        return structs.replace(
            state,
            step=state.step + 1,
            total=state.total + action.number * {1: 2, 2: 1}[state.version],
            counted=(*state.counted, action.number),
        )

    def step(self, state: State) -> int:
        return state.step

    def waiting(self, state: State) -> tuple[int, ...]:
        return () if state.total >= 10 else (len(state.counted) % state.seats,)

    def winners(self, state: State) -> tuple[int, ...] | None:
        return None if state.total < 10 else ((len(state.counted) - 1) % state.seats,)

    def totals(self, state: State) -> tuple[int, ...]:
        return tuple(sum(state.counted[seat :: state.seats]) for seat in range(state.seats))

    def commitment(self, state: State) -> None:
        return None

    def public(self, state: State) -> Struct:
        return state

    def private(self, state: State, seat: int) -> Struct:
        return Count(seat)

    def private_room(self, private: Struct) -> int:
        return 20

    def timeout(self, state: State, seat: int) -> Count:
        return Count(1)

    def choose(self, level: str, public: Any, private: Any, rng: Any) -> None:
        return None


@pytest.fixture
def registry(monkeypatch):
    """The games of the host, to be changed between one host and the next."""

    def register(*versions: int) -> None:
        monkeypatch.setitem(GAMES, "counting", Counting(*versions))

    return register


async def count(peer, number):
    await peer.ask(m.Act(step=peer.view.game["step"], action={"number": number}))


async def back(running, *old):
    """The same people at a host that was started again."""
    people = []
    for one in old:
        peer = await running.peer()
        await peer.ask(m.Resume(table=one.code, token=one.token))
        await peer.until(lambda view: view.game is not None)
        people.append(peer)
    return people


def listed(folder):
    return [
        (item.code, item.stage, item.players, item.winners)
        for item in read_journal(folder / "data" / NAME, games_in)
    ]


async def test_a_running_game_goes_on_by_the_rules_it_began_with(open_host, tmp_path, registry):
    registry(1)
    first = await open_host()
    old = await first.game("Ana", "Bo", game="counting", seats=2, rules={})
    await count(old[0], 3)
    await old[1].until(lambda view: view.game["total"] == 6)
    await first.stop()

    registry(1, 2)
    second = await open_host()
    ana, bo = await back(second, *old)
    assert (bo.view.game["version"], bo.view.game["total"]) == (1, 6)
    assert await bo.refused(m.Act(step=2, action={"number": 4})) == ("illegal", "number")
    new = await second.game("Cy", "Dee", game="counting", seats=2, rules={})
    assert new[0].view.game["version"] == 2
    await count(new[0], 4)
    assert (await new[1].until(lambda view: view.game["step"] == 2)).game["total"] == 4
    await count(bo, 2)  # which counts double, and so ends it
    over = await ana.until(lambda view: view.room.stage == "over")
    assert (over.game["total"], over.room.results[0].winners) == (10, [1])
    # And the next game at the old table is by the new rules.
    await ana.ask(m.Rematch())
    await ana.ask(m.Start())
    assert (await bo.until(lambda view: view.room.stage == "playing")).game["version"] == 2
    await second.stop()
    third = await open_host()
    (cy,) = await back(third, new[0])
    assert (cy.view.game["version"], cy.view.game["total"]) == (2, 4)
    assert listed(tmp_path) == [
        (ana.code, "finished", ["Ana", "Bo"], [1]),
        (new[0].code, "running", ["Cy", "Dee"], None),
        (ana.code, "running", ["Ana", "Bo"], None),
    ]


async def test_a_game_of_unknown_rules_is_kept_and_listed_and_not_resumed(
    open_host, tmp_path, registry, monkeypatch, caplog
):
    monkeypatch.setattr(codes, "_WORDS", ("WOLF", "BEAR"))
    registry(1, 2)
    first = await open_host()
    old = await first.game("Ana", "Bo", game="counting", seats=2, rules={})
    await count(old[0], 5)
    (eve,) = await first.table("Eve")
    await first.stop()

    registry(1)
    second = await open_host()
    assert "rules of a version that is not known" in caplog.text
    assert [table["table"] for table in await second.listed()] == [eve.code]
    peer = await second.peer()
    resume = m.Resume(table=old[0].code, token=old[0].token)
    for request in (resume, m.Join(table=old[0].code, name="Cy"), m.Watch(table=old[0].code)):
        assert await peer.refused(request) == ("unknown_table", "kept")
    # Its code is not given to another table, though there is no other word left.
    (cy,) = await second.table("Cy", game="counting", seats=2)
    assert cy.code not in {old[0].code, eve.code, ""}
    assert listed(tmp_path) == [(old[0].code, "unknown rules", ["Ana", "Bo"], None)]
    await second.stop()

    registry(1, 2)
    third = await open_host()
    ana, bo = await back(third, *old)
    assert bo.view.game["total"] == 5
    await count(bo, 5)
    await ana.until(lambda view: view.room.stage == "over")
    assert listed(tmp_path) == [(old[0].code, "finished", ["Ana", "Bo"], [1])]
