"""The tile for sale, as a card."""

from __future__ import annotations

from textual.content import Content
from textual.renderables.digits import DIGITS, DIGITS3X3_BOLD

from protocol import qe
from qe_tui import words
from qe_tui.amounts import short
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens import table_facts as facts
from qe_tui.screens import table_words
from qe_tui.screens.table_facts import Sight
from qe_tui.widgets import ink


def paint(sight: Sight, width: int, height: int) -> Content:
    """Nation, industry, value, the opening bid, and what the reader would gain."""
    snapshot = sight.snapshot
    game, you = snapshot.game, snapshot.you
    if game is None or game.tile is None:
        return Content("")
    top = ink.ends(
        ink.nation(game.tile.nation),
        Content.styled(words.industry(game.tile.industry).upper(), "bold"),
        width,
    )
    big = [Content.styled(line, ink.MINE) for line in _digit(game.tile.value)]
    big[1] = ink.text(big[1], ("  VP", "bold"))
    value = [line.pad_left(max(0, width // 2 - 3)) for line in big]
    if game.phase == "blind":
        opening = _("no opening bid")
    elif game.opening is None:
        opening = _("not opened yet")
    else:
        opening = _opened(snapshot, game, game.opening, width)
    lines = [top, *value, Content(ink.cut(opening, width))]
    if you is not None and you.gain is not None:
        covered = _("gain covered")
        gain = _("you would gain {points} VP").format(points=you.gain)
        lines.append(Content.styled(covered if sight.covered else gain, ink.GOOD))
    else:
        lines.append(Content(""))
    spare = max(0, height - len(lines))
    above = (spare + 1) // 2
    lines[4:4] = [Content("")] * (spare - above)
    lines[1:1] = [Content("")] * above
    return ink.rows(lines)


def _opened(snapshot: Snapshot, game: qe.Game, opening: str, width: int) -> str:
    """The number to beat is never cut: the name goes first, then the number is rounded."""
    amount = short(opening, 18)
    name = "" if game.auctioneer is None else table_words.who(snapshot, game.auctioneer)
    rounded = _("opened {amount}").format(amount=short(opening, max(7, width - 7)))
    return ink.fitting(
        width,
        _("{name} opened at {amount}").format(name=name, amount=amount),
        _("{name} opened {amount}").format(name=name, amount=amount),
        _("opened {amount}").format(amount=amount),
        rounded,
    )


def _digit(value: int) -> list[str]:
    """A number from 1 to 9 over three rows."""
    place = DIGITS.index(str(value)) * 3
    return [f"{line:3}" for line in DIGITS3X3_BOLD[place : place + 3]]


def gain_line(sight: Sight) -> Content:
    """Where the gain comes from: `= tile 4 + diversity 4`."""
    if sight.covered or sight.snapshot.you is None:
        return Content("")
    gained = facts.gain_parts(sight.snapshot)
    if not gained:
        return Content("")
    return Content.styled("= " + " + ".join(f"{word} {n}" for word, n in gained), ink.QUIET)


def _then(snapshot: Snapshot, game: qe.Game) -> str:
    if snapshot.you is None:
        return _("Then the others bid in secret.")
    return _("Then you bid in secret.")


def waiting_panel(sight: Sight, width: int, height: int) -> Content:
    """Beside the tile, for whoever has no cheque to write: the seats and what they do."""
    snapshot = sight.snapshot
    game = snapshot.game
    if game is None:
        return Content("")
    lines: list[Content] = []
    if game.opening is not None and game.auctioneer is not None:
        name = table_words.Who(snapshot, game.auctioneer)
        lines.append(
            ink.text(
                Content(_("{name} opened at").format(name=name)),
                " ",
                (short(game.opening, max(12, width - 28)), ink.MINE),
            )
        )
    elif game.phase == "blind":
        lines.append(Content.styled(_("One tile left, and no opening bid."), "bold"))
    elif game.auctioneer is not None:
        name = table_words.Who(snapshot, game.auctioneer)
        lines.append(Content.styled(_("{name} writes the opening bid.").format(name=name), "bold"))
        return ink.rows([*lines, Content(""), Content.styled(_then(snapshot, game), ink.QUIET)])
    if height > 6:
        lines.append(Content(""))
    for board in game.seats:
        if board.seat == game.auctioneer and game.phase != "blind":
            continue
        word = table_words.now_word(snapshot, board.seat, sight.tied, at_length=True)
        done = word == _("sealed")
        lines.append(
            ink.text(
                (" [x] " if done else " [ ] ", ink.GOOD if done else ink.QUIET),
                (ink.left(table_words.Who(snapshot, board.seat), table_words.NAME_CELLS), "bold"),
                ink.nation(board.nation),
                "  ",
                (word, "" if done else ink.QUIET),
            )
        )
    if snapshot.you is None and len(lines) < height:
        lines.append(Content.styled(_("You see what everybody may see, no more."), ink.QUIET))
    return ink.rows(lines[:height])
