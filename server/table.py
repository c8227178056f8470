"""One table: its queue, its clock, its audience; the only thing that moves a game.

Everything that changes a table is a job in its queue, and one task works the queue off, so that
no two are ever at it at once. A job commits its events to the journal before anybody is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from protocol import messages as m
from protocol import text
from protocol.errors import ByeCode, Code, Refused
from server import access, requests
from server import events as ev
from server.games.game import Game
from server.room import Room, apply, opened
from server.safelog import where
from server.store import Entry, Store, StoreError
from server.viewing import Views, table_info

if TYPE_CHECKING:
    from server.session import Session

log = logging.getLogger(__name__)

LOBBY_AWAY = 60_000
STANDING_RELEASE = 600_000
"""Milliseconds away after which a lobby's seat is free, and a standing table's seat released."""

Answer = Callable[[Mapping[str, Any] | msgspec.Struct], None]
Job = Callable[[], Awaitable[None]]


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


class Table:
    """A table while the host runs. `room` is what its journal tells; the rest is of the moment."""

    def __init__(self, services: Services, number: int, room: Room | None, journaled: int) -> None:
        self._services = services
        self._number = number
        self._room = room
        self._journaled = journaled
        self._audience: dict[Session, int] = {}
        self._away: dict[int, int] = {}
        self._thoughts: dict[tuple[int, int], int] = {}
        self._views = Views()
        self._jobs: asyncio.Queue[tuple[Job, asyncio.Future[None] | None]] = asyncio.Queue()
        self._timer: asyncio.TimerHandle | None = None
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

    def info(self) -> m.TableInfo:
        return table_info(self.room, self._spectators())

    async def stop(self) -> None:
        """Ends the table's task, after the job that it is at."""
        if self._timer is not None:
            self._timer.cancel()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    # --- What sessions ask -------------------------------------------------------------------

    async def found(
        self,
        events: list[ev.AnyEvent],
        session: Session | None = None,
        name: str = "",
        answer: Answer | None = None,
    ) -> None:
        """Opens the table, and seats its host at seat 0 where it has one."""

        async def job() -> None:
            if session is None or answer is None:
                await self._commit(events)
                return
            self._may_come(session, only=None)
            token = access.new_token()
            joined = ev.Joined(seat=0, name=name, token=access.token_hash(token))
            await self._commit([*events, joined])
            self._seat(session, self.room.seats[0].key)
            answer(m.Seated(seat=0, token=token, table=self.room.code))

        await self._do(job)

    async def restored(self) -> None:
        """Takes up where the journal ends: everybody is away, and a running clock starts anew."""

        async def job() -> None:
            now = self._services.now()
            self._away = {seat.key: now for seat in self.room.seats if seat.human}
            if self.room.deadline is not None:
                await self._commit([ev.Restored()])

        await self._do(job)

    async def join(self, session: Session, name: str, answer: Answer) -> None:
        async def job() -> None:
            self._may_come(session, only=None)
            token = access.new_token()
            joined = requests.join(self.room, name, access.token_hash(token))
            await self._commit([joined])
            seat = self.room.seats[joined.seat]
            self._seat(session, seat.key)
            log.info("%s joined table %s", name, self.room.code)
            answer({"seat": joined.seat, "token": token})
            self._replay_chat(session)

        await self._do(job)

    async def resume(self, session: Session, token: str, answer: Answer) -> None:
        async def job() -> None:
            used = access.token_hash(token)
            fresh = access.new_token()
            resumed = requests.resume(self.room, used, access.token_hash(fresh))
            key = self.room.seats[resumed.seat].key
            self._may_come(session, only=key)
            await self._commit([resumed])
            for other, its in list(self._audience.items()):
                if its == key and other is not session:
                    self._detach(other)
                    other.bye(ByeCode.REPLACED, "Your seat was taken up on another connection.")
            self._seat(session, key)
            log.info("%s is back at table %s", self.room.seats[resumed.seat].name, self.room.code)
            answer({"seat": resumed.seat, "token": fresh})
            self._replay_chat(session)

        await self._do(job)

    async def watch(self, session: Session, name: str, answer: Answer) -> None:
        async def job() -> None:
            self._may_come(session, only=None)
            if name:
                self._name_is_free(name, session)
            session.name = name
            self._seat(session, 0)
            answer({})
            self._replay_chat(session)

        await self._do(job)

    async def request(self, session: Session, body: m.AnyBody, answer: Answer) -> None:
        """Everything that one asks at the table where one is."""
        password = None
        if isinstance(body, m.Set) and body.password is not None:
            password = body.password and await access.password_hash(text.password(body.password))

        async def job() -> None:
            key = self._audience.get(session)
            if key is None:
                raise Refused(Code.NOT_SEATED, "table", "You are at no table.")
            answer(await self._perform(session, self.room.seat_of(key), body, password))

        await self._do(job)

    async def gone(self, session: Session) -> None:
        """The connection has ended; a seat stays its holder's."""

        async def job() -> None:
            self._detach(session)

        if self.open:
            await self._do(job)

    async def close(self, message: str) -> None:
        """Ends the table for everybody."""

        async def job() -> None:
            await self._shut(message)

        await self._do(job)

    async def _perform(
        self, session: Session, seat: int | None, body: m.AnyBody, password: str | None
    ) -> dict[str, Any]:
        room = self.room
        match body:
            case m.Leave():
                if seat is not None:
                    await self._commit([requests.leave(room, seat)])
                self._audience.pop(session, None)
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
                for other, its in list(self._audience.items()):
                    if its == key:
                        self._detach(other)
                        other.bye(ByeCode.REMOVED, "The host has removed you from the table.")
            case m.Start():
                requests.start(room, seat)
                await self._start()
            case m.Act():
                await self._commit([requests.act(room, seat, body)])
            case m.Pause():
                await self._commit(requests.pause(room, seat, body))
            case m.StandIn():
                await self._commit(requests.stand_in(room, seat, body, self._away_for()))
            case m.Release():
                await self._commit(requests.release(room, seat, body, self._away_for()))
            case m.Rematch():
                await self._commit(requests.rematch(room, seat, self._away_for()))
            case m.Say():
                spoken = text.chat(body.text)
                self._not_too_loud(session)
                await self._say(requests.say(room, seat, self._name(session, seat), spoken))
            case m.React():
                self._not_too_loud(session)
                reacted = m.Reacted(
                    table=room.code, seat=seat, name=self._name(session, seat), kind=body.kind
                )
                for other in self._audience:
                    other.send(reacted)
            case _:
                raise AssertionError("a request that is no table's")
        return {}

    # --- Its queue ---------------------------------------------------------------------------

    async def _do(self, job: Job) -> None:
        """Runs a job in its turn, and raises what it raises."""
        if self._task.done():
            raise _no_table()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs.put_nowait((job, done))
        await done

    async def _work(self) -> None:
        """Works the queue off until the table is closed, or could not be opened."""
        while True:
            job, done = await self._jobs.get()
            error: Exception | None = None
            try:
                await job()
            except Exception as raised:
                error = raised
            try:
                await self._afterwards()
            except Exception as raised:
                log.error("after a change of a table: %s", where(raised))
            _settle(done, error)
            if not self.open:
                break
        if self._timer is not None:
            self._timer.cancel()
        while not self._jobs.empty():
            _settle(self._jobs.get_nowait()[1], _no_table())

    async def _afterwards(self) -> None:
        """What follows from a change: a start, an end, the views, the next thing to be due."""
        if not self.open:
            return
        room = self.room
        if room.stage == "lobby" and room.full and (room.standing or room.options.start_when_full):
            await self._start()
        elif not room.standing and not self._audience and not any(s.held for s in room.seats):
            await self._shut("Nobody is left at the table.")
            return
        self._tell()
        self._plan_thoughts()
        self._set_timer()
        self._services.changed(self)

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
        self._room = room

    async def _start(self) -> None:
        started = ev.Started(seed=self._services.next_seed(), version=self.room.game.rules_version)
        await self._commit([started])
        log.info("a game starts at table %s", self.room.code)

    async def _shut(self, message: str) -> None:
        await self._commit([ev.Closed()])
        for session in list(self._audience):
            session.table = None
            session.bye(ByeCode.TABLE_CLOSED, message)
        self._audience.clear()
        log.info("table %s is closed", self.room.code)
        self._services.changed(self)

    # --- Its audience ------------------------------------------------------------------------

    def _may_come(self, session: Session, only: int | None) -> None:
        """Refuses somebody who has a seat, but for one who comes back to the very same."""
        if session.table is not None:
            key = session.table.key_of(session)
            if key and not (session.table is self and key == only):
                raise Refused(Code.ALREADY_SEATED, "seated", "You have a seat already.")

    def key_of(self, session: Session) -> int:
        """Whose seat the connection has at this table, 0 for a spectator."""
        return self._audience.get(session, 0)

    def _seat(self, session: Session, key: int) -> None:
        if session.table is not None and session.table is not self:
            session.table.forget(session)
        if session.gone:
            self._away[key] = self._services.now()
            return
        session.table = self
        session.forget_view()
        self._audience[session] = key
        self._away.pop(key, None)

    def forget(self, session: Session) -> None:
        """The spectator has gone to another table."""
        self._audience.pop(session, None)
        self._later(self._nothing)

    def _detach(self, session: Session) -> None:
        key = self._audience.pop(session, 0)
        session.table = None
        if key and key not in self._audience.values():
            self._away[key] = self._services.now()

    async def _nothing(self) -> None:
        """A job that changes nothing by itself, for what comes after each job."""

    def _later(self, job: Job) -> None:
        self._jobs.put_nowait((job, None))

    def _away_for(self) -> dict[int, int]:
        """For each seat whose holder is away, for how many milliseconds."""
        now = self._services.now()
        seats = ((self.room.seat_of(key), now - since) for key, since in self._away.items())
        return {seat: away for seat, away in seats if seat is not None}

    def _spectators(self) -> int:
        return sum(1 for key in self._audience.values() if not key)

    def _name(self, session: Session, seat: int | None) -> str:
        if seat is not None:
            return self.room.seats[seat].name
        return session.name or "spectator"

    def _name_is_free(self, name: str, session: Session) -> None:
        skeleton = text.skeleton(name)
        names = [seat.name for seat in self.room.seats if seat.taken]
        others = (other for other, key in self._audience.items() if not key)
        names += [other.name for other in others if other is not session]
        if any(text.skeleton(taken) == skeleton for taken in names):
            raise Refused(
                Code.NAME_TAKEN, "name", "Somebody at this table has that name, or one like it."
            )

    def _not_too_loud(self, session: Session) -> None:
        if not self._services.chat.take((session.address, self.room.code)):
            raise Refused(Code.RATE_LIMITED, "chat", "Not so fast; say it again in a moment.")

    async def _say(self, spoken: ev.Spoken) -> None:
        await self._commit([spoken])
        at, kept = self.room.chat[-1]
        for session, key in self._audience.items():
            if kept.to == "all" or not key:
                session.send(self._said(at, kept))

    def _said(self, at: int, spoken: ev.Spoken) -> m.Said:
        return m.Said(
            table=self.room.code, seat=spoken.seat, name=spoken.name, text=spoken.text, at=at
        )

    def _replay_chat(self, session: Session) -> None:
        for at, spoken in self.room.chat:
            if spoken.to == "all" or not self.key_of(session):
                session.send(self._said(at, spoken))

    def _tell(self) -> None:
        """A view for each connection whose view has changed."""
        room = self.room
        self._audience = {
            session: key if room.seat_of(key) is not None else 0
            for session, key in self._audience.items()
        }
        self._away = {key: at for key, at in self._away.items() if room.seat_of(key) is not None}
        if not self._audience:
            return
        self._views.prepare(room, self._audience.values(), self._spectators())
        for session, key in self._audience.items():
            seat = room.seat_of(key)
            if seat is None:
                session.send_view(self._views.spectator())
            else:
                session.send_view(self._views.seat(room, seat), of_seat=True)

    # --- Its time ----------------------------------------------------------------------------

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = min(self._due(), default=None)
        if due is None:
            self._timer = None
            return
        delay = max(0, due - self._services.now()) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay, self._later, self._tick)

    def _due(self) -> Iterable[int]:
        """When something happens by itself, in Unix milliseconds."""
        if self.room.deadline is not None:
            yield self.room.deadline
        yield from self._thoughts.values()
        for key, since in self._away.items():
            yield from (since + after for after, _ in self._when_away(key))

    async def _tick(self) -> None:
        """Does all that is due by now."""
        now = self._services.now()
        if self.room.deadline is not None and self.room.deadline <= now:
            await self._time_is_up()
        for thought, due in list(self._thoughts.items()):
            if due <= now and self._thoughts.pop(thought, None) is not None:
                await self._think(*thought)
                self._tell()
        for key, since in list(self._away.items()):
            due_events = [event for after, event in self._when_away(key) if since + after <= now]
            await self._commit(due_events[:1])

    async def _time_is_up(self) -> None:
        room = self.room
        if room.stage == "playing":
            late = [(n, room.game.timeout(room.state, n)) for n in room.game.waiting(room.state)]
            await self._commit(
                ev.Acted(seat=seat, action=msgspec.to_builtins(action)) for seat, action in late
            )
        elif room.stage == "over" and room.standing:
            event = requests.reopen(room, self._away_for())
            await self._commit([event])
            if not any(seat.human for seat in self.room.seats):
                await self._shut("Nobody plays on at this table.")

    def _when_away(self, key: int) -> Iterable[tuple[int, ev.AnyEvent]]:
        """What happens while a seat's holder is away, and after how many milliseconds."""
        room = self.room
        number = room.seat_of(key)
        if number is None:
            return
        seat, patience = room.seats[number], room.options.away_seconds * 1000
        if room.stage == "lobby":
            yield LOBBY_AWAY, ev.Left(seat=number)
        elif room.standing and room.stage == "playing":
            if not seat.by_computer:
                yield patience, ev.StoodIn(seat=number)
            if not seat.released:
                yield STANDING_RELEASE, ev.Released(seat=number)
        if room.host == number:
            here = [s.key for s in room.seats if s.held and s.key not in self._away]
            if here:
                heir = room.seat_of(min(here))
                assert heir is not None
                yield patience, ev.HostPassed(seat=heir)

    # --- Its computer players ----------------------------------------------------------------

    def _plan_thoughts(self) -> None:
        """A time for each computer-played seat that is waited for; others' thoughts are dropped."""
        room = self.room
        if room.stage != "playing":
            self._thoughts.clear()
            return
        step = room.game.step(room.state)
        planned = {}
        for number in room.game.waiting(room.state):
            seat = room.seats[number]
            if seat.by_computer:
                due = self._thoughts.get((seat.key, step))
                if due is None:
                    due = self._services.now() + int(self._services.bot_delay() * 1000)
                planned[seat.key, step] = due
        self._thoughts = planned

    async def _think(self, key: int, step: int) -> None:
        room = self.room
        number = room.seat_of(key)
        if number is None or room.stage != "playing" or step != room.game.step(room.state):
            return
        if not room.seats[number].by_computer or number not in room.game.waiting(room.state):
            return
        action = self._thought(room, number, step)
        if room.game.why_not(room.state, number, action) is not None:
            log.error("a computer player of %s chose what it may not", room.game.name)
            action = room.game.timeout(room.state, number)
        await self._commit([ev.Acted(seat=number, action=msgspec.to_builtins(action))])

    def _thought(self, room: Room, number: int, step: int) -> msgspec.Struct:
        game, state = room.game, room.state
        level = room.seats[number].level or game.levels[0]
        rng = Random(f"{room.seed}/computer/{number}/{step}")
        try:
            action = game.choose(level, game.public(state), game.private(state, number), rng)
        except Exception as error:
            log.error("a computer player failed: %s", where(error))
            action = None
        return action or game.timeout(state, number)


def _no_table() -> Refused:
    return Refused(Code.UNKNOWN_TABLE, "table", "There is no such table.")


def _settle(done: asyncio.Future[None] | None, error: Exception | None) -> None:
    """Tells whoever waits for a job how it went; what nobody waits for is logged."""
    if done is None:
        if error is not None:
            log.error("in a table's own time: %s", where(error))
    elif not done.done():
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
