"""Where a host is: addresses as people type them, and as they are told to others."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

from protocol.messages import DEFAULT_PORT
from qe_tui.i18n import _

_CODE = re.compile(r"\A[A-Za-z]{4}\Z")


class WhereError(ValueError):
    """Text that is no address. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Where:
    """A host's address, and, from an invitation, the table and the certificate to expect there.

    >>> str(Where("10.0.0.5", 7373)), str(Where("fe80::1", 7400))
    ('10.0.0.5:7373', '[fe80::1]:7400')
    """

    address: str
    port: int = DEFAULT_PORT
    tls: bool = True
    table: str | None = None
    fingerprint: str | None = None

    def __str__(self) -> str:
        return f"{self._bracketed}:{self.port}"

    @property
    def short(self) -> str:
        """As one says it aloud: without the usual port."""
        return self._bracketed if self.port == DEFAULT_PORT else str(self)

    @property
    def _bracketed(self) -> str:
        return f"[{self.address}]" if ":" in self.address else self.address


def parse(text: str, *, tls: bool = True) -> Where:
    """Reads `ADDRESS[:PORT]`, IPv6 in brackets or bare, or an invitation `qe://...`.

    Raises WhereError.

    >>> parse("[::1]:9000").port, parse("fe80::1%eth0").address, parse("den.local").short
    (9000, 'fe80::1%eth0', 'den.local')
    >>> parse("qe://10.0.0.5/WOLF?tls=0")
    Where(address='10.0.0.5', port=7373, tls=False, table='WOLF', fingerprint=None)
    """
    text = text.strip()
    if text.startswith("qe://"):
        return _invitation(text, tls)
    address, port = text, None
    if text.startswith("["):
        address, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise WhereError(_("An IPv6 address with a port is written [ADDRESS]:PORT."))
        port = rest[1:] if rest else None
    elif text.count(":") == 1:
        address, port = text.split(":")
    if not address or re.search(r"[\s/\[\]@]", address):
        raise WhereError(
            _("This is no address. Write it as 192.168.1.5, den.local or 192.168.1.5:7373.")
        )
    return Where(address, DEFAULT_PORT if port is None else _port(port), tls)


def code(text: str) -> str:
    """A table's code as hosts spell it. Raises WhereError.

    >>> code(" wolf ")
    'WOLF'
    """
    if not _CODE.match(text.strip()):
        raise WhereError(_("A table's code has four letters, like WOLF."))
    return text.strip().upper()


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65_535:
        raise WhereError(_("A port is a number from 1 to 65535."))
    return int(text)


def _invitation(text: str, tls: bool) -> Where:
    parts = urlsplit(text)
    where = parse(parts.netloc, tls=tls)
    table = parts.path.strip("/")
    asked = parse_qs(parts.query)
    return replace(
        where,
        table=code(table) if table else None,
        tls=tls and asked.get("tls") != ["0"],
        fingerprint=asked.get("fp", [None])[0],
    )
