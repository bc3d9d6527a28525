"""Constraint rows on one link and between two, their Jacobians as documented, and J H^-1 J^T by dense algebra."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import featherweight as fw
from benchmarks.extended import cholesky, forward_substitute
from featherweight import ModelDescription, reference
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import ROWS, Constraint
from featherweight.reference.delassus.ends import Constraint as TwinConstraint
from featherweight.reference.spatial import skew

from .constraints import bare_rows
from .forests import random_pose


def random_rows(
    model: fw.Model, frames: Sequence[str], number: int, rng: np.random.Generator, *, offsets: bool = True
) -> list[Constraint]:
    """Points and frames with any of their rows in any order, half of them relative to another link."""
    constraints: list[Constraint] = []
    while len(constraints) < number:
        frame, to = rng.choice(frames, 2).tolist()
        second = to if rng.integers(2) else None
        if rng.integers(2):
            rows = rng.permutation(ROWS[:3])[: rng.integers(1, 4)].tolist()
            at, to_at = rng.normal(scale=0.3, size=(2, 3)) if offsets else np.zeros((2, 3))
            to_at = np.zeros(3) if second is None else to_at
            constraint: Constraint = fw.PointConstraint(frame, rows, at, to=second, to_offset=to_at)
        else:
            rows = rng.permutation(ROWS)[: rng.integers(1, 7)].tolist()
            constraint = fw.FrameConstraint(frame, rows, random_pose(rng) if offsets else np.eye(4), to=second)
        if _is_possible(model, constraint):
            constraints.append(constraint)
    return constraints


def _is_possible(model: fw.Model, constraint: Constraint) -> bool:
    """Not on a frame that the world holds, nor between two frames of one link."""
    try:
        fw.ConstraintSet(model, [constraint])
    except ValueError:
        return False
    return True


def dense_jacobian(model: fw.Model, q: Array, constraints: Sequence[Constraint]) -> Array:
    """(n_rows, nv); between two links by the difference of their velocities in the world."""
    return np.vstack(
        [
            fw.constraint_jacobian(model, q, [c]) if c.to is None else _relative_jacobian(model, q, c)
            for c in constraints
        ]
    )


def _relative_jacobian(model: fw.Model, q: Array, c: Constraint) -> Array:
    assert c.to is not None
    X_WA = fw.frame_placement(model, q, c.frame)
    if isinstance(c, fw.PointConstraint):
        R, point = X_WA[:3, :3], _moved(X_WA, c.offset)
    else:
        X_WC = X_WA @ np.asarray(c.offset)
        R, point = X_WC[:3, :3], X_WC[:3, 3]
    relative = _velocity_at(model, q, c.frame, point) - _velocity_at(model, q, c.to, point)
    rows = [ROWS.index(row) for row in c.rows]
    return np.vstack([R.T @ relative[:3], R.T @ relative[3:]])[rows]


def _moved(X: Array, offset: object) -> Array:
    return np.asarray(X[:3, :3] @ np.asarray(offset) + X[:3, 3])


def _velocity_at(model: fw.Model, q: Array, frame: str | int, point: Array) -> Array:
    """(6, nv) in world axes: the velocity of a point that moves with a frame, and how that turns."""
    J = fw.jacobian(model, q, frame, reference="local_world_aligned").copy()
    J[:3] -= skew(point - fw.frame_placement(model, q, frame)[:3, 3]) @ J[3:]
    return J


def dense_delassus(model: fw.Model, q: Array, constraints: Sequence[Constraint]) -> Array:
    """J H^-1 J^T in extended precision, where the machine has one, and without BLAS, so the same on all of a kind."""
    factor = cholesky(fw.crba(model, q).astype(np.longdouble))
    Y = forward_substitute(factor, dense_jacobian(model, q, constraints).T.astype(np.longdouble))
    return np.asarray(Y.T @ Y, dtype=np.float64)


def twin_constraints(
    description: ModelDescription, q: Array, constraints: Sequence[Constraint]
) -> list[TwinConstraint]:
    """The same, without offsets, as the twins take them."""
    still, result = np.zeros(reference.sizes(description)[1]), list[TwinConstraint]()
    for c in constraints:
        if c.to is None:
            result += bare_rows(description, q, still, [c])
        else:
            point = isinstance(c, fw.PointConstraint)
            between = reference.point_rows_between if point else reference.frame_rows_between
            axes = [ROWS.index(row) for row in c.rows]
            result.append(between(description, q, str(c.frame), str(c.to), axes=axes))
    return result


def error(found: Array, expected: Array) -> float:
    """Relative to the largest entry; infinite where something is not finite."""
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    off = float(np.max(np.abs(found - expected)))
    if off == 0.0:
        return 0.0
    return off / float(np.max(np.abs(expected))) if np.isfinite(off) and np.any(expected) else np.inf
