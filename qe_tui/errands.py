"""What the app does that takes a while: to play, to host, to find a seat at a table."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import msgspec

from protocol import text
from protocol.errors import (
    ByeCode,
    CannotConnect,
    Code,
    FingerprintChanged,
    Goodbye,
    QEError,
    Refused,
)
from protocol.invitation import Where
from protocol.messages import DEFAULT_PORT, Join, Leave, Resume, Start, TableInfo, Watch
from protocol.stay import LATE
from protocol.trust import Pins
from qe_tui import own
from qe_tui.browse import FoundHost, reach
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens.form import TableForm, Wishes
from qe_tui.screens.prompts import AskText, Choice, Choose, Waiting
from qe_tui.screens.tables import TablesScreen
from qe_tui.terminal import another_certificate, program, quoted
from qe_tui.visit import Visit, visit

if TYPE_CHECKING:
    from qe_tui.app import QEApp


@dataclass(frozen=True, slots=True)
class Errand:
    """What the command line asked for, at a host that has already answered."""

    visit: Visit
    kind: Literal["play", "host", "join", "watch"]
    table: str | None = None
    players: int | None = None
    named: bool = False
    """Whether the player's name was asked for by them, not found on this machine."""
    wishes: Wishes | None = None
    notice: str | None = None

    async def run(self, app: QEApp) -> None:
        if self.notice:
            app.notify(self.notice, markup=False)
        match self.kind:
            case "play":
                await _deal(app, self.visit, self.players)
            case "host":
                await _open(app, self.visit, self.wishes or Wishes())
            case _:
                await sit(app, self.visit, self.table, self.kind == "watch", named=self.named)


# --- From the menu ----------------------------------------------------------------------------


async def play(app: QEApp, players: int) -> None:
    """A game against computers, on a private host."""
    app.show_only(Waiting(_("Dealing the tiles ...")))
    await _deal(app, await own.private(app.home, app.player), players)


async def host(app: QEApp, wishes: Wishes) -> None:
    """A table that others can join, on a host of one's own."""
    app.show_only(Waiting(_("Opening the table ...")))
    begun, _running = await own.public(app.home, app.player, port=app.settings.port, tls=True)
    await _open(app, begun, wishes, ask=True)


async def call(app: QEApp, where: Where, watching: bool) -> None:
    """Connects to the address that was typed, and remembers it."""
    found = await visit(app.home, where, app.player)
    app.settings.address, app.settings.tls = where.short, where.tls
    app.remember()
    await sit(app, found, where.table, watching)


async def go_to(app: QEApp, host: FoundHost, code: str | None, watching: bool) -> None:
    """Goes to a table that was found, or to a host's list of tables.

    An announcement is nobody's word: what is pinned for the host stands above it.
    """
    if host.refused is not None:
        app.stop(host.error or CannotConnect(host.refused))
        return
    if not host.where.tls and not await _rather_plain(app, host):
        return
    app.show_only(Waiting(_("Calling {name} ...").format(name=host.name)))
    client, where = await reach(host.wheres, host.id, Pins(app.home.pins))
    await client.close()
    found = await visit(app.home, where, app.player, host_id=host.id)
    await sit(app, found, code, watching)


async def _rather_plain(app: QEApp, host: FoundHost) -> bool:
    answer = await app.push_screen_wait(
        Choose(
            _("{name} does not encrypt: anybody on the network can read the bids.").format(
                name=host.name
            ),
            [Choice("back", _("Go back"), "b"), Choice("on", _("Go there all the same"), "g")],
        )
    )
    return answer == "on"


async def again(app: QEApp, before: Visit) -> None:
    """Calls at a host once more, to look at its tables."""
    app.show_only(Waiting(_("Calling {where} ...").format(where=before.where)))
    await before.close()
    found = await visit(app.home, before.where, before.name, running=before.running)
    await sit(app, found, None, before.watching, choose=True)


async def _deal(app: QEApp, private: Visit, players: int | None) -> None:
    """Goes on with the game that was left, or deals a new one; asks where both are meant."""
    app.arrive(private, hold_lobby=True)
    kept = await own.unfinished(private)
    anew = kept is not None and players is not None and await _rather_anew(app, players)
    if kept is not None:
        try:
            await private.stay.ask(kept)
        except Refused:
            kept = None
    if kept is not None and anew:
        await private.stay.ask(Leave())
    elif kept is not None:
        app.notify(_("You go on with the game that you left."), markup=False)
    if kept is None or anew:
        await own.deal(private, players or app.settings.players)
    app.release_lobby()


async def _rather_anew(app: QEApp, players: int) -> bool:
    answer = await app.push_screen_wait(
        Choose(
            _("You have left a game unfinished."),
            [
                Choice("on", _("Go on with it"), "g"),
                Choice("new", _("Give it up; deal anew, for {n}").format(n=players), "n"),
            ],
        )
    )
    return answer == "new"


async def deal_again(private: Visit) -> None:
    """Another game against the same computers, from the lobby that they came back to."""
    with contextlib.suppress(QEError):  # the next view of the lobby asks again
        await private.stay.ask(Start())


async def _open(app: QEApp, begun: Visit, wishes: Wishes, *, ask: bool = False) -> None:
    """Back to the seat that is kept at one's own host, else to a new table."""
    app.arrive(begun)
    tables = {table.table for table in await begun.tables()}
    mine = [table for table, name in begun.kept() if name == begun.name and table in tables]
    if mine and ask:
        answer = await app.push_screen_wait(
            Choose(
                _("You have a seat at table {code} of your host.").format(code=mine[0]),
                [
                    Choice("back", _("Go back to it"), "b"),
                    Choice("new", _("Open the new table beside it"), "n"),
                ],
            )
        )
        if answer is None:
            app.done()
            return
        mine = mine if answer == "back" else []
    for table in mine:
        if await _resume(app, begun, table):
            return
    await begun.stay.ask(wishes.create(begun.name))


# --- Finding a seat ---------------------------------------------------------------------------


async def sit(
    app: QEApp,
    at: Visit,
    code: str | None,
    watching: bool,
    *,
    choose: bool = False,
    named: bool = False,
) -> None:
    """Finds a place at a table; asks only for what nobody but the person can say."""
    app.arrive(at)
    tables = await at.tables()
    chosen = None if choose else _obvious(at, tables, code, watching)
    while True:
        how = "watch" if watching else "join"
        if chosen is None:
            tables = await at.tables()
            how, wanted = await app.push_screen_wait(TablesScreen(at, tables, watching))
            if how == "back":
                app.done()
                return
            if how == "create":
                if await _create(app, at):
                    return
                continue
            tables = await at.tables()
            chosen = next((table for table in tables if table.table == wanted), None)
            if chosen is None:
                app.notify(_("That table is gone."), severity="warning", markup=False)
                continue
        app.show_only(
            Waiting(_("Going to table {code} ...").format(code=text.printable(chosen.table)))
        )
        if how != "watch" and not named and not await _same_again(app, at, chosen.table):
            chosen = None
            continue
        if await _take(app, at, chosen, how == "watch"):
            return
        chosen = None


def _obvious(
    at: Visit, tables: list[TableInfo], code: str | None, watching: bool
) -> TableInfo | None:
    """The table that is meant, where that is plain: named, sat at before, or the only one there
    is, or that has a seat to take or a game to watch."""
    if code is not None:
        return next((table for table in tables if table.table == code), None)
    if not watching:
        kept = {table for table, _name in at.kept()}
        mine = [table for table in tables if table.table in kept]
        if len(mine) == 1:
            return mine[0]
    fitting = [table for table in tables if (table.stage == "playing" if watching else table.free)]
    if len(fitting) != 1:
        fitting = tables
    return fitting[0] if len(fitting) == 1 else None


async def _same_again(app: QEApp, at: Visit, table: str) -> bool:
    """Takes the name of a seat that is kept at the table. False if the person went back."""
    names = [name for kept, name in at.kept() if kept == table]
    if not names or at.name in names:
        return True
    fresh = _("Take another seat, as {name}").format(name=at.name)
    answer = await app.push_screen_wait(
        Choose(
            _("A seat of yours is kept at table {code}.").format(code=table),
            [
                *(Choice(f"kept {n}", _("Go on as {name}").format(name=name), str(n + 1))
                  for n, name in enumerate(names)),
                Choice("fresh", fresh, "n"),
            ],
        )
    )  # fmt: skip
    if answer is not None and answer != "fresh":
        at.name = names[int(answer.split()[1])]
    return answer is not None


async def _create(app: QEApp, at: Visit) -> bool:
    wishes = await app.push_screen_wait(
        TableForm(Wishes(seats=app.settings.players), creating=True)
    )
    while wishes is not None:
        try:
            await at.stay.ask(wishes.create(at.name))
            return True
        except Refused as error:
            app.notify(text.printable(str(error)), severity="error", markup=False)
            wishes = await app.push_screen_wait(
                TableForm(replace(wishes, password=None), creating=True)
            )
    return False


async def _resume(app: QEApp, at: Visit, table: str) -> bool:
    token = at.saved(table)
    if token is None:
        return False
    try:
        await at.stay.ask(Resume(table=table, token=token))
    except Refused as error:
        if error.code == Code.BAD_TOKEN and error.reason != LATE:
            app.notify(
                _(
                    "Your seat at table {code} is not yours any more: it was free, and somebody "
                    "else took it."
                ).format(code=text.printable(table)),
                severity="warning",
                timeout=10,
                markup=False,
            )
        return False
    return True


async def _take(app: QEApp, at: Visit, table: TableInfo, watching: bool) -> bool:
    """Takes a seat, or a place to watch from. False if the person thought better of it."""
    if not watching and await _resume(app, at, table.table):
        return True
    password, app.password = app.password, None
    wrong = ""
    while True:
        if table.locked and password is None:
            password = await app.push_screen_wait(
                AskText(
                    _("Table {code} has a password.").format(code=table.table),
                    secret=True,
                    wrong=wrong,
                    check=text.password,
                )
            )
            if password is None:
                return False
        try:
            if watching:
                await at.stay.ask(Watch(table=table.table, name=at.name, password=password))
            else:
                await at.stay.ask(Join(table=table.table, name=at.name, password=password))
        except Refused as error:
            wrong = str(error)
            match error.code:
                case Code.WRONG_PASSWORD | Code.RATE_LIMITED if table.locked:
                    password = None
                case Code.NAME_TAKEN | Code.BAD_TEXT:
                    question = (
                        _("By what name will you watch table {code}?")
                        if watching
                        else _("By what name will you sit at table {code}?")
                    )
                    name = await app.push_screen_wait(
                        AskText(
                            question.format(code=table.table),
                            value=at.name,
                            wrong=wrong,
                            check=text.name,
                        )
                    )
                    if name is None:
                        return False
                    at.name = name
                    if await _resume(app, at, table.table):
                        return True
                case Code.WRONG_PASSWORD:
                    table = msgspec.structs.replace(table, locked=True)
                    password = None
                case Code.TABLE_FULL | Code.ALREADY_STARTED if not watching:
                    answer = await app.push_screen_wait(
                        Choose(
                            _("No seat is free at table {code}.").format(code=table.table),
                            [
                                Choice("watch", _("Watch instead"), "w"),
                                Choice("back", _("Look at other tables"), "t"),
                            ],
                        )
                    )
                    if answer != "watch":
                        return False
                    watching = True
                case _:
                    app.notify(text.printable(wrong), severity="error", markup=False)
                    return False
        else:
            at.watching = watching
            return True


# --- Words ------------------------------------------------------------------------------------


def parting(error: QEError | None, watching: bool) -> tuple[str, str, bool]:
    """Where one is now, a sentence, and whether one may look for another table there."""
    match error:
        case Goodbye(code=ByeCode.REPLACED):
            return (
                _("MOVED"),
                _("Your seat is played from another place now. This screen has no part in it."),
                True,
            )
        case Goodbye(code=ByeCode.REMOVED):
            return _("REMOVED"), _("You have been sent away from the table."), True
        case Goodbye(code=ByeCode.TABLE_CLOSED):
            closed = _("The table has been closed; its games are kept.")
            return _("CLOSED"), closed, True
        case FingerprintChanged():
            return _("STOP"), another_certificate(error), False
        case Refused() if watching:
            return _("SORRY"), _("You cannot watch here any more: {why}").format(why=error), True
        case Refused(code=Code.BAD_TOKEN):
            return (
                _("SORRY"),
                _(
                    "Your seat is not yours any more: you were away, it was given to whoever "
                    "comes, and somebody came."
                ),
                True,
            )
        case Refused(code=Code.UNKNOWN_TABLE):
            return _("SORRY"), _("Your seat cannot be taken now: {why}").format(why=error), True
        case Refused():
            return _("SORRY"), _("Your seat is not yours any more: {why}").format(why=error), True
        case Goodbye():
            return _("SORRY"), str(error), True
    return _("SORRY"), _("The connection cannot go on; the log says why."), True


def given_way_back() -> str:
    """The command that led here, where it is not this program that one types: QE_WAY_BACK.

    Whoever came that way is a guest on this machine, and has no business in the menu.
    """
    return text.printable(os.environ.get("QE_WAY_BACK", ""))


def way_back(at: Visit, snapshot: Snapshot) -> str | None:
    """One line for the shell: what is kept, and the exact command."""
    table = text.printable(snapshot.table)
    given = given_way_back()
    if at.private:
        if snapshot.room.stage != "playing":
            return None
        return _("Your game is kept. Go on with it: {command}").format(
            command=quoted(program(), "play")
        )
    if at.broker is not None:
        return _("Watch table {table} again with: {command}").format(
            table=table, command=given or quoted(program(), "watch", "--broker", at.broker, table)
        )
    flags = ["--table", table]
    if not at.watching:
        flags += ["--name", at.name]
    if not at.where.tls:
        flags += ["--no-tls"]
    if at.watching:
        return _("Watch table {table} again with: {command}").format(
            table=table, command=given or quoted(program(), "watch", at.where.short, *flags)
        )
    if at.running is not None:
        flags = [] if at.running.port == DEFAULT_PORT else ["--port", str(at.running.port)]
        flags += [] if at.running.tls else ["--no-tls"]
        command = quoted(program(), "host", "--name", at.name, *flags)
    else:
        command = quoted(program(), "join", at.where.short, *flags)
    kept = _("Your seat at table {table} is kept. Come back with: {command}")
    if snapshot.room.stage == "lobby":
        kept = _("Your seat at table {table} is kept for a minute. Come back with: {command}")
    return kept.format(table=table, command=given or command)
