"""The sweeps that the constrained algorithms share with aba, each on its own. Source: [RBDA] chapter 7.

Gravity is a force on each link here, not an acceleration of the world: accelerations are then the true ones, and
constraint targets need no shift. Everything with index i lives in link i; the last entry of an array is the world.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.spatial import force_cross, motion_cross
from featherweight.reference.tree import WORLD, LinkState, evaluate


@dataclass(frozen=True, eq=False)
class Bodies:
    """The links as rigid bodies in motion."""

    links: list[LinkState]
    c: Array  # (n + 1, 6) acceleration of each link across its joint at zero joint acceleration
    inertia: Array  # (n + 1, 6, 6)
    p: Array  # (n + 1, 6) bias forces: what the links take at zero acceleration


def rigid_bodies(model: ModelDescription, q: Array, v: Array, f_ext: Array | None = None) -> Bodies:
    """Root to leaf: velocities, rigid-body inertias and bias forces."""
    links = evaluate(model, q, v)
    velocity, gravity, c, p = np.zeros((4, len(links) + 1, 6))
    inertia = np.zeros((len(links) + 1, 6, 6))
    gravity[WORLD, :3] = model.gravity
    for i, link in enumerate(links):
        joint_velocity = link.S @ v[link.dofs]
        velocity[i] = link.X @ velocity[link.parent] + joint_velocity
        gravity[i] = link.X @ gravity[link.parent]
        c[i] = link.bias + motion_cross(velocity[i]) @ joint_velocity
        inertia[i] = link.inertia
        p[i] = force_cross(velocity[i]) @ link.inertia @ velocity[i] - link.inertia @ gravity[i]
    if f_ext is not None:
        p[:-1] -= f_ext
    return Bodies(links, c, inertia, p)


def driving(bodies: Bodies, tau: Array) -> Array:
    """(nv,) what is left of tau for the links: the armature of ball joints takes its part."""
    return np.asarray(tau - np.concatenate([np.zeros(0), *(link.armature_bias for link in bodies.links)]))


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two articulated bodies."""

    U: Array  # (6, nv of the joint) force on the link per joint acceleration
    D_inverse: Array  # (nv, nv of the joint) joint acceleration per joint force
    I_a: Array  # (6, 6) what the parent feels of the link


def articulate(links: list[LinkState], inertia: Array) -> list[Joint]:
    """Leaf to root: project out joint i, hand the rest of the inertia to its parent."""
    I_A, joints = inertia.copy(), []
    for i, link in reversed(list(enumerate(links))):
        U = I_A[i] @ link.S
        D_inverse = np.linalg.inv(link.S.T @ U + np.diag(link.armature))
        joints.append(Joint(U, D_inverse, I_A[i] - U @ D_inverse @ U.T))
        I_A[link.parent] += link.X.T @ joints[-1].I_a @ link.X
    return joints[::-1]


def accelerate(links: list[LinkState], joints: list[Joint], tau: Array, c: Array, p: Array) -> tuple[Array, Array]:
    """Accelerations of the joints (nv,) and of the links (n + 1, 6), linear in (tau, c, p)."""
    p_A, u, a, acceleration = p.copy(), np.zeros_like(tau), np.zeros_like(tau), np.zeros_like(p)
    for i, (link, joint) in reversed(list(enumerate(zip(links, joints, strict=True)))):
        u[link.dofs] = tau[link.dofs] - link.S.T @ p_A[i]
        p_A[link.parent] += link.X.T @ (p_A[i] + joint.I_a @ c[i] + joint.U @ joint.D_inverse @ u[link.dofs])
    for i, (link, joint) in enumerate(zip(links, joints, strict=True)):
        acceleration[i] = link.X @ acceleration[link.parent] + c[i]
        a[link.dofs] = joint.D_inverse @ (u[link.dofs] - joint.U.T @ acceleration[i])
        acceleration[i] += link.S @ a[link.dofs]
    return a, acceleration


def carry(link: LinkState, joint: Joint) -> Array:
    """(6, 6): the acceleration of a link per acceleration of its parent, when nothing drives its joint."""
    Phi: Array = (np.eye(6) - link.S @ joint.D_inverse @ joint.U.T) @ link.X
    return Phi


def compliances(links: list[LinkState], joints: list[Joint]) -> Array:
    """(n + 1, 6, 6): the acceleration of each link per force on it, root to leaf; zero for the world."""
    omega = np.zeros((len(links) + 1, 6, 6))
    for i, (link, joint) in enumerate(zip(links, joints, strict=True)):
        Phi = carry(link, joint)
        omega[i] = link.S @ joint.D_inverse @ link.S.T + Phi @ omega[link.parent] @ Phi.T
    return omega


def mobilities(links: list[LinkState], joints: list[Joint], K: Array) -> Array:
    """(m,): the diagonal of J H^-1 J^T, of rows by link."""
    diagonal: Array = np.einsum("imj,ijk,imk->m", K, compliances(links, joints), K)
    return diagonal
