"""How rows of constraints change with the configuration and the velocity: anchors, loops, rods and couplings.

Rows of two frames a and b are components of their relative motion in the axes of a. With x the velocity of a and
y = X v_b that of the link of b as seen from there,

    velocity  x - y,    acceleration  A_a - X A_b + x x y,    d X = (s_b - s_a) x X

where s_a and s_b are what both move by as the configuration changes: columns of their Jacobians, both in a.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..constraints.constraint_set import (
    ROWS,
    AnyConstraint,
    ConstraintSet,
    DistanceConstraint,
    HingeConstraint,
    JointCombination,
    JointCoupling,
    PointConstraint,
)
from ..kinematics.logarithms import log3
from ..model.model import Model


@dataclass(frozen=True)
class RowChanges:
    """Of some rows, at fixed accelerations. Leading axes are those of the samples."""

    J: Array  # (..., m, nv)
    acceleration_q: Array  # (..., m, nv) of J a + gamma
    acceleration_v: Array
    velocity_q: Array  # (..., m, nv) of J v
    error_q: Array  # (..., m, nv) of the position error that stiffness sees
    wrenches: list[tuple[int, Array]]  # on links, (..., 6) in their axes: of the forces of the rows
    turning: Array  # (..., nv, nv) of J^T f, beyond that of wrenches that turn with their links


def turns(k: int, constraint: AnyConstraint, axes: list[int]) -> bool:
    """Whether a stiff constraint, the k-th, has rows about axes; a ValueError unless about all three or none."""
    about = sum(i >= 3 for i in axes)
    if about in (1, 2):
        raise ValueError(
            f"constraint {k} on {constraint.what}: with stiffness about one or two axes only it has no derivative "
            "here; give it all of rx, ry and rz, or none"
        )
    return about == 3


def row_changes(
    model: Model,
    constraints: ConstraintSet,
    q: Array,
    v: Array,
    a: Array,
    forces: Array,
    num_threads: int | None,
) -> RowChanges:
    """Of all rows, (batch, ...)."""
    at = _Posture(model, q, v, a, num_threads)
    parts = []
    for k, (constraint, rows) in enumerate(zip(constraints.constraints, constraints.slices, strict=True)):
        own = forces[:, rows]
        if isinstance(constraint, JointCoupling | JointCombination):
            parts.append(_coupling_changes(at, constraint, own))
        elif isinstance(constraint, DistanceConstraint):
            parts.append(_rod_changes(at, constraint, own))
        else:
            wanted = None if constraints.positions is None else constraints.positions[..., k, :, :]
            parts.append(_frame_changes(at, k, constraint, own, wanted, bool(constraints.stiffness[rows].any())))
    names = ("J", "acceleration_q", "acceleration_v", "velocity_q", "error_q")
    joined = {name: np.concatenate([getattr(part, name) for part in parts], axis=-2) for name in names}
    turning = np.sum([part.turning for part in parts], axis=0)
    return RowChanges(**joined, wrenches=[w for part in parts for w in part.wrenches], turning=turning)


@dataclass(frozen=True)
class _Frame:
    """A frame's pose, and its motion in its own axes with derivatives."""

    R: Array
    p: Array
    V: Array
    A: Array
    J: Array
    V_q: Array
    A_q: Array
    A_v: Array

    def placed(self, offset: Array) -> _Frame:
        """At a pose on it."""
        X = _seen(offset[:3, :3].T, -offset[:3, :3].T @ offset[:3, 3])
        motions = {name: X @ getattr(self, name) for name in ("J", "V_q", "A_q", "A_v")}
        vectors = {name: getattr(self, name) @ X.T for name in ("V", "A")}
        return _Frame(R=self.R @ offset[:3, :3], p=self.p + self.R @ offset[:3, 3], **motions, **vectors)


class _Posture:
    """Samples (batch, n) at which frames are looked up."""

    def __init__(self, model: Model, q: Array, v: Array, a: Array, num_threads: int | None) -> None:
        self.model, self.q, self.v, self.a, self._num_threads = model, q, v, a, num_threads
        self.batch, self.nv = len(q), model.nv

    def frame(self, name: str | int | None) -> _Frame:
        """Without a name, the world."""
        if name is None:
            still, none = np.zeros((self.batch, 6)), np.zeros((self.batch, 6, self.nv))
            R = np.broadcast_to(np.eye(3), (self.batch, 3, 3))
            return _Frame(R, np.zeros((self.batch, 3)), still, still, none, none, none, none)
        threads: dict[str, Any] = {"num_threads": self._num_threads}
        pose = _core.frame_placement(self.model, self.q, name, **threads)
        V = _core.frame_velocity(self.model, self.q, self.v, name, **threads)
        A = _core.frame_acceleration(self.model, self.q, self.v, self.a, name, **threads)
        V_q, J = np.moveaxis(
            _core.frame_velocity_derivatives(self.model, self.q, self.v, name, "local", self._num_threads), -3, 0
        )
        A_q, A_v, _ = np.moveaxis(
            _core.frame_acceleration_derivatives(
                self.model, self.q, self.v, self.a, name, "local", False, self._num_threads
            ),
            -3,
            0,
        )
        return _Frame(pose[:, :3, :3], pose[:, :3, 3], V, A, J, V_q, A_q, A_v)

    def on_link(self, name: str | int, offset: Array, wrench: Array) -> tuple[int, Array]:
        """A wrench at a pose of a frame, as one on its link."""
        frame = self.model.frame(name if isinstance(name, str) else self.model.frame_names[name])
        link = self.model.link_names.index(frame.link)
        pose = np.asarray(frame.placement) @ offset
        force, moment = wrench[:, :3] @ pose[:3, :3].T, wrench[:, 3:] @ pose[:3, :3].T
        return link, np.concatenate([force, moment + np.cross(pose[:3, 3], force)], axis=-1)


def _skew(x: Array) -> Array:
    """x x, (..., 3, 3)."""
    return np.asarray(np.cross(np.eye(3), x[..., None, :]))


def _cross(x: Array) -> Array:
    """The motion x x, (..., 6, 6)."""
    lin, ang = _skew(x[..., :3]), _skew(x[..., 3:])
    return np.concatenate(
        [np.concatenate([ang, lin], axis=-1), np.concatenate([np.zeros_like(ang), ang], axis=-1)], axis=-2
    )


def _crossed_force(f: Array) -> Array:
    """From motions s to s x* f, (..., 6, 6)."""
    lin, ang = _skew(f[..., :3]), _skew(f[..., 3:])
    return -np.concatenate(
        [np.concatenate([np.zeros_like(lin), lin], axis=-1), np.concatenate([lin, ang], axis=-1)], axis=-2
    )


def _seen(R: Array, p: Array) -> Array:
    """Motions at one frame as seen from another, in which it is at R, p: (..., 6, 6)."""
    below = np.concatenate([np.zeros_like(R), R], axis=-1)
    return np.concatenate([np.concatenate([R, _skew(p) @ R], axis=-1), below], axis=-2)


def _times(matrix: Array, x: Array) -> Array:
    return np.asarray((matrix @ x[..., None])[..., 0])


def _offset(value: Any) -> Array:
    """A pose, from one or from a point."""
    pose, given = np.eye(4), np.asarray(np.zeros(3) if value is None else value, dtype=np.float64)
    if given.shape == (4, 4):
        return given
    pose[:3, 3] = given
    return pose


def _frame_changes(
    at: _Posture, k: int, constraint: Any, forces: Array, wanted: Array | None, is_stiff: bool
) -> RowChanges:
    offset, to = _offset(constraint.offset), constraint.to
    to_offset = _offset(constraint.to_offset if to is not None else None)
    a, b = at.frame(constraint.frame).placed(offset), at.frame(to).placed(to_offset)
    if to is None and wanted is not None:
        b = replace(
            b, R=np.broadcast_to(wanted[..., :3, :3], a.R.shape), p=np.broadcast_to(wanted[..., :3, 3], a.p.shape)
        )
    to_a = np.swapaxes(a.R, -1, -2)
    R, p = to_a @ b.R, _times(to_a, b.p - a.p)
    X = _seen(R, p)
    S_b, x, y, B = X @ b.J, a.V, _times(X, b.V), _times(X, b.A)
    apart = S_b - a.J
    y_q, B_q = X @ b.V_q - _cross(y) @ apart, X @ b.A_q - _cross(B) @ apart
    by_q = a.A_q - B_q - _cross(y) @ a.V_q + _cross(x) @ y_q
    by_v = a.A_v - X @ b.A_v - _cross(y) @ a.J + _cross(x) @ S_b
    velocity_q, J = a.V_q - y_q, a.J - S_b
    if isinstance(constraint, PointConstraint):  # w x (x - y) more: the acceleration of a point
        slip, turn = _skew((x - y)[..., :3]), _skew(x[..., 3:])
        by_q[..., :3, :] += turn @ velocity_q[..., :3, :] - slip @ a.V_q[..., 3:, :]
        by_v[..., :3, :] += turn @ J[..., :3, :] - slip @ a.J[..., 3:, :]
    axes = _axes(constraint)
    error_q = np.zeros_like(J)
    if is_stiff:
        error_q[..., :3, :] = _skew(p) @ apart[..., 3:, :] - apart[..., :3, :]
        if turns(k, constraint, axes):
            turned = np.asarray(log3(np.swapaxes(R, -1, -2)))
            error_q[..., 3:, :] = -inverse_right_jacobian(turned) @ apart[..., 3:, :]
    wrench = np.zeros((at.batch, 6))
    wrench[:, axes] = forces
    wrenches = [at.on_link(constraint.frame, offset, wrench)]
    if to is not None:
        wrenches.append(at.on_link(to, to_offset, -_times(np.swapaxes(X, -1, -2), wrench)))
    turning = np.swapaxes(S_b, -1, -2) @ _crossed_force(wrench) @ apart
    J, by_q, by_v, velocity_q, error_q = (m[..., axes, :] for m in (J, by_q, by_v, velocity_q, error_q))
    return RowChanges(J, by_q, by_v, velocity_q, error_q, wrenches, turning)


def _axes(constraint: Any) -> list[int]:
    rows = constraint.rows
    if isinstance(constraint, HingeConstraint) and rows is None:
        rows = [row for row in ROWS if row != "r" + constraint.axis]
    return [ROWS.index(row) for row in rows]


def _rod_changes(at: _Posture, rod: DistanceConstraint, forces: Array) -> RowChanges:
    """n . (u_a - u_b) and n . (alpha_a - alpha_b) + |u across n|^2 / length, in world axes."""
    offset, to_offset = _offset(rod.offset), _offset(rod.to_offset)
    a, b = at.frame(rod.frame).placed(offset), at.frame(rod.to).placed(to_offset)
    apart = a.p - b.p
    length = np.linalg.norm(apart, axis=-1)[:, None]
    is_some = length > 1e-150
    per = np.where(is_some, 1.0 / np.where(is_some, length, 1.0), 0.0)
    n = apart * per
    (p_a, u_a, u_a_q, c_a, c_a_q, c_a_v), (p_b, u_b, u_b_q, c_b, c_b_q, c_b_v) = _point(a), _point(b)
    p_q, u, u_q, c = p_a - p_b, u_a - u_b, u_a_q - u_b_q, c_a - c_b
    n_q = (p_q - n[:, :, None] * _row(n, p_q)) * per[:, :, None]
    along = (n * u).sum(axis=-1)[:, None]
    squared, per = (u * u).sum(axis=-1)[:, None] - along**2, per[:, :, None]

    def squared_by(du: Array, dn: Array | float) -> Array:
        turned = _row(u, dn) if isinstance(dn, np.ndarray) else 0.0
        return np.asarray(2 * _row(u, du) - 2 * along[:, :, None] * (turned + _row(n, du)))

    by_q = _row(c, n_q) + _row(n, c_a_q - c_b_q) + squared_by(u_q, n_q) * per
    by_q = by_q - squared[:, :, None] * per**2 * _row(n, p_q)
    by_v = _row(n, c_a_v - c_b_v) + squared_by(p_q, 0.0) * per
    J = _row(n, p_q)
    force = forces[:, :, None]  # (batch, 1, 1)
    turning = np.zeros((at.batch, at.nv, at.nv))
    wrenches = []
    for frame, name, place, p, sign in ((a, rod.frame, offset, p_a, 1.0), (b, rod.to, to_offset, p_b, -1.0)):
        if name is None:
            continue
        own = _times(np.swapaxes(frame.R, -1, -2), n) * forces * sign
        wrenches.append(at.on_link(name, place, np.concatenate([own, np.zeros_like(own)], axis=-1)))
        turned = n_q + _skew(n) @ frame.R @ frame.J[:, 3:, :]
        turning += sign * force * np.swapaxes(p, -1, -2) @ turned
    return RowChanges(J, by_q, by_v, _row(u, n_q) + _row(n, u_q), J, wrenches, turning)


def _row(x: Array, matrix: Array) -> Array:
    return np.asarray(x[:, None, :] @ matrix)


def _point(f: _Frame) -> tuple[Array, ...]:
    """Of its origin in world axes: how it moves with q, its velocity and acceleration, with their derivatives."""
    w, v, alpha = f.V[:, 3:], f.V[:, :3], f.A[:, :3] + np.cross(f.V[:, 3:], f.V[:, :3])

    def by(A: Array, V: Array) -> Array:
        return A[:, :3] + _skew(w) @ V[:, :3] - _skew(v) @ V[:, 3:]

    turn = f.J[:, 3:]
    return (
        f.R @ f.J[:, :3],
        _times(f.R, v),
        f.R @ (f.V_q[:, :3] - _skew(v) @ turn),
        _times(f.R, alpha),
        f.R @ (by(f.A_q, f.V_q) - _skew(alpha) @ turn),
        f.R @ by(f.A_v, f.J),
    )


def _coupling_changes(at: _Posture, coupling: JointCoupling | JointCombination, forces: Array) -> RowChanges:
    """Of the sum of polynomials p_j(q_j)."""
    J, by_q, by_v, velocity_q = (np.zeros((at.batch, 1, at.nv)) for _ in range(4))
    turning = np.zeros((at.batch, at.nv, at.nv))
    for name, polynomial in _terms(coupling):
        joint = at.model.joint(name)
        i, x = joint.v_slice.start, at.q[:, joint.q_slice.start]
        slope, curvature, third = (np.polynomial.polynomial.Polynomial(polynomial).deriv(k)(x) for k in (1, 2, 3))
        J[:, 0, i], velocity_q[:, 0, i] = slope, curvature * at.v[:, i]
        by_q[:, 0, i] = curvature * at.a[:, i] + third * at.v[:, i] ** 2
        by_v[:, 0, i] = 2 * curvature * at.v[:, i]
        turning[:, i, i] = curvature * forces[:, 0]
    return RowChanges(J, by_q, by_v, velocity_q, J, [], turning)


def _terms(coupling: JointCoupling | JointCombination) -> list[tuple[str, list[float]]]:
    """But for the constant, which has no part in derivatives."""
    if isinstance(coupling, JointCombination):
        return [(name, [0.0, float(c)]) for name, c in coupling.pairs]
    terms = [(coupling.joint, [0.0, 1.0])]
    if coupling.to is not None:
        terms.append((coupling.to, [-float(c) for c in np.atleast_1d(np.asarray(coupling.polynomial))]))
    return terms


def inverse_right_jacobian(phi: Array) -> Array:
    """Of the rotation vector phi, (..., 3, 3): it changes by this times the angular velocity in the turned axes."""
    angle = np.linalg.norm(phi, axis=-1)[..., None, None]
    half = np.maximum(angle, 1e-3) / 2
    series = 1 / 12 + angle**2 / 720
    factor = np.where(angle < 1e-3, series, (1 - half / np.tan(half)) / (2 * half) ** 2)
    K = np.cross(np.eye(3), phi[..., None, :], axisa=-1, axisb=-1)
    return np.asarray(np.eye(3) + K / 2 + factor * K @ K)


def is_anchored(constraint: AnyConstraint) -> bool:
    """Whether all its rows are on one link, and fixed to it."""
    if isinstance(constraint, JointCoupling | JointCombination | DistanceConstraint | HingeConstraint):
        return False
    return constraint.to is None
