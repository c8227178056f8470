"""Hosts of one's own: found where they still run, started where they do not. No Textual here."""

from __future__ import annotations

import contextlib
import re
import secrets
from pathlib import Path

from protocol.errors import LinkError
from protocol.messages import AddBot, Create, Resume, Start
from qe_tui import hosting
from qe_tui.hosting import HostingError, Running
from qe_tui.i18n import _
from qe_tui.settings import Home
from qe_tui.visit import Visit, visit

PRIVATE_FOLDERS = 9
"""How many may play alone on this machine at the same time."""


def _log(home: Home) -> Path:
    return home.log.with_name("host.log")


async def find(home: Home, folder: Path, name: str) -> Visit | None:
    """Visits the host that was left running on a folder, if it is still there."""
    running = hosting.remembered(folder)
    if running is None:
        return None
    with contextlib.suppress(LinkError):
        found = await visit(home, running.where, name, running=running)
        if running.host_id and found.welcome.host.id == running.host_id:
            return found
        await found.close()
    return None


async def _begin(home: Home, running: Running, name: str) -> Visit:
    """The first visit to a host that was just started; the host goes if that fails."""
    try:
        begun = await visit(home, running.where, name, running=running)
    except BaseException:
        await hosting.stop(running)
        raise
    running.host_id = begun.welcome.host.id
    hosting.remember(running)
    return begun


async def revive(home: Home, visit: Visit) -> None:
    """Starts a host of one's own again, where it was, if it has died. Raises HostingError.

    The visit comes back by itself.
    """
    dead = visit.running
    if dead is None or hosting.alive(dead.pid):
        return
    running = await hosting.start(
        Path(dead.folder),
        port=dead.port,
        tls=dead.tls,
        bind="127.0.0.1" if visit.private else None,
        discovery=not visit.private,
        log=_log(home),
    )
    running.host_id = dead.host_id
    hosting.remember(running)
    visit.running = running


# --- For others too ---------------------------------------------------------------------------


async def public(
    home: Home, name: str, *, port: int, tls: bool, host_name: str | None = None
) -> tuple[Visit, bool]:
    """A host that others can join, and whether it was running already.

    Raises HostingError and LinkError, whose messages are sentences.
    """
    folder = home.data / "host"
    if found := await find(home, folder, name):
        return found, True
    running = await hosting.start(folder, port=port, tls=tls, name=host_name, log=_log(home))
    return await _begin(home, running, name), False


async def end_public(home: Home) -> str:
    """Stops the host that was left running. Gives a sentence for the shell."""
    folder = home.data / "host"
    found = await find(home, folder, "-")
    if found is None or found.running is None:
        return _("No host of yours is running.")
    await found.close()
    if await hosting.stop(found.running):
        return _("The host has stopped. Its games are kept; `qe host` goes on with them.")
    return _("The host, process {pid}, does not stop.").format(pid=found.running.pid)


# --- For nobody else --------------------------------------------------------------------------


async def private(home: Home, name: str) -> Visit:
    """A host for this player alone. It holds the game of last time, if that was not finished.

    Raises HostingError and LinkError, whose messages are sentences.
    """
    for number in range(1, PRIVATE_FOLDERS + 1):
        folder = home.data / ("play" if number == 1 else f"play-{number}")
        begun = await find(home, folder, name)
        if begun is None:
            try:
                running = await hosting.start(
                    folder, port=0, tls=False, bind="127.0.0.1", discovery=False, log=_log(home)
                )
            except HostingError as error:
                if _in_use(error):
                    continue
                raise
            begun = await _begin(home, running, name)
        elif (tables := {info.table for info in await begun.tables()}) and not any(
            table in tables for table, _name in begun.kept()
        ):
            # Somebody else here is playing with it.
            await begun.close()
            continue
        begun.private = True
        return begun
    raise HostingError(_("Too many games against computers are being played on this machine."))


def _in_use(error: HostingError) -> bool:
    """Whether it is the folder that another host has, which says so in its own words."""
    return re.search(r"\b(?:locked|another host)\b", str(error), re.IGNORECASE) is not None


async def unfinished(private: Visit) -> Resume | None:
    """How to sit down to the game against computers that was left unfinished, if there is one.

    Raises Refused and LinkError.
    """
    playing = {table.table for table in await private.tables() if table.stage == "playing"}
    for table, name in private.kept():
        token = private.stay.saved(table, name)
        if table in playing and token is not None:
            private.name = name
            return Resume(table=table, token=token)
    return None


async def deal(private: Visit, players: int) -> None:
    """Sits down to a new game against computers. Raises Refused and LinkError."""
    # Nobody knows this password: others on this machine have no business at the table.
    password = secrets.token_hex(16)
    await private.stay.ask(
        Create(game="qe", seats=players, title="", name=private.name, password=password)
    )
    for _seat in range(players - 1):
        await private.stay.ask(AddBot())
    await private.stay.ask(Start())
