from __future__ import annotations

import stat
from pathlib import Path

import pytest

from protocol.errors import FingerprintChanged
from protocol.trust import Pins, address_key, plain_fingerprint

ONE, TWO, NEW = "11" * 32, "22" * 32, "ff" * 32


@pytest.fixture
def pins(tmp_path: Path) -> Pins:
    pins = Pins(tmp_path / "private" / "pins.json")
    pins.pin("den", "10.0.0.1", 7373, ONE)
    pins.pin("attic", "10.0.0.2", 7373, TWO)
    return pins


def test_what_is_known_may_move_about(pins: Pins) -> None:
    pins.check("10.0.0.1", 7373, ONE)
    pins.check("10.0.0.1", 7373, ONE.upper(), "den")
    pins.check("10.0.0.9", 7373, ONE, "den")
    pins.check("10.0.0.1", 7373, TWO, "attic")  # the two have changed addresses
    pins.check("10.0.0.1", 7374, NEW, "cellar")  # another host on the same machine
    pins.check("10.0.0.9", 7373, NEW)


@pytest.mark.parametrize(
    ("address", "host_id", "pinned"),
    [
        ("10.0.0.1", None, ONE),
        ("10.0.0.1", "den", ONE),
        ("10.0.0.1", "stranger", ONE),
        ("10.0.0.9", "attic", TWO),
    ],
)
def test_a_new_certificate_of_something_known_is_refused(
    pins: Pins, address: str, host_id: str | None, pinned: str
) -> None:
    with pytest.raises(FingerprintChanged) as caught:
        pins.check(address, 7373, NEW, host_id)
    assert (caught.value.pinned, caught.value.shown) == (pinned, NEW)


def test_a_known_id_with_the_certificate_of_another_host_is_refused(pins: Pins) -> None:
    with pytest.raises(FingerprintChanged):
        pins.check("10.0.0.9", 7373, ONE, "attic")


def test_a_user_may_forget_a_host(pins: Pins) -> None:
    known = pins.at("10.0.0.1", 7373)
    assert known is not None
    assert pins.forget(known)
    assert not pins.forget(known)
    pins.check("10.0.0.1", 7373, NEW, "den")
    with pytest.raises(FingerprintChanged):
        pins.check("10.0.0.2", 7373, NEW)


def test_pins_outlive_their_object_and_are_private(pins: Pins, tmp_path: Path) -> None:
    path = tmp_path / "private" / "pins.json"
    with pytest.raises(FingerprintChanged):
        Pins(path).check("10.0.0.1", 7373, NEW)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {each.name for each in path.parent.iterdir()} <= {"pins.json", "pins.lock"}


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"hosts": {"den": 1}}', b"\xff\xfe"])
def test_a_broken_file_is_set_aside(pins: Pins, tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "private" / "pins.json"
    path.write_bytes(broken)
    pins.check("10.0.0.1", 7373, NEW)
    assert (path.parent / "pins.json.broken").read_bytes() == broken
    pins.pin("den", "10.0.0.1", 7373, NEW)
    with pytest.raises(FingerprintChanged):
        pins.check("10.0.0.1", 7373, ONE)


def test_one_form_for_each_address() -> None:
    assert address_key(" Den.Local. ", 7373) == address_key("den.local", 7373) == "den.local:7373"
    assert address_key("FE80::1", 7373) == "[fe80::1]:7373"
    assert plain_fingerprint("AA:bb 0C") == "aabb0c"
