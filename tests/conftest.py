"""For all tests: nothing is announced or looked for on the network that this machine is in."""

from __future__ import annotations

import os

os.environ["QE_NO_DISCOVERY"] = "1"
os.environ.pop("QE_BROKER", None)
