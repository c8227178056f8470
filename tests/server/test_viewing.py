"""The bytes of views: made once for all, and built up from what their reader may know."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from protocol import frames
from protocol import messages as m
from server import events as ev
from server import requests, room
from server.games.registry import GAMES
from server.viewing import VIEW_STEP, Views, table_info

QE = GAMES["qe"]


def lobby(*names: str, **fields: Any) -> room.Room:
    opened = ev.Opened(code="WOLF", game="qe", size=3, title="a title", options=m.Options(),
                       rules=requests.read_rules(QE, {}), **fields)  # fmt: skip
    now = room.fold([(5, opened)], GAMES)
    for seat, name in enumerate(names):
        now = room.apply(now, ev.Joined(seat=seat, name=name, token=bytes([seat]) * 32), 5)
    return now


def playing() -> room.Room:
    return room.apply(lobby("Ana", "Bo", "Cy"), ev.Started(seed="x", version=1), 10)


def bid(now: room.Room, seat: int, amount: str) -> room.Room:
    return room.apply(now, ev.Acted(seat=seat, action={"kind": "bid", "amount": amount}), 20)


def read(frame: bytes) -> m.View:
    length = int.from_bytes(frame[:4], "big")
    assert length == len(frame) - 4
    view = m.decode_message(frames.unpack(frame[4:]))
    assert isinstance(view, m.View)
    return view


def prepared(now: room.Room, views: Views | None = None, spectators: int = 0) -> Views:
    views = views or Views()
    views.prepare(now, [seat.key for seat in now.seats], spectators)
    return views


def test_a_view_by_hand_is_the_message_that_it_stands_for() -> None:
    now = playing()
    views = prepared(now, spectators=2)
    for seat in (None, 0, 1, 2):
        frame = views.spectator() if seat is None else views.seat(now, seat)[0]
        fields = frames.unpack(frame[4:])
        # Nothing but what the types say, and all of it.
        view = msgspec.convert(fields, type=m.View, strict=True)
        assert m.encode_message(view) == fields
        assert fields["type"] == "view"
        assert view.room.me == seat
        assert view.room.spectators == 2
        assert view.game == msgspec.to_builtins(QE.public(now.state))
        private = None if seat is None else msgspec.to_builtins(QE.private(now.state, seat))
        assert view.you == private


def test_there_is_no_game_in_the_lobby() -> None:
    now = lobby("Ana")
    views = prepared(now)
    view = read(views.seat(now, 0)[0])
    assert (view.game, view.you, view.room.me) == (None, None, 0)
    assert [seat.kind for seat in view.room.seats] == ["human", "open", "open"]
    # And after a game there is none again.
    over = playing()
    while over.stage != "over":
        seat = QE.waiting(over.state)[0]
        timeout = msgspec.to_builtins(QE.timeout(over.state, seat))
        over = room.apply(over, ev.Acted(seat=seat, action=timeout), 30)
    prepared(over, views)
    assert read(views.seat(over, 0)[0]).game["result"] is not None
    again = room.apply(over, ev.Reopened(seats=[0, 1, 2]), 40)
    prepared(again, views)
    view = read(views.seat(again, 0)[0])
    assert (view.game, view.you) == (None, None)
    assert len(view.room.results) == 1


def test_every_spectator_gets_the_same_bytes_object() -> None:
    now = playing()
    views = prepared(now)
    one = views.spectator()
    assert views.spectator() is one
    prepared(now, views)
    assert views.spectator() is one
    prepared(now, views, spectators=1)
    assert views.spectator() is not one


def test_a_secret_bid_and_its_change_show_to_its_bidder_only() -> None:
    now = playing()
    auctioneer = QE.waiting(now.state)[0]
    one, other = (seat for seat in range(3) if seat != auctioneer)
    now = bid(now, auctioneer, "5")

    def seen(now: room.Room) -> list[bytes]:
        views = prepared(now)
        return [views.spectator(), views.seat(now, auctioneer)[0], views.seat(now, other)[0]]

    made, changed = bid(now, one, "7"), bid(now, one, "8" * 1000)
    assert seen(made) == seen(changed)
    assert seen(made) != seen(now)
    assert seen(bid(made, one, "9" * 1000)) == seen(made)
    assert prepared(made).seat(made, one) != prepared(changed).seat(changed, one)
    # Under TLS not even its length shows.
    sizes = {prepared(n).seat(n, one)[1] for n in (made, changed, bid(now, one, "0"))}
    assert len(sizes) == 1
    assert sizes.pop() % VIEW_STEP == 0


def test_who_is_here_is_said_of_people_and_not_of_computers() -> None:
    now = lobby("Ana", "Bo")
    now = room.apply(now, ev.BotAdded(seat=2, name="Adam", level="normal"), 5)
    views = Views()
    views.prepare(now, [now.seats[1].key], 0)
    assert [seat.connected for seat in read(views.spectator()).room.seats] == [False, True, True]
    views.prepare(now, [0], 3)
    assert [seat.connected for seat in read(views.spectator()).room.seats] == [False, False, True]


def test_no_view_of_a_table_has_its_secrets() -> None:
    now = lobby("Ana", "Bo", "Cy", password="the-salt:the-hash")
    now = room.apply(now, ev.Started(seed="the-seed", version=1), 10)
    views = prepared(now)
    everything = views.spectator() + b"".join(views.seat(now, n)[0] for n in range(3))
    for secret in (b"the-hash", b"the-seed", b"\x01" * 32):
        assert secret not in everything
    assert read(views.spectator()).room.locked


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (lobby("Ana"), ("lobby", 3, 1, 2, 0)),
        (room.apply(lobby("Ana"), ev.BotAdded(seat=1, name="Bea", level="normal"), 0),
         ("lobby", 3, 2, 1, 1)),
        (playing(), ("playing", 3, 3, 0, 0)),
        (room.apply(playing(), ev.Released(seat=1), 0), ("playing", 3, 3, 1, 0)),
    ],
)  # fmt: skip
def test_a_table_in_a_list(now: room.Room, expected: tuple[object, ...]) -> None:
    info = table_info(now, 4)
    assert (info.stage, info.seats, info.taken, info.free, info.bots) == expected
    assert (info.table, info.title, info.game, info.spectators) == ("WOLF", "a title", "qe", 4)
    assert (info.locked, info.standing) == (False, False)


# --- A whole game, listened to ------------------------------------------------------------------


async def test_no_amount_token_password_or_seed_is_logged_in_a_whole_game(open_host, caplog, capfd):
    with caplog.at_level(logging.DEBUG):
        running = await open_host(seed="the-very-seed", tls=True)
        people = await running.game("Ana", "Bo", "Cy", password="open sesame")
        tokens = {person.token for person in people}
        canary = 271828182845
        while people[0].view.room.stage == "playing":
            amounts = (canary + 1, canary + 2, canary + 3)
            await running.auction(*people, opening=canary, bids=amounts)
        thief = await running.peer()
        await thief.refused(m.Watch(table=people[0].code, password="close sesame"))
        await thief.refused(m.Resume(table=people[0].code, token="f" * 32))
        bad = m.Act(step=0, action={"kind": "bid", "amount": str(canary)})
        await people[0].refused(bad)
        await people[0].ask(m.Say(text="a confession"))
        people[1].drop()
        back = await running.peer()
        await back.ask(m.Resume(table=people[0].code, token=people[1].token))
        tokens.add(back.token)
        await running.stop()
    logged = "\n".join(
        [caplog.text, *(repr(r.__dict__) for r in caplog.records), *capfd.readouterr()]
    )
    assert "Ana opened table" in logged
    for secret in ("2718281828", "the-very-seed", "sesame", "confession", "f" * 32, *tokens):
        assert secret not in logged, secret
