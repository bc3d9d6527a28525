"""The folders of the core are the path of the data: a file includes only what lies before it."""

import re
from pathlib import Path

CORE = Path(__file__).parents[2] / "core"

# Files of a layer may include their own layer and the ones named here.
MAY_INCLUDE = {
    "lanes": set[str](),
    "spatial": {"lanes"},
    "model": {"lanes", "spatial", "dynamics/aba.hpp"},  # singular.cpp asks the dynamics whether a model makes sense
    "kinematics": {"lanes", "spatial", "model", "batch/arena.hpp", "batch/kernels.hpp", "batch/lane_io.hpp"},
    "dynamics": {
        "lanes",
        "spatial",
        "model",
        "kinematics",
        "batch/arena.hpp",
        "batch/kernels.hpp",
        "batch/lane_io.hpp",
    },
    # a set of constraints asks the dynamics what its rows are like
    "constraints": {"lanes", "spatial", "model", "constrained/limb_plan.hpp", "constrained/mobility.hpp"},
    "constrained": {
        "lanes",
        "spatial",
        "model",
        "constraints",
        "kinematics",
        "dynamics",
        "batch/arena.hpp",
        "batch/kernels.hpp",
        "batch/lane_io.hpp",
    },
    "contact": {"lanes"},
    "delassus": {
        "lanes",
        "spatial",
        "model",
        "constraints",
        "constrained",
        "kinematics",
        "dynamics",
        "batch/arena.hpp",
        "batch/kernels.hpp",
        "batch/lane_io.hpp",
    },
    "collision": set[str](),
    "simulation": {
        "lanes",
        "spatial",
        "model",
        "kinematics",
        "dynamics",
        "collision",
        "contact",
        "batch/arena.hpp",
        "batch/denormals.hpp",
        "batch/dispatch.hpp",
        "batch/job.hpp",
        "batch/lane_io.hpp",
        "batch/run.hpp",
        "batch/thread_pool.hpp",
    },
    "batch": {"lanes", "spatial", "model", "constraints"},
}


def test_includes_point_one_way() -> None:
    wrong = []
    for path in sorted(CORE.rglob("*.[ch]pp")):
        layer = path.parent.name
        for included in re.findall(r'#include "([^"]+)"', path.read_text()):
            if included.split("/")[0] != layer and not {included, included.split("/")[0]} & MAY_INCLUDE[layer]:
                wrong.append(f"{path.relative_to(CORE)} includes {included}")
    assert not wrong


def test_kernels_use_no_standard_library_code() -> None:
    """Templates of std:: with external linkage would be merged across instruction sets."""
    allowed = {"cstddef", "cstdint"}
    kernel_headers = [p for p in CORE.rglob("*.hpp") if "FW_ISA" in p.read_text()]
    assert kernel_headers
    for path in kernel_headers:
        assert set(re.findall(r"#include <([^>]+)>", path.read_text())) <= allowed, path
