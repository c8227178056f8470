"""From watching a table to a seat at it: an open one in the lobby, a released one in mid-game."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from protocol import text
from protocol.errors import Code, LinkError, Refused
from protocol.messages import Room
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens.prompts import AskText

if TYPE_CHECKING:
    from qe_tui.app import QEApp
    from qe_tui.visit import Visit


def is_free(room: Room) -> bool:
    """Whether whoever joins now gets a seat."""
    return any(seat.released or (seat.kind == "open") for seat in room.seats)


def may_sit(snapshot: Snapshot) -> bool:
    """Whether the reader watches, and could take a seat."""
    return snapshot.room.me is None and snapshot.broker is None and is_free(snapshot.room)


async def take_seat(app: QEApp, visit: Visit) -> bool:
    """Takes a seat at the table that is watched; asks for a name where this one is taken, and for
    the password where the table has another one now. Whether there is a seat now."""
    password: str | None = None
    while True:
        join = visit.stay.seat_here(visit.name)
        if join is None:
            return False
        if password is not None:
            join = msgspec.structs.replace(join, password=password)
        try:
            await visit.stay.ask(join)
        except LinkError:
            app.notify(_("The connection went meanwhile; try again when it is back."), markup=False)
            return False
        except Refused as error:
            why = text.printable(str(error))
            match error.code:
                case Code.NAME_TAKEN | Code.BAD_TEXT:
                    question = _("By what name will you sit at table {code}?")
                    name = await app.push_screen_wait(
                        AskText(
                            question.format(code=text.printable(join.table)),
                            value=visit.name,
                            wrong=why,
                            check=text.name,
                        )
                    )
                    if name is None:
                        return False
                    visit.name = name
                case Code.WRONG_PASSWORD:
                    password = await app.push_screen_wait(
                        AskText(
                            _("Table {code} has a password.").format(
                                code=text.printable(join.table)
                            ),
                            secret=True,
                            wrong=why if join.password else "",
                            check=text.password,
                        )
                    )
                    if password is None:
                        return False
                case Code.TABLE_FULL | Code.ALREADY_STARTED:
                    sentence = _("Somebody was quicker: no seat is free now.")
                    app.notify(sentence, severity="warning", markup=False)
                    return False
                case _:
                    app.notify(why, severity="warning", markup=False)
                    return False
        else:
            visit.watching = False
            return True
