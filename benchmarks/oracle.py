"""What constrained dynamics and Delassus matrices should be, in extended precision: dense, by orthogonal factors.

The errors of a table cannot be smaller than those of its reference. This one works with ``numpy.longdouble`` (64 bits
of mantissa on x86, plain doubles where there is nothing longer), never squares a condition number, and shares no code
with the core or with the twins: bodies are moved by the textbook formulas for velocities and accelerations of points,
in world axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import featherweight as fw
from benchmarks.extended import Exact, back_substitute, cholesky, forward_substitute, pseudo_inverse
from benchmarks.robots import Array
from featherweight import ModelDescription
from featherweight.constraints.constraint_set import ROWS, AnyConstraint, Constraint
from featherweight.model.description import Joint


@dataclass(frozen=True, eq=False)
class Solution:
    """Of one sample: the acceleration that misses the rows least and is nearest to the free one, and its forces."""

    a: Array
    forces: Array
    condition: float  # of J H^-1 J^T: how much the forces may amplify errors


@dataclass(frozen=True, eq=False)
class Body:
    """Axes, Jacobians, and motion at zero joint acceleration of a frame, all in world axes."""

    R: Exact
    p: Exact  # the origin
    Jv: Exact  # (3, nv) of it
    Jw: Exact
    v: Exact
    w: Exact
    dv: Exact  # acceleration of the origin
    dw: Exact

    def carried(self, placement: Any) -> Body:
        """A frame fixed to this one."""
        X = np.asarray(placement, np.longdouble)
        r = self.R @ X[:3, 3]
        turning = skew(self.w)
        return Body(
            R=self.R @ X[:3, :3],
            p=self.p + r,
            Jv=self.Jv - skew(r) @ self.Jw,
            Jw=self.Jw,
            v=self.v + turning @ r,
            w=self.w,
            dv=self.dv + skew(self.dw) @ r + turning @ turning @ r,
            dw=self.dw,
        )

    def driven(self, turn: Exact, travel: Exact, twists: Exact, rates: Exact, first: int) -> Body:
        """The far side of a joint; its twists (6, n) [linear; angular] are in the axes of that side."""
        pose = np.eye(4, dtype=np.longdouble)
        pose[:3, :3], pose[:3, 3] = turn, travel
        far = self.carried(pose)
        columns = slice(first, first + len(rates))
        Jv, Jw = far.Jv.copy(), far.Jw.copy()
        Jv[:, columns] += far.R @ twists[:3]
        Jw[:, columns] += far.R @ twists[3:]
        slip, spin = far.R @ twists[:3] @ rates, far.R @ twists[3:] @ rates
        dv, dw = far.dv + (2 * skew(self.w) + skew(spin)) @ slip, far.dw + skew(self.w) @ spin
        return Body(far.R, far.p, Jv, Jw, far.v + slip, far.w + spin, dv, dw)

    def at(self, frame: Body) -> Body:
        """What is fixed to this body and at present where the frame is."""
        pose = np.eye(4, dtype=np.longdouble)
        pose[:3, :3], pose[:3, 3] = self.R.T @ frame.R, self.R.T @ (frame.p - self.p)
        return self.carried(pose)


def solve(model: fw.Model, q: Array, v: Array, tau: Array, constraints: Sequence[AnyConstraint]) -> Solution:
    """One sample, any rows."""
    H, h, J, b, R = equations(model.description, q, v, constraints)
    C = cholesky(H)
    free = back_substitute(C.T, forward_substitute(C, tau - h))
    Y = forward_substitute(C, J.T).T  # J H^-1 J^T = Y Y^T
    Y = np.hstack([Y, np.diag(np.sqrt(R))])  # a soft row moves a degree of freedom of its own
    Y_inverse = pseudo_inverse(Y)
    step = Y_inverse @ (b - J @ free)
    a, forces = free + back_substitute(C.T, step[: len(v)]), Y_inverse.T @ step
    return Solution(a.astype(np.float64), forces.astype(np.float64), float(np.linalg.cond(Y.astype(np.float64))) ** 2)


def delassus(model: fw.Model, q: Array, constraints: Sequence[AnyConstraint]) -> Exact:
    """J H^-1 J^T of one sample."""
    H, _, J, _, _ = equations(model.description, q, np.zeros(model.nv), constraints)
    Y = forward_substitute(cholesky(H), J.T)
    matrix: Exact = Y.T @ Y
    return matrix


def damped_inverse(matrix: Exact, damping: float) -> Exact:
    """(matrix + damping)^-1 of a positive one."""
    eye = np.eye(len(matrix), dtype=np.longdouble)
    Y = forward_substitute(cholesky(matrix + damping * eye), eye)
    inverse: Exact = Y.T @ Y
    return inverse


def equations(
    model: ModelDescription, q: Array, v: Array, constraints: Sequence[AnyConstraint]
) -> tuple[Exact, Exact, Exact, Exact, Exact]:
    """(H, h, J, b, R) of H a + h = tau + J^T f, J a + R f = b, R a diagonal."""
    bodies = move(model, q.astype(np.longdouble), v.astype(np.longdouble))
    H = np.diag(np.concatenate([np.zeros(j.nv) if j.armature is None else j.armature for j in model.joints]))
    H, h = H.astype(np.longdouble), np.zeros(len(v), np.longdouble)
    for link in model.links:
        if link.inertia is not None:
            centre = bodies[link.name].carried(_shift(link.inertia.com))
            I_W = centre.R @ link.inertia.matrix @ centre.R.T
            H += link.inertia.mass * centre.Jv.T @ centre.Jv + centre.Jw.T @ I_W @ centre.Jw
            h += link.inertia.mass * (centre.dv - model.gravity) @ centre.Jv
            h += (I_W @ centre.dw + skew(centre.w) @ I_W @ centre.w) @ centre.Jw
    rows = [_rows(model, bodies, q, v, constraint) for constraint in constraints]
    J, b, R = (np.concatenate(part) for part in zip(*rows, strict=True))
    return H, h, J, b, R


def move(model: ModelDescription, q: Exact, v: Exact) -> dict[str, Body]:
    """All links by name, and the world."""
    nothing, eye = np.zeros(3, np.longdouble), np.eye(3, dtype=np.longdouble)
    blank = np.zeros((3, len(v)), np.longdouble)
    bodies = {"world": Body(eye, nothing, blank, blank, nothing, nothing, nothing, nothing)}
    q_end, v_end = 0, 0
    for link, joint in zip(model.links, model.joints, strict=True):
        turn, travel, twists = _joint(joint, q[q_end : q_end + joint.nq])
        near = bodies[joint.parent].carried(joint.placement)
        far = near.driven(turn, travel, twists, v[v_end : v_end + joint.nv], v_end)
        bodies[link.name] = far.carried(joint.child_placement)
        q_end, v_end = q_end + joint.nq, v_end + joint.nv
    return bodies


def _joint(joint: Joint, q: Exact) -> tuple[Exact, Exact, Exact]:
    """Rotation, translation and twists (6, nv), the latter in the axes of the moving side."""
    eye, nothing, twists = np.eye(3, dtype=np.longdouble), np.zeros(3, np.longdouble), np.eye(6, dtype=np.longdouble)
    if joint.type == "fixed":
        return eye, nothing, twists[:, :0]
    if joint.type == "free":
        return _rotation(q[3:]), q[:3], twists
    if joint.type == "spherical":
        return _rotation(q), nothing, twists[:, 3:]
    if joint.axis is None or joint.type not in ("revolute", "continuous", "prismatic"):
        raise ValueError(f"joint {joint.name!r}: the oracle has no {joint.type} joints")
    axis = joint.axis.astype(np.longdouble)
    axis = axis / np.sqrt(axis @ axis)
    if joint.type == "prismatic":
        return eye, axis * q[0], np.concatenate([axis, nothing])[:, None]
    half = q[0] / 2
    turn = _rotation(np.append(axis * np.sin(half), np.cos(half)))
    return turn, nothing, np.concatenate([nothing, axis])[:, None]


def _rotation(quaternion: Exact) -> Exact:
    """Of a quaternion xyzw of any length: 1 + 2 (w [u] + [u]^2) / |q|^2."""
    u = skew(quaternion[:3])
    turn: Exact = np.eye(3) + 2 * (quaternion[3] * u + u @ u) / (quaternion @ quaternion)
    return turn


def skew(u: Exact) -> Exact:
    """[u]: the matrix of u x."""
    x, y, z = u
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], np.longdouble)


def _shift(point: Array) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def _rows(
    model: ModelDescription, bodies: dict[str, Body], q: Array, v: Array, constraint: AnyConstraint
) -> tuple[Exact, Exact, Exact]:
    """(J, b, R) of one constraint."""
    if isinstance(constraint, fw.JointCoupling | fw.JointCombination):
        J, drift = _coupling(model, q, v, constraint)
    elif isinstance(constraint, fw.DistanceConstraint):
        J, drift = _rod(model, bodies, constraint)
    else:
        J, drift = _frame(model, bodies, constraint)
    wanted, R = (
        np.broadcast_to(np.asarray(given, np.longdouble), len(J))
        for given in (constraint.acceleration, constraint.compliance)
    )
    return J, wanted - drift, R


def _mounted(model: ModelDescription, bodies: dict[str, Body], frame: object, offset: ArrayLike | None) -> Body:
    mounts = {frame.name: (frame.link, frame.placement) for frame in model.frames}
    link, placement = ("world", np.eye(4)) if frame is None else mounts.get(str(frame), (str(frame), np.eye(4)))
    X = np.eye(4) if offset is None else np.asarray(offset)
    return bodies[link].carried(placement).carried(_shift(X) if X.ndim == 1 else X)


def _frame(
    model: ModelDescription, bodies: dict[str, Body], constraint: Constraint | fw.HingeConstraint
) -> tuple[Exact, Exact]:
    """Of the motion of one frame as seen from the other; of a point its acceleration, of a frame the spatial one."""
    a = _mounted(model, bodies, constraint.frame, constraint.offset)
    b = _mounted(model, bodies, constraint.to, None).at(a)
    if isinstance(constraint, fw.PointConstraint):
        linear = a.dv - b.dv - skew(b.w) @ (a.v - b.v)
    else:
        spatial = a.dv - skew(a.w) @ a.v - b.dv + skew(b.w) @ b.v
        linear = spatial + skew(a.w) @ b.v + skew(a.v) @ b.w
    angular = a.dw - b.dw + skew(a.w) @ b.w
    names = constraint.rows
    if isinstance(constraint, fw.HingeConstraint) and names is None:
        names = [row for row in ROWS if row != "r" + constraint.axis]
    rows = [ROWS.index(row) for row in names or ()]
    J = np.concatenate([a.R.T @ (a.Jv - b.Jv), a.R.T @ (a.Jw - b.Jw)])[rows]
    return J, np.concatenate([a.R.T @ linear, a.R.T @ angular])[rows]


def _rod(model: ModelDescription, bodies: dict[str, Body], constraint: fw.DistanceConstraint) -> tuple[Exact, Exact]:
    """The second derivative of the distance between two points."""
    a = _mounted(model, bodies, constraint.frame, constraint.offset)
    b = _mounted(model, bodies, constraint.to, constraint.to_offset)
    apart, u = a.p - b.p, a.v - b.v
    length = np.sqrt(apart @ apart)
    n = apart / length
    return (n @ (a.Jv - b.Jv))[None], np.array([n @ (a.dv - b.dv) + (u @ u - (n @ u) ** 2) / length])


def _coupling(
    model: ModelDescription, q: Array, v: Array, constraint: fw.JointCoupling | fw.JointCombination
) -> tuple[Exact, Exact]:
    """The second derivative of a sum of polynomials of coordinates."""
    if isinstance(constraint, fw.JointCoupling):
        terms = {constraint.joint: np.polynomial.Polynomial([0.0, 1.0])}
        if constraint.to is not None:
            terms[constraint.to] = -np.polynomial.Polynomial(np.atleast_1d(np.asarray(constraint.polynomial)))
    else:
        terms = {name: np.polynomial.Polynomial([0.0, c]) for name, c in constraint.pairs}
    J, drift, q_end, v_end = np.zeros((1, len(v)), np.longdouble), np.zeros(1, np.longdouble), 0, 0
    for joint in model.joints:
        if joint.name in terms:
            p, x, rate = terms[joint.name], np.longdouble(q[q_end]), np.longdouble(v[v_end])
            J[0, v_end] = p.deriv(1)(x)
            drift[0] += p.deriv(2)(x) * rate**2
        q_end, v_end = q_end + joint.nq, v_end + joint.nv
    return J, drift
