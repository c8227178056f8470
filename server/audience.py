"""Who is at a table at the moment: the connections, whose seat each has, and who is away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from protocol import messages as m
from server import events as ev
from server.room import Room
from server.viewing import Views

if TYPE_CHECKING:
    from server.session import Session


class Audience:
    """The connections of one table, spectators among them, and since when seats are away.

    A seat's holder is known by its key, since seats are renumbered; a spectator's key is 0.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._keys: dict[Session, int] = {}
        self._away: dict[int, int] = {}
        self._newcomers: list[Session] = []
        self._came_by: dict[int, tuple[bytes, float]] = {}
        """By key, the token by which a seat was last resumed, and since when the connection was."""
        self._views = Views()

    def __bool__(self) -> bool:
        return bool(self._keys)

    def __contains__(self, session: Session) -> bool:
        return session in self._keys

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._keys))

    @property
    def spectators(self) -> int:
        return sum(not key for key in self._keys.values())

    @property
    def away(self) -> dict[int, int]:
        """By key, since when a seat's holder has been away, in Unix milliseconds."""
        return dict(self._away)

    def away_for(self, room: Room) -> dict[int, int]:
        """For each seat whose holder is away, for how many milliseconds."""
        now = self._now()
        seats = ((room.seat_of(key), now - since) for key, since in self._away.items())
        return {seat: away for seat, away in seats if seat is not None}

    def key_of(self, session: Session) -> int:
        return self._keys.get(session, 0)

    def of_key(self, key: int) -> list[Session]:
        """The connections of a seat's holder."""
        return [session for session, its in self._keys.items() if its == key]

    def spectators_called(self, name: str) -> list[Session]:
        """The spectators of that name, or with an empty one those who have none."""
        return [s for s, key in self._keys.items() if not key and s.name == name]

    def all_away(self, room: Room) -> None:
        """Nobody is here yet: the host has just come back."""
        self._away = {seat.key: self._now() for seat in room.seats if seat.human}

    def add(self, session: Session, key: int) -> None:
        """The connection is here now, with the seat of this key or, with 0, as a spectator."""
        if session.gone:
            if key:
                self._away[key] = self._now()
            return
        session.forget_view()
        self._newcomers.append(session)
        self._keys[session] = key
        self._away.pop(key, None)

    def comes_late(self, session: Session, key: int, token: bytes) -> bool:
        """Whether a newer connection has resumed the seat by the same token already.

        A line that died may deliver what was sent on it long after its client has come anew.
        """
        by, since = self._came_by.get(key, (b"", 0.0))
        return by == token and session.since < since

    def came_by(self, session: Session, key: int, token: bytes) -> None:
        """The seat has been resumed by this token, which is given as its hash."""
        self._came_by[key] = token, session.since

    def drop(self, session: Session) -> None:
        """The connection is here no more; what seat it has stays its holder's, who is away."""
        key = self._keys.pop(session, 0)
        if key and key not in self._keys.values():
            self._away[key] = self._now()

    def give_up(self, session: Session) -> None:
        """The connection is here no more, and has left its seat too."""
        self._away.pop(self._keys.pop(session, 0), None)

    def name(self, room: Room, session: Session) -> str:
        """What others call the one on this connection."""
        seat = room.seat_of(self.key_of(session))
        return room.seats[seat].name if seat is not None else session.name or "spectator"

    def watching(self, but: Session | None = None) -> list[str]:
        """The names of the spectators, but for one who is about to have another."""
        return [s.name for s, key in self._keys.items() if not key and s.name and s is not but]

    def spectator_view(self, room: Room) -> bytes:
        """The frame that a spectator has now, or would have."""
        self._views.prepare(room, self._keys.values(), self.spectators)
        return self._views.spectator()

    # --- What they are told ------------------------------------------------------------------

    def tell(self, room: Room) -> None:
        """A view for each connection whose view has changed, and for newcomers the chat of late."""
        here = {s: key if room.seat_of(key) is not None else 0 for s, key in self._keys.items()}
        self._keys = here
        self._away = {key: at for key, at in self._away.items() if room.seat_of(key) is not None}
        self._came_by = {
            key: by for key, by in self._came_by.items() if room.seat_of(key) is not None
        }
        if not here:
            return
        self._views.prepare(room, here.values(), self.spectators)
        for session, key in here.items():
            seat = room.seat_of(key)
            if seat is None:
                session.send_view(self._views.spectator())
            else:
                session.send_view(*self._views.seat(room, seat))
        for session in self._newcomers:
            self._replay_chat(room, session)
        self._newcomers.clear()

    def said(self, room: Room, at: int, spoken: ev.Spoken) -> None:
        """Chat, to whom it is for."""
        for session, key in self._keys.items():
            if spoken.to == "all" or not key:
                session.send(_said(room, at, spoken))

    def reacted(self, room: Room, session: Session, kind: m.ReactionKind) -> None:
        """A reaction, to everybody."""
        reacted = m.Reacted(
            table=room.code,
            seat=room.seat_of(self.key_of(session)),
            name=self.name(room, session),
            kind=kind,
        )
        for other in self._keys:
            other.send(reacted)

    def _replay_chat(self, room: Room, session: Session) -> None:
        for at, spoken in room.chat:
            if session in self._keys and (spoken.to == "all" or not self.key_of(session)):
                session.send(_said(room, at, spoken))


def _said(room: Room, at: int, spoken: ev.Spoken) -> m.Said:
    return m.Said(table=room.code, seat=spoken.seat, name=spoken.name, text=spoken.text, at=at)
