"""What a soak stands on: the lines and gauges of tests/faults, the hosts of tests/whole."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "whole"))
sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
sys.path.insert(0, str(Path(__file__).parent))
