"""docs/hosting.md and its files say what is there: commands, flags, ports, units."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from protocol.messages import DEFAULT_PORT
from qe_tui.cli import main as qe
from server.cli import main as qe_server
from server.control import SOCKET
from server.journal import NAME
from server.tls import CERTIFICATE, KEY

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "hosting.md").read_text("utf-8")
UNIT = DOCS / "hosting" / "qe-server.service"
COMMAND = (
    r"""(?:^|&& |sudo )(?:[\w./~-]*/)?(qe(?:-server)?)(?=\s|$)((?:"[^"]*"|'[^']*'|[^#&|;])*)"""
)
PROGRAMS = {"qe": qe, "qe-server": qe_server}


def commands(text: str) -> Iterator[list[str]]:
    """Every command line of this project in a page's blocks and in its running text."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))
    for line in lines:
        for program, rest in re.findall(COMMAND, line):
            yield [program, *shlex.split(rest)]


def check(words: list[str]) -> None:
    """Each subcommand and each flag is one that the program has."""
    command: click.Command = PROGRAMS[words[0]]
    expected: click.Option | None = None
    for word in words[1:]:
        flags = {flag: o for o in command.params if isinstance(o, click.Option) for flag in o.opts}
        if expected is not None:
            expected = None
        elif word.startswith("-"):
            assert word in flags, f"{command.name} has no {word}: {words}"
            expected = None if flags[word].is_flag or flags[word].count else flags[word]
        elif isinstance(command, click.Group):
            assert word in command.commands, f"{command.name} has no {word}: {words}"
            command = command.commands[word]
    assert expected is None, f"{words} ends in the middle"


def test_commands_and_flags() -> None:
    found = list(commands(PAGE))
    assert len(found) > 15
    for words in found:
        check(words)
    assert set(re.findall(r"`(--[a-z-]+)`", PAGE)) <= {
        flag for option in qe_server.params for flag in option.opts
    }


@pytest.mark.parametrize("line", ["qe-server --playrs 4", "qe-server ctl kik WOLF", "qe --port 1"])
def test_a_command_that_is_not_there_is_found(line: str) -> None:
    with pytest.raises(AssertionError):
        check(shlex.split(line))


def test_ports_files_and_links() -> None:
    assert f"| {DEFAULT_PORT}/tcp |" in PAGE
    assert f"allow {DEFAULT_PORT}/tcp" in PAGE
    for name in (NAME, CERTIFICATE, KEY, SOCKET):
        assert f"`{name}`" in PAGE
    for variable in re.findall(r"\bQE_[A-Z_]+", PAGE + UNIT.read_text()):
        assert any(variable == option.envvar for option in qe_server.params), variable
    headings = [
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^## (.*)$", PAGE, re.M)
    ]
    linked = re.findall(r"\]\(#(.*?)\)", PAGE)
    assert linked == headings
    for target in re.findall(r"\]\(([^#)]+)\)", PAGE):
        assert (DOCS / target).exists(), target
    for path in re.findall(r"\bdocs/[\w./-]*\w", PAGE):
        assert (DOCS.parent / path).exists(), path


def test_the_guests_part_fits_the_files() -> None:
    """The account and the folders of the text are those of sshd's configuration."""
    (forced,) = re.findall(r"ForceCommand (.*)", (DOCS / "hosting" / "sshd_config").read_text())
    script, folder, *command = forced.split()
    assert f"--home-dir {folder} " in PAGE
    assert f"d {folder} 0700 qe qe" in PAGE
    assert f"docs/hosting/{Path(script).name} {Path(script).parent}/" in PAGE
    check([Path(command[0]).name, *command[1:]])


def test_the_unit(tmp_path: Path) -> None:
    text = UNIT.read_text()
    (start,) = re.findall(r"^ExecStart=(.*)$", text, re.M)
    program, *flags = start.split()
    assert program == "/opt/qe/bin/qe-server"
    check(["qe-server", *flags])
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed, so that the unit was not put to it")
    here = tmp_path / UNIT.name
    here.write_text(text.replace(program, sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", here], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    analysis = ["systemd-analyze", "security", "--offline=yes", "--no-pager", here]
    done = subprocess.run(analysis, capture_output=True, text=True, check=False)
    if done.returncode == 0:  # not every version can do it offline
        exposure = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
        assert exposure is not None
        assert float(exposure[1]) < 2
