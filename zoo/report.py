"""The table, what was expected of it, and the page of the documentation."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .mjcf import Result

EXPECTED = Path(__file__).parent / "expected.json"
PAGE = Path(__file__).parents[1] / "docs" / "zoo.md"
#: Columns that must not get worse.
KEPT = ("loads", "strict", "dynamics", "actuators", "pairs", "stands", "converges")

#: What differs between files that are not strict for the same reason.
_NUMBERS = re.compile(r" \(.*?\)| '.*?'|(?<=limit )-?\d+|: .*")

_INTRODUCTION = """# The zoo

Robots of packages on the Python index, loaded and compared with MuJoCo (MJCF) and Pinocchio (URDF) by `make zoo`,
which fails if anything that held before no longer does. This page is made by it. `make zoo ZOO="--also
mujoco_menagerie"` looks at the robots of another folder as well.

- **strict**: the file loads with `strict=True`, so the motion is the file's.
- **dynamics**: mass matrix and bias forces are the peer's, to a relative 1e-7 (MuJoCo's meshes are single precision).
- **actuators**: joint forces of all actuators are MuJoCo's for random states and controls.
- **pairs**: the shapes that may touch are MuJoCo's.
- **stands**: after a second from the file's own posture, its first keyframe if it has one, with its own actuators,
  bases are within 2 cm of MuJoCo's, and joints of robots on a fixed base within 0.01 rad. Judged where MuJoCo stands.
  URDF and SDF files have no actuators: springs and dampers hold the joints in the first posture of the SRDF file
  beside them, as far as efforts allow, and robots that it sets on the ground stand on their own feet. MuJoCo plays
  what `fw.to_mjcf` writes.
- **converges**: of the steps of that second, at most one in a thousand misses its tolerance, standing or falling.
  Fetch starts with its arm straight and its torso 4 cm below its limit, while a weld holds its hand: an arm that is
  straight cannot reach farther, and dampers of 1e11 hold the base. The weld holds, and the torso stays below its
  limit. The posture of cassie_v2 leaves its loops open, which eleven steps close.

A link of romeo_laas_small has an inertia with a negative moment, with which nothing can be computed: the nearest one
is taken.
"""


def summary(results: Sequence[Result]) -> str:
    """How many of each package do what."""
    packages = sorted({result.robot.partition("/")[0] for result in results})
    rows: list[tuple[str, ...]] = [("package", "robots", *KEPT)]
    for package in (*packages, "all"):
        own = [r for r in results if package == "all" or r.robot.startswith(f"{package}/")]
        rows.append((package, str(len(own)), *(_share([getattr(r, column) for r in own]) for column in KEPT)))
    return _table(rows)


def _share(values: Sequence[bool | None]) -> str:
    judged = [value for value in values if value is not None]
    return f"{sum(judged)} of {len(judged)}" if judged else "-"


def table(results: Sequence[Result]) -> str:
    """Every robot."""
    marks = {True: "yes", False: "**no**", None: ""}
    rows: list[tuple[str, ...]] = [("robot", "dofs", *KEPT, "why not")]
    for result in results:
        why = "; ".join(filter(None, (result.reason, result.detail))).replace("|", "/")
        rows.append((result.robot, str(result.dofs), *(marks[getattr(result, column)] for column in KEPT), why))
    return _table(rows)


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    head, *rest = rows
    lines = [f"| {' | '.join(row)} |" for row in (head, tuple("---" for _ in head), *rest)]
    return "\n".join(lines)


def regressions(results: Sequence[Result]) -> list[str]:
    """What held when the expectation was written, and does not now."""
    known = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    found = []
    for result in results:
        before = known.get(result.robot, {})
        worse = [column for column in KEPT if before.get(column) is True and getattr(result, column) is not True]
        if worse:
            why = "; ".join(filter(None, (result.reason, result.detail)))
            found.append(f"{result.robot}: no longer {', '.join(worse)} ({why})")
    return found


def update(results: Sequence[Result]) -> None:
    """Expect what was found, and show it."""
    kept = {result.robot: {column: asdict(result)[column] for column in KEPT} for result in results}
    EXPECTED.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    reasons = Counter(_NUMBERS.sub("", result.reason) for result in results if result.reason)
    rows = [(k, str(n)) for k, n in reasons.most_common()]
    why = (
        _table([("first reason for which a file is not strict", "robots"), *rows]) if rows else "All files are strict."
    )
    parts = [_INTRODUCTION, summary(results), "## What is missing", why, "## Robots", table(results)]
    PAGE.write_text("\n\n".join(part.strip() for part in parts) + "\n")
