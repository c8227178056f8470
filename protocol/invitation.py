"""Where a host is: addresses as people type them, and invitations as they are passed on.

An invitation is `qe://ADDRESS[:PORT]/TABLE?fp=HEX`, or `?tls=0` for a host without TLS; the table
may be left out. docs/protocol.md, Finding a host.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

from protocol.errors import QEError
from protocol.messages import DEFAULT_PORT
from protocol.text import printable
from protocol.trust import is_fingerprint, plain_fingerprint

SCHEME = "qe://"

_CODE = re.compile(r"\A[A-Za-z]{4}\Z")
_NOT_IN_ADDRESSES = re.compile(r"""[\s/\\\[\]@?#&'"<>]""")
_LONGEST = 255
"""Characters of an address: no name in the DNS is longer."""


class WhereError(QEError):
    """Text that is no address, or no invitation. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Where:
    """A host's address, and, from an invitation, the table and the certificate to expect there.

    `fingerprint` is the certificate's SHA-256 in lower-case hex.

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
    def invitation(self) -> str:
        """All of it in one text, that `parse` reads again.

        >>> Where("10.0.0.5", table="WOLF", tls=False).invitation
        'qe://10.0.0.5/WOLF?tls=0'
        >>> parse(Where("fe80::1%eth0", 7400).invitation).address
        'fe80::1%eth0'
        """
        where = self.short
        if re.search(r"%25[^0-9\]]", where):
            # Or it would be read as the way in which URLs write the % before a zone.
            where = where.replace("%", "%25", 1)
        asked = "" if self.fingerprint is None else f"?fp={self.fingerprint}"
        return f"{SCHEME}{where}/{self.table or ''}{asked if self.tls else '?tls=0'}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.address}]" if ":" in self.address else self.address


def parse(text: str, *, tls: bool = True) -> Where:
    """Reads `ADDRESS[:PORT]`, IPv6 in brackets or bare, or an invitation.

    `tls` is False where the user has said so. Raises WhereError.

    >>> parse("[::1]:9000").port, parse("fe80::1%eth0").address, parse("den.local").short
    (9000, 'fe80::1%eth0', 'den.local')
    >>> parse("qe://10.0.0.5/WOLF?tls=0")
    Where(address='10.0.0.5', port=7373, tls=False, table='WOLF', fingerprint=None)
    """
    text = text.strip()
    if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"":
        # As shells are to be given it; some of them leave the quotes on.
        text = text[1:-1]
    if text[: len(SCHEME)].lower() == SCHEME:
        return _invitation(text, tls)
    address, port = text, None
    if text.startswith("["):
        address, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise WhereError("An IPv6 address with a port is written [ADDRESS]:PORT.")
        port = rest[1:] if rest else None
        if ":" not in address:
            raise _no_address()
    elif text.count(":") == 1:
        address, port = text.split(":")
    if "/" in text or not _is_address(address):
        raise _no_address()
    return Where(address, DEFAULT_PORT if port is None else _port(port), tls)


def code(text: str) -> str:
    """A table's code as hosts spell it. Raises WhereError.

    >>> code(" wolf ")
    'WOLF'
    """
    if not _CODE.match(text.strip()):
        raise WhereError("A table's code has four letters, like WOLF.")
    return text.strip().upper()


def say_aloud(where: Where) -> str:
    """What somebody types who was told of a host across the room.

    >>> say_aloud(Where("192.168.1.5")), say_aloud(Where("10.0.0.5", 7400, tls=False))
    ('qe join 192.168.1.5', 'qe join 10.0.0.5:7400 --no-tls')
    """
    return f"qe join {where.short}" + ("" if where.tls else " --no-tls")


def _is_address(text: str) -> bool:
    if not 0 < len(text) <= _LONGEST or _NOT_IN_ADDRESSES.search(text) or printable(text) != text:
        return False
    if ":" not in text:
        return "%" not in text
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _no_address() -> WhereError:
    return WhereError("This is no address. Write it as 192.168.1.5, den.local or 192.168.1.5:7373.")


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65_535:
        raise WhereError("A port is a number from 1 to 65535.")
    return int(text)


def _invitation(text: str, tls: bool) -> Where:
    try:
        parts = urlsplit(text)
        asked = parse_qs(parts.query, keep_blank_values=True, max_num_fields=16)
    except ValueError:
        raise WhereError(
            "This is no invitation. One looks like qe://192.168.1.5/WOLF?fp=... or ends in ?tls=0."
        ) from None
    where = parse(re.sub(r"%25(?=[^0-9\]])", "%", parts.netloc, count=1))
    table = parts.path.removeprefix("/")
    encrypted = _tls(asked.get("tls"))
    fingerprint = _fingerprint(asked.get("fp"))
    if fingerprint is not None and not (tls and encrypted):
        raise WhereError(
            "The invitation names a certificate (fp), so that the host cannot be without TLS."
        )
    return replace(
        where,
        table=code(table) if table else None,
        tls=tls and encrypted,
        fingerprint=fingerprint,
    )


def _tls(values: list[str] | None) -> bool:
    if values not in (None, ["0"], ["1"]):
        raise WhereError("In an invitation, tls is 0 or 1.")
    return values != ["0"]


def _fingerprint(values: list[str] | None) -> str | None:
    if values is None:
        return None
    if len(values) != 1 or not is_fingerprint(values[0]):
        raise WhereError(
            "The fingerprint (fp) of an invitation has 64 hex digits; "
            "a part may have been lost on the way."
        )
    return plain_fingerprint(values[0])
