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
from typing import TYPE_CHECKING

import click

from protocol.broker import Broker, BrokerError, read_url
from server import announce
from server.control import Control
from server.host import Host, Settings
from server.safelog import loop_handler, reticent, where
from server.store import StoreError

if TYPE_CHECKING:
    from server.feed import Feed


class CannotStart(click.ClickException):
    """The host cannot run as asked for."""

    exit_code = 2


class Crashed(click.ClickException):
    """The host failed. The message says where, and quotes nothing."""


def serve(settings: Settings) -> None:
    """Runs a host until a signal ends it. Raises CannotStart, UsageError and Crashed."""
    try:
        broker = read_url(settings.broker) if settings.broker else None
    except BrokerError as error:
        raise CannotStart(str(error)) from None
    with reticent():
        try:
            with asyncio.Runner(loop_factory=_loop_factory(broker is not None)) as runner:
                runner.run(_serve(settings, broker))
        except click.ClickException:
            raise
        except Exception as error:
            raise Crashed(f"The host has failed: {where(error)}.") from None


def _loop_factory(broker: bool) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where it is installed; on Windows one that a broker can be spoken to on,
    where there is one to speak to."""
    if broker:
        from protocol.mqtt import loop_factory

        if (needed := loop_factory()) is not None:
            return needed
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _serve(settings: Settings, broker: Broker | None) -> None:
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
        raise CannotStart(f"Cannot listen on {_wanted(settings)}: {why}.") from None
    control = Control(host, ended.set)
    await control.start()
    for line in _announcement(settings, host):
        click.echo(line)
    sys.stdout.flush()
    announcer = announce.announcer(host)
    if announcer is not None:
        announcer.start()
    feed = _feed(host, broker)
    if feed is not None:
        feed.start()
    await ended.wait()
    control.stop()
    await asyncio.gather(*(each.stop() for each in (feed, announcer) if each is not None))
    await host.stop()  # gives the data folder free, and its files with it


def _feed(host: Host, broker: Broker | None) -> Feed | None:
    """What publishes the host; its library is loaded only where there is a broker."""
    if broker is None:
        return None
    from server.feed import Feed

    return Feed(host, broker)


def _announcement(settings: Settings, host: Host) -> list[str]:
    port = host.addresses[0][1]
    address, *others = _guest_addresses([address for address, _ in host.addresses])
    lines = [f"listening on {_typed(address, port)}"]
    lines += [f"also on {_typed(other, port)}" for other in others]
    if host.fingerprint is not None:
        lines.append(f"certificate {host.fingerprint}")
    return lines + announce.invitation(host, address, port)


_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def _guest_addresses(bound: list[str]) -> list[str]:
    """What a guest could type to come to one of these, the loopback address last.

    Link-local IPv6 addresses are left out, since one would have to type an interface as well.
    """
    guests = [each for each in announce.own_addresses(bound) if not each.startswith("fe80")]
    return list(dict.fromkeys([*guests, _LOOPBACK.get(bound[0], bound[0])]))


def _wanted(settings: Settings) -> str:
    if settings.bind:
        return _typed(settings.bind, settings.port)
    return f"port {settings.port}"


def _typed(address: str, port: int) -> str:
    """An address as one types it: IPv6 in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
