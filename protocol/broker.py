"""What hosts publish on a broker, and where. Only what is public; docs/protocol.md, Broker.

A host's card is retained under its topic and says which tables there are; a table's topic holds
the spectator's view. Whatever comes from a broker is hostile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from protocol.errors import MessageError, QEError
from protocol.frames import LIMIT_FROM_HOST, unpack
from protocol.inbox import remote_text
from protocol.messages import TableInfo, decode_result

HOSTS = "qe/1/hosts"
TABLES = "qe/1/tables"

PORT = 1883
PORT_TLS = 8883

MAX_TABLES = 3000
MAX_ADDRESSES = 16
MAX_ADDRESS = 255
"""How much of a card is believed: what a host may have, and no more."""

_HOST = re.compile(r"\Aqe/1/hosts/(?P<host>[0-9A-Za-z_-]{1,64})\Z")
_TABLE = re.compile(r"\Aqe/1/tables/(?P<host>[0-9A-Za-z_-]{1,64})/(?P<table>[A-Z]{4})\Z")
_CODE = re.compile(r"\A[A-Z]{4}\Z")
_ADDRESS = re.compile(r"\A[0-9A-Za-z._:%-]+\Z")


class HostCard(Struct, frozen=True, kw_only=True):
    """A host and its tables, as the broker's readers know them. `fp` is null without TLS."""

    name: str
    version: str
    addresses: list[str]
    port: int
    tls: bool
    fp: str | None = None
    tables: list[TableInfo] = msgspec.field(default_factory=list)


# --- Topics ---------------------------------------------------------------------------------


def host_topic(host: str) -> str:
    """
    >>> host_topic("c0ffee")
    'qe/1/hosts/c0ffee'
    """
    return f"{HOSTS}/{host}"


def table_topic(host: str, table: str) -> str:
    return f"{TABLES}/{host}/{table}"


def host_of(topic: str) -> str | None:
    """Whose card a topic holds, None for another topic."""
    found = _HOST.match(topic)
    return found["host"] if found else None


def table_of(topic: str) -> tuple[str, str] | None:
    """The host and the table whose view a topic holds, None for another topic."""
    found = _TABLE.match(topic)
    return (found["host"], found["table"]) if found else None


# --- Cards ----------------------------------------------------------------------------------


def read_card(payload: bytes) -> HostCard:
    """A card, its words fit to be shown. Raises FrameError and MessageError."""
    if len(payload) > LIMIT_FROM_HOST:
        raise MessageError(None, "card", "The card is too large.")
    card = decode_result(unpack(payload), HostCard)
    codes = [table.table for table in card.tables]
    if (
        not 1 <= card.port <= 65_535
        or len(card.addresses) > MAX_ADDRESSES
        or not all(_plausible(address) for address in card.addresses)
        or len(codes) > MAX_TABLES
        or len(set(codes)) < len(codes)
        or not all(_CODE.match(code) for code in codes)
    ):
        raise MessageError(None, "card", "The card makes no sense.")
    return msgspec.structs.replace(
        card,
        name=remote_text(card.name),
        version=remote_text(card.version),
        fp=card.fp and remote_text(card.fp),
        tables=[
            msgspec.structs.replace(
                table, title=remote_text(table.title), game=remote_text(table.game)
            )
            for table in card.tables
        ],
    )


def _plausible(address: str) -> bool:
    return 0 < len(address) <= MAX_ADDRESS and _ADDRESS.match(address) is not None


# --- The broker's own address ---------------------------------------------------------------


class BrokerError(QEError):
    """A URL of a broker that makes no sense. The message is a sentence without the URL."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Where a broker is, and as whom to come to it.

    >>> print(read_url("mqtt://ana:s3cret@den.local"))
    mqtt://den.local
    >>> "s3cret" in repr(read_url("mqtts://ana:s3cret@[::1]:9000"))
    False
    """

    address: str
    port: int
    tls: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """The URL as others may see it, without user and password."""
        scheme, usual = ("mqtts", PORT_TLS) if self.tls else ("mqtt", PORT)
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{scheme}://{address}" + ("" if self.port == usual else f":{self.port}")


def read_url(url: str) -> Broker:
    """Reads `mqtt://[USER[:PASSWORD]@]ADDRESS[:PORT]`, or `mqtts://` for TLS.

    User and password are percent-encoded. Raises BrokerError, which repeats nothing of the URL.

    >>> read_url("mqtts://ana:p%40ss@[fe80::1]")
    Broker(address='fe80::1', port=8883, tls=True, user='ana')
    """
    if any(character.isspace() or not character.isprintable() for character in url):
        raise BrokerError("A broker's URL has no spaces; write them as %20.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BrokerError("An IPv6 address in a broker's URL is written [ADDRESS].") from None
    if parts.scheme not in ("mqtt", "mqtts"):
        raise BrokerError("A broker's URL begins with mqtt:// or, for TLS, with mqtts://.")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BrokerError(
            "A broker's URL ends after the port: mqtt://USER:PASSWORD@ADDRESS:PORT. In user and "
            "password a / is written %2F, a ? %3F and a # %23."
        )
    tls = parts.scheme == "mqtts"
    credentials, at, place = parts.netloc.rpartition("@")
    user, colon, password = credentials.partition(":")
    address, port = _place(place)
    if at and not user:
        raise BrokerError("A broker's URL with a password, or with an @, needs a user before it.")
    return Broker(
        address,
        port if port is not None else PORT_TLS if tls else PORT,
        tls,
        _decoded(user) if at else None,
        _decoded(password) if colon else None,
    )


def _place(place: str) -> tuple[str, int | None]:
    if place.startswith("["):
        address, bracket, rest = place[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise BrokerError("An IPv6 address in a broker's URL is written [ADDRESS].")
        colon, port = rest[:1], rest[1:]
    else:
        address, colon, port = place.partition(":")
        if ":" in port:
            raise BrokerError("An IPv6 address in a broker's URL is written [ADDRESS].")
    address = _decoded(address)
    if not _plausible(address):
        raise BrokerError("A broker's URL needs an address: mqtt://den.local or mqtt://10.0.0.5.")
    if not colon:
        return address, None
    if not re.fullmatch(r"[0-9]{1,5}", port, re.ASCII) or not 1 <= int(port) <= 65_535:
        raise BrokerError("A broker's port is a number from 1 to 65535.")
    return address, int(port)


def _decoded(text: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise BrokerError("In a broker's URL a % is written %25.")
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise BrokerError("What a broker's URL says in percent signs is no UTF-8.") from None
    if "\0" in decoded or len(decoded.encode()) > 65_535:
        raise BrokerError("The user or the password in a broker's URL is none that MQTT knows.")
    return decoded
