"""How others are told where a table is: the line to say aloud, and the invitation. No Textual here.

The line is short enough to be called across a room. The invitation also names the table and the
host's certificate, so that it is better sent than said.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from protocol.invitation import Where, WhereError, code, parse, say_aloud
from qe_tui.hosting import Running
from qe_tui.i18n import _
from qe_tui.visit import Visit


def doors(running: Running) -> list[Where]:
    """Where others reach a host that this client has started, the likeliest first."""

    def found() -> Iterator[Where]:
        for address in running.addresses:
            with suppress(WhereError):
                yield replace(parse(address), tls=running.tls, fingerprint=running.fingerprint)

    return list(found())


def invitations(visit: Visit, table: str) -> list[Where]:
    """What may be passed on about a table; nothing about a host that is nobody else's."""
    if visit.private or visit.broker is not None:
        return []
    if visit.running is not None:
        found = doors(visit.running)
    else:
        fingerprint = visit.where.fingerprint or visit.stay.fingerprint
        found = [replace(visit.where, fingerprint=fingerprint)]
    with suppress(WhereError):
        return [replace(where, table=code(table)) for where in found]
    return []


def command(where: Where) -> str:
    """What takes somebody to the table, quoted: unquoted, some shells take the ? for a pattern.

    >>> command(Where("10.0.0.5", tls=False, table="WOLF"))
    "qe join 'qe://10.0.0.5/WOLF?tls=0'"
    """
    return f"qe join '{where.invitation}'"


def lines(where: Where) -> list[tuple[str, str]]:
    """Both ways, each with the words for it."""
    return [(_("Say aloud"), say_aloud(where)), (_("Or send"), command(where))]
