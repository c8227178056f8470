"""What the worker of the connection posts, at a real host."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from places import WAIT, Den
from textual.message import Message

from protocol.errors import Goodbye
from protocol.messages import Create, Join, Remove, Say
from qe_tui import link
from qe_tui.settings import Home
from qe_tui.visit import Visit

Until = Callable[[Callable[[], Any]], Awaitable[Any]]


class Ears:
    """Listens to a visit, and keeps what was posted."""

    def __init__(self, visit: Visit) -> None:
        self.posted: list[Message] = []
        self.task = asyncio.create_task(link.listen(visit, self.posted.append))

    def kinds(self) -> list[str]:
        """What came, one word each, repetitions once."""
        names = [type(message).__name__ for message in self.posted]
        return [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]


@pytest.fixture
async def seated(den: Den, home: Home) -> AsyncIterator[tuple[Visit, Visit, Ears]]:
    """The table's host, and a guest who listens."""
    bo, ana = await den.guest(home, "Bo"), await den.guest(home, "Ana")
    code = (await bo.stay.ask(Create(game="qe", seats=3, title="", name="Bo")))["table"]
    ears = Ears(ana)
    await ana.stay.ask(Join(table=code, name="Ana"))
    yield bo, ana, ears
    ears.task.cancel()


async def test_a_host_that_comes_back_is_lost_and_back(
    den: Den, seated: tuple[Visit, Visit, Ears], until: Until
) -> None:
    bo, _, ears = seated
    await bo.stay.ask(Say(text="hello"))
    await until(lambda: len(ears.posted) >= 2)
    await den.close()
    await until(lambda: ears.kinds()[-1] == "LinkLost")
    lost = ears.posted[-1]
    assert isinstance(lost, link.LinkLost)
    assert lost.sentence.endswith(".")
    await den.open()
    await until(lambda: ears.kinds() == ["Heard", "LinkLost", "LinkBack", "Heard"])
    assert not ears.task.done()


async def test_a_final_goodbye_ends_it(seated: tuple[Visit, Visit, Ears], until: Until) -> None:
    bo, _, ears = seated
    await bo.stay.ask(Remove(seat=1))
    await until(ears.task.done)
    ended = ears.posted[-1]
    assert isinstance(ended, link.LinkEnded)
    assert isinstance(ended.error, Goodbye)
    assert ended.error.code == "removed"


async def test_a_fault_of_ours_ends_it_too(
    den: Den, home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    posted: list[Message] = []

    def post(message: Message) -> None:
        posted.append(message)
        if isinstance(message, link.Heard):
            raise ZeroDivisionError

    ana = await den.guest(home, "Ana")
    await ana.stay.ask(Create(game="qe", seats=3, title="", name="Ana"))
    await asyncio.wait_for(link.listen(ana, post), WAIT)
    ended = posted[-1]
    assert isinstance(ended, link.LinkEnded)
    assert ended.error is None
    assert [record.levelno for record in caplog.records if record.name == "qe.link"] == [
        logging.ERROR
    ]
