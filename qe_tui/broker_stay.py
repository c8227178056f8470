"""A place to watch a table from, through a broker: the host does not know of it. No Textual here.

It has the face of `protocol.stay.Stay`, and nothing can be asked over it: views come, and the end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from aiomqtt import Message

from protocol.broker import Broker, HostCard, host_topic, read_card, table_topic
from protocol.errors import CannotConnect, Code, Goodbye, QEError, Refused, WireError
from protocol.frames import LIMIT_FROM_HOST, unpack
from protocol.inbox import fit_to_show
from protocol.messages import (
    VERSION,
    Body,
    HostInfo,
    Leave,
    TableInfo,
    TableList,
    Tables,
    View,
    Watch,
    Welcome,
    decode_message,
)
from protocol.mqtt import BrokerAway, connected
from protocol.stay import Back, Lost
from qe_tui.broker import BACKOFF, Newest, subscribe
from qe_tui.i18n import _
from qe_tui.model import read_view

log = logging.getLogger("qe.broker")

OPEN_WITHIN = 6.0
"""Seconds until a table that is not on the broker is given up at first."""

GONE_AFTER = 60.0
"""Seconds until a table is given up whose host has gone, or of which the broker knows no more."""

GONE = "gone"
"""The code of the goodbye to a table that the broker has no more: no host says it."""


class BrokerStay:
    """Watches a table of a host whose card was seen on a broker."""

    def __init__(
        self,
        broker: Broker,
        host: str,
        card: HostCard,
        table: str,
        *,
        gone_after: float = GONE_AFTER,
    ) -> None:
        self.broker = broker
        self.welcome = Welcome(
            version=VERSION,
            now=0,
            host=HostInfo(id=host, name=card.name, version=card.version),
            games={},
        )
        self.fingerprint = card.fp
        self.clock = 0
        """The host's clock less ours, in milliseconds, as far as views that came live tell."""
        self._table = table
        self._topics = host_topic(host), table_topic(host, table)
        self._gone_after = gone_after
        self._host_here = self._view_here = False
        self._away = True
        """Whether there is nothing to be seen now: what `Lost` and `Back` tell."""
        self._view: View | None = None
        self._news: list[View | Lost | Back] = []
        self._ended: QEError | None = None
        self._closed = False
        self._watching = False
        self._complained = False
        self._stirred = asyncio.Event()
        self._patience: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    # --- The face of a Stay ---------------------------------------------------------------------

    async def open(self) -> Welcome:
        """Waits for the table's view. Raises CannotConnect where it does not come."""
        self._task = asyncio.create_task(self._run(), name="broker")
        try:
            async with asyncio.timeout(OPEN_WITHIN):
                while self._away:
                    await self._stir()
        except TimeoutError:
            await self.close()
            raise CannotConnect(
                _("Table {code} is not on the broker {broker}.").format(
                    code=self._table, broker=self.broker
                )
            ) from None
        self._news.clear()
        return self.welcome

    async def ask(self, body: Body) -> dict[str, Any]:
        """Only for `Tables`, which has the one table, `Watch` and `Leave`. Raises Refused."""
        match body:
            case Tables() if self._view is not None:
                listed: dict[str, Any] = msgspec.to_builtins(TableList(tables=[_info(self._view)]))
                return listed
            case Watch(table=self._table):
                self._watching = True
                self._put(self._view)
                return {}
            case Leave():
                return {}
        raise Refused(
            Code.NOT_SEATED, "broker", _("Through a broker one can look on, and nothing else.")
        )

    async def events(self) -> AsyncIterator[View | Lost | Back]:
        """The newest view, once `Watch` was asked, and what becomes of the connection. For one
        reader. Ends after `close`. Raises Goodbye when the table is there no more."""
        while not self._closed:
            while self._news and self._watching:
                yield self._news.pop(0)
            if self._ended is not None and self._watching:
                raise self._ended
            await self._stir()

    def saved(self, table: str, name: str) -> str | None:
        """No seat is kept through a broker."""
        return None

    def seat_here(self, name: str) -> None:
        """Nor is one to be had."""

    async def close(self) -> None:
        """Ends the connection. May be called again."""
        self._closed = True
        self._be_patient(False)
        self._stirred.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # --- What comes -----------------------------------------------------------------------------

    async def _run(self) -> None:
        waits = BACKOFF.waits()
        while self._ended is None:
            try:
                async with connected(self.broker, queue=Newest) as client:
                    self._host_here = self._view_here = False
                    self._be_patient(True)
                    await subscribe(client, *self._topics)
                    waits = BACKOFF.waits()
                    async for message in client.messages:
                        self._take(message)
                        if self._ended is not None:
                            break
            except BrokerAway as error:
                self._be_patient(False)
                self._lose(str(error))
            except Exception:
                log.exception("Reading from the broker failed")
                self._lose(_("The broker cannot be read; the log says why."))
            if self._ended is None:
                await asyncio.sleep(next(waits))

    def _take(self, message: Message) -> None:
        if str(message.topic) == self._topics[0]:
            self._take_card(message)
        elif str(message.topic) == self._topics[1]:
            self._take_view(message)
        if self._host_here and self._view_here and self._away:
            self._away = False
            self._be_patient(False)
            self._put(Back())
            self._put(self._view)

    def _take_card(self, message: Message) -> None:
        if not message.payload:
            self._host_here = False
            self._be_patient(True)
            self._lose(_("The table's host has gone; it is waited for."))
            return
        try:
            read_card(message.payload)
        except WireError as error:
            self._complain(error)
        else:
            self._host_here = True

    def _take_view(self, message: Message) -> None:
        if not message.payload:
            self._view_here = False
            if self._host_here:
                self._end(_("The table has been closed, or has a password now."))
            return
        try:
            view = self._read(message.payload)
        except WireError as error:
            self._complain(error)
            return
        if not message.retain and (self._view is None or view.room.since != self._view.room.since):
            self.clock = view.room.since - time.time_ns() // 1_000_000
        self._view, self._view_here = view, True
        if self._away:
            self._stirred.set()
        else:
            self._put(view)

    def _read(self, payload: bytes) -> View:
        """The spectator's view in a payload. Raises WireError."""
        if len(payload) > LIMIT_FROM_HOST:
            raise WireError("A view is too large.")
        view = decode_message(unpack(payload))
        if not isinstance(view, View) or view.table != self._table:
            raise WireError("What is there of a table is no view of it.")
        if view.you is not None or view.room.me is not None:
            raise WireError("A view is somebody's own.")
        read_view(view)
        shown = fit_to_show(view)
        assert isinstance(shown, View)
        return shown

    # --- What is made of it -----------------------------------------------------------------------

    def _put(self, event: View | Lost | Back | None) -> None:
        """A newer event of a kind takes an older one's place."""
        if event is not None:
            self._news = [each for each in self._news if type(each) is not type(event)]
            self._news.append(event)
        self._stirred.set()

    def _lose(self, sentence: str) -> None:
        self._away = True
        self._put(Lost(sentence, 0.0))

    def _be_patient(self, patient: bool) -> None:
        """Waits for the table to be there again, but not for ever."""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if patient:
            self._patience = asyncio.get_running_loop().call_later(
                self._gone_after, self._end, _("The table's host has gone, and has not come back.")
            )

    def _end(self, sentence: str) -> None:
        self._ended = Goodbye(GONE, sentence)
        self._stirred.set()

    def _complain(self, error: WireError) -> None:
        if not self._complained:
            log.warning("Something on the broker makes no sense: %s", error)
        self._complained = True

    async def _stir(self) -> None:
        self._stirred.clear()
        await self._stirred.wait()


def _info(view: View) -> TableInfo:
    room = view.room
    kinds = [seat.kind for seat in room.seats]
    return TableInfo(
        table=view.table,
        title=room.title,
        game=room.game,
        stage=room.stage,
        seats=len(kinds),
        taken=len(kinds) - kinds.count("open"),
        free=kinds.count("open"),
        bots=kinds.count("bot"),
        spectators=room.spectators,
        locked=False,
        standing=room.standing,
    )
