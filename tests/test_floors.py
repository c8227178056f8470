"""Each floor imports only downward, and a host needs no screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

BLOCKED = ("textual", "rich", "qe_tui")

WITHOUT_A_SCREEN = """
import importlib, importlib.abc, pkgutil, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"{{name}} is blocked here", name=name)

sys.meta_path.insert(0, Blocked())
for name in {blocked!r}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        pass
    else:
        raise SystemExit(f"{{name}} is not blocked at all")

loaded = 0
for floor in ("protocol", "server"):
    package = importlib.import_module(floor)
    for module in pkgutil.walk_packages(package.__path__, floor + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            loaded += 1
assert loaded > 30, loaded

import asyncio, pathlib, tempfile
from protocol import messages as m
from protocol.client import connect
from server.host import Host, Settings

async def play():
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Settings(data=pathlib.Path(folder), name="x", bind="127.0.0.1", port=0,
                             bot_delay=0))
        await host.start()
        client = await connect(*host.addresses[0], fingerprint=host.fingerprint)
        await client.ask(m.Create(game="qe", seats=3, title="", name="Ana"))
        for _ in range(2):
            await client.ask(m.AddBot())
        await client.ask(m.Start())
        while True:
            view = await client.next()
            if isinstance(view, m.View) and view.game is not None:
                break
        await client.close()
        await host.stop()
        return view.game["phase"]

print(asyncio.run(play()))
print(sorted(name for name in sys.modules if name.partition(".")[0] in {blocked!r}))
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


def test_a_game_can_be_started_where_there_is_no_textual(tmp_path: Path) -> None:
    script = tmp_path / "without.py"
    script.write_text(WITHOUT_A_SCREEN.format(blocked=BLOCKED))
    result = run(sys.executable, str(script))
    assert result.returncode == 0, result.stderr
    phase, loaded = result.stdout.splitlines()
    assert phase in {"opening", "secret", "rebid"}
    assert loaded == "[]"


def test_the_pure_games_load_without_what_a_table_needs(tmp_path: Path) -> None:
    blocked = (*BLOCKED, "asyncio", "sqlite3", "ssl", "socket", "click")
    script = tmp_path / "pure.py"
    script.write_text(
        "import importlib.abc, sys\n"
        "class Blocked(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {blocked!r}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
        "from server.games.qe import QE\n"
        "from server.games.qe.bots import choose\n"
        "import server.games.registry\n"
        "state = QE.new(4, 0, QE.rules({}), 'x', 1, QE.rules_version)\n"
        "print(QE.public(state).phase)\n"
    )
    result = run(sys.executable, str(script))
    assert (result.stdout, result.stderr) == ("opening\n", "")


def test_the_contracts_between_the_floors_are_kept() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    result = run(str(lint), "--no-cache")
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout
