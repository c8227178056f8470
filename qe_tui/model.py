"""What the screens show, and what they may ask for. No Textual here.

The app owns the one `Snapshot` and changes it as the host's messages come; it then calls
`show(snapshot)` on every screen that has one. Screens never touch the connection: they ask
through `Desk`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from protocol import qe
from protocol.errors import MessageError
from protocol.messages import Body, Room, Said, View
from qe_tui.plausible import plausible


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table as this client knows it now.

    `clock` is the host's clock less ours, in milliseconds. `lost` is a sentence while the
    connection is away, and None while it stands. `said` has the newest last.
    """

    table: str
    room: Room
    game: qe.Game | None
    you: qe.You | None
    clock: int = 0
    said: Sequence[Said] = ()
    lost: str | None = None
    addresses: Sequence[str] = field(default=())
    """What to tell others who want to join, where this client runs the host."""
    long_away: frozenset[int] = frozenset()
    """Seats whose holders this client has seen to be away for as long as the table waits."""
    broker: str | None = None
    """Where the table is watched through a broker, the broker's address: nothing can be asked
    then."""

    def name(self, seat: int) -> str:
        """The name at a seat, as the host gave it: hostile text."""
        return self.room.seats[seat].name

    @property
    def hosting(self) -> bool:
        """Whether this client has the host's role at the table."""
        return self.room.me is not None and self.room.me == self.room.host


def read_view(view: View) -> tuple[qe.Game | None, qe.You | None]:
    """The game's own words of a view, as types that fit together. Raises MessageError."""
    try:
        game = None if view.game is None else msgspec.convert(view.game, type=qe.Game)
        you = None if view.you is None else msgspec.convert(view.you, type=qe.You)
    except (msgspec.ValidationError, TypeError, ValueError):
        # The library's own error would quote what it could not read.
        raise MessageError(None, "view", "The host's view of the game makes no sense.") from None
    if not plausible(view.room, game, you):
        raise MessageError(None, "view", "The host's view of the table does not hang together.")
    return game, you


class Desk(Protocol):
    """What a screen may ask of the app."""

    @property
    def snapshot(self) -> Snapshot | None: ...

    async def ask(self, body: Body) -> dict[str, Any]:
        """Sends a request and gives its result. Raises Refused and LinkError."""
        ...

    def leave_table(self) -> None:
        """Gives the seat up and goes back to the menu."""
        ...
