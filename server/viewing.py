"""The bytes of a view: what is public encoded once a change, a seat's own part set behind it.

A view's map is written by hand from encoded parts, so that every spectator gets the same bytes
object and nothing is encoded twice. Its shape is `protocol.messages.View`.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgpack
import msgspec

from protocol import frames
from protocol import messages as m
from server.room import Room

_NIL = msgpack.packb(None)


def _map_header(entries: int) -> bytes:
    header: bytes = msgpack.Packer(autoreset=True).pack_map_header(entries)
    return header


def _key(name: str) -> bytes:
    key: bytes = msgpack.packb(name)
    return key


_HEAD = _map_header(5) + _key("type") + _key("view") + _key("table")
_GAME, _ROOM, _ME, _YOU = _key("game"), _key("room"), _key("me"), _key("you")

VIEW_STEP = 4096
"""What the sizes of padded views are multiples of."""

_PAD_OVERHEAD = 12
"""The most bytes that an empty `pad` adds to a map."""


class Views:
    """The views of one table, made anew only where what they are made of has changed."""

    def __init__(self) -> None:
        self._state: Any = None
        self._game = _NIL
        self._own: dict[int, tuple[Any, bytes, int]] = {}
        self._spectator: tuple[bytes, bytes] = (b"", b"")
        self._common = b""

    def prepare(self, room: Room, here: Container[int], spectators: int) -> None:
        """Encodes what is public. `here` are the keys of the seats that are connected."""
        if room.state is not self._state:
            self._state, self._own = room.state, {}
            self._game = (
                _NIL if room.state is None else frames.pack(_plain(room.game.public(room.state)))
            )
        fields = _plain(_room(room, here, spectators))
        del fields["me"]
        common = (
            _HEAD + _key(room.code) + _GAME + self._game + _ROOM
            + _map_header(len(fields) + 1) + frames.pack(fields)[len(_map_header(len(fields))) :]
            + _ME
        )  # fmt: skip
        if common != self._common:
            self._common = common

    def spectator(self) -> bytes:
        """The frame for everybody who only looks on: one object for all of them."""
        common, whole = self._spectator
        if common is not self._common:
            whole = frames.frame(self._common + _NIL + _YOU + _NIL)
            self._spectator = (self._common, whole)
        return whole

    def seat(self, room: Room, seat: int) -> tuple[bytes, int]:
        """The frame for the holder of a seat, and what its map is padded to under TLS.

        TLS hides bytes, not their number, and a bid's number of digits is nearly the bid: the
        padded size follows from what everybody knows.
        """
        own, room_for_own = self._made_own(room, seat)
        me: bytes = msgpack.packb(seat)
        view = self._common + me + _YOU
        size = len(view) + max(room_for_own, len(own)) + _PAD_OVERHEAD
        return frames.frame(view + own), -(-size // VIEW_STEP) * VIEW_STEP

    def _made_own(self, room: Room, seat: int) -> tuple[bytes, int]:
        view = room.seats[seat].view
        state = room.state if view is None else view
        if state is None:
            return _NIL, len(_NIL)
        of, own, room_for_own = self._own.get(seat, (None, b"", 0))
        if of is not state:
            private = room.game.private(state, seat)
            own, room_for_own = frames.pack(_plain(private)), room.game.private_room(private)
            self._own[seat] = state, own, room_for_own
        return own, room_for_own


def table_info(room: Room, spectators: int) -> m.TableInfo:
    """A table as a list of tables shows it."""
    open_seats = 0 if room.stage != "lobby" else sum(not seat.taken for seat in room.seats)
    return m.TableInfo(
        table=room.code,
        title=room.title,
        game=room.game.name,
        stage=room.stage,
        seats=len(room.seats),
        taken=sum(seat.taken for seat in room.seats),
        free=open_seats + sum(seat.released for seat in room.seats),
        bots=sum(seat.taken and not seat.human for seat in room.seats),
        spectators=spectators,
        locked=room.password is not None,
        standing=room.standing,
    )


def _room(room: Room, here: Container[int], spectators: int) -> m.Room:
    return m.Room(
        title=room.title,
        game=room.game.name,
        stage=room.stage,
        standing=room.standing,
        locked=room.password is not None,
        size=room.size,
        host=room.host,
        seats=[
            m.SeatInfo(
                seat=number,
                name=seat.name,
                kind=seat.kind,
                level=seat.level,
                connected=seat.kind == "bot" or (seat.taken and seat.key in here),
                released=seat.released,
                keeps=seat.keeps,
            )
            for number, seat in enumerate(room.seats)
        ],
        spectators=spectators,
        options=room.options,
        rules=dict(room.rules),
        paused=room.paused,
        since=room.since,
        deadline=room.deadline,
        results=list(room.results),
    )


def _plain(struct: msgspec.Struct) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(struct)
    return fields
