"""A host of a few lines at a real socket, scripted by each test, and certificates for it."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from protocol.errors import Refused
from protocol.frames import LIMIT_TO_HOST, frame, pack
from protocol.messages import AnyBody, Hello, PingRequest, decode_request
from protocol.stream import read_frame

NOW = 1_700_000_000_000


class Line:
    """One connection, as the scripted host sees it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.asked: list[AnyBody] = []
        self.ended = asyncio.Event()
        self._stirred = asyncio.Event()

    def heard(self, body: AnyBody) -> None:
        self.asked.append(body)
        self._stirred.set()

    async def has_asked(self, count: int) -> None:
        """Waits until this many requests have come, `hello` included."""
        while len(self.asked) < count:
            self._stirred.clear()
            await asyncio.wait_for(self._stirred.wait(), 10)

    def send(self, **fields: Any) -> None:
        self.writer.write(frame(pack(fields)))

    def cut(self) -> None:
        self.writer.transport.abort()


Answer = Callable[[Line, Any], "dict[str, Any] | None"]


class Peer:
    """A host that answers each type of request as its script says; None is no answer."""

    def __init__(self, context: ssl.SSLContext | None = None, host_id: str = "den") -> None:
        self.host_id = host_id
        self.script: dict[type, Answer] = {
            Hello: lambda line, body: self.welcome(),
            PingRequest: lambda line, body: {"now": NOW},
        }
        self.lines: list[Line] = []
        self.received = 0
        self._context = context
        self._server: asyncio.Server | None = None
        self.port = 0

    def welcome(self) -> dict[str, Any]:
        return {
            "version": 1,
            "now": NOW,
            "host": {"id": self.host_id, "name": "Den", "version": "0", "later": True},
            "games": {"qe": {"seats": [3, 5], "levels": ["usual"]}},
            "later": {"more": 1},
        }

    async def start(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self._context
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """No listener and no connection any more; `start` again uses the same port."""
        if self._server is not None:
            self._server.close()
        for line in self.lines:
            line.cut()
        for line in self.lines:
            await line.ended.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(writer)
        self.lines.append(line)
        try:
            while (fields := await read_frame(reader, LIMIT_TO_HOST)) is not None:
                self.received += 1
                id, body = decode_request(fields)
                line.heard(body)
                try:
                    result = self.script[type(body)](line, body)
                except Refused as no:
                    line.send(type="error", id=id, code=no.code, reason=no.reason, message=str(no))
                else:
                    if result is not None:
                        line.send(type="ok", id=id, result=result)
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()
            line.ended.set()


Certificate = tuple[ssl.SSLContext, str]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> list[Certificate]:
    """Two self-signed certificates, out of date as they may be, and their fingerprints."""
    folder = tmp_path_factory.mktemp("certificates")
    return [_certificate(folder / f"{number}.pem") for number in range(2)]


def _certificate(path: Path) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "den")])
    expired = datetime.now(UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(expired - timedelta(days=1))
        .not_valid_after(expired)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    fingerprint = hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER))
    return context, fingerprint.hexdigest()


MakePeer = Callable[..., Awaitable[Peer]]


@pytest.fixture
async def make_peer() -> AsyncIterator[MakePeer]:
    """Starts scripted hosts and ends them after the test."""
    peers: list[Peer] = []

    async def make(context: ssl.SSLContext | None = None, host_id: str = "den") -> Peer:
        peer = Peer(context, host_id)
        await peer.start()
        peers.append(peer)
        return peer

    yield make
    for peer in peers:
        await peer.stop()


@pytest.fixture
def view() -> Callable[..., dict[str, Any]]:
    """The fields of a `view` message with this many spectators."""

    def make(spectators: int = 0, title: str = "Bank") -> dict[str, Any]:
        room = {
            "title": title,
            "game": "qe",
            "stage": "lobby",
            "standing": False,
            "locked": False,
            "size": 3,
            "host": 0,
            "me": 0,
            "seats": [
                {
                    "seat": 0,
                    "name": "Ana\x1b[2J",
                    "kind": "human",
                    "level": None,
                    "connected": True,
                    "released": False,
                    "later": 1,
                }
            ],
            "spectators": spectators,
            "options": {},
            "rules": {},
            "paused": False,
            "since": NOW,
            "deadline": None,
            "results": [],
        }
        return {
            "type": "view",
            "table": "WOLF",
            "room": room,
            "game": None,
            "you": None,
            "pad": b"\0",
        }

    return make
