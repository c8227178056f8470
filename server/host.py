"""A host: all tables of one process. It listens, restores what was, and shuts down."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random, SystemRandom
from secrets import token_hex
from weakref import WeakValueDictionary

from protocol import messages as m
from protocol import text
from protocol.errors import ByeCode, Code, MessageError, Refused
from server import access, requests
from server import events as ev
from server.callers import Caller, Callers, may_take
from server.codes import table_code
from server.doors import Doors
from server.games.game import UnknownVersion
from server.games.registry import GAMES
from server.room import fold
from server.safelog import where
from server.session import Session
from server.standing import Standing
from server.store import Journal, Store
from server.table import Services, Table
from server.tls import server_context
from server.turns import Answer

log = logging.getLogger(__name__)

SHUT_DOWN_WITHIN = 3.0
"""Seconds that clients have to read their goodbyes."""


def program_version() -> str:
    """The version of this program, as installed."""
    try:
        return version("qe-tui")
    except PackageNotFoundError:
        return "unknown"


def steady_clock() -> Callable[[], int]:
    """Unix milliseconds: what the machine's clock says now, and from then on what has passed.

    Setting the machine's clock, by hand or by NTP, neither stops a table nor closes one.
    """
    start = time.time_ns() - time.monotonic_ns()
    return lambda: (start + time.monotonic_ns()) // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a host is run. `bot_delay` is the mean thinking time in seconds; `players` is the size
    of standing tables, 0 for none, `bots` their computer players and `turn_seconds` their clock, 0
    for none; `seed`, for tests, makes the deals foreseeable; `broker` is the URL of one, which may
    hold a password; `bind` None is all of this machine's addresses."""

    data: Path
    name: str
    bind: str | None = None
    port: int = m.DEFAULT_PORT
    tls: bool = True
    players: int = 0
    bots: int = 0
    turn_seconds: int = 0
    bot_delay: float = 1.5
    seed: str | None = field(default=None, repr=False)
    max_tables: int = 500
    max_connections: int = 2000
    discovery: bool = False
    broker: str | None = field(default=None, repr=False)


class Host:
    """Tables and the connections to them."""

    def __init__(self, settings: Settings, now: Callable[[], int] | None = None) -> None:
        """`now` gives Unix milliseconds and never jumps. Raises StoreError where the data folder
        is not to be had, OSError and ssl.SSLError where its certificate is not."""
        self.settings = settings
        self.now = now or steady_clock()
        self.failures = access.Rate(burst=10, per_second=0.2)
        self.guess_locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        """What those wait for, one after the other, who were wrong too often."""
        self.addresses: list[tuple[str, int]] = []
        self._store = Store(settings.data)
        self._tls: ssl.SSLContext | None = None
        self.fingerprint: str | None = None
        if settings.tls:
            try:
                self._tls, self.fingerprint = server_context(settings.data)
            except BaseException:
                self._store.abandon()
                raise
        self._random: Random = SystemRandom() if settings.seed is None else Random(settings.seed)
        self._games = self._store.games_begun()
        self._next_table = self._store.next_table()
        self._tables: dict[str, Table] = {}
        self._kept_codes: set[str] = set()
        """Of tables that are kept but cannot go on here."""
        self._sessions: dict[Session, asyncio.Task[None]] = {}
        self._callers = Callers(settings.max_connections)
        self._doors = Doors(self._attend, self._callers, self._tls)
        self._standing = Standing(self)
        self.listeners: list[Callable[[Table], None]] = []
        """Called after each change of what a list of tables shows or a spectator sees."""
        self._services = Services(
            store=self._store,
            games=GAMES,
            now=self.now,
            bot_delay=self._bot_delay,
            next_seed=self._next_seed,
            chat=access.Rate(burst=20, per_second=2),
            changed=self._changed,
            on_offer=self._standing.is_on_offer,
        )

    async def start(self) -> None:
        """Restores the tables, then listens. Raises OSError where it cannot."""
        for number, journal in self._store.tables():
            await self._restore(number, journal)
        await self._standing.start()
        await self._doors.open(self.settings.bind, self.settings.port)
        self.addresses = self._doors.addresses

    async def stop(self) -> None:
        """Says goodbye to everybody and closes the journal."""
        self._standing.stop()
        await self._doors.close()
        for session in self._sessions:
            session.bye(ByeCode.SHUTTING_DOWN, "The host is shutting down; the game is kept.")
        if self._sessions:
            await asyncio.wait(self._sessions.values(), timeout=SHUT_DOWN_WITHIN)
        late = dict(self._sessions)
        for session, task in late.items():
            session.drop()
            task.cancel()
        await asyncio.gather(*late.values(), return_exceptions=True)
        await self._standing.stopped()
        await asyncio.gather(*(table.stop() for table in self._tables.values()))
        await self._store.close()

    # --- What sessions ask -------------------------------------------------------------------

    def welcome(self) -> m.Welcome:
        """What the host says of itself."""
        return m.Welcome(
            version=m.VERSION,
            now=self.now(),
            host=m.HostInfo(id=self.id, name=self.settings.name, version=program_version()),
            games={
                game.name: m.GameInfo(seats=list(game.seats), levels=list(game.levels))
                for game in GAMES.values()
            },
        )

    @property
    def id(self) -> str:
        """The host's random id, for as long as its data folder lives."""
        return self._store.host_id

    @property
    def tables(self) -> list[Table]:
        """The tables that are open."""
        return [table for table in self._tables.values() if table.open]

    def list_tables(self) -> m.TableList:
        return m.TableList(tables=[table.info() for table in self.tables])

    def table(self, code: str) -> Table:
        """The table of that code. Raises Refused."""
        table = self._tables.get(code)
        if code in self._kept_codes:
            raise Refused(
                Code.UNKNOWN_TABLE,
                "kept",
                "That table is kept, but this version of the host cannot open it.",
            )
        if table is None or not table.open:
            raise Refused(Code.UNKNOWN_TABLE, "table", "There is no such table.")
        return table

    async def create(self, session: Session, body: m.Create, answer: Answer) -> None:
        """A new table with the session as its host. Raises MessageError, TextError, Refused."""
        game = GAMES.get(body.game)
        if game is None:
            raise MessageError(None, "game", "That game is not known here.")
        requests.check_size(game, body.seats)
        name, title = text.name(body.name), text.title(body.title)
        options = requests.read_options(body.options or {})
        rules = requests.read_rules(game, body.rules or {})
        password = None
        if body.password:
            self._check_room(session.address)  # before the work, too
            password = await access.password_hash(text.password(body.password), session.address)
        table, code = self.new_table(session.address)
        opening = ev.Opened(
            code=code,
            game=body.game,
            size=body.seats,
            title=title,
            options=options,
            rules=rules,
            password=password,
        )
        await table.found([opening], session, name, answer)
        log.info("%s opened table %s", name, code)

    # --- Tables ------------------------------------------------------------------------------

    def new_table(self, opener: str) -> tuple[Table, str]:
        """A table that is still to be founded, and its code. `opener` is the address that it
        counts for, empty for the host's own. Raises Refused where there are too many."""
        self._check_room(opener)
        table = Table(self._services, self._next_table, None, 0, opener)
        self._next_table += 1
        code = table_code(
            self._random, lambda code: code in self._tables or code in self._kept_codes
        )
        self._tables[code] = table
        return table, code

    def _check_room(self, opener: str) -> None:
        self._drop_closed()
        free = self.settings.max_tables - len(self._tables)
        if free <= 0:
            raise Refused(Code.HOST_FULL, "tables", "This host has as many tables as it may.")
        its = sum(table.opener == opener for table in self._tables.values())
        if opener and not may_take(its, free):
            raise Refused(
                Code.HOST_FULL,
                "share",
                "From your address as many tables are open as this host lets one address have.",
            )

    async def _restore(self, number: int, journal: Journal | None) -> None:
        try:
            if journal is None:
                raise ValueError("The journal of a table cannot be read.")
            room = fold(journal, GAMES)
        except UnknownVersion:
            log.warning("a table's game follows rules of a version that is not known; it is kept")
            self._keep_code(number)
            return
        except Exception as error:
            log.error("a table cannot be restored and is kept: %s", where(error))
            self._keep_code(number)
            return
        table = Table(self._services, number, room, len(journal))
        self._tables[room.code] = table
        try:
            await table.restored()
        except Refused as error:
            log.error("a clock could not be started anew: %s", error.code)

    def _keep_code(self, number: int) -> None:
        code = self._store.code(number)
        if code is not None:
            self._kept_codes.add(code)

    def _changed(self, table: Table) -> None:
        self._drop_closed()
        self._standing.look()
        for listener in self.listeners:
            listener(table)

    def _drop_closed(self) -> None:
        """Forgets tables that have closed, or that could not be opened."""
        for code in [code for code, table in self._tables.items() if table.ended]:
            del self._tables[code]

    def _next_seed(self) -> str:
        self._games += 1
        if self.settings.seed is not None:
            return f"{self.settings.seed}/{self._games}"
        return token_hex(32)

    def _bot_delay(self) -> float:
        return self.settings.bot_delay * self._random.uniform(2 / 3, 4 / 3)

    # --- Connections -------------------------------------------------------------------------

    def takes_in(self, caller: Caller) -> bool:
        """Whether there is a place for one that has said hello; it is the caller's from then on."""
        return self._callers.greeted(caller)

    async def _attend(
        self, caller: Caller, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serves a connection until it ends."""
        session = Session(self, caller, reader, writer, tls=self._tls is not None)
        task = asyncio.current_task()
        assert task is not None
        self._sessions[session] = task
        log.info("a connection from %s", caller.address)
        if not self._callers.has_place(caller):
            session.no_room()
        try:
            await session.run()
        except Exception as error:
            log.error("a connection failed: %s", where(error))
        finally:
            del self._sessions[session]
            log.info("the connection from %s has ended", caller.address)
