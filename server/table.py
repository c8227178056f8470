"""One table: its queue, its clock, its audience; the only thing that moves a game.

Everything that changes a table is a job in its queue, and one task works the queue off, so that
no two are ever at it at once. A job commits its events to the journal before anybody is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from protocol import messages as m
from protocol import text
from protocol.errors import ByeCode, Code, Refused
from server import access, requests
from server import events as ev
from server.audience import Audience
from server.away import when_away
from server.computers import Computers
from server.games.game import Game
from server.room import Room, apply, opened
from server.safelog import where
from server.store import Entry, Store, StoreError
from server.turns import Answer, Job, Result, Turns
from server.viewing import table_info

if TYPE_CHECKING:
    from server.session import Session

log = logging.getLogger(__name__)

RETRY_AFTER = 1000
"""Milliseconds until a table tries again by itself what it could not write to the journal."""

ALONE_FOR = 24 * 3_600_000
"""Milliseconds after which a table closes that nobody came to."""

STOP_WITHIN = 5.0
"""Seconds that a table has for what is in its queue when the host shuts down."""

KICKED = "The owner of the host has sent you away."


@dataclass(frozen=True, slots=True)
class Services:
    """What a table has from its host. `now` is Unix milliseconds; `bot_delay` is seconds."""

    store: Store
    games: Mapping[str, Game]
    now: Callable[[], int]
    bot_delay: Callable[[], float]
    next_seed: Callable[[], str]
    chat: access.Rate
    changed: Callable[[Table], None]
    """Called after each change of what a list of tables shows, and when the table has closed."""
    on_offer: Callable[[Table], bool]
    """Whether this is the standing table that is to stay though nobody is there."""


class Table:
    """A table while the host runs. `room` is what its journal tells; the rest is of the moment."""

    def __init__(
        self,
        services: Services,
        number: int,
        room: Room | None,
        journaled: int,
        opener: str = "",
    ) -> None:
        """`opener` is the address that opened it, empty where that is not known any more."""
        self.opener = opener
        self._services = services
        self._number = number
        self._room = room
        self._journaled = journaled
        self._audience = Audience(services.now)
        self._computers = Computers(services.now, services.bot_delay)
        self._turns = Turns()
        self._timer: asyncio.TimerHandle | None = None
        self._not_before = 0
        self._clock_stands = False
        """Whether the running clock is still to be started anew, the host having come back."""
        self._to_retry = False
        self._alone_since = services.now()
        self._stopping = False
        self._task = asyncio.create_task(self._work(), name="table")

    @property
    def room(self) -> Room:
        if self._room is None:
            raise _no_table()
        return self._room

    @property
    def open(self) -> bool:
        return self._room is not None and not self._room.closed

    @property
    def ended(self) -> bool:
        """Whether it has closed, or could not be opened."""
        return self._task.done() or (self._room is not None and self._room.closed)

    @property
    def deserted(self) -> bool:
        """Whether nobody sits here or looks on."""
        return not self._audience and not any(seat.human for seat in self.room.seats)

    def info(self) -> m.TableInfo:
        return table_info(self.room, self._audience.spectators)

    def public_view(self) -> bytes | None:
        """The frame that a spectator has; None where that takes a password."""
        if not self.open or self.room.password is not None:
            return None
        return self._audience.spectator_view(self.room)

    def look(self) -> None:
        """Has the table see in its turn whether it is to start or to end."""
        self._later(self._nothing)

    async def stop(self) -> None:
        """Ends the table's task, after the jobs that are in its queue."""
        self._stopping = True
        self._later(self._nothing)
        await asyncio.wait({self._task}, timeout=STOP_WITHIN)
        self._task.cancel()

    # --- What sessions ask -------------------------------------------------------------------

    async def found(
        self,
        events: list[ev.AnyEvent],
        session: Session | None = None,
        name: str = "",
        answer: Answer | None = None,
    ) -> None:
        """Opens the table, and seats its host at seat 0 where it has one."""

        async def job() -> Result | None:
            if session is None:
                await self._commit(events)
                return None
            self._may_come(session)
            token = access.new_token()
            joined = ev.Joined(seat=0, name=name, token=access.token_hash(token))
            await self._commit([*events, joined])
            self._come(session, self.room.seats[0].key)
            return m.Seated(seat=0, token=token, table=self.room.code)

        await self._do(job, answer)

    async def restored(self) -> None:
        """Takes up where the journal ends: everybody is away, and a running clock starts anew."""

        async def job() -> None:
            self._audience.all_away(self.room)
            self._clock_stands = self.room.deadline is not None
            await self._start_clock()

        await self._do(job)

    async def join(self, session: Session, name: str, answer: Answer) -> None:
        async def job() -> Result:
            self._may_come(session)
            token = access.new_token()
            watching = self._audience.watching(but=session)
            joined = requests.join(self.room, name, access.token_hash(token), watching)
            await self._commit([joined])
            seat = self.room.seats[joined.seat]
            self._come(session, seat.key)
            log.info("%s joined table %s", name, self.room.code)
            return {"seat": joined.seat, "token": token}

        await self._do(job, answer)

    async def resume(self, session: Session, token: str, answer: Answer) -> None:
        async def job() -> Result:
            used = access.token_hash(token)
            fresh = access.new_token()
            resumed = requests.resume(self.room, used, access.token_hash(fresh))
            key = self.room.seats[resumed.seat].key
            self._may_come(session, only=key)
            if self._audience.comes_late(session, key, used):
                raise Refused(Code.BAD_TOKEN, "late", "A newer connection came by that token.")
            await self._commit([resumed])
            self._audience.came_by(session, key, used)
            taken_up = "Your seat was taken up on another connection."
            self._send_away(key, ByeCode.REPLACED, taken_up, but=session)
            self._come(session, key)
            log.info("%s is back at table %s", self.room.seats[resumed.seat].name, self.room.code)
            return {"seat": resumed.seat, "token": fresh}

        await self._do(job, answer)

    async def watch(self, session: Session, name: str, answer: Answer) -> None:
        async def job() -> Result:
            self._may_come(session)
            if name:
                requests.check_name(self.room, name, self._audience.watching(but=session))
            session.name = name
            self._come(session, 0)
            return {}

        await self._do(job, answer)

    async def request(self, session: Session, body: m.AnyBody, answer: Answer) -> None:
        """Everything that one asks at the table where one is."""
        password = None
        if isinstance(body, m.Set) and body.password is not None:
            requests.check_may_set(self.room, self._seat_of(session))  # before the work, too
            password = body.password and await access.password_hash(
                text.password(body.password), session.address
            )

        async def job() -> Result:
            return await self._perform(session, self._seat_of(session), body, password)

        await self._do(job, answer)

    def _seat_of(self, session: Session) -> int | None:
        if session not in self._audience:
            raise Refused(Code.NOT_SEATED, "table", "You are at no table.")
        return self.room.seat_of(self.key_of(session))

    async def gone(self, session: Session) -> None:
        """The connection has ended; a seat stays its holder's."""

        async def job() -> None:
            self._audience.drop(session)
            session.table = None

        with suppress(Refused):  # the table has closed meanwhile
            await self._do(job)

    async def _perform(
        self, session: Session, seat: int | None, body: m.AnyBody, password: str | None
    ) -> dict[str, Any]:
        room = self.room
        match body:
            case m.Leave():
                if seat is not None:
                    await self._commit([requests.leave(room, seat)])
                    log.info("%s left table %s", room.seats[seat].name, room.code)
                self._audience.give_up(session)
                session.table = None
            case m.Set():
                if body.title is not None:
                    text.title(body.title)
                await self._commit(requests.change(room, seat, body, password))
            case m.Move():
                await self._commit(requests.move(room, seat, body))
            case m.AddBot():
                added = requests.add_bot(room, seat, body)
                await self._commit([added])
                return {"seat": added.seat}
            case m.Remove():
                left = requests.remove(room, seat, body)
                key = room.seats[left.seat].key
                await self._commit([left])
                removed = "The host has removed you from the table."
                self._send_away(key, ByeCode.REMOVED, removed)
            case m.Start():
                requests.start(room, seat)
                await self._start()
            case m.Act():
                await self._commit(requests.act(room, seat, body))
            case m.Pause():
                await self._commit(requests.pause(room, seat, body))
            case m.StandIn():
                await self._commit(
                    requests.stand_in(room, seat, body, self._audience.away_for(room))
                )
            case m.Release():
                await self._commit(
                    requests.release(room, seat, body, self._audience.away_for(room))
                )
            case m.Rematch():
                await self._commit(requests.rematch(room, seat, self._audience.away_for(room)))
            case m.Say():
                spoken = text.chat(body.text)
                self._not_too_loud(session)
                name = self._audience.name(room, session)
                await self._commit([requests.say(room, seat, name, spoken)])
                self._audience.said(room, *self.room.chat[-1])
            case m.React():
                self._not_too_loud(session)
                self._audience.reacted(room, session, body.kind)
            case _:
                raise AssertionError("a request that is no table's")
        return {}

    # --- What the owner of the host's machine asks ---------------------------------------------

    async def announce(self, words: str) -> None:
        """Chat from the host itself, to everybody at the table. Raises Refused and TextError."""

        async def job() -> None:
            line = text.chat(words)
            spoken = ev.Spoken(seat=None, name=requests.HOST_NAME, text=line, to="all")
            await self._commit([spoken])
            self._audience.said(self.room, *self.room.chat[-1])

        await self._do(job)

    async def kick(self, who: str) -> None:
        """Sends a player away, by seat number or name, or else the spectators of that name.
        Raises Refused."""

        async def job() -> None:
            watching = self._audience.spectators_called(who)
            if who and watching and not requests.is_seated(self.room, who):
                self._bid_goodbye(watching, ByeCode.REMOVED, KICKED)
                return
            left = requests.kick(self.room, who)
            key = self.room.seats[left.seat].key
            await self._commit([left])
            self._send_away(key, ByeCode.REMOVED, KICKED)

        await self._do(job)

    async def kick_spectators(self, name: str) -> None:
        """Sends the spectators of that name away, or with an empty one those who have none.
        Raises Refused."""

        async def job() -> None:
            watching = self._audience.spectators_called(name)
            if not watching:
                raise Refused(Code.ILLEGAL, "unknown_spectator", "No such spectator is there.")
            self._bid_goodbye(watching, ByeCode.REMOVED, KICKED)

        await self._do(job)

    async def rename(self, who: str, name: str) -> None:
        """Gives a seat's holder another name. Raises Refused and TextError."""

        async def job() -> None:
            watching = self._audience.watching()
            await self._commit([requests.rename(self.room, who, name, watching)])

        await self._do(job)

    async def close(self) -> None:
        """Closes the table for good; its games are kept. Raises Refused."""
        await self._do(lambda: self._shut("The owner of the host has closed the table."))

    # --- Its queue ---------------------------------------------------------------------------

    async def _do(self, job: Job, answer: Answer | None = None) -> None:
        """Runs a job in its turn, hands its result to `answer`, and raises what it raises."""
        if self._task.done():
            raise _no_table()
        await self._turns.do(job, answer)

    def _later(self, job: Job) -> None:
        """Puts a job of the table's own in the queue."""
        self._turns.later(job)

    async def _work(self) -> None:
        """Works the queue off until the table is closed, or could not be opened."""
        while True:
            turn = await self._turns.next()
            if self._audience:
                self._alone_since = self._services.now()
            try:
                result = await turn.job()
            except Exception as error:
                if turn.done is None:
                    self._not_before = self._services.now() + RETRY_AFTER
                turn.failed(error)
            else:
                await self._safely(self._start_or_end)
                turn.succeeded(result)
            self._go_on()
            if self._stopping or not self.open:
                break
        if self._timer is not None:
            self._timer.cancel()
        self._turns.refuse(_no_table())

    async def _safely(self, deed: Callable[[], Awaitable[None]]) -> None:
        """Does what nobody waits for: a failure is logged, and it is done again later."""
        try:
            await deed()
            self._to_retry = False
        except Exception as error:
            self._to_retry = True
            self._not_before = self._services.now() + RETRY_AFTER
            log.error("in a table's own time: %s", where(error))

    async def _start_or_end(self) -> None:
        """Starts a game for which the table is full, and ends a table where nobody is left."""
        if not self.open:
            return
        room = self.room
        if room.stage == "lobby" and room.full and (room.standing or room.options.start_when_full):
            await self._start()
            return
        if self._audience:
            self._alone_since = self._services.now()
        elif not self._services.on_offer(self) and (
            self._left_behind or self._services.now() >= self._closes_at()
        ):
            await self._shut("Nobody is left at the table.")

    def _go_on(self) -> None:
        """The views, and the next thing to be due."""
        if not self.open:
            return
        try:
            self._audience.tell(self.room)
        except Exception as error:
            log.error("views could not be made: %s", where(error))
        self._computers.plan(self.room)
        self._set_timer()
        self._services.changed(self)

    @property
    def _left_behind(self) -> bool:
        """Whether nobody can come back who was here. At a standing table computers end the game."""
        if self.room.standing:
            return self.room.stage == "lobby" and self.deserted
        return not any(seat.held or seat.unproven for seat in self.room.seats)

    def _closes_at(self) -> int:
        return self._alone_since + ALONE_FOR

    async def _nothing(self) -> None:
        """A job that changes nothing by itself, for what comes after each job."""

    async def _commit(self, events: Iterable[ev.AnyEvent]) -> None:
        """Moves the room on, once the events are on disk. Raises Refused where they cannot be."""
        events = list(events)
        if not events:
            return
        at = self._services.now()
        room = self._room
        for event in events:
            if isinstance(event, ev.Opened):
                room = opened(event, at, self._services.games)
            elif room is not None:
                room = apply(room, event, at)
        entries = [
            Entry(self._number, self._journaled + n, at, event) for n, event in enumerate(events)
        ]
        try:
            await self._services.store.append(entries)
        except StoreError as error:
            raise Refused(Code.NOT_SAVED, "journal", str(error)) from None
        self._journaled += len(entries)
        before, self._room = self._room, room
        if before is not None and before.stage == "playing" and self.room.stage == "over":
            log.info("a game ends at table %s", self.room.code)

    async def _start(self) -> None:
        started = ev.Started(seed=self._services.next_seed(), version=self.room.game.rules_version)
        await self._commit([started])
        log.info("a game starts at table %s", self.room.code)

    async def _shut(self, message: str) -> None:
        await self._commit([ev.Closed()])
        self._bid_goodbye(self._audience, ByeCode.TABLE_CLOSED, message)
        log.info("table %s is closed", self.room.code)
        self._services.changed(self)

    # --- Its audience ------------------------------------------------------------------------

    def key_of(self, session: Session) -> int:
        """Whose seat the connection has at this table, 0 for a spectator."""
        return self._audience.key_of(session)

    def forget(self, session: Session) -> None:
        """The spectator has gone to another table."""
        self._audience.give_up(session)
        self.look()

    def _may_come(self, session: Session, only: int | None = None) -> None:
        """Refuses somebody who has a seat, but for one who comes back to the very same."""
        if session.table is not None:
            key = session.table.key_of(session)
            if key and not (session.table is self and key == only):
                raise Refused(Code.ALREADY_SEATED, "seated", "You have a seat already.")

    def _come(self, session: Session, key: int) -> None:
        if session.table is not None and session.table is not self:
            session.table.forget(session)
        session.table = self
        self._audience.add(session, key)

    def _send_away(self, key: int, code: ByeCode, message: str, but: Session | None = None) -> None:
        """Closes the connections of a seat's holder."""
        holders = (one for one in self._audience.of_key(key) if one is not but)
        self._bid_goodbye(holders, code, message)

    def _bid_goodbye(self, leaving: Iterable[Session], code: ByeCode, message: str) -> None:
        for session in leaving:
            self._audience.give_up(session)
            session.table = None
            session.bye(code, message)

    def _not_too_loud(self, session: Session) -> None:
        if not self._services.chat.take((session.address, self.room.code)):
            raise Refused(Code.RATE_LIMITED, "chat", "Not so fast; say it again in a moment.")

    # --- Its time ----------------------------------------------------------------------------

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        now = self._services.now()
        due = min(self._due(), default=None)
        if due is None:
            self._timer = None
            return
        delay = max(0, due - now, self._not_before - now) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay, self._later, self._tick)

    def _due(self) -> Iterable[int]:
        """When something happens by itself, in Unix milliseconds."""
        if self.room.deadline is not None:
            yield self.room.deadline
        if self._to_retry:
            yield self._not_before
        if not self._audience and not self._services.on_offer(self):
            yield self._closes_at()
        yield from self._computers.due.values()
        for key, since in self._audience.away.items():
            yield from (since + after for after, _ in self._when_away(key))

    def _when_away(self, key: int) -> Iterable[tuple[int, ev.AnyEvent]]:
        number = self.room.seat_of(key)
        return () if number is None else when_away(self.room, number, self._audience.away)

    async def _tick(self) -> None:
        """Does all that is due by now."""
        await self._start_clock()
        now = self._services.now()
        if self.room.deadline is not None and self.room.deadline <= now:
            await self._time_is_up()
        for thought, due in self._computers.due.items():
            if due <= now and (acted := self._computers.finish(self.room, thought)):
                await self._commit([acted])
                self._audience.tell(self.room)
        for key, since in self._audience.away.items():
            due_events = [event for after, event in self._when_away(key) if since + after <= now]
            await self._commit(due_events[:1])

    async def _start_clock(self) -> None:
        if self._clock_stands:
            await self._commit([ev.Restored()])
            self._clock_stands = False

    async def _time_is_up(self) -> None:
        room = self.room
        if room.stage == "playing":
            late = [(n, room.game.timeout(room.state, n)) for n in room.game.waiting(room.state)]
            await self._commit(
                ev.Acted(seat=seat, action=msgspec.to_builtins(action)) for seat, action in late
            )
        elif room.stage == "over" and room.standing:
            event = requests.reopen(room, self._audience.away_for(room))
            await self._commit([event])
            if not any(seat.human for seat in self.room.seats):
                await self._shut("Nobody plays on at this table.")


def _no_table() -> Refused:
    return Refused(Code.UNKNOWN_TABLE, "table", "There is no such table.")
