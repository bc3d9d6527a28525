"""States that satisfy loops and couplings: closing them, velocities that keep them closed, and what can still move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..model.model import Model
from ..records import Record
from .compiled_sets import compiled_for
from .constraint_set import AnyConstraint, ConstraintSet, FrameConstraint, PointConstraint
from .impulse_dynamics import impulse_dynamics
from .terms import constraint_jacobian, constraint_position_error, position_errors

#: Joints by name, or a mask of degrees of freedom (nv,).
Joints = Sequence[str] | NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClosedLoops(Record):
    """Configurations found by :func:`close_loops`. Can be pickled; compares by value.

    >>> model = fw.models.four_bar(closed=False)
    >>> pin = fw.PointConstraint("coupler", offset=(0.35, 0, 0), to="rocker", to_offset=(0.25, 0, 0))
    >>> closed = fw.close_loops(model, np.zeros(3), [pin])
    >>> bool(closed.converged), bool(closed.error < 1e-9)
    (True, True)
    """

    q: Array  # (..., nq)
    error: Array  # (...) largest position error of a row [m, rad]
    iterations: NDArray[np.int64]  # (...)
    converged: NDArray[np.bool_]  # (...) whether the error is within the tolerance


@dataclass(frozen=True, eq=False)
class Mobility(Record):
    """Degrees of freedom of a mechanism, found by :func:`mobility`. Can be pickled; compares by value.

    >>> model = fw.models.four_bar(closed=False)
    >>> pin = fw.PointConstraint("coupler", offset=(0.35, 0, 0), to="rocker", to_offset=(0.25, 0, 0))
    >>> found = fw.mobility(model, fw.close_loops(model, np.zeros(3), [pin]).q, [pin])
    >>> int(found.dof), int(found.redundant)  # a planar loop: of three rows one says nothing new
    (1, 1)
    """

    dof: NDArray[np.int64]  # (...) degrees of freedom that constraints leave
    redundant: NDArray[np.int64]  # (...) rows that say nothing new
    singular: NDArray[np.bool_]  # (...) whether it has more degrees of freedom here than nearby
    condition: Array  # (...) largest over smallest singular value of J that is not zero


def close_loops(
    model: Model,
    q0: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    weights: Mapping[str, float] | ArrayLike | None = None,
    fixed: Joints = (),
    tolerance: float = 1e-11,
    max_iterations: int = 200,
) -> ClosedLoops:
    """Configurations near q0 that satisfy the constraints: loops closed, couplings met, points at their positions.

    q0: (nq,) or a batch (batch, nq), as many as constraints have positions. weights: the cost of moving joints,
    positive, by name (others: one) or one per degree of freedom (nv,). fixed: joints that do not move, by name or as a
    mask (nv,). Takes damped Gauss-Newton steps, the smallest in the sense of the weights. Where loops cannot be closed,
    ``converged`` is False, and q is a nearby minimum of the sum of squared errors. tolerance: of the largest error [m,
    rad].

    >>> model = fw.models.four_bar()
    >>> pin = [fw.PointConstraint("coupler_end", ("x", "z"), to="rocker_end")]
    >>> found = fw.close_loops(model, model.neutral() + (0.5, 0.0, 0.0), pin, fixed=["crank_hinge"])
    >>> bool(found.converged), float(found.q[0]), bool(fw.loop_error(model, found.q, pin).max() < 1e-11)
    (True, 0.5, True)
    """
    compiled = compiled_for(model, constraints)
    start = np.array(q0, dtype=np.float64)
    if start.ndim not in (1, 2) or start.shape[-1] != model.nq or not np.isfinite(start).all():
        raise ValueError(
            f"q0: expected finite numbers of shape ({model.nq},) or (batch, {model.nq}), got {start.shape}"
        )
    if compiled.positions is not None and compiled.positions.ndim > 3 and start.ndim == 1:
        start = np.tile(start, (len(compiled.positions), 1))
    scale = 1.0 / np.sqrt(_weights(model, weights))
    scale[_mask(model, "fixed", fixed)] = 0.0
    if not np.isfinite(tolerance) or tolerance <= 0:
        raise ValueError(f"tolerance: expected a positive number, got {tolerance!r}")
    q, error, iterations = _gauss_newton(model, start.reshape(-1, model.nq), compiled, scale, tolerance, max_iterations)
    shape = start.shape[:-1]
    return ClosedLoops(
        q=q.reshape(start.shape),
        error=error.reshape(shape),
        iterations=iterations.reshape(shape),
        converged=(error <= tolerance).reshape(shape),
    )


def _gauss_newton(
    model: Model, q: Array, constraints: ConstraintSet, scale: Array, tolerance: float, max_iterations: int
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Levenberg's steps for all samples at once; a sample that is done, or gains no more, keeps its bits."""
    n, m = len(q), constraints.n_rows
    q = q.copy()
    errors = _errors(model, q, constraints, np.arange(n))
    damping, live, iterations = np.full(n, 1e-3), np.ones(n, dtype=bool), np.zeros(n, dtype=np.int64)
    for _ in range(max_iterations):
        live &= np.abs(errors).max(axis=1, initial=0.0) > 1e-3 * tolerance
        at = np.flatnonzero(live)
        if not len(at):
            break
        A = constraint_jacobian(model, q[at], constraints) * scale
        gram = A @ A.swapaxes(1, 2)
        size = np.trace(gram, axis1=1, axis2=2) + 1e-300
        gram += (np.maximum(damping[at], 1e-13) * size)[:, None, None] * np.eye(m)
        step = -np.einsum("bmn,bm->bn", A, np.linalg.solve(gram, errors[at][..., None])[..., 0]) * scale
        step /= np.maximum(1.0, np.abs(step).max(axis=1, initial=0.0) / 0.5)[:, None]
        tried = model.integrate(q[at], step)
        found = _errors(model, tried, constraints, at)
        before, after = (np.einsum("bm,bm->b", e, e) for e in (errors[at], found))
        better = after < before
        q[at[better]], errors[at[better]] = tried[better], found[better]
        small = np.abs(step).max(axis=1, initial=0.0) < 1e-15
        live[at[small | (~better & (damping[at] > 1e8)) | (better & (after > before * (1 - 1e-12)))]] = False
        damping[at] = np.where(better, damping[at] * 0.03, np.maximum(damping[at], 1e-12) * 20.0)
        live[at[~better & (np.abs(errors[at]).max(axis=1, initial=0.0) <= tolerance)]] = False  # rounding
        iterations[at] += 1
    return q, np.asarray(np.abs(errors).max(axis=1, initial=0.0)), iterations


def _errors(model: Model, q: Array, constraints: ConstraintSet, samples: NDArray[np.int64]) -> Array:
    errors = position_errors(model, q, constraints, samples)
    return errors if errors.ndim == 2 else np.broadcast_to(errors, (len(q), constraints.n_rows)).copy()


def project_velocity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    weights: Mapping[str, float] | ArrayLike | None = None,
) -> Array:
    """The velocities nearest to v that the constraints allow, J v = 0: (..., nv).

    q, v: (nq,), (nv,), or batches of them. Nearest by kinetic energy, as after an impact of all loops; with weights,
    positive, by name (others: one) or one per degree of freedom, by the weighted sum of squares.

    >>> model = fw.models.four_bar()
    >>> pin = [fw.PointConstraint("coupler_end", ("x", "z"), to="rocker_end")]
    >>> v = fw.project_velocity(model, model.neutral(), np.array([1.0, 0.0, 0.0]), pin)
    >>> bool(np.abs(fw.constraint_velocity(model, model.neutral(), v, pin)).max() < 1e-12)
    True
    """
    compiled = compiled_for(model, constraints)
    if weights is None:
        return impulse_dynamics(model, q, v, compiled).v
    scale = 1.0 / np.sqrt(_weights(model, weights))
    A = constraint_jacobian(model, q, compiled) * scale
    y = np.asarray(v, dtype=np.float64) / scale
    for _ in range(2):  # the second time for rounding
        y = y - np.einsum("...nm,...m->...n", np.linalg.pinv(A, rcond=1e-11), np.einsum("...mn,...n->...m", A, y))
    return np.asarray(y * scale)


def loop_error(model: Model, q: ArrayLike, constraints: Sequence[AnyConstraint] | ConstraintSet) -> Array:
    """The largest position error of each constraint, (..., n_constraints) [m, rad].

    >>> model = fw.models.four_bar(closed=False)
    >>> pin = fw.PointConstraint("coupler", offset=(0.35, 0, 0), to="rocker", to_offset=(0.25, 0, 0))
    >>> closed = fw.close_loops(model, np.zeros(3), [pin])
    >>> bool(fw.loop_error(model, closed.q, [pin])[0] < 1e-9)
    True
    """
    compiled = compiled_for(model, constraints)
    errors = np.abs(constraint_position_error(model, q, compiled))
    return np.stack([errors[..., rows].max(axis=-1) for rows in compiled.slices], axis=-1)


def mobility(
    model: Model, q: ArrayLike, constraints: Sequence[AnyConstraint] | ConstraintSet, *, tolerance: float = 1e-7
) -> Mobility:
    """Degrees of freedom, redundant rows and singularity of a mechanism at closed configurations q, (nq,) or a batch.

    Points and frames without a ``position`` are held where they are at q.

    tolerance: singular values of J below it, relative to the largest, count as zero. A configuration is singular if at
    closed ones nearby, found by trying a few, J has a higher rank.

    >>> model = fw.models.four_bar()
    >>> pin = [fw.HingeConstraint("coupler_end", "rocker_end", axis="y")]
    >>> found = fw.mobility(model, model.neutral(), pin)
    >>> int(found.dof), int(found.redundant), bool(found.singular)
    (1, 3, False)
    """
    compiled = compiled_for(model, constraints)
    rank, condition = _rank(model, q, compiled, tolerance)
    compiled = compiled_for(model, [_held_where_it_is(model, q, each) for each in compiled.constraints])
    generic, rng = rank.copy(), np.random.default_rng(0)
    for _ in range(3):
        aside = model.integrate(q, rng.normal(scale=0.05, size=(*np.shape(q)[:-1], model.nv)))
        closed = close_loops(model, aside, compiled)
        nearby, _ = _rank(model, closed.q, compiled, tolerance)
        generic = np.maximum(generic, np.where(closed.converged, nearby, 0))
    return Mobility(
        dof=np.asarray(model.nv - rank),
        redundant=np.asarray(compiled.n_rows - rank),
        singular=np.asarray(rank < generic),
        condition=condition,
    )


def _held_where_it_is(model: Model, q: ArrayLike, constraint: AnyConstraint) -> AnyConstraint:
    if not isinstance(constraint, (PointConstraint, FrameConstraint)):
        return constraint
    if constraint.to is not None or constraint.position is not None:
        return constraint
    X = np.asarray(_core.frame_placement(model, q, constraint.frame), dtype=np.float64)
    offset = np.asarray(constraint.offset, dtype=np.float64)
    if isinstance(constraint, PointConstraint):
        return replace(constraint, position=X[..., :3, 3] + X[..., :3, :3] @ offset)
    return replace(constraint, position=X @ offset)


def _rank(model: Model, q: ArrayLike, constraints: ConstraintSet, tolerance: float) -> tuple[Array, Array]:
    values = np.linalg.svd(constraint_jacobian(model, q, constraints), compute_uv=False)
    largest = values.max(axis=-1, initial=0.0)
    counts = values > tolerance * largest[..., None]
    smallest = np.min(np.where(counts, values, np.inf), axis=-1, initial=np.inf)
    return np.asarray(counts.sum(axis=-1)), np.asarray(np.where(np.isfinite(smallest), largest / smallest, 1.0))


def loop_jacobian(
    model: Model, q: ArrayLike, constraints: Sequence[AnyConstraint] | ConstraintSet, actuated: Joints
) -> Array:
    """G of v = G v_actuated, (..., nv, number of actuated): how all joints follow those that a motor moves.

    actuated: joints by name, in the order of the columns, or a mask (nv,). J G = 0 where they can move independently;
    of joints that they leave undetermined the velocities of least norm.

    >>> model = fw.models.four_bar()
    >>> pin = [fw.PointConstraint("coupler_end", ("x", "z"), to="rocker_end")]
    >>> G = fw.loop_jacobian(model, model.neutral(), pin, ["crank_hinge"])
    >>> G.shape, float(G[0, 0]), bool(np.abs(fw.constraint_jacobian(model, model.neutral(), pin) @ G).max() < 1e-12)
    ((3, 1), 1.0, True)
    """
    dofs = _dofs(model, "actuated", actuated)
    passive = np.setdiff1d(np.arange(model.nv), dofs)
    J = constraint_jacobian(model, q, compiled_for(model, constraints))
    G = np.zeros((*J.shape[:-2], model.nv, len(dofs)))
    G[..., dofs, np.arange(len(dofs))] = 1.0
    G[..., passive, :] = -np.linalg.pinv(J[..., passive], rcond=1e-10) @ J[..., dofs]
    return G


def _dofs(model: Model, what: str, joints: Joints) -> NDArray[np.int64]:
    if isinstance(joints, np.ndarray) and joints.dtype == np.bool_:
        if joints.shape != (model.nv,):
            raise ValueError(f"{what}: expected a mask of shape ({model.nv},), got {joints.shape}")
        return np.flatnonzero(joints)
    if isinstance(joints, str):
        raise ValueError(f"{what}: expected names of joints or a mask, got {joints!r}")
    found = [k for name in joints for k in range(*model.joint(name).v_slice.indices(model.nv))]
    if len(set(found)) != len(found):
        raise ValueError(f"{what}: a joint is named twice in {list(joints)!r}")
    return np.array(found, dtype=np.int64)


def _mask(model: Model, what: str, joints: Joints) -> NDArray[np.bool_]:
    mask = np.zeros(model.nv, dtype=np.bool_)
    mask[_dofs(model, what, joints)] = True
    return mask


def _weights(model: Model, weights: Mapping[str, float] | ArrayLike | None) -> Array:
    if weights is None:
        return np.ones(model.nv)
    if isinstance(weights, Mapping):
        found = np.ones(model.nv)
        for name, weight in weights.items():
            found[model.joint(name).v_slice] = weight
    else:
        found = np.array(weights, dtype=np.float64)
    if found.shape != (model.nv,) or not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(f"weights: expected {model.nv} positive numbers, got {weights!r}")
    return found
