"""A real host behind a proxy that spoils things."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "whole"))
sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from hosting import HostProcess


@pytest.fixture
def run_host(tmp_path: Path) -> Iterator[Callable[..., HostProcess]]:
    """Starts hosts, each with a data folder of its own, and ends them."""
    started: list[HostProcess] = []

    def run(**settings: Any) -> HostProcess:
        host = HostProcess(data=tmp_path / f"host-{len(started)}", **settings)
        started.append(host)
        host.start()
        return host

    yield run
    for host in started:
        host.kill()
