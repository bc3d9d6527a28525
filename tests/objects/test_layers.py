"""The folders of the core are the path of the data: a file includes only what lies before it."""

import re
from pathlib import Path

CORE = Path(__file__).parents[2] / "core"

# From what knows nothing to what knows all: a file includes its own folder and those before it.
LAYERS = (
    "lanes",
    "memory",
    "spatial",
    "linalg",
    "model",
    "runtime",
    "control",
    "kinematics",
    "dynamics",
    "rows",
    "articulated",
    "delassus",
    "constrained",
    "collision",
    "cones",
    "scene",
    "step",
    "step_diff",
    "forces",
)


def test_includes_point_one_way() -> None:
    assert sorted(LAYERS) == sorted(path.name for path in CORE.iterdir())
    wrong = []
    for path in sorted(CORE.rglob("*.[ch]pp")):
        known = LAYERS[: LAYERS.index(path.parent.name) + 1]
        for included in re.findall(r'#include "([^"]+)"', path.read_text()):
            if included.split("/")[0] not in known:
                wrong.append(f"{path.relative_to(CORE)} includes {included}")
    assert not wrong


def test_kernels_use_no_standard_library_code() -> None:
    """Templates of std:: with external linkage would be merged across instruction sets."""
    allowed = {"cstddef", "cstdint"}
    kernel_headers = [p for p in CORE.rglob("*.hpp") if "FW_ISA" in p.read_text()]
    assert kernel_headers
    for path in kernel_headers:
        assert set(re.findall(r"#include <([^>]+)>", path.read_text())) <= allowed, path
