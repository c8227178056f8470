"""The host's certificate: made once, kept, and for its owner's eyes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
import stat

import pytest

from server import tls
from server.store import StoreError


def test_a_certificate_is_made_once_and_kept(tmp_path):
    old = os.umask(0)
    try:
        _, first = tls.server_context(tmp_path)
    finally:
        os.umask(old)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(files) == {"certificate.pem", "key.pem"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    context, second = tls.server_context(tmp_path)
    assert first == second
    assert len(first) == 64
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    (tmp_path / "other").mkdir()
    assert tls.server_context(tmp_path / "other")[1] != first


@pytest.mark.parametrize("lost", ["certificate.pem", "key.pem"])
def test_half_a_pair_is_made_anew(tmp_path, lost):
    _, first = tls.server_context(tmp_path)
    (tmp_path / lost).unlink()
    _, second = tls.server_context(tmp_path)
    assert second != first
    assert tls.server_context(tmp_path)[1] == second


@pytest.mark.parametrize("spoilt", ["certificate.pem", "key.pem"])
async def test_a_pair_that_is_none_is_said_and_the_folder_is_free(open_host, tmp_path, spoilt):
    first = await open_host(tls=True)
    await first.stop()
    kept = (tmp_path / "data" / spoilt).read_bytes()
    (tmp_path / "data" / spoilt).write_text("no certificate at all")
    with pytest.raises((ssl.SSLError, OSError)):
        await open_host(tls=True)
    (tmp_path / "data" / spoilt).write_bytes(kept)
    try:
        await open_host(tls=True)
    except StoreError:
        pytest.fail("the folder is locked still")


async def test_the_fingerprint_is_that_of_what_is_shown(open_host):
    running = await open_host(tls=True)
    peer = await running.peer()
    ssl_object = peer.writer.get_extra_info("ssl_object")
    shown = hashlib.sha256(ssl_object.getpeercert(binary_form=True)).hexdigest()
    assert shown == running.host.fingerprint
    assert ssl_object.version() == "TLSv1.3"


async def test_who_speaks_no_tls_gets_no_answer_and_harms_nobody(open_host, caplog):
    running = await open_host(tls=True)
    reader, writer = await asyncio.open_connection(*running.address)
    writer.write(b"GET / HTTP/1.1\r\n\r\n" * 10)
    async with asyncio.timeout(5):
        assert await reader.read() == b""
    writer.close()
    await running.peer()
    assert "Traceback" not in caplog.text
