"""One connection to a host, without a screen: open it, ask, and take what comes.

A lost connection stays lost here; `protocol.stay` is what comes back. Messages and fields that
are not known are passed over, as docs/protocol.md asks of a client.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import itertools
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NoReturn

from protocol.errors import (
    CannotConnect,
    Code,
    ConnectionLost,
    FrameError,
    Goodbye,
    LinkError,
    MessageError,
    Refused,
)
from protocol.frames import HEADER_SIZE, LIMIT_FROM_HOST, LIMIT_TO_HOST, request_frame
from protocol.inbox import Inbox, fit_to_show, remote_text
from protocol.messages import (
    VERSION,
    Body,
    Bye,
    Error,
    Hello,
    Ok,
    Ping,
    PingRequest,
    Reacted,
    Said,
    View,
    Welcome,
    decode_message,
    decode_result,
)
from protocol.opening import check_fingerprint, open_stream, shown_fingerprint
from protocol.stream import abort, read_frame
from protocol.trust import Pins, address_key

log = logging.getLogger(__name__)

_MAX_HOST_ID = 128


@dataclass(frozen=True, slots=True)
class Timings:
    """How long to wait, in seconds.

    `answer`: for the answer to a request. `silence`: without a word from the host, before it is
    asked for a sign of life. `sign`: for that sign. `closing`: for an orderly close.
    """

    answer: float = 15.0
    silence: float = 45.0
    sign: float = 15.0
    closing: float = 1.0


async def connect(
    address: str,
    port: int,
    *,
    tls: bool = True,
    pins: Pins | None = None,
    fingerprint: str | None = None,
    host_id: str | None = None,
    timeout: float = 10.0,  # noqa: ASYNC109 (for all steps together)
    timings: Timings | None = None,
) -> Client:
    """Opens a connection, checks whose it is, and says hello.

    Nothing is pinned: whoever takes a seat or watches a table pins (as `Stay` does).

    Args:
        address: a name or an IP address.
        port: TCP.
        tls: False only where the user has said so; there is no way back from TLS to plain TCP.
        pins: the certificates known so far.
        fingerprint: the certificate to expect, from an invitation; SHA-256 in hex.
        host_id: the host to expect, where that is known before it says so itself.
        timeout: seconds for all of it.
        timings: for the connection afterwards.

    Raises:
        CannotConnect: nobody answers, or not in our language; the message is for the user.
        FingerprintChanged: another certificate than the one expected or pinned.
        Goodbye: the host closed at once, and said why.
    """
    where = address_key(address, port)
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await open_stream(address, port, tls)
            try:
                shown = shown_fingerprint(writer) if tls else None
                if shown is not None:
                    check_fingerprint(address, port, shown, pins, fingerprint, host_id)
                client = Client(reader, writer, shown, timings or Timings())
            except BaseException:
                abort(writer)
                raise
            try:
                await client._say_hello(where, tls)
                if shown is not None:
                    check_fingerprint(address, port, shown, pins, None, client.welcome.host.id)
            except BaseException:
                await client._abort()
                raise
    except TimeoutError:
        raise CannotConnect(f"{where} does not answer.") from None
    return client


class Client:
    """An open connection. Made by `connect`."""

    welcome: Welcome
    """What the host said of itself: hostile text but for its id, which is short."""
    clock: int = 0
    """The host's clock less ours, in milliseconds."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        fingerprint: str | None,
        timings: Timings,
    ) -> None:
        self.fingerprint = fingerprint
        """The host's certificate, SHA-256 in hex; None without TLS."""
        self._reader = reader
        self._writer = writer
        self._timings = timings
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pings: set[int] = set()
        self._inbox = Inbox()
        self._end: Callable[[], LinkError] | None = None
        self._heard = time.monotonic()
        self._tasks = (
            asyncio.create_task(self._guarded(self._listen()), name="client listens"),
            asyncio.create_task(self._guarded(self._watch_silence()), name="client's watch"),
        )

    # --- For users of the connection -------------------------------------------------------

    async def ask(self, body: Body) -> dict[str, Any]:
        """Sends a request and gives its result.

        Raises:
            Refused: the host said no, or the request cannot be put on the wire at all.
            ConnectionLost: the connection went, or no answer came in time.
            Goodbye: the host closed the connection and said why.
        """
        return await self._ask(body, self._timings.answer)

    async def next(self) -> View | Said | Reacted:
        """What the host has sent unasked, in order; of unread views only the latest.

        Raises ConnectionLost or Goodbye once everything that came before has been read.
        """
        message = await self._inbox.get()
        if message is None:
            self._raise_end()
        return message

    @property
    def ended(self) -> bool:
        """Whether the connection is over."""
        return self._end is not None

    async def close(self) -> None:
        """Closes the connection. Waiting requests get ConnectionLost. May be called again."""
        self._finish(_closed_here, at_once=False)
        await self._stop_tasks()
        self._writer.close()
        try:
            async with asyncio.timeout(self._timings.closing):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            abort(self._writer)

    # --- Hello ---------------------------------------------------------------------------------

    async def _say_hello(self, where: str, tls: bool) -> None:
        """Fills `welcome` and `clock`. Raises CannotConnect and Goodbye."""
        before = time.time()
        try:
            result = await self.ask(Hello(versions=[VERSION], client=_client_name()))
            after = time.time()
            welcome = decode_result(result, Welcome)
        except Refused as refused:
            raise CannotConnect(f"{where} refuses this version: {refused}") from None
        except MessageError:
            raise CannotConnect(f"{where} is not a QE host.") from None
        except ConnectionLost:
            raise CannotConnect(
                f"{where} accepts the connection but is not a QE host."
                if tls
                else f"{where} does not answer without TLS; it is no QE host, or it speaks TLS, "
                "as hosts do unless they were started with --no-tls."
            ) from None
        if welcome.version != VERSION or not 1 <= len(welcome.host.id) <= _MAX_HOST_ID:
            raise CannotConnect(f"{where} is not a QE host of a version known here.")
        self.welcome = welcome
        self.clock = welcome.now - round((before + after) * 500)

    # --- Asking --------------------------------------------------------------------------------

    async def _ask(self, body: Body, patience: float) -> dict[str, Any]:
        if self._end is not None:
            self._raise_end()
        id = next(self._ids)
        self._send(id, body)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[id] = answer
        try:
            async with asyncio.timeout(patience):
                return await answer
        except TimeoutError:
            self._finish(lambda: ConnectionLost("The host does not answer any more."))
            self._raise_end()
        finally:
            self._asked.pop(id, None)

    def _send(self, id: int, body: Body) -> None:
        """Puts a request on its way. Raises Refused where it cannot be put into a frame."""
        try:
            frame = request_frame(id, body)
        except (UnicodeError, OverflowError, ValueError, TypeError):
            raise Refused(
                Code.BAD_MESSAGE, "unsendable", "This contains something that cannot be sent."
            ) from None
        if len(frame) - HEADER_SIZE > LIMIT_TO_HOST:
            raise Refused(Code.BAD_MESSAGE, "too_large", "This is too long to be sent.")
        self._writer.write(frame)

    # --- Listening -----------------------------------------------------------------------------

    async def _listen(self) -> None:
        try:
            while (fields := await read_frame(self._reader, LIMIT_FROM_HOST)) is not None:
                self._heard = time.monotonic()
                message = decode_message(fields)
                if message is not None:
                    self._take(message)
                if self._end is not None:
                    return
            self._finish(lambda: ConnectionLost("The host closed the connection."))
        except (FrameError, MessageError):
            self._finish(lambda: ConnectionLost("The host sent something that makes no sense."))
        except ConnectionError:
            self._finish(lambda: ConnectionLost("The connection broke."))

    def _take(self, message: Ok | Error | View | Said | Reacted | Ping | Bye) -> None:
        match message:
            case Ok(id=id, result=result):
                self._pings.discard(id)
                answer = self._asked.get(id)
                if answer is not None and not answer.done():
                    answer.set_result(result)
            case Error(id=int(id)):
                self._pings.discard(id)
                answer = self._asked.get(id)
                if answer is not None and not answer.done():
                    answer.set_exception(
                        Refused(message.code, message.reason, remote_text(message.message))
                    )
            case Error():
                log.warning("The host could not read a request: %s", remote_text(message.code))
            case Ping():
                # One unanswered sign of life is enough, however often a host asks for one.
                if not self._pings:
                    id = next(self._ids)
                    self._pings.add(id)
                    self._send(id, PingRequest())
            case Bye(code=code, message=text):
                sentence = remote_text(text)
                self._finish(lambda: Goodbye(code, sentence))
            case View() | Said() | Reacted():
                self._inbox.put(fit_to_show(message))

    async def _watch_silence(self) -> None:
        """Asks a silent host for a sign of life: a dead line looks like a quiet one."""
        while self._end is None:
            quiet = time.monotonic() - self._heard
            if quiet < self._timings.silence:
                await asyncio.sleep(self._timings.silence - quiet)
                continue
            with contextlib.suppress(Refused):
                await self._ask(PingRequest(), self._timings.sign)

    # --- The end -------------------------------------------------------------------------------

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a task of this connection: whatever ends it, ends the connection too."""
        try:
            await work
        except LinkError:
            pass  # by then everybody has been told by `_finish`
        except Exception:
            log.exception("A fault in the client; the connection is given up.")
            self._finish(lambda: ConnectionLost("The connection was given up after a fault here."))

    def _finish(self, end: Callable[[], LinkError], *, at_once: bool = True) -> None:
        """The connection is over; the first reason counts."""
        if self._end is not None:
            return
        self._end = end
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(end())
        self._inbox.close()
        if at_once:
            # `close` would wait for a host that may never read what is still to be sent.
            abort(self._writer)

    def _raise_end(self) -> NoReturn:
        raise (self._end or _closed_here)()

    async def _stop_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def _abort(self) -> None:
        self._finish(_closed_here)
        await self._stop_tasks()


def _closed_here() -> LinkError:
    return ConnectionLost("The connection was closed here.")


def _client_name() -> str:
    try:
        return f"qe-tui {importlib.metadata.version('qe-tui')}"
    except importlib.metadata.PackageNotFoundError:
        return "qe-tui"
