"""The queue of one table: jobs that are done one after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from server.safelog import where

log = logging.getLogger(__name__)

Result = Mapping[str, Any] | msgspec.Struct
Answer = Callable[[Result], None]
Job = Callable[[], Awaitable[Result | None]]


@dataclass(frozen=True, slots=True)
class Turn:
    """A job in the queue. `done` is what somebody waits for, None for the table's own jobs."""

    job: Job
    answer: Answer | None = None
    done: asyncio.Future[None] | None = None

    def succeeded(self, result: Result | None) -> None:
        if self.answer is not None and result is not None:
            self.answer(result)
        if self.done is not None and not self.done.done():
            self.done.set_result(None)

    def failed(self, error: Exception) -> None:
        if self.done is None:
            log.error("in a table's own time: %s", where(error))
        elif not self.done.done():
            self.done.set_exception(error)


class Turns:
    """Jobs in the order in which they came."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Turn] = asyncio.Queue()

    async def do(self, job: Job, answer: Answer | None = None) -> None:
        """Has a job done in its turn, its result handed to `answer`. Raises what the job raises."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(Turn(job, answer, done))
        await done

    def later(self, job: Job) -> None:
        """Puts in a job that nobody waits for."""
        self._queue.put_nowait(Turn(job))

    async def next(self) -> Turn:
        """The next one, once there is one; who takes it tells it how it went."""
        return await self._queue.get()

    def refuse(self, error: Exception) -> None:
        """Has all that are left fail."""
        while not self._queue.empty():
            turn = self._queue.get_nowait()
            if turn.done is not None:
                turn.failed(error)
