"""The command `qe`. Textual is loaded only when a screen is about to be shown."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from protocol import text
from protocol.errors import QEError, TextError
from protocol.invitation import Where, code, parse
from protocol.trust import is_fingerprint, plain_fingerprint
from qe_tui.i18n import _

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # generic only in click's later versions

EXAMPLES = _(
    """
\b
Examples:
  qe                            a menu
  qe play                       a game against three computers, at once
  qe host                       a table on this machine; shows what the others type
  qe join 192.168.1.5           take a seat at the table there
  qe join den.local --table WOLF --name Ana
  qe join 'qe://192.168.1.5/WOLF?fp=...'     an invitation, in quotes for the shell
  qe watch [fe80::1]:7400       look on
  qe watch --broker mqtt://den.local WOLF
  qe tables                     all tables on the network
"""
)


def version() -> str:
    """This program's version."""
    try:
        return importlib.metadata.version("qe-tui")
    except importlib.metadata.PackageNotFoundError:
        return "0+unknown"


class _Read(_ParamType):
    """What is read from the command line by a function, which raises a QEError, a sentence."""

    def __init__(self, name: str, read: Callable[[Any], Any]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return self._read(value)
        except QEError as error:
            self.fail(str(error), param, ctx)


_NAME = _Read("name", lambda value: text.name(text.tidy(value)))
_TITLE = _Read("title", lambda value: text.title(text.tidy(value)))
_CODE = _Read("code", code)
_ADDRESS = _Read("address", lambda value: value if isinstance(value, Where) else parse(value))

_name = click.option(
    "--name",
    type=_NAME,
    envvar="QE_NAME",
    show_envvar=True,
    help=_("What the others call you.  [default: as set in the menu, or your login name]"),
)
_table = click.option(
    "--table",
    type=_CODE,
    metavar="CODE",
    help=_("The table's four letters; not needed where there is one table."),
)
_players = click.option(
    "--players", type=click.IntRange(3, 5), help=_("Seats at the table.  [default: 4]")
)
_no_tls = click.option(
    "--no-tls",
    is_flag=True,
    help=_("Plain TCP: anybody on the network can read the bids."),
)
_broker = click.option(
    "--broker",
    envvar="QE_BROKER",
    show_envvar=True,
    metavar="URL",
    help=_("List the hosts that publish there too: mqtt[s]://[USER[:PASSWORD]@]ADDRESS[:PORT]."),
)


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXAMPLES,
    help=_("QE, the auction game without a budget, over your network, in the terminal."),
)
@click.version_option(version(), "--version", prog_name="qe")
@_broker
@click.pass_context
def main(context: click.Context, broker: str | None) -> None:
    if context.invoked_subcommand is None:
        _launch().menu(broker or None)


@main.command(help=_("Play against computers on this machine, at once."))
@_players
@_name
def play(players: int | None, name: str | None) -> None:
    _launch().play(name, players)


@main.command(
    help=_(
        "Host a table on this machine and sit down at it. A host that was left running is "
        "come back to."
    )
)
@_name
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    envvar="QE_PORT",
    show_envvar=True,
    help=_("The TCP port; 0: any free one.  [default: 7373]"),
)
@_players
@click.option("--title", type=_TITLE, help=_("What the table is called."))
@click.option(
    "--password",
    "ask_password",
    is_flag=True,
    help=_("Ask for a password for the table; or set QE_PASSWORD."),
)
@_no_tls
@click.option("--stop", is_flag=True, help=_("Stop the host that was left running."))
def host(
    name: str | None,
    port: int | None,
    players: int | None,
    title: str | None,
    ask_password: bool,
    no_tls: bool,
    stop: bool,
) -> None:
    if stop:
        from qe_tui import launch

        launch.stop_host()
    _launch().host(
        name,
        port=port,
        players=players,
        title=title,
        password=_password(ask_password),
        tls=not no_tls,
    )


@main.command(help=_("Take a seat at a table of the host at ADDRESS."))
@click.argument("address", type=_ADDRESS, metavar="ADDRESS[:PORT]")
@_table
@_name
@_no_tls
def join(address: Where, table: str | None, name: str | None, no_tls: bool) -> None:
    _launch().come("join", address, table, name, no_tls=no_tls, password=_password(False))


@main.command(
    help=_(
        "Look on at a table of the host at ADDRESS. With --broker, or with QE_BROKER and no "
        "ADDRESS, at one that is published there: TABLE is its four letters or its host's name. "
        "Which, is asked where there are several."
    )
)
@click.argument("address", metavar="[ADDRESS[:PORT]|TABLE]", required=False)
@click.option(
    "--broker",
    envvar="QE_BROKER",
    show_envvar=True,
    metavar="URL",
    help=_("Watch through a broker: mqtt[s]://[USER[:PASSWORD]@]ADDRESS[:PORT]."),
)
@_table
@_name
@_no_tls
@click.pass_context
def watch(
    context: click.Context,
    address: str | None,
    broker: str | None,
    table: str | None,
    name: str | None,
    no_tls: bool,
) -> None:
    typed = context.get_parameter_source("broker") is ParameterSource.COMMANDLINE
    if broker and (typed or address is None):
        if address and table:
            raise click.UsageError(_("Name the table once, by TABLE or by --table."))
        _launch().watch_broker(broker, address or table)
    if address is None:
        raise click.UsageError(_("Say where: an ADDRESS, or --broker with the URL of a broker."))
    where = _ADDRESS.convert(address, None, context)
    _launch().come("watch", where, table, name, no_tls=no_tls, password=_password(False))


@main.command(
    help=_(
        "Print the tables of all hosts on the network and on a broker, or of the hosts at "
        "ADDRESS. With --json: a list with an object a table, as the host lists it, with host, "
        "host_id, address, port, tls, fp and invitation."
    )
)
@click.argument("addresses", type=_ADDRESS, metavar="[ADDRESS[:PORT]]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help=_("For programs."))
@click.option(
    "--wait",
    type=click.FloatRange(0, 600),
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help=_("How long to look for hosts on the network."),
)
@_broker
@_no_tls
def tables(
    addresses: tuple[Where, ...], as_json: bool, wait: float, broker: str | None, no_tls: bool
) -> None:
    from qe_tui import launch

    launch.tables(addresses, as_json=as_json, wait=wait, broker=broker or None, no_tls=no_tls)


@main.command(
    help=_(
        "Forget a host's certificate, by its FINGERPRINT or the ADDRESS where it was seen: for a "
        "host that was made anew, or whose address another host has now."
    )
)
@click.argument("what", metavar="FINGERPRINT|ADDRESS[:PORT]")
@click.pass_context
def forget(context: click.Context, what: str) -> None:
    from qe_tui import launch

    launch.forget(
        plain_fingerprint(what) if is_fingerprint(what) else _ADDRESS.convert(what, None, context)
    )


def _launch() -> ModuleType:
    """What leads to the screens, if there is a terminal to show them on."""
    from qe_tui import launch

    launch.require_terminal()
    return launch


def _password(ask: bool) -> str | None:
    """A table's password, never on the command line, where others could read it."""
    given = os.environ.get("QE_PASSWORD") or None
    if given is None and ask:
        # With a default: else an empty one would be asked for again without a word.
        given = click.prompt(
            _("Password of the table"), default="", show_default=False, hide_input=True, err=True
        )
    if given is None:
        return None
    try:
        return text.password(given)
    except TextError as error:
        raise click.UsageError(str(error)) from None


if __name__ == "__main__":
    main()
