"""One connection: it says hello, its requests become commands to a table, and it is told things."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from protocol import frames, text
from protocol import messages as m
from protocol.errors import (
    ByeCode,
    Code,
    FrameError,
    MessageError,
    QEError,
    Refused,
    TextError,
)
from protocol.stream import abort, read_frame
from server import access, requests
from server.outbox import Outbox
from server.safelog import where
from server.viewing import VIEW_STEP

if TYPE_CHECKING:
    from server.callers import Caller
    from server.host import Host
    from server.table import Table
    from server.turns import Result

log = logging.getLogger(__name__)

HELLO_WITHIN = 10.0
PING_AFTER = 20.0
IDLE_AFTER = 60.0
GOODBYE_WITHIN = 2.0
STRANGERS_GOODBYE_WITHIN = 0.2
PATIENCE = 1.0
"""Seconds. `hello` has to come HELLO_WITHIN after the connection was accepted, the TLS handshake
included. Who has not said it gets less time to read a goodbye, as others wait for the place.
PATIENCE is what a wrong password or token costs where there were too many."""


class Session:
    """A client. `table` is where it sits or watches; `name` is what a spectator is called.

    `address` is where it counts as coming from, for failures and chat; `since` is when it was
    accepted, in the event loop's seconds.
    """

    def __init__(
        self,
        host: Host,
        caller: Caller,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        tls: bool,
    ) -> None:
        self.address = caller.origin
        self.since = caller.since
        self.table: Table | None = None
        self.name = ""
        self.gone = False
        self._host = host
        self._caller = caller
        self._reader = reader
        self._writer = writer
        self._tls = tls
        self._outbox = Outbox(writer)
        self._last_view = b""
        self._ended = False
        caller.send_away = self._make_room

    async def run(self) -> None:
        """Serves the connection until it ends; then its table knows that it is gone."""
        reading = asyncio.create_task(self._read(), name="session reader")
        writing = asyncio.create_task(self._outbox.run(), name="session writer")
        try:
            await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({writing}, timeout=self._goodbye_within)
        finally:
            self.gone = True
            reading.cancel()
            writing.cancel()
            for outcome in await asyncio.gather(reading, writing, return_exceptions=True):
                if isinstance(outcome, Exception) and not isinstance(outcome, OSError):
                    log.error("a connection failed: %s", where(outcome))
            if self.table is not None:
                await self.table.gone(self)
            await self._close()
            # The caller held on to the session, and it would outlive its end by a long while.
            self._caller.send_away = _nothing

    # --- What it is told ---------------------------------------------------------------------

    def send(self, message: m.Message) -> None:
        if not self._outbox.put(message_frame(message)):
            self.bye(ByeCode.SLOW, "You read too slowly; too much was waiting for you.")
            asyncio.get_running_loop().call_later(GOODBYE_WITHIN, self._outbox.abort)

    def send_view(self, frame: bytes, padded_size: int = 0) -> None:
        """A view, sent if it is another than the last one made for this connection.

        Under TLS its map is padded to `padded_size` bytes, where that is given.
        """
        if frame == self._last_view:
            return
        self._last_view = frame
        if padded_size and self._tls:
            payload = frame[frames.HEADER_SIZE :]
            frame = frames.frame(frames.padded(payload, padded_size, VIEW_STEP))
        self._outbox.put_view(frame)

    def forget_view(self) -> None:
        """The next view is sent whatever it is: the connection has come to a table anew."""
        self._last_view = b""

    def no_room(self) -> None:
        self.bye(ByeCode.HOST_FULL, "This host has no room for more from where you are.")

    def bye(self, code: ByeCode, message: str) -> None:
        """Says why, and closes; nothing that the client sends is read any more."""
        if not self._ended:
            log.info("goodbye to %s: %s", self._caller.address, code)
            self._ended = True
            self.send(m.Bye(code=code, message=message))
            self._outbox.finish()

    def drop(self) -> None:
        """Ends the connection without a word."""
        self._outbox.abort()

    @property
    def _goodbye_within(self) -> float:
        return GOODBYE_WITHIN if self._caller.whole else STRANGERS_GOODBYE_WITHIN

    def _make_room(self) -> None:
        self.bye(ByeCode.HELLO_TIMEOUT, "Too many others wait; say hello sooner.")

    # --- What it asks ------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            if await self._hello():
                while (fields := await self._next()) is not None:
                    await self._serve(fields)
        except FrameError as error:
            self.bye(error.code, str(error))
        except ConnectionError:
            self._outbox.abort()
        finally:
            self._outbox.finish()

    async def _hello(self) -> bool:
        """Whether the client said hello, and in time."""
        try:
            async with asyncio.timeout_at(self._caller.hello_by):
                while not self._ended:
                    fields = await read_frame(self._reader, frames.LIMIT_BEFORE_HELLO)
                    if fields is None:
                        return False
                    if self._greeted(fields):
                        return True
        except TimeoutError:
            self.bye(ByeCode.HELLO_TIMEOUT, "No hello came in time.")
        return False

    def _greeted(self, fields: Mapping[str, Any]) -> bool:
        id: int | None = None
        try:
            id, body = m.decode_request(fields)
            if not isinstance(body, m.Hello):
                raise Refused(Code.NOT_HELLO, "hello", "The first request must be a hello.")
            welcome = self._welcome(body)
            if not self._host.takes_in(self._caller):
                self.no_room()
                return False
            self._grant(id, welcome)
        except QEError as error:
            self._refuse(id, error)
            return False
        return True

    def _welcome(self, body: m.Hello) -> m.Welcome:
        if m.VERSION not in body.versions:
            raise Refused(
                Code.UNSUPPORTED_VERSION,
                "version",
                f"This host speaks version {m.VERSION} of the protocol.",
            )
        text.client(body.client)
        return self._host.welcome()

    async def _next(self) -> dict[str, Any] | None:
        """The next request. A client that is silent is asked for a sign, then told goodbye."""
        await self._outbox.calm()
        reading = asyncio.ensure_future(read_frame(self._reader, frames.LIMIT_TO_HOST))
        try:
            done, _ = await asyncio.wait({reading}, timeout=PING_AFTER)
            if not done:
                self.send(m.Ping())
                done, _ = await asyncio.wait({reading}, timeout=IDLE_AFTER - PING_AFTER)
            if not done:
                self.bye(ByeCode.IDLE, "Nothing was heard for a minute.")
                return None
            return None if self._ended else await reading
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _serve(self, fields: Mapping[str, Any]) -> None:
        id: int | None = None
        try:
            id, body = m.decode_request(fields)
            await self._perform(id, body)
        except QEError as error:
            self._refuse(id, error)
        except Exception as error:
            log.error("a request failed: %s", where(error))
            self._refuse(id, Refused(Code.INTERNAL, "internal", "The host made a mistake."))

    async def _perform(self, id: int, body: m.AnyBody) -> None:
        def answer(result: Result) -> None:
            self._grant(id, result)

        match body:
            case m.Hello():
                answer(self._welcome(body))
            case m.PingRequest():
                answer({"now": self._host.now()})
            case m.Tables():
                answer(self._host.list_tables())
            case m.Create():
                await self._host.create(self, body, answer)
            case m.Join():
                text.name(body.name)
                table = await self._let_in(body.table, body.password)
                await table.join(self, body.name, answer)
            case m.Watch():
                name = "" if body.name is None else text.name(body.name)
                table = await self._let_in(body.table, body.password)
                await table.watch(self, name, answer)
            case m.Resume():
                table = self._host.table(body.table)
                used = access.token_hash(body.token)
                try:
                    # Here already: wrong tokens shall not stand in the table's queue.
                    requests.resume(table.room, used, used)
                    await table.resume(self, body.token, answer)
                except Refused as error:
                    if error.code == Code.BAD_TOKEN:
                        await self._fail(body.table, error)
                    raise
            case _:
                if self.table is None:
                    raise Refused(Code.NOT_SEATED, "table", "You are at no table.")
                await self.table.request(self, body, answer)

    async def _let_in(self, code: str, password: str | None) -> Table:
        """The table, if this is its password. A right one always passes."""
        table = self._host.table(code)
        kept = table.room.password
        if kept is not None and not (
            password and await access.password_fits(password, kept, self.address)
        ):
            await self._fail(
                code, Refused(Code.WRONG_PASSWORD, "password", "That is not the table's password.")
            )
        return table

    async def _fail(self, code: str, error: Refused) -> NoReturn:
        """Says no; ever more slowly to an address that is often wrong about a table."""
        who = (self.address, code)
        if self._host.failures.take(who):
            raise error
        log.info("%s is wrong too often at table %s", self._caller.address, code)
        # One at a time: more connections are no more guesses.
        lock = self._host.guess_locks.setdefault(who, asyncio.Lock())
        async with lock:
            await asyncio.sleep(PATIENCE)
        raise Refused(Code.RATE_LIMITED, "failures", "That was wrong too often; try again later.")

    def _grant(self, id: int, result: Result) -> None:
        fields = msgspec.to_builtins(result) if isinstance(result, msgspec.Struct) else result
        self.send(m.Ok(id=id, result=dict(fields)))

    def _refuse(self, id: int | None, error: QEError) -> None:
        match error:
            case Refused():
                code, reason = error.code, error.reason
            case TextError():
                code, reason = Code.BAD_TEXT, error.reason
            case MessageError():
                code, reason = Code.BAD_MESSAGE, error.reason
                id = error.id if id is None else id
            case _:
                raise error
        log.info("refused to %s: %s", self._caller.address, code)
        self.send(m.Error(id=id, code=str(code), reason=reason, message=str(error)))

    async def _close(self) -> None:
        try:
            self._writer.close()
            async with asyncio.timeout(self._goodbye_within):
                await self._writer.wait_closed()
        except (TimeoutError, OSError):
            pass
        finally:
            abort(self._writer)


def _nothing() -> None:
    """What sends away a connection that has ended."""


def message_frame(message: m.Message) -> bytes:
    """A message's whole frame."""
    return frames.frame(frames.pack(m.encode_message(message)))
