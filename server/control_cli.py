"""The command `qe-server ctl`: tells a host that runs on this machine what to do.

It exits with 0 where that is done, with 1 where it could not be, with 2 for a wrong command line.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import click

from protocol.text import printable
from server.control import SOCKET

ANSWER_WITHIN = 30.0
"""Seconds."""

_PLAYED_BY = {"bot": " (computer)", "stand_in": " (a computer plays)"}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), default=None,
              help="The host's data folder, where it is another than the usual one.")  # fmt: skip
@click.pass_context
def ctl(context: click.Context, data: Path | None) -> None:
    """Look after the host that runs on this machine.

    Only who started it may, and root. TABLE is a table's code; WHO a seat's number, from 1, or a
    name.
    """
    if data is not None:
        context.obj = data


@ctl.command()
@click.option("--json", "as_json", is_flag=True, help="For programs: all that is known.")
@click.pass_obj
def tables(data: Path, as_json: bool) -> None:
    """List the tables, and who sits there."""
    found = ask(data, do="tables")
    if as_json:
        click.echo(json.dumps(found))
        return
    if not found:
        click.echo("No table is open.")
    for table in found:
        click.echo(_line(table))


@ctl.command()
@click.argument("text")
@click.option("--table", default=None, metavar="TABLE", help="To that table alone.")
@click.pass_obj
def announce(data: Path, text: str, table: str | None) -> None:
    """Say TEXT at all tables, as the host."""
    heard = ask(data, do="announce", text=text, table=_code(table) if table else None)
    click.echo(f"Said at {heard} table{'' if heard == 1 else 's'}.")


@ctl.command()
@click.argument("table")
@click.argument("who", required=False)
@click.option("--spectator", is_flag=True,
              help="WHO is a spectator's name; without WHO, all who have none go.")  # fmt: skip
@click.pass_obj
def kick(data: Path, table: str, who: str | None, spectator: bool) -> None:
    """Send a player or a spectator away.

    WHO is taken for a seat's number, else for a player's name, else for a spectator's.
    """
    if who is None and not spectator:
        raise click.UsageError("Who is to go? Name a seat's number, a player or a spectator.")
    ask(data, do="kick", table=_code(table), who=who or "", spectator=spectator)


@ctl.command()
@click.argument("table")
@click.argument("who")
@click.argument("name")
@click.pass_obj
def rename(data: Path, table: str, who: str, name: str) -> None:
    """Give a player another NAME."""
    ask(data, do="rename", table=_code(table), who=who, name=name)


@ctl.command()
@click.argument("table")
@click.pass_obj
def close(data: Path, table: str) -> None:
    """Close a table for good; its games are kept."""
    ask(data, do="close", table=_code(table))


@ctl.command()
@click.pass_obj
def stop(data: Path) -> None:
    """Shut the host down, and wait until it has gone. The games go on when it is back."""
    ask(data, do="stop")


def ask(data: Path, **request: Any) -> Any:
    """The host's answer to a request. Raises ClickException where there is none to be had."""
    if not hasattr(socket, "AF_UNIX"):
        raise click.ClickException("This system has no Unix sockets, which ctl needs.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(ANSWER_WITHIN)
        try:
            sock.connect(str(data / SOCKET))
            sock.sendall(json.dumps(request).encode() + b"\n")
            stream = sock.makefile("rb")
            answer = _read(stream.readline())
            if request["do"] == "stop" and "error" not in answer:
                stream.read()
        except TimeoutError:
            raise click.ClickException("The host does not answer.") from None
        except PermissionError:
            raise click.ClickException(
                f"Only its owner may look after the host on {_shown(data)}."
            ) from None
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            raise click.ClickException(f"No host runs on {_shown(data)}.") from None
        except ConnectionError:
            raise click.ClickException("The host has ended without an answer.") from None
        except OSError as error:
            raise click.ClickException(
                f"The host on {_shown(data)} cannot be reached: {error.strerror or error}."
            ) from None
    if "error" in answer:
        raise click.ClickException(printable(str(answer["error"])))
    return answer.get("ok")


def _read(line: bytes) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise ConnectionResetError
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise click.ClickException("What answers there is no host.")
    return answer


def _line(table: dict[str, Any]) -> str:
    """A table as a line of text."""
    seats = [
        f"{seat['seat']} {printable(seat['name'])}" + _PLAYED_BY.get(seat["kind"], "")
        for seat in table["players"]
        if seat["kind"] != "open"
    ]
    title = printable(table["title"])
    parts = [
        table["table"],
        table["stage"],
        f"{table['taken']} of {table['seats']}",
        *(["locked"] if table["locked"] else []),
        *([f"{table['spectators']} watching"] if table["spectators"] else []),
        *([title] if title else []),
        ", ".join(seats) or "nobody",
    ]
    return "  ".join(parts)


def _code(typed: str) -> str:
    return typed.strip().upper()


def _shown(data: Path) -> str:
    return printable(str(data))
