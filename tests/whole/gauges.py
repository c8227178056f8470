"""What a process weighs, read from outside, and whether it grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

MEGABYTE = 1_048_576


def memory(pid: int) -> int:
    """Resident bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid: int) -> int:
    """Open file descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """How much a value grows in a second: the line that fits best.

    >>> slope([(0, 5), (1, 7), (2, 9)])
    2.0
    """
    middle = sum(at for at, _ in samples) / len(samples)
    mean = sum(value for _, value in samples) / len(samples)
    spread = sum((at - middle) ** 2 for at, _ in samples)
    return sum((at - middle) * (value - mean) for at, value in samples) / spread


def quantile(values: Sequence[float], share: float) -> float:
    """
    >>> quantile([4, 1, 3, 2], 0.5)
    3
    """
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def milliseconds(seconds: Sequence[float]) -> str:
    """The middle, the slowest hundredth and the slowest of some times, to be read.

    >>> milliseconds([0.001, 0.002, 0.003])
    'p50 2.0 ms, p99 3.0 ms, max 3.0 ms'
    """
    p50, p99, most = (1000 * quantile(seconds, share) for share in (0.5, 0.99, 1.0))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {most:.1f} ms"
