"""A host and whoever looks for it, as programs, on a network that is this test's alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from protocol.invitation import parse

NETWORK = """
set -e
ip link set lo up
ip link add one type veth peer name two
ip addr add 10.97.0.1/24 dev one
ip addr add 10.98.0.1/24 dev two
ip link set one up
ip link set two up
"$PYTHON" -m server --data "$FOLDER/host" --players 3 --name "Bo's den.local" > "$FOLDER/said" &
host=$!
trap 'kill -9 $host 2>/dev/null || true' EXIT
for _ in $(seq 300); do grep -q '^say aloud' "$FOLDER/said" && break; sleep 0.1; done
for _ in 1 2 3 4; do
    "$PYTHON" -m qe_tui tables --json --wait 2 > "$FOLDER/tables"
    grep -q invitation "$FOLDER/tables" && break
done
kill $host
wait $host
cat "$FOLDER/tables"
"""
"""Two interfaces of one machine, tied together: all that is announced is heard twice."""


def may_make_networks() -> bool:
    tools = shutil.which("unshare") and shutil.which("ip")
    if not tools or sys.platform != "linux" or os.geteuid() != 0:
        return False
    tried = subprocess.run(
        ["unshare", "-n", "ip", "link", "add", "one", "type", "veth", "peer", "name", "two"],
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0


@pytest.mark.skipif(
    not may_make_networks(), reason="a network of its own needs root, unshare and ip with veth"
)
def test_a_host_on_two_interfaces_is_found_once(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHON": sys.executable, "FOLDER": str(tmp_path),
                   "QE_HOME": str(tmp_path / "home")}  # fmt: skip
    del environment["QE_NO_DISCOVERY"]
    done = subprocess.run(
        ["unshare", "-n", "bash", "-c", NETWORK],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = dict(line.rsplit(maxsplit=1) for line in (tmp_path / "said").read_text().splitlines())
    (table,) = json.loads(done.stdout)
    assert table["host"] == "Bo's den.local"
    assert table["fp"] == said["certificate"]
    assert table["address"] in ("10.97.0.1", "10.98.0.1")
    assert parse(table["invitation"]).table == parse(said["invitation"]).table == table["table"]
    assert done.stderr == ""
