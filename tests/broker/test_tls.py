"""A broker that speaks TLS: its certificate is checked against the certificate authorities."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mosquitto import WAIT, Mosquitto, free_port
from publishing import Observer, Publishing, tables_of


def authority(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for the loopback, an authority for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a broker")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / "broker.pem", folder / "broker.key"
    cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert_file, key_file


async def test_certificate_is_checked(
    mosquitto: Mosquitto,
    publish: Callable[..., Awaitable[Publishing]],
    observe: Callable[..., Awaitable[Observer]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    certificate, key = authority(tmp_path)
    port = free_port()
    mosquitto.kill()
    with mosquitto.conf.open("a") as conf:
        conf.write(f"listener {port} 127.0.0.1\ncertfile {certificate}\nkeyfile {key}\n")
    mosquitto.start()
    everything = await observe()
    url = mosquitto.url.replace("mqtt:", "mqtts:").replace(str(mosquitto.port), str(port))

    stranger = await publish(url, data=tmp_path / "stranger")
    async with asyncio.timeout(WAIT):
        while "certificate verify failed" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert f"There is no connection to the broker mqtts://127.0.0.1:{port} (" in caplog.text
    assert not everything.seen

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    host = await publish(url)
    _ana, code = await host.table()
    await everything.until(
        lambda now: tables_of(now.get(host.topic)) == [code] and host.table_topic(code) in now
    )
    await stranger.feed.stop()
