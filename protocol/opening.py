"""The way to a host: TCP, TLS, and whose certificate it is, before anything is sent."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import ssl

from protocol.errors import CannotConnect, FingerprintChanged
from protocol.text import printable
from protocol.trust import Pins, address_key, plain_fingerprint


async def open_stream(
    address: str, port: int, tls: bool
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A stream, TLS already agreed upon. Raises CannotConnect."""
    where = address_key(address, port)
    if not 1 <= port <= 65_535:
        raise CannotConnect(f"{where} is no address of a host.")
    context = _tls_context() if tls else None
    try:
        return await asyncio.open_connection(
            address,
            port,
            ssl=context,
            # The certificate is compared as a whole, its names say nothing; so ask for none.
            server_hostname="" if tls else None,
            happy_eyeballs_delay=0.25,
        )
    except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError):
        # A refused connection is another error: here somebody listens, but in plain TCP.
        raise CannotConnect(
            f"{where} does not answer in TLS; it is no QE host, "
            "or the host may have been started with --no-tls."
        ) from None
    except ConnectionRefusedError:
        raise CannotConnect(f"Nobody listens at {where}.") from None
    except socket.gaierror as error:
        why = printable(error.strerror or "it has no address")
        raise CannotConnect(f"No machine is called {printable(address)} here ({why}).") from None
    except OSError as error:
        # Without `strerror` where several addresses of one name have failed differently.
        why = printable(error.strerror or "none of its addresses answers")
        if why.startswith("Connect call failed") and error.errno:
            why = os.strerror(error.errno)  # the event loop's words name the address once more
        raise CannotConnect(f"{where} cannot be reached: {why}.") from None
    except (ValueError, IndexError):  # the latter where no address could even be tried
        raise CannotConnect(f"{where} is no address of a host.") from None


def _tls_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A host signs its own certificate. Trust is in its fingerprint, see protocol.trust.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def shown_fingerprint(writer: asyncio.StreamWriter) -> str:
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    if not der:
        raise CannotConnect("The host shows no certificate.")
    return hashlib.sha256(der).hexdigest()


def check_fingerprint(
    address: str,
    port: int,
    shown: str,
    pins: Pins | None,
    expected: str | None,
    host_id: str | None,
) -> None:
    """Raises FingerprintChanged, or CannotConnect where the pins cannot be read."""
    if expected is not None and plain_fingerprint(expected) != shown:
        raise FingerprintChanged(
            address_key(address, port), plain_fingerprint(expected), shown, told=True
        )
    if pins is None:
        return
    try:
        pins.check(address, port, shown, host_id)
    except OSError as error:
        raise CannotConnect(
            f"The file of known certificates cannot be read: {error.strerror or error}."
        ) from None
