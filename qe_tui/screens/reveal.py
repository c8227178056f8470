"""The reveal before the score sheet: spendings climb, the last two race, a stamp falls."""

from __future__ import annotations

from textual.content import Content

from protocol import qe
from qe_tui import words
from qe_tui.amounts import grouped, magnitude, short
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens import table_facts as facts
from qe_tui.screens import table_words
from qe_tui.widgets import ink

CLIMB = 5.0
"""Seconds in which the spendings climb; the last two of them race."""
STAMP = 7.0
"""Seconds until the score sheet comes."""


def reveal(snapshot: Snapshot, result: qe.Result, age: float, width: int, height: int) -> Content:
    """The spendings at a moment of the reveal: on a log scale, then the stamp on the highest."""
    most = max(magnitude(int(line.spent)) for line in result.seats) or 1.0
    # The third-highest is passed at two thirds of the time; what is left is the race.
    sizes = sorted((magnitude(int(line.spent)) for line in result.seats), reverse=True)
    third = sizes[2] if len(sizes) > 2 else most
    front = _front(age, third, most)
    lines = [Content(""), ink.middle(Content.styled(_("THE CHEQUES ARE TURNED UP"), "bold"), width)]
    lines.append(Content(""))
    bar = max(10, width - 18)
    for line in result.seats:
        size = magnitude(int(line.spent))
        here = min(size, front)
        amount = int(line.spent) if size <= front else _climbed(here)
        racing = size > front
        style = ink.MINE if racing else "bold"
        stamp: ink.Piece = ""
        if age >= CLIMB and line.eliminated:
            style, stamp = ink.BAD, (" " + _("OUT") + " ", "$background on $error bold")
        lines += [
            ink.text(
                "  ",
                (ink.left(table_words.Who(snapshot, line.seat), 13), "bold"),
                ("█" * _bar(bar, here, most), "$primary" if style == "bold" else style),
            ),
            ink.text(" " * 15, (grouped(amount, 40), style), "  ", stamp),
        ]
        if height > 24:
            lines.append(Content(""))
    lines.append(Content(""))
    if age < CLIMB:
        lines.append(
            Content.styled("  " + _("Who printed most is out.  Any key skips this."), ink.QUIET)
        )
    else:
        lines.append(Content.styled("  " + printed_most(snapshot, result), "bold"))
    return ink.rows(lines[:height])


def _bar(cells: int, size: float, most: float) -> int:
    """How long a bar is: the longest one is longer than any other."""
    return cells if size == most else min(cells - 1, round(cells * size / most))


def _front(age: float, third: float, most: float) -> float:
    """How far the climb has come, as a magnitude."""
    part = min(1.0, age / CLIMB)
    if part < 0.6:
        return third * part / 0.6
    return third + (most - third) * (part - 0.6) / 0.4


def _climbed(size: float) -> int:
    """An amount of a magnitude, for show."""
    exponent = size - 1.0
    if exponent <= 0:
        return 0
    whole = int(exponent)
    head = round(10 ** (exponent - whole) * 1_000_000)
    return int(head * 10 ** (whole - 6)) if whole >= 6 else head // 10 ** (6 - whole)


def printed_most(snapshot: Snapshot, result: qe.Result) -> str:
    """Who is out, and with how much money; nothing where nobody is."""
    out = [line for line in result.seats if line.eliminated]
    if not out:
        return ""
    names = [table_words.Who(snapshot, out[0].seat)]
    names += [table_words.who(snapshot, line.seat) for line in out[1:]]
    amount = short(out[0].spent, 24)
    if len(out) == 1:
        if out[0].seat == facts.me(snapshot):
            return _("You printed {amount} and are OUT, with {total} VP on the table").format(
                amount=amount, total=out[0].total
            )
        return _("{name} printed {amount} and is OUT, with {total} VP on the table").format(
            name=names[0], amount=amount, total=out[0].total
        )
    return _("{names} printed {amount} each and are OUT").format(
        names=words.listed(names), amount=amount
    )
