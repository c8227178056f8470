"""Which certificate belongs to which host: pinned on first use, as docs/protocol.md says.

A host is known by its id and by the addresses at which it was reached. A known certificate at a
new address is fine, hosts move about. A new certificate at a known address, or of a known id, is
refused before anything is sent.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from filelock import FileLock
from msgspec import Struct

from protocol import files
from protocol.errors import FingerprintChanged
from protocol.text import printable


class _Known(Struct, kw_only=True):
    """Fingerprints, SHA-256 of the certificate in lower-case hex."""

    hosts: dict[str, str] = msgspec.field(default_factory=dict)
    addresses: dict[str, str] = msgspec.field(default_factory=dict)


def address_key(address: str, port: int) -> str:
    """An address as typed, in one form, fit to be shown: `den.local:7373`, `[fe80::1]:7373`."""
    host = printable(address).rstrip(".").lower()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def plain_fingerprint(text: str) -> str:
    """A fingerprint as it is compared: hex digits only, lower-case.

    >>> plain_fingerprint("AB:cd 01")
    'abcd01'
    """
    return "".join(text.replace(":", "").split()).lower()


def is_fingerprint(text: str) -> bool:
    """Whether it is a SHA-256 in hex, colons and spaces aside."""
    return re.fullmatch(r"[0-9a-f]{64}", plain_fingerprint(text)) is not None


class Pins:
    """The certificates that this user has come to trust, in one file.

    It is read anew for each question: several clients may run on one machine.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, address: str, port: int, fingerprint: str, host_id: str | None = None) -> None:
        """Raises FingerprintChanged where another certificate is pinned for this host.

        Args:
            address: as typed, or as found on the network.
            port: the host's.
            fingerprint: what the host shows now.
            host_id: what the host calls itself, where that is known.
        """
        known = self._known()
        shown = plain_fingerprint(fingerprint)
        if host_id is not None:
            pinned = known.hosts.get(host_id)
            if pinned is not None and pinned != shown:
                raise FingerprintChanged(address_key(address, port), pinned, shown)
        pinned = known.addresses.get(address_key(address, port))
        if pinned is None or pinned == shown:
            return
        if shown not in known.hosts.values():
            raise FingerprintChanged(address_key(address, port), pinned, shown)

    def certificate(self, host_id: str) -> str | None:
        """The fingerprint that is known of a host, None for a stranger. Raises OSError."""
        return self._known().hosts.get(host_id)

    def pin(self, host_id: str, address: str, port: int, fingerprint: str) -> None:
        """Remembers the certificate, for the id and the address. Raises OSError.

        To be called when a seat is taken or a table watched, after `check`.
        """
        files.private_folder(self._path.parent)
        lock = self._path.with_suffix(".lock")
        with FileLock(lock, timeout=2, mode=0o600):
            known = self._known()
            shown = plain_fingerprint(fingerprint)
            key = address_key(address, port)
            if known.hosts.get(host_id) == shown and known.addresses.get(key) == shown:
                return
            known.hosts[host_id] = shown
            known.addresses[key] = shown
            files.write(self._path, known)

    def forget(self, fingerprint: str) -> bool:
        """Forgets a certificate, wherever it was seen. False where it is not known.

        For a user who has been told of a change, and knows why. Raises OSError.
        """
        files.private_folder(self._path.parent)
        with FileLock(self._path.with_suffix(".lock"), timeout=2, mode=0o600):
            known = self._known()
            left = _Known(
                hosts=_without(known.hosts, fingerprint),
                addresses=_without(known.addresses, fingerprint),
            )
            if left == known:
                return False
            files.write(self._path, left)
            return True

    def at(self, address: str, port: int) -> str | None:
        """The fingerprint that is known at an address, None for a stranger. Raises OSError."""
        return self._known().addresses.get(address_key(address, port))

    def _known(self) -> _Known:
        return files.read(self._path, _Known) or _Known()


def _without(known: dict[str, str], fingerprint: str) -> dict[str, str]:
    return {key: value for key, value in known.items() if value != fingerprint}
