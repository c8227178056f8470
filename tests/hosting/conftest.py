"""A real sshd for guests, and terminals."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "terminal"))

from loopback_sshd import SSHD, Sshd
from tmux import Tmux

PRIVSEP = Path("/run/sshd")
"""Where sshd, run by root, locks itself up. Debian's init script makes it, as is done here.
It stays: another sshd may have come to use it."""


@pytest.fixture
def run_sshd(tmp_path: Path) -> Iterator[Callable[..., Sshd]]:
    """Starts sshds that lead to this command, and ends them."""
    missing = [name for name in ("ssh", "ssh-keygen", "tmux") if shutil.which(name) is None]
    missing += [] if SSHD else ["sshd"]
    missing += [] if Path("/usr/bin/python3").exists() else ["/usr/bin/python3"]
    if missing:
        pytest.skip(f"{' and '.join(missing)} is not installed, so `ssh qe@host` was not tried")
    if os.getuid() == 0:
        PRIVSEP.mkdir(mode=0o755, exist_ok=True)
    started: list[Sshd] = []

    def run(*command: str, folder: Path | None = None, **account: str) -> Sshd:
        if folder is None:
            folder = tmp_path / f"sshd-{len(started)}"
            folder.mkdir()
        sshd = Sshd(folder, command, **account)
        sshd.start()
        started.append(sshd)
        return sshd

    yield run
    for sshd in started:
        sshd.end()


@pytest.fixture
def run_sshd_for_all(run_sshd: Callable[..., Sshd]) -> Iterator[Callable[..., Sshd]]:
    """Starts an sshd with a throw-away account and this password, which are removed afterwards."""
    if os.getuid() != 0 or shutil.which("useradd") is None:
        pytest.skip("accounts can be made only by root, with useradd; no password was tried")
    account = f"qe-{secrets.token_hex(4)}"
    folder = Path(tempfile.mkdtemp(prefix="qe-ssh-"))
    folder.chmod(0o755)
    useradd = ["useradd", "--system", "--no-create-home", "--shell", "/bin/sh"]
    subprocess.run([*useradd, "--home-dir", folder / "guests", account], check=True)

    def run(password: str, *command: str) -> Sshd:
        subprocess.run(["chpasswd"], input=f"{account}:{password}\n", text=True, check=True)
        return run_sshd(*command, folder=folder, account=account)

    try:
        yield run
    finally:
        subprocess.run(["userdel", "--force", account], check=False)
        shutil.rmtree(folder)


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, so nothing was tried in a real terminal")
    server = Tmux()
    yield server
    server.end()
