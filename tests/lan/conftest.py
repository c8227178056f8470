"""A network of one's own for each test, with hosts and guests on its machines."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "terminal"))

from bridges import Network, NotPermitted
from people import Lan
from tmux import Tmux


@pytest.fixture
def lan(tmp_path: Path) -> Iterator[Lan]:
    if os.environ.get("QE_LAN") != "1":
        pytest.skip("networks are made only by `make lan`, as root")
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, so no network was tried")
    try:
        network = Network()
    except NotPermitted as error:
        pytest.skip(f"no network was tried: {error}")
    tmux = Tmux()
    try:
        yield Lan(network, tmux, tmp_path)
    finally:
        try:
            tmux.end()
        finally:
            network.end()
