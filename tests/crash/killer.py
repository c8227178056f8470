"""Kills a process as soon as a file has changed: `killer.py PID FILE MICROSECONDS`.

A program of its own, with nothing imported, since what it waits for is over within fractions of
a millisecond. It waits that many microseconds after the change, and prints whether there was one.
"""

import os
import signal
import sys
import time

LONGEST = 3.0


def _state(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def main(pid: int, path: str, wait: int) -> None:
    before, end = _state(path), time.monotonic() + LONGEST
    while (changed := _state(path) != before) is False and time.monotonic() < end:
        pass
    until = time.perf_counter_ns() + 1000 * wait
    while time.perf_counter_ns() < until:
        pass
    os.kill(pid, signal.SIGKILL)
    print("changed" if changed else "nothing changed")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
