"""`ssh qe@host`, by a real sshd: guests play at a real host, and come no further than the game."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from director import Bid, Director, auction, seated
from loopback_sshd import HOSTING, ROOT, Sshd
from tmux import PATIENCE, Terminal, Tmux

QE = Path(sys.executable).with_name("qe")
ENVIRONMENT = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


def script(number: int, name: str, stage: int | None) -> Bid:
    amount = 10 * number if stage is None else 1_000_000 * number + 1000 * len(name) + 7
    return str(amount), amount


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    """A host with a table for two and a computer; gives its address."""
    command = [sys.executable, "-m", "server", "--data", str(tmp_path / "host"), "--port", "0"]
    command += ["--bind", "127.0.0.1", "--no-discovery", "--players", "3", "--bots", "1"]
    command += ["--bot-delay", "0", "--seed", "ssh"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    said = process.stdout.readline() if ready else ""
    assert said.startswith("listening on "), said
    yield said.split()[-1]
    process.kill()
    process.communicate()


class Ways:
    """Guests with a key each, on their way to a host."""

    def __init__(self, sshd: Sshd, tmux: Tmux) -> None:
        self.sshd = sshd
        self._tmux = tmux
        self._ways: dict[str, list[str]] = {}

    def come(self, name: str, terminal: str | None = None) -> Terminal:
        if name not in self._ways:
            self._ways[name] = ["ssh", "-tt", *self.sshd.guest()]
        return self._tmux.open(
            terminal or name, self._ways[name], folder=self.sshd.folder, environment=ENVIRONMENT
        )

    def seat(self, name: str) -> Terminal:
        """A guest's first visit."""
        terminal = self.come(name)
        terminal.wait_for("Your name:")
        terminal.type(name, "Enter")
        terminal.wait_for(seated, "a seat")
        return terminal

    def folders(self) -> dict[str, Path]:
        """The guests' folders, by name."""
        return {(own / "name").read_text(): own for own in self.sshd.guests.iterdir()}

    def at_the_table(self, name: str) -> bool:
        """Whether a client runs for this guest."""
        with (self.folders()[name] / "session").open() as session:
            try:
                fcntl.flock(session, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


@pytest.fixture
def ways(run_sshd: Callable[..., Sshd], tmux: Tmux, host: str) -> Ways:
    if not QE.exists():
        pytest.skip("the command `qe` is not installed, so `ssh qe@host` was not tried")
    return Ways(run_sshd(str(QE), "join", host), tmux)


def test_guests_sit_at_a_table_each_with_files_of_their_own(ways) -> None:
    ana, bo = ways.seat("Ana"), ways.seat("Bo")
    for terminal in (ana, bo):
        terminal.wait_for("auction 1/16")
    folders = ways.folders()
    assert set(folders) == {"Ana", "Bo"}
    tokens = set()
    for name, own in folders.items():
        assert stat.S_IMODE(own.stat().st_mode) == 0o700
        assert (own / "pins.json").exists()
        (kept,) = [json.loads(path.read_text()) for path in (own / "tokens").glob("*.json")]
        assert kept["name"] == name
        tokens.add(kept["token"])
        assert ways.at_the_table(name)
    assert len(tokens) == 2

    # Ctrl+Q ends the session, and a line that is cut ends the client; the seats are kept.
    ana.keys("C-q")
    assert ana.status() == 0
    way = f"ssh -p {ways.sshd.port} {ways.sshd.account}@127.0.0.1"
    assert f"is kept. Come back with: {way}" in ana.scrolled()
    os.kill(bo.pid, signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while ways.at_the_table("Bo"):
        assert time.monotonic() < end, "the client outlives its line"
        time.sleep(0.05)
    assert all(list((own / "tokens").glob("*.json")) for own in folders.values())


@pytest.mark.long
def test_guests_play_and_come_back(ways, tmux, tmp_path) -> None:
    players = {name: ways.seat(name) for name in ("Ana", "Bo")}
    for terminal in players.values():
        terminal.wait_for("auction 1/16")
    Director(tmux, players, script).play(until=2)

    # The line is cut; the same key leads back to the seat, without a question.
    os.kill(players["Bo"].pid, signal.SIGKILL)
    back = ways.come("Bo", "Bo-again")
    seen = back.wait_for(lambda screen: auction(screen) == 2 or "another window" in screen)
    if "another window" in seen:
        back.keys("Enter")
    assert "You" in back.wait_for(lambda screen: auction(screen) == 2)

    # A lost line that nobody has noticed yet: the new session takes over.
    again = ways.come("Ana", "Ana-again")
    again.wait_for("You are at the table in another window")
    assert ways.at_the_table("Ana")
    again.keys("Enter")
    again.wait_for(lambda screen: auction(screen) == 2, "the table")
    assert players["Ana"].status() != 255, "the session ended, not the connection"
    # The keys that stop, quit or suspend a program do not lead out of the game.
    again.keys("C-z", "C-\\", "C-c", "C-d")
    again.keys("C-p")
    palette = again.wait_for("Ledger (Tab)")
    assert not re.search("screenshot|shell|suspend", palette.text, re.I)
    again.keys("Escape")
    again.wait_for(lambda screen: auction(screen) == 2, "the table")
    again.keys("C-q")
    assert again.status() == 0

    # Nor does losing the seat: from the menu a guest could start a host on this machine.
    code = re.search(r"table ([A-Z]{4})", back.look().header)
    assert code is not None
    kick = ["-m", "server", "ctl", "--data", str(tmp_path / "host"), "kick", code[1], "Bo"]
    subprocess.run([sys.executable, *kick], cwd=ROOT, check=True)
    notice = back.wait_for(lambda screen: auction(screen) is None)
    assert "sent away from the table" in notice
    assert "menu" not in notice
    back.keys("C-q")
    assert back.status() == 0
    assert set(ways.folders()) == {"Ana", "Bo"}


SHOW = (
    "import json, os, sys; given = {'variables': dict(os.environ), 'words': sys.argv[1:]}; "
    "given['variables'].pop('LC_CTYPE', None); "  # Python's own, in the C locale
    "given['at'] = os.getcwd(); print('SHOWN' + json.dumps(given))"
)
SHOWING = ["/usr/bin/python3", "-I", "-c", SHOW, "join"]
"""A command that shows what it was given, in the place of the game."""


def shown(text: str) -> dict[str, Any]:
    """What the command has shown on a terminal."""
    found = re.search(r"SHOWN(\{.*\})", text)
    assert found, text
    given: dict[str, Any] = json.loads(found[1])
    return given


class Outsider:
    """Somebody with a key who tries for more than the game."""

    def __init__(self, sshd: Sshd) -> None:
        self.way = sshd.guest()

    def ssh(
        self, *flags: str, command: Sequence[str] = (), typed: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["ssh", *flags, *self.way, *command], input=typed, text=True, capture_output=True,
            timeout=PATIENCE, check=False, env={**os.environ, **ENVIRONMENT, **variables},
        )  # fmt: skip

    def given(self, *flags: str, **more: Any) -> dict[str, Any]:
        """What the game is given when somebody comes like this."""
        return shown(self.ssh("-tt", *flags, **more).stdout)


def test_there_is_nothing_past_the_game(run_sshd, tmp_path) -> None:
    sshd = run_sshd(*SHOWING)
    eve = Outsider(sshd)
    first = eve.given(typed="Eve\n")
    (own,) = sshd.guests.iterdir()
    assert first["variables"] == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(own),
        "QE_HOME": str(own),
        "QE_WAY_BACK": f"ssh -p {sshd.port} {sshd.account}@127.0.0.1",
        "LOGNAME": "Eve",
        "USER": "Eve",
        "PYTHONUTF8": "1",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    assert first["words"] == ["join"]
    assert first["at"] == str(own)

    # Without a terminal: neither a command nor files.
    for copy in (["sh", "-c", "touch escaped"], ["scp", "-t", "escaped"], []):
        done = eve.ssh(command=copy, typed="touch escaped\n")
        assert (done.returncode, done.stdout) == (2, ""), done
        assert "QE plays on a terminal" in done.stderr
    *options, account = eve.way
    for program in ("scp", "sftp"):
        words = [str(HOSTING / "qe-guest"), f"{account}:escaped"] if program == "scp" else [account]
        done = subprocess.run(
            [program, *options, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode != 0, done

    # With one, and whatever lies in the guest's folder: the game, in the same environment.
    for name in (".ssh/rc", ".ssh/environment", ".profile", ".bashrc"):
        (own / name).parent.mkdir(exist_ok=True)
        (own / name).write_text("touch escaped\n")
    names = ["QE_HOME", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "SSH_USER_AUTH", "TEXTUAL"]
    names += ["TERMINFO", "BASH_ENV", "ENV", "COLORTERM", "HOME", "LANG"]
    evil = "SetEnv=" + " ".join(f"{name}=/evil" for name in names)
    odd = "x;$(touch escaped)\x1b]0;evil\x07"
    assert eve.given("-o", evil, command=["sh", "-i"], TERM=odd) == first
    lively = eve.given("-o", "SetEnv=COLORTERM=truecolor LANG=de_DE.UTF-8", TERM="tmux-256color")
    assert lively["variables"] == first["variables"] | {
        "COLORTERM": "truecolor",
        "LANG": "de_DE.UTF-8",
        "TERM": "tmux-256color",
    }

    # No line to elsewhere, of any kind.
    port = str(sshd.port)
    for line in (
        ["-W", f"127.0.0.1:{port}"],
        ["-N", "-R", f"0:127.0.0.1:{port}"],
        ["-N", "-R", f"{tmp_path / 'socket'}:127.0.0.1:{port}"],
        ["-N", "-w", "any"],
    ):
        done = eve.ssh("-o", "ExitOnForwardFailure=yes", *line)
        assert (done.returncode, done.stdout) == (255, ""), done
        assert "forwarding failed" in done.stderr
    assert not list(tmp_path.rglob("escaped*"))


def test_sshd_takes_every_line_of_the_configuration(run_sshd) -> None:
    """As sshd itself says: what is written counts for the account, and for nobody else."""
    sshd = run_sshd(*SHOWING)
    block = sshd.config.read_text().partition("Match User")[2].splitlines()[1:]
    written = {
        line.split()[0].lower(): line.split(maxsplit=1)[1]
        for line in block
        if line.strip() and not line.lstrip().startswith("#")
    }
    assert len(written) > 15
    for who, concerned in ((sshd.account, True), ("somebody", False)):
        said = subprocess.run(
            [sshd.program, "-T", "-f", sshd.config, "-C", f"user={who},host=den,addr=10.0.0.9"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        effective: dict[str, str] = {}
        for line in said.splitlines():
            key, _, value = line.partition(" ")
            effective[key] = f"{effective[key]} {value}" if key in effective else value
        if concerned:
            assert {key: effective[key] for key in written} == written
            assert effective["permituserenvironment"] == "no"
        else:
            assert "forcecommand" not in effective or effective["forcecommand"] == "none"


# --- Guests without a key -----------------------------------------------------------------------


class Door:
    """qe-guest as sshd would start it for somebody who came with the password."""

    def __init__(self, tmux: Tmux, folder: Path) -> None:
        self.folder = folder
        self._tmux = tmux
        self._count = 0

    def come(self, word: str, *, ssh_user_auth: str = "") -> Terminal:
        self._count += 1
        terminal = self._tmux.open(
            f"guest-{self._count}",
            [str(HOSTING / "qe-guest"), str(self.folder), *SHOWING],
            folder=self.folder,
            environment={**ENVIRONMENT, "SSH_USER_AUTH": ssh_user_auth},
        )
        terminal.wait_for("To come back to your seat, type your word.")
        terminal.type(word, "Enter")
        return terminal

    def new(self, name: str) -> str:
        """A first visit; gives the word."""
        guest = self.come("")
        guest.wait_for("Your name:")
        guest.type(name, "Enter")
        seen = guest.wait_for("Your word is")
        guest.keys("Enter")
        assert guest.status() == 0
        return re.search(r"Your word is  ([a-z-]+)", seen.text)[1]  # type: ignore[index]


@pytest.fixture
def door(tmux: Tmux, tmp_path: Path) -> Door:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("there is no /usr/bin/python3, so guests without a key were not tried")
    (tmp_path / "guests").mkdir()
    return Door(tmux, tmp_path / "guests")


@pytest.mark.long
def test_a_word_is_the_way_back_for_guests_without_a_key(door, tmp_path) -> None:
    password = tmp_path / "by-password"
    password.write_text("password\n")
    ana, bo = door.new("Ana"), door.new("../../-x; $(id)")
    assert re.fullmatch(r"([a-z]{4}-){3}[a-z]{4}", ana)
    assert ana != bo
    names = {(own / "name").read_text() for own in door.folder.iterdir()}
    assert names == {"Ana", "../../-x; $(id)"}
    assert not any(ana.split("-")[0] in own.name for own in door.folder.iterdir())

    back = door.come(ana.upper().replace("-", " "), ssh_user_auth=str(password))
    assert back.status() == 0
    anas = shown(back.scrolled())
    assert anas["variables"]["LOGNAME"] == "Ana"

    wrong = door.come("ana")
    for word in ("../" + Path(anas["at"]).name, "toto-toto-toto-toto"):
        wrong.wait_for(lambda screen: screen.text.rstrip().endswith(">"))
        wrong.type(word, "Enter")
    assert wrong.status() == 2
    assert "SHOWN" not in wrong.scrolled()
    assert len(list(door.folder.iterdir())) == 2


@pytest.mark.long
def test_any_key_will_do_where_it_is_said_so(run_sshd) -> None:
    """The two lines of docs/hosting.md: a guest is the key, and the key need not be known."""
    page = (HOSTING.parent / "hosting.md").read_text()
    lines = re.findall(r"^ *(AuthorizedKeysCommand.*\n)", page, re.M)
    assert len(lines) == 2
    sshd = run_sshd(*SHOWING, more="".join(lines))
    ana, bo = Outsider(sshd), Outsider(sshd)
    (sshd.folder / "keys").write_text("")
    folders = {who: who.given(typed="Guest\n")["variables"]["HOME"] for who in (ana, bo)}
    assert folders[ana] != folders[bo]
    assert ana.given()["variables"]["HOME"] == folders[ana]
    assert ana.ssh("-W", f"127.0.0.1:{sshd.port}").returncode == 255


@pytest.mark.long
def test_guests_with_the_password_alone(run_sshd_for_all, tmux) -> None:
    """An account of its own, as documented."""
    sshd = run_sshd_for_all("let us print", *SHOWING)
    (sshd.guests / ".ssh").mkdir()
    (sshd.guests / ".ssh" / "rc").write_text(f"touch {sshd.folder}/escaped\n")
    answers = sshd.folder / "answers"
    answers.write_text('#!/bin/sh\necho "$ANSWER"\n')
    answers.chmod(0o755)

    def come(name: str, password: str) -> Terminal:
        asked = {"SSH_ASKPASS": str(answers), "SSH_ASKPASS_REQUIRE": "force", "ANSWER": password}
        way = ["ssh", "-tt", *sshd.stranger()]
        return tmux.open(name, way, folder=sshd.folder, environment=ENVIRONMENT | asked)

    assert come("wrong", "let me print").status() == 255
    assert come("empty", "").status() == 255
    first = come("first", "let us print")
    first.wait_for("To come back to your seat, type your word.")
    first.keys("Enter")
    first.wait_for("Your name:")
    first.type("Ana", "Enter")
    word = re.search(r"Your word is  ([a-z-]+)", first.wait_for("Your word is").text)
    assert word is not None
    first.keys("Enter")
    assert first.status() == 0
    again = come("again", "let us print")
    again.wait_for("type your word")
    again.type(word[1], "Enter")
    assert again.status() == 0
    given = shown(again.scrolled())
    assert given == shown(first.scrolled())
    assert given["variables"]["LOGNAME"] == "Ana"
    (own,) = [path for path in sshd.guests.iterdir() if path.name != ".ssh"]
    assert own.owner() == sshd.account
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert not list(sshd.folder.rglob("escaped"))
