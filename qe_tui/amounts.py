"""Amounts of money: what a player types becomes an exact integer, and is shown in little room.

No float anywhere, and no Textual. Error sentences never repeat what was typed.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import log10

from num2words import num2words  # type: ignore[import-untyped, unused-ignore]

from protocol.qe import MAX_DIGITS
from qe_tui.i18n import LANGUAGE, _

_TOO_LONG = 10**MAX_DIGITS

_POWERS_OF_TEN: dict[str, int] = {
    "k": 3, "thousand": 3,
    "m": 6, "mn": 6, "million": 6, "millions": 6,
    "b": 9, "bn": 9, "billion": 9, "billions": 9,
    "t": 12, "tn": 12, "trillion": 12, "trillions": 12,
    "q": 15, "qa": 15, "quadrillion": 15, "quadrillions": 15,
    "qi": 18, "quintillion": 18, "quintillions": 18,
    "sx": 21, "sextillion": 21, "sextillions": 21,
    "sp": 24, "septillion": 24, "septillions": 24,
    "oc": 27, "octillion": 27, "octillions": 27,
    "nonillion": 30, "nonillions": 30,
    "dc": 33, "decillion": 33, "decillions": 33,
    "googol": 100, "googols": 100,
}  # fmt: skip

_SCALE_WORDS = (
    "", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion",
    "sextillion", "septillion", "octillion", "nonillion", "decillion",
)  # fmt: skip

_FACTOR = re.compile(
    r"(?P<number>\d[\d.,_' ]*|[.,]\d+)?"
    r"(?:e(?P<e>\+?\d+))?"
    r"(?:\^(?P<power>\+?[\d]+))?"
    r" *(?P<suffix>[a-z]+)?",
    re.ASCII,
)


class AmountError(ValueError):
    """What was typed is no amount that can be bid. The message is a sentence for the player."""


# --- What is typed --------------------------------------------------------------------------


def parse(text: str) -> int:
    """The amount that was typed, exactly. Raises AmountError.

    Commas, full stops, spaces, apostrophes and underscores may group digits by threes; `^`
    is a power, `e` a power of ten, `x` or `*` multiplies, and suffixes run from `k` (thousand)
    over `m`, `bn`, `t`, `q` to `decillion` and `googol`.

    >>> parse("12,000"), parse("1.5m"), parse("10^6"), parse("2e6"), parse("3 x 10^3 k")
    (12000, 1500000, 1000000, 2000000, 3000000)
    """
    cleaned = text.strip().lower()
    if not cleaned:
        raise AmountError(_("Type an amount first."))
    if cleaned[0] in "-−–":
        raise AmountError(_("An amount cannot be negative."))
    product = Fraction(1)
    for part in re.split(r"[x*×]", cleaned):
        product *= _factor(part.strip())
        if product >= _TOO_LONG:
            raise _too_long()
    if product.denominator != 1:
        raise AmountError(_("Only whole amounts can be paid; this one has a fraction."))
    return product.numerator


def _factor(text: str) -> Fraction:
    match = _FACTOR.fullmatch(text)
    if match is None or not text:
        raise _unreadable()
    number, e, power, suffix = match.group("number", "e", "power", "suffix")
    if number is None and (e or power or suffix not in ("googol", "googols")):
        raise _unreadable()
    scaled = bool(e or suffix)
    value = Fraction(1) if number is None else _number(number.strip(), scaled or bool(power))
    if e is not None:
        value *= _power_of_ten(int(e) if len(e) <= 5 else MAX_DIGITS + 1, value)
    if power is not None:
        value = _raised(value, int(power) if len(power) <= 6 else 10**6)
    if suffix is not None:
        if suffix not in _POWERS_OF_TEN:
            raise AmountError(_("That ending is not known; try k, m, bn, t, q or 10^30."))
        value *= _power_of_ten(_POWERS_OF_TEN[suffix], value)
    return value


def _number(text: str, scaled: bool) -> Fraction:
    """Digits with separators. Where a scale follows, one separator may be a decimal point."""
    text = text.replace("_", " ").replace("'", " ").strip()
    if len(text) > 2 * MAX_DIGITS:
        raise _too_long()
    digits = re.sub(r"[., ]", "", text)
    separators = set(re.findall(r"[., ]", text))
    if not separators:
        if len(digits.lstrip("0")) > MAX_DIGITS:
            raise _too_long()
        return Fraction(int(digits))
    if len(separators) == 1 and re.fullmatch(r"\d{1,3}(?:[., ]\d{3})+", text):
        if scaled and re.fullmatch(r"\d+\.\d{3}", text):
            raise AmountError(
                _("That can be read in two ways; leave the full stop out, or write fewer digits.")
            )
        if len(digits.lstrip("0")) > MAX_DIGITS:
            raise _too_long()
        return Fraction(int(digits))
    decimal = re.fullmatch(r"(\d{0,3}(?:[, ]\d{3})*|\d+)\.(\d+)", text) or re.fullmatch(
        r"(\d{0,3}(?:[. ]\d{3})*|\d+),(\d+)", text
    )
    if decimal is None:
        raise AmountError(_("Digits are grouped by threes, as in 12,000,000."))
    whole, fraction = re.sub(r"[., ]", "", decimal[1]) or "0", decimal[2]
    if not scaled:
        raise AmountError(
            _("Only whole amounts can be paid. For one and a half million write 1.5m.")
            if "." in separators
            else _("Digits are grouped by threes, as in 12,000,000.")
        )
    if len(whole) + len(fraction) > MAX_DIGITS:
        raise _too_long()
    return Fraction(int(whole + fraction), 10 ** len(fraction))


def _power_of_ten(exponent: int, value: Fraction) -> Fraction:
    if value and exponent > 2 * MAX_DIGITS:
        raise _too_long()
    return Fraction(10 ** min(exponent, 2 * MAX_DIGITS))


def _raised(value: Fraction, exponent: int) -> Fraction:
    if value in (0, 1):
        return value if exponent else Fraction(1)
    if value.denominator != 1:
        if exponent > MAX_DIGITS:
            raise AmountError(_("Only whole amounts can be paid; this one has a fraction."))
    elif (value.numerator.bit_length() - 1) * exponent > MAX_DIGITS * 4:
        raise _too_long()
    raised: Fraction = value**exponent
    return raised


def _too_long() -> AmountError:
    return AmountError(_("A cheque has room for 1,000 digits; this is longer."))


def _unreadable() -> AmountError:
    return AmountError(_("That is not an amount. Try 12,000 or 1.5m or 10^30."))


_PLAIN_DIGITS = re.compile(r"[0-9]+")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})*")


def is_grouped(text: str) -> bool:
    """Whether the text is digits as `regroup` leaves them, or empty."""
    return not text or _GROUPED.fullmatch(text) is not None


def regroup(before: str, typed: str, cursor: int) -> tuple[str, int]:
    """What a line should show after an edit, with its cursor: digits grouped by commas.

    `before` is the text before the edit, `typed` and `cursor` what the edit made of it. Text
    with anything but digits in it is left alone, and so are commas that the player put.

    >>> regroup("1,000", "1,0005", 6)
    ('10,005', 6)
    >>> regroup("12", "12,", 3)
    ('12,', 3)
    """
    digits = typed.replace(",", "")
    if not _PLAIN_DIGITS.fullmatch(digits):
        return typed, cursor
    ours = "," not in typed or (is_grouped(before) and typed.count(",") <= before.count(","))
    if not ours:
        return typed, cursor
    left = len(typed[:cursor].replace(",", ""))
    grouped = _commas(digits)
    position = seen = 0
    while seen < left:
        seen += grouped[position] != ","
        position += 1
    return grouped, position


# --- What is shown --------------------------------------------------------------------------


def _commas(digits: str) -> str:
    first = len(digits) % 3
    groups = [digits[:first]] if first else []
    groups += [digits[i : i + 3] for i in range(first, len(digits), 3)]
    return ",".join(groups)


def grouped(amount: int | str, width: int | None = None) -> str:
    """An amount with commas; where `width` cells do not hold it, head, tail and digit count.

    >>> grouped(12000)
    '12,000'
    >>> grouped(10**40 + 7, 30)
    '10,000,0...000,007 (41 digits)'
    """
    digits = str(amount)
    whole = _commas(digits)
    if width is None or len(whole) <= width:
        return whole
    count = " " + _("({count:,} digits)").format(count=len(digits))
    room = width - len(count) - 3
    if room < 6:
        return short(amount, width)
    tail = room // 2
    return f"{whole[: room - tail]}...{whole[-tail:]}{count}"


def short(amount: int | str, width: int = 12, *, floor: bool = False) -> str:
    """An amount in at most `width` cells (at least 7): with commas, or rounded as `1.23e45`.

    `floor` rounds down, for what is said to be more than that.

    >>> short(2041700), short(123456789012345678), short(123456789012345678, floor=True)
    ('2,041,700', '1.234568e17', '1.234567e17')
    """
    digits = str(amount)
    whole = _commas(digits)
    if len(whole) <= width:
        return whole
    exponent = f"e{len(digits) - 1}"
    decimals = min(6, max(0, width - len(exponent) - 2))
    figures = digits[: 1 + decimals]
    if not floor and digits[1 + decimals : 2 + decimals] >= "5":
        figures = str(int(figures) + 1)
        if len(figures) > 1 + decimals:
            exponent = f"e{len(digits)}"
    head = f"{figures[0]}.{figures[1 : 1 + decimals]}".rstrip("0").rstrip(".")
    return head + exponent


@lru_cache(maxsize=256)
def in_words(amount: int, width: int) -> str:
    """An amount in words where they fit in `width` cells, else roughly or as a power of ten.

    >>> in_words(13500, 40), in_words(13_579_246, 30)
    ('thirteen thousand, five hundred', 'about 13.579 million')
    """
    digits = str(amount)
    if len(digits) <= 66:
        try:
            words = str(num2words(amount, lang=LANGUAGE))
        except (OverflowError, NotImplementedError):
            words = ""
        if words and len(words) <= width:
            return words
    scale = (len(digits) - 1) // 3
    if LANGUAGE == "en" and 0 < scale < len(_SCALE_WORDS):
        head = len(digits) - 3 * scale
        decimals = digits[head : head + 3].rstrip("0")
        number = digits[:head] + ("." + decimals if decimals else "")
        exact = not digits[head + 3 :].strip("0")
        words = f"{number} {_SCALE_WORDS[scale]}"
        return words if exact else _("about {amount}").format(amount=words)
    decimals = digits[1:4].rstrip("0")
    number = digits[0] + ("." + decimals if decimals else "")
    power = f"{number} x 10^{len(digits) - 1}" if number != "1" else f"10^{len(digits) - 1}"
    exact = not digits[4:].strip("0")
    return power if exact else _("about {amount}").format(amount=power)


def magnitude(amount: int) -> float:
    """How long a bar on a log scale is for an amount: 0 for zero, then log10 plus one."""
    if amount <= 0:
        return 0.0
    digits = str(amount)
    # Of a long integer only the head is looked at: a float holds no thousand digits.
    head = int(digits[:15])
    return log10(head) + max(0, len(digits) - 15) + 1.0
