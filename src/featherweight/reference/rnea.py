"""Inverse dynamics by the recursive Newton-Euler algorithm, and what follows from it by leaving terms out.

tau = H(q) a + h(q, v) - J^T f_ext in O(n). Source: [RBDA] chapter 5.
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.spatial import force_cross, motion_cross
from featherweight.reference.tree import WORLD, evaluate, world_acceleration


def rnea(model: ModelDescription, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
    """The joint forces (nv,) that produce the acceleration ``a``.

    ``f_ext`` (n_links, 6) is the force and moment on each link, in link coordinates at the link origin.
    """
    links = evaluate(model, q, v)
    velocity, acceleration, force = np.zeros((3, len(links) + 1, 6))
    acceleration[WORLD] = world_acceleration(model)
    tau = np.zeros_like(v)

    # sweep 1, root to leaf: motion of each link, and the force this motion takes
    for i, link in enumerate(links):
        joint_velocity = link.S @ v[link.dofs]
        velocity[i] = link.X @ velocity[link.parent] + joint_velocity
        acceleration[i] = link.X @ acceleration[link.parent] + link.S @ a[link.dofs]
        acceleration[i] += link.bias + motion_cross(velocity[i]) @ joint_velocity
        force[i] = link.inertia @ acceleration[i] + force_cross(velocity[i]) @ link.inertia @ velocity[i]
    if f_ext is not None:
        force[:-1] -= f_ext

    # sweep 2, leaf to root: the joint gives what it can move, its parent carries the whole
    for i, link in reversed(list(enumerate(links))):
        tau[link.dofs] = link.S.T @ force[i] + link.armature * a[link.dofs] + link.armature_bias
        force[link.parent] += link.X.T @ force[i]
    return tau


def bias_forces(model: ModelDescription, q: Array, v: Array) -> Array:
    """h(q, v): the joint forces (nv,) that hold the acceleration at zero."""
    return rnea(model, q, v, np.zeros_like(v))


def gravity_forces(model: ModelDescription, q: Array) -> Array:
    """h(q, 0): the joint forces (nv,) that hold the robot at rest."""
    at_rest = np.zeros(sum(joint.nv for joint in model.joints))
    return rnea(model, q, at_rest, at_rest)
