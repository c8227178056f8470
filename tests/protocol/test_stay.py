from __future__ import annotations

import asyncio
import itertools
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import (
    CannotConnect,
    Code,
    ConnectionLost,
    FingerprintChanged,
    Goodbye,
    Refused,
)
from protocol.messages import Create, Hello, Join, Leave, Resume, Said, Tables, Watch
from protocol.stay import Back, Backoff, Lost, Stay
from protocol.tokens import Wallet
from protocol.trust import Pins

HOST = "127.0.0.1"
QUICK = Backoff(first=0.01, longest=0.02)
MakeStay = Callable[..., Awaitable[Stay]]


def _seats(peer: Any, table: str = "WOLF") -> set[str]:
    """Scripts a host that seats everybody, and the set of tokens that it would let resume.

    As docs/protocol.md says: an old token is void once the new one has been used.
    """
    numbers = itertools.count(1)
    valid: set[str] = set()

    def fresh() -> dict[str, Any]:
        token = f"token-{next(numbers)}"
        valid.add(token)
        return {"seat": 0, "token": token, "table": table}

    def resume(line: Any, body: Resume) -> dict[str, Any]:
        if body.token not in valid:
            raise Refused(Code.BAD_TOKEN, "token", "No such seat.")
        valid.intersection_update({body.token})
        return fresh()

    peer.script |= {
        Create: lambda line, body: fresh(),
        Join: lambda line, body: fresh(),
        Resume: resume,
        Watch: lambda line, body: {},
        Leave: lambda line, body: {},
        Tables: lambda line, body: {"tables": []},
    }
    return valid


@pytest.fixture
async def make_stay() -> AsyncIterator[MakeStay]:
    stays: list[Stay] = []

    async def make(peer: Any, **more: Any) -> Stay:
        stay = Stay(HOST, peer.port, **{"tls": False, "backoff": QUICK, **more})
        stays.append(stay)
        await stay.open()
        return stay

    yield make
    for stay in stays:
        await stay.close()


@pytest.fixture
def wallet(tmp_path: Path) -> Wallet:
    return Wallet(tmp_path / "seats")


def _said(at: int, text: str = "hello") -> dict[str, Any]:
    return {"type": "said", "table": "WOLF", "seat": 1, "name": "Bo", "text": text, "at": at}


async def _until(events: AsyncIterator[Any], kind: type) -> list[Any]:
    """The events up to the first of this kind."""
    got: list[Any] = []
    async with asyncio.timeout(10):
        while not got or not isinstance(got[-1], kind):
            got.append(await anext(events))
    return got


async def test_a_seat_is_resumed_with_the_newest_token_each_time(
    make_peer: Any, make_stay: MakeStay, wallet: Wallet
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer, wallet=wallet)
    await stay.ask(Create(game="qe", seats=3, title="", name="Ana"))
    events = stay.events()
    for number in (1, 2, 3):
        peer.lines[-1].cut()
        got = await _until(events, Back)
        assert [type(each) for each in got[:-1]] == [Lost] * (len(got) - 1)
        assert peer.lines[-1].asked[1:] == [Resume(table="WOLF", token=f"token-{number}")]
    assert await stay.ask(Tables()) == {"tables": []}
    assert stay.saved("WOLF", "Ana") is None  # it is in use: by us
    await stay.close()
    assert wallet.saved("den", "WOLF", "Ana") == "token-4"


async def test_a_seat_is_found_again_after_a_restart(
    make_peer: Any, make_stay: MakeStay, wallet: Wallet
) -> None:
    peer = await make_peer()
    valid = _seats(peer)
    first = await make_stay(peer, wallet=wallet)
    assert first.saved("WOLF", "Ana") is None
    await first.ask(Join(table="WOLF", name="Ana"))
    await first.close()

    second = await make_stay(peer, wallet=wallet)
    third = await make_stay(peer, wallet=wallet)
    token = second.saved("WOLF", "Ana")
    assert token == third.saved("WOLF", "Ana") == "token-1"
    await second.ask(Resume(table="WOLF", token=token))
    assert third.saved("WOLF", "Ana") is None
    with pytest.raises(Refused) as caught:
        await third.ask(Resume(table="WOLF", token=token))
    assert caught.value.reason == "in_use"

    peer.lines[-2].cut()
    await _until(second.events(), Back)
    assert "token-3" in valid
    await second.ask(Leave())
    assert wallet.seats("den") == []


async def test_a_token_that_is_void_is_thrown_away(
    make_peer: Any, make_stay: MakeStay, wallet: Wallet
) -> None:
    peer = await make_peer()
    valid = _seats(peer)
    stay = await make_stay(peer, wallet=wallet)
    await stay.ask(Join(table="WOLF", name="Ana"))
    await stay.close()
    valid.clear()
    stay = await make_stay(peer, wallet=wallet)
    token = stay.saved("WOLF", "Ana")
    assert token is not None
    with pytest.raises(Refused):
        await stay.ask(Resume(table="WOLF", token=token))
    assert stay.saved("WOLF", "Ana") is None


async def test_a_full_disk_does_not_cost_the_seat(
    make_peer: Any, make_stay: MakeStay, wallet: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer, wallet=wallet)
    await stay.ask(Join(table="WOLF", name="Ana"))
    events = stay.events()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for _ in range(2):
            peer.lines[-1].cut()
            await _until(events, Back)
    await stay.close()
    # The new tokens could not be written, so the one on disk is still the one that counts.
    stay = await make_stay(peer, wallet=wallet)
    token = stay.saved("WOLF", "Ana")
    assert token is not None
    await stay.ask(Resume(table="WOLF", token=token))


async def test_without_a_wallet_a_seat_is_kept_as_long_as_the_stay(
    make_peer: Any, make_stay: MakeStay
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer)
    await stay.ask(Join(table="WOLF", name="Ana"))
    events = stay.events()
    for _ in range(2):
        peer.lines[-1].cut()
        await _until(events, Back)
    assert peer.lines[-1].asked[1:] == [Resume(table="WOLF", token="token-2")]


async def test_a_spectator_watches_again(make_peer: Any, make_stay: MakeStay) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer)
    watch = Watch(table="WOLF", name="Eve", password="secret")
    await stay.ask(watch)
    events = stay.events()
    peer.lines[-1].cut()
    await _until(events, Back)
    assert peer.lines[-1].asked[1:] == [watch]
    await stay.ask(Leave())
    peer.lines[-1].cut()
    await _until(events, Back)
    assert peer.lines[-1].asked[1:] == []


@pytest.mark.parametrize("freed", [True, False])
async def test_a_spectators_name_may_still_be_with_the_dead_line(
    make_peer: Any, make_stay: MakeStay, monkeypatch: pytest.MonkeyPatch, freed: bool
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer)
    await stay.ask(Watch(table="WOLF", name="Eve"))
    tries = itertools.count()

    def taken(line: Any, body: Any) -> dict[str, Any]:
        if next(tries) == 2 and freed:
            return {}
        raise Refused(Code.NAME_TAKEN, "name", "Somebody has that name.")

    peer.script[Watch] = taken
    peer.lines[-1].cut()
    if freed:
        got = await _until(stay.events(), Back)
        assert [type(each) for each in got] == [Lost, Lost, Lost, Back]
        assert "yet to notice" in got[2].sentence
    else:
        monkeypatch.setattr("protocol.stay.NAME_FREE_AFTER", 0.0)
        with pytest.raises(Refused, match="Somebody has that name"):
            await _until(stay.events(), Back)


async def test_losing_the_connection_is_told_at_each_try_and_asking_fails_at_once(
    make_peer: Any, make_stay: MakeStay
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer, backoff=Backoff(first=0.02, longest=0.05))
    await stay.ask(Join(table="WOLF", name="Ana"))
    events = stay.events()
    await peer.stop()
    lost = [await asyncio.wait_for(anext(events), 10) for _ in range(4)]
    assert all(isinstance(each, Lost) for each in lost)
    for each, longest in zip(lost, (0.02, 0.04, 0.05, 0.05), strict=True):
        assert longest / 2 <= each.retry_in <= longest
    assert "Nobody listens" in lost[-1].sentence
    started = time.monotonic()
    with pytest.raises(ConnectionLost):
        await stay.ask(Tables())
    assert time.monotonic() - started < 1
    await peer.start()
    await _until(events, Back)
    assert await stay.ask(Tables()) == {"tables": []}


async def test_what_was_said_before_is_not_repeated(make_peer: Any, make_stay: MakeStay) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer)
    await stay.ask(Join(table="WOLF", name="Ana"))
    events = stay.events()
    peer.lines[-1].send(**_said(1))
    peer.lines[-1].send(**_said(2))
    for at in (1, 2):
        assert (await anext(events)).at == at
    resume = peer.script[Resume]

    def repeat(line: Any, body: Any) -> None:
        line.send(type="ok", id=2, result=resume(line, body))
        for at in (1, 2, 3):
            line.send(**_said(at))

    peer.script[Resume] = repeat
    peer.lines[-1].cut()
    got = await _until(events, Said)
    assert got[-1].at == 3
    # To somebody who goes and comes again everything is new.
    await stay.ask(Leave())
    await stay.ask(Join(table="WOLF", name="Ana"))
    peer.lines[-1].send(**_said(1))
    assert (await _until(events, Said))[-1].at == 1


async def test_a_spectator_who_goes_from_table_to_table_hears_all_of_it(
    make_peer: Any, make_stay: MakeStay
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer)
    events = stay.events()
    for table in ("WOLF", "LYNX", "WOLF"):
        await stay.ask(Watch(table=table))
        peer.lines[-1].send(**_said(1, f"last words at {table}"))
        assert (await _until(events, Said))[-1].text == f"last words at {table}"


async def test_after_a_connection_that_stood_the_wait_is_short_again(
    make_peer: Any, make_stay: MakeStay
) -> None:
    peer = await make_peer()
    stay = await make_stay(peer, backoff=Backoff(first=0.01, longest=0.06))
    events = stay.events()
    await peer.stop()
    for _ in range(4):
        assert isinstance(await asyncio.wait_for(anext(events), 10), Lost)
    await peer.start()
    await _until(events, Back)
    await asyncio.sleep(0.07)
    peer.lines[-1].cut()
    assert (await _until(events, Lost))[0].retry_in <= 0.01


@pytest.mark.parametrize(
    ("code", "token_kept"), [("replaced", True), ("removed", False), ("table_closed", False)]
)
async def test_a_final_goodbye_ends_the_stay(
    make_peer: Any, make_stay: MakeStay, wallet: Wallet, code: str, token_kept: bool
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer, wallet=wallet)
    await stay.ask(Join(table="WOLF", name="Ana"))
    peer.lines[-1].send(type="bye", code=code, message="Farewell.")
    with pytest.raises(Goodbye, match="Farewell") as caught:
        await anext(stay.events())
    assert caught.value.code == code
    await stay.close()
    assert (wallet.saved("den", "WOLF", "Ana") is not None) == token_kept
    assert len(peer.lines) == 1


@pytest.mark.parametrize("code", ["shutting_down", "idle", "slow", "bad_frame", "of_tomorrow"])
async def test_after_any_other_goodbye_it_comes_back(
    make_peer: Any, make_stay: MakeStay, code: str
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer)
    peer.lines[-1].send(type="bye", code=code, message="See you.")
    events = stay.events()
    lost, *_, back = await _until(events, Back)
    assert lost.sentence == "See you."
    assert lost.shut_down == (code == "shutting_down")
    assert back == Back()


async def test_a_seat_that_cannot_be_resumed_ends_the_stay(
    make_peer: Any, make_stay: MakeStay, wallet: Wallet
) -> None:
    peer = await make_peer()
    valid = _seats(peer)
    stay = await make_stay(peer, wallet=wallet)
    await stay.ask(Join(table="WOLF", name="Ana"))
    valid.clear()
    peer.lines[-1].cut()
    with pytest.raises(Refused) as caught:
        await _until(stay.events(), Back)
    assert caught.value.code == Code.BAD_TOKEN
    await stay.close()
    assert wallet.saved("den", "WOLF", "Ana") is None


async def test_a_table_that_is_unknown_now_may_be_known_another_time(
    make_peer: Any, make_stay: MakeStay, wallet: Wallet
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer, wallet=wallet)
    await stay.ask(Join(table="WOLF", name="Ana"))

    def unknown(line: Any, body: Any) -> None:
        raise Refused(Code.UNKNOWN_TABLE, "kept", "This table is kept, and cannot be opened now.")

    peer.script[Resume] = unknown
    peer.lines[-1].cut()
    with pytest.raises(Refused, match="cannot be opened now"):
        await _until(stay.events(), Back)
    await stay.close()
    assert wallet.seats("den") == [("WOLF", "Ana")]
    later = await make_stay(peer, wallet=wallet)
    token = later.saved("WOLF", "Ana")
    assert token is not None
    with pytest.raises(Refused, match="cannot be opened now"):
        await later.ask(Resume(table="WOLF", token=token))
    assert later.saved("WOLF", "Ana") == token


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (Code.RATE_LIMITED, "later"),
        (Code.NOT_SAVED, "later"),
        (Code.HOST_FULL, "later"),
        (Code.BAD_TOKEN, "late"),
        ("of_tomorrow", "later"),
    ],
)
async def test_a_refusal_that_passes_is_tried_again(
    make_peer: Any, make_stay: MakeStay, code: str, reason: str
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer)
    await stay.ask(Join(table="WOLF", name="Ana"))
    resume = peer.script[Resume]

    def not_yet(line: Any, body: Any) -> None:
        peer.script[Resume] = resume
        raise Refused(code, reason, "Not now.")

    peer.script[Resume] = not_yet
    peer.lines[-1].cut()
    got = await _until(stay.events(), Back)
    assert [each.sentence for each in got[1:-1]] == ["Not now."]


async def test_the_certificate_is_pinned_by_taking_a_place_only(
    make_peer: Any, make_stay: MakeStay, certificates: Any, tmp_path: Path
) -> None:
    peer = await make_peer(certificates[0][0])
    _seats(peer)
    path = tmp_path / "pins.json"
    for body in (Join(table="WOLF", name="Ana"), Watch(table="WOLF")):
        path.unlink(missing_ok=True)
        stay = await make_stay(peer, tls=True, pins=Pins(path))
        assert stay.fingerprint == certificates[0][1]
        await stay.ask(Tables())
        assert not path.exists()
        await stay.ask(body)
        with pytest.raises(FingerprintChanged):
            Pins(path).check(HOST, peer.port, "00" * 32)
        with pytest.raises(FingerprintChanged):
            Pins(path).check("10.0.0.1", 1, "00" * 32, "den")


async def test_another_certificate_at_a_reconnect_ends_the_stay_pins_or_not(
    make_peer: Any, make_stay: MakeStay, certificates: Any
) -> None:
    peer = await make_peer(certificates[0][0])
    _seats(peer)
    stay = await make_stay(peer, tls=True)
    await stay.ask(Join(table="WOLF", name="Ana"))
    await peer.stop()
    impostor = await make_peer(certificates[1][0])
    stay._port = impostor.port
    with pytest.raises(FingerprintChanged):
        await _until(stay.events(), Back)
    assert impostor.received == 0


async def test_no_token_is_sent_to_another_host_at_the_address(
    make_peer: Any, make_stay: MakeStay
) -> None:
    peer = await make_peer()
    _seats(peer)
    stay = await make_stay(peer)
    await stay.ask(Join(table="WOLF", name="Ana"))
    peer.host_id = "attic"
    peer.lines[-1].cut()
    events = stay.events()
    lost = [await asyncio.wait_for(anext(events), 10) for _ in range(3)]
    assert "Another host" in lost[-1].sentence
    for line in peer.lines[1:]:
        assert [type(each) for each in line.asked] == [Hello]


@pytest.mark.parametrize("answer", [{"seat": "none"}, {"seat": 0, "token": "t" * 129}])
async def test_an_answer_without_a_token_loses_the_connection(
    make_peer: Any, make_stay: MakeStay, answer: dict[str, Any]
) -> None:
    peer = await make_peer()
    _seats(peer)
    peer.script[Join] = lambda line, body: answer
    stay = await make_stay(peer)
    with pytest.raises(ConnectionLost):
        await stay.ask(Join(table="WOLF", name="Ana"))


async def test_closing_ends_the_events(make_peer: Any, make_stay: MakeStay) -> None:
    peer = await make_peer()
    stay = await make_stay(peer)

    async def read() -> list[Any]:
        return [each async for each in stay.events()]

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    await stay.close()
    assert await asyncio.wait_for(reading, 5) == []
    with pytest.raises(ConnectionLost):
        await stay.ask(Tables())


async def test_closing_ends_the_wait_for_the_next_try(make_peer: Any, make_stay: MakeStay) -> None:
    peer = await make_peer()
    stay = await make_stay(peer, backoff=Backoff(first=60, longest=60))
    events = stay.events()
    await peer.stop()
    assert isinstance(await anext(events), Lost)
    waiting = asyncio.ensure_future(anext(events, None))
    await asyncio.sleep(0)
    await stay.close()
    assert await asyncio.wait_for(waiting, 5) is None


async def test_opening_raises_what_connecting_raises() -> None:
    with pytest.raises(CannotConnect):
        await Stay(HOST, 1, tls=False).open()
    with pytest.raises(ConnectionLost):
        await Stay(HOST, 1).ask(Tables())


async def test_no_token_is_in_a_log_or_a_repr(
    make_peer: Any, make_stay: MakeStay, wallet: Wallet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    peer = await make_peer()
    valid = _seats(peer)
    stay = await make_stay(peer, wallet=wallet)
    await stay.ask(Join(table="WOLF", name="Ana", password="canary"))
    await stay.close()
    stay = await make_stay(peer, wallet=wallet)
    await stay.ask(Resume(table="WOLF", token=str(stay.saved("WOLF", "Ana"))))
    events = stay.events()
    peer.lines[-1].cut()
    shown = [repr(each) for each in await _until(events, Back)]
    valid.clear()
    peer.lines[-1].cut()
    with pytest.raises(Refused) as caught:
        await _until(events, Back)
    shown += [caplog.text, repr(stay), repr(vars(stay)), repr(caught.value), str(caught.value)]
    assert not any(secret in text for text in shown for secret in ("token-", "canary"))
