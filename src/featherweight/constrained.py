"""Forward dynamics under equality constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from .constraints import Constraint, ConstraintSet
from .description import Array
from .model import Model

Method = Literal["auto", "limb_pv", "pv", "prox_pv", "pv_early", "ltl", "kkt"]


@dataclass(frozen=True, eq=False)
class ConstrainedSolution:
    """Accelerations and constraint forces of every sample, and how exactly they were solved for."""

    a: Array  # (..., nv) joint accelerations
    forces: Array  # (..., n_rows), all rows in the order of the constraints
    residual: Array  # (...) largest error of a row: |J a + gamma - desired|, the least possible where rows contradict
    iterations: NDArray[np.int64]  # (...) solves with the factor of the root system
    converged: NDArray[np.bool_]  # (...)
    constraints: ConstraintSet

    def force(self, k: int) -> Array:
        """Force of constraint number k, (..., its rows) [N, N m], in its frame."""
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
    constraints: Sequence[Constraint] | ConstraintSet,
    *,
    method: Method = "auto",
    tolerance: float = 1e-10,
    max_iterations: int = 60,
    f_ext: ArrayLike | None = None,
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> ConstrainedSolution:
    """Accelerations of a robot whose frames are held: H a + h = tau + J^T f, J a + gamma = desired.

    q, v, tau: (nq,), (nv,), (nv,), or batches of them. constraints: a list, or a ConstraintSet to reuse.
    method: "pv" solves the rows exactly and says so in ``converged`` if they are redundant or singular; "prox_pv", the
    default, also handles those and contradictory rows: least-squares accelerations, forces of least norm.
    "pv_early" solves the same rows as "prox_pv" with work that grows only linearly with them.
    "ltl" solves the same rows as "pv", in joint space, by the sparse factor of H.
    "kkt" solves the same rows as "prox_pv", by dense algebra: for small problems and comparisons.
    tolerance: on the rows' residual, relative to 1 + the accelerations asked for. active: (n_constraints,) or
    (batch, n_constraints), False where a constraint does not act. f_ext: see :func:`featherweight.aba`.

    >>> model = fw.models.quadruped()
    >>> feet = [fw.PointConstraint(f"{leg}_foot") for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    >>> v, tau = np.zeros(model.nv), np.zeros(model.nv)
    >>> stand = fw.constrained_dynamics(model, model.neutral(), v, tau, feet)
    >>> bool(stand.converged), stand.forces.shape
    (True, (12,))
    """
    if method not in get_args(Method):
        raise ValueError(f"method: expected one of {', '.join(get_args(Method))}, got {method!r}")
    if not np.isfinite(tolerance) or tolerance <= 0:
        raise ValueError(f"tolerance: expected a positive number, got {tolerance!r}")
    if not isinstance(max_iterations, int) or max_iterations < 2:
        raise ValueError(f"max_iterations: expected an integer of at least 2, got {max_iterations!r}")
    compiled = constraints if isinstance(constraints, ConstraintSet) else ConstraintSet(model, constraints)
    result = _core.constrained_dynamics(
        model, q, v, tau, compiled, compiled.targets, _mask(active), f_ext,
        "limb_pv" if method == "auto" else method, float(tolerance), max_iterations, num_threads,
    )  # fmt: skip
    nv, m = model.nv, compiled.n_rows
    return ConstrainedSolution(
        a=result[..., :nv],
        forces=result[..., nv : nv + m],
        residual=result[..., nv + m],
        iterations=result[..., nv + m + 1].astype(np.int64),
        converged=result[..., nv + m + 2] > 0.5,
        constraints=compiled,
    )


def _mask(active: ArrayLike | None) -> Array | None:
    if active is None:
        return None
    mask = np.asarray(active)
    if mask.dtype != np.bool_:
        raise ValueError(f"active: expected an array of bool, got dtype {mask.dtype}")
    return mask.astype(np.float64)
