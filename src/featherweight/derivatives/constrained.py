"""Derivatives of dynamics under constraints, and of impacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..constraints.compiled_sets import compiled_for
from ..constraints.constraint_set import (
    ROWS,
    AnyConstraint,
    Constraint,
    ConstraintSet,
    FrameConstraint,
    PointConstraint,
)
from ..constraints.dynamics import ConstrainedSolution, Method, activity, constrained_dynamics
from ..constraints.impulse_dynamics import impulse_dynamics, per_row
from ..constraints.terms import constraint_residual
from ..core_tables import Layout
from ..kinematics.logarithms import log3
from ..model.model import Model
from ..records import Record
from .closed import CONTRADICTING, closed_derivatives, closed_impact_derivatives
from .row_changes import inverse_right_jacobian, is_anchored, turns


@dataclass(frozen=True, eq=False)
class ConstrainedDerivatives(Record):
    """Accelerations and constraint forces, with their derivatives: row i of a matrix is that of a[i] or forces[i].

    Where rows depend on each other, the forces are those of least norm, and so are their derivatives; where they
    contradict each other, both are by least squares. Can be pickled; compares by value.

    >>> model = fw.models.quadruped()
    >>> feet = [fw.PointConstraint("front_left_foot"), fw.PointConstraint("hind_right_foot")]
    >>> rest = np.zeros(model.nv)
    >>> d = fw.constrained_dynamics_derivatives(model, model.neutral(), rest, rest, feet)
    >>> d.a_dtau.shape, d.forces_dq.shape
    ((18, 18), (6, 18))
    """

    a: Array  # (..., nv) as of constrained_dynamics
    forces: Array  # (..., n_rows)
    a_dq: Array  # (..., nv, nv) by the configuration, in its tangent space
    a_dv: Array  # (..., nv, nv) by the velocity
    a_dtau: Array  # (..., nv, nv) by the joint forces
    forces_dq: Array  # (..., n_rows, nv)
    forces_dv: Array  # (..., n_rows, nv)
    forces_dtau: Array  # (..., n_rows, nv)


@dataclass(frozen=True, eq=False)
class ImpulseDerivatives(Record):
    """Velocities after an impact and the impulses, with their derivatives. Can be pickled; compares by value.

    >>> model = fw.models.quadruped()
    >>> falling = np.zeros(model.nv)
    >>> falling[2] = -1.0  # [m/s]
    >>> d = fw.impulse_dynamics_derivatives(model, model.neutral(), falling, [fw.PointConstraint("front_left_foot")])
    >>> d.v_dv.shape, d.impulses_dv.shape
    ((18, 18), (3, 18))
    """

    v: Array  # (..., nv) after the impact, as of impulse_dynamics
    impulses: Array  # (..., n_rows)
    v_dq: Array  # (..., nv, nv) by the configuration, in its tangent space
    v_dv: Array  # (..., nv, nv) by the velocity before
    impulses_dq: Array  # (..., n_rows, nv)
    impulses_dv: Array  # (..., n_rows, nv)


def constrained_dynamics_derivatives(
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
) -> ConstrainedDerivatives:
    """Constrained forward dynamics and its derivatives by q, v and tau, exact.

    The arguments are those of :func:`featherweight.constrained_dynamics`, which is solved first. Feedback of the
    constraints, stiffness and damping, is differentiated too. Sets with loops, rods or couplings, and samples whose
    rows contradict each other, are solved by dense algebra.

    >>> model = fw.models.quadruped()
    >>> feet = [fw.PointConstraint(f"{leg}_foot") for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    >>> v, tau = np.full(model.nv, 0.1), np.zeros(model.nv)
    >>> d = fw.constrained_dynamics_derivatives(model, model.neutral(), v, tau, feet)
    >>> pushed = fw.constrained_dynamics(model, model.neutral(), v, tau + 1e-3, feet)
    >>> bool(np.allclose(pushed.forces - d.forces, d.forces_dtau @ np.full(model.nv, 1e-3), atol=1e-8))
    True
    """
    compiled = compiled_for(model, constraints)
    found = constrained_dynamics(
        model, q, v, tau, compiled, method=method, tolerance=tolerance, max_iterations=max_iterations, f_ext=f_ext,
        active=active, num_threads=num_threads,
    )  # fmt: skip
    if not all(is_anchored(each) for each in compiled.constraints):
        return _closed(model, q, v, compiled, found, f_ext, active, num_threads)
    inputs = _row_inputs(found.forces, compiled.damping, _stiffness(model, q, compiled, num_threads))
    table = _core.constrained_derivatives(model, q, v, found.a, compiled, inputs, activity(active), f_ext, num_threads)
    n, m = model.nv, compiled.n_rows
    by = ("dq", "dv", "dtau")
    layout = Layout(**{f"a_{x}": (n, n) for x in by}, **{f"forces_{x}": (m, n) for x in by})
    blocks = layout.split(table)
    contradicting = found.residual > CONTRADICTING * (1 + np.abs(found.a).max(axis=-1))
    if contradicting.any():
        least = _closed(model, q, v, compiled, found, f_ext, active, num_threads)
        where = np.asarray(contradicting)[..., None, None]
        blocks = {name: np.where(where, getattr(least, name), x) for name, x in blocks.items()}
    return ConstrainedDerivatives(a=found.a, forces=found.forces, **blocks)


def impulse_dynamics_derivatives(
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
) -> ImpulseDerivatives:
    """Velocities after an impact and their derivatives by q and the velocity before, exact.

    The arguments are those of :func:`featherweight.impulse_dynamics`, which is solved first.

    >>> model = fw.models.quadruped()
    >>> feet = [fw.PointConstraint(f"{leg}_foot") for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    >>> falling = np.zeros(model.nv)
    >>> falling[2] = -1.0
    >>> d = fw.impulse_dynamics_derivatives(model, model.neutral(), falling, feet)
    >>> bool(np.allclose(d.v_dv @ falling, d.v))  # twice as fast, twice the velocity after
    True
    """
    compiled = compiled_for(model, constraints)
    found = impulse_dynamics(
        model, q, v, compiled, restitution=restitution, method=method, tolerance=tolerance,
        max_iterations=max_iterations, active=active, num_threads=num_threads,
    )  # fmt: skip
    if not all(is_anchored(each) for each in compiled.constraints):
        samples = Samples(compiled, q, v, active)
        by_q, by_v = closed_impact_derivatives(
            model, compiled, samples.q, samples.v, samples.of(found.v), samples.of(found.impulses),
            per_row(restitution, compiled), samples.active, num_threads,
        )  # fmt: skip
        v_dq, impulses_dq, v_dv, impulses_dv = (samples.squeezed(x) for x in (*by_q, *by_v))
        return ImpulseDerivatives(found.v, found.impulses, v_dq, v_dv, impulses_dq, impulses_dv)
    inputs = _row_inputs(found.impulses, per_row(restitution, compiled), np.zeros(6))
    table = _core.impulse_derivatives(model, q, v, found.v, compiled, inputs, activity(active), num_threads)
    n, m = model.nv, compiled.n_rows
    layout = Layout(v_dq=(n, n), v_dv=(n, n), impulses_dq=(m, n), impulses_dv=(m, n))
    return ImpulseDerivatives(v=found.v, impulses=found.impulses, **layout.split(table))


class Samples:
    """Arguments as batches, (batch, n) each."""

    def __init__(self, constraints: ConstraintSet, q: ArrayLike, v: ArrayLike, active: ArrayLike | None) -> None:
        given = [np.asarray(x, dtype=np.float64) for x in (q, v)]
        mask = np.ones(constraints.n_constraints) if active is None else np.asarray(activity(active))
        leading = [x.shape[:-1] for x in (*given, mask)]
        if constraints.positions is not None:
            leading.append(constraints.positions.shape[:-3])
        self._shape = np.broadcast_shapes(*leading)
        self.q, self.v, mask = (self.of(x) for x in (*given, mask))
        self.active = np.repeat(mask, [rows.stop - rows.start for rows in constraints.slices], axis=-1)

    def of(self, x: Array, axes: int = 1) -> Array:
        """With the batch first."""
        shape = x.shape[x.ndim - axes :]
        return np.broadcast_to(x, (*self._shape, *shape)).reshape(-1, *shape)

    def squeezed(self, x: Array) -> Array:
        return x.reshape(*self._shape, *x.shape[1:])


def _closed(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: ConstraintSet,
    found: ConstrainedSolution,
    f_ext: ArrayLike | None,
    active: ArrayLike | None,
    num_threads: int | None,
) -> ConstrainedDerivatives:
    """By dense algebra; found: may have more samples than q and v, if tau has."""
    batch = found.a.shape[:-1]
    q, v = (np.broadcast_to(x, (*batch, np.shape(x)[-1])) for x in (q, v))
    samples = Samples(constraints, q, v, active)
    rest = constraint_residual(model, q, v, found.a, constraints, num_threads=num_threads)
    rest = rest + constraints.compliance * found.forces
    forces = None if f_ext is None else samples.of(np.asarray(f_ext, dtype=np.float64), 2)
    solved = closed_derivatives(
        model, constraints, samples.q, samples.v, samples.of(found.a), samples.of(found.forces),
        samples.of(rest) * samples.active, samples.active, forces, num_threads,
    )  # fmt: skip
    motion, force = ([samples.squeezed(part[k]) for part in solved] for k in (0, 1))
    return ConstrainedDerivatives(found.a, found.forces, *motion, *force)


def _row_inputs(forces: Array, gain: Array, stiffness: Array) -> Array:
    """(..., n_rows, 8): what the core wants of every row."""
    inputs = np.empty((*np.broadcast_shapes(forces.shape, stiffness.shape[:-1]), 8))
    inputs[..., 0], inputs[..., 1], inputs[..., 2:] = forces, gain, stiffness
    return inputs


def _stiffness(model: Model, q: ArrayLike, constraints: ConstraintSet, num_threads: int | None) -> Array:
    """What the stiffness of rows adds to their acceleration per motion of their frames, (..., n_rows, 6)."""
    if constraints.positions is None or not constraints.stiffness.any():
        return np.zeros((constraints.n_rows, 6))
    batch = np.broadcast_shapes(np.shape(q)[:-1], constraints.positions.shape[:-3])
    result = np.zeros((*batch, constraints.n_rows, 6))
    for k, (constraint, part) in enumerate(zip(constraints.constraints, constraints.slices, strict=True)):
        gains = constraints.stiffness[part]
        if not gains.any() or not isinstance(constraint, PointConstraint | FrameConstraint):
            continue
        pose = _core.frame_placement(model, q, constraint.frame, num_threads=num_threads) @ _pose(constraint)
        rows = _position_rows(k, constraint, pose, constraints.positions[..., k, :, :])
        result[..., part, :] = gains[:, None] * rows
    return result


def _pose(constraint: Constraint) -> Array:
    """Of the point or frame that is held, in the frame that the constraint names."""
    offset = np.eye(4)
    if isinstance(constraint, PointConstraint):
        offset[:3, 3] = constraint.offset
    elif constraint.offset is not None:
        offset = np.asarray(constraint.offset)
    return offset


def _position_rows(k: int, constraint: Constraint, pose: Array, wanted: Array) -> Array:
    """The change of a constraint's position error per motion of its frame, in its axes, (..., rows, 6).

    Along: e = R^T (p - p_wanted) changes by v - w x e. About: the rotation vector of R_wanted^T R changes by the
    inverse of its right Jacobian times w.
    """
    R = pose[..., :3, :3]
    shift = np.asarray(np.einsum("...ji,...j->...i", R, pose[..., :3, 3] - wanted[..., :3, 3]))
    axes = [ROWS.index(row) for row in constraint.rows]
    rows = np.zeros((*shift.shape[:-1], len(axes), 6))
    if turns(k, constraint, axes):
        turn = inverse_right_jacobian(np.asarray(log3(np.swapaxes(wanted[..., :3, :3], -1, -2) @ R)))
    for r, i in enumerate(axes):
        if i < 3:
            rows[..., r, i] = 1.0
            rows[..., r, 3:] = np.cross(np.eye(3)[i], shift)
        else:
            rows[..., r, 3:] = turn[..., i - 3, :]
    return rows
