"""What players may write, and how it is made fit for a screen.

Text is hostile: it is shown in other people's terminals. The host refuses, and never repairs,
what docs/protocol.md ("Text") does not allow. A client tidies what its user wrote before it is
sent, and leaves out of what it shows whatever a host should have refused.
"""

from __future__ import annotations

import re
import unicodedata

from wcwidth import wcswidth, wcwidth

from protocol import lookalikes
from protocol.errors import TextError

NAME_CELLS = 20
TITLE_LENGTH = 40
CHAT_LENGTH = 280
PASSWORD_LENGTH = 128
CLIENT_LENGTH = 64
MARKS_IN_A_ROW = 2

_NAME_LENGTH = NAME_CELLS * (1 + MARKS_IN_A_ROW)

# Control, format, surrogate, private use, unassigned; line and paragraph separators. How wide a
# terminal shows a character that is private or not assigned yet, nobody knows.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# Default_Ignorable_Code_Point of the Unicode Character Database that is in none of the above:
# joiners, Hangul fillers, inherent vowels, variation selectors.
_IGNORABLE = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}).union(
    range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0000, 0xE1000)
)

_SPACING = re.compile(r"\r\n|[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]")


# --- What the host refuses -----------------------------------------------------------------


def name(text: str) -> str:
    """A player's name, unchanged: 1 to 20 terminal cells. Raises TextError.

    >>> name("Zoë")
    'Zoë'
    """
    _check(text, "A name", _NAME_LENGTH)
    if not 1 <= wcswidth(text) <= NAME_CELLS:
        raise TextError("length", f"A name must be 1 to {NAME_CELLS} columns wide.")
    return text


def title(text: str) -> str:
    """A table's title, unchanged: up to 40 characters, or none. Raises TextError."""
    return _check(text, "A title", TITLE_LENGTH, fewest=0)


def chat(text: str) -> str:
    """What is said at a table, unchanged: 1 to 280 characters. Raises TextError."""
    return _check(text, "A chat message", CHAT_LENGTH)


def password(text: str) -> str:
    """A table's password, unchanged: 1 to 128 characters. Raises TextError."""
    return _check(text, "A password", PASSWORD_LENGTH)


def client(text: str) -> str:
    """A client's name and version, unchanged: 1 to 64 characters. Raises TextError."""
    return _check(text, "The name of a client", CLIENT_LENGTH)


def _check(text: str, what: str, most: int, fewest: int = 1) -> str:
    """The text, or TextError with a sentence for players that repeats nothing of it."""
    if not fewest <= len(text) <= most:
        if not text:
            raise TextError("empty", f"{what} must not be empty.")
        raise TextError("length", f"{what} may have {most} characters, no more.")
    if text != text.strip():
        raise TextError("untrimmed", f"{what} must not begin or end with a space.")
    if any(map(_refused, text)):
        raise TextError("character", f"{what} must not contain invisible or control characters.")
    if unicodedata.normalize("NFC", text) != text:
        raise TextError("not_nfc", f"{what} must be in Unicode's composed form (NFC).")
    if _too_many_marks(text):
        raise TextError("marks", f"{what} must not pile more than two accents on a character.")
    return text


def _refused(character: str) -> bool:
    return unicodedata.category(character) in _REFUSED_CATEGORIES or ord(character) in _IGNORABLE


def _is_mark(character: str) -> bool:
    """Whether it goes on top of the character before it: marks, and vowels of old Hangul."""
    return unicodedata.category(character)[0] == "M" or wcwidth(character) == 0


def _too_many_marks(text: str) -> bool:
    row = 0
    for character in text:
        row = row + 1 if _is_mark(character) else 0
        if row > MARKS_IN_A_ROW:
            return True
    return False


# --- For clients ---------------------------------------------------------------------------


def tidy(text: str) -> str:
    """What a user wrote, before it is sent: NFC, trimmed, line ends and tabs as spaces.

    >>> tidy(" good\\tgame\\n")
    'good game'
    """
    return unicodedata.normalize("NFC", _SPACING.sub(" ", text)).strip()


def printable(text: str) -> str:
    """What somebody wrote, before it is shown: whatever a host refuses is left out.

    >>> printable("Bo\\x1b[2J")
    'Bo[2J'
    """
    shown = tidy(text)
    while True:
        kept: list[str] = []
        row = 0
        for character in shown:
            if _refused(character):
                continue
            row = row + 1 if _is_mark(character) else 0
            if row <= MARKS_IN_A_ROW:
                kept.append(character)
        # What was apart may meet now and compose, or leave a space at an end.
        again = tidy("".join(kept))
        if again == shown:
            return shown
        shown = again


# --- Names that look alike -----------------------------------------------------------------


def skeleton(name: str) -> str:
    """What is left of a name when everything easily overlooked is gone.

    Two names with the same skeleton are confusable: they differ in case, accents, kinds of
    spaces and dashes, or in letters and digits that look alike, of Latin, Greek, Cyrillic and a
    few other scripts. Not to be shown.

    >>> skeleton("Bill") == skeleton("ВІ11")
    True
    """
    bare = _bare(name)
    letters = [character for character in bare if character.isalpha()]
    if letters and all("GREEK" in unicodedata.name(letter, "") for letter in letters):
        # Small nu looks like v, but capital nu like N. In a name all in Greek it is a nu.
        bare = bare.upper()
    # Before case goes, since a capital has other look-alikes than a small letter.
    alike = bare.translate(lookalikes.TABLE)
    alike = _bare(alike.casefold()).translate(lookalikes.TABLE)
    for shape, letter in lookalikes.SEQUENCES:
        alike = alike.replace(shape, letter)
    return " ".join(alike.split())


def _bare(text: str) -> str:
    """The text in compatibility form without its marks, all digits as 0 to 9."""
    return "".join(
        character if (digit := unicodedata.decimal(character, None)) is None else str(digit)
        for character in unicodedata.normalize("NFKD", text)
        if unicodedata.category(character)[0] != "M"
    )
