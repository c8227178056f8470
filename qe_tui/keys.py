"""Keys, one after another: the next is taken when what the last one led to is done.

Textual gives a letter to the focused line at once, while Backspace, Enter and the like go the long
way up to the app; and a new screen takes keys only when it is up. Of keys that arrive together, as
over a slow line, the later ones would overtake: a bid without its correction, a chat line with
the next bid in it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.widgets import Input

PATIENCE = 3.0
"""Seconds after which a key is taken to be done, whatever became of the one who had it."""

_Later = Callable[[Callable[[], None]], bool]
"""Calls back when someone has got so far; False where there is nobody to call back."""


class KeysInOrder(App[None]):
    """An app that takes keys and pastes strictly one after another."""

    def __init__(self) -> None:
        super().__init__()
        self._next_keys: deque[events.Event] = deque()
        self._key: events.Event | None = None
        """The key or paste that is under way."""
        self._overdue: asyncio.TimerHandle | None = None

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self._key is None or event is self._key:
            self._key = event
            way = self._way(event, self.focused or self.screen)
            self._overdue = asyncio.get_running_loop().call_later(PATIENCE, self._done, event)
            try:
                await super().on_event(event)
            finally:
                self._follow(event, way)
        else:
            self._next_keys.append(event)

    def _way(self, event: events.Event, target: MessagePump) -> Iterator[_Later]:
        """Whom to wait for, one after another, until all that the key has led to is done."""
        yield target.call_later
        if isinstance(target, Input) and event._stop_propagation:
            return  # it is text on the line, and that is all
        # Those above may take it; the app at last does what it is bound to.
        yield from _upwards(target._parent)
        # What was said of it, such as that a line was submitted; then another screen may have
        # come, and what is on show now may have the focus.
        yield from _upwards(target)
        yield self.screen.call_later
        yield self.screen.call_after_refresh
        yield from _upwards(self.focused or self.screen)

    def _follow(self, event: events.Event, way: Iterator[_Later]) -> None:
        for later in way:
            if later(lambda: self._follow(event, way)):
                return
        self._done(event)

    def _done(self, event: events.Event) -> None:
        if event is not self._key:
            return  # it was overdue, and is done only now
        if self._overdue is not None:
            self._overdue.cancel()
        self._key = self._next_keys.popleft() if self._next_keys else None
        if self._key is not None:
            self.post_message(self._key)


def _upwards(node: MessagePump | None) -> Iterator[_Later]:
    while node is not None:
        yield node.call_later
        node = node._parent
