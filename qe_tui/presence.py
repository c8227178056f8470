"""What views tell only over time: how long seats have been away, and who is host now. No Textual
here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from qe_tui.model import Snapshot


def away_seats(snapshot: Snapshot) -> list[int]:
    """Seats of people who are not there, and that nobody plays."""
    return [
        info.seat for info in snapshot.room.seats if info.kind == "human" and not info.connected
    ]


def takes_over(before: Snapshot, now: Snapshot) -> bool:
    """Whether the reader has become the host of a table at which they sat already."""
    sat = before.table == now.table and before.room.me is not None
    return sat and before.room.stage != "lobby" and now.hosting and not before.hosting


class Absences:
    """Since when this client has seen each seat to be away. `now` is Unix time, in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since: dict[int, float] = {}

    def marked(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with the seats that have been away for as long as the table waits."""
        now = self._now()
        # A host that was lost, and may have been started anew, counts from then on.
        away = away_seats(snapshot) if snapshot.lost is None else []
        self._since = {seat: self._since.get(seat, now) for seat in away}
        patience = snapshot.room.options.away_seconds
        long_away = (seat for seat, since in self._since.items() if now - since >= patience)
        return replace(snapshot, long_away=frozenset(long_away))
