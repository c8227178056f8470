"""What hosts publish on a broker, and where. Only what is public; docs/protocol.md, Broker.

A host's card is retained under its topic and says which tables there are; a table's topic holds
the spectator's view. Whatever comes from a broker is hostile.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from protocol.errors import MessageError
from protocol.frames import LIMIT_FROM_HOST, unpack
from protocol.messages import TableInfo, decode_result

HOSTS = "qe/1/hosts"
TABLES = "qe/1/tables"

_HOST = re.compile(r"\Aqe/1/hosts/(?P<host>[^/+#]{1,64})\Z")
_TABLE = re.compile(r"\Aqe/1/tables/(?P<host>[^/+#]{1,64})/(?P<table>[A-Z]{4})\Z")


class HostCard(Struct, frozen=True, kw_only=True):
    """A host and its tables, as the broker's readers know them. `fp` is null without TLS."""

    name: str
    version: str
    addresses: list[str]
    port: int
    tls: bool
    fp: str | None = None
    tables: list[TableInfo] = field(default_factory=list)


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


def read_card(payload: bytes) -> HostCard:
    """Raises FrameError and MessageError."""
    if len(payload) > LIMIT_FROM_HOST:
        raise MessageError(None, "card", "The card is too large.")
    return decode_result(unpack(payload), HostCard)
