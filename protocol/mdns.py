"""What hosts say of themselves by mDNS: docs/protocol.md, Finding a host.

The host writes and the client reads here. Whatever comes from the network is hostile.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from protocol.messages import VERSION
from protocol.text import printable

if TYPE_CHECKING:
    from zeroconf.asyncio import AsyncZeroconf

SERVICE = "_qe-game._tcp.local."

_LABEL = 57
"""Bytes of an instance's name: a label has at most 63, and a number may come behind it."""

_ID = re.compile(r"\A[!-~]{1,128}\Z")
_FINGERPRINT = re.compile(r"\A[0-9a-f]{64}\Z")
_VERSIONS = re.compile(r"\A[0-9]{1,4}(?:,[0-9]{1,4}){0,15}\Z")

_NO = frozenset({"", "0", "false", "f", "no", "n", "off"})
"""What click takes for no in a flag's variable."""

Interfaces = Sequence[str]
"""Own addresses, each for the interface it belongs to."""


class Notice(Struct, frozen=True, kw_only=True):
    """What a TXT record says. `fp` is the fingerprint of the certificate, None without TLS."""

    id: str
    fp: str | None
    versions: tuple[int, ...] = (VERSION,)


def properties(notice: Notice) -> dict[str, str]:
    """The TXT record.

    >>> properties(Notice(id="c0ffee", fp=None))
    {'v': '1', 'id': 'c0ffee', 'tls': '0'}
    """
    found = {
        "v": ",".join(map(str, notice.versions)),
        "id": notice.id,
        "tls": "0" if notice.fp is None else "1",
    }
    return found if notice.fp is None else {**found, "fp": notice.fp}


def read(found: Mapping[bytes, bytes | None]) -> Notice | None:
    """What a TXT record says; None where it makes no sense, or is of no version known here.

    >>> read({b"v": b"1,2", b"id": b"c0ffee", b"tls": b"0", b"new": None})
    Notice(id='c0ffee', fp=None, versions=(1, 2))
    """
    text = {
        key: (found.get(key.encode()) or b"").decode("ascii", "replace")
        for key in ("v", "id", "tls", "fp")
    }
    if not _ID.match(text["id"]) or not _VERSIONS.match(text["v"]) or text["tls"] not in ("0", "1"):
        return None
    versions = tuple(map(int, text["v"].split(",")))
    fingerprint = text["fp"].lower()
    encrypted = text["tls"] == "1"
    if VERSION not in versions or (encrypted and not _FINGERPRINT.match(fingerprint)):
        return None
    return Notice(id=text["id"], fp=fingerprint if encrypted else None, versions=versions)


def instance(name: str) -> str:
    """A host's name as an instance of the service: one short label, in which a dot would end it.

    >>> instance("Bo's den.local")
    "Bo's den-local"
    """
    label = printable(name).replace(".", "-").lstrip("_ ")
    return printable(label.encode()[:_LABEL].decode("utf-8", "ignore")) or "QE"


def open_mdns(interfaces: Interfaces | None = None) -> AsyncZeroconf:
    """mDNS on all interfaces unless some are given, in both families where the machine has both.

    Raises ImportError, OSError or RuntimeError where there is none to be had. The library is
    large: loading it beforehand, in a thread, keeps the event loop free.
    """
    library: Any = load()
    from zeroconf import InterfaceChoice, IPVersion

    # What goes wrong on one interface of several is no news for whoever runs this.
    logging.getLogger("zeroconf").setLevel(logging.CRITICAL)
    make: type[AsyncZeroconf] = library.AsyncZeroconf
    if interfaces is not None:
        return make(interfaces=list(interfaces))
    for version in (IPVersion.All, IPVersion.V4Only):
        try:
            return make(interfaces=InterfaceChoice.All, ip_version=version)
        except (OSError, RuntimeError):
            continue
    return make(interfaces=InterfaceChoice.All, ip_version=IPVersion.V6Only)


def turned_off() -> bool:
    """Whether QE_NO_DISCOVERY asks a client to keep out of mDNS, in the words that turn on the
    host's `--no-discovery`. What is none of a flag's words turns it off too; a host refuses it."""
    return os.environ.get("QE_NO_DISCOVERY", "").strip().lower() not in _NO


def load() -> Any:
    """The library's part for asyncio. Raises ImportError."""
    return importlib.import_module("zeroconf.asyncio")
