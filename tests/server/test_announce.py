"""A host makes itself known: on the loopback interface alone, and as a process."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol import mdns
from protocol.invitation import parse
from server.announce import Announcer, announcer, own_addresses
from server.host import Host, Settings

LOOPBACK = ["127.0.0.1"]
FP = "ab" * 32
WAIT = 20.0


class Listener:
    """Whoever looks for hosts on the loopback interface."""

    def __init__(self) -> None:
        from zeroconf.asyncio import AsyncServiceBrowser

        self.mdns = mdns.open_mdns(LOOPBACK)
        self.names: set[str] = set()
        self.browser = AsyncServiceBrowser(
            self.mdns.zeroconf, mdns.SERVICE, handlers=[self._noticed]
        )

    def _noticed(self, **event: Any) -> None:
        gone = event["state_change"].name == "Removed"
        (self.names.discard if gone else self.names.add)(event["name"])

    def mine(self, label: str) -> list[str]:
        """Names that begin so: others may be about on this machine."""
        return sorted(name for name in self.names if name.startswith(label))

    async def addresses(self, name: str) -> list[str]:
        from zeroconf.asyncio import AsyncServiceInfo

        info = AsyncServiceInfo(mdns.SERVICE, name)
        await info.async_request(self.mdns.zeroconf, 1000)
        self.info = info
        return info.parsed_addresses()

    async def close(self) -> None:
        await self.browser.async_cancel()
        await self.mdns.async_close()


async def until(condition: Callable[[], Any]) -> None:
    limit = time.monotonic() + WAIT
    while True:
        if condition():
            return
        assert time.monotonic() < limit, "it did not happen"
        await asyncio.sleep(0.02)


async def test_a_host_is_announced_moves_and_says_goodbye(tmp_path: Path) -> None:
    label = f"Den {time.monotonic_ns()}"
    addresses = ["10.9.0.1", "fd00::1"]
    notice = mdns.Notice(id="c0ffee", fp=FP)

    def make() -> Announcer:
        return Announcer(
            label, 7373, notice, lambda: list(addresses), interfaces=LOOPBACK, look_every=0.05
        )

    listener = Listener()
    first, second = make(), make()
    first.start()
    try:
        await until(lambda: listener.mine(label))
        (name,) = listener.mine(label)
        assert await listener.addresses(name) == addresses
        assert listener.info.port == 7373
        assert mdns.read(listener.info.properties) == notice
        second.start()
        await until(lambda: len(listener.mine(label)) == 2)  # another host of that name
        addresses[:] = ["10.9.0.2"]
        limit = time.monotonic() + WAIT
        while await listener.addresses(name) != ["10.9.0.2"]:
            assert time.monotonic() < limit, "the old address is still announced"
            await asyncio.sleep(0.05)
    finally:
        async with asyncio.timeout(WAIT):
            await asyncio.gather(first.stop(), second.stop())
    await until(lambda: not listener.mine(label))
    await listener.close()


async def test_where_it_fails_one_line_says_so(caplog: pytest.LogCaptureFixture) -> None:
    nowhere = Announcer(
        "Den",
        7373,
        mdns.Notice(id="c0ffee", fp=None),
        lambda: ["203.0.113.1"],
        interfaces=["203.0.113.1"],  # kept for documentation: no interface has it
        look_every=0.01,
    )
    with caplog.at_level(logging.WARNING):
        nowhere.start()
        await until(lambda: caplog.records)
        await asyncio.sleep(0.2)
        await nowhere.stop()
    (line,) = [record.getMessage() for record in caplog.records]
    assert "mDNS" in line
    assert "type its address" in line


@pytest.mark.parametrize(
    ("bind", "discovery", "announced"),
    [("127.0.0.1", True, False), ("0.0.0.0", False, False), ("0.0.0.0", True, True)],
)
async def test_who_is_announced(
    tmp_path: Path, bind: str, discovery: bool, announced: bool
) -> None:
    host = Host(Settings(data=tmp_path, name="Den", bind=bind, port=0, tls=False,
                         discovery=discovery))  # fmt: skip
    await host.start()
    assert (announcer(host) is not None) == announced
    await host.stop()


def test_own_addresses_are_those_that_others_reach() -> None:
    assert own_addresses(["127.0.0.1", "::1"]) == []
    assert own_addresses(["192.0.2.7"]) == ["192.0.2.7"]
    everywhere = own_addresses(["0.0.0.0", "::"])
    assert not [address for address in everywhere if address.startswith(("127.", "::1"))]
    assert len(everywhere) == len(set(everywhere))
    assert not [address for address in own_addresses(["0.0.0.0"]) if ":" in address]


@pytest.mark.parametrize("tls", [True, False])
def test_an_invitation_and_a_short_line_are_printed(tmp_path: Path, tls: bool) -> None:
    command = [sys.executable, "-m", "server", "--data", str(tmp_path), "--bind", "127.0.0.1",
               "--port", "0", "--players", "3", *([] if tls else ["--no-tls"])]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said: dict[str, str] = {}
        while "say aloud" not in said:
            found = re.fullmatch(
                r"(listening on|also on|certificate|invitation|say aloud) +(.+)\n",
                process.stdout.readline(),
            )
            assert found
            said[found[1]] = found[2]
        invited = parse(said["invitation"])
        assert str(invited) == said["listening on"]
        assert invited.fingerprint == said.get("certificate")
        assert invited.tls is tls
        assert invited.table is not None, "the standing table"
        short = f"qe join {said['listening on']}"
        assert said["say aloud"] == short + ("" if tls else " --no-tls")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 0
        assert process.stdout is not None
        process.stdout.close()
