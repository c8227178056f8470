"""What players tried, what a journal has of it, and the games that follow from a journal."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audience import differences
from referee import Referee

Fields = dict[str, Any]
Journal = dict[str, list[tuple[int, Fields]]]
"""By the title of a table, which these tests give once only, its events and their times."""


@dataclass
class Attempt:
    """An action that was sent. `amount` is None for a peek; `outcome` is None while unanswered.

    `life` counts the lives of the host that ended before it was sent.
    """

    step: int
    amount: int | None
    epoch: int
    life: int
    outcome: str | None = None

    @property
    def done(self) -> bool:
        return self.outcome == "ok"

    @property
    def refused(self) -> bool:
        return self.outcome not in (None, "ok")


@dataclass
class Ledger:
    """Everything tried at all tables of a host. A seat sends no amount twice."""

    attempts: dict[tuple[str, int], list[Attempt]] = field(
        default_factory=lambda: defaultdict(list)
    )
    ends: dict[str, dict[int, Fields]] = field(default_factory=lambda: defaultdict(dict))
    """By table and seat, the view with which a game ended."""
    tokens: set[bytes] = field(default_factory=set)
    """Hashes of all tokens that a client was handed."""
    life: int = 0

    def at(self, table: str, seat: int, step: int) -> list[Attempt]:
        """The bids that may stand at this step: from the last one that was answered on."""
        tried = [
            a for a in self.attempts[table, seat]
            if a.step == step and a.amount is not None and not a.refused
        ]  # fmt: skip
        answered = [n for n, a in enumerate(tried) if a.done]
        return tried[answered[-1] :] if answered else tried

    def unanswered(self) -> set[int | None]:
        """What has been sent in this life of the host, and is not answered."""
        tried = (attempt for some in self.attempts.values() for attempt in some[-2:])
        return {a.amount for a in tried if a.outcome is None and a.life == self.life}

    @property
    def bids(self) -> int:
        return sum(a.done for some in self.attempts.values() for a in some)


def read_journal(folder: Path) -> Journal:
    """The journal of a data folder that no host uses now; from a copy, so that nothing changes."""
    with tempfile.TemporaryDirectory() as copies:
        for path in folder.glob("journal.sqlite3*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, copies)
        with closing(sqlite3.connect(Path(copies) / "journal.sqlite3")) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return _read(db)


def written_since(folder: Path, at: int) -> set[int | None]:
    """The amounts of all actions that a running host has written from a time on, None for a peek;
    the time is in Unix milliseconds."""
    path = folder / "journal.sqlite3"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT CAST(event AS TEXT) FROM events WHERE at >= ?", (at,)).fetchall()
    events = [json.loads(event) for (event,) in rows]
    return {_amount(event["action"]) for event in events if event["event"] == "acted"}


def _amount(action: Fields) -> int | None:
    return None if action["kind"] == "peek" else int(action["amount"])


def _read(db: sqlite3.Connection) -> Journal:
    rows = db.execute(
        'SELECT "table", number, at, CAST(event AS TEXT) FROM events ORDER BY 1, 2'
    ).fetchall()
    tables: dict[int, list[tuple[int, Fields]]] = defaultdict(list)
    for table, number, at, event in rows:
        assert number == len(tables[table]), "an event is missing, or is there twice"
        tables[table].append((at, json.loads(event)))
    journal = {events[0][1]["title"]: events for events in tables.values()}
    assert len(journal) == len(tables), "a table is there twice"
    return journal


def check_nothing_changed(before: Journal, after: Journal) -> None:
    """Nothing that was written once is gone or is another by now."""
    for table, events in before.items():
        assert after[table][: len(events)] == events, f"the journal of {table} has changed"


def check_actions(ledger: Ledger, journal: Journal) -> list[Attempt]:
    """Every answered action is in the journal once, every refused one is not, every other is there
    once or not at all, and nothing is there that nobody sent. Gives those that are there though
    nobody was answered."""
    unanswered = []
    for (table, seat), attempts in ledger.attempts.items():
        events = [event for _, event in journal.get(table, [])]
        kept = [e["action"] for e in events if e["event"] == "acted" and e["seat"] == seat]
        amounts = [_amount(action) for action in kept]
        assert len(set(amounts)) == len(amounts), f"an action of {seat} at {table} is there twice"
        tried = {attempt.amount: attempt for attempt in attempts if not attempt.refused}
        assert set(amounts) <= set(tried), f"{seat} at {table} never sent what is kept"
        order = [list(tried).index(amount) for amount in amounts]
        assert order == sorted(order), f"the actions of {seat} at {table} are out of order"
        for amount, attempt in tried.items():
            assert not attempt.done or amount in amounts, f"an answered action of {seat} is lost"
            if not attempt.done and amount in amounts:
                unanswered.append(attempt)
    return unanswered


def lost_resumes(ledger: Ledger, journal: Journal) -> int:
    """How many resumes are in the journal whose new token reached nobody."""
    resumed = [e for events in journal.values() for _, e in events if e["event"] == "resumed"]
    return sum(base64.b64decode(event["token"]) not in ledger.tokens for event in resumed)


def check_ends(ledger: Ledger, journal: Journal) -> int:
    """Every game that players saw the end of ended as its journal says. Gives their number."""
    for table, views in ledger.ends.items():
        (game,) = games_of(journal[table])
        referee = refereed(game)
        assert referee.over, f"the journal of {table} has no end"
        for seat, view in views.items():
            lines = differences(referee.game(), view["game"], f"{table} game")
            lines += differences(referee.you(seat), view["you"], f"{table} seat {seat}")
            assert not lines, "\n".join(lines)
    return len(ledger.ends)


def games_of(events: Sequence[tuple[int, Fields]]) -> list[list[Fields]]:
    """The games of a table, each from its start: what was done in it."""
    games: list[list[Fields]] = []
    for _, event in events:
        if event["event"] == "started":
            games.append([])
        if games and event["event"] in ("started", "acted"):
            games[-1].append(event)
    return games


def refereed(game: Sequence[Fields]) -> Referee:
    """The game that actions of a journal lead to. Every seat acts before it is over."""
    started, *acted = game
    players = 1 + max(event["seat"] for event in acted)
    referee = Referee(players, host=0, notes=True, first="random", seed=started["seed"])
    referee.begin(1)
    for event in acted:
        if event["action"]["kind"] == "peek":
            referee.peek(event["seat"])
        else:
            referee.bid(event["seat"], int(event["action"]["amount"]))
    return referee
