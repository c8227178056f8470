"""Makes docs/table.svg, the picture in the README: the app's own export of a real game.

A host, three players without a screen and the app, all over real sockets on this machine.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from random import Random

from protocol.client import Client, connect
from protocol.invitation import Where
from protocol.messages import Act, Create, Join, Say, Start, View
from qe_tui.app import QEApp
from qe_tui.errands import Errand
from qe_tui.model import read_view
from qe_tui.settings import Home, Settings
from qe_tui.visit import visit
from server.games.qe import QE
from server.host import Host
from server.host import Settings as HostSettings

PICTURE = Path(__file__).with_name("table.svg")
AUCTION = 9
TYPED = "1500000"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        host = Host(
            HostSettings(
                data=Path(folder) / "host", name="Den", bind="127.0.0.1", port=0, tls=False,
                seed="picture",
            )
        )  # fmt: skip
        await host.start()
        try:
            await _play(Path(folder), Where("127.0.0.1", host.addresses[0][1], False))
        finally:
            await host.stop()


async def _play(folder: Path, where: Where) -> None:
    others: list[Client] = []
    for name in ("Bo", "Cy", "Dee"):
        client = await connect(where.address, where.port, tls=False)
        if not others:
            made = await client.ask(Create(game="qe", seats=4, title="", name=name))
        else:
            await client.ask(Join(table=made["table"], name=name))
        others.append(client)
    home = Home(*(folder / part for part in ("settings", "pins", "tokens", "log", "data")))
    errand = Errand(await visit(home, where, "Ana"), "join")
    app = QEApp(home, Settings(name="Ana"), errand, name="Ana")
    async with app.run_test(size=(80, 24)) as pilot:
        while app.snapshot is None or not app.snapshot.room.seats[3].connected:
            await pilot.pause(0.05)
        await others[0].ask(Start())
        await others[2].ask(Say(text="nobody needs a house in Tokyo"))
        players = [asyncio.create_task(_bid(client, Random(n))) for n, client in enumerate(others)]
        rng = Random(9)
        while True:
            await pilot.pause(0.05)
            snapshot = app.snapshot
            game, you = snapshot.game, snapshot.you
            if game is None or you is None or you.seat not in game.waiting:
                continue
            if game.auction >= AUCTION and game.phase == "secret":
                break
            action = QE.choose("normal", game, you, rng)
            assert action is not None
            await app.ask(Act(step=game.step, action={"kind": "bid", "amount": action.amount}))
        await pilot.press(*TYPED)
        await pilot.pause(0.3)
        PICTURE.write_text(app.export_screenshot(title="qe"))
        for player in players:
            player.cancel()
        await app.depart()
    for client in others:
        await client.close()


async def _bid(client: Client, rng: Random) -> None:
    """Plays as a computer does."""
    done = 0
    while True:
        message = await client.next()
        if not isinstance(message, View) or message.game is None:
            continue
        game, you = read_view(message)
        assert game is not None
        assert you is not None
        if you.seat not in game.waiting or game.step <= done:
            continue
        done = game.step
        action = QE.choose("normal", game, you, rng)
        if action is not None:
            amount = {"kind": "bid", "amount": action.amount}
            await client.ask(Act(step=game.step, action=amount))


if __name__ == "__main__":
    asyncio.run(main())
