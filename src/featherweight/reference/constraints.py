"""Constraint rows as the twins see them: K a = k on the spatial acceleration a of one link, in its coordinates.

A point's rows are the classical acceleration of a frame's origin, a frame's rows its spatial acceleration, both in the
frame's axes. The force of a constraint acts on the link as K^T f, so that H a + h = tau + J^T f and J a + gamma = k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.kinematics import find_frame, frame_placement, frame_velocity, jacobian, link_motion
from featherweight.reference.spatial import inverse, motion_transform, rotation_vector
from featherweight.reference.tree import sizes


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one constraint."""

    link: int
    K: Array  # (m, 6) in link coordinates, at the link origin
    k: Array  # (m,) wanted K a


@dataclass(frozen=True, eq=False)
class Solution:
    """What every twin of constrained forward dynamics returns."""

    a: Array  # (nv,)
    forces: list[Array]  # per constraint (m,): on the link, along its rows
    residual: float  # max |K a - k|
    iterations: int  # 1 for the direct methods
    converged: bool  # False: the iteration ended before its answer settled


def point_rows(
    model: ModelDescription,
    q: Array,
    v: Array,
    frame: str,
    *,
    axes: Sequence[int] = (0, 1, 2),
    desired: Array | None = None,
    target: Array | None = None,
    kp: float = 0.0,
    kd: float = 0.0,
) -> Rows:
    """Rows of the classical acceleration of the frame's origin, along those of its ``axes`` that are asked for.

    ``desired`` [m/s^2] has one number per row (zero unless given). The Baumgarte gains ``kp`` [1/s^2] and ``kd`` [1/s]
    draw the origin to ``target`` (3,) in the world, and to rest.
    """
    X_WF = frame_placement(model, q, frame)
    twist = frame_velocity(model, q, v, frame)
    error = np.zeros(3) if target is None else X_WF[:3, :3].T @ (X_WF[:3, 3] - target)
    # classical = spatial + omega x v, so the second term goes to the right side
    k = -np.cross(twist[3:], twist[:3]) - kp * error - kd * twist[:3]
    return _rows(model, frame, list(axes), k, desired)


def frame_rows(
    model: ModelDescription,
    q: Array,
    v: Array,
    frame: str,
    *,
    axes: Sequence[int] = (0, 1, 2, 3, 4, 5),
    desired: Array | None = None,
    target: Array | None = None,
    kp: float = 0.0,
    kd: float = 0.0,
) -> Rows:
    """Rows of the frame's spatial acceleration; ``axes`` counts the linear directions first, then the angular ones.

    ``desired`` [m/s^2; rad/s^2] has one number per row. The Baumgarte gains ``kp`` [1/s^2] and ``kd`` [1/s] draw the
    frame to the pose ``target`` (4, 4) in the world, and to rest.
    """
    X_WF = frame_placement(model, q, frame)
    error = np.zeros(6)
    if target is not None:
        error[:3] = X_WF[:3, :3].T @ (X_WF[:3, 3] - target[:3, 3])
        error[3:] = turn_error(target[:3, :3].T @ X_WF[:3, :3], [axis - 3 for axis in axes if axis >= 3])
    return _rows(model, frame, list(axes), -kp * error - kd * frame_velocity(model, q, v, frame), desired)


def turn_error(R: Array, locked: Sequence[int]) -> Array:
    """By how much R is turned away from the identity about the locked axes (0, 1, 2), (3,) in the turned axes.

    With all three the logarithm, which is right up to pi, where its sine would vanish. Of a hinge, which leaves one
    axis free, the shortest rotation that brings that axis back: components of the logarithm would change with the angle
    of the hinge, as their rate is not the angular velocity. With one axis locked, the turn about it.
    """
    if len(locked) == 1:
        k, i, j = locked[0], (locked[0] + 1) % 3, (locked[0] + 2) % 3
        return np.asarray(np.eye(3)[k] * np.arctan2(R[j, i] - R[i, j], R[i, i] + R[j, j]))
    if len(locked) != 2:
        return rotation_vector(R)
    (k,) = {0, 1, 2} - set(locked)
    axis, seen = np.eye(3)[k], R[k]  # axis k as it is, and as it should be
    across = np.cross(seen, axis)
    sine = float(np.linalg.norm(across))
    if sine < 1e-12:
        return np.asarray(across if seen[k] > 0 else np.pi * np.eye(3)[locked[0]])  # opposite: any axis will do
    return np.asarray(across * (np.arctan2(sine, seen[k]) / sine))


def spans(rows: Sequence[Rows]) -> list[slice]:
    """Per constraint, where its rows sit in the stack of all."""
    ends = np.cumsum([0, *(row.k.size for row in rows)]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def targets(rows: Sequence[Rows]) -> Array:
    """All k, stacked, (m,)."""
    return np.concatenate([np.zeros(0), *(row.k for row in rows)])


def rows_by_link(rows: Sequence[Rows], n: int) -> Array:
    """(n + 1, m, 6): per link, and for the world last, all m rows, zero where they sit on another link."""
    K = np.zeros((n + 1, targets(rows).size, 6))
    for row, span in zip(rows, spans(rows), strict=True):
        K[row.link, span] = row.K
    return K


def row_jacobian(model: ModelDescription, q: Array, rows: Sequence[Rows]) -> Array:
    """(m, nv): J of all rows, stacked."""
    names = [link.name for link in model.links] + ["world"]
    return np.vstack([np.zeros((0, sizes(model)[1])), *(row.K @ jacobian(model, q, names[row.link]) for row in rows)])


def row_values(K: Array, acceleration: Array) -> Array:
    """(m,) K a of all rows, from rows by link and the accelerations of the links."""
    values: Array = np.einsum("imj,ij->m", K, acceleration)
    return values


def solve_independent(delassus: Array, r: Array) -> Array:
    """delassus^-1 r by Cholesky; an error where a row depends on the rows before it."""
    factor = cholesky(delassus, 1e-12 * np.diag(delassus))
    if factor is None:
        raise ValueError("constraint rows are redundant or singular in this posture: use a proximal method or damping")
    return solve_factored(factor, r)


def cholesky(A: Array, least: Array) -> Array | None:
    """The lower factor C of A = C C^T, or None where a pivot is not larger than the ``least`` one allowed (m,)."""
    try:
        factor = np.asarray(np.linalg.cholesky(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return factor if np.all(np.diag(factor) ** 2 > least) else None


def solve_factored(factor: Array, r: Array) -> Array:
    """(C C^T)^-1 r."""
    solution: Array = np.linalg.solve(factor.T, np.linalg.solve(factor, r))
    return solution


def solution(
    model: ModelDescription,
    q: Array,
    v: Array,
    rows: Sequence[Rows],
    a: Array,
    multipliers: Array,
    iterations: int = 1,
    converged: bool = True,
) -> Solution:
    """The result record of an acceleration and the stacked multipliers; the residual is measured here."""
    _, acceleration = link_motion(model, q, v, a)
    left = targets(rows) - row_values(rows_by_link(rows, len(model.links)), acceleration)
    forces = [multipliers[span] for span in spans(rows)]
    return Solution(a, forces, float(np.max(np.abs(left), initial=0.0)), iterations, converged)


def _rows(model: ModelDescription, frame: str, axes: list[int], k: Array, desired: Array | None) -> Rows:
    if not all(0 <= axis < k.size for axis in axes):
        raise ValueError(f"axes of '{frame}' are {axes}, expected numbers from 0 to {k.size - 1}")
    link, X_LF = find_frame(model, frame)
    K = motion_transform(inverse(X_LF))[axes]
    return Rows(link, K, k[axes] + (np.zeros(len(axes)) if desired is None else desired))
