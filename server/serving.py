"""A host as a process: from its settings to the lines that say where it listens, to its end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable

import click
import ifaddr

from server.host import Host, Settings
from server.safelog import loop_handler
from server.store import StoreError


class CannotStart(click.ClickException):
    """The host cannot run as asked for."""

    exit_code = 2


def serve(settings: Settings) -> None:
    """Runs a host until a signal ends it. Raises CannotStart and UsageError."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _serve(settings: Settings) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(loop_handler)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, ended.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(ended.set))
    try:
        host = Host(settings)
    except StoreError as error:
        raise CannotStart(str(error)) from None
    except (OSError, ssl.SSLError) as error:
        raise click.UsageError(
            f"The certificate cannot be used ({type(error).__name__})."
        ) from None
    try:
        await host.start()
    except (OSError, UnicodeError) as error:
        await host.stop()
        why = "the address is unknown"
        if isinstance(error, OSError) and not isinstance(error, socket.gaierror):
            why = os.strerror(error.errno or 0)
            if error.errno == errno.EADDRINUSE:
                why += "; --port takes another port, 0 any free one"
        raise CannotStart(
            f"Cannot listen on {_typed(settings.bind, settings.port)}: {why}."
        ) from None
    for line in _announcement(settings, host):
        click.echo(line)
    sys.stdout.flush()
    await ended.wait()
    await host.stop()


def _announcement(settings: Settings, host: Host) -> list[str]:
    address, port = host.addresses[0]
    others: list[str] = []
    if address in {"0.0.0.0", "::"}:
        others = _own_addresses(ipv6=address == "::")
        address = others.pop(0)
    lines = [f"listening on {_typed(address, port)}"]
    lines += [f"also on {_typed(other, port)}" for other in others]
    if host.fingerprint is not None:
        lines.append(f"certificate {host.fingerprint}")
    return lines


def _own_addresses(*, ipv6: bool) -> list[str]:
    """This machine's addresses that a guest could type, the loopback one last."""
    found = [ip.ip for adapter in ifaddr.get_adapters() for ip in adapter.ips]
    four = [ip for ip in found if isinstance(ip, str) and not ip.startswith("127.")]
    six = [
        ip[0]
        for ip in found
        if not isinstance(ip, str) and not ip[0].startswith("fe80") and ip[0] != "::1"
    ]
    return [*dict.fromkeys(four + (six if ipv6 else [])), "127.0.0.1"]


def _typed(address: str, port: int) -> str:
    """An address as one types it: IPv6 in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
