"""The command `qe-server`: a host without a screen."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path

import click
import ifaddr
import platformdirs

from protocol import text
from protocol.errors import TextError
from protocol.messages import DEFAULT_PORT
from server.games.registry import GAMES
from server.host import STANDING_GAME, Host, Settings, program_version
from server.safelog import loop_handler
from server.store import StoreError

EXAMPLES = """
\b
Examples:
  qe-server                          guests open tables
  qe-server --players 4              a game for whoever comes, four at a time
  qe-server --players 4 --bots 2     the same for two, with two computers
  qe-server --no-tls --bind 127.0.0.1 --port 0
"""

DATA = platformdirs.user_data_path("qe") / "server"

FILES_BESIDE = 64
"""Open files that a host needs beside its connections."""


class CannotStart(click.ClickException):
    """The host cannot run as asked for."""

    exit_code = 2


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=EXAMPLES,
)
@click.version_option(program_version(), prog_name="qe-server")
@click.option("--bind", default="0.0.0.0", metavar="ADDRESS", help="Where to listen.")
@click.option("--port", default=DEFAULT_PORT, type=click.IntRange(0, 65_535),
              help="The TCP port; 0 picks a free one.")  # fmt: skip
@click.option(
    "--name", default=None, help="What the host is called.  [default: this machine's name]"
)
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), default=None,
              help="The folder of the journal and the certificate.  "
              f"[default: {DATA}]", show_default=False)  # fmt: skip
@click.option("--no-tls", is_flag=True, help="Plain TCP: anybody on the LAN can read the bids.")
@click.option("--players", type=int, default=0, help="Keep standing tables of that many seats.")
@click.option("--bots", type=int, default=0, help="Computer players at each standing table.")
@click.option("--bot-delay", type=click.FloatRange(0, 3600), default=1.5, metavar="SECONDS",
              help="How long a computer thinks on average; longer over an opening.")  # fmt: skip
@click.option("--seed", default=None, help="For tests: makes every deal foreseeable.")
@click.option("--max-tables", type=click.IntRange(1, 3000), default=500)
@click.option("--max-connections", type=click.IntRange(1, 100_000), default=2000)
@click.option("--verbose", is_flag=True, help="Log who comes and goes, on standard error.")
def main(
    bind: str,
    port: int,
    name: str | None,
    data: Path | None,
    no_tls: bool,
    players: int,
    bots: int,
    bot_delay: float,
    seed: str | None,
    max_tables: int,
    max_connections: int,
    verbose: bool,
) -> None:
    """Host games of QE for the terminals on your network."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    _check_standing(players, bots)
    if not math.isfinite(bot_delay):
        raise click.BadParameter("is a number of seconds.", param_hint="--bot-delay")
    if seed is not None and not seed.isprintable():
        raise click.BadParameter("is a line of text.", param_hint="--seed")
    settings = Settings(
        data=data or DATA,
        name=_host_name(name),
        bind=bind,
        port=port,
        tls=not no_tls,
        players=players,
        bots=bots,
        bot_delay=bot_delay,
        seed=seed,
        max_tables=max_tables,
        max_connections=_connections(max_connections),
    )
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings))


def _check_standing(players: int, bots: int) -> None:
    fewest, most = GAMES[STANDING_GAME].seats
    if players and not fewest <= players <= most:
        raise click.BadParameter(f"a game has {fewest} to {most} players.", param_hint="--players")
    if bots and not players:
        raise click.BadParameter("is for standing tables; give --players too.", param_hint="--bots")
    if bots < 0 or (players and bots >= players):
        raise click.BadParameter("leave a seat for somebody to join.", param_hint="--bots")


def _host_name(name: str | None) -> str:
    """The name as asked for, or this machine's, as far as it may be shown."""
    if name is not None:
        try:
            return text.title(name) or "QE"
        except TextError as error:
            raise click.BadParameter(str(error), param_hint="--name") from None
    try:
        return text.title(text.printable(socket.gethostname())[:40]) or "QE"
    except TextError:
        return "QE"


def _connections(wanted: int) -> int:
    """Raises the limit of open files as far as it goes, and says so where that is not enough."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < needed:
        goal = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (goal, hard))
            soft = goal
        except (OSError, ValueError):
            pass
        if soft < needed:
            possible = max(1, soft - FILES_BESIDE)
            click.echo(
                f"Only {soft} files may be open here, so that the host takes {possible} "
                f"connections, not {wanted}; raise the limit with ulimit -n.",
                err=True,
            )
            return possible
    return wanted


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
