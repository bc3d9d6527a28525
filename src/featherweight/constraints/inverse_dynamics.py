"""Inverse dynamics under equality constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..core_tables import inverse_solution
from ..model.model import Model
from ..records import Record
from .compiled_sets import compiled_for
from .constraint_set import AnyConstraint, ConstraintSet
from .dynamics import activity, check_settings


@dataclass(frozen=True, eq=False)
class InverseSolution(Record):
    """Joint and constraint forces that together produce a motion. Can be pickled; compares by value.

    >>> model = fw.models.pendulum()
    >>> feet = [fw.PointConstraint("tip", rows="x")]
    >>> fw.constrained_inverse_dynamics(model, [0.0], [0.0], [0.0], feet).tau.shape
    (1,)
    """

    tau: Array  # (..., nv) joint forces, zero on the degrees of freedom without a motor
    forces: Array  # (..., n_rows), all rows in the order of the constraints
    residual: Array  # (...) largest generalised force, where there is no motor, that no constraint force explains
    converged: NDArray[np.bool_]  # (...) whether the forces are the least-squares ones to the tolerance
    constraints: ConstraintSet

    def force(self, k: int) -> Array:
        """Force of constraint number k, (..., its rows) [N, N m], in its frame.

        >>> crate, rest = fw.models.box(), np.zeros(6)
        >>> held = fw.constrained_inverse_dynamics(crate, crate.neutral(), rest, rest, [fw.PointConstraint("box")])
        >>> held.force(0).round(2) + 0.0  # carries 1 kg
        array([0.  , 0.  , 9.81])
        """
        return self.forces[..., self.constraints.slices[k]]

    def __repr__(self) -> str:
        return f"<InverseSolution: {self.forces.shape[-1]} rows, residual <= {np.max(self.residual):.1e}>"


def constrained_inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    actuated: ArrayLike | None = None,
    tolerance: float = 1e-10,
    max_iterations: int = 60,
    f_ext: ArrayLike | None = None,
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> InverseSolution:
    """Joint forces tau for the accelerations a of a constrained robot: tau + J^T f = H a + h, tau = 0 without a motor.

    q, v, a: (nq,), (nv,), (nv,), or batches of them. actuated: (nv,) of bool, which degrees of freedom have a motor; by
    default all but those of free joints. f are the constraint forces that best explain the motion where there is no
    motor, in the least-squares sense, and of these the ones of least norm; ``residual`` is what they cannot explain,
    zero where the motion is possible. If every degree of freedom has a motor nothing is left to explain: the forces are
    zero and tau is that of :func:`featherweight.rnea`.

    The accelerations are taken as given; :func:`constraint_residual` says whether the constraints allow them. Desired
    accelerations, gains and compliance play no part. tolerance: on the generalised forces, relative to 1 + the
    largest. active, f_ext: see :func:`featherweight.constrained_dynamics`.

    >>> model = fw.models.quadruped()
    >>> feet = [fw.PointConstraint(f"{leg}_foot") for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    >>> rest = np.zeros(model.nv)
    >>> stand = fw.constrained_inverse_dynamics(model, model.neutral(), rest, rest, feet)
    >>> standing = fw.constrained_dynamics(model, model.neutral(), rest, stand.tau, feet)
    >>> bool(stand.residual < 1e-9), bool(np.abs(standing.a).max() < 1e-9)
    (True, True)
    """
    check_settings("auto", tolerance, max_iterations)
    compiled = compiled_for(model, constraints)
    result = _core.constrained_inverse_dynamics(
        model, q, v, a, compiled, _unactuated(model, actuated), activity(active), f_ext,
        float(tolerance), max_iterations, num_threads,
    )  # fmt: skip
    found = inverse_solution(result, model.nv, compiled.n_rows)
    return InverseSolution(
        tau=found["tau"],
        forces=found["forces"],
        residual=found["residual"],
        converged=found["converged"] > 0.5,
        constraints=compiled,
    )


def _unactuated(model: Model, actuated: ArrayLike | None) -> list[int]:
    """The degrees of freedom without a motor."""
    if actuated is None:
        return [k for joint in model.joints if joint.type == "free" for k in range(*joint.v_slice.indices(model.nv))]
    mask = np.asarray(actuated)
    if mask.dtype != np.bool_ or mask.shape != (model.nv,):
        raise ValueError(f"actuated: expected bool of shape ({model.nv},), got {mask.dtype} of shape {mask.shape}")
    return [int(k) for k in np.flatnonzero(~mask)]
