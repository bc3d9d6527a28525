"""Instruction sets to compute with: those of this build that this CPU runs, best first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import featherweight as fw
from featherweight import _testing

#: All that a build for this architecture may have; "counting" counts operations and is none of them.
KNOWN = ("x86-64-v4", "x86-64-v3", "baseline", "scalar")
AVAILABLE = [isa for isa in fw.build_info()["available_isas"] if isa != "counting"]
#: What the others are compared with: plain numbers where the build has them.
PLAINEST = AVAILABLE[-1]


def missing(isa: str) -> str:
    """Why ``isa`` cannot be used here, nothing if it can."""
    return "" if isa in AVAILABLE else f"this build has, of the instruction sets that the CPU runs, {AVAILABLE} only"


@contextmanager
def instruction_set(isa: str) -> Iterator[None]:
    """Compute with it for a while."""
    active = fw.build_info()["isa"]
    _testing.use_isa(isa)
    try:
        yield
    finally:
        _testing.use_isa(active)
