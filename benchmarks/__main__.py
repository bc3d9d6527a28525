"""``python -m benchmarks``: as ``featherweight bench``."""

from __future__ import annotations

import sys

from benchmarks.main import main

sys.exit(main())
