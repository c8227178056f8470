"""The command `qe-server`: a host without a screen."""

from __future__ import annotations

import logging
import math
import socket
import sys
from pathlib import Path

import click
import platformdirs

from protocol import text
from protocol.errors import TextError
from protocol.messages import DEFAULT_PORT
from server.archive_cli import games
from server.callers import half_finished
from server.control_cli import ctl
from server.games.registry import GAMES
from server.host import Settings, program_version
from server.serving import serve
from server.standing import STANDING_GAME

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
"""Open files that a host needs beside its connections, half-finished ones among them."""


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=EXAMPLES,
)
@click.version_option(program_version(), prog_name="qe-server")
@click.option("--bind", default=None, metavar="ADDRESS", help="Listen on that address alone.")
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
@click.option("--turn-seconds", type=click.IntRange(0, 86_400), default=0, metavar="N",
              help="The clock of standing tables; 0 is none.")  # fmt: skip
@click.option("--bot-delay", type=click.FloatRange(0, 3600), default=1.5, metavar="SECONDS",
              help="How long a computer thinks on average; longer over an opening.")  # fmt: skip
@click.option("--seed", default=None, help="For tests: makes every deal foreseeable.")
@click.option("--max-tables", type=click.IntRange(1, 3000), default=500)
@click.option("--max-connections", type=click.IntRange(1, 100_000), default=2000)
@click.option("--no-discovery", is_flag=True, envvar="QE_NO_DISCOVERY", show_envvar=True,
              help="Do not announce the host on the LAN (mDNS).")  # fmt: skip
@click.option("--broker", default=None, envvar="QE_BROKER", metavar="URL", show_envvar=True,
              help="Publish there: mqtt[s]://[USER[:PASSWORD]@]ADDRESS[:PORT].")  # fmt: skip
@click.option("--verbose", is_flag=True, help="Log who comes and goes, on standard error.")
@click.pass_context
def main(
    context: click.Context,
    bind: str | None,
    port: int,
    name: str | None,
    data: Path | None,
    no_tls: bool,
    players: int,
    bots: int,
    turn_seconds: int,
    bot_delay: float,
    seed: str | None,
    max_tables: int,
    max_connections: int,
    no_discovery: bool,
    broker: str | None,
    verbose: bool,
) -> None:
    """Host games of QE for the terminals on your network."""
    context.obj = data or DATA
    if context.invoked_subcommand is not None:
        return
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    _check_standing(players, bots, turn_seconds)
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
        turn_seconds=turn_seconds,
        bot_delay=bot_delay,
        seed=seed,
        max_tables=max_tables,
        max_connections=_connections(max_connections),
        discovery=not no_discovery,
        broker=broker,
    )
    serve(settings)


def _check_standing(players: int, bots: int, turn_seconds: int) -> None:
    fewest, most = GAMES[STANDING_GAME].seats
    if players and not fewest <= players <= most:
        raise click.BadParameter(f"a game has {fewest} to {most} players.", param_hint="--players")
    for flag, given in (("--bots", bots), ("--turn-seconds", turn_seconds)):
        if given and not players:
            raise click.BadParameter("is for standing tables; give --players too.", param_hint=flag)
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
    needed = wanted + half_finished(wanted) + FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < needed:
        goal = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (goal, hard))
            soft = goal
        except (OSError, ValueError):
            pass
        if soft < needed:
            free = soft - FILES_BESIDE
            possible = max(1, free - min(free // 2, half_finished(wanted)))
            click.echo(
                f"Only {soft} files may be open here, so that the host takes {possible} "
                f"connections, not {wanted}; raise the limit with ulimit -n.",
                err=True,
            )
            return possible
    return wanted


main.add_command(ctl)
main.add_command(games)
