"""What a host has sent unasked and nobody has read yet, fit to be shown."""

from __future__ import annotations

import asyncio
from collections import deque

from msgspec.structs import replace

from protocol.messages import Reacted, Said, View
from protocol.text import printable

MAX_UNREAD = 256
"""How many messages beside the view may wait to be read; then the oldest goes."""

_MAX_REMOTE_TEXT = 500


class Inbox:
    """What waits to be read: bounded, and never more than one view."""

    def __init__(self) -> None:
        self._waiting: deque[View | Said | Reacted] = deque()
        self._stirred = asyncio.Event()
        self._closed = False

    def put(self, message: View | Said | Reacted) -> None:
        views = [each for each in self._waiting if isinstance(each, View)]
        if isinstance(message, View):
            for old in views:
                self._waiting.remove(old)
        elif len(self._waiting) - len(views) >= MAX_UNREAD:
            oldest = next(each for each in self._waiting if not isinstance(each, View))
            self._waiting.remove(oldest)
        self._waiting.append(message)
        self._stirred.set()

    async def get(self) -> View | Said | Reacted | None:
        """The next message, or None when it is closed and empty."""
        while not self._waiting:
            if self._closed:
                return None
            self._stirred.clear()
            await self._stirred.wait()
        return self._waiting.popleft()

    def close(self) -> None:
        self._closed = True
        self._stirred.set()


def remote_text(text: str) -> str:
    """What a host wrote, fit to be shown."""
    return printable(text[:_MAX_REMOTE_TEXT])


def fit_to_show(message: View | Said | Reacted) -> View | Said | Reacted:
    """The message with all names, titles and words in it fit to be shown."""
    if isinstance(message, View):
        room = message.room
        seats = [replace(seat, name=remote_text(seat.name)) for seat in room.seats]
        return replace(message, room=replace(room, title=remote_text(room.title), seats=seats))
    if isinstance(message, Said):
        text = remote_text(message.text)
        return replace(message, name=remote_text(message.name), text=text)
    return replace(message, name=remote_text(message.name))
