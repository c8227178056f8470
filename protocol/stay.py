"""A place at a host, kept across lost connections: a seat, a spectator's place, or the door.

`Stay` opens a connection, remembers what was taken over it, and takes it again over the next
one. It is the part of a client that screens, computer players and tools stand on.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from protocol.client import Client, Timings, connect
from protocol.errors import (
    FINAL_BYES,
    ByeCode,
    CannotConnect,
    Code,
    ConnectionLost,
    Goodbye,
    LinkError,
    MessageError,
    Refused,
)
from protocol.messages import (
    Body,
    Create,
    Join,
    Leave,
    Reacted,
    Resume,
    Said,
    Seated,
    TableList,
    Tables,
    View,
    Watch,
    Welcome,
    decode_result,
)
from protocol.tokens import HeldSeat, Wallet
from protocol.trust import Pins

log = logging.getLogger(__name__)

_PASSING = frozenset({Code.RATE_LIMITED, Code.HOST_FULL, Code.NOT_SAVED, Code.INTERNAL})
"""Refusals of a resume that may be over at the next try. So may those of a later version."""

LATE = "late"
"""The reason of a host that had a newer connection by the same token: the token is good still."""

NAME_FREE_AFTER = 90.0
"""Seconds after which a name that a lost connection had is somebody else's if it is still taken.

A host finds out within a minute that a line is dead, and keeps the spectator's name till then.
"""

_REPEATED = 50
"""How many of the last things said a host sends again to those who come back."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is away. `sentence` says why; `retry_in` is seconds to the next try;
    `shut_down` whether the host took its leave: somebody has stopped it."""

    sentence: str
    retry_in: float
    shut_down: bool = False


@dataclass(frozen=True, slots=True)
class Back:
    """The connection stands again, and with it the place at the table."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds from one try to the next: `first`, then doubling to `longest`.

    Each wait is shortened at random by up to a half, so that not all clients of a host that was
    started anew come back at the same moment.
    """

    first: float = 0.5
    longest: float = 10.0

    def waits(self) -> Iterator[float]:
        """Seconds to wait before each try, without end."""
        wait = self.first
        while True:
            yield wait * random.uniform(0.5, 1.0)
            wait = min(2 * wait, self.longest)


class _Seat:
    """A seat taken here: its table, its newest usable token, and where that is kept."""

    def __init__(self, table: str, token: str, held: HeldSeat | None) -> None:
        self.table = table
        self.token = token
        self.held = held
        self.shown = False
        """Whether a view has come that shows us at it."""

    def renew(self, token: str) -> None:
        """Takes the new token, unless it should be kept in a file and that fails.

        The host lets the old token pass until the new one has been used.
        """
        if self.held is not None:
            try:
                self.held.keep(token)
            except OSError:
                log.warning("A seat token could not be written.", exc_info=True)
                if self.token != token and self.held.token == self.token:
                    return
        self.token = token

    def release(self) -> None:
        if self.held is not None:
            self.held.release()

    def forget(self) -> None:
        if self.held is not None:
            self.held.forget()


class Stay:
    """One place at a host.

    Args:
        address: a name or an IP address.
        port: TCP.
        tls: False only where the user has said so.
        pins: known certificates. The host's is pinned when a seat is taken or a table watched.
        wallet: where seat tokens are kept; without one they live as long as this object.
        fingerprint: the certificate to expect, from an invitation.
        host_id: the host to expect, where that is known beforehand.
        timeout: seconds that a connection may take to open.
        timings, backoff: how patient to be.
    """

    def __init__(
        self,
        address: str,
        port: int,
        *,
        tls: bool = True,
        pins: Pins | None = None,
        wallet: Wallet | None = None,
        fingerprint: str | None = None,
        host_id: str | None = None,
        timeout: float = 10.0,
        timings: Timings | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._address = address
        self._port = port
        self._tls = tls
        self._pins = pins
        self._wallet = wallet
        self._fingerprint = fingerprint
        self._host_id = host_id
        self._timeout = timeout
        self._timings = timings or Timings()
        self._backoff = backoff or Backoff()
        self._client: Client | None = None
        self._welcome: Welcome | None = None
        self._clock = 0
        self._since = 0.0
        self._place: _Seat | Watch | None = None
        self._found: dict[str, tuple[str, str]] = {}
        self._tidied_over: Client | None = None
        self._said: deque[Said] = deque(maxlen=_REPEATED)
        self._closing = asyncio.Event()

    # --- What it knows -------------------------------------------------------------------------

    @property
    def welcome(self) -> Welcome:
        """What the host last said of itself. After `open`."""
        if self._welcome is None:
            raise ConnectionLost("There has been no connection yet.")
        return self._welcome

    @property
    def fingerprint(self) -> str | None:
        """The host's certificate, SHA-256 in hex; None without TLS. After `open`."""
        return self._fingerprint

    @property
    def clock(self) -> int:
        """The host's clock less ours, in milliseconds, as the newest connection found it."""
        return self._clock

    def saved(self, table: str, name: str) -> str | None:
        """A token for this seat of this host; None where there is none, or it is in use.

        To be given to a `Resume`. After `open`.
        """
        if self._wallet is None or self._welcome is None:
            return None
        token = self._wallet.saved(self._welcome.host.id, table, name)
        if token is not None:
            self._found[_digest(token)] = (table, name)
        return token

    def seat_here(self, name: str) -> Join | None:
        """How one who watches a table asks for a seat at it, with the password that let them in;
        None for who does not watch one."""
        watch = self._place
        if not isinstance(watch, Watch):
            return None
        return Join(table=watch.table, name=name, password=watch.password)

    # --- What it does --------------------------------------------------------------------------

    async def open(self) -> Welcome:
        """Opens the first connection. Raises CannotConnect, FingerprintChanged and Goodbye."""
        self._admit(await self._connect())
        return self.welcome

    async def ask(self, body: Body) -> dict[str, Any]:
        """Sends a request and gives its result.

        What takes a place is remembered, and taken again over the next connection; a `Leave`
        ends that. A token that comes from `saved` is kept up to date in the wallet.

        Raises:
            Refused: the host said no; or the seat of a `Resume` is in use on this machine.
            ConnectionLost: there is no connection now, or it went before the answer came.
            Goodbye: the host closed the connection and said why.
        """
        client = self._client
        if client is None:
            raise ConnectionLost("There is no connection to the host now.")
        held, body = self._reclaimed(body)
        if isinstance(body, Join | Resume | Watch) and body.table != self._table:
            self._said.clear()
        try:
            result = await client.ask(body)
        except BaseException as error:
            if held is not None and _is_void(error):
                held.forget()
            elif held is not None:
                held.release()
            raise
        await self._remember(body, result, held, client)
        return result

    async def events(self) -> AsyncIterator[View | Said | Reacted | Lost | Back]:
        """What the host sends, and what becomes of the connection. For one reader.

        The connection is opened anew from in here, so it should be read as long as the place is
        to be kept. What was said before a loss is not repeated after it. Ends after `close`.

        Raises:
            Goodbye: the host does not want us back.
            FingerprintChanged: another certificate is shown at the address now.
            Refused: the seat, or the place as a spectator, cannot be taken again.
        """
        waits = self._backoff.waits()
        while not self._closing.is_set():
            shut_down = False
            try:
                while self._client is not None:
                    message = await self._client.next()
                    if isinstance(message, View):
                        self._follow(message)
                    if self._is_news(message):
                        yield message
                sentence = "There is no connection to the host."
            except LinkError as error:
                sentence = self._judged(error)
                shut_down = isinstance(error, Goodbye) and error.code == ByeCode.SHUTTING_DOWN
            await self._drop()
            lost_at = time.monotonic()
            if lost_at - self._since >= self._backoff.longest:
                waits = self._backoff.waits()
            while not self._closing.is_set():
                pause = next(waits)
                yield Lost(sentence, pause, shut_down)
                if await self._closed_within(pause):
                    return
                try:
                    await self._come_back()
                except (CannotConnect, ConnectionLost, Goodbye) as error:
                    sentence = self._judged(error)
                except Refused as refused:
                    if self._is_own_name(refused) and time.monotonic() - lost_at < NAME_FREE_AFTER:
                        sentence = "The host has yet to notice that the old connection has gone."
                    elif _may_pass(refused):
                        sentence = str(refused)
                    else:
                        if _is_void(refused):
                            self._give_up()
                        raise
                else:
                    yield Back()
                    break

    async def close(self) -> None:
        """Closes the connection; the seat is kept, and its token. May be called again."""
        self._closing.set()
        if isinstance(self._place, _Seat):
            self._place.release()
        self._place = None
        await self._drop()

    @property
    def _table(self) -> str | None:
        return self._place.table if self._place is not None else None

    # --- Places --------------------------------------------------------------------------------

    def _reclaimed(self, body: Body) -> tuple[HeldSeat | None, Body]:
        """For a `Resume` with a token of the wallet: its file, held, and the newest token."""
        if self._wallet is None or not isinstance(body, Resume):
            return None, body
        seat = self._found.get(_digest(body.token))
        if seat is None:
            return None, body
        table, name = seat
        held = self._wallet.hold(self.welcome.host.id, table, name)
        if held is None:
            raise Refused(
                Code.ALREADY_SEATED, "in_use", "This seat is in use by a program on this machine."
            )
        return held, Resume(table=body.table, token=held.token or body.token)

    async def _remember(
        self, body: Body, result: dict[str, Any], held: HeldSeat | None, client: Client
    ) -> None:
        match body:
            case Create() | Join() | Resume():
                try:
                    seated = decode_result(result, Seated)
                except MessageError:
                    if held is not None:
                        held.release()
                    await client.close()
                    raise ConnectionLost("The host gave an answer that makes no sense.") from None
                table = seated.table if isinstance(body, Create) else body.table
                self._leave_place()
                if held is None and not isinstance(body, Resume):
                    held = self._hold(table, body.name)
                old = body.token if isinstance(body, Resume) else seated.token
                seat = _Seat(table, old, held)
                seat.renew(seated.token)
                self._place = seat
                self._pin()
            case Watch():
                self._leave_place()
                self._place = body
                self._pin()
            case Leave():
                self._give_up()
                self._said.clear()
            case Tables() if client is not self._tidied_over:
                self._tidied_over = client
                self._tidy(result)

    def _tidy(self, result: dict[str, Any]) -> None:
        """Tokens of tables that are gone are of no use to anybody."""
        if self._wallet is None:
            return
        with contextlib.suppress(MessageError, OSError):
            tables = {info.table for info in decode_result(result, TableList).tables}
            self._wallet.tidy(self.welcome.host.id, tables)

    def _follow(self, view: View) -> None:
        """Makes a spectator of one whose seat has gone while they were here, as a standing
        table's does from those who do not keep it."""
        seat = self._place
        if not isinstance(seat, _Seat) or view.table != seat.table:
            return
        if view.room.me is not None:
            seat.shown = True
        elif seat.shown:  # else it is a view of before the seat was taken
            self._give_up()
            self._place = Watch(table=view.table)

    def _hold(self, table: str, name: str) -> HeldSeat | None:
        if self._wallet is None:
            return None
        held = self._wallet.hold(self.welcome.host.id, table, name)
        if held is None:
            log.warning("The token of a seat at table %s is not kept.", table)
        return held

    def _leave_place(self) -> None:
        """Another place has been taken; a seat is kept for whoever resumes it later."""
        if isinstance(self._place, _Seat):
            self._place.release()
        self._place = None

    def _give_up(self) -> None:
        """The place is gone for good."""
        if isinstance(self._place, _Seat):
            self._place.forget()
        self._place = None

    def _pin(self) -> None:
        if self._pins is None or self._fingerprint is None:
            return
        try:
            self._pins.pin(self.welcome.host.id, self._address, self._port, self._fingerprint)
        except OSError:
            log.warning("The host's certificate could not be pinned.", exc_info=True)

    # --- Connections ---------------------------------------------------------------------------

    async def _connect(self) -> Client:
        return await connect(
            self._address,
            self._port,
            tls=self._tls,
            pins=self._pins,
            fingerprint=self._fingerprint,
            host_id=self._host_id,
            timeout=self._timeout,
            timings=self._timings,
        )

    def _admit(self, client: Client) -> None:
        """From here on this is the connection, and this host the only one to come back to."""
        self._client = client
        self._since = time.monotonic()
        self._welcome = client.welcome
        self._clock = client.clock
        self._fingerprint = client.fingerprint
        self._host_id = client.welcome.host.id

    async def _come_back(self) -> None:
        """A new connection, and the place taken again. Raises LinkError and Refused."""
        client = await self._connect()
        try:
            if client.welcome.host.id != self._host_id:
                # A token is for the host that gave it, and without TLS nothing else tells.
                raise CannotConnect("Another host answers at this address.")
            await self._take_place(client)
        except BaseException:
            await client.close()
            raise
        if self._closing.is_set():
            await client.close()
            return
        self._admit(client)

    async def _take_place(self, client: Client) -> None:
        match self._place:
            case _Seat() as seat:
                result = await client.ask(Resume(table=seat.table, token=seat.token))
                try:
                    seat.renew(decode_result(result, Seated).token)
                except MessageError as error:
                    raise ConnectionLost(str(error)) from None
            case Watch() as watch:
                await client.ask(watch)

    def _is_own_name(self, refused: Refused) -> bool:
        """Whether a spectator is refused for a name that their own dead connection may have."""
        return refused.code == Code.NAME_TAKEN and isinstance(self._place, Watch)

    def _judged(self, error: LinkError) -> str:
        """Why the connection is away, as a sentence; raises the error where it is final."""
        if isinstance(error, Goodbye) and error.code in FINAL_BYES:
            if error.code != ByeCode.REPLACED:
                self._give_up()
            raise error
        return str(error) or "The host closed the connection."

    async def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _closed_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        return self._closing.is_set()

    def _is_news(self, message: View | Said | Reacted) -> bool:
        """Whether it is not one of the last things said, which a host repeats at each arrival."""
        if not isinstance(message, Said):
            return True
        if message in self._said:
            return False
        self._said.append(message)
        return True


def _digest(token: str) -> str:
    """Tells tokens apart without holding them where a dump would show them."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _may_pass(refused: Refused) -> bool:
    """Whether it is worth another try over another connection."""
    return refused.code in _PASSING or refused.code not in set(Code) or refused.reason == LATE


def _is_void(error: BaseException) -> bool:
    """Whether a resume was refused because the token is no seat's any more.

    A table that is unknown may be one that its host cannot open now, and can another time.
    """
    return isinstance(error, Refused) and error.code == Code.BAD_TOKEN and error.reason != LATE
