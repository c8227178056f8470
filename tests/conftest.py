"""For all tests: nothing is announced or looked for on the network that this machine is in, and
what takes long is left to `make long`."""

from __future__ import annotations

import os

import pytest

os.environ["QE_NO_DISCOVERY"] = "1"
os.environ.pop("QE_BROKER", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("QE_LONG"):
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="takes long: make long"))
