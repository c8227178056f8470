"""A real sshd on the loopback, set up by docs/hosting/sshd_config, and guests."""

from __future__ import annotations

import getpass
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOSTING = ROOT / "docs" / "hosting"
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")
PATIENCE = 25.0
"""Seconds after which something that should happen has not happened."""


@dataclass
class Sshd:
    """An sshd whose `account` leads to the game: by default the one that runs the tests."""

    folder: Path
    command: Sequence[str]
    account: str = field(default_factory=getpass.getuser)
    port: int = 0
    more: str = ""
    """Lines of sshd's configuration for the account, besides those of the documentation's file."""
    program: str = SSHD or ""

    @property
    def config(self) -> Path:
        return self.folder / "sshd_config"

    @property
    def guests(self) -> Path:
        """The folder of the guests' folders."""
        return self.folder / "guests"

    def start(self) -> None:
        self.guests.mkdir(mode=0o700)
        if self.account != getpass.getuser():
            shutil.chown(self.guests, self.account, self.account)
        # Where the account can read it, wherever this is.
        shutil.copy(HOSTING / "qe-guest", self.folder)
        (self.folder / "keys").touch(mode=0o600)
        self._keygen("hostkey")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        public = (self.folder / "hostkey.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {public}")
        self.config.write_text(self._config())
        self._log = (self.folder / "sshd.log").open("w")
        command = [self.program, "-D", "-e", "-f", self.config]
        self._process = subprocess.Popen(command, stderr=self._log)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                said = (self.folder / "sshd.log").read_text()
                assert self._process.poll() is None, said
                assert time.monotonic() < end, said
                time.sleep(0.02)

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._log.close()

    def _config(self) -> str:
        """The configuration of the documentation, for this account and folder."""
        documented = (HOSTING / "sshd_config").read_text()
        command = " ".join(
            shlex.quote(str(word))
            for word in [self.folder / "qe-guest", self.guests, *self.command]
        )
        for written, here in {
            "Match User qe\n": f"Match User {self.account}\n",
            "/etc/ssh/qe-guests.keys": str(self.folder / "keys"),
            "/opt/qe/qe-guest /var/lib/qe-guests /opt/qe/bin/qe join 127.0.0.1": command,
        }.items():
            assert documented.count(written) == 1, written
            documented = documented.replace(written, here)
        return (
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.folder / 'hostkey'}\n"
            "PidFile none\nStrictModes no\nPermitRootLogin yes\nUsePAM no\nAcceptEnv *\n"
            f"{documented}{self.more}"
        )

    def _keygen(self, name: str) -> Path:
        path = self.folder / name
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True
        )
        return path

    def guest(self) -> list[str]:
        """A guest with a key of their own; gives the words that come in with it, after `ssh`."""
        key = self._keygen(f"key-{len(list(self.folder.glob('key-*.pub'))) + 1}")
        with (self.folder / "keys").open("a") as keys:
            keys.write(key.with_suffix(".pub").read_text())
        return self._words({"IdentityFile": key, "BatchMode": "yes"})

    def stranger(self) -> list[str]:
        """The words for somebody without a key, who is asked for the password once."""
        return self._words({"PubkeyAuthentication": "no", "NumberOfPasswordPrompts": "1"})

    def _words(self, options: Mapping[str, object]) -> list[str]:
        options = {
            **options,
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": self.folder / "known_hosts",
            "GlobalKnownHostsFile": "none",
            "Port": self.port,
            "LogLevel": "ERROR",
            "KexAlgorithms": "curve25519-sha256",  # the cheapest
        }
        flags = [flag for key, value in options.items() for flag in ("-o", f"{key}={value}")]
        return ["-F", "none", *flags, f"{self.account}@127.0.0.1"]
