"""The rules in short, with the numbers of this table, and all keys."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from qe_tui.i18n import _
from qe_tui.model import Snapshot
from qe_tui.screens import table_actions as actions
from qe_tui.widgets import ink


class RulesHelp(ModalScreen[None]):
    """Rules and keys, to scroll through."""

    CSS_PATH = "../styles/table.tcss"
    BINDINGS = [
        Binding("escape,question_mark,q", "back", _("back"), priority=True),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup", "scroll(-15)", show=False),
        Binding("pagedown,space", "scroll(15)", show=False),
    ]

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self._snapshot = snapshot

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="rules", can_focus=False):
            for title, paragraphs in self._sections():
                yield Static(Content.styled(title, ink.MINE), classes="title")
                for paragraph in paragraphs:
                    yield Static(paragraph, classes="paragraph")
        yield Static(
            ink.text(
                " ", ("j k", ink.KEY), " " + _("scroll"),
                "   ", ("Esc", ink.KEY), " " + _("back to the table"),
            ),
            id="rules-keys",
        )  # fmt: skip

    def _sections(self) -> Iterator[tuple[str, list[Content]]]:
        players = (
            len(self._snapshot.game.seats) if self._snapshot.game else self._snapshot.room.size
        )
        yield _("QE IN A MINUTE"), [Content(text) for text in in_short(players)]
        yield (
            _("POINTS WITH {players} PLAYERS").format(players=players),
            [
                ink.text((ink.left(what, 18), "bold"), ": ".join(filter(None, (of, figures))))
                for what, of, figures in points(players)
            ],
        )
        yield (
            _("WRITING AMOUNTS"),
            [
                Content(
                    _(
                        "Digits, with or without commas; k, m, bn, t, q: thousand to quadrillion; "
                        "1.5m; 2e6; 10^30; 3x10^9. How it is read stands below the line before you "
                        "seal it. A cheque has room for 1,000 digits."
                    )
                )
            ],
        )
        yield (
            _("KEYS"),
            [
                ink.text(
                    (ink.left("Enter", 7), ink.KEY),
                    _("Seals your bid. It does nothing for a moment after the focus has moved."),
                ),
                *(
                    ink.text((ink.left(deed.shown, 7), ink.KEY), deed.about)
                    for deed in self._deeds()
                ),
                ink.text((ink.left("Ctrl+P", 7), ink.KEY), _("The palette: all of this.")),
                ink.text(
                    (ink.left("Ctrl+Q", 7), ink.KEY),
                    _("Leaves at once. Your seat is kept; start again to come back to it."),
                ),
            ],
        )

    def _deeds(self) -> list[actions.Deed]:
        """What can be done now, then what everybody can do at some time."""
        now = list(actions.possible(self._snapshot))
        names = {deed.name for deed in now}
        later = [deed for deed in actions.DEEDS if deed.told and deed.name not in names]
        return [*now, *later]

    def action_back(self) -> None:
        if self.is_current:
            self.dismiss(None)

    def action_scroll(self, rows: int) -> None:
        self.query_one("#rules").scroll_relative(y=rows, animate=False)


def in_short(players: int) -> list[str]:
    """The rules for so many players, in a few paragraphs."""
    lines = [
        _(
            "You print money to buy companies. There is no budget, but whoever has printed most "
            "at the end is out, whatever their points. Most points among the others wins; at "
            "equal points, who spent less."
        ),
        _(
            "One after the other is auctioneer and opens with a bid that all see. The others bid "
            "in secret: anything, zero too, but never exactly the opening bid. The highest bid "
            "takes the tile, and its amount counts as printed; all other bids cost nothing. Only "
            "the auctioneer sees the bids; only auctioneer and winner know the price, unless the "
            "auctioneer wins."
        ),
        _(
            "Those who tie for the highest bid bid again, higher or lower; the others' bids "
            "stand. After a third tie in a row the highest amount that only one player bid wins."
        ),
    ]
    if players == 3:
        lines.append(
            _(
                "Three players: a zero bid scores nothing. The last tile has no auctioneer: all "
                "bid blind, and after a tie nobody gets it."
            )
        )
    else:
        lines.append(_("A zero bid scores 2 VP, at most once a round."))
    if players == 5:
        lines.append(
            _(
                "Five players: once a game you may look at the winning bid of the last auction, "
                "if you were not its auctioneer. That you looked is public, what you saw is not."
            )
        )
    return lines


def points(players: int) -> list[tuple[str, str, str]]:
    """The categories, for what each gives points, and how many for how many."""
    five = players == 5
    rows = [(_("companies"), _("values of your tiles"), "")]
    if players > 3:
        rows.append((_("zero bids"), "", _("2 each, one a round")))
    return [
        *rows,
        (
            _("nationalization"),
            _("tiles of your own nation"),
            _("1/2/3 give 3/6/10") if five else _("1/2/3/4 give 1/3/6/10"),
        ),
        (
            _("monopolization"),
            _("pieces of one industry"),
            _("2/3/4 give 6/10/16") if five else _("2/3/4 give 3/6/10"),
        ),
        (
            _("diversification"),
            _("each set of different industries"),
            _("3/4/5 give 8/12/17") if five else _("3/4 give 4/8"),
        ),
        (_("least spent"), "", _("7 (all who tie)") if five else _("6 (all who tie)")),
        (_("your token"), _("counts as a tile in monopolization and diversification"), ""),
    ]
