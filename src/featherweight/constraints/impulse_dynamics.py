"""Impacts: the velocity jump that constraints cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..core_tables import constrained_solution
from ..model.model import Model
from ..records import Record
from .compiled_sets import compiled_for
from .constraint_set import AnyConstraint, ConstraintSet
from .dynamics import Method, activity, check_method, check_settings, resolved


@dataclass(frozen=True, eq=False)
class ImpulseSolution(Record):
    """Velocities after an impact, the impulses that cause them, and how accurately they were solved.

    Can be pickled; compares by value.

    >>> model = fw.models.pendulum()
    >>> hit = fw.impulse_dynamics(model, [0.5], [-2.0], [fw.PointConstraint("tip", rows="x")])
    >>> hit.v.round(6) + 0.0
    array([0.])
    """

    v: Array  # (..., nv) velocities after the impact
    impulses: Array  # (..., n_rows) [N s, N m s], all rows in the order of the constraints
    residual: Array  # (...) largest error of a row's velocity, the least possible where rows contradict
    iterations: NDArray[np.int64]  # (...) solves with the factor of the root system
    converged: NDArray[np.bool_]  # (...)
    constraints: ConstraintSet

    def impulse(self, k: int) -> Array:
        """Impulse of constraint number k, (..., its rows) [N s, N m s], in its frame.

        >>> ball, falling = fw.models.box(), np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
        >>> landed = fw.impulse_dynamics(ball, ball.neutral(), falling, [fw.PointConstraint("box")])
        >>> landed.impulse(0).round(3) + 0.0  # 1 kg is stopped
        array([0., 0., 1.])
        """
        return self.impulses[..., self.constraints.slices[k]]

    def __repr__(self) -> str:
        return (
            f"<ImpulseSolution: {self.impulses.shape[-1]} rows, residual <= {np.max(self.residual):.1e}, "
            f"{np.mean(self.converged):.0%} converged>"
        )


def impulse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    restitution: ArrayLike = 0.0,
    method: Method = "auto",
    tolerance: float = 1e-10,
    max_iterations: int = 60,
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> ImpulseSolution:
    """Velocities after all constraints strike at once: H (v+ - v) = J^T impulses, J v+ = -restitution J v.

    q, v: (nq,), (nv,), or batches of them; v is the velocity before. restitution: from 0, the rows come to rest, to 1,
    their velocity is reversed; one number, or one per constraint (n_constraints,). Every row of a constraint strikes,
    tangential ones too: for a frictionless impact constrain the normal only. A row's compliance lets it keep some
    velocity, J v+ + R impulse = -restitution J v; accelerations, positions and gains play no part.
    method, tolerance, max_iterations, active: see :func:`featherweight.constrained_dynamics`.

    >>> model = fw.models.quadruped()
    >>> feet = [fw.PointConstraint(f"{leg}_foot") for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    >>> falling = np.zeros(model.nv)
    >>> falling[2] = -1.0
    >>> landed = fw.impulse_dynamics(model, model.neutral(), falling, feet)
    >>> bool(np.abs(fw.constraint_velocity(model, model.neutral(), landed.v, feet)).max() < 1e-12)
    True
    """
    check_settings(method, tolerance, max_iterations)
    compiled = compiled_for(model, constraints)
    check_method(method, compiled)
    e = per_row(restitution, compiled)
    before = _core.constraint_velocity(model, q, v, compiled, num_threads)
    result = _core.impulse_dynamics(
        model, q, compiled, -(1.0 + e) * before, activity(active),
        resolved(method, compiled), float(tolerance), max_iterations, num_threads,
    )  # fmt: skip
    jump, impulses, residual, iterations, converged = constrained_solution(result, model.nv, compiled.n_rows)
    return ImpulseSolution(
        v=np.asarray(v, dtype=np.float64) + jump,
        impulses=impulses,
        residual=residual,
        iterations=iterations.astype(np.int64),
        converged=converged.astype(np.bool_),
        constraints=compiled,
    )


def per_row(restitution: ArrayLike, constraints: ConstraintSet) -> Array:
    """The restitution of every row, (n_rows,), checked."""
    n = constraints.n_constraints
    try:
        e = np.asarray(restitution, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"restitution: expected a number or {n} of them, got {restitution!r}") from None
    if e.shape not in ((), (n,)):
        raise ValueError(f"restitution: expected a number or one per constraint ({n},), got shape {e.shape}")
    if not ((e >= 0) & (e <= 1)).all():
        raise ValueError(f"restitution: expected numbers from 0 to 1, got {restitution!r}")
    rows = [part.stop - part.start for part in constraints.slices]
    return np.repeat(np.broadcast_to(e, n), rows)
