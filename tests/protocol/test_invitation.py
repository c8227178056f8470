"""Addresses as they are typed, and invitations: written, read again, and mistyped."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import FingerprintChanged
from protocol.invitation import Where, WhereError, code, parse, say_aloud
from protocol.stay import Stay
from server.tls import server_context

a_few = settings(max_examples=40, deadline=None)
FP = "0123456789abcdef" * 4

names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\.[a-z]{2,8}){0,2}", fullmatch=True)
zones = st.from_regex(r"[A-Za-z0-9_.-]{1,15}", fullmatch=True)
addresses = st.one_of(
    names,
    st.just("zoë.example"),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(str),
    st.builds("fe80::{:x}%{}".format, st.integers(1, 65_535), zones),
)
wheres = st.builds(
    lambda address, port, table, tls_and_fp: Where(
        address, port, tls_and_fp[0], table, tls_and_fp[1]
    ),
    addresses,
    st.one_of(st.just(7373), st.integers(1, 65_535)),
    st.one_of(st.none(), st.from_regex(r"[A-Z]{4}", fullmatch=True)),
    st.one_of(
        st.sampled_from([(True, None), (False, None)]),
        st.binary(min_size=32, max_size=32).map(lambda digest: (True, digest.hex())),
    ),
)


@a_few
@given(wheres)
def test_an_invitation_says_all_and_is_read_again(where: Where) -> None:
    assert parse(where.invitation) == where
    assert parse(f"'{where.invitation}'\n") == where
    assert parse(where.invitation.replace("qe://", "QE://")) == where


@a_few
@given(wheres)
def test_an_address_is_read_again(where: Where) -> None:
    plain = Where(where.address, where.port)
    assert parse(str(plain)) == parse(plain.short) == plain


@a_few
@given(st.one_of(st.text(max_size=80), st.text(max_size=60).map("qe://10.0.0.5".__add__)))
def test_junk_is_an_address_or_one_sentence(text: str) -> None:
    sentence = "."
    try:
        where = parse(text)
    except WhereError as error:
        sentence = str(error)
    else:
        assert where.address.isprintable()
        assert 1 <= where.port <= 65_535
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_the_form_is_the_one_that_is_documented() -> None:
    assert parse(f"qe://192.168.1.5/WOLF?fp={FP.upper()}") == Where(
        "192.168.1.5", 7373, True, "WOLF", FP
    )
    assert Where("10.0.0.5", table="WOLF", fingerprint=FP).invitation == (
        f"qe://10.0.0.5/WOLF?fp={FP}"
    )
    assert parse("qe://[fe80::1%eth0]:7400/?tls=0") == Where("fe80::1%eth0", 7400, False)
    assert parse("qe://[fe80::1%25eth0]/wolf") == Where("fe80::1%eth0", table="WOLF")
    assert parse(f"qe://den.local?later=1&fp={FP}") == Where("den.local", fingerprint=FP)
    assert say_aloud(Where("fe80::1", 7400)) == "qe join [fe80::1]:7400"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("qe://10.0.0.5/WOLF?fp=abc", "64 hex digits"),
        (f"qe://10.0.0.5/WOLF?fp={FP[:-1]}g", "64 hex digits"),
        (f"qe://10.0.0.5/WOLF?fp={FP}0", "64 hex digits"),
        ("qe://10.0.0.5/WOLF?fp=", "64 hex digits"),
        (f"qe://10.0.0.5/?fp={FP}&fp={FP}", "64 hex digits"),
        (f"qe://10.0.0.5/?tls=0&fp={FP}", "without TLS"),
        ("qe://10.0.0.5/?tls=no", "0 or 1"),
        ("qe://10.0.0.5/WOLF/LYNX", "four letters"),
        ("qe://10.0.0.5/W0LF", "four letters"),
        ("qe://10.0.0.5:/WOLF", "1 to 65535"),
        ("qe://ana@10.0.0.5/", "no address"),
        ("qe:///WOLF", "no address"),
        ("qe://[::1/WOLF", "qe://"),
        ("http://10.0.0.5/", "no address"),
        ("fe80::1::2", "no address"),
        ("[10.0.0.5]:7373", "no address"),
        ("10.0.0.5%eth0", "no address"),
        ("a" * 256, "no address"),
        ("", "no address"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(WhereError) as caught:
        parse(text)
    assert words in str(caught.value)


def test_a_fingerprint_is_never_left_unchecked_for_want_of_tls() -> None:
    with pytest.raises(WhereError, match="certificate"):
        parse(f"qe://10.0.0.5/WOLF?fp={FP}", tls=False)
    assert not parse("qe://10.0.0.5/WOLF", tls=False).tls


def test_codes_are_spelt_as_hosts_spell_them() -> None:
    assert code("wolf\n") == "WOLF"
    for wrong in ("WOL", "WOLFS", "WÖLF", "12ab", ""):
        with pytest.raises(WhereError):
            code(wrong)


async def test_the_certificate_is_checked_before_anything_is_sent(tmp_path: Path) -> None:
    context, shown = server_context(tmp_path)
    received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            received.set_result(await reader.read(1))
        except (ConnectionError, ssl.SSLError):
            received.set_result(b"")
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    invited = parse(f"qe://127.0.0.1:{port}/WOLF?fp={FP}")
    stay = Stay(invited.address, invited.port, fingerprint=invited.fingerprint)
    with pytest.raises(FingerprintChanged) as caught:
        await stay.open()
    assert FP in str(caught.value)
    assert shown in str(caught.value)
    assert await received == b""
    await stay.close()
    server.close()
