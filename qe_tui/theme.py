"""The colours: a dark room, banknote green, gold for what is yours.

The dark ones are nearly grey, so that terminals of 256 colours find a grey for each and keep them
apart.
"""

from __future__ import annotations

from textual.theme import Theme

THEME = Theme(
    name="qe",
    dark=True,
    background="#0c0e0d",
    surface="#151917",
    panel="#1d2420",
    foreground="#e9efe9",
    primary="#3fae72",
    secondary="#e3c567",
    accent="#6fe39a",
    success="#6fe39a",
    warning="#ffb454",
    error="#ff7070",
    variables={
        "text": "#e9efe9",
        "text-muted": "#9db0a4",
        "text-disabled": "#6c7d73",
        "text-success": "#6fe39a",
        "text-accent": "#6fe39a",
        "text-warning": "#ffb454",
        "border": "#6fe39a",
        "border-blurred": "#33443a",
        "block-cursor-foreground": "#06140c",
        "block-cursor-background": "#6fe39a",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-foreground": "#e9efe9",
        "block-cursor-blurred-background": "#28312c",
        "block-hover-background": "#202723",
        "input-cursor-background": "#6fe39a",
        "input-cursor-foreground": "#06140c",
        "input-selection-background": "#2f7d53",
        "footer-background": "#1d2420",
        "footer-foreground": "#9db0a4",
        "footer-key-foreground": "#6fe39a",
        "footer-description-foreground": "#c9d6cd",
        "scrollbar": "#33443a",
        "scrollbar-background": "#151917",
        "scrollbar-corner-color": "#151917",
    },
)
