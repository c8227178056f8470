"""The command `qe-server games`: what has been played here, out to files and in again."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from protocol import text
from server.archive import Identity, Item, Record, games_in
from server.importing import ImportRefused, checked, parse
from server.journal import NAME, StoreError, read_journal
from server.store import Entry, Store

_DATA_OPTION = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="The folder of the journal, as of qe-server.",
)

EXAMPLES = """
\b
Examples:
  qe-server games                              what has been played, oldest first
  qe-server games export 12 -o friday.json     one game, with all its bids
  qe-server games export --all -o all.json     every game that is over
  qe-server games import friday.json           into the journal of this machine
"""


class Refusal(click.ClickException):
    """What was asked for cannot be done."""

    exit_code = 2


@click.group(invoke_without_command=True, epilog=EXAMPLES)
@_DATA_OPTION
@click.option("--json", "as_json", is_flag=True, help="The list as JSON.")
@click.pass_context
def games(context: click.Context, data: Path | None, as_json: bool) -> None:
    """List the games that were played here; export and import them.

    Listing and exporting work beside a running host.
    """
    if data is not None:
        context.obj = data
    if context.invoked_subcommand is not None:
        return
    found = _games_of(_folder(context, data))
    if as_json:
        click.echo(json.dumps([item.summary() for item in found], indent=2))
        return
    if not found:
        click.echo("No game has been played here yet.")
    for item in found:
        click.echo(_line(item))


@games.command(short_help="Write games as JSON.")
@click.argument("numbers", metavar="[NUMBER]...", nargs=-1, type=int)
@click.option("--all", "every", is_flag=True, help="Every game that is over.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default=None,
              metavar="FILE", help="Write there instead of standard output.")  # fmt: skip
@click.option("--chat", is_flag=True, help="With what was said at the table, spectators included.")
@click.option("--unfinished", is_flag=True,
              help="Also games that are not over. That reveals what is still secret: all bids, "
              "the seats' tokens, and by the seed the order of the deck.")  # fmt: skip
@_DATA_OPTION
@click.pass_context
def export(
    context: click.Context,
    numbers: tuple[int, ...],
    every: bool,
    output: Path | None,
    chat: bool,
    unfinished: bool,
    data: Path | None,
) -> None:
    """Write games, by their NUMBERs in the list, as JSON, a line each.

    The format is that of docs/games.md. It has everything of a game: who may read the file knows
    every bid.
    """
    if bool(numbers) == every:
        raise click.UsageError("Name games by their numbers in the list, or give --all.")
    chosen = _chosen(_games_of(_folder(context, data)), numbers, unfinished=unfinished)
    lines = [_json(record) for item in chosen if (record := item.record(chat=chat)) is not None]
    if output is None:
        click.echo("".join(lines), nl=False)
    else:
        _write(output, "".join(lines))
        click.echo(f"{_counted(len(lines))} written to {output}.")


@games.command("import", short_help="Take exported games in.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True,
                type=click.Path(dir_okay=False, path_type=Path))  # fmt: skip
@_DATA_OPTION
@click.pass_context
def import_(context: click.Context, files: tuple[Path, ...], data: Path | None) -> None:
    """Take exported games into the journal, as closed tables.

    Every game is played again by the rules before. All or nothing: where a game in any of the
    FILEs is wrong, or is here already, none is imported. No host may run on the folder.
    """
    wanted = _checked(files)
    try:
        number = asyncio.run(_import(_folder(context, data), wanted))
    except StoreError as error:
        raise Refusal(str(error)) from None
    click.echo(f"{_counted(number)} imported.")


# --- The list ---------------------------------------------------------------------------------


def _folder(context: click.Context, data: Path | None) -> Path:
    """The data folder: the innermost --data that was given, or that of qe-server."""
    folder = data or context.find_object(Path)
    assert folder is not None
    return folder


def _games_of(folder: Path) -> list[Item]:
    try:
        return read_journal(folder / NAME, games_in)
    except StoreError as error:
        raise Refusal(str(error)) from None


def _line(item: Item) -> str:
    players = ", ".join(
        text.printable(name) + ("*" if seat in (item.winners or ()) else "")
        for seat, name in enumerate(item.players)
    )
    title = f'  "{text.printable(item.title)}"' if item.title else ""
    code = text.printable(item.code)[:4]
    return f"{item.number:>5}  {_when(item.started)}  {code:4}  {item.stage:13}  {players}{title}"


def _when(at: int) -> str:
    """Local time to the minute."""
    try:
        return f"{datetime.fromtimestamp(at / 1000).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return f"{'?':16}"


def _counted(games: int) -> str:
    return "1 game" if games == 1 else f"{games} games"


# --- Out --------------------------------------------------------------------------------------


def _chosen(found: list[Item], numbers: Sequence[int], *, unfinished: bool) -> list[Item]:
    """The games to export: those named, or all that may be. Raises Refusal."""
    if not numbers:
        chosen = [item for item in found if item.stage == "finished" or
                  (unfinished and item.stage != "unreadable")]  # fmt: skip
        left_out = len(found) - len(chosen)
        if left_out:
            click.echo(f"{_counted(left_out)} left out, not being over or not readable.", err=True)
        return chosen
    by_number = {item.number: item for item in found}
    for number in numbers:
        item = by_number.get(number)
        if item is None:
            raise Refusal(f"There is no game {number} in the list.")
        if item.played is None:
            raise Refusal(f"Game {number} cannot be read.")
        if item.stage != "finished" and not unfinished:
            why = "follows rules that are not known here, so that nobody can say whether it is over"
            if item.stage != "unknown rules":
                why = "is not over"
            raise Refusal(
                f"Game {number} {why}; --unfinished exports it all the same, its secrets included."
            )
    return [by_number[number] for number in dict.fromkeys(numbers)]


def _json(record: Record) -> str:
    """A line of ASCII: nothing in it can do anything to a terminal."""
    return json.dumps(msgspec.to_builtins(record), separators=(",", ":")) + "\n"


def _write(path: Path, content: str) -> None:
    """Writes the file whole or not at all, for its owner only. Raises Refusal."""
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            raise Refusal(f"{path} is not a file that could be replaced.")
        handle, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="ascii", newline="\n") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(partial).replace(path)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Refusal(f"{path} cannot be written: {error.strerror}.") from None


# --- In ---------------------------------------------------------------------------------------

_Wanted = list[tuple[str, Identity, list[tuple[int, Any]]]]
"""Games to be imported: how they are called in a sentence, and their journals."""


def _checked(files: Sequence[Path]) -> _Wanted:
    """All games of all files. Raises Refusal for the first thing that is wrong."""
    wanted: _Wanted = []
    seen: dict[Identity, str] = {}
    for file in files:
        try:
            records = parse(file.read_bytes())
        except OSError as error:
            raise _none(f"{file} cannot be read: {error.strerror}.") from None
        except ImportRefused as refused:
            raise _none(f"{file}: {refused}") from None
        for number, record in enumerate(records, 1):
            called = f"{file}, game {number}"
            try:
                journal = checked(record)
            except ImportRefused as refused:
                raise _none(f"{called}: {refused}") from None
            if record.identity() in seen:
                raise _none(f"{called}: It is the same as {seen[record.identity()]}.")
            seen[record.identity()] = called
            wanted.append((called, record.identity(), journal))
    return wanted


async def _import(folder: Path, wanted: _Wanted) -> int:
    """How many were imported. Raises StoreError, Refusal."""
    store = Store(folder)
    try:
        here = {known: item.number for item in store.read(games_in) if (known := item.identity())}
        for called, identity, _ in wanted:
            if identity in here:
                raise _none(f"{called}: It is here already, as game {here[identity]}.")
        first = store.next_table()
        await store.append(
            [
                Entry(table, number, at, event)
                for table, (_, _, journal) in enumerate(wanted, first)
                for number, (at, event) in enumerate(journal)
            ]
        )
    finally:
        await store.close()
    return len(wanted)


def _none(why: str) -> Refusal:
    return Refusal(f"{why} Nothing has been imported.")
