"""A host that shows another certificate than before: both, one under the other, and the way out."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from protocol.errors import FingerprintChanged
from protocol.text import printable
from qe_tui.i18n import _
from qe_tui.screens.parts import TopLine, key_line
from qe_tui.screens.prompts import Choice, Notice, options
from qe_tui.terminal import program, quoted

_GROUP = 8
"""Digits of a fingerprint that stand together."""


class Stop(Notice):
    """Dismissed as a Notice is."""

    BINDINGS = [Binding("c", "copy", _("Copy the command"))]

    def __init__(self, error: FingerprintChanged, choices: list[Choice]) -> None:
        super().__init__(_("STOP"), "", choices)
        self._error = error
        self._command = quoted(program(), "forget", error.pinned)

    def compose(self) -> ComposeResult:
        error = self._error
        where = printable(error.where)
        if error.told:
            changed = _("{where} shows another certificate than the invitation says.")
        else:
            changed = _("{where} shows another certificate than before.")
        yield TopLine(self._place)
        with Vertical(id="stop"):
            sentence = changed.format(where=where) + "  " + _("Nothing was sent.")
            yield Static(Content.styled(sentence, "bold"), classes="question")
            before = _("invited to") if error.told else _("before")
            width = max(len(before), len(_("now")))
            for label, fingerprint in ((before, error.pinned), (_("now"), error.shown)):
                yield Static(_fingerprint(label.ljust(width), fingerprint), classes="fingerprint")
            listening = _(
                "Somebody may be listening in: ask the host's owner which certificate it has."
            )
            yield Static(Content(listening), classes="advice")
            if not error.told:
                yield Static(
                    Content(_("If it was made anew, have this one forgotten, then join again:")),
                    classes="advice",
                )
                yield Static(Content.styled(self._command, "$secondary"), id="command")
            yield options(self._choices)
        yield key_line()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not self._error.told if action == "copy" else True

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._command)
        self.notify(_("Copied, if your terminal allows it."), timeout=3, markup=False)


def _fingerprint(label: str, fingerprint: str) -> Content:
    """In groups over two rows, so that two of them can be compared at a glance."""
    plain = printable(fingerprint)
    groups = [plain[start : start + _GROUP] for start in range(0, len(plain), _GROUP)]
    half = (len(groups) + 1) // 2
    rows = [" ".join(groups[:half]), " ".join(groups[half:])]
    return Content.assemble(
        (f"{label}  ", "$text-muted"),
        (rows[0], "bold"),
        "\n",
        " " * (len(label) + 2),
        (rows[1], "bold"),
    )
