"""Forward dynamics by articulated bodies: a = H(q)^-1 (tau - h(q, v) + J^T f_ext) in O(n), H never formed.

Source: [RBDA] chapter 7. Oracle: rnea(aba(tau)) == tau, and a dense solve with H.
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.spatial import force_cross, motion_cross
from featherweight.reference.tree import WORLD, evaluate, world_acceleration


def aba(model: ModelDescription, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """The acceleration (nv,) that the joint forces ``tau`` produce.

    ``f_ext`` (n_links, 6) is the force and moment on each link, in link coordinates at the link origin.
    """
    links = evaluate(model, q, v)
    n = len(links)
    velocity, c, p, acceleration = np.zeros((4, n + 1, 6))
    I_A = np.zeros((n + 1, 6, 6))

    # sweep 1, root to leaf: velocities, rigid-body inertias and bias forces
    for i, link in enumerate(links):
        joint_velocity = link.S @ v[link.dofs]
        velocity[i] = link.X @ velocity[link.parent] + joint_velocity
        c[i] = link.bias + motion_cross(velocity[i]) @ joint_velocity
        I_A[i] = link.inertia
        p[i] = force_cross(velocity[i]) @ link.inertia @ velocity[i]
    if f_ext is not None:
        p[:-1] -= f_ext

    # sweep 2, leaf to root: project out joint i, hand the rest to its parent
    factors = {}
    for i, link in reversed(list(enumerate(links))):
        U = I_A[i] @ link.S
        D_inverse = np.linalg.inv(link.S.T @ U + np.diag(link.armature))
        u = tau[link.dofs] - link.armature_bias - link.S.T @ p[i]
        factors[i] = U, D_inverse, u
        I_a = I_A[i] - U @ D_inverse @ U.T
        I_A[link.parent] += link.X.T @ I_a @ link.X
        p[link.parent] += link.X.T @ (p[i] + I_a @ c[i] + U @ D_inverse @ u)

    # sweep 3, root to leaf: accelerations
    a = np.zeros_like(v)
    acceleration[WORLD] = world_acceleration(model)
    for i, link in enumerate(links):
        U, D_inverse, u = factors[i]
        acceleration[i] = link.X @ acceleration[link.parent] + c[i]
        a[link.dofs] = D_inverse @ (u - U.T @ acceleration[i])
        acceleration[i] += link.S @ a[link.dofs]
    return a
