"""Forward dynamics under equality constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..core_tables import constrained_solution
from ..model.model import Model
from ..records import Record
from .compiled_sets import compiled_for
from .constraint_set import AnyConstraint, ConstraintSet
from .terms import row_targets

Method = Literal["auto", "limb_pv", "pv", "prox_pv", "pv_early", "constrained_aba", "pv_soft", "ltl", "kkt"]
_METHODS = get_args(Method)


@dataclass(frozen=True, eq=False)
class ConstrainedSolution(Record):
    """Accelerations and constraint forces of every sample, and how accurately they were solved.

    Can be pickled; compares by value.

    >>> model = fw.models.pendulum()
    >>> solution = fw.constrained_dynamics(model, [0.3], [0.0], [0.0], [fw.PointConstraint("tip", rows="x")])
    >>> solution.a.round(6) + 0.0, bool(solution.converged)
    (array([0.]), True)
    """

    a: Array  # (..., nv) joint accelerations
    forces: Array  # (..., n_rows), all rows in the order of the constraints
    residual: Array  # (...) largest error of a row: |J a + gamma - desired|, the least possible where rows contradict
    iterations: NDArray[np.int64]  # (...) solves with one factorisation, of the root system or of the tree
    converged: NDArray[np.bool_]  # (...)
    constraints: ConstraintSet

    def force(self, k: int) -> Array:
        """Force of constraint number k, (..., its rows) [N, N m], in its frame.

        >>> model = fw.models.quadruped()
        >>> held, rest = [fw.PointConstraint("trunk")], np.zeros(model.nv)
        >>> solution = fw.constrained_dynamics(model, model.neutral(), rest, rest, held)
        >>> solution.force(0).shape
        (3,)
        """
        return self.forces[..., self.constraints.slices[k]]

    def __repr__(self) -> str:
        return (
            f"<ConstrainedSolution: {self.forces.shape[-1]} rows, residual <= {np.max(self.residual):.1e}, "
            f"{np.mean(self.converged):.0%} converged>"
        )


def constrained_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    method: Method = "auto",
    tolerance: float = 1e-10,
    max_iterations: int = 60,
    f_ext: ArrayLike | None = None,
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> ConstrainedSolution:
    """Accelerations of a robot with anchored frames: H a + h = tau + J^T f, J a + gamma = desired.

    q, v, tau: (nq,), (nv,), (nv,), or batches of them. constraints: a list, or a ConstraintSet to reuse.
    method:
      "auto"             "limb_pv", or "pv_early" where rows or limbs are too many for it
      "limb_pv"          any rows, exact; O(n + m) where limbs can move all their rows
      "pv"               independent rows, O(n + m^2 d + m^3); ``converged`` is False where they are not
      "prox_pv"          any rows, at the same cost: least-squares accelerations, forces of least norm
      "pv_early"         any rows, O(n + m) whatever they are: solved for on the way to the root
      "constrained_aba"  any rows to seven digits or more, O(n + m) per iteration, ``max_iterations`` of them at most
      "pv_soft"          rows that all have compliance, one sweep of O(n + m)
      "ltl"              independent rows in joint space, by the sparse factor of H
      "kkt"              any rows by dense algebra: for small problems and comparisons
    tolerance: on the rows' residual, relative to 1 + the accelerations asked for. active: (n_constraints,) or
    (batch, n_constraints), False where a constraint does not act. f_ext: see :func:`featherweight.aba`.

    A constraint's gains add feedback to the acceleration it desires: - stiffness * position error - damping * J v.

    >>> model = fw.models.quadruped()
    >>> feet = [fw.PointConstraint(f"{leg}_foot") for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    >>> v, tau = np.zeros(model.nv), np.zeros(model.nv)
    >>> stand = fw.constrained_dynamics(model, model.neutral(), v, tau, feet)
    >>> bool(stand.converged), stand.forces.shape
    (True, (12,))
    """
    check_settings(method, tolerance, max_iterations)
    compiled = compiled_for(model, constraints)
    check_method(method, compiled)
    result = _core.constrained_dynamics(
        model, q, v, tau, compiled, row_targets(model, q, v, compiled, num_threads), activity(active), f_ext,
        resolved(method, compiled), float(tolerance), max_iterations, num_threads,
    )  # fmt: skip
    a, forces, residual, iterations, converged = constrained_solution(result, model.nv, compiled.n_rows)
    return ConstrainedSolution._of(
        a=a,
        forces=forces,
        residual=residual,
        iterations=iterations.astype(np.int64),
        converged=converged.astype(np.bool_),
        constraints=compiled,
    )


def check_settings(method: str, tolerance: float, max_iterations: int) -> None:
    if method not in _METHODS:
        raise ValueError(f"method: expected one of {', '.join(_METHODS)}, got {method!r}")
    if not (isinstance(tolerance, float) and 0.0 < tolerance < inf) and (not np.isfinite(tolerance) or tolerance <= 0):
        raise ValueError(f"tolerance: expected a positive number, got {tolerance!r}")
    if not isinstance(max_iterations, int) or max_iterations < 1:
        raise ValueError(f"max_iterations: expected a positive integer, got {max_iterations!r}")


#: Above this many rows the cubic cost of the root exceeds that of solving for forces on the way (binary trees anchored
#: at their leaves: equal at 64 rows); of more limbs than this inside the tree, some are singular in most postures.
MOST_ROWS_AT_ROOT, MOST_LIMBS_INSIDE = 48, 32


def resolved(method: Method, constraints: ConstraintSet) -> Method:
    """The method that "auto" stands for."""
    if method != "auto":
        return method
    suits = constraints.rows_at_root <= MOST_ROWS_AT_ROOT and constraints.limbs_inside <= MOST_LIMBS_INSIDE
    return "limb_pv" if suits else "pv_early"


def check_method(method: Method, constraints: ConstraintSet) -> None:
    """Checks that the method can solve such rows."""
    if method != "pv_soft":
        return
    for k, constraint in enumerate(constraints.constraints):
        if np.min(constraint.compliance) <= 0:
            raise ValueError(
                f"constraint {k} on {constraint.what}: method 'pv_soft' needs compliance > 0 in every row, "
                f"got {constraint.compliance!r}; for rigid rows use 'constrained_aba' or 'prox_pv'"
            )


def activity(active: ArrayLike | None) -> Array | None:
    """The mask of active constraints as the core takes it, 1 or 0."""
    if active is None:
        return None
    mask = np.asarray(active)
    if mask.dtype != np.bool_:
        raise ValueError(f"active: expected an array of bool, got dtype {mask.dtype}")
    return mask.astype(np.float64)
