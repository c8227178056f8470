"""What hosts say of themselves by mDNS: written, read again, and hostile."""

from __future__ import annotations

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.mdns import SERVICE, Notice, instance, properties, read, turned_off

a_few = settings(max_examples=40, deadline=None)
FP = "ab" * 32


def record(**changes: str | None) -> dict[bytes, bytes | None]:
    fields: dict[str, str | None] = {"v": "1", "id": "c0ffee", "tls": "1", "fp": FP, **changes}
    return {
        key.encode(): None if value is None else value.encode() for key, value in fields.items()
    }


@pytest.mark.parametrize("fp", [FP, None])
def test_what_is_written_is_read_again(fp: str | None) -> None:
    notice = Notice(id="c0ffee", fp=fp)
    written = {key.encode(): value.encode() for key, value in properties(notice).items()}
    assert read(written) == notice


@pytest.mark.parametrize(
    "changes",
    [
        {"v": "2"},
        {"v": ""},
        {"v": "1;2"},
        {"v": None},
        {"id": ""},
        {"id": "x" * 129},
        {"id": "a\x1b[2J"},
        {"tls": "yes"},
        {"tls": None},
        {"fp": FP[1:]},
        {"fp": None},
        {"fp": "g" * 64},
    ],
)
def test_what_makes_no_sense_is_passed_over(changes: dict[str, str | None]) -> None:
    assert read(record(**changes)) is None


def test_a_certificate_of_a_host_without_tls_counts_for_nothing() -> None:
    assert read(record(tls="0")) == Notice(id="c0ffee", fp=None)


@pytest.mark.parametrize("word", ["1", "true", "T", "yes", "y", " ON ", "0", "False", "f", "NO",
                                  "n", "off"])  # fmt: skip
def test_discovery_is_turned_off_in_the_words_of_a_flag(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("QE_NO_DISCOVERY", word)
    assert turned_off() == click.BOOL.convert(word, None, None)
    monkeypatch.setenv("QE_NO_DISCOVERY", "")
    assert not turned_off()


@a_few
@given(st.dictionaries(st.sampled_from([b"v", b"id", b"tls", b"fp"]),
                       st.one_of(st.none(), st.binary(max_size=80))))  # fmt: skip
def test_junk_is_no_fault(found: dict[bytes, bytes | None]) -> None:
    notice = read(found)
    assert notice is None or notice.id.isascii()


@a_few
@given(st.text(max_size=200))
def test_any_name_becomes_one_label(name: str) -> None:
    from zeroconf.asyncio import AsyncServiceInfo

    label = instance(name)
    assert 1 <= len(label.encode()) <= 57
    assert "." not in label
    AsyncServiceInfo(SERVICE, f"{label}-999.{SERVICE}")
