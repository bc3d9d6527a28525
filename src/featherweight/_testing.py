"""Parts of the core by themselves, for tests and benchmarks only."""

import sys

from . import _core

sys.modules[__name__] = _core._testing
