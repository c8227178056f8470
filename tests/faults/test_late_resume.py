"""What a dead line delivers after all, when its client has long come back on another one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hosting import HostProcess
from wire import Connection, RefusedError


async def test_a_resume_that_comes_late_takes_nothing(run_host: Callable[..., HostProcess]) -> None:
    """The older connection with the same token loses; a newer one wins, as its answer was lost."""
    host = run_host()
    first = await Connection.open(host.port, tls=False)
    made = await first.ask("create", game="qe", seats=3, title="T", name="Ana")
    table, token = made["table"], made["token"]
    await first.close()
    late = await Connection.open(host.port, tls=False)
    back = await Connection.open(host.port, tls=False)
    newest = (await back.ask("resume", table=table, token=token))["token"]
    with pytest.raises(RefusedError):
        await late.ask("resume", table=table, token=token)
    await back.ask("ping")
    assert back.bye is None
    again = await Connection.open(host.port, tls=False)
    third = (await again.ask("resume", table=table, token=token))["token"]
    await back.goodbye("replaced")
    last = await Connection.open(host.port, tls=False)
    with pytest.raises(RefusedError, match="bad_token"):
        await last.ask("resume", table=table, token=newest)
    await last.ask("resume", table=table, token=third)
    await again.goodbye("replaced")
    for link in (late, back, again, last):
        await link.close()
    assert host.errors() == []
