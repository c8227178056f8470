"""The connection, as the app sees it: one visit to one host, and messages about what it says.

A worker of the app runs `listen`; it only posts messages. Handlers of the app own the state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from protocol.errors import FingerprintChanged, Goodbye, QEError, Refused
from protocol.messages import Reacted, Said, View
from protocol.stay import Back, Lost
from qe_tui.visit import Visit

_log = logging.getLogger("qe.link")


@dataclass
class Heard(Message):
    """The host sent something about the table."""

    visit: Visit
    event: View | Said | Reacted


@dataclass
class LinkLost(Message):
    """The connection is away; it is being tried again. `shut_down`: the host was stopped."""

    visit: Visit
    sentence: str
    shut_down: bool = False


@dataclass
class LinkBack(Message):
    """The connection stands again, at the same place as before."""

    visit: Visit


@dataclass
class LinkEnded(Message):
    """There is no coming back by itself. `error` says why; None is a fault of this program."""

    visit: Visit
    error: Goodbye | FingerprintChanged | Refused | None


async def listen(visit: Visit, post: Callable[[Message], object]) -> None:
    """Posts what the host says until the visit ends. Raises nothing but cancellation."""
    try:
        async for event in visit.stay.events():
            match event:
                case Lost():
                    post(LinkLost(visit, event.sentence, event.shut_down))
                case Back():
                    post(LinkBack(visit))
                case _:
                    post(Heard(visit, event))
    except (Goodbye, FingerprintChanged, Refused) as error:
        post(LinkEnded(visit, error))
    except QEError:
        _log.exception("The connection cannot go on")
        post(LinkEnded(visit, None))
    except Exception:
        _log.exception("The connection's worker failed")
        post(LinkEnded(visit, None))
