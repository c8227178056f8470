"""Standing tables: one is always on offer for whoever comes, and none is left behind."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from protocol import messages as m
from protocol.errors import Refused
from server import events as ev
from server import requests
from server.games.registry import GAMES
from server.room import Room
from server.table import Table

if TYPE_CHECKING:
    from server.host import Host

log = logging.getLogger(__name__)

STANDING_GAME = "qe"

RETRY_AFTER = 5.0
"""Seconds until a standing table is tried again that could not be opened."""


class Standing:
    """Opens the standing tables of a host; a table closes itself, but for the one on offer."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._running = False
        self._on_offer: Table | None = None
        """When last looked at."""
        self._opening: asyncio.Task[None] | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._complained = False

    async def start(self) -> None:
        """Returns when there is one on offer, or none can be opened now."""
        self._running = True
        self.look()
        if self._opening is not None:
            await self._opening

    def stop(self) -> None:
        """Opens no more."""
        self._running = False
        if self._retry is not None:
            self._retry.cancel()

    async def stopped(self) -> None:
        """Returns when the last one that was being opened is open, or is not."""
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)

    def is_on_offer(self, table: Table) -> bool:
        """Whether it is the one that is kept open though nobody is there."""
        return table.room.standing and table is self._offered()

    def look(self) -> None:
        """To be called after each change of a table: sees to it that there is one on offer."""
        offered = self._offered()
        if offered is not self._on_offer:
            self._on_offer = offered
            for table in self._host.tables:
                if table.room.standing:
                    table.look()
        busy = self._opening is not None and not self._opening.done()
        wanted = self._running and self._host.settings.players and offered is None
        if wanted and not busy and self._retry is None:
            self._opening = asyncio.create_task(self._open(), name="standing table")

    def _offered(self) -> Table | None:
        """The first that fits, one with somebody before one with nobody."""
        fitting = [table for table in self._host.tables if self._fits(table.room)]
        return min(fitting, key=lambda table: table.deserted, default=None)

    def _fits(self, room: Room) -> bool:
        settings = self._host.settings
        return (
            room.standing
            and room.stage == "lobby"
            and room.size == settings.players
            and room.options.turn_seconds == settings.turn_seconds
            and room.first_open() is not None
        )

    async def _open(self) -> None:
        settings, game = self._host.settings, GAMES[STANDING_GAME]
        try:
            table, code = self._host.new_table("")
            opening = ev.Opened(
                code=code,
                game=game.name,
                size=settings.players,
                title="",
                options=m.Options(turn_seconds=settings.turn_seconds),
                rules=requests.read_rules(game, {}),
                standing=True,
            )
            await table.found([opening, *requests.computers(game, settings.bots)])
            self._complained = False
            log.info("standing table %s is open", code)
        except Refused as error:
            if not self._complained:
                log.error("no standing table can be opened now, it is tried again: %s", error.code)
            self._complained = True
            if self._running:
                loop = asyncio.get_running_loop()
                self._retry = loop.call_later(RETRY_AFTER, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self.look()
