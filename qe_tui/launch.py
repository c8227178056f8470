"""From the command line to the screens and back to the shell."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NoReturn

import click

from protocol import text
from protocol.errors import QEError
from qe_tui import hosting, own, settings, terminal
from qe_tui.hosting import HostingError, Running
from qe_tui.i18n import _
from qe_tui.settings import Home, Settings
from qe_tui.where import Where

if TYPE_CHECKING:
    from qe_tui.app import QEApp
    from qe_tui.errands import Errand

log = logging.getLogger("qe.launch")

CANNOT_START = 2
CRASHED = 1
INTERRUPTED = 130


class CannotStart(Exception):
    """There is nothing to show a screen for. The message is a sentence."""


Opening = Callable[[Home, Settings, str], Awaitable["Errand"]]
"""Reaches a host before the screen is taken: what goes wrong is said in the shell."""


def menu() -> NoReturn:
    _start(None, None)


def play(name: str | None, players: int | None) -> NoReturn:
    async def opening(home: Home, kept: Settings, player: str) -> Errand:
        visit = await own.private(home, player)
        from qe_tui.errands import Errand

        return Errand(visit, "play", players=players)

    _start(name, opening)


def host(
    name: str | None,
    *,
    port: int | None,
    players: int | None,
    title: str | None,
    password: str | None,
    tls: bool,
) -> NoReturn:
    async def opening(home: Home, kept: Settings, player: str) -> Errand:
        visit, was_there = await own.public(home, player, port=port or kept.port, tls=tls)
        from qe_tui.errands import Errand
        from qe_tui.screens.form import Wishes

        wishes = Wishes(seats=players or kept.players, title=title or "", password=password)
        notice = _("Your host was still running at {where}.").format(
            where=", ".join(visit.addresses)
        )
        return Errand(visit, "host", wishes=wishes, notice=notice if was_there else None)

    _start(name, opening)


def come(
    kind: Literal["join", "watch"],
    address: Where,
    table: str | None,
    name: str | None,
    *,
    no_tls: bool,
    password: str | None,
) -> NoReturn:
    """Joins or watches at an address."""

    async def opening(home: Home, kept: Settings, player: str) -> Errand:
        from qe_tui.visit import visit

        where = replace(address, tls=address.tls and not no_tls)
        code = table or where.table
        found = await visit(home, where, player)
        try:
            tables = await found.tables()
            if code is not None and all(there.table != code for there in tables):
                there = ", ".join(text.printable(other.table) for other in tables)
                raise CannotStart(
                    _("There is no table {code} at {where}.").format(code=code, where=where.short)
                    + " "
                    + (
                        _("There: {tables}.").format(tables=there)
                        if there
                        else _("There is no table at all yet.")
                    )
                )
        except BaseException:
            await found.close()
            raise
        kept.address, kept.tls = where.short, where.tls
        with contextlib.suppress(OSError):
            settings.save(home.settings, kept)
        from qe_tui.errands import Errand

        return Errand(found, kind, table=code, named=name is not None)

    _start(name, opening, password)


def stop_host() -> NoReturn:
    """Stops the host that was left running."""
    terminal.log_to(Home.find().log)
    click.echo(asyncio.run(own.end_public(Home.find())))
    sys.exit(0)


def require_terminal() -> None:
    """Ends with a sentence where there is no terminal to play on."""
    if not terminal.is_terminal():
        _refuse(
            _(
                "QE plays on a terminal, and this is none. `qe --help` says what there is, and a "
                "host without a screen is `qe-server`."
            )
        )


# --- The frame around the screens -------------------------------------------------------------


def _start(name: str | None, opening: Opening | None, password: str | None = None) -> NoReturn:
    home = Home.find()
    terminal.log_to(home.log)
    try:
        app, status = asyncio.run(_run(home, name, opening, password))
    except (CannotStart, QEError, HostingError) as error:
        _refuse(text.printable(str(error)))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception:
        log.exception("QE has failed")
        click.echo(terminal.crashed(home.log), err=True)
        sys.exit(CRASHED)
    # With the terminal gone there is nobody to tell.
    with contextlib.suppress(OSError):
        _farewell(app, status)
    sys.exit(status)


async def _run(
    home: Home, name: str | None, opening: Opening | None, password: str | None
) -> tuple[QEApp | None, int]:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(terminal.log_loop_errors)
    task = asyncio.current_task()
    assert task is not None
    app: QEApp | None = None
    ended = 0

    def stop(status: int) -> None:
        nonlocal ended
        ended = status
        if app is not None:
            app.exit(return_code=status)
        else:
            task.cancel()

    terminal.keep_keys_private()
    from qe_tui.app import QEApp

    with terminal.stopping(stop):
        kept, notice = settings.load(home.settings)
        player = name or kept.name or settings.default_name()
        try:
            errand = await opening(home, kept, player) if opening else None
        except asyncio.CancelledError:
            if ended:
                return None, ended
            raise
        app = QEApp(home, kept, errand, name=player, password=password, notice=notice)
        try:
            await app.run_async()
        finally:
            await app.depart()
    return app, app.return_code or 0


def _farewell(app: QEApp | None, status: int) -> None:
    """What is said in the shell when the screen is gone."""
    if app is None:
        return
    if app.left_running is not None:
        _leave_running(app.left_running, may_ask=status == 0)
    if back := app.way_back():
        click.echo(back)


def _leave_running(running: Running, *, may_ask: bool) -> None:
    addresses = ", ".join(running.addresses)
    goes_on = True
    if may_ask and terminal.is_terminal():
        try:
            goes_on = click.confirm(
                _("Shall the host at {addresses} run on for the others?").format(
                    addresses=addresses
                ),
                default=True,
            )
        except (click.Abort, EOFError):
            click.echo()
    if goes_on:
        click.echo(
            _("The host runs on at {addresses}. Stop it with: {command}").format(
                addresses=addresses, command=terminal.quoted(terminal.program(), "host", "--stop")
            )
        )
    elif asyncio.run(hosting.stop(running)):
        click.echo(_("The host has stopped. Its games are kept; `qe host` goes on with them."))
    else:
        click.echo(_("The host, process {pid}, does not stop.").format(pid=running.pid), err=True)


def _refuse(sentence: str) -> NoReturn:
    click.echo(f"qe: {sentence}", err=True)
    sys.exit(CANNOT_START)
