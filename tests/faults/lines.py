"""A player's place at a host over lines that break: a client of the wire alone, and `Stay`.

Both have the newest view, the number of connections over which the place has been taken so far,
and one way to ask. What is asked is done, refused, or nobody knows: `AwayError`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from random import Random
from typing import Any, Protocol

import msgspec
from wire import Connection, GoneError, RefusedError

from protocol import messages as m
from protocol.client import Timings
from protocol.errors import CannotConnect, ConnectionLost, Goodbye, Refused
from protocol.messages import Body, View
from protocol.stay import Back, Backoff, Stay

Fields = dict[str, Any]

BODIES: dict[str, type[Body]] = {
    "create": m.Create, "join": m.Join, "watch": m.Watch, "leave": m.Leave, "add_bot": m.AddBot,
    "start": m.Start, "act": m.Act, "say": m.Say, "react": m.React, "rematch": m.Rematch,
    "pause": m.Pause, "tables": m.Tables, "ping": m.PingRequest, "stand_in": m.StandIn,
}  # fmt: skip

SHORT = Timings(answer=1.5, silence=1.5, sign=1.0, closing=0.2)
"""Patience for lines that go dead within a test. What a program has is much longer."""

HASTE = Backoff(first=0.05, longest=0.4)


class AwayError(Exception):
    """The connection was or went away; whether the request was done is not known."""


class NoError(Exception):
    """The host refused."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Where(Protocol):
    """What a line connects to."""

    @property
    def port(self) -> int: ...
    @property
    def tls(self) -> bool: ...
    @property
    def fingerprint(self) -> str | None: ...


class Line:
    """What both kinds have. `fault` is why the place is lost for good."""

    def __init__(self) -> None:
        self.epoch = 0
        self.view: Fields | None = None
        self.view_epoch = 0
        self.tokens: list[str] = []
        self.lost_resumes = 0
        self.fault: BaseException | None = None
        self._changed = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """The first connection. Raises AwayError."""
        raise NotImplementedError

    async def ask(self, kind: str, **fields: Any) -> Fields:
        """Raises AwayError and NoError."""
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    async def next(self) -> tuple[Fields, int]:
        """The newest view, once it is another one, and the epoch that it came in."""
        await self._changed.wait()
        self._changed.clear()
        if self.fault is not None:
            raise self.fault
        assert self.view is not None
        return self.view, self.view_epoch

    def _show(self, view: Fields) -> None:
        self.view, self.view_epoch = view, self.epoch
        self._changed.set()

    def _fail(self, fault: BaseException) -> None:
        self.fault = fault
        self._changed.set()


class RawLine(Line):
    """A client made from docs/protocol.md alone, which comes back by itself."""

    def __init__(self, where: Where, rng: Random, patience: float = 2.0) -> None:
        super().__init__()
        self._where, self._rng, self._patience = where, rng, patience
        self._link: Connection | None = None
        self._table = ""

    async def open(self) -> None:
        try:
            self._link = await self._connected()
        except (OSError, TimeoutError, GoneError):
            raise AwayError from None
        self.epoch = 1
        self._keeper = asyncio.create_task(self._keep())

    async def ask(self, kind: str, **fields: Any) -> Fields:
        link = self._link
        if link is None:
            raise AwayError
        try:
            result = await self._asked(link, kind, **fields)
        except RefusedError as error:
            raise NoError(error.code) from None
        except (GoneError, TimeoutError):
            await self._drop(link)
            raise AwayError from None
        if "token" in result:
            self._table = result.get("table", fields.get("table"))
            self.tokens.append(result["token"])
        return result

    async def close(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        if self._link is not None:
            await self._drop(self._link)

    # --- The line ------------------------------------------------------------------------------

    async def _connected(self) -> Connection:
        where = self._where
        link = await Connection.open(
            where.port, tls=where.tls, fingerprint=where.fingerprint, hello=False,
            patience=self._patience,
        )  # fmt: skip
        try:
            await self._asked(link, "hello", versions=[1], client="a line")
            return link
        except BaseException:
            await _end(link)
            raise

    async def _asked(self, link: Connection, kind: str, **fields: Any) -> Fields:
        """Raises RefusedError, GoneError, TimeoutError."""
        try:
            async with asyncio.timeout(self._patience):
                return await link.ask(kind, **fields)
        except AssertionError as fault:
            if _cut_short(fault):
                raise GoneError("cut") from None
            raise

    async def _keep(self) -> None:
        try:
            while True:
                if (link := self._link) is not None:
                    await self._listen(link)
                    await self._drop(link)
                await asyncio.sleep(self._rng.uniform(0.01, 0.1))
                with contextlib.suppress(OSError, TimeoutError, GoneError):
                    await self._come_back()
        except asyncio.CancelledError:
            raise
        except BaseException as fault:
            self._fail(fault)

    async def _come_back(self) -> None:
        link = await self._connected()
        try:
            if self.tokens:
                made = await self._asked(link, "resume", table=self._table, token=self.tokens[-1])
                self.tokens.append(made["token"])
        except BaseException as error:
            self.lost_resumes += isinstance(error, GoneError | TimeoutError)
            await _end(link)
            raise
        self.epoch += 1
        self._link = link

    async def _listen(self, link: Connection) -> None:
        """Takes views until the line is dead; a quiet one is asked for a sign of life."""
        while not link.ended:
            try:
                async with asyncio.timeout(self._patience):
                    self._show((await link.view()).fields)
                    continue
            except TimeoutError:
                pass
            except (GoneError, AssertionError) as error:
                if isinstance(error, AssertionError) and not _cut_short(error):
                    raise
                return
            try:
                await self._asked(link, "ping")
            except (GoneError, TimeoutError):
                return

    async def _drop(self, link: Connection) -> None:
        if self._link is link:
            self._link = None
        await _end(link)


def _cut_short(fault: BaseException) -> bool:
    return str(fault).startswith("half a frame")


async def _end(link: Connection) -> None:
    try:
        await link.close()
    except AssertionError as fault:
        if not _cut_short(fault):
            raise


class StayLine(Line):
    """The client that the screens stand on."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self._stay = Stay(
            "127.0.0.1", where.port, tls=where.tls, fingerprint=where.fingerprint,
            timeout=3.0, timings=SHORT, backoff=HASTE,
        )  # fmt: skip
        self.losses = 0

    async def open(self) -> None:
        try:
            await self._stay.open()
        except (CannotConnect, ConnectionLost, Goodbye):
            await self._stay.close()
            raise AwayError from None
        self.epoch = 1
        self._keeper = asyncio.create_task(self._keep())

    async def ask(self, kind: str, **fields: Any) -> Fields:
        try:
            result = await self._stay.ask(BODIES[kind](**fields))
        except Refused as error:
            raise NoError(str(error.code)) from None
        except (ConnectionLost, Goodbye):
            raise AwayError from None
        if "token" in result:
            self.tokens.append(result["token"])
        return result

    async def close(self) -> None:
        await self._stay.close()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)

    async def _keep(self) -> None:
        try:
            async for event in self._stay.events():
                match event:
                    case Back():
                        self.epoch += 1
                        self.tokens.append(getattr(self._stay._place, "token", ""))
                    case View():
                        self._show(msgspec.to_builtins(event))
                    case _:
                        self.losses += type(event).__name__ == "Lost"
        except asyncio.CancelledError:
            raise
        except BaseException as fault:
            self._fail(fault)


def token_hash(token: str) -> bytes:
    """How a journal has a token."""
    return hashlib.sha256(token.encode()).digest()
