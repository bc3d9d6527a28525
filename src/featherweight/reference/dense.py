"""A dense oracle that shares nothing with the recursions: no spatial algebra, no motion subspaces, no sweeps.

Every joint is a product of matrix exponentials of 4x4 twists. Poses are differentiated twice along the motion by the
product rule; Newton and Euler are written for each body in the world, and Lagrange's projection onto the columns of
the point Jacobians gives H a + h = tau. Slow, and simple enough to be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import Joint, ModelDescription

Jet = tuple[Array, Array, Array]  # a matrix along a motion, its first and its second rate


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """A link's pose, and its centre of mass in motion, in the world: at (q, v, a)."""

    pose: Array  # (4, 4)
    velocity: Array  # (3,) of the centre of mass
    acceleration: Array  # (3,) of the centre of mass
    angular_velocity: Array  # (3,)
    angular_acceleration: Array  # (3,)


def motions(model: ModelDescription, q: Array, v: Array, a: Array) -> list[BodyMotion]:
    """How every link moves at configuration ``q``, velocity ``v`` and acceleration ``a``."""
    jets: dict[str, Jet] = {"world": _constant(np.eye(4))}
    result, q_end, v_end = [], 0, 0
    for link, joint in zip(model.links, model.joints, strict=True):
        dofs = slice(v_end, v_end + joint.nv)
        moving = _joint_jet(joint, q[q_end : q_end + joint.nq], v[dofs], a[dofs])
        X, dX, ddX = jets[link.name] = reduce(
            _product, [jets[joint.parent], _constant(joint.placement), moving, _constant(joint.child_placement)]
        )
        q_end, v_end = q_end + joint.nq, v_end + joint.nv
        R, dR, ddR = X[:3, :3], dX[:3, :3], ddX[:3, :3]
        com = np.append(link.inertia.com if link.inertia else np.zeros(3), 1.0)
        result.append(BodyMotion(X, (dX @ com)[:3], (ddX @ com)[:3], _axial(dR @ R.T), _axial(ddR @ R.T + dR @ dR.T)))
    return result


def mass_matrix(model: ModelDescription, q: Array) -> Array:
    """H(q), (nv, nv): the sum of m Jc^T Jc + Jw^T I Jw over the bodies, plus the armature."""
    H = np.diag(np.concatenate([np.zeros(j.nv) if j.armature is None else j.armature for j in model.joints]))
    columns = _unit_motions(model, q)
    for i, link in enumerate(model.links):
        if columns and link.inertia is not None:
            R = columns[0][i].pose[:3, :3]
            J_c = np.column_stack([column[i].velocity for column in columns])
            J_w = np.column_stack([column[i].angular_velocity for column in columns])
            H += link.inertia.mass * J_c.T @ J_c + J_w.T @ R @ link.inertia.matrix @ R.T @ J_w
    return H


def bias_forces(model: ModelDescription, q: Array, v: Array, f_ext: Array | None = None) -> Array:
    """h(q, v) - J^T f_ext, (nv,): the forces of Newton and Euler at zero joint acceleration, seen by the joints."""
    h = _armature_forces(model, v)
    columns = _unit_motions(model, q)
    for i, (link, body) in enumerate(zip(model.links, motions(model, q, v, np.zeros_like(v)), strict=True)):
        R, w = body.pose[:3, :3], body.angular_velocity
        force, moment, com = np.zeros(3), np.zeros(3), np.zeros(3)
        if link.inertia is not None:
            I_W, com = R @ link.inertia.matrix @ R.T, link.inertia.com
            force = link.inertia.mass * (body.acceleration - model.gravity)
            moment = I_W @ body.angular_acceleration + np.cross(w, I_W @ w)
        if f_ext is not None:  # moved from the link origin to the centre of mass
            force = force - R @ f_ext[i, :3]
            moment = moment - R @ (f_ext[i, 3:] - np.cross(com, f_ext[i, :3]))
        h += [force @ column[i].velocity + moment @ column[i].angular_velocity for column in columns]
    return h


def _armature_forces(model: ModelDescription, v: Array) -> Array:
    """(nv,) rates of the momenta p = A u and l = B w of ball joints with armature A, B, which turn with the axes."""
    h, end = np.zeros_like(v), 0
    for joint in model.joints:
        at, end = slice(end, end + joint.nv), end + joint.nv
        if joint.armature is not None and joint.type in ("spherical", "free"):
            momentum, w = joint.armature * v[at], v[at][-3:]
            h[at][-3:] = np.cross(w, momentum[-3:])
            if joint.type == "free":
                h[at][:3] = np.cross(w, momentum[:3])
                h[at][-3:] += np.cross(v[at][:3], momentum[:3])
    return h


def _unit_motions(model: ModelDescription, q: Array) -> list[list[BodyMotion]]:
    """Per degree of freedom, how every link moves when it alone has unit velocity: the columns of Jacobians."""
    nv = sum(joint.nv for joint in model.joints)
    return [motions(model, q, unit, np.zeros(nv)) for unit in np.eye(nv)]


def _joint_jet(joint: Joint, q: Array, v: Array, a: Array) -> Jet:
    """The joint's motion as exponentials of its twists, each jet M, M K v, M (K^2 v^2 + K a)."""
    if joint.type in ("spherical", "free"):  # body velocity: M' = M V, M'' = M (V^2 + V')
        free = joint.type == "free"
        M = np.eye(4)
        M[:3, :3] = _rotation(q[-4:])
        M[:3, 3] = q[:3] if free else 0.0
        V, dV = (_twist(x[:3], x[3:]) if free else _twist(np.zeros(3), x) for x in (v, a))
        return M, M @ V, M @ (V @ V + dV)
    jets = [
        (_exp(K * x), _exp(K * x) @ K * dx, _exp(K * x) @ (K @ K * dx**2 + K * ddx))
        for K, x, dx, ddx in zip(_twists(joint), q, v, a, strict=True)
    ]
    return reduce(_product, jets, _constant(np.eye(4)))


def _twists(joint: Joint) -> list[Array]:
    """Per degree of freedom, in the order they are carried out, the 4x4 twist whose exponential moves it."""
    zero, (x, y, z) = np.zeros(3), np.eye(3)
    axis = zero if joint.axis is None else joint.axis
    axis2 = zero if joint.axis2 is None else joint.axis2
    return {
        "fixed": [],
        "revolute": [_twist(zero, axis)],
        "continuous": [_twist(zero, axis)],
        "prismatic": [_twist(axis, zero)],
        "helical": [_twist(joint.pitch * axis, axis)],
        "universal": [_twist(zero, axis), _twist(zero, axis2)],
        "planar": [_twist(x, zero), _twist(y, zero), _twist(zero, z)],
    }[joint.type]


def _twist(linear: Array, angular: Array) -> Array:
    K = np.zeros((4, 4))
    K[:3, :3] = np.cross(np.eye(3), angular)
    K[:3, 3] = linear
    return K


def _axial(W: Array) -> Array:
    """The vector of a skew-symmetric 3x3 matrix."""
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def _rotation(quaternion: Array) -> Array:
    """q x q^-1 as a matrix acting on x: products with q from the left and with q^-1 from the right."""
    x, y, z, w = quaternion
    left = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])
    right = np.array([[w, z, -y, x], [-z, w, x, y], [y, -x, w, z], [-x, -y, -z, w]])
    product: Array = left @ right.T
    return product[:3, :3]


def _exp(K: Array) -> Array:
    """Matrix exponential by its series, after halving K until the series converges fast, and squaring back."""
    halvings = max(0, int(np.ceil(np.log2(np.abs(K).sum() + 1e-300))) + 2)
    term = result = np.eye(4)
    for k in range(1, 16):
        term = term @ K / (2**halvings * k)
        result = result + term
    return np.linalg.matrix_power(result, 2**halvings)


def _constant(X: Array) -> Jet:
    return X, np.zeros((4, 4)), np.zeros((4, 4))


def _product(A: Jet, B: Jet) -> Jet:
    return A[0] @ B[0], A[1] @ B[0] + A[0] @ B[1], A[2] @ B[0] + 2 * A[1] @ B[1] + A[0] @ B[2]
