"""Texts in the player's language: gettext over `qe_tui/locale`, English where there is none."""

from __future__ import annotations

import gettext as _gettext
import locale as _locale
import os
from pathlib import Path

DOMAIN = "qe_tui"
LOCALE_FOLDER = Path(__file__).parent / "locale"


def languages() -> list[str]:
    """The languages asked for, best first, as gettext and num2words name them.

    Taken from LANGUAGE, LC_ALL, LC_MESSAGES and LANG, or from the system where none is set.
    """
    for variable in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable)
        if value:
            return [part.split(".")[0] for part in value.split(":") if part]
    system = _locale.getlocale()[0]
    return [system] if system else []


_translation = _gettext.translation(DOMAIN, LOCALE_FOLDER, languages=languages(), fallback=True)

_ = _translation.gettext
ngettext = _translation.ngettext

LANGUAGE = (
    "en"
    if type(_translation) is _gettext.NullTranslations
    else (_translation.info().get("language") or "en").split("_")[0]
)
"""The language that texts are shown in: amounts in words follow it."""
