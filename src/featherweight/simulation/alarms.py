"""What users are told without asking: environments that failed, and starts that rigid bodies cannot have."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..core_tables import ContactTable, StepReports
from ..errors import SimulationWarning
from ..scene.compiled import LimitTable

if TYPE_CHECKING:
    from .simulator import Simulator

#: A start may be off by so much [m, rad] before it is worth a word: overlaps of shapes, limits of joints.
WORTH_A_WORD = 1e-3


def limit_violations(limits: LimitTable, q: Array) -> Array:
    """By how much coordinates (..., nq) are beyond their limits, (..., rows of the table) [rad] or [m]."""
    at = q[..., limits.q_index]
    return np.asarray(np.maximum(np.maximum(limits.lower - at, at - limits.upper), 0.0))


class Alarms:
    """What the user of one simulator has been told of its starts: each kind of trouble once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    @property
    def over(self) -> bool:
        return len(self._told) == 2

    def look(
        self,
        simulator: Simulator,
        start: Array,
        environments: NDArray[np.bool_],
        penetration: Array,
        first_step: Callable[[], _core.Environments],
    ) -> None:
        """Judges where some environments start (batch, nq).

        penetration: (batch,) of the first step from there; first_step: after it, asked for where that is too deep.
        """
        if "limits" not in self._told:
            self._look_at_limits(simulator, start, environments)
        if "overlaps" not in self._told and (environments & (penetration > WORTH_A_WORD)).any():
            self._name_overlap(simulator, environments, ContactTable.of(first_step()))

    def _look_at_limits(self, simulator: Simulator, start: Array, environments: NDArray[np.bool_]) -> None:
        limits = simulator.scene.limits
        if not len(limits.q_index):
            return
        beyond = limit_violations(limits, start)
        if not beyond.max() > WORTH_A_WORD:
            return
        beyond = np.where(environments[:, None], beyond, 0.0)
        k, row = np.unravel_index(np.argmax(beyond), beyond.shape)
        if beyond[k, row] > WORTH_A_WORD:
            self._told.add("limits")
            joint = _joint_of(simulator, int(limits.v_index[row]))
            unit = "m" if "prismatic" in simulator.model.joint(joint).type else "rad"
            _warn(
                f"environment {k} starts with joint {joint!r} {beyond[k, row]:.3g} {unit} beyond its limit; "
                f"steps bring it back"
            )

    def _name_overlap(self, simulator: Simulator, environments: NDArray[np.bool_], table: ContactTable) -> None:
        at = np.repeat(np.arange(len(table.counts)), table.counts)
        depth = np.where(environments[at], -table.numbers("gap"), 0.0)
        k = int(np.argmax(depth))
        self._told.add("overlaps")
        names = [simulator.scene.shapes[int(table.integers(side)[k])].name for side in ("shape_a", "shape_b")]
        _warn(
            f"environment {at[k]} starts with {names[0]!r} {1e3 * depth[k]:.3g} mm inside {names[1]!r}; "
            "the following steps separate them. sim.overlaps(state) lists all overlaps"
        )


def failures_of(core: _core.Environments) -> NDArray[np.bool_] | None:
    """(batch,) environments that have failed; None: none."""
    return StepReports.of(core).failed if core.any_failed else None


def tell_failures(
    simulator: Simulator, before: NDArray[np.bool_] | None, core: _core.Environments, time: float
) -> None:
    """Names the first of the environments that failed in a call that began at ``time``, and how many did.

    before: those that had failed before it.
    """
    failed = failures_of(core)
    if failed is None:
        return
    after = StepReports.of(core)
    new = np.flatnonzero(failed if before is None else failed & ~before)
    if not len(new):
        return
    dof, step = after.failure(int(new[0]))
    others = f", and {len(new) - 1} others in the same call" if len(new) > 1 else ""
    _warn(
        f"environment {new[0]} failed at t={time + step * simulator.dt:.6g} s, joint {_joint_of(simulator, dof)!r} "
        f"first{others}: velocities beyond 1e9 m/s or rad/s, or no numbers any more. It stays where it was "
        "(state.failed); state.reset starts it again"
    )


def _joint_of(simulator: Simulator, dof: int) -> str:
    return next(joint.name for joint in simulator.model.joints if joint.v_slice.start <= dof < joint.v_slice.stop)


def _warn(message: str) -> None:
    """At the line outside this package that called into it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("featherweight."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, SimulationWarning, stacklevel=level)
