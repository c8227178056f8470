"""The story of a game that is over, as text: to read, and to keep in a file."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime
from pathlib import Path

import platformdirs
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from protocol import qe
from qe_tui import words
from qe_tui.amounts import grouped
from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens import table_facts as facts
from qe_tui.screens import table_fairness as fairness
from qe_tui.screens.table_facts import Sight
from qe_tui.widgets import ink


def story(snapshot: Snapshot) -> str:
    """The whole game, auction by auction, then the score sheet. Names may be hostile, but hold
    no control characters."""
    game = snapshot.game
    if game is None or game.result is None:
        return ""
    names = [words.name(snapshot.room, board.seat) for board in game.seats]
    lines = [_("QE, table {code}").format(code=snapshot.table), ""]
    for board, line in zip(game.seats, game.result.seats, strict=True):
        lines.append(
            _("{name} played for {nation} with the {industry} token.").format(
                name=names[board.seat],
                nation=board.nation,
                industry=words.industry(line.industry),
            )
        )
    for sale in game.history:
        lines += ["", _auction_head(sale, names)]
        for number, stage in enumerate(facts.stages(snapshot, sale.auction)):
            if number:
                tied = words.listed([names[seat] for seat in sale.ties[number - 1]])
                lines.append("  " + _("{names} tied and bid again:").format(names=tied))
            for seat, bid in sorted(stage.items(), key=lambda item: -item[1].amount):
                if bid.source != facts.OPENING:
                    lines.append("  " + ink.left(names[seat], 20) + " " + grouped(bid.amount))
        if sale.winner is None:
            lines.append("  " + _("A tie: nobody gets it."))
        else:
            lines.append(
                "  "
                + _("{name} buys it for {amount}.").format(
                    name=names[sale.winner], amount=grouped(sale.price or "0")
                )
            )
    lines += ["", _("THE END"), ""]
    for line in sorted(game.result.seats, key=lambda one: (one.rank is None, one.rank or 0)):
        place = _("out") if line.rank is None else str(line.rank)
        lines.append(
            f"  {ink.right(place, 4)}  {ink.left(names[line.seat], 20)} "
            + _("{total} VP, spent {spent}").format(total=line.total, spent=grouped(line.spent))
        )
    lines += [
        "",
        fairness.verdict(snapshot)[1] + ".",
        _("Seed: {seed}").format(seed=game.result.seed),
        "",
    ]
    return "\n".join(lines)


def _auction_head(sale: qe.Sale, names: list[str]) -> str:
    head = _("Auction {number}: {tile}, {value} VP.").format(
        number=sale.auction, tile=words.tile_long(sale.tile), value=sale.tile.value
    )
    if sale.auctioneer is not None:
        head += " " + _("{name} opened at {amount}.").format(
            name=names[sale.auctioneer], amount=grouped(sale.opening or "0")
        )
    return head


def save_story(snapshot: Snapshot) -> Path:
    """Writes the story into the documents folder, or QE_HOME where that is set, and says where.

    Nothing is overwritten. Raises OSError.
    """
    home = os.environ.get("QE_HOME")
    base = Path(home).expanduser() if home else platformdirs.user_documents_path()
    folder = base / "qe-games"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M")
    handle, name = tempfile.mkstemp(".txt", f"qe-{stamp}-{_safe(snapshot.table)}-", folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(story(snapshot))
    return Path(name)


def _safe(code: str) -> str:
    """A table's code as part of a file name: it comes from the host, so it may be anything."""
    return "".join(letter for letter in code if letter.isascii() and letter.isalnum())[:8]


class StoryScreen(ModalScreen[None]):
    """The story, to scroll through."""

    CSS_PATH = "../styles/table.tcss"
    BINDINGS = [
        Binding("escape,s,q", "back", _("back"), priority=True),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup", "scroll(-15)", show=False),
        Binding("pagedown,space", "scroll(15)", show=False),
    ]

    def __init__(self, sight: Sight) -> None:
        super().__init__()
        self._sight = sight

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="story", can_focus=False):
            yield Static(Content(story(self._sight.snapshot)))
        yield Static(
            ink.text(
                " ", ("j k", ink.KEY), " " + _("scroll"),
                "   ", ("Esc", ink.KEY), " " + _("back"),
            ),
            id="story-keys",
        )  # fmt: skip

    def update_sight(self, sight: Sight) -> None:
        """A story that is over stays as it is."""

    def action_back(self) -> None:
        if self.is_current:
            self.dismiss(None)

    def action_scroll(self, rows: int) -> None:
        self.query_one("#story").scroll_relative(y=rows, animate=False)
