"""Everybody at one table of a host, and what each of them must be shown.

The model of the room is moved on by whoever uses it; `settle` then takes exactly the views that
must have come, and compares every field of each.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Protocol

from referee import Referee
from wire import Connection, Frame, entries

Fields = dict[str, Any]
OPTIONS: Fields = {"turn_seconds": 0, "start_when_full": False, "away_seconds": 60}
RULES: Fields = {"notes": True, "first": "random"}


class AnyHost(Protocol):
    """Where to connect to, and what to expect of the deals."""

    games: int

    @property
    def port(self) -> int: ...
    @property
    def tls(self) -> bool: ...
    @property
    def fingerprint(self) -> str | None: ...
    @property
    def seed(self) -> str | None: ...


@dataclass(eq=False)
class Member:
    """Somebody with a connection to the table. `last` is the view that they saw last."""

    name: str
    link: Connection
    token: str = ""
    seat: int | None = None
    last: Fields | None = None
    sizes: list[int] = field(default_factory=list)


def open_seat(seat: int) -> Fields:
    return {
        "seat": seat, "name": "", "kind": "open", "level": None, "connected": False,
        "released": False, "keeps": False,
    }  # fmt: skip


class Table:
    """A table as it must be. `since` is taken from the first view of each step, then kept to."""

    def __init__(self, host: AnyHost, size: int, title: str, **room: Any) -> None:
        self.host, self.code = host, ""
        self.members: list[Member] = []
        self.referee: Referee | None = None
        self.since: int | None = None
        self.before = 0
        self.stood_still = False
        """Whether the clock has been paused in this step."""
        self.room: Fields = {
            "title": title,
            "game": "qe",
            "stage": "lobby",
            "standing": False,
            "locked": False,
            "size": size,
            "host": 0,
            "seats": [open_seat(seat) for seat in range(size)],
            "options": OPTIONS,
            "rules": RULES,
            "paused": False,
            "results": [],
            **room,
        }

    # --- Coming and going ------------------------------------------------------------------------

    async def connect(self) -> Connection:
        return await Connection.open(
            self.host.port, tls=self.host.tls, fingerprint=self.host.fingerprint
        )

    @classmethod
    async def create(
        cls, host: AnyHost, size: int, *, rules: Fields | None = None, **more: Any
    ) -> Table:
        """A new table of which Ana is the host."""
        table = cls(host, size, "A table", rules={**RULES, **(rules or {})})
        link = await table.connect()
        options = more.get("options")
        if options:
            table.room["options"] = {**OPTIONS, **options}
        table.room["locked"] = "password" in more
        if rules:
            more["rules"] = rules
        made = await link.ask("create", game="qe", seats=size, title="A table", name="Ana", **more)
        table.code = made["table"]
        assert len(table.code) == 4
        assert table.code.isalpha()
        table._sit(Member("Ana", link, made["token"], made["seat"]))
        assert made["seat"] == 0
        await table.settle()
        return table

    async def join(self, name: str, **more: Any) -> Member:
        link = await self.connect()
        made = await link.ask("join", table=self.code, name=name, **more)
        member = Member(name, link, made["token"], made["seat"])
        self._sit(member)
        await self.settle()
        return member

    async def watch(self, name: str | None = None) -> Member:
        link = await self.connect()
        given = {} if name is None else {"name": name}
        assert await link.ask("watch", table=self.code, **given) == {}
        member = Member(name or "spectator", link)
        self.members.append(member)
        await self.settle()
        return member

    async def resume(self, member: Member, *, settle: bool = True) -> None:
        """The seat on a new connection; an old one that still stands is told so."""
        old, link = member.link, await self.connect()
        made = await link.ask("resume", table=self.code, token=member.token)
        assert made["seat"] == member.seat
        assert made["token"] != member.token
        member.link, member.token, member.last = link, made["token"], None
        if not old.ended:
            await old.goodbye("replaced")
        await old.close()
        self._seat_of(member)["connected"] = True
        if settle:
            await self.settle()

    async def lose(self, member: Member) -> None:
        """The member's connection ends without a word."""
        await member.link.close()
        if member.seat is None:
            self.members.remove(member)
        else:
            self._seat_of(member)["connected"] = False
        await self.settle()

    def _sit(self, member: Member) -> None:
        assert len(member.token) >= 22, "a token of less than 128 bits"
        assert member.seat is not None
        self.members.append(member)
        self.room["seats"][member.seat] = {
            **open_seat(member.seat), "name": member.name, "kind": "human", "connected": True
        }  # fmt: skip

    def _seat_of(self, member: Member) -> Fields:
        assert member.seat is not None
        seat: Fields = self.room["seats"][member.seat]
        return seat

    def at(self, seat: int) -> Member:
        return next(member for member in self.members if member.seat == seat)

    @property
    def spectators(self) -> list[Member]:
        return [member for member in self.members if member.seat is None]

    @property
    def here(self) -> list[Member]:
        return [member for member in self.members if not member.link.ended]

    async def close(self) -> None:
        for member in self.members:
            await member.link.close()

    # --- The game --------------------------------------------------------------------------------

    async def start(self) -> Referee:
        """Ana starts; the open seats go and the rest are numbered from 0."""
        assert self.room["host"] is not None
        await self.at(self.room["host"]).link.ask("start")
        return await self.begun()

    async def move_seats(self, seat: int, to: int) -> None:
        """The host has two change places, open seats included."""
        assert await self.at(self.room["host"]).link.ask("move", seat=seat, to=to) == {}
        new = {seat: to, to: seat}
        seats = self.room["seats"]
        seats[seat], seats[to] = {**seats[to], "seat": seat}, {**seats[seat], "seat": to}
        for member in self.members:
            member.seat = new.get(member.seat, member.seat) if member.seat is not None else None
        self.room["host"] = new.get(self.room["host"], self.room["host"])
        await self.settle()

    async def rematch(self) -> None:
        """Back to the lobby, all created seats there again."""
        assert await self.at(self.room["host"]).link.ask("rematch") == {}
        room = self.room
        room["stage"], self.since = "lobby", None
        room["seats"] += [open_seat(seat) for seat in range(len(room["seats"]), room["size"])]
        await self.settle()

    async def begun(self) -> Referee:
        """A game has begun here; everybody is shown its first view."""
        room = self.room
        taken = [seat for seat in room["seats"] if seat["kind"] != "open"]
        numbers = {seat["seat"]: number for number, seat in enumerate(taken)}
        for member in self.members:
            if member.seat is not None:
                member.seat = numbers[member.seat]
        room["host"] = numbers.get(room["host"])
        room["seats"] = [{**seat, "seat": number} for number, seat in enumerate(taken)]
        room["stage"], self.since = "playing", None
        self.host.games += 1
        seed = None if self.host.seed is None else f"{self.host.seed}/{self.host.games}"
        before = 0 if self.referee is None else self.referee.step
        self.referee = Referee(
            len(taken), host=room["host"], notes=room["rules"]["notes"],
            first=room["rules"]["first"], seed=seed,
        )  # fmt: skip
        await self.settle()
        assert self.referee.step == before + 1
        return self.referee

    async def bid(self, seat: int, amount: int) -> None:
        """A legal bid, and everything that must follow from it."""
        await self._act(seat, {"kind": "bid", "amount": str(amount)})
        self.move(seat, amount)
        await self.settle()

    async def peek(self, seat: int) -> None:
        await self._act(seat, {"kind": "peek"})
        assert self.referee is not None
        self.referee.peek(seat)
        await self.settle()

    async def _act(self, seat: int, action: Fields) -> None:
        assert self.referee is not None
        answer = await self.at(seat).link.ask("act", step=self.referee.step, action=action)
        assert answer == {}

    def move(self, seat: int, amount: int) -> None:
        """Moves the model on: the step's beginning, the game's end."""
        assert self.referee is not None
        before = self.referee.step
        self.referee.bid(seat, amount)
        if self.referee.step != before:
            self.since, self.stood_still = None, False
        if self.referee.over and self.room["stage"] == "playing":
            self.room["stage"] = "over"
            lines = self.referee._result()
            self.room["results"] = [
                *self.room["results"],
                {
                    "names": [seat["name"] for seat in self.room["seats"]],
                    "totals": [line["total"] for line in lines["seats"]],
                    "winners": lines["winners"],
                },
            ]

    async def bid_at_once(self, bids: Sequence[tuple[int, int]]) -> None:
        """Bids of several seats, sent before any is answered, in whatever order they are taken."""
        assert self.referee is not None
        step, before = self.referee.step, (copy.deepcopy(self.referee), copy.deepcopy(self.room))
        answers = [
            self.at(seat).link.send("act", step=step, action={"kind": "bid", "amount": str(amount)})
            for seat, amount in bids
        ]
        assert await asyncio.gather(*answers) == [{}] * len(bids)
        for seat, amount in bids:
            self.move(seat, amount)
        between = []
        for size in range(1, len(bids)):
            for some in combinations(bids, size):
                referee = copy.deepcopy(before[0])
                for seat, amount in some:
                    referee.bid(seat, amount)
                between.append((referee, before[1]))
        await self.settle(between)

    # --- What is shown ---------------------------------------------------------------------------

    async def settle(self, between: Iterable[tuple[Referee, Fields]] = ()) -> None:
        """Takes from everybody the views that must have come, and compares them.

        `between` are states that may have been shown on the way.
        """
        games: set[bytes] = set()
        for member in self.here:
            if self.wanted(member) == member.last and not between:
                continue
            while True:
                frame = await member.link.view()
                shown = self._timeless(frame.fields)
                if any(shown == self.wanted(member, *state) for state in between):
                    continue
                self._learn(frame)
                wanted = self.wanted(member)
                lines = differences(wanted, shown, member.name)
                assert not lines, "\n".join(lines)
                member.last = wanted
                member.sizes.append(len(frame.payload))
                games.add(entries(frame.payload)["game"])
                self._check_time(frame.fields["room"])
                break
        assert len(games) <= 1, "the public part differs from one to another"

    async def silent(self) -> None:
        """Makes sure that nobody was sent anything but what was looked at."""
        for member in self.here:
            await member.link.silent()

    def wanted(
        self, member: Member, referee: Referee | None = None, room: Fields | None = None
    ) -> Fields:
        """The member's view, without the times."""
        referee, room = referee or self.referee, room or self.room
        playing = room["stage"] != "lobby" and referee is not None and bool(referee.phase)
        seat = member.seat
        return {
            "type": "view",
            "table": self.code,
            "room": {
                **copy.deepcopy(room),
                "me": seat,
                "spectators": sum(not m.link.ended for m in self.spectators),
            },
            "game": referee.game() if playing and referee is not None else None,
            "you": referee.you(seat)
            if playing and referee is not None and seat is not None
            else None,
        }

    def _learn(self, frame: Frame) -> None:
        game, you = frame.fields["game"], frame.fields["you"]
        if self.referee is not None and game is not None and self.room["stage"] != "lobby":
            self.referee.learn(game, you)

    @staticmethod
    def _timeless(view: Fields) -> Fields:
        room = {k: v for k, v in view["room"].items() if k not in ("since", "deadline")}
        assert len(room) == len(view["room"]) - 2, "a room without its times"
        room["seats"] = [{"keeps": False, **seat} for seat in room["seats"]]
        return {**view, "room": room}

    def _check_time(self, room: Fields) -> None:
        since, deadline = room["since"], room["deadline"]
        assert type(since) is int
        if self.since is None:
            assert since >= self.before, "a step began before the one before it"
            self.since = self.before = since
        assert since == self.since, "the step began at another time than before"
        clock = self.room["options"]["turn_seconds"] * 1000
        if self.room["stage"] == "playing" and clock and not self.room["paused"]:
            assert type(deadline) is int
            assert deadline > since + clock if self.stood_still else deadline == since + clock
        elif not self.room["standing"]:
            assert deadline is None


def differences(wanted: Any, shown: Any, where: str) -> list[str]:
    """Where two values differ, a line for each place."""
    if type(wanted) is not type(shown):
        return [f"{where}: wanted {wanted!r}, shown {shown!r}"]
    if isinstance(wanted, dict):
        keys = wanted.keys() | shown.keys()
        lines = []
        for key in sorted(keys):
            if key not in wanted or key not in shown:
                lines.append(f"{where}.{key}: {'missing' if key in wanted else 'unknown'}")
            else:
                lines += differences(wanted[key], shown[key], f"{where}.{key}")
        return lines
    if isinstance(wanted, list) and len(wanted) == len(shown):
        return [
            line
            for place, pair in enumerate(zip(wanted, shown, strict=True))
            for line in differences(*pair, f"{where}[{place}]")
        ]
    return [] if wanted == shown else [f"{where}: wanted {wanted!r}, shown {shown!r}"]
