"""The doors of a host: where it listens, and how a connection comes in.

Connections are accepted here one by one, and counted before anything else is done for them, so
that half-finished TLS handshakes are bounded too.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Awaitable, Callable

from server import session
from server.callers import Caller, Callers, origin
from server.safelog import where

log = logging.getLogger(__name__)

BACKLOG = 1024
"""Connections that the system holds until they are accepted."""

ACCEPT_AGAIN = 0.5
"""Seconds until the next try where a connection could not be accepted."""

TRIES = 20
"""How often a free port is looked for that all addresses have in common."""

TLS_BUFFER = 16_384
"""Bytes that a TLS connection reads at once: a record of TLS. asyncio keeps a buffer of that size
for each, of 256 KiB unless told otherwise, which is half a gigabyte for two thousand."""

_ABSENT = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT, errno.ENOPROTOOPT}
"""What says that a machine has no such family of addresses."""

Serve = Callable[[Caller, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Doors:
    """Listens, and hands on each connection after its handshake."""

    def __init__(self, serve: Serve, callers: Callers, tls: ssl.SSLContext | None) -> None:
        self._serve = serve
        self._callers = callers
        self._tls = tls
        self.sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._coming: set[asyncio.Task[None]] = set()
        """Those in their handshakes."""

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [sock.getsockname()[:2] for sock in self.sockets]

    async def open(self, bind: str | None, port: int) -> None:
        """Listens at an address, or at all of both families where it is None; port 0 is any free
        one. Raises OSError where the address cannot be had."""
        SSLProtocol.max_size = TLS_BUFFER
        self.sockets = await listening(bind, port)
        self._accepting = [
            asyncio.create_task(self._accept(sock), name="door") for sock in self.sockets
        ]

    async def close(self) -> None:
        """Lets nobody in any more, and drops those who are in their handshakes."""
        tasks = [*self._accepting, *self._coming]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for sock in self.sockets:
            sock.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        complained = False
        while True:
            try:
                sock, address = await loop.sock_accept(listening)
                try:
                    self._admit(sock, str(address[0]))
                except BaseException:
                    sock.close()
                    raise
                complained = False
            except ConnectionError:  # the newcomer has gone already
                pass
            except Exception as error:
                # Out of files or memory, mostly. The newcomers wait in the system's backlog.
                if not complained:
                    why = (isinstance(error, OSError) and error.strerror) or where(error)
                    log.warning("connections cannot be accepted now: %s", why)
                complained = True
                await asyncio.sleep(ACCEPT_AGAIN)
            # `sock_accept` does not yield while others stand in line.
            await asyncio.sleep(0)

    def _admit(self, sock: socket.socket, address: str) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        caller = Caller(address, origin(address), now, now + session.HELLO_WITHIN)
        evicted = self._callers.arrived(caller)
        if evicted is not None:
            log.info("%s makes room: too many have not said hello", evicted.address)
            evicted.send_away()
        task = loop.create_task(self._come(caller, sock), name="door")
        caller.send_away = task.cancel
        self._coming.add(task)
        task.add_done_callback(lambda _: self._over(task, caller, sock))

    def _over(self, task: asyncio.Task[None], caller: Caller, sock: socket.socket) -> None:
        self._coming.discard(task)
        self._callers.left(caller)
        if sock.fileno() != -1:
            sock.close()  # sent away before it began

    async def _come(self, caller: Caller, sock: socket.socket) -> None:
        """One connection: its handshake, and all that follows."""
        task = asyncio.current_task()
        assert task is not None
        try:
            async with asyncio.timeout_at(caller.hello_by):
                reader, writer = await self._streams(sock)
        except (OSError, TimeoutError) as error:
            log.info("no handshake with %s: %s", caller.address, type(error).__name__)
            return
        self._coming.discard(task)
        await self._serve(caller, reader, writer)

    async def _streams(
        self, sock: socket.socket
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Raises OSError where the handshake fails."""
        loop = asyncio.get_running_loop()
        sock.setblocking(False)
        # Bids are small and urgent. Whether the other side lives is seen by pings, sooner than
        # by the system's keep-alives.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            sock,
            ssl=self._tls,
            ssl_handshake_timeout=session.HELLO_WITHIN if self._tls else None,
        )
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def listening(bind: str | None, port: int) -> list[socket.socket]:
    """Sockets that listen at an address or name, or at all of both families; IPv4 first.

    All have the same port. A family that the machine has not is left out. Raises OSError.
    """
    if not bind:
        addresses = [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")]
    else:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        addresses = sorted({(family, _scoped(at)) for family, *_, at in found})
    for left in reversed(range(TRIES)):
        try:
            return _all_listening(addresses, port)
        except OSError as error:
            if port or not left or error.errno != errno.EADDRINUSE:
                raise
    raise AssertionError("the last try raises or returns")


def _scoped(address: tuple[str | int, ...] | tuple[int, bytes]) -> str:
    """The address, and where it is a link-local one its interface."""
    scope = address[3] if len(address) == 4 else 0
    return f"{address[0]!s}%{scope}" if scope else str(address[0])


def _all_listening(
    addresses: list[tuple[socket.AddressFamily, str]], port: int
) -> list[socket.socket]:
    made: list[socket.socket] = []
    absent: OSError | None = None
    for family, address in addresses:
        try:
            # One socket a family: IPv4 addresses look the same whatever the machine's settings.
            sock = socket.create_server((address, port), family=family, backlog=BACKLOG)
        except OSError as error:
            if error.errno in _ABSENT:
                absent = error
                continue
            for one in made:
                one.close()
            raise
        sock.setblocking(False)
        made.append(sock)
        port = sock.getsockname()[1]
    if not made:
        assert absent is not None
        raise absent
    return made
