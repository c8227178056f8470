"""Painting in cells: rows of text that are exactly as wide as they should be.

Everything is `Content`, so that nothing a player wrote is ever read as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widget import Widget

QUIET = "$text-muted"
FAINT = "$text-disabled"
MINE = "$secondary bold"
KEY = "bold $text-accent"
GOOD = "$text-success"
BAD = "$error bold"
WARN = "$text-warning"
BADGE = "$background on $secondary bold"

NATIONS = {
    "US": "#0b0f0d on #8ab4f8",
    "EU": "#0b0f0d on #f2d15c",
    "JP": "#0b0f0d on #f28b82",
    "CN": "#0b0f0d on #ffab70",
    "UK": "#0b0f0d on #c9a7f5",
}
"""Behind the two letters of a nation, which say the same without any colour."""

Piece = Content | str | tuple[str, str]


def text(*pieces: Piece) -> Content:
    """Pieces in a row; a pair is text and its style. Nothing is read as markup."""
    return Content.assemble(*pieces)


def cut(plain: str, width: int) -> str:
    """Text in at most `width` cells, its end marked where something is left out."""
    if cell_len(plain) <= width:
        return plain
    return "" if width < 1 else set_cell_size(plain, width - 1).rstrip() + "…"


def fitting(width: int, *wordings: str) -> str:
    """The first wording that fits in `width` cells; the last one is cut where none does."""
    for wording in wordings:
        if cell_len(wording) <= width:
            return wording
    return cut(wordings[-1], width)


def cut_start(plain: str, width: int) -> str:
    """Text in at most `width` cells, its start left out: a path's end is what matters."""
    if cell_len(plain) <= width:
        return plain
    kept = plain
    while kept and cell_len(kept) > width - 1:
        kept = kept[1:]
    return "…" + kept


def left(plain: str, width: int) -> str:
    """Text in exactly `width` cells."""
    return set_cell_size(cut(plain, width), max(0, width))


def right(plain: str, width: int) -> str:
    """Text in exactly `width` cells, at their end."""
    shown = cut(plain, width)
    return " " * max(0, width - cell_len(shown)) + shown


def middle(content: Content, width: int) -> Content:
    """Content in the middle of `width` cells."""
    spare = max(0, width - content.cell_length)
    return content.pad_left(spare // 2)


def ends(start: Content, end: Content, width: int) -> Content:
    """One row with something at either end. Where both have no room the start is cut."""
    room = max(0, width - end.cell_length - (2 if end.cell_length else 0))
    if start.cell_length > room:
        start = start.truncate(room, ellipsis=True)
    gap = max(0, width - start.cell_length - end.cell_length)
    return start + Content(" " * gap) + end


def nation(code: str) -> Content:
    """A nation's two letters as a badge of four cells."""
    return Content.styled(f" {code:2} ", NATIONS.get(code, "reverse"))


def rows(lines: Iterable[Content]) -> Content:
    """Rows below each other."""
    return Content("\n").join(list(lines))


class Painted(Widget):
    """A widget that shows what a function paints for its size."""

    DEFAULT_CSS = """
    Painted { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(
        self, paint: Callable[[int, int], Content], *, id: str | None = None, classes: str = ""
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.set_reactive(Painted.auto_links, False)
        self.paint = paint

    def render(self) -> Content:
        return self.paint(*self.content_size)
