"""Tokens, passwords and rates."""

from __future__ import annotations

import asyncio
import threading

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
    kept = [await access.password_hash("Mädchen 1") for _ in range(2)]
    assert kept[0] != kept[1]
    assert "Mädchen" not in kept[0]
    for one in kept:
        assert await access.password_fits("Mädchen 1", one)
        for other in ("", "Mädchen", "mädchen 1", "Mädchen 1 ", "x" * 128):
            assert not await access.password_fits(other, one)


async def test_a_password_is_checked_beside_the_event_loop() -> None:
    threads: set[int] = set()
    scrypt = access._scrypt

    def noted(password: str, salt: bytes) -> bytes:
        threads.add(threading.get_ident())
        return scrypt(password, salt)

    access._scrypt = noted
    try:
        await access.password_fits("x", await access.password_hash("x"))
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
