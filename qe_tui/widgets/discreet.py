"""A line that keeps to itself what is covered on it."""

from __future__ import annotations

from textual.widgets import Input


class DiscreetInput(Input):
    """While it shows a password, or what counts as one, nothing of it can be copied."""

    def action_copy(self) -> None:
        if not self.password:
            super().action_copy()

    def action_cut(self) -> None:
        if not self.password:
            super().action_cut()
