"""Whose seat is whose: from watching to a seat, and what a host may do with one whose holder is
away. What cannot be taken back is asked about first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from textual.app import App

from protocol import text
from protocol.errors import Code, LinkError, Refused
from protocol.messages import Room
from protocol.text import printable
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens.prompts import AskText, Choice, Choose
from qe_tui.screens.table_facts import free_seats

if TYPE_CHECKING:
    from qe_tui.app import QEApp
    from qe_tui.visit import Visit


def stand_in(names: Sequence[str]) -> Choose:
    """Asks for whom a computer shall play: answered by a place in `names`, `all`, or neither."""
    if len(names) == 1:
        return _one(
            _("Let a computer play for {name}?").format(name=printable(names[0])),
            _("{name} has the seat again on coming back.").format(name=printable(names[0])),
            _("Yes, a computer plays"),
        )
    return _several(
        _("For whom shall a computer play?"), _("Who comes back has the seat again."), names
    )


def release(names: Sequence[str]) -> Choose:
    """Asks whose seat shall be free: answered by a place in `names`, `all`, or neither."""
    gets = _("Whoever joins gets it: tiles, token, ledger and total.")
    if len(names) == 1:
        name = printable(names[0])
        gone = _("{name} cannot come back once it is taken.").format(name=name)
        question = _("Free {name}'s seat?").format(name=name)
        return _one(question, f"{gets} {gone}", _("Yes, free it"))
    gone = _("Nobody can come back to it once it is taken.")
    return _several(_("Whose seat shall be free?"), f"{gets} {gone}", names)


def _one(question: str, detail: str, yes: str) -> Choose:
    return Choose(question, [Choice("", _("No, wait"), "n"), Choice("0", yes, "y")], detail=detail)


def _several(question: str, detail: str, names: Sequence[str]) -> Choose:
    choices = [
        Choice("", _("Nobody's, wait"), "n"),
        *(Choice(str(n), printable(name), str(n + 1)) for n, name in enumerate(names)),
        Choice("all", _("All of them"), "a"),
    ]
    return Choose(question, choices, detail=detail)


def ask_about(
    app: App[object],
    question: Callable[[Sequence[str]], Choose],
    seats: Callable[[Snapshot], Sequence[int]],
    now: Callable[[], Snapshot | None],
    do: Callable[[int], None],
) -> None:
    """Asks about the `seats` as they are `now`, and does it to those that are meant and that
    have not changed hands meanwhile."""
    asked = now()
    if asked is None or not seats(asked):
        return
    about = [(seat, asked.room.seats[seat].name) for seat in seats(asked)]

    def answered(choice: str | None) -> None:
        then = now()
        if not choice or then is None or then.table != asked.table:
            return
        for place, (seat, name) in enumerate(about):
            same = seat in seats(then) and then.room.seats[seat].name == name
            if same and choice in ("all", str(place)):
                do(seat)

    app.push_screen(question([name for _seat, name in about]), answered)


async def take_freed(app: QEApp, visit: Visit, room: Room) -> bool:
    """Asks whether to go on where somebody left off, and takes the seat."""
    seats = free_seats(room)
    question = _("Take a free seat?")
    if len(seats) == 1:
        question = _("Take {name}'s seat?").format(name=printable(room.seats[seats[0]].name))
    answer = await app.push_screen_wait(
        Choose(
            question,
            [Choice("", _("No, go on watching"), "n"), Choice("take", _("Yes, play on"), "y")],
            detail=_("You get its tiles, token, ledger and total, and the bid that it has made."),
        )
    )
    return answer == "take" and await take_seat(app, visit)


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
