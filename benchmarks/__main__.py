"""``python -m benchmarks``: as ``featherweight bench``, with Pinocchio's C++ beside (``--build-peers`` builds it)."""

from __future__ import annotations

import sys

from benchmarks.peers import pinocchio_cpp
from featherweight.bench import main

sys.exit(main(peers=pinocchio_cpp))
