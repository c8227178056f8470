"""Names that the host gives: table codes, easily said aloud, and computer players."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random

_WORDS = (
    "BEAR", "BULL", "CROW", "DEER", "DOVE", "DUCK", "FROG", "GOAT", "HARE", "HAWK", "IBEX", "KIWI",
    "LAMB", "LARK", "LION", "LYNX", "MOLE", "MOTH", "NEWT", "ORCA", "PONY", "PUMA", "SEAL", "SWAN",
    "TOAD", "TUNA", "VOLE", "WASP", "WOLF", "WREN", "YETI", "ZEBU", "BIRD", "CALF", "CARP", "CLAM",
    "COLT", "CRAB", "FAWN", "FOAL", "GNAT", "GULL", "HERD", "KITE", "LOON", "MINK", "MULE", "BANK",
    "BOND", "CASH", "CENT", "COIN", "DEBT", "DIME", "FUND", "GOLD", "LOAN", "MINT", "NOTE", "RATE",
    "SAFE", "TILL", "VETO", "ACRE", "ARCH", "BARN", "BELL", "BOAT", "BRIG", "CAFE", "CITY", "COVE",
    "DOCK", "DUNE", "FARM", "FORT", "GATE", "GLEN", "HALL", "HILL", "ISLE", "KILN", "LAKE", "LANE",
    "MALL", "MILL", "MOAT", "PARK", "PIER", "POND", "PORT", "REEF", "ROAD", "ROCK", "ROOF", "SAIL",
    "TOWN", "WALL",
)  # fmt: skip

_CONSONANTS = "BDFGLMNRSVZ"
_VOWELS = "AEIOU"

_BOT_NAMES = (
    "Adam", "Bea", "Carl", "Dora", "Emil", "Fay", "Gus", "Hetty", "Ivo", "Jill", "Kurt", "Lola",
    "Milton", "Nora", "Otto", "Paula", "Quinn", "Rosa", "Saul", "Tess",
)  # fmt: skip


def table_code(random: Random, taken: Callable[[str], bool]) -> str:
    """A code of four letters that no table has: a word, or when those run out, syllables."""
    free = [word for word in _WORDS if not taken(word)]
    if free:
        return random.choice(free)
    while True:
        code = "".join(random.choice(_CONSONANTS) + random.choice(_VOWELS) for _ in range(2))
        if not taken(code):
            return code


def bot_name(taken: Callable[[str], bool]) -> str:
    """The first name for a computer player that nobody at the table has.

    >>> bot_name({"Adam"}.__contains__)
    'Bea'
    """
    for name in _BOT_NAMES:
        if not taken(name):
            return name
    return next(name for n in count(2) if not taken(name := f"{_BOT_NAMES[0]} {n}"))
