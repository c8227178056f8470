"""The single rows of the table: header, what to do, banner, score, last award, chat, keys."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.style import Style

from protocol.text import printable
from qe_tui import words
from qe_tui.amounts import grouped
from qe_tui.i18n import _
from qe_tui.screens import table_facts as facts
from qe_tui.screens import table_words
from qe_tui.screens.table_actions import Deed
from qe_tui.screens.table_facts import Sight
from qe_tui.widgets import ink, side


def header(sight: Sight, width: int) -> Content:
    """Which auction of how many, whose round, which table."""
    start, end = table_words.header(sight.snapshot)
    pieces: list[ink.Piece] = [(" QE ", "bold $background on $accent"), "  "]
    for number, part in enumerate(start):
        pieces += [(part, "bold" if not number else ""), "   "]
    aside = ink.text((end[0], "bold"), *(("   " + part, ink.QUIET) for part in end[1:]), " ")
    return ink.ends(ink.text(*pieces), aside, width)


def banner(sight: Sight, notice: str, width: int) -> Content:
    """What is wrong, if something is: no connection, an error, a pause."""
    snapshot = sight.snapshot
    if snapshot.lost is not None:
        sentence = printable(snapshot.lost)
        return _stripe(_("CONNECTION LOST."), sentence, "$background on $error bold", width)
    if notice:
        return _stripe("!", printable(notice), "$background on $warning bold", width)
    if snapshot.room.paused:
        return _stripe(_("PAUSED."), _("The clocks stand still."), ink.BADGE, width)
    return Content("")


def _stripe(loud: str, sentence: str, style: str, width: int) -> Content:
    text = ink.text((f" {loud} ", style), " ", (sentence, "bold"))
    return text.truncate(width, ellipsis=True)


def todo(sight: Sight, width: int) -> Content:
    """The one line that says what to do."""
    loud, rest = table_words.todo(sight.snapshot, sight.tied)
    mine = facts.my_turn(sight.snapshot)
    line = Content("")
    short = rest.replace(_("Any number but"), _("Not"))
    for said in (rest, rest.replace("  ", " "), short, short.replace("  ", " ")):
        line = ink.text(
            (" >>> ", "bold $accent" if mine else ink.QUIET),
            (loud, ink.MINE if mine else "bold"),
            " " if said != rest else "  ",
            said,
        )
        if line.cell_length <= width:
            return line
    return line.truncate(width, ellipsis=True)


def awaited(sight: Sight, width: int, start: Content) -> Content:
    """Who is awaited, at the right, with something quiet at the left."""
    style = ink.MINE if facts.my_turn(sight.snapshot) else ""
    end = table_words.awaited(sight.snapshot, sight.now)
    if sight.snapshot.room.paused:
        end = _("paused")
    room = max(0, width - 4)
    return ink.ends(start.pad_left(3), Content.styled(ink.cut(end, room) + " ", style), width)


def score(sight: Sight, width: int) -> Content:
    """One's own points by category, and the total spent."""
    you = sight.snapshot.you
    if you is None:
        watching = _("You are watching: bids, tokens and money stay hidden until the end.")
        return Content.styled(" " + ink.cut(watching, width - 1), ink.QUIET)
    if sight.covered:
        return Content.styled(
            " " + _("You: covered.  Esc shows points, token and money."), ink.QUIET
        )
    end = ink.text((_("spent") + " ", ink.QUIET), (grouped(you.spent, 30), "bold"), " ")
    start = Content("")
    for plus, tight in ((" + ", False), (" + ", True), ("+", True)):
        parts = plus.join(f"{word} {value}" for word, value in facts.parts(you.score, tight=tight))
        start = ink.text(
            " ",
            (_("You: {points} VP").format(points=you.score.subtotal), ink.MINE),
            f" = {parts}" if parts else "",
        )
        if start.cell_length + end.cell_length + 2 <= width:
            break
    return ink.ends(start, end, width)


def next_tile(sight: Sight, width: int) -> Content:
    """While an award is on show: what is auctioned next."""
    game, you = sight.snapshot.game, sight.snapshot.you
    if game is None or game.tile is None:
        return Content("")
    text = ink.text(
        " ",
        (_("NEXT:") + " ", "bold"),
        _("{tile} {value} VP").format(tile=words.tile_long(game.tile), value=game.tile.value),
    )
    if you is not None and you.gain is not None and not sight.covered:
        text += Content.styled(", " + _("+{points} for you").format(points=you.gain), ink.GOOD)
    return text


def last(sight: Sight, width: int) -> Content:
    """The last award, for those who have something else before them."""
    text = table_words.last_sale(sight.snapshot)
    if not text:
        return Content("")
    if sight.covered:
        text = _("covered")
    return ink.text((" " + _("Last:") + " ", ink.QUIET), ink.cut(text, width - 8))


def chat(sight: Sight, mood: str, width: int) -> Content:
    """The last thing said, or a reaction for a few seconds."""
    if mood:
        return Content.styled(ink.cut(" " + mood, width), ink.WARN)
    said = sight.snapshot.said
    if not said:
        return Content("")
    name = side.said_by(said[-1])
    return ink.text(
        " ",
        (name + ": ", "bold"),
        ink.cut(printable(said[-1].text), width - 3 - len(name) - 2),
    ).truncate(width, ellipsis=True)


def keys(deeds: Iterable[Deed], seal: str, tail: str, width: int) -> Content:
    """The keys that do something now; a click on one does the same."""
    pieces: list[Content] = []
    if seal:
        pieces.append(ink.text((_("Enter"), "bold $accent"), " " + seal))
    for deed in deeds:
        if deed.in_line:
            click = Style.from_meta({"@click": f"screen.deed({deed.name!r})"})
            piece = ink.text((deed.shown, "bold $accent"), " " + deed.label)
            pieces.append(piece.stylize(click))
    pieces.append(ink.text((_("^Q"), "bold $accent"), " " + tail))
    for gap in ("   ", "  ", " "):
        line = ink.text(" ", Content(gap).join(pieces))
        if line.cell_length <= width:
            return line
    return line.truncate(width, ellipsis=True)
