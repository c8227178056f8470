"""Writes the journal of a released version, and what its host answers.

    python -m tests.journals.make VERSION

Run once, with the program of that version, when it is released; the files are kept for good:

- `VERSION.sqlite3`, the journal as that version left it: closed, without a write-ahead log.
- `VERSION.json`, what every later version must answer from it: every view of every seat and of a
  spectator, the tokens, the list of games, what a few actions more lead to, and how a game ends.

The tables: a game amid its secret bids, with chat; a re-bid with a seat that a computer plays and
one that is released; five players, one of whom has peeked; a blind final; a game that is over; a
lobby with a password; a standing table. Deals, names, tokens and amounts are the same each time;
times, the host's id and the password's salt are not.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from protocol import messages as m
from server.archive import games_in
from server.host import Host, Settings
from server.journal import NAME, read_journal
from tests.server.conftest import Peer, Running

HERE = Path(__file__).parent
PASSWORD = "a hedgehog"
CHANGING = {"connected", "spectators", "me", "host", "since", "deadline"}
"""Of a room, what depends on who is there and on the time."""


async def start(folder: Path, **settings: Any) -> Running:
    """A host on that folder, on a free port of loopback."""
    host = Host(Settings(data=folder, name="journals", bind="127.0.0.1", port=0, tls=False,
                         seed="journals", bot_delay=0, **settings))  # fmt: skip
    await host.start()
    return Running(host)


def steady(room: Any) -> Any:
    """What stays of a room, or a part of one, whoever is there."""
    if isinstance(room, dict):
        return {name: steady(part) for name, part in room.items() if name not in CHANGING}
    return [steady(part) for part in room] if isinstance(room, list) else room


# --- What the journal holds -------------------------------------------------------------------


def numbered() -> Iterable[str]:
    return (f"{number:032x}" for number in count(1))


async def fill(running: Running) -> dict[str, Any]:
    """Plays at all tables; the codes by what they are, and the tokens by code and seat."""
    codes: dict[str, str] = {}
    people: list[Peer] = []
    (standing,) = await running.listed()

    ana, bo, cy = await running.game("Ana", "Bo", "Cy", title="Secret bids")
    for _ in range(2):
        await running.auction(ana, bo, cy, opening=31, bids=(404, 17))
    opener, second, third = sorted((ana, bo, cy), key=lambda p: p.me != p.view.game["auctioneer"])
    await opener.bid(2024)
    await second.until(lambda view: view.game["phase"] == "secret")
    await second.bid("7" * 40)
    await third.until(lambda view: len(view.game["waiting"]) == 1)
    await ana.ask(m.Say(text="I have no idea what you are doing."))
    looker = await running.watcher(ana.code, "Kim")
    await looker.ask(m.Say(text="嗯, neither have they"))
    codes["secret"] = ana.code
    people += [ana, bo, cy]

    dee, eli, flo, gus = await running.game(
        "Dee", "Eli", "Flo", "Gus", seats=4, title="Tied", options={"away_seconds": 0}
    )
    await dee.bid(10)
    for person, amount in ((eli, 50), (flo, 50), (gus, 5)):
        await person.until(lambda view: view.game["phase"] == "secret")
        await person.bid(amount)
    await eli.until(lambda view: view.game["phase"] == "rebid")
    for person, request in ((gus, m.StandIn(seat=3)), (flo, m.Release(seat=2))):
        seat = request.seat
        person.drop()
        await dee.until(lambda view, seat=seat: not view.room.seats[seat].connected)
        await asyncio.sleep(0.01)
        await dee.ask(request)
    await eli.until(lambda view: view.game["waiting"] == [1])
    codes["rebid"] = dee.code
    people += [dee, eli, flo, gus]

    five = await running.game(*"PQRST", seats=5, title="Five", rules={"first": "host"})
    await running.auction(*five, opening=10, bids=(0, 90, 0, 3))
    peeker = [person for person in five if (await person.turn()).you["may_peek"] is not None][1]
    step = peeker.view.game["step"]
    await peeker.ask(m.Act(step=step, action={"kind": "peek"}))
    await five[1].bid(60)
    codes["peek"] = five[0].code
    people += five

    final = await running.game("Uma", "Vic", "Wim", title="Blind", rules={"notes": False})
    while final[0].view.game["phase"] != "blind":
        await running.auction(*final, opening=5)
    await final[0].bid(12)
    codes["blind"] = final[0].code
    people += final

    over = await running.game("Xia", "Yan", "Zoë", title="Over", options={"turn_seconds": 3600})
    await running.play_out(*over)
    await over[0].ask(m.Say(text="Again?"))
    codes["over"] = over[0].code
    people += over

    lobby = await running.table("Hal", "Ida", seats=4, title="Locked", password=PASSWORD)
    await lobby[0].ask(m.AddBot())
    codes["lobby"] = lobby[0].code
    people += lobby

    guest = await running.peer()
    await guest.ask(m.Join(table=standing["table"], name="Jo"))
    codes["standing"] = guest.code
    people.append(guest)

    tokens: dict[str, list[str]] = {}
    for person in people:
        tokens.setdefault(person.code, []).append(person.token)
    return {"codes": codes, "tokens": tokens}


# --- What a host answers from it --------------------------------------------------------------


async def answers(running: Running, known: dict[str, Any]) -> dict[str, Any]:
    """What everybody sees who comes back, or comes to look on."""
    found: dict[str, Any] = {}
    for code, tokens in known["tokens"].items():
        looker = await running.peer()
        await looker.ask(m.Watch(table=code, password=PASSWORD))
        await looker.until(lambda view: True)
        raw = looker.raw[0]
        seats = []
        for token in tokens:
            person = await running.peer()
            seated = await person.ask(m.Resume(table=code, token=token))
            await person.until(lambda view: view.room.me is not None)
            own = person.raw[-1]
            seats.append(
                {"seat": seated["seat"], "token": token, "game": own["game"], "you": own["you"]}
            )
        await looker.turn()
        said = [[s.seat, s.name, s.text] for s in looker.said]
        room = steady(raw["room"])
        found[code] = {"room": room, "game": raw["game"], "seats": seats, "said": said}
    return found


async def go_on(running: Running, known: dict[str, Any]) -> dict[str, Any]:
    """What one action more leads to at the tables, and how the blind final ends."""
    found: dict[str, Any] = {}
    for name in ("secret", "rebid", "peek", "blind"):
        people, game = await seated(running, known, known["codes"][name])
        while True:
            actor = people[game["waiting"][0]]
            step = game["step"]
            await actor.bid(77)
            game = (await actor.turn()).game
            if name != "blind" or game["phase"] == "over":
                break
            assert game["step"] == step
        found[name] = {"game": game, "results": steady(actor.raw[-1]["room"]["results"])}
    return found


async def seated(
    running: Running, known: dict[str, Any], code: str
) -> tuple[dict[int, Peer], dict[str, Any]]:
    """All who have a seat at the table, back again, by seat; and the game that they see."""
    people: dict[int, Peer] = {}
    for token in known["tokens"][code]:
        person = await running.peer()
        result = await person.ask(m.Resume(table=code, token=token))
        await person.until(lambda view: view.game is not None)
        people[result["seat"]] = person
    game = (await person.turn()).game
    assert game is not None
    return people, game


def listed(folder: Path) -> list[dict[str, Any]]:
    return [item.summary() for item in read_journal(folder / NAME, games_in)]


# --- Writing it -------------------------------------------------------------------------------


async def make(version: str) -> None:
    random.seed(version)
    with (
        tempfile.TemporaryDirectory() as place,
        mock.patch("server.access.new_token", side_effect=numbered()),
    ):
        folder = Path(place) / "made"
        running = await start(folder, players=3)
        known = await fill(running)
        await running.stop()
        known["games"] = listed(folder)
        for copy, ask in (("answers", answers), ("go_on", go_on)):
            shutil.copytree(folder, Path(place) / copy)
            running = await start(Path(place) / copy)
            known[copy] = await ask(running, known)
            await running.stop()
        shutil.copyfile(folder / NAME, HERE / f"{version}.sqlite3")
    text = json.dumps(known, separators=(",", ":"), ensure_ascii=False)
    (HERE / f"{version}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    asyncio.run(make(sys.argv[1]))
