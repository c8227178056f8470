from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.tokens import HeldSeat, Wallet

TOKEN = "f00dfeed" * 4


def _hold(wallet: Wallet, name: str = "Ana", host: str = "den", table: str = "WOLF") -> HeldSeat:
    held = wallet.hold(host, table, name)
    assert held is not None
    return held


def test_a_token_is_found_again_by_host_table_and_name(tmp_path: Path) -> None:
    wallet = Wallet(tmp_path / "seats")
    held = _hold(wallet)
    held.keep("old")
    held.keep(TOKEN)
    held.release()
    assert Wallet(tmp_path / "seats").saved("den", "WOLF", "Ana") == TOKEN
    for other in (("attic", "WOLF", "Ana"), ("den", "LYNX", "Ana"), ("den", "WOLF", "Bo")):
        assert wallet.saved(*other) is None
    assert wallet.seats("den") == [("WOLF", "Ana")]
    assert wallet.seats("attic") == []


def test_asking_for_what_is_not_there_leaves_nothing_behind(tmp_path: Path) -> None:
    assert Wallet(tmp_path / "seats").saved("den", "WOLF", "Ana") is None
    assert Wallet(tmp_path / "seats").seats("den") == []
    assert not (tmp_path / "seats").exists()


def test_a_forgotten_token_is_gone(tmp_path: Path) -> None:
    wallet = Wallet(tmp_path)
    held = _hold(wallet)
    held.keep(TOKEN)
    held.forget()
    assert wallet.saved("den", "WOLF", "Ana") is None
    _hold(wallet).release()


def test_a_seat_in_use_by_another_process_is_not_given_away(tmp_path: Path) -> None:
    held = _hold(Wallet(tmp_path))
    held.keep(TOKEN)
    held.release()
    program = (
        "import sys; from pathlib import Path; from protocol.tokens import Wallet\n"
        "held = Wallet(Path(sys.argv[1])).hold('den', 'WOLF', 'Ana')\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(root)},
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        wallet = Wallet(tmp_path)
        assert wallet.saved("den", "WOLF", "Ana") is None
        assert wallet.hold("den", "WOLF", "Ana") is None
        assert wallet.seats("den") == []
        _hold(wallet, "Bo").release()
        other.kill()
    assert wallet.saved("den", "WOLF", "Ana") == TOKEN


def test_files_are_private_and_their_names_say_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "seats"
    held = _hold(Wallet(folder))
    held.keep(TOKEN)
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not any(part in path.name for part in ("WOLF", "Ana", TOKEN))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert TOKEN not in repr(held)


def test_the_old_token_stays_when_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = _hold(Wallet(tmp_path))
    held.keep(TOKEN)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        held.keep("new")
    assert held.token == TOKEN
    assert len(list(tmp_path.iterdir())) == 2  # the token and its lock


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"token": 1}', b"\xff"])
def test_a_broken_file_is_set_aside(tmp_path: Path, broken: bytes) -> None:
    wallet = Wallet(tmp_path)
    held = _hold(wallet)
    held.keep(TOKEN)
    (path,) = tmp_path.glob("*.json")
    path.write_bytes(broken)
    assert held.token is None
    assert wallet.seats("den") == []
    held.keep("new")
    held.release()
    assert wallet.saved("den", "WOLF", "Ana") == "new"


def test_a_folder_that_cannot_be_used_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "seats").write_text("a file")
    wallet = Wallet(tmp_path / "seats")
    assert wallet.hold("den", "WOLF", "Ana") is None
    assert wallet.saved("den", "WOLF", "Ana") is None
    assert wallet.seats("den") == []
