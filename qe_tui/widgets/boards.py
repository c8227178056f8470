"""The players' boards: tiles by seat, zero bids by round, what each is doing now."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from protocol import qe
from qe_tui import words
from qe_tui.i18n import _
from qe_tui.screens import table_facts as facts
from qe_tui.screens import table_words
from qe_tui.screens.table_facts import Sight
from qe_tui.widgets import ink

_NOW = 8
_STYLES = {
    _("YOU"): ink.MINE,
    _("AWAY"): ink.BAD,
    _("opens"): "bold",
    _("free, comp."): ink.WARN,
    _("free, a computer plays"): ink.WARN,
}
_AT_LENGTH = 100
"""Cells from which on it is said at length what a seat is doing."""


def paint(sight: Sight, width: int) -> Content:
    """A heading and a row for each seat."""
    game = sight.snapshot.game
    if game is None:
        return Content("")
    names = [words.name(sight.snapshot.room, board.seat) for board in game.seats]
    name_cells = min(20, max(10, width - 70), max(6, *map(cell_len, names)))
    marks = _marks(game)
    now_cells = max(_NOW, *(cell_len(_now(sight, board.seat, width)) for board in game.seats))
    room = width - 3 - name_cells - 6 - len(marks) - now_cells - 2
    heading = (
        "   "
        + ink.left(_("PLAYER"), name_cells + 6)
        + ink.left(_("TILES"), room)
        + marks
        + "  "
        + ink.left(_("NOW"), now_cells)
    )
    lines = [Content.styled(heading, ink.QUIET)]
    lines += [
        _row(
            sight, board, _now(sight, board.seat, width), (name_cells, room, len(marks), now_cells)
        )
        for board in game.seats
    ]
    return ink.rows(lines)


def _now(sight: Sight, seat: int, width: int) -> str:
    return table_words.now_word(sight.snapshot, seat, sight.tied, at_length=width >= _AT_LENGTH)


def _marks(game: qe.Game) -> str:
    """The heading over zero bids and peeks, as far as this many players have them."""
    if len(game.seats) == 3:
        return ""
    rounds = 4 if len(game.seats) == 4 else 3
    text = " " + _("ZERO") + " " + " ".join(str(number + 1) for number in range(rounds))
    return text + ("  " + _("PEEK") if len(game.seats) == 5 else "")


def _row(sight: Sight, board: qe.Board, now: str, columns: tuple[int, int, int, int]) -> Content:
    """A seat's row; `columns` are the cells of name, tiles, marks and what it is doing now."""
    name_cells, room, marks, now_cells = columns
    snapshot = sight.snapshot
    game = snapshot.game
    assert game is not None
    mine = board.seat == facts.me(snapshot)
    token = snapshot.you.industry if mine and snapshot.you is not None else None
    if mine:
        pointer = ("> ", ink.MINE)
    elif board.seat == game.auctioneer:
        pointer = ("* ", "bold")
    else:
        pointer = ("  ", "")
    if mine and board.seat == game.auctioneer:
        pointer = ("*>", ink.MINE)
    name = _("You") if mine else words.name(snapshot.room, board.seat)
    mood = sight.moods.get(board.seat)
    now_style = _STYLES.get(now, "")
    if mood in words.REACTIONS:
        now, now_style = words.REACTIONS[mood][1] + "!", ink.WARN
    return ink.text(
        pointer,
        " ",
        (ink.left(name, name_cells), ink.MINE if mine else "bold"),
        " ",
        ink.nation(board.nation),
        " ",
        _tiles(game, board, token, sight.covered, room),
        _zeros(game, board, marks),
        "  ",
        (ink.left(now, now_cells), now_style),
    )


def _zeros(game: qe.Game, board: qe.Board, width: int) -> Content:
    if not width:
        return Content("")
    rounds = 4 if len(game.seats) == 4 else 3
    text = " " * (len(_("ZERO")) + 2)
    text += " ".join("0" if number + 1 in board.zeros else "." for number in range(rounds))
    if len(game.seats) == 5:
        peek = "-" if board.peeked is None else _("#{number}").format(number=board.peeked)
        text += "  " + ink.right(peek, len(_("PEEK")))
    return Content.styled(ink.left(text, width), ink.QUIET if not board.zeros else "")


def _tiles(
    game: qe.Game, board: qe.Board, token: qe.Industry | None, covered: bool, width: int
) -> Content:
    """The tiles in `width` cells: as they are, then shorter, then by nation."""
    own = _own_token(token, covered)
    sale = facts.award_on_show(game)
    new = sale.auction if sale is not None and sale.winner == board.seat else None
    for full in (True, False):
        row = _each(board.tiles, new, full)
        for tail in own:
            both = ink.text(row, "  " if row.cell_length and tail else "", (tail, ink.QUIET))
            if both.cell_length <= width:
                return both.pad_right(width - both.cell_length)
    row = ink.text(_by_nation(board.tiles), "  ", (own[-1], ink.QUIET))
    if row.cell_length > width:
        row = _by_nation(board.tiles).truncate(width, ellipsis=True)
    return row.pad_right(width - row.cell_length)


def _own_token(token: qe.Industry | None, covered: bool) -> Sequence[str]:
    """One's hidden token, in words that get shorter."""
    if token is None:
        return ("",)
    if covered:
        return (_("(token covered)"), _("(covered)"))
    short = words.industry_short(token)
    return (
        _("({token}, your token)").format(token=short),
        _("({token}, token)").format(token=short),
        f"({short})",
    )


def _each(tiles: Sequence[qe.OwnedTile], new: int | None, full: bool) -> Content:
    pieces: list[Content] = []
    for tile in tiles:
        shown = words.tile(tile) if full else f"{tile.nation}{words.tile_tiny(tile)}"
        style = "bold underline" if tile.auction == new else ""
        pieces.append(ink.text((shown, style), (" " + _("NEW"), ink.MINE) if style else ""))
    return Content("  " if full else " ").join(pieces)


def _by_nation(tiles: Sequence[qe.OwnedTile]) -> Content:
    groups: dict[str, list[str]] = {}
    for tile in tiles:
        groups.setdefault(tile.nation, []).append(words.tile_tiny(tile))
    return Content(" ".join(f"{nation}:{''.join(group)}" for nation, group in groups.items()))
