"""Derivatives of inverse dynamics, dense and in world coordinates.

Degree of freedom k moves along the axis S_k, is carried by a body of velocity V and acceleration A, gravity included,
and leaves one of velocity V' behind it. The force F = I a + v x* (I v) on a link that it moves changes by

    by q_k:  S x* F + I S'' + 2 B S'     with S' = V x S, S'' = A x S + V x S'
    by v_k:  I (V + V') x S + 2 B S      with 2 B x = v x* (I x) - I (v x x) + x x* (I v)

and the axes of the degrees of freedom that it moves turn by S_k x S_j. Source: derivation in docs/theory.md.
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.crba import crba
from featherweight.reference.kinematics import forward_kinematics
from featherweight.reference.rnea import rnea
from featherweight.reference.spatial import force_cross, inverse, motion_cross, motion_transform, skew
from featherweight.reference.tree import WORLD, evaluate, path, world_acceleration


def rnea_derivatives(
    model: ModelDescription, q: Array, v: Array, a: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """(tau, its derivatives by q, v and a), (nv,) and (nv, nv) each; by q in the tangent space."""
    links, X = evaluate(model, q, v), [motion_transform(pose) for pose in forward_kinematics(model, q)]
    moves, before, after = carried(model)
    S = np.concatenate([X[i] @ link.S for i, link in enumerate(links)], axis=1)
    cross = np.stack([motion_cross(s) for s in S.T]) if v.size else np.zeros((0, 6, 6))
    V, V_behind = S * v @ before.T, S * v @ after.T  # (6, nv), as A
    rate = S * a + np.column_stack([motion_cross(x) @ s for x, s in zip(V_behind.T, S.T, strict=True)] or [S]) * v
    A = rate @ before.T + world_acceleration(model)[:, None]
    first = -np.einsum("kij,jk->ik", cross, V)  # S'
    second = -np.einsum("kij,jk->ik", cross, A) + _columnwise(V, first)  # S''
    both = -np.einsum("kij,jk->ik", cross, V + V_behind)

    dq, dv = np.zeros((2, v.size, v.size))
    for i, link in enumerate(links):
        to_link = motion_transform(inverse(forward_kinematics(model, q)[i]))
        inertia = to_link.T @ link.inertia @ to_link
        velocity = S * moves[i] @ v
        momentum = inertia @ velocity
        force = inertia @ (rate @ moves[i] + world_acceleration(model)) + force_cross(velocity) @ momentum
        if f_ext is not None:
            force -= to_link.T @ f_ext[i]
        twice_B = force_cross(velocity) @ inertia - inertia @ motion_cross(velocity) + _crossed_with(momentum)
        J = S * moves[i]
        dq += J.T @ ((_crossed_with(force) @ S + inertia @ second + twice_B @ first) * moves[i])
        dq += after * np.einsum("kij,jm,i->mk", cross, J, force)
        dv += J.T @ ((inertia @ both + twice_B @ S) * moves[i])
    return rnea(model, q, v, a, f_ext), dq, dv + _armature(model, v), crba(model, q)


def carried(model: ModelDescription) -> tuple[Array, Array, Array]:
    """0 or 1: [i, k] whether degree of freedom k moves link i, or what is before, or behind, degree of freedom i."""
    links = evaluate(model, np.concatenate([np.eye(j.nq)[-1] if j.nq else np.zeros(0) for j in model.joints]))
    n = sum(joint.nv for joint in model.joints)
    moves = np.zeros((len(links) + 1, n))
    before, after = np.zeros((2, n, n))
    for i, (link, joint) in enumerate(zip(links, model.joints, strict=True)):
        for k in path(links, i):
            moves[i, links[k].dofs] = 1
        inside = np.arange(n)[link.dofs]
        for k in inside:  # the axes of a ball joint all turn with what is behind it, others move one after the other
            ball = joint.type in ("spherical", "free")
            before[k], after[k] = moves[link.parent], moves[link.parent]
            before[k, inside[inside < k]] = 0 if ball else 1
            after[k, inside if ball else inside[inside <= k]] = 1
    return moves[:WORLD], before, after


def _columnwise(v: Array, m: Array) -> Array:
    """v x m for every column."""
    return np.column_stack([motion_cross(x) @ y for x, y in zip(v.T, m.T, strict=True)] or [m])


def _crossed_with(force: Array) -> Array:
    """The matrix that takes a motion x to x x* force."""
    f, n = skew(force[:3]), skew(force[3:])
    return np.block([[np.zeros((3, 3)), -f], [-f, -n]])


def _armature(model: ModelDescription, v: Array) -> Array:
    """What the armature R of ball joints adds by v: they take the force v x* (R v)."""
    result, end = np.zeros((v.size, v.size)), 0
    for joint in model.joints:
        at, end = slice(end, end + joint.nv), end + joint.nv
        if joint.armature is not None and joint.type in ("spherical", "free"):
            inside, twist, R = slice(6 - joint.nv, 6), np.zeros(6), np.zeros(6)
            twist[inside], R[inside] = v[at], joint.armature
            result[at, at] = (force_cross(twist) @ np.diag(R) + _crossed_with(R * twist))[inside, inside]
    return result
