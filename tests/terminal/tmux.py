"""Real terminals: a tmux server of one's own, and what is seen on its screens."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

PATIENCE = 25.0
"""Seconds after which something that should happen has not happened."""
POLL = 0.015
SIZE = (80, 24)
CONFIG = """
set -g status off
set -g default-terminal xterm-256color
set -g remain-on-exit on
set -g allow-rename on
set -g set-titles off
set -g escape-time 10
set -g default-size 80x24
"""

Ready = Callable[[], bool]
Steps = Generator[Ready, None, None]
"""What somebody does in one terminal: gives, again and again, what must be so before it goes on."""


class Screen:
    """What a terminal showed at a moment. `asked` is when it was asked for, by the monotonic
    clock: what it shows is no older."""

    def __init__(self, text: str, asked: float = 0.0) -> None:
        self.text = text
        self.asked = asked
        self.lasted = 0.0
        """For how many seconds it was seen unchanged. In the middle of a repaint: hardly at all."""
        self.lines = text.split("\n")

    def __contains__(self, words: str) -> bool:
        return words in self.text

    def line(self, words: str) -> str:
        """The first line with these words, empty where there is none."""
        return next((line for line in self.lines if words in line), "")

    @cached_property
    def todo(self) -> str:
        """The line that says what to do."""
        return self.line(" >>> ")

    @cached_property
    def header(self) -> str:
        return self.lines[0]


class Terminal:
    """A program in a pane of 80 by 24 cells. Nothing of what it writes to it is lost."""

    def __init__(self, tmux: Tmux, name: str, written: Path) -> None:
        self._tmux = tmux
        self._written = written
        self.name = name
        self.screen = Screen("")
        self.on_look: Callable[[Screen], None] = lambda screen: None
        """Called with every screen that is captured."""

    def keys(self, *names: str) -> None:
        """Presses keys by tmux's names for them: Enter, Tab, Escape, C-q, F2."""
        self._tmux.run(["send-keys", "-t", self.name, *names])

    def type(self, text: str, *names: str) -> None:
        """Types text, and keys after it."""
        commands = [["send-keys", "-t", self.name, "-l", text]]
        if names:
            commands.append(["send-keys", "-t", self.name, *names])
        self._tmux.run(*commands)

    def look(self) -> Screen:
        self._tmux.look([self])
        return self.screen

    def wait_for(self, words: str | Callable[[Screen], bool], what: str = "") -> Screen:
        """Looks until these words are on the screen, or a condition holds of it."""
        ready = words if callable(words) else lambda screen: words in screen
        what = what or (words if isinstance(words, str) else "what was expected")

        def steps() -> Steps:
            yield lambda: ready(self.screen)

        self._tmux.act({self: steps()}, f"{self.name}: {what!r}")
        return self.screen

    def ask(self, format: str) -> str:
        """What tmux knows of the pane."""
        return self._tmux.run(["display-message", "-p", "-t", self.name, format]).rstrip("\n")

    def coloured(self) -> str:
        """The screen with its colours, as escape sequences."""
        return self._tmux.run(["capture-pane", "-p", "-e", "-t", self.name])

    def scrolled(self) -> str:
        """The screen with what was scrolled off it."""
        return self._tmux.run(["capture-pane", "-p", "-J", "-S", "-", "-t", self.name])

    def resize(self, columns: int, rows: int) -> None:
        self._tmux.run(["resize-window", "-t", self.name, "-x", str(columns), "-y", str(rows)])

    @property
    def written(self) -> bytes:
        """Every byte that programs have written to the terminal."""
        return self._written.read_bytes()

    @property
    def pid(self) -> int:
        return int(self.ask("#{pane_pid}"))

    def status(self) -> int:
        """The exit status of the program, once it is gone."""
        end = time.monotonic() + PATIENCE
        while not (status := self.ask("#{pane_dead_status}")):
            assert time.monotonic() < end, f"{self.name} does not end:\n{self.look().text}"
            time.sleep(POLL)
            # Now and then tmux misses that a program has ended until another one does.
            self._tmux.run(["run-shell", "-b", "true"])
        return int(status)


class Tmux:
    """A tmux server that nobody else uses, with its terminals."""

    def __init__(self) -> None:
        # A socket's path may be only some hundred bytes long.
        self._folder = Path(tempfile.mkdtemp(prefix="qe-tmux-"))
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("TMUX")
        } | {"TMUX_TMPDIR": str(self._folder), "LC_ALL": "C.UTF-8"}
        config = self._folder / "tmux.conf"
        config.write_text(CONFIG)
        self._tmux = ["tmux", "-L", f"qe-{uuid.uuid4().hex[:8]}", "-f", str(config), "-u"]
        self._sentinel = f"[{uuid.uuid4().hex}]"
        self.terminals: list[Terminal] = []

    def run(self, *commands: Sequence[str]) -> str:
        """Runs tmux commands, one after another, and gives what they print."""
        words: list[str] = []
        for command in commands:
            words += [";"] if words else []
            words += [_whole(word) for word in command]
        done = subprocess.run(
            [*self._tmux, *words],
            env=self._environment,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{done.stderr.decode()}: tmux {words}"
        return done.stdout.decode()

    def open(
        self,
        name: str,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        unset: Iterable[str] = (),
        size: tuple[int, int] = SIZE,
    ) -> Terminal:
        """Starts a program in a new terminal."""
        written = self._folder / f"{name}.written"
        written.touch()
        program = ["env", *(word for gone in unset for word in ("-u", gone))]
        program += [f"{key}={value}" for key, value in environment.items()]
        new = ["new-session", "-d", "-s", name, "-x", str(size[0]), "-y", str(size[1])]
        self.run(
            [*new, "-c", str(folder), "--", *program, *command],
            ["pipe-pane", "-t", name, f"cat >> {written}"],
        )
        terminal = Terminal(self, name, written)
        self.terminals.append(terminal)
        return terminal

    def look(self, terminals: Sequence[Terminal]) -> None:
        """Captures the screens of several terminals at once."""
        commands: list[Sequence[str]] = []
        for terminal in terminals:
            commands.append(["capture-pane", "-p", "-t", terminal.name])
            commands.append(["display-message", "-p", self._sentinel])
        asked = time.monotonic()
        parts = self.run(*commands).split(self._sentinel + "\n")
        for terminal, text in zip(terminals, parts, strict=False):
            terminal.screen = Screen(text, asked)
            terminal.on_look(terminal.screen)

    def act(
        self,
        doing: Mapping[Terminal, Steps],
        what: str = "",
        *,
        watched: Sequence[Terminal] = (),
        patience: float = PATIENCE,
    ) -> None:
        """Lets several people act at once, each in a terminal, until all have done.

        `watched` are terminals that are looked at as well.
        """
        terminals = list(dict.fromkeys([*doing, *watched]))
        waiting = {who: next(steps) for who, steps in doing.items()}
        end = time.monotonic() + patience
        while waiting:
            self.look(terminals)
            for who, ready in list(waiting.items()):
                if not ready():
                    continue
                end = time.monotonic() + patience
                following = next(doing[who], None)
                if following is None:
                    del waiting[who]
                else:
                    waiting[who] = following
            if time.monotonic() > end:
                stuck = ", ".join(who.name for who in waiting)
                shown = "\n".join(f"--- {one.name}\n{one.screen.text}" for one in terminals)
                raise AssertionError(f"did not come ({stuck}): {what}\n{shown}")
            time.sleep(POLL)

    def end(self) -> None:
        """Ends the server, and makes sure that no program of its terminals is left."""
        pids: list[int] = []
        with contextlib.suppress(AssertionError):
            panes = self.run(["list-panes", "-a", "-F", "#{pane_pid} #{pane_dead}"])
            pids = [int(pid) for pid, dead in map(str.split, panes.splitlines()) if dead == "0"]
        with contextlib.suppress(AssertionError):
            self.run(["kill-server"])
        end = time.monotonic() + 10
        while (left := [pid for pid in pids if _alive(pid)]) and time.monotonic() < end:
            time.sleep(POLL)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)
        assert not left, "a program did not end when its terminal was closed"


def _whole(word: str) -> str:
    """A word of a tmux command: a semicolon at its end would end the command."""
    return word[:-1] + "\\;" if word.endswith(";") else word


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Where nobody waits for orphans they stay in the list of processes.
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True
