"""What happens at a table by itself: clocks, absences, computer players, standing tables, and
connections that say nothing. On a host in this process, some of whose waits are made short."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgpack
import pytest
from audience import OPTIONS, RULES, Member, Table, differences, open_seat
from freezing import HostHere, host_here
from randomplay import play
from referee import Referee, replayed
from wire import Connection, framed, until

from server import access, away, room, session

Fields = dict[str, Any]
NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")


async def _table(host: HostHere, players: int, **more: Any) -> Table:
    made = await Table.create(host, players, **more)
    for name in NAMES[1:players]:
        await made.join(name)
    return made


async def _shown(member: Member, true: Callable[[Fields], bool]) -> Fields:
    """The member's next view of which that is true."""
    while True:
        view = (await member.link.view()).fields
        if true(view):
            return view


# --- A clock for each turn ------------------------------------------------------------------


@pytest.mark.long
async def test_time_runs_out_in_every_phase(tmp_path: Path) -> None:
    """An opening or a blind bid of 1; a secret bid or re-bid of 1, or of 0 where it opened at 1."""
    async with host_here(tmp_path) as host:
        here = await _table(host, 3, options={"turn_seconds": 1})
        referee = await here.start()

        async def wait(amount: int) -> None:
            for seat in referee.waiting:
                here.move(seat, amount)
            await here.settle()

        await wait(1)
        assert referee.phase == "secret"
        await wait(0)
        await here.bid(referee.waiting[0], 5)
        await here.bid(referee.waiting[1], 3)
        await wait(1)
        await here.bid(referee.waiting[0], 5)
        for seat in referee.waiting:
            await here.bid(seat, 9)
        assert referee.phase == "rebid"
        await here.bid(referee.waiting[1], 8)
        await wait(1)
        while referee.phase != "blind":
            seat = referee.waiting[0]
            await here.bid(seat, 2 if referee.phase == "opening" else 3 + seat)
        await here.bid(referee.waiting[1], 1)
        await wait(1)
        assert referee.over
        assert referee.auction.winner is None
        await here.silent()
        await here.close()


async def test_pause(tmp_path: Path) -> None:
    async with host_here(tmp_path) as host:
        here = await _table(host, 3, options={"turn_seconds": 1})
        ana = here.at(0)
        await ana.link.refused("stale", "pause", on=True)
        referee = await here.start()
        assert await ana.link.ask("pause", on=True) == {}
        here.room["paused"], here.stood_still = True, True
        await here.settle()
        assert await ana.link.ask("pause", on=True) == {}
        await asyncio.sleep(1.3)
        await here.silent()
        assert await ana.link.ask("pause", on=False) == {}
        here.room["paused"] = False
        await here.settle()
        here.move(referee.waiting[0], 1)
        await here.settle()
        await here.close()


# --- Somebody is away -----------------------------------------------------------------------


async def test_stand_in(tmp_path: Path) -> None:
    """Once somebody has been away for long enough, until they resume."""
    async with host_here(tmp_path) as host:
        here = await _table(host, 3, options={"away_seconds": 1})
        ana, bo = here.at(0), here.at(1)
        await ana.link.refused("stale", "stand_in", seat=1)
        referee = await here.start()
        while referee.waiting != [2]:
            await here.bid(referee.waiting[0], 1 + len(referee.waiting))
        await ana.link.refused("bad_message", "stand_in", seat=3)
        await ana.link.refused("not_ready", "stand_in", seat=1)
        await here.lose(bo)
        await ana.link.refused("not_ready", "stand_in", seat=1)
        await asyncio.sleep(1.1)
        assert await ana.link.ask("stand_in", seat=1) == {}
        here.room["seats"][1] |= {"kind": "stand_in"}
        await here.settle()
        here.room["seats"][1] |= {"kind": "human"}
        await here.resume(bo)
        await play(here, Random(1))
        await here.close()


async def test_a_stand_in_plays(tmp_path: Path) -> None:
    async with host_here(tmp_path) as host:
        here = await _table(host, 3, options={"away_seconds": 0})
        ana = here.at(0)
        await here.start()
        view = ana.last
        for seat in (1, 2):
            await here.at(seat).link.close()
            view = await _away(ana, seat)
            await ana.link.ask("stand_in", seat=seat)
        view = await _plays_alone(ana, view)
        _check_end(view)
        assert [seat["kind"] for seat in view["room"]["seats"]] == ["human", "stand_in", "stand_in"]
        await here.close()


async def _away(member: Member, seat: int) -> Fields:
    """The view that shows the seat's holder to be away."""
    return await _shown(member, lambda view: not view["room"]["seats"][seat]["connected"])


async def _plays_alone(member: Member, view: Fields | None = None) -> Fields:
    """Bids at random until the game is over, and gives its last view. `view` is the one to
    begin with."""
    rng, tried = Random(1), 0
    while True:
        view = (await member.link.view()).fields if view is None else view
        game, you = view["game"], view["you"]
        if game is not None and game["phase"] == "over":
            return view
        if game is not None and game["step"] > tried and you["seat"] in game["waiting"]:
            tried, may = game["step"], you["may_bid"]
            amount = max(int(may["minimum"]), rng.randrange(100))
            amount += str(amount) == may["other_than"]
            action = {"kind": "bid", "amount": str(amount)}
            await member.link.ask("act", step=tried, action=action)
        view = None


def _check_end(view: Fields) -> None:
    game, you = replayed(view, view["you"]["seat"])
    lines = differences(game, view["game"], "game") + differences(you, view["you"], "you")
    assert not lines, "\n".join(lines)


async def test_release(tmp_path: Path) -> None:
    """An away seat may be taken by whoever joins, until its holder resumes it."""
    async with host_here(tmp_path) as host:
        here = await _table(host, 3)
        ana, bo = here.at(0), here.at(1)
        await ana.link.refused("stale", "release", seat=1)
        referee = await here.start()
        while referee.waiting != [2]:
            await here.bid(referee.waiting[0], 1 + len(referee.waiting))
        await ana.link.refused("not_ready", "release", seat=1)
        await ana.link.refused("bad_message", "release", seat=9)

        async def release() -> None:
            await here.lose(here.at(1))
            assert await ana.link.ask("release", seat=1) == {}
            here.room["seats"][1] |= {"kind": "stand_in", "released": True}
            await here.settle()
            listed = (await ana.link.ask("tables"))["tables"]
            assert [info["free"] for info in listed] == [1]

        await release()
        here.room["seats"][1] |= {"kind": "human", "released": False}
        await here.resume(bo)
        await release()
        here.members.remove(bo)
        referee.newcomers[1] = referee.step
        eve = await here.join("Eve")
        assert eve.seat == 1
        late = await here.connect()
        await late.refused("bad_token", "resume", table=here.code, token=bo.token)
        await late.close()
        await play(here, Random(2))
        await here.close()


async def test_the_hosts_role_passes(tmp_path: Path) -> None:
    """To the longest seated human who is here, once the host has been away for long enough."""
    async with host_here(tmp_path) as host:
        here = await _table(host, 3, options={"away_seconds": 1})
        ana, bo, cy = here.members
        await here.lose(bo)
        await here.lose(ana)
        assert (await here.connect()).welcome
        here.room["host"] = cy.seat
        await here.settle()
        await here.resume(ana)
        await ana.link.refused("not_host", "set", title="Mine")
        await here.close()


async def test_a_seat_away_from_the_lobby(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(away, "LOBBY_AWAY", 300)
    async with host_here(tmp_path) as host:
        here = await _table(host, 3)
        bo = here.at(1)
        await here.lose(bo)
        await here.resume(bo)
        await asyncio.sleep(0.4)
        await here.silent()
        await here.lose(bo)
        here.members.remove(bo)
        here.room["seats"][1] = open_seat(1)
        await here.settle()
        link = await here.connect()
        await link.refused("bad_token", "resume", table=here.code, token=bo.token)
        await link.close()
        await here.close()


async def test_rematch_opens_the_seats_of_those_who_are_away(tmp_path: Path) -> None:
    async with host_here(tmp_path) as host:
        here = await Table.create(host, 5)
        for name in NAMES[1:4]:
            await here.join(name)
        await here.start()
        await play(here, Random(3))
        bo = here.at(1)
        await here.lose(bo)
        here.members.remove(bo)
        here.room["seats"][1] = open_seat(1)
        await here.rematch()
        assert [seat["name"] for seat in here.room["seats"]] == ["Ana", "", "Cy", "Dee", ""]
        await here.join("Eve")
        await here.start()
        await here.close()


# --- Computer players -----------------------------------------------------------------------


@pytest.mark.parametrize("players", [3, 4, 5])
async def test_a_game_with_computer_players(tmp_path: Path, players: int) -> None:
    async with host_here(tmp_path) as host:
        here = await Table.create(host, players, rules={"notes": players != 4})
        ana = here.at(0)
        levels = ana.link.welcome["games"]["qe"]["levels"]
        for number in range(players - 1):
            await ana.link.ask("add_bot", level=levels[number % len(levels)])
        await ana.link.ask("start")
        _check_end(await _plays_alone(ana))
        await here.close()


# --- Standing tables ------------------------------------------------------------------------


async def _standing(link: Connection) -> list[Fields]:
    tables: list[Fields] = (await link.ask("tables"))["tables"]
    assert all(info["standing"] for info in tables)
    return tables


async def test_standing_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is always open; it starts when full; those who ask for it play on at the end."""
    monkeypatch.setattr(room, "REOPEN_AFTER", 1500)
    async with host_here(tmp_path, players=3, bots=1) as host:
        first = await Connection.open(host.port, tls=False)
        (info,) = await _standing(first)
        assert info | {"table": "", "title": ""} == {
            "table": "", "title": "", "game": "qe", "stage": "lobby", "seats": 3, "taken": 1,
            "free": 2, "bots": 1, "spectators": 0, "locked": False, "standing": True,
        }  # fmt: skip
        links = [first, await Connection.open(host.port, tls=False)]
        people = []
        for name, link in zip(("Ana", "Bo"), links, strict=True):
            made = await link.ask("join", table=info["table"], name=name)
            people.append(Member(name, link, made["token"], made["seat"]))
        view = await _shown(people[0], lambda view: view["room"]["stage"] == "playing")
        assert view["room"]["host"] is None
        assert view["room"]["standing"]
        assert differences(OPTIONS, view["room"]["options"], "") == []
        assert differences(RULES, view["room"]["rules"], "") == []
        await _the_host_requests_are_not_host(first)

        async def another_is_open() -> bool:
            return len(await _standing(first)) == 2

        await until(another_is_open)
        other = next(i for i in await _standing(first) if i["table"] != info["table"])
        assert (other["stage"], other["free"]) == ("lobby", 2)
        await people[0].link.refused("not_over", "rematch")
        ends = await asyncio.gather(_plays_alone(people[0], view), _plays_alone(people[1]))
        for end in ends:
            _check_end(end)
            assert end["room"]["deadline"] == end["room"]["since"] + 1500
            assert not any(seat.get("keeps") for seat in end["room"]["seats"])
        assert await people[0].link.ask("rematch") == {}
        view = (await people[0].link.view()).fields
        assert [s.get("keeps", False) for s in view["room"]["seats"] if s["kind"] == "human"] == [
            True,
            False,
        ]
        view = await _shown(people[0], lambda view: view["room"]["stage"] == "lobby")
        assert [seat["name"] for seat in view["room"]["seats"]].count("Ana") == 1
        assert "Bo" not in [seat["name"] for seat in view["room"]["seats"]]
        assert len(view["room"]["seats"]) == 3
        assert view["game"] is None
        view = await _shown(people[1], lambda view: view["room"]["stage"] == "lobby")
        assert view["room"]["me"] is None
        await people[1].link.ask("join", table=info["table"], name="Bo")
        view = await _shown(people[1], lambda view: view["room"]["stage"] == "playing")
        assert view["game"]["step"] > ends[0]["game"]["step"]
        for link in links:
            await link.close()


async def _the_host_requests_are_not_host(link: Connection) -> None:
    for kind, fields in (
        ("set", {"title": "Mine"}), ("move", {"seat": 0, "to": 1}), ("add_bot", {}),
        ("remove", {"seat": 1}), ("start", {}), ("pause", {"on": True}),
        ("stand_in", {"seat": 1}), ("release", {"seat": 1}),
    ):  # fmt: skip
        await link.refused("not_host", kind, **fields)


# --- Connections that say nothing, and that hear nothing ------------------------------------


async def test_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host waits for `hello` for so long; later it asks for a sign, and says goodbye at last."""
    monkeypatch.setattr(session, "HELLO_WITHIN", 0.4)
    monkeypatch.setattr(session, "PING_AFTER", 0.2)
    monkeypatch.setattr(session, "IDLE_AFTER", 0.8)
    async with host_here(tmp_path) as host:
        mute = await Connection.open(host.port, tls=False, hello=False)
        await mute.goodbye("hello_timeout")
        slow = await Connection.open(host.port, tls=False, hello=False)
        for _ in range(6):  # requests before hello do not put it off
            slow.send("tables").add_done_callback(lambda done: done.exception())
            await asyncio.sleep(0.1)
        await slow.goodbye("hello_timeout")
        answering = await Connection.open(host.port, tls=False)
        idle = await Connection.open(host.port, tls=False)
        idle.answers_pings = False
        await idle.goodbye("idle")
        assert idle.pings == 1
        await asyncio.sleep(0.5)
        assert answering.pings > 2
        await answering.ask("tables")
        await answering.close()


async def test_half_a_frame_is_no_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then does not keep a connection for ever."""
    monkeypatch.setattr(session, "PING_AFTER", 0.2)
    monkeypatch.setattr(session, "IDLE_AFTER", 0.8)
    async with host_here(tmp_path) as host:
        link = await Connection.open(host.port, tls=False)
        link.answers_pings = False
        for byte in framed(b"\x80" * 200)[:20]:
            link.write(bytes((byte,)))
            await asyncio.sleep(0.1)
            if link.ended:
                break
        await link.goodbye("idle")


async def test_one_who_reads_nothing_holds_up_nobody(tmp_path: Path) -> None:
    """Neither a game, nor the host's end."""
    async with host_here(tmp_path) as host:
        here = await _table(host, 4)
        stuck = socket.socket()
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        stuck.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(stuck, ("127.0.0.1", host.port))
        hello = {"type": "hello", "id": 1, "versions": [1], "client": "x"}
        await loop.sock_sendall(stuck, framed(msgpack.packb(hello)))
        watch = {"type": "watch", "id": 2, "table": here.code}
        await loop.sock_sendall(stuck, framed(msgpack.packb(watch)))
        for member in here.members:  # the model knows only spectators that it has brought itself
            shown = (await member.link.view()).fields
            assert shown["room"]["spectators"] == 1
        ana = here.at(0)
        await ana.link.ask("leave")
        many = [here.at(1).link.send("react", kind="laugh") for _ in range(15)]
        await asyncio.gather(*many)
        stuck.close()
        await here.close()


async def test_only_the_last_fifty_lines_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access.Rate, "take", lambda self, key: True)
    async with host_here(tmp_path) as host:
        here = await Table.create(host, 3)
        for number in range(55):
            await here.at(0).link.ask("say", text=f"line {number}")
        late = await here.watch()
        await late.link.ask("ping")
        lines = [(await late.link.word())["text"] for _ in range(50)]
        assert lines == [f"line {number}" for number in range(5, 55)]
        assert late.link.said.empty()
        await here.close()


def test_the_referee_can_say_no() -> None:
    """A bid of somebody who may not, is illegal to the referee too."""
    referee = Referee(3, host=0, notes=True, first="host", seed="x")
    referee.begin(1)
    assert referee.waiting == [0]
    assert not referee.bid_is_legal(1, 5)
    assert not referee.bid_is_legal(0, 0)
    assert referee.bid_is_legal(0, 1)
