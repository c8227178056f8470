"""What can happen at a table, as its journal keeps it.

A table is the fold of its events (`room.apply`). Seats are named by their number at the time of
the event. Secrets (seeds, actions, hashes) stand in these fields, so no event has a telling repr.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from protocol.messages import Options

TokenHash = Annotated[bytes, Meta(min_length=32, max_length=32)]
Hearers = Literal["all", "spectators"]


class Event(Struct, frozen=True, kw_only=True, tag_field="event", omit_defaults=True):
    def __repr__(self) -> str:
        return type(self).__name__


class Opened(Event, frozen=True, tag="opened"):
    """The table is there. `password` is a hash; `standing` tables have no host."""

    code: str
    game: str
    size: int
    title: str
    options: Options
    rules: dict[str, Any]
    password: str | None = None
    standing: bool = False


class Joined(Event, frozen=True, tag="joined"):
    seat: int
    name: str
    token: TokenHash


class Resumed(Event, frozen=True, tag="resumed"):
    """Somebody came back with the token `used` and was handed `token` for the next time."""

    seat: int
    used: TokenHash
    token: TokenHash


class Left(Event, frozen=True, tag="left"):
    """The seat is open in the lobby; in a game it is released and its tokens are void."""

    seat: int


class Changed(Event, frozen=True, tag="changed"):
    """What `set` set; absent fields stay. An empty `password` takes it away."""

    size: int | None = None
    title: str | None = None
    password: str | None = None
    options: Options | None = None
    rules: dict[str, Any] | None = None


class Moved(Event, frozen=True, tag="moved"):
    seat: int
    to: int


class Renamed(Event, frozen=True, tag="renamed"):
    """The owner of the host's machine has given a seat's holder another name."""

    seat: int
    name: str


class BotAdded(Event, frozen=True, tag="bot_added"):
    seat: int
    name: str
    level: str


class Started(Event, frozen=True, tag="started"):
    seed: str
    version: int


class Acted(Event, frozen=True, tag="acted"):
    seat: int
    action: dict[str, Any]


class StoodIn(Event, frozen=True, tag="stood_in"):
    seat: int


class Released(Event, frozen=True, tag="released"):
    seat: int


class Paused(Event, frozen=True, tag="paused"):
    on: bool


class HostPassed(Event, frozen=True, tag="host_passed"):
    seat: int


class Spoken(Event, frozen=True, tag="spoken"):
    """Chat. `seat` is null for a spectator; names stay as they were said."""

    seat: int | None
    name: str
    text: str
    to: Hearers


class Kept(Event, frozen=True, tag="kept"):
    """At a standing table whose game is over: the seat plays again."""

    seat: int


class Reopened(Event, frozen=True, tag="reopened"):
    """Back to the lobby after a game. `seats` keep their places; the others are open."""

    seats: list[int]


class Restored(Event, frozen=True, tag="restored"):
    """The host came back: a running clock starts anew for the step that it stopped in."""


class Closed(Event, frozen=True, tag="closed"):
    """The table is gone, its history kept."""


AnyEvent = (
    Opened
    | Joined
    | Resumed
    | Left
    | Changed
    | Moved
    | Renamed
    | BotAdded
    | Started
    | Acted
    | StoodIn
    | Released
    | Paused
    | HostPassed
    | Spoken
    | Kept
    | Reopened
    | Restored
    | Closed
)
