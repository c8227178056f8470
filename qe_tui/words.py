"""The words that several screens share: nations, industries, lists of names. No Textual."""

from __future__ import annotations

from collections.abc import Sequence

from protocol import qe
from protocol.messages import Room
from protocol.text import printable
from qe_tui.i18n import _

REACTIONS: dict[str, tuple[str, str, str]] = {
    "gasp": ("g", _("gasp"), _("{name} gasps!")),
    "laugh": ("l", _("laugh"), _("{name} laughs.")),
    "poker": ("p", _("poker face"), _("{name} keeps a poker face.")),
    "applause": ("a", _("applause"), _("{name} applauds.")),
}
"""By kind: the key, what it is called, and the sentence that others read."""

_INDUSTRIES = {
    "agriculture": (_("agriculture"), _("agr")),
    "finance": (_("finance"), _("fin")),
    "housing": (_("housing"), _("hou")),
    "manufacturing": (_("manufacturing"), _("man")),
    "government": (_("government"), _("gov")),
}

_BANKS = {
    "US": _("US Federal Reserve"),
    "EU": _("EU Central Bank"),
    "JP": _("Bank of Japan"),
    "CN": _("Bank of China"),
    "UK": _("Bank of England"),
}


def industry(name: str) -> str:
    """An industry's name."""
    return _INDUSTRIES.get(name, (name, name))[0]


def industry_short(name: str) -> str:
    """An industry in three letters."""
    return _INDUSTRIES.get(name, (name, name[:3]))[1]


def bank(nation: str) -> str:
    """Whose cheques a nation's player writes."""
    return _BANKS.get(nation, nation)


def tile(tile: qe.Tile | qe.OwnedTile) -> str:
    """A tile in little room.

    >>> tile(qe.Tile(nation="US", industry="manufacturing", value=3))
    'US-man 3'
    """
    return f"{tile.nation}-{industry_short(tile.industry)} {tile.value}"


def tile_tiny(tile: qe.Tile | qe.OwnedTile) -> str:
    """A tile of a nation that is named beside it: `m3`."""
    return f"{industry_short(tile.industry)[:1]}{tile.value}"


def tile_long(tile: qe.Tile) -> str:
    """A tile in a sentence: `JP housing`."""
    return f"{tile.nation} {industry(tile.industry)}"


def name(room: Room, seat: int) -> str:
    """The name at a seat, fit to be shown, though not yet to any width."""
    shown = printable(room.seats[seat].name) if 0 <= seat < len(room.seats) else ""
    return shown or _("seat {number}").format(number=seat + 1)


def listed(items: Sequence[str]) -> str:
    """Items as a sentence has them.

    >>> listed(["Ana", "Bo", "Cy"])
    'Ana, Bo and Cy'
    """
    if len(items) < 2:
        return "".join(items)
    return _("{most} and {last}").format(most=", ".join(items[:-1]), last=items[-1])


def clock(seconds: float) -> str:
    """Time that is left.

    >>> clock(101), clock(-3)
    ('1:41', '0:00')
    """
    whole = max(0, int(seconds))
    return f"{whole // 60}:{whole % 60:02}"
