"""Exported games into a journal: read, checked by playing them again, and made into events.

Pure. Whatever is wrong with a file is an ImportRefused with a sentence; no sentence repeats an
amount.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

from protocol import text
from protocol.errors import MessageError, TextError
from protocol.messages import Options
from server import events as ev
from server import requests
from server.archive import FORMAT, FORMAT_VERSION, Record, items
from server.games.game import Game, Malformed, UnknownVersion
from server.games.registry import GAMES
from server.store import Journal

NOBODY = bytes(32)
"""In place of the hash of a token: there is no token that has it."""

SEED_LENGTH = 1000
"""Characters of a seed at most."""

_CODE = re.compile(r"[A-Z]{4}")


class ImportRefused(Exception):
    """A file, or a game in it, cannot be imported. The message is a sentence."""


class _Header(Struct, frozen=True):
    format: str
    version: int


# --- Reading ----------------------------------------------------------------------------------


def parse(data: bytes) -> list[Record]:
    """The games of a file: a JSON object a line, or one over several. Raises ImportRefused."""
    try:
        return [_record(data)]
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError):
            raise _misshapen(error) from None
    except (UnicodeError, RecursionError):
        raise ImportRefused("It is no JSON.") from None
    records = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(_record(line))
        except msgspec.ValidationError as error:
            raise _misshapen(error, f"Line {number}: ") from None
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise ImportRefused(f"Line {number} is no JSON.") from None
        except ImportRefused as refused:
            raise ImportRefused(f"Line {number}: {refused}") from None
    if not records:
        raise ImportRefused("There is no game in it.")
    return records


def _record(data: bytes) -> Record:
    try:
        header = msgspec.json.decode(data, type=_Header)
    except msgspec.ValidationError:
        raise ImportRefused("It is no exported game.") from None
    if header.format != FORMAT:
        raise ImportRefused("It is no exported game.")
    if header.version != FORMAT_VERSION:
        raise ImportRefused(
            f"Its format has a version that is not known here, where {FORMAT_VERSION} is; "
            "a newer version of this program may know it."
        )
    return msgspec.json.decode(data, type=Record)


def _misshapen(error: msgspec.ValidationError, before: str = "") -> ImportRefused:
    """The error names a field, never what is in it but for one of a few words."""
    return ImportRefused(f"{before}{text.printable(str(error))[:200]}.")


# --- Checking ---------------------------------------------------------------------------------


def checked(record: Record) -> Journal:
    """The journal of a closed table on which this game was played, and nothing else.

    Every action is made again, and the result must be the same. Raises ImportRefused.
    """
    game = GAMES.get(record.game)
    if game is None:
        raise ImportRefused("Its game is not known here.")
    _check_words(record)
    fewest, most = game.seats
    if not fewest <= len(record.seats) <= most:
        raise ImportRefused(f"It has {len(record.seats)} seats; this game has {fewest} to {most}.")
    host = record.host
    if host is not None and not (host < len(record.seats) and record.seats[host].kind != "bot"):
        raise ImportRefused("Its host is no seat that a player has.")
    _check_seats(record, game)
    _check_times(record)
    if record.result is None:
        raise ImportRefused("It is not over; only games that are over can be imported.")
    try:
        rules = requests.read_rules(game, record.rules)
        options = requests.read_options(record.options)
    except MessageError as error:
        raise ImportRefused(str(error)) from None
    actions = _play(game, record, rules)
    journal = list(_events(record, rules, options, actions))
    (item,) = items(journal, True, GAMES)
    again = item.record(chat=record.chat is not None)
    if again is None or again.result != record.result:
        raise ImportRefused("Its result is not the one that its actions lead to.")
    if record.commitment != again.commitment:
        raise ImportRefused("Its commitment is not that of its seed.")
    return journal


def _check_words(record: Record) -> None:
    """Refuses text that no host would have taken."""
    if not _CODE.fullmatch(record.table):
        raise ImportRefused("Its table has no code of four letters.")
    if not 1 <= len(record.seed) <= SEED_LENGTH or not record.seed.isprintable():
        raise ImportRefused("Its seed is no line of text.")
    try:
        text.title(record.title)
        for seat in record.seats:
            text.name(seat.name)
        for said in record.chat or ():
            text.chat(said.text)
            if said.name:
                text.name(said.name)
    except TextError as error:
        raise ImportRefused(f"It has text that is not allowed: {error}") from None


def _check_seats(record: Record, game: Game) -> None:
    """Refuses players whom no table would have had."""
    names = [requests.HOST_NAME]
    for seat in record.seats:
        if any(text.skeleton(seat.name) == text.skeleton(name) for name in names):
            raise ImportRefused("Its players do not have names of their own.")
        names.append(seat.name)
        if (seat.kind == "bot") != (seat.level is not None):
            raise ImportRefused("A computer player has a level, and a human has none.")
        if seat.level is not None and seat.level not in game.levels:
            raise ImportRefused("It has a computer player of a level that is not known here.")
    if any(s.seat is not None and s.seat >= len(record.seats) for s in record.chat or ()):
        raise ImportRefused("Its chat has a seat that the table has not.")


def _check_times(record: Record) -> None:
    for parts in (record.actions, record.chat or ()):
        times = [record.started, *(part.at for part in parts)]
        if any(then > now for then, now in pairwise(times)):
            raise ImportRefused("Its times go backwards.")


def _play(game: Game, record: Record, rules: dict[str, Any]) -> list[dict[str, Any]]:
    """The actions as the game writes them. Refuses one that was not allowed, and no end."""
    try:
        state = game.new(
            len(record.seats),
            record.host,
            game.rules(rules),
            record.seed,
            1,
            record.rules_version,
        )
    except UnknownVersion:
        raise ImportRefused(
            f"It follows version {record.rules_version} of the rules, which is not known here."
        ) from None
    actions = []
    for number, move in enumerate(record.actions, 1):
        try:
            action = game.action(move.action)
        except Malformed as malformed:
            raise ImportRefused(f"Action {number} is none. {malformed}") from None
        reason = game.why_not(state, move.seat, action)
        if reason is not None:
            raise ImportRefused(f"Action {number} is not allowed. {reason.message}")
        state = game.act(state, move.seat, action)
        actions.append(msgspec.to_builtins(action))
    if game.winners(state) is None:
        raise ImportRefused("It has a result, but its actions do not lead to the end.")
    return actions


def _events(
    record: Record, rules: dict[str, Any], options: Options, actions: list[dict[str, Any]]
) -> Iterator[tuple[int, ev.AnyEvent]]:
    start = record.started
    yield (
        start,
        ev.Opened(
            code=record.table,
            game=record.game,
            size=len(record.seats),
            title=record.title,
            options=options,
            rules=rules,
            standing=record.host is None,
        ),
    )
    for number, seat in enumerate(record.seats):
        if seat.level is not None:
            yield start, ev.BotAdded(seat=number, name=seat.name, level=seat.level)
        else:
            yield start, ev.Joined(seat=number, name=seat.name, token=NOBODY)
    if record.host is not None:
        yield start, ev.HostPassed(seat=record.host)
    yield start, ev.Started(seed=record.seed, version=record.rules_version)
    for number, seat in enumerate(record.seats):
        if seat.kind == "stand_in":
            yield start, ev.StoodIn(seat=number)
    spoken: Journal = [
        (said.at, ev.Spoken(seat=said.seat, name=said.name, text=said.text, to=said.to))
        for said in record.chat or ()
    ]
    acted: Journal = [
        (move.at, ev.Acted(seat=move.seat, action=action))
        for move, action in zip(record.actions, actions, strict=True)
    ]
    end = start
    for end, event in merge(spoken, acted, key=lambda one: one[0]):
        yield end, event
    yield end, ev.Closed()
