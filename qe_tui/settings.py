"""What the client keeps between two evenings, and where.

Flags go before the environment, the environment before the file, the file before the default;
flags and environment are the command line's affair, this is the file.
"""

from __future__ import annotations

import contextlib
import difflib
import getpass
import json
import os
import tempfile
from pathlib import Path

import msgspec
import platformdirs

from protocol import text
from protocol.errors import TextError
from protocol.messages import DEFAULT_PORT
from qe_tui.i18n import _


class Home(msgspec.Struct, frozen=True):
    """The files of this client. With QE_HOME set, all of them lie below that folder."""

    settings: Path
    pins: Path
    tokens: Path
    log: Path
    data: Path

    @classmethod
    def find(cls) -> Home:
        if given := os.environ.get("QE_HOME"):
            root = Path(given).expanduser().absolute()
            return cls(
                root / "settings.json",
                root / "pins.json",
                root / "tokens",
                root / "logs" / "qe.log",
                root,
            )
        state = platformdirs.user_state_path("qe", appauthor=False)
        return cls(
            platformdirs.user_config_path("qe", appauthor=False) / "settings.json",
            state / "pins.json",
            state / "tokens",
            state / "logs" / "qe.log",
            platformdirs.user_data_path("qe", appauthor=False),
        )


class Settings(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is remembered: the name, and what was last typed or chosen."""

    name: str = ""
    address: str = ""
    tls: bool = True
    players: int = 4
    port: int = DEFAULT_PORT


def load(path: Path) -> tuple[Settings, str | None]:
    """The settings of a file, and a sentence for people if it could not be used as it is.

    A file that makes no sense is set aside, so that nothing of it is lost.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Settings(), None
    except OSError as error:
        reason = error.strerror or _("an unknown reason")
        return Settings(), _("{path} could not be read: {reason}.").format(path=path, reason=reason)
    try:
        settings = msgspec.json.decode(raw, type=Settings)
        if not 3 <= settings.players <= 5 or not 1 <= settings.port <= 65_535:
            raise msgspec.ValidationError("out of range")
    except (msgspec.MsgspecError, UnicodeError):
        aside = path.with_name(path.name + ".broken")
        with contextlib.suppress(OSError):
            path.replace(aside)
        hint = _nearest(raw)
        return Settings(), _("The settings made no sense and were set aside as {path}.").format(
            path=aside
        ) + (f" {hint}" if hint else "")
    if settings.name:
        try:
            settings.name = text.name(text.tidy(settings.name))
        except TextError:
            settings.name = ""
    return settings, None


def save(path: Path, settings: Settings) -> None:
    """Writes all or nothing: a crash leaves the old file. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def default_name() -> str:
    """The login name, as far as a table accepts it."""
    try:
        login = getpass.getuser()
    except (OSError, KeyError, ImportError):
        login = ""
    candidate = text.tidy(text.printable(login))
    while candidate:
        try:
            return text.name(candidate)
        except TextError:
            candidate = text.tidy(candidate[:-1])
    return _("Player")


def _nearest(raw: bytes) -> str | None:
    """Which unknown key it was, and the known one that was probably meant."""
    try:
        given = json.loads(raw)
    except ValueError:
        return None
    known = list(Settings.__struct_fields__)
    for key in given if isinstance(given, dict) else ():
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            if close:
                return _("It has {key!r}; {close!r} may have been meant.").format(
                    key=text.printable(key), close=close[0]
                )
            return _("It has {key!r}, which is no setting.").format(key=text.printable(key))
    return None
