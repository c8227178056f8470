"""Tokens, passwords and rates."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import pytest

from protocol import messages as m
from server import access, session
from server.access import Rate


def test_a_token_is_128_random_bits_and_is_kept_as_a_hash() -> None:
    tokens = {access.new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(bytes.fromhex(token)) == 16 for token in tokens)
    hashes = {access.token_hash(token) for token in tokens}
    assert len(hashes) == 100
    assert all(len(kept) == 32 for kept in hashes)
    token = tokens.pop()
    assert access.token_hash(token) == access.token_hash(token)
    assert token.encode() not in access.token_hash(token)


async def test_a_password_is_kept_salted_and_fits_only_itself() -> None:
    kept = [await access.password_hash("Mädchen 1", "") for _ in range(2)]
    assert kept[0] != kept[1]
    assert "Mädchen" not in kept[0]
    for one in kept:
        assert await access.password_fits("Mädchen 1", one, "")
        for other in ("", "Mädchen", "mädchen 1", "Mädchen 1 ", "x" * 128):
            assert not await access.password_fits(other, one, "")


async def test_a_password_is_checked_beside_the_event_loop() -> None:
    threads: set[int] = set()
    scrypt = access._scrypt

    def noted(password: str, salt: bytes) -> bytes:
        threads.add(threading.get_ident())
        return scrypt(password, salt)

    access._scrypt = noted
    try:
        await access.password_fits("x", await access.password_hash("x", ""), "")
    finally:
        access._scrypt = scrypt
    assert threading.get_ident() not in threads


def test_a_rate_lets_a_burst_through_and_then_so_many_a_second() -> None:
    now = [100.0]
    rate = Rate(burst=3, per_second=0.5, clock=lambda: now[0])
    assert [rate.take("a") for _ in range(5)] == [True, True, True, False, False]
    assert rate.take("b")
    now[0] += 1.9
    assert not rate.take("a")
    now[0] += 0.2
    assert [rate.take("a") for _ in range(2)] == [True, False]
    now[0] += 3600
    assert [rate.take("a") for _ in range(4)] == [True, True, True, False]


def test_a_rate_remembers_no_more_than_it_may() -> None:
    rate = Rate(burst=1, per_second=0, clock=lambda: 0.0, remembered=10)
    assert rate.take("me")
    for other in range(100):
        rate.take(other)
        rate.take("me")
    assert len(rate._buckets) == 10
    assert not rate.take("me")


# --- At a host --------------------------------------------------------------------------------


async def test_a_locked_table(running):
    (ana,) = await running.table("Ana", password="open sesame")
    (info,) = await running.listed()
    assert info["locked"]
    bo = await running.peer()
    for body in (
        m.Join(table=ana.code, name="Bo"),
        m.Join(table=ana.code, name="Bo", password=""),
        m.Join(table=ana.code, name="Bo", password="Open sesame"),
        m.Watch(table=ana.code),
        m.Watch(table=ana.code, password="x"),
    ):
        assert await bo.refused(body) == ("wrong_password", "password")
    await bo.ask(m.Watch(table=ana.code, password="open sesame"))
    assert (await bo.until(lambda view: True)).room.locked
    await ana.ask(m.Set(password="other"))
    assert (await bo.refused(m.Join(table=ana.code, name="Bo", password="open sesame")))[0] == (
        "wrong_password"
    )
    await ana.ask(m.Set(title="x"))
    await bo.ask(m.Join(table=ana.code, name="Bo", password="other"))
    await ana.ask(m.Set(password=""))
    await bo.until(lambda view: not view.room.locked)
    assert not (await running.listed())[0]["locked"]
    assert (await (await running.peer()).ask(m.Join(table=ana.code, name="Cy")))["seat"] == 2


async def test_who_is_wrong_too_often_waits_and_the_right_one_passes(running, monkeypatch):
    monkeypatch.setattr(session, "PATIENCE", 0.3)
    monkeypatch.setattr(running.host.failures, "per_second", 0.0)
    ana, _ = await running.table("Ana", "Bo", password="right")
    thief = await running.peer()
    codes = [await thief.refused(m.Resume(table=ana.code, token="0" * 32)) for _ in range(10)]
    assert set(codes) == {("bad_token", "token")}
    loop = asyncio.get_running_loop()
    before = loop.time()
    assert await thief.refused(m.Resume(table=ana.code, token="1" * 32)) == (
        "rate_limited",
        "failures",
    )
    assert await thief.refused(m.Join(table=ana.code, name="Cy", password="wrong")) == (
        "rate_limited",
        "failures",
    )
    assert loop.time() - before >= 0.6
    # Another table is another matter, and what is right always passes.
    (other,) = await running.table("Dee", password="x")
    assert (await thief.refused(m.Watch(table=other.code)))[0] == "wrong_password"
    ana.drop()
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=ana.token))
    await thief.ask(m.Join(table=ana.code, name="Cy", password="right"))


async def test_more_connections_are_no_more_guesses(running, monkeypatch):
    monkeypatch.setattr(session, "PATIENCE", 0.1)
    monkeypatch.setattr(running.host.failures, "per_second", 0.0)
    ana, *_ = await running.table("Ana", password="right")
    thieves = [await running.peer() for _ in range(5)]
    for _ in range(10):
        await thieves[0].refused(m.Resume(table=ana.code, token="0" * 32))
    loop = asyncio.get_running_loop()
    before = loop.time()
    await asyncio.gather(
        *(thief.refused(m.Resume(table=ana.code, token="1" * 32)) for thief in thieves)
    )
    assert loop.time() - before >= 0.5
    friend = await running.peer()
    assert (await friend.ask(m.Join(table=ana.code, name="Bo", password="right")))["seat"] == 1


# --- Under attack -----------------------------------------------------------------------------

GUESSES = 1000 if os.environ.get("QE_LONG") else 60
"""Each costs a second, so that who waited for them would not be answered in time."""


@pytest.fixture
def hashes(monkeypatch) -> list[int]:
    """How many slow hashes were made, as a list of one, and how many at once at most."""
    made, now, lock, scrypt = [0, 0], [0], threading.Lock(), access._scrypt

    def counted(password: str, salt: bytes) -> bytes:
        with lock:
            made[0] += 1
            now[0] += 1
            made[1] = max(made[1], now[0])
        try:
            return scrypt(password, salt)
        finally:
            with lock:
                now[0] -= 1

    monkeypatch.setattr(access, "_scrypt", counted)
    return made


class Attack:
    """Many who are wrong about a table, all at the same time, and the answers they have got."""

    def __init__(self, running, guesses: list[m.Body]) -> None:
        self._running, self._guesses = running, guesses
        self.asked: list[asyncio.Future] = []

    async def begin(self) -> None:
        thieves = []
        for _ in self._guesses:
            thieves.append(await self._running.peer())
        self.asked = [t.send(guess) for t, guess in zip(thieves, self._guesses, strict=True)]
        await asyncio.sleep(0)

    def answered(self) -> list[str]:
        return [str(one.exception().code) for one in self.asked if one.done()]


def wrong(code: str, kind: str) -> list[m.Body]:
    if kind == "password":
        return [m.Join(table=code, name=f"T{n}", password=f"guess {n}") for n in range(GUESSES)]
    return [m.Resume(table=code, token=f"{n:032x}") for n in range(GUESSES)]


async def test_who_may_not_set_a_password_costs_no_slow_hash(running, hashes):
    ana, bo = await running.table("Ana", "Bo")
    eve = await running.watcher(ana.code)
    for peer in (bo, eve):
        assert await peer.refused(m.Set(password="x")) == ("not_host", "host")
    await ana.ask(m.AddBot())
    await ana.ask(m.Start())
    assert (await ana.refused(m.Set(password="x")))[0] == "already_started"
    assert hashes[0] == 0


@pytest.mark.parametrize("kind", ["password", "token"])
@pytest.mark.parametrize("restarted", [False, True])
async def test_many_wrong_at_once_are_slowed_down_and_the_right_one_is_not(
    open_host, hashes, kind, restarted
):
    running = await open_host()
    ana, bo, cy = await running.game("Ana", "Bo", "Cy", password="right")
    if restarted:  # now the host has never seen the right password
        await running.stop()
        access._known._digests.clear()
        running = await open_host()
        back = [await running.peer() for _ in range(3)]
        for new, old in zip(back, (ana, bo, cy), strict=True):
            new.token = old.token
            await new.ask(m.Resume(table=ana.code, token=old.token))
            await new.until(lambda view: True)
        ana, bo, cy = back
    before = hashes[0]
    attack = Attack(running, wrong(ana.code, kind))
    start = time.perf_counter()
    await attack.begin()
    # A bid, from the very address that the attack comes from.
    await ana.bid(7)
    bo.drop()
    again, watcher = await running.peer(), await running.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))
    right = m.Watch(table=ana.code, password="right")
    await watcher.ask(right)
    await again.until(lambda view: True)
    await again.bid(3)
    await asyncio.sleep(1.5)
    spent = time.perf_counter() - start
    answered = attack.answered()
    assert set(answered) <= {"wrong_password", "bad_token", "rate_limited"}
    assert len(answered) - answered.count("rate_limited") <= 10 + 0.2 * spent + 1
    assert answered.count("rate_limited") <= spent / session.PATIENCE + 1
    assert hashes[1] == 1  # never two at once
    most = GUESSES if kind == "password" else 0
    assert hashes[0] - before <= (most + 1 if restarted else 0)


async def test_many_wrong_in_turn_are_slowed_down_on_new_connections_too(running, hashes):
    (ana,) = await running.table("Ana", password="right")
    start, codes = time.perf_counter(), []
    while time.perf_counter() - start < 2.5:
        thief = await running.peer()
        codes.append(await thief.refused(m.Watch(table=ana.code, password=f"{len(codes)}")))
        thief.drop()
    assert len(codes) <= 10 + 0.2 * 3 + 1 + 2.5 / session.PATIENCE + 1
    assert codes[-1] == ("rate_limited", "failures")
    assert hashes[0] == 1  # when the table was opened


async def test_the_right_password_passes_all_who_wait_for_a_slow_hash(hashes):
    kept = await access.password_hash("right", "")
    access._known._digests.clear()
    guesses = [
        asyncio.create_task(access.password_fits(f"{n}", kept, f"10.0.0.{n % 3}"))
        for n in range(100)
    ]
    await asyncio.sleep(0)
    for who in ("10.0.0.1", "10.0.0.9"):
        access._known._digests.clear()
        before = hashes[0]
        assert await access.password_fits("right", kept, who)
        assert hashes[0] - before <= 6
    for guess in guesses:
        guess.cancel()
    await asyncio.gather(*guesses, return_exceptions=True)
    before = hashes[0]
    assert await access.password_fits("right", kept, "10.0.0.1")
    await access.password_hash("another", "")
    assert hashes[0] - before <= 2  # nobody waits for those who have gone


async def test_tables_that_do_not_exist_cost_nothing_and_tell_nothing(running, hashes):
    (ana,), (bo,) = await running.table("Ana"), await running.table("Bo", password="right")
    await ana.ask(m.Leave())
    await running.listed(lambda tables: len(tables) == 1)
    peer = await running.peer()
    before = hashes[0]
    kinds = [
        lambda code: m.Join(table=code, name="Cy", password="right"),
        lambda code: m.Watch(table=code, password="wrong"),
        lambda code: m.Resume(table=code, token="0" * 32),
    ]
    for code in ("NONE", ana.code, bo.code.lower(), "", "x" * 1000):
        for make in kinds:
            for _ in range(20):
                assert await peer.refused(make(code)) == ("unknown_table", "table")
    assert hashes[0] == before
    assert not running.host.failures._buckets


async def test_an_ipv6_network_and_a_mapped_address_fail_as_one():
    from server.callers import origin

    rate = Rate(burst=10, per_second=0, clock=lambda: 0.0)
    passed = [rate.take((origin(f"2001:db8:0:7::{n:x}"), "WOLF")) for n in range(100)]
    assert passed.count(True) == 10
    passed = [rate.take((origin(f"{how}192.0.2.7"), "WOLF")) for how in ("", "::ffff:") * 10]
    assert passed.count(True) == 10
