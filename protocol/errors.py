"""Every exception of the wire, and the codes that tell programs what went wrong.

    QEError
    ├── WireError              the other side broke the protocol
    │   ├── FrameError         bytes that are no frame; the connection ends
    │   └── MessageError       a frame that is no known message; the connection stays
    ├── TextError              text that may not be shown to others
    ├── WhereError             what was typed is no address, code or invitation
    ├── BrokerError            a broker's address that makes no sense
    ├── BrokerAway             the broker cannot be used now
    ├── Refused                the host understood a request and said no
    └── LinkError              there is no connection to go on with
        ├── CannotConnect      nobody answers at the address, or not in our language
        ├── FingerprintChanged the host shows another certificate than the one pinned
        ├── Goodbye            the host closed, and said why
        └── ConnectionLost     the connection went without a word

No message of these carries an amount, a token or a password, nor bytes of the frame in question.
"""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Why a request was refused. Clients must expect codes that they do not know."""

    BAD_MESSAGE = "bad_message"
    BAD_TEXT = "bad_text"
    UNSUPPORTED_VERSION = "unsupported_version"
    NOT_HELLO = "not_hello"
    UNKNOWN_TABLE = "unknown_table"
    WRONG_PASSWORD = "wrong_password"
    TABLE_FULL = "table_full"
    NAME_TAKEN = "name_taken"
    BAD_TOKEN = "bad_token"
    NOT_SEATED = "not_seated"
    ALREADY_SEATED = "already_seated"
    NOT_HOST = "not_host"
    NOT_READY = "not_ready"
    ALREADY_STARTED = "already_started"
    NOT_OVER = "not_over"
    STALE = "stale"
    ILLEGAL = "illegal"
    RATE_LIMITED = "rate_limited"
    HOST_FULL = "host_full"
    NOT_SAVED = "not_saved"
    INTERNAL = "internal"


class ByeCode(StrEnum):
    """Why the host closes a connection."""

    BAD_FRAME = "bad_frame"
    TOO_LARGE = "too_large"
    HELLO_TIMEOUT = "hello_timeout"
    IDLE = "idle"
    SLOW = "slow"
    SHUTTING_DOWN = "shutting_down"
    HOST_FULL = "host_full"
    REPLACED = "replaced"
    REMOVED = "removed"
    TABLE_CLOSED = "table_closed"


FINAL_BYES = frozenset({ByeCode.REPLACED, ByeCode.REMOVED, ByeCode.TABLE_CLOSED})
"""After these a client does not come back by itself."""


class QEError(Exception):
    """The root of this project's exceptions."""


class WireError(QEError):
    """The other side broke the protocol."""


class FrameError(WireError):
    """Bytes that are no frame. `code` is what a host says in its `bye`."""

    def __init__(self, code: ByeCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class MessageError(WireError):
    """A frame that is no known message. `id` is the request's, where one could be read."""

    def __init__(self, id: int | None, reason: str, message: str) -> None:
        super().__init__(message)
        self.id = id
        self.reason = reason


class TextError(QEError):
    """Text that may not be shown to others. `reason` is a stable key, the message a sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Refused(QEError):
    """The host said no. `code` is for programs, `reason` a stable key for translation."""

    def __init__(self, code: str, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class LinkError(QEError):
    """There is no connection to go on with."""


class CannotConnect(LinkError):
    """Nobody answers at the address, or not in our language."""


class FingerprintChanged(LinkError):
    """The host shows another certificate than the one pinned; nothing was sent to it.

    `told`: than the one that an invitation, or whoever started the host, has named.
    """

    def __init__(self, where: str, pinned: str, shown: str, *, told: bool = False) -> None:
        than, known = ("the invitation says", "Invited to") if told else ("before", "Known")
        super().__init__(
            f"{where} shows another certificate than {than}. "
            f"{known}: {pinned}. Shown now: {shown}. Nothing was sent."
        )
        self.where = where
        self.pinned = pinned
        self.shown = shown
        self.told = told


class Goodbye(LinkError):
    """The host closed the connection and said why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ConnectionLost(LinkError):
    """The connection went without a word."""
