"""What the owner of a host's machine may do to it: a Unix socket in the data folder.

Whoever may open that file is the owner, or root. One request a connection: a line of JSON, answered
by a line of JSON. Nothing of it holds an amount, a token or a password.

    {"do": "tables"}                                         {"ok": [...]}
    {"do": "announce", "text": TEXT, "table": CODE or null}  {"ok": number of tables}
    {"do": "kick", "table": CODE, "who": SEAT or NAME}       {"ok": null}
    {"do": "kick", "table": CODE, "who": NAME or "", "spectator": true}
    {"do": "rename", "table": CODE, "who": ..., "name": NAME}
    {"do": "close", "table": CODE}
    {"do": "stop"}                                           the connection ends when the host has

What cannot be done is answered by {"error": SENTENCE}.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from protocol import text
from protocol.errors import Code, QEError, Refused
from server.host import Host
from server.safelog import where
from server.table import Table

log = logging.getLogger(__name__)

SOCKET = "control"
"""The file's name."""

LINE = 65_536
ASK_WITHIN = 10.0
"""The most bytes of a request, and the seconds that it may take to come."""


class _Request(msgspec.Struct, tag_field="do", forbid_unknown_fields=True):
    pass


_Text = Annotated[str, Meta(max_length=1000)]


class Tables(_Request, tag="tables"):
    pass


class Announce(_Request, tag="announce"):
    text: _Text
    table: _Text | None = None


class Kick(_Request, tag="kick"):
    table: _Text
    who: _Text
    spectator: bool = False


class Rename(_Request, tag="rename"):
    table: _Text
    who: _Text
    name: _Text


class Close(_Request, tag="close"):
    table: _Text


class Stop(_Request, tag="stop"):
    pass


Request = Tables | Announce | Kick | Rename | Close | Stop


class Control:
    """The socket of a host, from `start` to `stop`."""

    def __init__(self, host: Host, end: Callable[[], None]) -> None:
        """`end` makes the host's process shut down."""
        self._host = host
        self._end = end
        self._path = host.settings.data / SOCKET
        self._server: asyncio.AbstractServer | None = None
        self._file = 0
        """The socket's own inode."""

    async def start(self) -> None:
        """Opens the socket. Where that cannot be, a line in the log says so."""
        try:
            sock = _bound(self._path)
            self._file = self._path.lstat().st_ino
            self._server = await asyncio.start_unix_server(self._serve, sock=sock, limit=LINE)
        except (OSError, AttributeError, NotImplementedError) as error:
            why = "there are no Unix sockets here"
            if isinstance(error, OSError):
                why = os.strerror(error.errno) if error.errno else str(error)
            log.warning("qe-server ctl cannot reach this host: %s.", why)

    def stop(self) -> None:
        """Takes the socket away."""
        if self._server is not None:
            self._server.close()
            with suppress(OSError):
                if self._path.lstat().st_ino == self._file:
                    self._path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(ASK_WITHIN):
                line = await reader.readline()
            answer, stays = await self._answered(line), False
            if answer is None:
                answer, stays = {"ok": None}, True
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
            if stays:
                self._end()
                await reader.read()  # until the process ends, or the other side does
        except (OSError, TimeoutError, ValueError):
            pass
        except asyncio.CancelledError:
            pass  # the host has ended; asyncio would log a stack for each
        except Exception as error:
            log.error("a request of the owner's failed: %s", where(error))
        finally:
            writer.close()

    async def _answered(self, line: bytes) -> dict[str, Any] | None:
        """The answer; None where the host is to stop."""
        try:
            request: Request = msgspec.json.decode(line, type=Request)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return {"error": "That is no request."}
        log.info("the owner asks: %s", type(request).__name__.lower())
        if isinstance(request, Stop):
            return None
        try:
            return {"ok": await self._done(request)}
        except QEError as error:
            return {"error": str(error)}

    async def _done(self, request: Request) -> Any:
        """Does it, and gives what is answered. Raises Refused and TextError."""
        host = self._host
        match request:
            case Tables():
                return [_described(table) for table in host.tables]
            case Announce():
                words = text.chat(request.text)
                if request.table is None:
                    return await self._announced(words)
                await host.table(request.table).announce(words)
                return 1
            case Kick(spectator=True):
                await host.table(request.table).kick_spectators(request.who)
            case Kick():
                await host.table(request.table).kick(request.who)
            case Rename():
                await host.table(request.table).rename(request.who, request.name)
            case Close():
                await host.table(request.table).close()
        return None

    async def _announced(self, words: str) -> int:
        """At how many tables it was said; one that closes meanwhile is none. Raises Refused."""
        heard, refusal = 0, None
        for table in self._host.tables:
            try:
                await table.announce(words)
                heard += 1
            except Refused as error:
                if error.code != Code.UNKNOWN_TABLE:
                    refusal = error
        if refusal is not None:
            raise refusal
        return heard


def _described(table: Table) -> dict[str, Any]:
    """What the list of tables shows everybody, and who sits there."""
    info: dict[str, Any] = msgspec.to_builtins(table.info())
    seats = [
        {"seat": number, "name": seat.name, "kind": seat.kind}
        for number, seat in enumerate(table.room.seats, 1)
    ]
    return info | {"players": seats}


def _bound(path: Path) -> socket.socket:
    """A Unix socket that only its owner can open. One that a dead host left is replaced.

    Raises OSError where it cannot be, AttributeError where the system has no such sockets.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()  # the folder is locked, so that no other host has it
        before = os.umask(0o177)
        try:
            sock.bind(str(path))
        finally:
            os.umask(before)
    except BaseException:
        sock.close()
        raise
    return sock
