"""A log tells where something failed, never with what."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol import messages as m
from protocol.client import connect
from protocol.errors import Refused
from server.safelog import loop_handler, reticent, where

SECRET = "31415926535"


def failing(amount: str) -> None:
    raise ValueError(f"{amount} is too much")


def test_where_names_type_and_place_only() -> None:
    try:
        failing(SECRET)
    except ValueError as error:
        shown = where(error)
    assert shown.startswith("ValueError at test_safelog.py:")
    assert shown.endswith(" failing")
    assert SECRET not in shown
    assert "/" not in shown
    assert where(KeyError(SECRET)) == "KeyError at an unknown place"


async def test_what_the_event_loop_catches_is_told_without_its_words(caplog):
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(loop_handler)
    with caplog.at_level(logging.DEBUG):
        loop.call_soon(failing, SECRET)
        loop.call_exception_handler({"message": f"no bid of {SECRET}"})
        await asyncio.sleep(0.01)
    assert "ValueError at" in caplog.text
    assert SECRET not in caplog.text


@pytest.fixture
def quiet() -> Iterator[io.StringIO]:
    """What a log says while `reticent` lasts, in a logger that is the root one's only handler."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers[:], root.level = [handler], logging.DEBUG
    try:
        with reticent():
            yield said
    finally:
        root.handlers[:], root.level = before, level


async def test_libraries_are_quoted_without_what_they_fill_in(quiet):
    async def act() -> dict[str, str]:
        return {"amount": SECRET}

    done = asyncio.create_task(act())
    await done
    assert SECRET in repr(done)
    logging.getLogger("asyncio").warning("Executing %s took %.3f seconds", done, 0.25)
    logging.getLogger("asyncio").error(f"Task exception was never retrieved\nfuture: {done!r}")
    try:
        failing(SECRET)
    except ValueError:
        logging.getLogger("mqtt.client").exception("failed to publish %r", SECRET)
        logging.getLogger("server.table").exception("100%% of %s failed", "them")
    logging.getLogger("server.table").info("%s joined table %s", "Ana 100%", "WOLF")
    logging.getLogger("server.table").info("%d", SECRET)  # a slip that logging would print
    lines = [line for line in quiet.getvalue().splitlines() if "selector" not in line]
    assert SECRET not in quiet.getvalue()
    assert lines[0] == "asyncio: Executing %s took %.3f seconds"
    assert lines[1] == "asyncio: Task exception was never retrieved"
    assert lines[2].startswith("mqtt.client: failed to publish %r (ValueError at test_safelog.py:")
    assert lines[3].startswith("100% of them failed (ValueError at test_safelog.py:")
    assert lines[4] == "Ana 100% joined table WOLF"


def test_no_crash_quotes_anything(quiet, capfd):
    class Undying:
        def __del__(self) -> None:
            failing(SECRET)

    Undying()
    thread = threading.Thread(target=failing, args=(SECRET,))
    thread.start()
    thread.join()
    try:
        failing(SECRET)
    except ValueError:
        sys.excepthook(*sys.exc_info())
    said = quiet.getvalue()
    assert said.count("ValueError at ") == 3
    assert SECRET not in said + "".join(capfd.readouterr())


def test_what_was_before_is_there_again_afterwards() -> None:
    before = sys.excepthook, threading.excepthook, sys.unraisablehook, logging.raiseExceptions
    with reticent():
        assert sys.excepthook is not before[0]
    assert before == (
        sys.excepthook, threading.excepthook, sys.unraisablehook, logging.raiseExceptions,
    )  # fmt: skip


# --- A host that fails in every way ----------------------------------------------------------

FAILING_HOST = """
import asyncio, sys, threading, time
from server import session, store, table
from server.cli import main
from server.host import Host

canary = sys.argv.pop(1)

class Undying:
    def __del__(self):
        raise RuntimeError(canary)

def broken(*_):
    raise RuntimeError(f"{canary} is wrong")

def list_tables(host):
    loop = asyncio.get_running_loop()
    loop.call_soon(broken, canary)
    loop.create_task(failing(), name="lost")
    threading.Thread(target=broken).start()
    Undying()
    return broken()

async def failing(*_):
    raise RuntimeError(canary)

perform = session.Session._perform
async def slow(self, id, body):
    time.sleep(0.12)  # what asyncio complains of, in its debug mode
    return await perform(self, id, body)

async def stop(host):
    await stopping(host)
    broken()

session.Session._perform = slow
Host.list_tables = list_tables
stopping, Host.stop = Host.stop, stop
main()
"""


async def test_a_failing_host_prints_no_secret(tmp_path):
    amount, password, broker = "27182818284", "swordfish-77", "brokers-own-word"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-X", "dev", "-c", FAILING_HOST, amount, "--data", str(tmp_path / "data"),
        "--bind", "127.0.0.1", "--port", "0", "--no-tls", "--no-discovery", "--verbose",
        "--seed", "the-seeds-text", "--broker", f"mqtt://me:{broker}@127.0.0.1:9",
        cwd=Path(__file__).parents[2], stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    tokens = []
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            line = (await process.stdout.readline()).decode()
            port = int(line.rsplit(":", 1)[1])
            ana = await connect("127.0.0.1", port, tls=False)
            create = m.Create(game="qe", seats=3, title="", name="Ana", password=password,
                              rules={"first": "host"})  # fmt: skip
            made = await ana.ask(create)
            tokens.append(made["token"])
            bo = await connect("127.0.0.1", port, tls=False)
            with pytest.raises(Refused):
                await bo.ask(m.Join(table=made["table"], name="Bo", password=password + "!"))
            join = m.Join(table=made["table"], name="Bo", password=password)
            tokens.append((await bo.ask(join))["token"])
            await ana.ask(m.AddBot())
            await ana.ask(m.Start())
            await ana.ask(m.Say(text="a-word-in-chat"))
            await ana.ask(m.Act(step=1, action={"kind": "bid", "amount": amount}))
            with pytest.raises(Refused, match="mistake"):
                await bo.ask(m.Tables())
            await ana.close()
            await bo.close()
            process.terminate()
            _, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = errors.decode()
    assert process.returncode == 1
    assert "a request failed: RuntimeError at" in said
    assert said.count("RuntimeError at") >= 5
    assert "Executing %s took" in said
    assert "Error: The host has failed: RuntimeError at" in said
    assert "wrong_password" in said
    assert f"Bo joined table {made['table']}" in said
    for secret in (amount, password, broker, *tokens, "a-word-in-chat", "the-seeds-text"):
        assert secret not in said
