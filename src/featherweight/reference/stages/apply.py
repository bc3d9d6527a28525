"""Stage 4, apply: the velocities that impulses lead to."""

from __future__ import annotations

from featherweight.arrays import Array
from featherweight.reference.stages.assemble import StepProblem
from featherweight.reference.stages.predict import FreeMotion


def apply(free: FreeMotion, problem: StepProblem, impulses: Array) -> Array:
    """(nv,) v_free + H^-1 J^T lambda, in the axes at the start of the step."""
    v: Array = free.v_free + free.response(problem.J) @ impulses
    return v
