"""The names that a host gives."""

from __future__ import annotations

from random import Random

from protocol import text
from server import codes


def test_a_code_is_four_letters_and_nobody_elses() -> None:
    random, given = Random(1), set[str]()
    for _ in range(3000):
        code = codes.table_code(random, given.__contains__)
        assert len(code) == 4
        assert code.isascii()
        assert code.isupper()
        assert code not in given
        given.add(code)


def test_words_come_before_syllables_and_come_again_when_free() -> None:
    words = set(codes._WORDS)
    assert len(words) == len(codes._WORDS)
    random, given = Random(1), set[str]()
    for _ in words:
        given.add(codes.table_code(random, given.__contains__))
    assert given == words
    assert codes.table_code(random, given.__contains__) not in words
    given.remove("WOLF")
    assert codes.table_code(random, given.__contains__) == "WOLF"


def test_every_computer_player_has_a_name_that_may_be_shown() -> None:
    given: list[str] = []
    for _ in range(50):
        name = codes.bot_name(given.__contains__)
        assert text.name(name) == name
        given.append(name)
    assert len({text.skeleton(name) for name in given}) == 50
