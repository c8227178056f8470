"""The single rows of the table: header, what to do, banner, score, last award, chat, keys."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from textual.content import Content
from textual.style import Style

from protocol.text import printable
from qe_tui import words
from qe_tui.amounts import grouped
from qe_tui.i18n import _
from qe_tui.model import Snapshot
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
        return connection_lost(snapshot, width)
    if notice:
        return _stripe("!", printable(notice), "$background on $warning bold", width)
    if snapshot.room.paused:
        loud, wordings = table_words.paused(snapshot)
        sentence = ink.fitting(width - cell_len(loud) - 3, *wordings)
        return _stripe(loud, sentence, ink.BADGE, width)
    return Content("")


def connection_lost(snapshot: Snapshot, width: int) -> Content:
    """The stripe while there is no connection: of what it says, only the reason may be cut."""
    loud, why, then = table_words.lost(snapshot)
    why = ink.cut(why, width - cell_len(loud) - cell_len(then) - 5)
    sentence = "  ".join(filter(None, (why, then)))
    return _stripe(loud, sentence, "$background on $error bold", width)


def _stripe(loud: str, sentence: str, style: str, width: int) -> Content:
    text = ink.text((f" {loud} ", style), " ", (sentence, "bold"))
    return text.truncate(width, ellipsis=True)


def todo(sight: Sight, width: int) -> Content:
    """The one line that says what to do."""
    loud, wordings = table_words.todo(sight)
    mine = _asked_for(sight)
    start = ink.text(
        (" >>> ", ink.KEY if mine else ink.QUIET), (loud, ink.MINE if mine else "bold")
    )
    room = width - start.cell_length
    tighter = (said.replace("  ", " ") for said in wordings)
    pairs = zip((f"  {said}" for said in wordings), (f" {said}" for said in tighter), strict=True)
    return start + Content(ink.fitting(room, *(said for pair in pairs for said in pair)))


def _asked_for(sight: Sight) -> bool:
    """Whether the reader is to do something, and can."""
    return facts.my_turn(sight.snapshot) and sight.snapshot.lost is None


def awaited(sight: Sight, width: int, start: Content) -> Content:
    """Who is awaited, at the right, with something quiet at the left."""
    style = ink.MINE if _asked_for(sight) else ""
    wordings = table_words.awaited(sight.snapshot, sight.now)
    end = ink.fitting(width - start.cell_length - 6, *wordings)
    if len(end) < len(wordings[-1]):
        end = ink.cut(wordings[-1], width - 4)
    tied = table_words.tie(sight)
    if tied:
        start = Content.styled(ink.fitting(width - cell_len(end) - 6, *tied), "bold")
    return ink.ends(start.pad_left(3), Content.styled(end + " ", style), width)


def score(sight: Sight, width: int) -> Content:
    """One's own points by category, and the total spent."""
    you = sight.snapshot.you
    if you is None:
        watching = _("You are watching: bids, tokens and money stay hidden until the end.")
        if (broker := sight.snapshot.broker) is not None:
            watching = _("Watching through the broker {broker}: there is no chat.").format(
                broker=printable(broker)
            )
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
        ((_("LAST TILE:") if game.phase == "blind" else _("NEXT:")) + " ", "bold"),
        _("{tile} {value} VP").format(tile=words.tile_long(game.tile), value=game.tile.value),
    )
    if you is not None and you.gain is not None and not sight.covered:
        text += Content.styled(", " + _("+{points} for you").format(points=you.gain), ink.GOOD)
    return text


def last(sight: Sight, width: int) -> Content:
    """The last award, for those who have something else before them."""
    wordings = table_words.last_sale(sight.snapshot)
    if not wordings:
        return Content("")
    if sight.covered:
        wordings = [_("covered")]
    return ink.text((" " + _("Last:") + " ", ink.QUIET), ink.fitting(width - 8, *wordings))


def chat(sight: Sight, mood: str, width: int, height: int = 1) -> Content:
    """What was said last, as far as there is room; in place of it, a reaction for a moment."""
    if height > 1:
        shown = Content.styled(ink.cut(" " + mood, width), ink.WARN) if mood else Content("")
        log = side.chat(sight.snapshot, width - 2, height - (1 if mood else 0))
        lines = [line.pad_left(1) for line in log.split("\n")]
        return ink.rows([*lines, shown] if mood else lines)
    if mood:
        return Content.styled(ink.cut(" " + mood, width), ink.WARN)
    said = sight.snapshot.said
    if not said:
        return Content("")
    start = ink.text(" ", (side.said_by(said[-1]) + ": ", "bold"))
    return start + Content(ink.cut(printable(said[-1].text), width - start.cell_length))


_SPARED = ("react", "chat", "cover", "ledger", "peek")
"""What is left out of a key line that has no room for it, in this order: the help has it all."""


def keys(deeds: Iterable[Deed], first: tuple[str, str] | None, tail: str, width: int) -> Content:
    """The keys that do something now; a click on one does the same. `first` is a key and its
    label, of the bid line."""
    pieces: dict[str, Content] = {}
    if first is not None:
        pieces[""] = ink.text((first[0], ink.KEY), " " + first[1])
    for deed in deeds:
        if deed.in_line:
            click = Style.from_meta({"@click": f"screen.deed({deed.name!r})"})
            piece = ink.text((deed.shown, ink.KEY), " " + deed.label)
            pieces[deed.name] = piece.stylize(click)
    brief = tail.split(",", maxsplit=1)[0]
    for spared in (None, *_SPARED):
        pieces.pop(spared or "-", None)
        for gap, leave in (("   ", tail), ("  ", tail), ("   ", brief), ("  ", brief)):
            last = ink.text((_("^Q"), ink.KEY), " " + leave)
            line = ink.text(" ", Content(gap).join([*pieces.values(), last]))
            if line.cell_length <= width:
                return line
    return line.truncate(width, ellipsis=True)
