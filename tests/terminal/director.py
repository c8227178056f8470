"""Whole games in terminals: who types what when, and what nobody else may see meanwhile."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tmux import Screen, Steps, Terminal, Tmux

ENTER_AFTER = 0.42
"""Seconds after which Enter counts again, when the focus has moved."""

REACTION = 0.1
"""Seconds that pass before anybody types an answer to what has just come on the screen."""

OPEN, SECRET, TIE, BLIND = "YOU OPEN.", "YOUR SECRET BID.", "A TIE: BID AGAIN.", "EVERYONE BIDS"
OVER = "GAME OVER"
STAGES = {OPEN: None, SECRET: 0, TIE: 1, BLIND: 0}

Bid = tuple[str, int]
"""What is typed, and the amount that it means."""

Script = Callable[[int, str, int | None], Bid]
"""The bid of an auction, by name and stage; the stage of an opening bid is None."""


@dataclass(frozen=True)
class Secret:
    """A secret bid that was typed. `opener`: the auctioneer's name, None in the blind final."""

    auction: int
    stage: int
    name: str
    opener: str | None
    amount: int

    @property
    def canary(self) -> bool:
        """Whether the amount would be known again anywhere on a screen."""
        return self.amount >= 1_000_000

    @property
    def looks(self) -> tuple[str, str]:
        return str(self.amount), f"{self.amount:,}"


class Director:
    """Plays a game: every player does what the own screen says, as soon as it says it."""

    def __init__(
        self,
        tmux: Tmux,
        players: Mapping[str, Terminal],
        script: Script,
        *,
        audience: Sequence[Terminal] = (),
    ) -> None:
        self.tmux = tmux
        self.players = dict(players)
        self.audience = list(audience)
        self.secrets: list[Secret] = []
        self.bids: list[tuple[int, int | None, str, int]] = []
        """Auction, stage, name and amount of all bids, in the order in which they were typed."""
        self.seen: dict[str, list[Screen]] = {}
        """By terminal, every screen that differed from the one before."""
        self.peeks: set[tuple[str, int]] = set()
        """Who has peeked at which auction."""
        self.latency: list[float] = []
        """Seconds from Enter till the screen says that the bid is made."""
        self.seats: list[str] = []
        """The names, by seat."""
        self._sealed: set[tuple[int, str, str]] = set()
        self._half_painted: set[tuple[str | None, Secret]] = set()
        self._script = script
        self._names = {terminal.name: name for name, terminal in players.items()}
        for terminal in [*players.values(), *audience]:
            self.seen[terminal.name] = []
            terminal.on_look = self._looker(terminal)

    # --- What must not be seen --------------------------------------------------------------------

    def _looker(self, terminal: Terminal) -> Callable[[Screen], None]:
        def look(screen: Screen) -> None:
            seen = self.seen[terminal.name]
            if seen and seen[-1].text == screen.text:
                seen[-1].lasted = screen.asked - seen[-1].asked
            else:
                seen.append(screen)
            self._check_secrets(self._names.get(terminal.name), screen)

        return look

    def _check_secrets(self, viewer: str | None, screen: Screen) -> None:
        if OVER in screen.header or auction(screen) is None:
            return
        newest = {(secret.auction, secret.name): secret for secret in self.secrets}
        allowed = {
            secret.amount
            for secret in self.secrets
            if _may_see(viewer, screen, secret, newest[secret.auction, secret.name] is secret)
        }
        allowed |= {self.winner(number).amount for who, number in self.peeks if who == viewer}
        shown = {
            (viewer, secret)
            for secret in self.secrets
            if secret.canary and secret.amount not in allowed
            if any(look in screen.text for look in secret.looks)
        }
        # A capture may catch a screen half painted; one's own figures count the second time.
        own = {(who, secret) for who, secret in shown if secret.name == who}
        for who, secret in (shown - own) | (own & self._half_painted):
            raise AssertionError(
                f"{who or 'a spectator'} sees what {secret.name} bid in auction "
                f"{secret.auction}:\n{screen.text}"
            )
        self._half_painted = {other for other in self._half_painted if other[0] != viewer} | own

    # --- Playing ----------------------------------------------------------------------------------

    def play(
        self,
        until: int | None = None,
        *,
        slow: Sequence[int] = (),
        between: Callable[[str, Screen], Steps] | None = None,
    ) -> None:
        """Plays to the end, or until this auction is to be opened.

        In the `slow` auctions the bidders seal one after another, each when all others have seen
        it of the one before. `between` is done by a player before each bid.
        """
        name, terminal = next(iter(self.players.items()))
        self.tmux.look([terminal])
        self.seats = [name if shown == "You" else shown for shown, _ in boards(terminal.screen)]
        doing = {
            terminal: self._player(name, until, slow, between)
            for name, terminal in self.players.items()
        }
        self.tmux.act(doing, "the game goes on", watched=self.audience)

    def _player(
        self,
        name: str,
        until: int | None,
        slow: Sequence[int],
        between: Callable[[str, Screen], Steps] | None,
    ) -> Steps:
        terminal = self.players[name]
        done: tuple[int, str] | None = None
        while True:
            yield (
                lambda done=done: (
                    _demand(terminal.screen) not in (None, done)
                    or OVER in terminal.screen.header
                    or auction(terminal.screen) == until
                )
            )
            screen = terminal.screen
            if OVER in screen.header or auction(screen) == until:
                return
            demand = _demand(screen)
            assert demand is not None
            number, kind = done = demand
            if between is not None:
                yield from between(name, screen)
            if kind == OPEN:
                # The award of the auction before has been seen by all.
                yield lambda number=number: all(
                    auction(other.screen) == number for other in self.everybody
                )
            elif number in slow:
                before = self._before(name, number, kind)
                yield lambda before=before: before <= self._sealed
            stage = STAGES[kind]
            typed, amount = self._script(number, name, stage)
            if stage is not None:
                opener = None if kind == BLIND else self.auctioneer(number)
                self.secrets.append(Secret(number, stage, name, opener, amount))
            self.bids.append((number, stage, name, amount))
            yield from write(terminal, typed, amount)
            began = pressed = time.monotonic()
            while _demand(terminal.screen) == (number, kind):
                yield (
                    lambda number=number, kind=kind, pressed=pressed: (
                        _demand(terminal.screen) != (number, kind) or time.monotonic() - pressed > 2
                    )
                )
                if _demand(terminal.screen) == (number, kind):
                    # Pressed too early, on a slow machine; people press again as well.
                    pressed = time.monotonic()
                    terminal.keys("Enter")
            self.latency.append(time.monotonic() - began)
            if number in slow and kind != OPEN:
                yield lambda: "SEALED." not in terminal.screen.todo or self._noticed(name)
                self._sealed.add((number, kind, name))

    @property
    def everybody(self) -> list[Terminal]:
        return [*self.players.values(), *self.audience]

    def viewer(self, terminal: Terminal) -> str | None:
        """The name of who sits before a terminal, None for a spectator."""
        return self._names.get(terminal.name)

    def _before(self, name: str, number: int, kind: str) -> set[tuple[int, str, str]]:
        """Who comes before this player in the list and bids in the same step."""
        names = list(self.players)
        before = names[: names.index(name)]
        if kind == TIE:
            first = {s.name: s.amount for s in self.secrets if (s.auction, s.stage) == (number, 0)}
            before = [other for other in before if first.get(other) == first[name]]
        elif kind == SECRET:
            before = [other for other in before if other != self.auctioneer(number)]
        return {(number, kind, other) for other in before}

    def _noticed(self, name: str) -> bool:
        """Whether all others see that this player has sealed."""
        others = [one for one in self.everybody if one is not self.players[name]]
        return all(board_row(other.screen, name).endswith("sealed") for other in others)

    def winner(self, number: int) -> Secret:
        """The highest secret bid of an auction that had no tie."""
        return max((s for s in self.secrets if s.auction == number), key=lambda s: s.amount)

    def auctioneer(self, number: int) -> str:
        """Who opened this auction."""
        return next(name for n, stage, name, _ in self.bids if n == number and stage is None)


def _may_see(viewer: str | None, screen: Screen, secret: Secret, newest: bool) -> bool:
    """Whether a secret amount may be on a screen, by what the screen says of the step.

    `newest`: whether it is the bidder's last one in that auction, which is hidden once sealed.
    """
    now = auction(screen)
    if viewer is not None and viewer == secret.name:
        return not ("SEALED." in screen.todo and now == secret.auction and newest)
    if viewer is not None and viewer == secret.opener:
        later = now is not None and now > secret.auction
        return later or ("A TIE." in screen.todo and secret.stage == 0)
    return False


def write(terminal: Terminal, typed: str, amount: int) -> Steps:
    """Types an amount, looks how it is read, and presses Enter when it counts."""
    asked = time.monotonic()
    yield lambda: time.monotonic() - asked > REACTION
    terminal.type(typed)
    yield lambda: f"{amount:,}" in terminal.screen
    shown = time.monotonic()
    yield lambda: time.monotonic() - shown > ENTER_AFTER
    terminal.keys("Enter")


def seated(screen: Screen) -> bool:
    """Whether one has a seat: in the lobby, or in the game."""
    return "LOBBY" in screen.header or "auction" in screen.header


def auction(screen: Screen) -> int | None:
    """Which auction a table's screen shows."""
    match = re.match(r" QE   auction (\d+)/", screen.text)
    return int(match[1]) if match else None


def table_code(screen: Screen) -> str:
    """The four letters of the table."""
    return re.search(r"table ([A-Z]{4})", screen.header)[1]  # type: ignore[index]


def boards(screen: Screen) -> list[tuple[str, str]]:
    """The names of the boards, one's own as `You`, and their rows, by seat."""
    start = next((n for n, line in enumerate(screen.lines) if line.startswith("   PLAYER")), None)
    if start is None:
        return []
    rows = [re.match(r"(?:> |\* |\*>|  ) (\S+) .*", line) for line in screen.lines[start + 1 :]]
    return [(row[1], row[0].rstrip()) for row in itertools.takewhile(bool, rows) if row]


def board_row(screen: Screen, name: str) -> str:
    """A player's row on somebody else's screen."""
    return dict(boards(screen)).get(name, "")


def _demand(screen: Screen) -> tuple[int, str] | None:
    """The auction and the kind of bid that the screen asks for."""
    number = auction(screen)
    kind = next((kind for kind in STAGES if f">>> {kind}" in screen.todo), None)
    return None if number is None or kind is None else (number, kind)
