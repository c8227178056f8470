"""How the terminal is when the screen has gone, and how one comes back."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from director import table_code, write
from tmux import Steps, Terminal

QE = shlex.join([sys.executable, "-m", "qe_tui"])


def test_ctrl_q_gives_the_terminal_back_and_the_seat_is_found_again(
    tmux, run_host, open_terminal
) -> None:
    host = run_host("--players", "3", "--bots", "2", "--bot-delay", "0", "--seed", "leaving")
    shell = open_terminal("shell", command=["sh"], PS1="$ ", **qe_as_a_command())
    before = modes(shell)
    shell.type(f"{QE} join {' '.join(host.at)} --name 'Ana B'; echo status $?", "Enter")
    shell.wait_for(">>> YOU")
    assert shell.ask("#{alternate_on} #{mouse_any_flag}") == "1 1"
    code = table_code(shell.screen)
    tmux.act({shell: bid(shell, 7_654_321)})
    shell.keys("C-q")
    said = check_restored(shell, before, 0)
    (command,) = re.findall(r"Your seat at table \w{4} is kept. Come back with: (.+)", said)
    assert code in command
    assert "--name 'Ana B'" in command
    shell.type("clear", "Enter")
    shell.type(f"{command.strip()}; echo status $?", "Enter")
    shell.wait_for(">>> ")
    assert table_code(shell.screen) == code
    shell.keys("Tab")
    shell.wait_for("7,654,321")
    shell.keys("Tab")
    shell.wait_for(">>> ")

    child = program_of(shell)
    os.kill(child, signal.SIGTERM)
    said = check_restored(shell, before, 128 + signal.SIGTERM)
    assert command in said


def bid(terminal: Terminal, amount: int) -> Steps:
    """Opens, or bids in secret."""
    todo = terminal.screen.todo
    yield from write(terminal, str(amount), amount)
    yield lambda: terminal.screen.todo != todo


def modes(shell: Terminal) -> str:
    """How the terminal is set, by its own account."""
    shell.type("clear; stty -g", "Enter")
    shell.wait_for(lambda screen: re.search(r"^[0-9a-f]+(:[0-9a-f]+)+$", screen.text, re.M))
    return re.search(r"^[0-9a-f]+(:[0-9a-f]+)+$", shell.screen.text, re.M)[0]  # type: ignore[index]


def check_restored(shell: Terminal, before: str, status: int) -> str:
    """The shell is back, shows what is typed, and the terminal is as it was.

    Gives what stands in it.
    """
    shell.wait_for(f"status {status}")
    assert shell.ask("#{alternate_on} #{mouse_any_flag} #{cursor_flag} #{wrap_flag}") == "0 0 1 1"
    shell.type("echo $((40 + 2)) is typed")
    shell.wait_for("$ echo $((40 + 2)) is typed")
    shell.keys("Enter")
    shell.wait_for("\n42 is typed")
    said = shell.scrolled()
    assert modes(shell) == before
    return said


def program_of(shell: Terminal) -> int:
    """The process that the shell runs."""
    done = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    pairs = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    parent = shell.pid
    (child,) = [pid for pid, above in pairs if above == parent]
    return child


def qe_as_a_command() -> dict[str, str]:
    """An environment in which the installed `qe` is found."""
    return {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
