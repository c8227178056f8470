"""From the command line to the screens and back to the shell."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NoReturn

import click

from protocol import text
from protocol.broker import read_url
from protocol.errors import FingerprintChanged, QEError
from protocol.invitation import Where
from protocol.trust import Pins
from qe_tui import hosting, invite, own, settings, terminal
from qe_tui.hosting import HostingError, Running
from qe_tui.i18n import _
from qe_tui.settings import Home, Settings

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


def menu(broker: str | None) -> NoReturn:
    """The menu, with the hosts that publish on a broker."""
    try:
        if broker is not None:
            read_url(broker)
    except QEError as error:
        _refuse(str(error))
    _start(None, None, broker=broker, loop_factory=_broker_loop(broker))


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
        at = kept.port if port is None else port
        visit, was_there = await own.public(home, player, port=at, tls=tls)
        if visit.running is not None:
            _invite(visit.running)
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

        where = _without_tls(address) if no_tls else address
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


def tables(
    addresses: Sequence[Where],
    *,
    as_json: bool,
    wait: float,
    broker: str | None,
    no_tls: bool,
) -> NoReturn:
    """Prints the tables of the hosts at addresses, or of all hosts within reach."""
    from qe_tui import listing

    home = Home.find()
    terminal.log_to(home.log)
    pins = Pins(home.pins)
    with (
        _said_in_the_shell(home),
        asyncio.Runner(loop_factory=_broker_loop(broker)) as runner,
    ):
        wheres = [_without_tls(where) if no_tls else where for where in addresses]
        if wheres:
            hosts, troubles = runner.run(listing.asked(pins, wheres))
        else:
            hosts, troubles = runner.run(listing.found(pins, broker, wait))
    if not addresses and not hosts:
        troubles.append(_("No host was found. One that is not announced is asked by its address."))
    listing.say(hosts, troubles, json=as_json)
    sys.exit(CANNOT_START if addresses and troubles else 0)


def watch_broker(url: str, wanted: str | None) -> NoReturn:
    """Watches a table that a host has published on a broker: the one with the code `wanted`, or
    one of the host of that name."""
    from qe_tui import broker_choice

    home = Home.find()
    terminal.log_to(home.log)
    with _said_in_the_shell(home):
        broker = read_url(url)
        with asyncio.Runner(loop_factory=_broker_loop(url)) as runner:
            there = runner.run(broker_choice.offers(url))
        found = broker_choice.meant(there, wanted)
        if not found:
            raise CannotStart(_nothing_on(str(broker), [offer.table.table for offer in there]))
    offer = found[0] if len(found) == 1 else broker_choice.ask(found)

    async def opening(home: Home, kept: Settings, player: str) -> Errand:
        from protocol.tokens import Wallet
        from qe_tui.broker_stay import BrokerStay
        from qe_tui.errands import Errand
        from qe_tui.visit import Visit

        card, code = offer.card, offer.table.table
        stay = BrokerStay(broker, offer.host, card, code)
        welcome = await stay.open()
        address = card.addresses[0] if card.addresses else broker.address
        where = Where(address, card.port, card.tls)
        wallet = Wallet(home.tokens)
        at = Visit(stay, where, welcome, player, wallet, watching=True, broker=str(broker))
        return Errand(at, "watch", table=code)

    _start(None, opening, loop_factory=_broker_loop(url))


def _nothing_on(broker: str, codes: Sequence[str]) -> str:
    if not codes:
        return _("There is no table on the broker {broker}.").format(broker=broker)
    return _("There is no such table on the broker {broker}. There: {tables}.").format(
        broker=broker, tables=", ".join(codes)
    )


def _broker_loop(broker: str | None) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop that a broker's library needs on this platform, if another than usual."""
    if broker is None:
        return None
    from protocol.mqtt import loop_factory

    return loop_factory()


def _without_tls(where: Where) -> Where:
    """As the user has said, unless an invitation says otherwise."""
    if where.fingerprint is not None:
        raise CannotStart(_("The invitation names a certificate, which --no-tls would not check."))
    return replace(where, tls=False)


def stop_host() -> NoReturn:
    """Stops the host that was left running."""
    terminal.log_to(Home.find().log)
    click.echo(asyncio.run(own.end_public(Home.find())))
    sys.exit(0)


def forget(what: Where | str) -> NoReturn:
    """Forgets a certificate, by its fingerprint or by an address of its host."""
    pins = Pins(Home.find().pins)
    try:
        fingerprint = what if isinstance(what, str) else pins.at(what.address, what.port)
        known = fingerprint is not None and pins.forget(fingerprint)
    except OSError as error:
        _refuse(
            _("The file of known certificates cannot be read or written: {why}.").format(
                why=error.strerror or type(error).__name__
            )
        )
    if not known:
        _refuse(_("No such certificate is known."))
    click.echo(_("It is forgotten. The next certificate of that host counts as its first."))
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


@contextlib.contextmanager
def _said_in_the_shell(home: Home) -> Iterator[None]:
    """Whatever goes wrong is said in a sentence, and ends the program."""
    try:
        yield
    except FingerprintChanged as error:
        _refuse(text.printable(terminal.another_certificate(error)))
    except (CannotStart, QEError, HostingError) as error:
        _refuse(text.printable(str(error)))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception:
        log.exception("QE has failed")
        click.echo(terminal.crashed(home.log), err=True)
        sys.exit(CRASHED)


def _start(
    name: str | None,
    opening: Opening | None,
    password: str | None = None,
    *,
    broker: str | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> NoReturn:
    home = Home.find()
    terminal.log_to(home.log)
    with _said_in_the_shell(home), asyncio.Runner(loop_factory=loop_factory) as runner:
        app, status = runner.run(_run(home, name, opening, password, broker))
    # With the terminal gone there is nobody to tell.
    with contextlib.suppress(OSError):
        _farewell(app, status)
    sys.exit(status)


async def _run(
    home: Home,
    name: str | None,
    opening: Opening | None,
    password: str | None,
    broker: str | None,
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
        app = QEApp(
            home, kept, errand, name=player, password=password, notice=notice, broker=broker
        )
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
        visit = app.visit
        mine = visit is not None and visit.running is app.left_running
        table = visit.table if visit is not None and mine else None
        _leave_running(app.left_running, table, may_ask=status == 0)
    if back := app.way_back():
        click.echo(back)


def _leave_running(running: Running, table: str | None, *, may_ask: bool) -> None:
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
        _invite(running, table)
    elif asyncio.run(hosting.stop(running)):
        click.echo(_("The host has stopped. Its games are kept; `qe host` goes on with them."))
    else:
        click.echo(_("The host, process {pid}, does not stop.").format(pid=running.pid), err=True)


def _invite(running: Running, table: str | None = None) -> None:
    """How others come to a host of this player's, its table too where that is known."""
    for where in invite.doors(running)[:1]:
        for words, line in invite.lines(replace(where, table=table and text.printable(table))):
            click.echo(f"{words}:  {line}")


def _refuse(sentence: str) -> NoReturn:
    click.echo(f"qe: {sentence}", err=True)
    sys.exit(CANNOT_START)
