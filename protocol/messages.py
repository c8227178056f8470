"""The messages of the wire, version 1, as types.

A request travels as one map: its `type`, its `id` and the fields of its body. Bodies are the
classes below; `frames` turns bytes into maps, and this module maps into bodies and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from protocol.errors import MessageError

VERSION = 1
DEFAULT_PORT = 7373
MAX_ID = 2**53 - 1

Id = Annotated[int, Meta(ge=0, le=MAX_ID)]
SeatNumber = Annotated[int, Meta(ge=0, le=255)]
Seconds = Annotated[int, Meta(ge=0, le=86_400)]
ReactionKind = Literal["gasp", "laugh", "poker", "applause"]
Stage = Literal["lobby", "playing", "over"]
SeatKind = Literal["open", "human", "bot", "stand_in"]


class Options(Struct, frozen=True, kw_only=True):
    """How a table is run, whatever game is on it. Times are seconds; 0 is no clock."""

    turn_seconds: Seconds = 0
    start_when_full: bool = False
    away_seconds: Seconds = 60


# --- Requests -------------------------------------------------------------------------------


class Body(
    Struct,
    frozen=True,
    kw_only=True,
    tag_field="type",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """What a client asks for. Its repr is its name: fields may hold amounts, tokens, passwords."""

    def __repr__(self) -> str:
        return type(self).__name__


class Hello(Body, frozen=True, tag="hello"):
    versions: Annotated[list[int], Meta(min_length=1, max_length=64)]
    client: str


class PingRequest(Body, frozen=True, tag="ping"):
    pass


class Tables(Body, frozen=True, tag="tables"):
    pass


class Create(Body, frozen=True, tag="create"):
    game: str
    seats: int
    title: str
    name: str
    password: str | None = None
    options: dict[str, Any] | None = None
    rules: dict[str, Any] | None = None


class Join(Body, frozen=True, tag="join"):
    table: str
    name: str
    password: str | None = None


class Resume(Body, frozen=True, tag="resume"):
    table: str
    token: str


class Watch(Body, frozen=True, tag="watch"):
    table: str
    name: str | None = None
    password: str | None = None


class Leave(Body, frozen=True, tag="leave"):
    pass


class Set(Body, frozen=True, tag="set"):
    """Changes what is given. An empty password takes the password away."""

    seats: int | None = None
    title: str | None = None
    password: str | None = None
    options: dict[str, Any] | None = None
    rules: dict[str, Any] | None = None


class Move(Body, frozen=True, tag="move"):
    seat: SeatNumber
    to: SeatNumber


class AddBot(Body, frozen=True, tag="add_bot"):
    level: str | None = None


class Remove(Body, frozen=True, tag="remove"):
    seat: SeatNumber


class Start(Body, frozen=True, tag="start"):
    pass


class Act(Body, frozen=True, tag="act"):
    step: Id
    action: dict[str, Any]


class StandIn(Body, frozen=True, tag="stand_in"):
    seat: SeatNumber


class Release(Body, frozen=True, tag="release"):
    seat: SeatNumber


class Pause(Body, frozen=True, tag="pause"):
    on: bool


class Say(Body, frozen=True, tag="say"):
    text: str


class React(Body, frozen=True, tag="react"):
    kind: ReactionKind


class Rematch(Body, frozen=True, tag="rematch"):
    pass


AnyBody = (
    Hello
    | PingRequest
    | Tables
    | Create
    | Join
    | Resume
    | Watch
    | Leave
    | Set
    | Move
    | AddBot
    | Remove
    | Start
    | Act
    | StandIn
    | Release
    | Pause
    | Say
    | React
    | Rematch
)


# --- What a host answers --------------------------------------------------------------------


class HostInfo(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    version: str


class GameInfo(Struct, frozen=True, kw_only=True):
    """A game that the host has. `seats` is the fewest and the most."""

    seats: list[int]
    levels: list[str]


class Welcome(Struct, frozen=True, kw_only=True):
    """The result of `hello`."""

    version: int
    now: int
    host: HostInfo
    games: dict[str, GameInfo]


class TableInfo(Struct, frozen=True, kw_only=True):
    table: str
    title: str
    game: str
    stage: Stage
    seats: int
    taken: int
    free: int
    bots: int
    spectators: int
    locked: bool
    standing: bool


class TableList(Struct, frozen=True, kw_only=True):
    """The result of `tables`."""

    tables: list[TableInfo]


class Seated(Struct, frozen=True, kw_only=True):
    """The result of `create` (with `table`), `join` and `resume`."""

    seat: int
    token: Annotated[str, Meta(max_length=128)]
    table: str = ""

    def __repr__(self) -> str:
        return f"Seated(seat={self.seat}, table={self.table!r})"


# --- What a host sends ----------------------------------------------------------------------


class SeatInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`kind` is a `SeatKind`, or one that is not known yet. `keeps`: at a standing table whose
    game is over, that the seat plays the next one."""

    seat: int
    name: str
    kind: str
    level: str | None
    connected: bool
    released: bool
    keeps: bool = False


class GameResult(Struct, frozen=True, kw_only=True):
    """A game played at this table: by seat, the names and totals, and the winners' seats."""

    names: list[str]
    totals: list[int]
    winners: list[int]


class Room(Struct, frozen=True, kw_only=True):
    """A table without its game. `since` and `deadline` are the host's Unix milliseconds."""

    title: str
    game: str
    stage: Stage
    standing: bool
    locked: bool
    size: int
    host: int | None
    seats: list[SeatInfo]
    spectators: int
    options: Options
    rules: dict[str, Any]
    paused: bool
    since: int
    deadline: int | None
    results: list[GameResult]
    me: int | None = None


class Message(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What a host sends, answers included."""


class Ok(Message, frozen=True, tag="ok"):
    id: int
    result: dict[str, Any]

    def __repr__(self) -> str:
        return f"Ok(id={self.id})"


class Error(Message, frozen=True, tag="error"):
    id: int | None
    code: str
    reason: str
    message: str


class View(Message, frozen=True, tag="view"):
    """All that a connection may know. `game` and `you` are the game's own words, as maps."""

    table: str
    room: Room
    game: dict[str, Any] | None
    you: dict[str, Any] | None

    def __repr__(self) -> str:
        return f"View(table={self.table!r})"


class Said(Message, frozen=True, tag="said"):
    table: str
    seat: int | None
    name: str
    text: str
    at: int


class Reacted(Message, frozen=True, tag="reacted"):
    table: str
    seat: int | None
    name: str
    kind: str


class Ping(Message, frozen=True, tag="ping"):
    pass


class Bye(Message, frozen=True, tag="bye"):
    code: str
    message: str


AnyMessage = Ok | Error | View | Said | Reacted | Ping | Bye

_KNOWN_MESSAGES = frozenset({"ok", "error", "view", "said", "reacted", "ping", "bye"})


# --- Maps to messages and back --------------------------------------------------------------


def encode_request(id: int, body: Body) -> dict[str, Any]:
    """The map of a request.

    >>> encode_request(7, Join(table="WOLF", name="Ana"))
    {'type': 'join', 'id': 7, 'table': 'WOLF', 'name': 'Ana'}
    """
    fields = msgspec.to_builtins(body)
    return {"type": fields.pop("type"), "id": id, **fields}


def decode_request(given: Mapping[str, Any]) -> tuple[int, AnyBody]:
    """The id and body of a request's map, its `pad` ignored.

    Raises MessageError, with the id where one could be read.
    """
    fields = dict(given)
    id = fields.pop("id", None)
    if not isinstance(id, int) or isinstance(id, bool) or not 0 <= id <= MAX_ID:
        raise MessageError(None, "id", "A request needs an id, a whole number from 0 to 2^53 - 1.")
    if not isinstance(fields.pop("pad", b""), bytes):
        raise MessageError(id, "pad", "The padding of a message must be bytes.")
    try:
        return id, msgspec.convert(fields, type=AnyBody, strict=True)
    except (msgspec.ValidationError, UnicodeError, RecursionError, TypeError, ValueError):
        kind = fields.get("type")
        known = isinstance(kind, str) and kind in _REQUEST_TYPES
        sentence = (
            f"A field of this {kind!r} is missing, unknown or of the wrong type."
            if known
            else "No request of this type is known here."
        )
        raise MessageError(id, "fields" if known else "type", sentence) from None


def decode_message(given: Mapping[str, Any]) -> AnyMessage | None:
    """What a host sent, or None for a type that is not known here.

    Raises MessageError where a known type lacks what it must have.
    """
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in _KNOWN_MESSAGES:
        return None
    try:
        message: AnyMessage = msgspec.convert(given, type=AnyMessage, strict=True)
    except (msgspec.ValidationError, UnicodeError, RecursionError, TypeError, ValueError):
        raise MessageError(None, "fields", "The host sent a message that makes no sense.") from None
    return message


def encode_message(message: Message) -> dict[str, Any]:
    """The map of what a host sends."""
    fields: dict[str, Any] = msgspec.to_builtins(message)
    return fields


Result = TypeVar("Result", bound=Struct)


def decode_result(result: Mapping[str, Any], kind: type[Result]) -> Result:
    """An answer's result as its type. Raises MessageError."""
    try:
        return msgspec.convert(result, type=kind, strict=True)
    except (msgspec.ValidationError, UnicodeError, RecursionError, TypeError, ValueError):
        raise MessageError(None, "result", "The host gave an answer that makes no sense.") from None


_REQUEST_TYPES = frozenset(str(kind.__struct_config__.tag) for kind in AnyBody.__args__)
