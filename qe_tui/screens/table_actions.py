"""Everything that one can do at the table: one list for keys, key line, help and palette."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider

from qe_tui import words
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.presence import away_seats
from qe_tui.screens.table_facts import free_seats, may_sit, me
from qe_tui.widgets import ink


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that can be done. `name` is the action's name on the screen and in the keymap."""

    name: str
    keys: str
    shown: str
    label: str
    about: str
    possible: Callable[[Snapshot], bool]
    in_line: bool = True
    """Whether a line of 80 cells has room for it."""
    told: bool = True
    """Whether the help tells of it also while it cannot be done."""
    asks: bool = False
    """Whether it needs the host, so that it waits while the connection is lost."""

    @property
    def binding(self) -> Binding:
        """Keys with priority: the bid line must not swallow them."""
        return Binding(
            self.keys,
            f"deed({self.name!r})",
            self.label,
            key_display=self.shown,
            id=f"table.{self.name}",
            tooltip=self.about,
            priority=True,
            show=False,
        )


def _always(snapshot: Snapshot) -> bool:
    return True


def _may_speak(snapshot: Snapshot) -> bool:
    return snapshot.broker is None


def _playing(snapshot: Snapshot) -> bool:
    return snapshot.game is not None and snapshot.game.result is None


def _over(snapshot: Snapshot) -> bool:
    return snapshot.game is not None and snapshot.game.result is not None


def _seated(snapshot: Snapshot) -> bool:
    return me(snapshot) is not None


def _may_peek(snapshot: Snapshot) -> bool:
    return snapshot.you is not None and snapshot.you.may_peek is not None


def _may_play_again(snapshot: Snapshot) -> bool:
    if not _over(snapshot) or not snapshot.room.standing:
        return _over(snapshot) and snapshot.hosting
    seat = me(snapshot)
    return seat is not None and not snapshot.room.seats[seat].keeps


def _may_pause(snapshot: Snapshot) -> bool:
    return _playing(snapshot) and snapshot.hosting


DEEDS: tuple[Deed, ...] = (
    Deed("again", "p", "p", _("play again"),
         _("The host opens the lobby for another game, everybody where they were."),
         _may_play_again, asks=True),
    Deed("bids", "b", "b", _("all bids"), _("Every bid of the game, turned up."), _over),
    Deed("story", "s", "s", _("story"), _("The game, told auction by auction."), _over),
    Deed("save", "e", "e", _("save"), _("Writes the whole game to a text file."), _over),
    Deed("ledger", "tab", "Tab", _("ledger"),
         _("Every bid you may know, by auction, and what each has spent at least."), _playing),
    Deed("peek", "f2", "F2", _("peek"),
         _("Once a game with five players: look at the last winning bid."), _may_peek,
         asks=True),
    Deed("chat", "slash", "/", _("chat"), _("Says something to the table."), _may_speak,
         asks=True),
    Deed("react", "exclamation_mark", "!", _("react"),
         _("A gasp, a laugh, a poker face or applause."), _may_speak, asks=True),
    Deed("cover", "escape", "Esc", _("cover"),
         _("Covers your token, bid and ledger from the neighbours' eyes, and uncovers them."),
         lambda snapshot: _seated(snapshot) and _playing(snapshot)),
    Deed("rules", "question_mark", "?", _("rules"), _("The rules in short, and all keys."),
         _always),
    Deed("sit", "j", "j", _("take the free seat"),
         _("Takes over the seat of somebody who has gone, in the middle of the game."),
         may_sit, told=False, asks=True),
    Deed("pause", "f4", "F4", _("pause"),
         _("The host stops clocks and computers, and lets them go on."),
         _may_pause, in_line=False, told=False, asks=True),
    Deed("stand_in", "f5", "F5", _("computer"),
         _("The host lets a computer play for whoever is away."),
         lambda snapshot: _may_pause(snapshot) and bool(stand_in_seats(snapshot)), in_line=False,
         told=False, asks=True),
    Deed("release", "f6", "F6", _("free seat"),
         _("The host gives the seat of somebody who is away to whoever joins. A computer plays it "
           "until then; who comes back first has it again."),
         lambda snapshot: _may_pause(snapshot) and bool(release_seats(snapshot)), in_line=False,
         told=False, asks=True),
    Deed("leave", "l", "l", _("leave"),
         _("Goes back to the menu."), lambda snapshot: _over(snapshot) or not _seated(snapshot)),
    Deed("give_up", "f9", "F9", _("give up the seat"),
         _("Goes back to the menu; a computer plays the seat until somebody takes it."),
         lambda snapshot: _seated(snapshot) and _playing(snapshot), in_line=False, told=False,
         asks=True),
)  # fmt: skip


def stand_in_seats(snapshot: Snapshot) -> list[int]:
    """Those of them that a computer may play by now."""
    return [seat for seat in away_seats(snapshot) if seat in snapshot.long_away]


def release_seats(snapshot: Snapshot) -> list[int]:
    """Seats of people who are stood in for or long away, and that nobody else may take yet.

    A host would let anybody have a seat as soon as its line has dropped; who sits at this
    screen shall not do that to a friend by a slip.
    """
    stood_in = (
        info.seat for info in snapshot.room.seats if info.kind == "stand_in" and not info.released
    )
    return sorted([*stood_in, *stand_in_seats(snapshot)])


def possible(snapshot: Snapshot | None) -> Iterator[Deed]:
    """What can be done now; in the key line, and called, as it is now."""
    if snapshot is None:
        return
    for deed in DEEDS:
        if not deed.possible(snapshot) or (deed.asks and snapshot.lost is not None):
            continue
        if deed.name == "pause" and snapshot.room.paused:
            yield replace(deed, label=_("go on"), in_line=True)
        elif deed.name in ("stand_in", "release"):
            waits = bool(set(stand_in_seats(snapshot)) & _awaited(snapshot))
            yield replace(deed, in_line=waits)
        elif deed.name == "sit" and (whose := one_name(snapshot, free_seats(snapshot.room))):
            yield replace(deed, label=_("take {name}'s seat").format(name=whose))
        else:
            yield deed


def at_length(deed: Deed, snapshot: Snapshot) -> Deed:
    """A deed with the name of whom it is about, where that is one alone."""
    if deed.name == "stand_in" and (name := one_name(snapshot, stand_in_seats(snapshot))):
        return replace(deed, label=_("computer for {name}").format(name=name))
    if deed.name == "release" and (name := one_name(snapshot, release_seats(snapshot))):
        return replace(deed, label=_("free {name}'s seat").format(name=name))
    return deed


def one_name(snapshot: Snapshot, seats: Sequence[int]) -> str:
    """The name at the seat, fit for a key line, where it is one seat alone."""
    return ink.cut(words.name(snapshot.room, seats[0]), 12) if len(seats) == 1 else ""


def _awaited(snapshot: Snapshot) -> set[int]:
    return set(snapshot.game.waiting) if snapshot.game is not None else set()


def deed(name: str) -> Deed:
    """The deed of that name."""
    return next(deed for deed in DEEDS if deed.name == name)


class TableCommands(Provider):
    """The deeds that are possible now, for the command palette."""

    def _deeds(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        screen: Any = self.screen
        for deed in possible(getattr(screen, "snapshot", None)):
            title = f"{deed.label[:1].upper()}{deed.label[1:]} ({deed.shown})"
            yield title, deed.about, partial(screen.action_deed, deed.name)

    async def discover(self) -> Hits:
        for title, about, do in self._deeds():
            yield DiscoveryHit(title, do, help=about)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, about, do in self._deeds():
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, matcher.highlight(title), do, help=about)
