"""What to tell others: in the lobby, and as text."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from places import Den
from textual.widgets import Input

from protocol.invitation import Where, parse
from qe_tui import invite
from qe_tui.app import QEApp
from qe_tui.errands import Errand
from qe_tui.hosting import Running
from qe_tui.screens.address import AddressScreen
from qe_tui.screens.form import Wishes
from qe_tui.screens.invite import Invite
from qe_tui.screens.lobby import LobbyScreen
from qe_tui.settings import Home, Settings
from qe_tui.visit import visit

Until = Callable[[Callable[[], Any]], Awaitable[Any]]
FP = "ab" * 32


def test_it_looks(snap_compare: Any, home: Home) -> None:
    wheres = [
        Where("192.168.100.205", table="WOLF", fingerprint=FP),
        Where("fd00:1234:5678:9abc:def0:1234:5678:9abc", 7400, table="WOLF", fingerprint=FP),
    ]

    async def show(pilot: Any) -> None:
        await pilot.app.push_screen(Invite(wheres))
        await pilot.pause()

    assert snap_compare(QEApp(home, Settings(name="Ana")), terminal_size=(80, 24), run_before=show)


@pytest.mark.parametrize("address", ["10.0.0.5", "fe80::1%eth0", "zoë.example"])
def test_the_command_is_one_word_to_any_shell(address: str) -> None:
    where = Where(address, 7400, table="WOLF", fingerprint=FP)
    command = invite.command(where)
    assert shlex.split(command)[:2] == ["qe", "join"]
    assert parse(shlex.split(command)[2]) == where
    assert command.split(" ", 2)[2].strip("'") == where.invitation


async def test_the_lobby_shows_and_copies_it(tls_den: Den, home: Home, until: Until) -> None:
    host = await visit(home, tls_den.where, "Ana")
    host.running = Running(
        pid=0,
        port=7373,
        tls=True,
        addresses=["192.168.1.5", "[fd00::1]"],
        folder="",
        fingerprint=host.stay.fingerprint,
    )
    app = QEApp(home, Settings(), Errand(host, "host", wishes=Wishes(seats=3)), name="Ana")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(lambda: isinstance(app.screen, LobbyScreen) and app.snapshot)
        await pilot.press("i")
        shown = await until(lambda: isinstance(app.screen, Invite) and app.screen)
        await pilot.press("c")
        assert app.snapshot is not None
        told = parse(shlex.split(app.clipboard)[2])
        assert told == Where("192.168.1.5", 7373, True, app.snapshot.table, host.stay.fingerprint)
        assert [where.address for where in shown._wheres] == ["192.168.1.5", "fd00::1"]
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, LobbyScreen))
        # A guest passes on the way that he came himself.
        host.running = None
        fingerprint = host.stay.fingerprint
        expected = replace(tls_den.where, table=app.snapshot.table, fingerprint=fingerprint)
        assert invite.invitations(host, app.snapshot.table) == [expected]
        host.private = True
        await pilot.press("i")
        await until(lambda: any("Nobody else" in toast.message for toast in app._notifications))
        host.private = False
        await app.depart()


async def test_all_of_it_may_be_pasted_where_an_address_is_asked_for(home: Home) -> None:
    app = QEApp(home, Settings())
    called: list[Where] = []
    app.call_at = lambda where, watching: called.append(where)  # type: ignore[method-assign]
    where = Where("10.0.0.5", table="WOLF", fingerprint=FP)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j")
        await pilot.pause()
        assert isinstance(app.screen, AddressScreen)
        for pasted in (invite.command(where), where.invitation, f" '{where.invitation}' "):
            app.screen.query_one(Input).value = pasted
            await pilot.press("enter")
    assert called == [where] * 3
