"""A host to be killed. The players and the proxy are those of tests/faults."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "whole"))
sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from hosting import run_host

__all__ = ["run_host"]
