"""Connections to a broker: opened, closed in time, and what goes wrong said in a sentence.

The library is aiomqtt, which is asyncio-mqtt under its present name. It watches its socket with
the event loop's `add_reader`, which the usual loop of Windows does not have: see `loop_factory`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from aiomqtt import Client, Message, MqttError, Will
from aiomqtt.exceptions import MqttConnectError

from protocol.broker import Broker
from protocol.errors import LinkError
from protocol.text import printable

KEEPALIVE = 10
"""Seconds. A broker speaks a host's last will after one and a half of these without a word."""

ANSWER_WITHIN = 4.0
"""Seconds that a broker has to let us in."""

CLOSE_WITHIN = 1.0
"""Seconds for saying goodbye to a broker."""

_REFUSED = frozenset({4, 5, 0x86, 0x87})
"""CONNACK: bad user name or password, not authorized; in the numbers of MQTT 3 and of MQTT 5."""

_NOT_GRANTED = 0x80
"""From this number on, what answers a subscription is a refusal."""

_SAID_BETTER = {
    "Disconnected during message iteration": "it was lost",
    "Operation timed out": "it does not answer",
    "timed out": "it does not answer",
}

# The library tells of each lost connection at length; here that is one sentence of the caller's.
_quiet = logging.getLogger("qe.mqtt")
_quiet.setLevel(logging.CRITICAL)


class BrokerAway(LinkError):
    """There is no connection to the broker. `refused`: it does not want this user or password."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes an event loop that a broker can be spoken to on; None: any one will do."""
    return asyncio.SelectorEventLoop if sys.platform == "win32" else None


def can_run() -> bool:
    """Whether the event loop that runs now is one to speak to a broker on."""
    proactor = getattr(asyncio, "ProactorEventLoop", None)
    return proactor is None or not isinstance(asyncio.get_running_loop(), proactor)


@contextlib.asynccontextmanager
async def connected(
    broker: Broker,
    *,
    identifier: str | None = None,
    will: Will | None = None,
    queue: type[asyncio.Queue[Message]] | None = None,
    most_unread: int = 0,
) -> AsyncIterator[Client]:
    """A connection. What goes wrong with it, inside the `async with` too, is BrokerAway.

    Args:
        identifier: the client's; a newer connection of the same one ends the older.
        queue: where messages wait that nobody has read yet.
        most_unread: how many of them, 0 for any number; what comes then is lost.
    """
    client = _Client(
        broker.address,
        broker.port,
        username=broker.user,
        password=broker.password,
        identifier=identifier,
        will=will,
        keepalive=KEEPALIVE,
        timeout=ANSWER_WITHIN,
        tls_context=await asyncio.to_thread(ssl.create_default_context) if broker.tls else None,
        queue_type=queue,
        max_queued_incoming_messages=most_unread,
        socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        logger=_quiet,
    )
    try:
        await _open(client)
        try:
            yield client
        finally:
            await _close(client)
    except MqttError as error:
        raise _away(broker, error) from None


class _Client(Client):
    """The library's client, but for how it is hung on the event loop.

    The library has the loop watch a file descriptor some time after it was told of the socket,
    which may be closed by then. The loop would be busy with that for ever, or the descriptor may
    be another connection's already: a player's.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._client.connect_timeout = ANSWER_WITHIN

    def _on_socket_open(self, client: Any, userdata: Any, sock: Any) -> None:
        # In the thread that connects.
        def begin() -> None:
            if sock.fileno() >= 0:
                self._loop.add_reader(sock.fileno(), self._read)
                self._misc_task = self._loop.create_task(self._misc_loop())

        self._loop.call_soon_threadsafe(begin)

    def _on_socket_close(self, client: Any, userdata: Any, sock: Any) -> None:
        if not self._loop.is_closed():  # a connection that was opened in vain may outlive it
            super()._on_socket_close(client, userdata, sock)

    def _on_socket_register_write(self, client: Any, userdata: Any, sock: Any) -> None:
        def begin() -> None:
            if sock.fileno() >= 0:
                self._loop.add_writer(sock.fileno(), self._write)

        self._loop.call_soon_threadsafe(begin)

    def _read(self) -> None:
        with self._to_the_end():
            self._client.loop_read()
            # What TLS has decoded already makes no socket readable.
            while isinstance(sock := self._client.socket(), ssl.SSLSocket) and sock.pending():
                self._client.loop_read()

    def _write(self) -> None:
        with self._to_the_end():
            self._client.loop_write()

    def hang_up(self) -> None:
        """Ends what may be left of the connection: the library leaves sockets open that wait for a
        broker which does not answer."""
        if self._disconnected.done() and not self._disconnected.cancelled():
            self._disconnected.exception()  # seen, whoever else looked
        left = self._client.socket()
        if isinstance(left, socket.socket):
            with contextlib.suppress(OSError):
                left.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _to_the_end(self) -> Iterator[None]:
        """Whatever goes wrong ends the connection."""
        try:
            yield
        except Exception as error:
            if not self._disconnected.done():
                self._disconnected.set_exception(error)


async def subscribed(client: Client, *topics: str, qos: int) -> bool:
    """Asks for topics. False where the broker does not let this user read all of them."""
    granted = await client.subscribe([(topic, qos) for topic in topics])
    return all(getattr(code, "value", code) < _NOT_GRANTED for code in granted)


async def _open(client: _Client) -> None:
    """Opens the connection. A thread does that, which ends by itself only: after a cancellation
    what it opens is closed when it comes."""
    opening = asyncio.ensure_future(client.__aenter__())
    try:
        await asyncio.shield(opening)
    except asyncio.CancelledError:
        client.hang_up()
        opening.add_done_callback(lambda done: _opened_in_vain(client, done))
        raise
    except UnicodeError:
        raise MqttError("this is no address") from None
    except MqttError:
        client.hang_up()
        raise


async def _close(client: _Client) -> None:
    with contextlib.suppress(MqttError, TimeoutError):
        async with asyncio.timeout(CLOSE_WITHIN):
            await client.__aexit__(None, None, None)
    client.hang_up()


def _opened_in_vain(client: _Client, opening: asyncio.Future[Any]) -> None:
    if not opening.cancelled():
        opening.exception()
    client.hang_up()


def _away(broker: Broker, error: MqttError) -> BrokerAway:
    if isinstance(error, MqttConnectError):
        code = getattr(error.rc, "value", error.rc)
        if code in _REFUSED:
            return BrokerAway(
                f"The broker {broker} refuses the user or the password.", refused=True
            )
        return BrokerAway(f"The broker {broker} does not let us in ({printable(str(error))[:80]}).")
    # An OSError comes as its text alone.
    why = re.sub(r"\A\[[^\]]*\] ", "", printable(str(error)))[:120].rstrip(".")
    why = _SAID_BETTER.get(why, why)
    return BrokerAway(f"There is no connection to the broker {broker} ({why}).")
