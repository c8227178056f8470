"""What the owner of the host's machine may do at a table: announce, kick, rename, close."""

from __future__ import annotations

import pytest

from protocol import messages as m
from protocol.errors import ByeCode, Refused, TextError
from tests.server.test_table_presence import gone, kinds, the_table


async def test_a_spectator_is_sent_away_by_name(running):
    (ana,) = await running.table("Ana")
    nameless, wim = await running.watcher(ana.code), await running.watcher(ana.code, "Wim")
    table = the_table(running, ana.code)
    for who in ("", "Zoe", "9"):
        with pytest.raises(Refused):
            await table.kick(who)
    await table.kick("Wim")
    goodbye = await wim.end()
    assert goodbye is not None
    assert goodbye.code == ByeCode.REMOVED
    assert (await nameless.until(lambda view: view.room.spectators == 1)).room.me is None


async def test_a_seat_is_meant_before_a_spectator_of_that_name(running):
    ana, bo = await running.table("Ana", "Bo")
    watching = await running.watcher(ana.code, "2")
    await the_table(running, ana.code).kick("2")
    goodbye = await bo.end()
    assert goodbye is not None
    assert goodbye.code == ByeCode.REMOVED
    assert kinds(await watching.turn()) == ["human", "open", "open"]


@pytest.mark.parametrize("away", [False, True])
async def test_who_is_sent_away_in_a_game_has_no_way_back_to_the_seat(running, away):
    ana, bo, cy = await running.game("Ana", "Bo", "Cy")
    second = await running.peer()
    token = (await second.ask(m.Resume(table=ana.code, token=bo.token)))["token"]
    if away:
        await gone(ana, 1, second)
    await the_table(running, ana.code).kick("Bo")
    if not away:
        goodbye = await second.end()
        assert goodbye is not None
        assert goodbye.code == ByeCode.REMOVED
    view = await cy.until(lambda view: view.room.seats[1].released)
    assert kinds(view) == ["human", "stand_in", "human"]
    late = await running.peer()
    for void in (token, bo.token):
        assert (await late.refused(m.Resume(table=ana.code, token=void)))[0] == "bad_token"
    assert (await late.ask(m.Join(table=ana.code, name="Bo")))["seat"] == 1


async def test_the_role_passes_when_the_host_is_sent_away(running):
    ana, bo, _ = await running.game("Ana", "Bo", "Cy")
    await the_table(running, ana.code).kick("1")
    assert (await bo.until(lambda view: view.room.host == 1)).room.seats[0].released


async def test_a_renamed_player_keeps_seat_token_and_a_name_of_their_own(running):
    ana, bo = await running.table("Ana", "Bo")
    await running.watcher(ana.code, "Wim")
    table = the_table(running, ana.code)
    for name in ("Ana", "АНA", "w1m", "host"):
        with pytest.raises(Refused):
            await table.rename("Bo", name if name != "АНA" else "АNA")
    with pytest.raises(TextError):
        await table.rename("Bo", "\u202e")
    await table.rename("Bo", "B\u00f6")
    assert (await ana.until(lambda view: view.room.seats[1].name == "B\u00f6")).room.host == 0
    await bo.ask(m.Say(text="hm"))
    await ana.turn()
    assert ana.said[-1].name == "B\u00f6"
    again = await running.peer()
    await again.ask(m.Resume(table=ana.code, token=bo.token))
    assert (await again.until(lambda view: True)).room.me == 1


async def test_the_host_itself_speaks_to_everybody(running):
    ana, *_ = await running.game("Ana", "Bo", "Cy")
    watching = await running.watcher(ana.code)
    await the_table(running, ana.code).announce("Ten minutes.")
    with pytest.raises(TextError):
        await the_table(running, ana.code).announce("")
    for peer in (ana, watching):
        await peer.turn()
        assert [(s.seat, s.name, s.text) for s in peer.said] == [(None, "host", "Ten minutes.")]
