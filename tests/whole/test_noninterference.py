"""What one seat bids in secret changes nothing for those who may not know it: not a byte of what
they are sent, not how much, not when.

Each test plays a written-down game on a real host over real sockets, and then the same game with
a secret changed. The host's clock is the test's, and its deals are foreseen.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgpack
import pytest
from audience import Table
from freezing import Clock, Relay, connected, frozen_host
from hosting import HostProcess
from referee import Referee
from scripts import Script, new_referee, secrets_changed, with_amounts, write
from wire import Connection

NAMES = ("Ana", "Bo", "Cy", "Dee", "Eve")
SEED = "noninterference"
SPECTATOR = -1


@dataclass
class Record:
    """What came by who got it: frames as bytes, and after each move the bytes on each wire."""

    frames: dict[int, list[bytes]] = field(default_factory=dict)
    wire: list[dict[int, tuple[int, int]]] = field(default_factory=list)
    moves: dict[int, list[int]] = field(default_factory=dict)
    """For each who gets frames, how many they had after each move."""


async def perform(
    data: Path,
    players: int,
    script: Script,
    *,
    tls: bool,
    notes: bool = True,
    changed_minds: dict[int, int] | None = None,
) -> Record:
    """Plays the script, up to but without its last move, after which everything is turned up.

    `changed_minds`: at some places of the script, what the seat bids first.
    """
    clock, record = Clock(), Record()
    async with frozen_host(data, clock, tls=tls, seed=SEED) as host:
        relays = {seat: Relay() for seat in (*range(players), SPECTATOR)}
        links = {seat: await connected(host, relay) for seat, relay in relays.items()}
        try:
            code = await _sit_down(links, players, notes=notes)
            record.moves = {seat: [] for seat in links}
            for place, move in enumerate(script[:-1]):
                clock.now += 1000
                if changed_minds and place in changed_minds:
                    first = {"kind": "bid", "amount": str(changed_minds[place])}
                    clock.now += 300
                    await links[move.seat].ask("act", step=move.step, action=first)
                    clock.now -= 300
                await links[move.seat].ask("act", step=move.step, action=move.action)
                for link in links.values():
                    await link.ask("ping")
                record.wire.append({seat: (r.up, r.down) for seat, r in relays.items()})
                for seat, link in links.items():
                    record.moves[seat].append(len(link.frames))
            assert code
            record.frames = {
                seat: [_without_chance(frame) for frame in link.frames]
                for seat, link in links.items()
            }
        finally:
            for link in links.values():
                await link.close()
            for relay in relays.values():
                await relay.stop()
    return record


async def _sit_down(links: dict[int, Connection], players: int, *, notes: bool) -> str:
    made = await links[0].ask(
        "create", game="qe", seats=players, title="Same", name="Ana", rules={"notes": notes}
    )
    for seat in range(1, players):
        await links[seat].ask("join", table=made["table"], name=NAMES[seat])
    await links[SPECTATOR].ask("watch", table=made["table"])
    await links[0].ask("start")
    for link in links.values():
        await link.ask("ping")
    code: str = made["table"]
    return code


def _without_chance(payload: bytes) -> bytes:
    """A frame, without what chance alone decides: tokens, and the host's id."""
    fields = msgpack.unpackb(payload)
    result = fields.get("result", {})
    if "token" in result:
        result["token"] = "0" * len(result["token"])
    elif "host" in result:
        result["host"]["id"] = "0" * len(result["host"]["id"])
    else:
        return payload
    packed: bytes = msgpack.packb(fields)
    return packed


def bids_of(top: int) -> Any:
    """A chooser of amounts below `top`."""
    rng = Random(top)
    return lambda referee, seat: rng.randrange(top)


@pytest.mark.parametrize(
    ("players", "tls", "notes"),
    [
        pytest.param(3, False, True, marks=pytest.mark.long),
        pytest.param(4, True, True, marks=pytest.mark.long),
        (4, False, False),
        pytest.param(5, False, True, marks=pytest.mark.long),
        (5, True, False),
    ],
)
async def test_a_secret_is_told_to_nobody_who_may_not_know_it(
    tmp_path: Path, players: int, tls: bool, notes: bool
) -> None:
    rng = Random(players + 10 * notes)
    script = write(players, f"{SEED}/1", bids_of(9), rng)
    plain = await perform(tmp_path / "first", players, script, tls=tls, notes=notes)
    places = [n for n, move in enumerate(script[:-1]) if move.amount and move.stage is not None]
    rng.shuffle(places)
    told = 0
    for place in places:
        found = secrets_changed(players, f"{SEED}/1", script, place, rng)
        if found is None:
            continue
        changed, know = found
        other = await perform(tmp_path / f"{place}", players, changed, tls=tls, notes=notes)
        for who in {*range(players), SPECTATOR} - know:
            assert other.frames[who] == plain.frames[who], f"{who} was told of {script[place]}"
        told += any(other.frames[who] != plain.frames[who] for who in know)
        if told == 3:
            break
    assert told == 3, "no secret made a difference to anybody: nothing was tried"


@pytest.mark.parametrize("tls", [False, True])
async def test_a_changed_mind_is_told_to_nobody(tmp_path: Path, tls: bool) -> None:
    """Not a frame, not a byte on the wire, not a time; whatever the first bid was."""
    rng = Random(3)
    script = write(4, f"{SEED}/1", bids_of(9), rng)
    before = [
        n for n in range(1, len(script) - 1)
        if script[n].stage is not None and script[n + 1].step == script[n].step
    ]  # fmt: skip
    plain = await perform(tmp_path / "plain", 4, script, tls=tls)
    some = [n for n in rng.sample(before, len(before)) if script[n].seat < 3][:6]
    for first in (0, 10**899):
        changed = {place: first for place in some if script[place].amount != first}
        other = await perform(tmp_path / f"{first % 7}", 4, script, tls=tls, changed_minds=changed)
        assert len(changed) > 3
        others = {*range(4), SPECTATOR} - {script[place].seat for place in changed}
        for place in range(1, len(script) - 1):
            for who in {*range(4), SPECTATOR} - {script[place].seat}:
                assert _views(other, who, place) == _views(plain, who, place)
            for who in others:
                assert _wire(other, who, place) == _wire(plain, who, place)
        assert others
        for who in others:
            assert other.frames[who] == plain.frames[who]


def _views(record: Record, who: int, place: int) -> list[bytes]:
    """The views that a move brought somebody."""
    start, end = record.moves[who][place - 1 : place + 1]
    return [frame for frame in record.frames[who][start:end] if b"\xa4type\xa4view" in frame]


def _wire(record: Record, who: int, place: int) -> tuple[int, int]:
    """The bytes that a move brought to somebody's wire, up and down."""
    (up, down), before = record.wire[place][who], record.wire[place - 1][who]
    return up - before[0], down - before[1]


def _small(referee: Referee, seat: int) -> int:
    """Openings of 5; then the next seat after the auctioneer wins with 9, others bid less."""
    auction = referee.auction
    if referee.phase == "opening":
        return 5
    if auction.auctioneer is None or (seat - auction.auctioneer) % referee.players != 1:
        return 1 + seat % 4
    return 9


@pytest.mark.parametrize(
    ("players", "notes"), [(4, True), pytest.param(5, True, marks=pytest.mark.long), (3, False)]
)
async def test_the_wire_shows_no_length(tmp_path: Path, players: int, notes: bool) -> None:
    """Under TLS a bid of 900 digits and one of one digit are as long, for all, both ways."""
    script = write(players, f"{SEED}/1", _small, Random(1))
    long = {
        place: 10**899 + place
        for place, move in enumerate(script)
        if move.amount == 9 and move.stage is not None
    }
    assert len(long) >= 15
    large = with_amounts(script, long)
    one = await perform(tmp_path / "one", players, script, tls=True, notes=notes)
    other = await perform(tmp_path / "other", players, large, tls=True, notes=notes)
    assert one.wire[0] != one.wire[1], "nothing was counted"
    for who in (*range(players), SPECTATOR):
        lengths = [[len(frame) for frame in record.frames[who]] for record in (one, other)]
        assert lengths[0] == lengths[1], f"frames to {who} differ in length"
    for place in range(1, len(one.wire)):
        for who in one.wire[0]:
            grown = [_wire(record, who, place) for record in (one, other)]
            assert grown[0] == grown[1], f"the wire of {who} differs at {script[place]}"


# --- Canaries -----------------------------------------------------------------------------------


def canary(place: int) -> int:
    """An amount that nothing else looks like."""
    return int(f"7{place:04}" + "31415926535897932384")


@pytest.mark.parametrize(
    ("players", "tls"), [(3, True), pytest.param(4, False, marks=pytest.mark.long), (5, False)]
)
async def test_canary_amounts_are_found_only_where_they_may_be(
    run_host: Any, players: int, tls: bool
) -> None:
    host: HostProcess = run_host(tls=tls, seed=SEED, more=("--name", "Canary"))
    table = await Table.create(host, players, password="a pass word", rules={"notes": False})
    try:
        for name in NAMES[1:players]:
            await table.join(name, password="a pass word")
        watcher = await table.connect()
        await watcher.refused("wrong_password", "watch", table=table.code, password="wrong word")
        referee = await table.start()
        may_know: dict[str, set[int]] = {}
        place = 0
        while not referee.over:
            for seat in range(players):
                number = referee.may_peek(seat)
                if number is not None and place % 7 == 0:
                    await table.peek(seat)
                    may_know[str(referee.auctions[number - 1].price)].add(seat)
            seat, auctioneer = referee.waiting[0], referee.auction.auctioneer
            secret = referee.phase != "opening"
            place += 1
            amount = canary(place) if secret else 3
            if secret:
                may_know[str(amount)] = {seat} | ({auctioneer} if auctioneer is not None else set())
                if len(referee.waiting) > 1:  # a mind that will be changed, and refusals
                    may_know[str(amount + 1)] = {seat}
                    await table.bid(seat, amount + 1)
                    await _refuse_canaries(table, referee, seat, amount)
            await table.bid(seat, amount)
        words = {str(amount).encode(): know for amount, know in may_know.items()}
        for member in [*table.members]:
            _search(member.link, member.seat, words, referee)
        _search(watcher, None, words, referee)
        log = host.log()
        tokens = [member.token for member in table.members]
        secrets = [*may_know, *tokens, "pass word", "wrong word", SEED]
        assert "joined table" in log, "the log was not verbose"
        assert not [secret for secret in secrets if secret in log]
    finally:
        await table.close()


async def _refuse_canaries(table: Table, referee: Referee, seat: int, amount: int) -> None:
    for code, step, given in (
        ("bad_message", referee.step, f"{amount}."),
        ("bad_message", referee.step, amount % 2**63),
        ("stale", referee.step + 1, str(amount)),
        ("stale", referee.step - 1, str(amount)),
    ):
        action = {"kind": "bid", "amount": given}
        error = await table.at(seat).link.refused(code, "act", step=step, action=action)
        assert str(amount)[4:-1] not in str(error)
        assert str(amount)[4:-1] not in error.reason


def _search(
    link: Connection, seat: int | None, words: dict[bytes, set[int]], referee: Referee
) -> None:
    """Looks through all frames from before the end."""
    token = [] if seat is None else [referee.you(seat)["industry"]]
    before = [f for f in link.frames if b"\xa5phase\xa4over" not in f]
    assert len(link.frames) - len(before) in (0, 1)
    whole = b"".join(before)
    for word, know in words.items():
        if seat not in know:
            assert word not in whole, f"{seat} was sent a secret"
    assert f"{SEED}/1".encode() not in whole
    for frame in before:
        fields = msgpack.unpackb(frame)
        if fields["type"] == "view" and fields["game"] is not None:
            hidden = str({k: v for k, v in fields["game"].items() if k not in ("seats", "history")})
            assert all(name == fields["you"]["industry"] for name in token)
            assert "seed" not in hidden


async def test_no_repr_tells(tmp_path: Path) -> None:
    """Whatever the host has in memory in mid-game: its words for itself quote no secret."""
    async with frozen_host(tmp_path / "data", Clock(), tls=False, seed="the seed") as host:
        links = {seat: await connected(host) for seat in (0, 1, 2)}
        tokens = []
        made = await links[0].ask(
            "create", game="qe", seats=3, title="T", name="Ana", password="pass word"
        )
        tokens.append(made["token"])
        for seat in (1, 2):
            made2 = await links[seat].ask(
                "join", table=made["table"], name=NAMES[seat], password="pass word"
            )
            tokens.append(made2["token"])
        await links[0].ask("start")
        referee = new_referee(3, "the seed/1")
        secrets = [*tokens, "pass word", "the seed"]
        for place in range(4, 12):
            seat = referee.waiting[0]
            secrets.append(str(canary(place)))
            action = {"kind": "bid", "amount": secrets[-1]}
            await links[seat].ask("act", step=referee.step, action=action)
            referee.bid(seat, canary(place))
            _check_reprs(secrets)
        for link in links.values():
            await link.close()


def _check_reprs(secrets: list[str]) -> None:
    looked_at = set()
    for thing in gc.get_objects():
        kind = type(thing)
        if str(kind.__module__).split(".")[0] in ("server", "protocol"):
            looked_at.add(kind.__name__)
            shown = repr(thing) + str(thing)
            assert not [s for s in secrets if s in shown], f"the repr of {kind.__name__} tells"
    assert {"Host", "Table", "Room", "Session"} <= looked_at, sorted(looked_at)
