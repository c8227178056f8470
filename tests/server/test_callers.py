"""How many connections there may be, from where, and who makes room."""

from __future__ import annotations

import pytest

from server.callers import FAIR_SHARE, HALF_FINISHED, Caller, Callers, half_finished, origin


class Crowd:
    """Callers who arrive one after the other."""

    def __init__(self, most: int) -> None:
        self.callers = Callers(most)
        self._now = 0.0
        self.gone: list[Caller] = []

    def arrive(self, address: str) -> Caller:
        self._now += 1
        caller = Caller(address, origin(address), self._now, self._now + 10)
        leaver = self.callers.arrived(caller)
        if leaver is not None:
            self.gone.append(leaver)
        return caller

    def come_in(self, address: str) -> bool:
        caller = self.arrive(address)
        if self.callers.greeted(caller):
            return True
        self.callers.left(caller)
        return False


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.7", "192.0.2.8", False),
        ("192.0.2.7", "::ffff:192.0.2.7", True),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("127.0.0.1", "127.0.0.2", False),
        ("::1", "::2", False),
        ("?", "?", True),
        ("", "?", False),
    ],
)
def test_an_ipv6_network_is_one_origin(one: str, other: str, same: bool) -> None:
    assert (origin(one) == origin(other)) is same


def test_half_finished_ones_are_bounded_and_the_newest_stay() -> None:
    crowd = Crowd(2000)
    come = [crowd.arrive(f"10.0.{n // 200}.{n % 200}") for n in range(2 * HALF_FINISHED)]
    assert crowd.callers.pending == HALF_FINISHED
    assert crowd.gone == come[:HALF_FINISHED]


def test_one_address_makes_room_for_itself() -> None:
    crowd = Crowd(2000)
    friend = crowd.arrive("10.0.0.1")
    attacker = [crowd.arrive("10.0.0.2") for _ in range(5000)]
    assert friend not in crowd.gone
    assert crowd.callers.pending <= HALF_FINISHED * 3 // 4 + 1
    assert crowd.gone == attacker[: len(crowd.gone)]
    # There is room for everybody else still, at the cost of nobody or of the attackers.
    others = [crowd.arrive(f"10.1.{n // 200}.{n % 200}") for n in range(300)]
    assert not {friend, *others} & set(crowd.gone)
    assert all(crowd.callers.greeted(one) for one in (friend, *others))


def test_a_place_is_kept_for_those_who_come_from_elsewhere() -> None:
    crowd = Crowd(2000)
    from_one = sum(crowd.come_in("10.0.0.2") for _ in range(3000))
    assert from_one == 2000 * FAIR_SHARE // (FAIR_SHARE + 1) + 1
    assert from_one > 1700
    for n in range(1, 40):
        assert crowd.come_in(f"10.0.1.{n}")
    assert not crowd.come_in("10.0.0.2")


@pytest.mark.parametrize("most", [1, 2, 9])
def test_few_places_are_all_given_away(most: int) -> None:
    crowd = Crowd(most)
    assert [crowd.come_in("10.0.0.1") for _ in range(most + 1)] == [True] * most + [False]
    assert not crowd.come_in("10.0.0.2")


def test_who_has_left_leaves_a_place_and_nothing_else() -> None:
    crowd = Crowd(50)
    people = [crowd.arrive(f"10.0.0.{n % 7}") for n in range(40)]
    for person in people[:20]:
        assert crowd.callers.greeted(person)
    assert (crowd.callers.admitted, crowd.callers.pending) == (20, 20)
    for person in [*people, *people]:
        crowd.callers.left(person)
    assert (crowd.callers.admitted, crowd.callers.pending) == (0, 0)
    assert not crowd.callers._pending
    assert not crowd.callers._admitted


def test_there_is_always_room_for_a_few_handshakes() -> None:
    assert [half_finished(n) for n in (1, 64, 100, 100_000)] == [64, 64, 100, HALF_FINISHED]
