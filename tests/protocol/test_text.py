from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import text
from protocol.errors import TextError

Check = Callable[[str], str]
KINDS: list[Check] = [text.name, text.title, text.chat, text.password, text.client]

CHARACTERS = {
    "NUL": "\0",
    "BEL": "\a",
    "newline": "\n",
    "tab": "\t",
    "ESC": "\x1b",
    "DEL": "\x7f",
    "C1 CSI": "\x9b",
    "next line": "\x85",
    "soft hyphen": "\xad",
    "grapheme joiner": "\u034f",
    "Arabic letter mark": "\u061c",
    "Hangul filler": "\u115f",
    "Khmer inherent vowel": "\u17b4",
    "Mongolian variation selector": "\u180b",
    "zero width space": "\u200b",
    "zero width joiner": "\u200d",
    "right-to-left mark": "\u200f",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "right-to-left override": "\u202e",
    "word joiner": "\u2060",
    "isolate": "\u2066",
    "wide Hangul filler": "\u3164",
    "half-width Hangul filler": "\uffa0",
    "surrogate": "\ud800",
    "private use": "\ue000",
    "variation selector": "\ufe0f",
    "byte order mark": "\ufeff",
    "interlinear annotation": "\ufff9",
    "noncharacter": "\uffff",
    "musical format": "\U0001d173",
    "tag": "\U000e0041",
    "variation selector supplement": "\U000e0100",
}


@pytest.mark.parametrize("check", KINDS)
@pytest.mark.parametrize("character", CHARACTERS.values(), ids=CHARACTERS.keys())
def test_refused_characters(check: Check, character: str) -> None:
    hostile = f"a{character}b"
    with pytest.raises(TextError) as caught:
        check(hostile)
    assert caught.value.reason == "character"
    assert character not in str(caught.value)
    shown = text.printable(hostile)
    assert shown in ("ab", "a b")


@pytest.mark.parametrize("check", KINDS)
@pytest.mark.parametrize(
    ("hostile", "reason"),
    [
        (" a", "untrimmed"),
        ("a ", "untrimmed"),
        ("a\u00a0", "untrimmed"),
        ("\u3000a", "untrimmed"),
        ("e\u0301", "not_nfc"),
        ("\u212b", "not_nfc"),
        ("x\u0300\u0301\u0302", "marks"),
        ("\u0300\u0301\u0302", "marks"),
        ("x\u20dd\u20dd\u20dd", "marks"),
        ("\u1100\u1161\u11a8"[:1] + "\u11a8" * 3, "marks"),
    ],
)
def test_refused_forms(check: Check, hostile: str, reason: str) -> None:
    with pytest.raises(TextError) as caught:
        check(hostile)
    assert caught.value.reason == reason


@pytest.mark.parametrize("check", KINDS)
@pytest.mark.parametrize(
    "allowed",
    ["[/b]", "[@click=quit]", "Zoë", "Łódź", "Ωmega", "李雷", "한글", "x\u0300\u0301", "a  b", "🂡"],
)
def test_allowed_text_comes_back_unchanged(check: Check, allowed: str) -> None:
    assert check(allowed) == allowed


@pytest.mark.parametrize(
    ("check", "longest"),
    [(text.name, 20), (text.title, 40), (text.chat, 280), (text.password, 128), (text.client, 64)],
)
def test_lengths(check: Check, longest: int) -> None:
    assert check("x" * longest) == "x" * longest
    with pytest.raises(TextError) as caught:
        check("x" * (longest + 1))
    assert caught.value.reason == "length"
    if check is text.title:
        assert check("") == ""
    else:
        with pytest.raises(TextError):
            check("")


def test_a_name_is_measured_in_terminal_cells() -> None:
    assert text.name("李" * 10) == "李" * 10
    assert text.name("o\u0300\u0301".replace("o\u0300", "ò") * 20)
    for wrong in ("李" * 11, "\u0301", "\u0301\u0302"):
        with pytest.raises(TextError):
            text.name(wrong)


def test_tidy_makes_text_fit_to_be_sent() -> None:
    assert text.tidy("  Zoe\u0308\r\n\tand\u2028Bo \n") == "Zoë  and Bo"
    assert text.chat(text.tidy(" e\u0301 ")) == "é"


@given(st.text(max_size=60))
def test_what_is_printable_would_pass_a_host(written: str) -> None:
    shown = text.printable(written)
    assert text.title(shown[:40].strip()) is not None
    assert text.printable(shown) == shown


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=40))
def test_printable_keeps_what_a_host_lets_pass(written: str) -> None:
    try:
        text.title(written)
    except TextError:
        return
    assert text.printable(written) == written


CONFUSABLE = [
    ("Ana", "ana"),
    ("Ana", "Аnа"),
    ("Ana", "Αna"),
    ("ANNA", "ΑΝΝΑ"),
    ("Άννα", "ΑΝΝΑ"),
    ("Zoë", "zoe"),
    ("Bo", "B0"),
    ("Bill", "Bi1l"),
    ("Bill", "BІ|I"),
    ("Bill", "bıll"),
    ("Max", "Μах"),
    ("Max", "Мax"),
    ("Ana", "Ａｎａ"),
    ("Ana", "𝐀𝐧𝐚"),
    ("Ana", "Ꭺna"),
    ("Ana", "ꓮna"),
    ("Ana B", "Ana\u00a0B"),
    ("Ana B", "Ana  B"),
    ("Jean-Luc", "Jean–Luc"),
    ("O'Neil", "O’Neil"),
    ("Straße", "STRASSE"),
    ("Amo", "Arno"),
    ("Lodz", "Łódź"),
    ("Никита", "НИКИТА"),
    ("Bo 7", "Bo ٧"),
]


@pytest.mark.parametrize(("one", "other"), CONFUSABLE)
def test_confusable_names_have_one_skeleton(one: str, other: str) -> None:
    assert text.skeleton(one) == text.skeleton(other)


def test_different_names_stay_different() -> None:
    names = [
        "Ana", "Anna", "Bo", "Bob", "Cy", "Dee", "Eve", "Max", "Mia", "Ian", "Tom", "Tim", "Jo",
        "Bot 1", "Bot 2", "Bot 3", "Bot 4", "Мария", "Олег", "Νίκος", "Ελένη", "李雷", "韩梅梅",
    ]  # fmt: skip
    assert len({text.skeleton(name) for name in names}) == len(names)


@given(st.text(max_size=20))
def test_a_skeleton_does_not_depend_on_the_form_of_a_name(name: str) -> None:
    assert text.skeleton(name) == text.skeleton(unicodedata.normalize("NFC", name))
