"""docs/protocol.md against the code: no field, code or limit in one that is not in the other."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from protocol import broker, frames, qe, text
from protocol.errors import FINAL_BYES, ByeCode, Code
from protocol.frames import request_frame
from protocol.messages import AnyBody, Body, Hello, Room, SeatInfo, TableInfo

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")


def _section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def _rows(section: str) -> list[list[str]]:
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("kind", AnyBody.__args__)
def test_requests(kind: type[Body]) -> None:
    tag = kind.__struct_config__.tag
    (row,) = (row for row in _rows(_section("Requests")) if row[0] == f"`{tag}`")
    written = {(name, bool(optional)) for name, optional in re.findall(r"`(\w+)(\?)?", row[1])}
    fields = {(each.encode_name, not each.required) for each in msgspec.structs.fields(kind)}
    assert written == fields


def test_error_codes() -> None:
    assert [row[0].strip("`") for row in _rows(_section("Errors"))[2:]] == list(Code)


def test_goodbyes() -> None:
    rows = _rows(_section("What the host sends unasked"))
    verdicts = {
        code: row[1].startswith("no")
        for row in rows[[row[0] for row in rows].index("`bye`") + 2 :]
        for code in re.findall(r"`(\w+)`", row[0])
    }
    assert verdicts == {code: code in FINAL_BYES for code in ByeCode}


@pytest.mark.parametrize("kind", [Room, SeatInfo, TableInfo])
def test_what_the_host_says_of_tables(kind: type[msgspec.Struct]) -> None:
    for field in msgspec.structs.fields(kind):
        assert re.search(rf"\b{field.encode_name}\b", PAGE), field.encode_name


def test_what_a_broker_is_given() -> None:
    (row,) = (row for row in _rows(_section("Broker")) if broker.host_topic("<host id>") in row[0])
    fields = [field.encode_name for field in msgspec.structs.fields(broker.HostCard)]
    written = re.search(r"`\{(.*)\}`", row[1])
    assert written is not None
    assert re.findall(r"(\w+)(?:: \[\w+\])?(?:, |$)", written[1]) == fields
    assert broker.table_topic("<host id>", "<table>") in _section("Broker")


@pytest.mark.parametrize("kind", [qe.Game, qe.You])
def test_the_words_of_qe(kind: type[msgspec.Struct]) -> None:
    rows = _rows(_section("QE"))
    written = {name for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert {field.encode_name for field in msgspec.structs.fields(kind)} <= written


def test_limits() -> None:
    numbers = [
        frames.LIMIT_BEFORE_HELLO,
        frames.LIMIT_TO_HOST,
        frames.LIMIT_FROM_HOST,
        frames.MAX_ITEMS,
        frames.ACT_SIZE,
        frames.ACT_SIZE + frames.ACT_STEP,
    ]
    for number in numbers:
        assert f"{number:,}" in _section("Frames"), number
    assert f"| {frames.MAX_DEPTH}, the frame's own map included" in PAGE
    lengths = [text.TITLE_LENGTH, text.CHAT_LENGTH, text.PASSWORD_LENGTH, text.CLIENT_LENGTH]
    for number in lengths:
        assert f"to {number} characters" in _section("Text"), number
    assert f"1 to {text.NAME_CELLS} terminal cells" in _section("Text")


def test_the_example() -> None:
    block = re.search(r"\n    00 00 00 26\n(?:    .*\n)+", PAGE)
    assert block is not None
    written = [re.match(r"(?: *[0-9a-f]{2}\b)+", line) for line in block[0].splitlines() if line]
    given = bytes.fromhex("".join(each[0] for each in written if each))
    assert given == request_frame(1, Hello(versions=[1], client="x 1"))
