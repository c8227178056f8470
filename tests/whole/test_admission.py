"""Who is let in: tokens, passwords, and how much a host takes of one address and of all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from audience import Table
from hosting import HostProcess
from wire import Connection, GoneError, until

RunHost = Callable[..., HostProcess]


# --- Tokens and passwords -------------------------------------------------------------------


async def test_tokens(table: Table) -> None:
    """Renewed at each resume; the old one counts until the new one has been used."""
    bo = await table.join("Bo")
    await table.join("Cy")
    first = bo.token
    await table.resume(bo)
    bo.token = first
    await table.resume(bo)
    newest = bo.token
    await table.resume(bo)
    await table.at(0).link.refused("already_seated", "resume", table=table.code, token=bo.token)
    stranger = await table.connect()
    for void in (first, "", "0" * 32, newest[::-1], newest.upper() + "x", table.at(2).token[:-1]):
        await stranger.refused("bad_token", "resume", table=table.code, token=void)
    other = await Table.create(table.host, 3)
    await stranger.refused("bad_token", "resume", table=other.code, token=bo.token)
    await other.close()
    await stranger.close()
    await table.lose(bo)
    await table.resume(bo)
    await table.silent()


async def test_passwords(host: HostProcess, link: Connection) -> None:
    table = await Table.create(host, 3, password="öpen sesame")
    await link.refused("wrong_password", "join", table=table.code, name="Bo")
    await link.refused("wrong_password", "join", table=table.code, name="Bo", password="")
    await link.refused(
        "wrong_password", "join", table=table.code, name="Bo", password="Öpen sesame"
    )
    await link.refused("wrong_password", "watch", table=table.code, password="x")
    bo = await table.join("Bo", password="öpen sesame")
    await table.resume(bo)  # a token is enough
    await link.ask("watch", table=table.code, password="öpen sesame")
    await link.ask("leave")
    await table.at(0).link.ask("set", password="")
    await link.ask("join", table=table.code, name="Cy")
    await table.close()


async def test_rate_limits(host: HostProcess) -> None:
    """Whoever is wrong too often must wait; what is right always passes."""
    table = await Table.create(host, 3, password="right")
    link = await table.connect()
    codes = []
    for _ in range(30):
        try:
            await link.ask("join", table=table.code, name="Bo", password="wrong")
        except Exception as error:
            codes.append(str(error).partition(":")[0])
        if codes[-1] == "rate_limited":
            break
    assert codes[:3] == ["wrong_password"] * 3
    assert codes[-1] == "rate_limited"
    await link.refused("rate_limited", "resume", table=table.code, token="0" * 32)
    other = await Table.create(host, 3, password="right")
    stranger = await table.connect()
    await stranger.refused("wrong_password", "watch", table=other.code, password="wrong")
    await stranger.close()
    bo = await table.join("Bo", password="right")
    await table.resume(bo)
    await link.ask("watch", table=table.code, password="right")
    for _ in range(40):
        await link.ask("ping")
    await link.close()
    await other.close()
    await table.close()


async def test_chat_is_rate_limited(table: Table) -> None:
    """And nothing else that a player does."""
    answers = await asyncio.gather(
        *(table.at(0).link.send("say", text=f"line {n}") for n in range(60)),
        return_exceptions=True,
    )
    refused = [str(answer).partition(":")[0] for answer in answers if answer != {}]
    assert 0 < len(refused) < 60
    assert set(refused) == {"rate_limited"}
    for n in range(60):
        await table.at(0).link.ask("set", title=f"Title {n}")


# --- How much a host takes ------------------------------------------------------------------


async def test_host_full(run_host: RunHost) -> None:
    host = run_host(more=("--max-tables", "1"))
    table = await Table.create(host, 3)
    link = await table.connect()
    create = {"game": "qe", "seats": 3, "title": "T", "name": "Bo"}
    await link.refused("host_full", "create", **create)
    await table.at(0).link.ask("leave")

    async def closed() -> bool:
        return not (await link.ask("tables"))["tables"]

    await until(closed)
    assert len((await link.ask("create", **create))["table"]) == 4
    await link.close()
    await table.close()


async def test_too_many_connections(run_host: RunHost) -> None:
    host = run_host(more=("--max-connections", "2"))
    links = [await Connection.open(host.port, tls=False) for _ in range(2)]
    third = await Connection.open(host.port, tls=False, hello=False)
    await third.goodbye("host_full")
    with pytest.raises(GoneError):
        await third.ask("hello", versions=[1], client="x")
    await links[0].ask("tables")
    await links.pop().close()

    async def let_in() -> bool:
        again = await Connection.open(host.port, tls=False, hello=False)
        links.append(again)
        try:
            await again.ask("hello", versions=[1], client="x")
            return True
        except GoneError:
            return False

    await until(let_in)
    for link in (third, *links):
        await link.close()
