"""Constrained forward dynamics by Popov and Vereshchagin: aba that carries constraint rows to the root,
O(n + m^2 d + m^3). There the matrix L between the forces and what the rows miss is the Delassus matrix J H^-1 J^T.

Between link and root a row is K a + L f = k on the acceleration of the link it has come to: the joints on its way give
in to the forces, which is L. Source: A. S. Sathya et al., "Efficient constrained dynamics algorithms based on an
equivalent LQR formulation using Gauss' principle of least constraint". Oracle: kkt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import Bodies, driving, rigid_bodies
from featherweight.reference.constraints import Rows, Solution, rows_by_link, solution, solve_independent, targets


def pv(
    model: ModelDescription, q: Array, v: Array, tau: Array, rows: Sequence[Rows], f_ext: Array | None = None
) -> Solution:
    """The acceleration and forces; ValueError if the rows are dependent."""
    bodies = rigid_bodies(model, q, v, f_ext)
    world = carry_to_world(bodies, driving(bodies, tau), rows)
    f = solve_independent(world.L, world.k)  # the world does not accelerate: L f = k
    return solution(model, q, v, rows, outward(world, f), f)


@dataclass(frozen=True, eq=False)
class World:
    """The rows when they have come to the world, and what each joint on the way keeps to hand the answer back."""

    L: Array  # (m, m)
    k: Array  # (m,)
    joints: list[tuple[Array, Array, Array, Array]]  # U, D^-1, u of aba; G = K S: how joint accelerations move the rows
    bodies: Bodies


def carry_to_world(bodies: Bodies, tau: Array, rows: Sequence[Rows]) -> World:
    """Leaf to root: project out joint i, hand the rest of body and rows to its parent. Rows elsewhere are zero."""
    I_A, p_A, K, k = bodies.inertia.copy(), bodies.p.copy(), rows_by_link(rows, len(bodies.links)), targets(rows)
    L, joints = np.zeros((k.size, k.size)), []
    for i, link in reversed(list(enumerate(bodies.links))):
        U = I_A[i] @ link.S
        D_inverse = np.linalg.inv(link.S.T @ U + np.diag(link.armature))
        u = tau[link.dofs] - link.S.T @ p_A[i]
        G = K[i] @ link.S
        joints.append((U, D_inverse, u, G))
        I_a = I_A[i] - U @ D_inverse @ U.T
        K_a = K[i] - G @ D_inverse @ U.T
        I_A[link.parent] += link.X.T @ I_a @ link.X
        p_A[link.parent] += link.X.T @ (p_A[i] + I_a @ bodies.c[i] + U @ D_inverse @ u)
        K[link.parent] += K_a @ link.X
        L += G @ D_inverse @ G.T
        k -= K_a @ bodies.c[i] + G @ D_inverse @ u
    return World(L, k, joints[::-1], bodies)


def outward(world: World, f: Array) -> Array:
    """Root to leaf: the accelerations (nv,) under the constraint forces ``f``."""
    a, acceleration = np.zeros(sum(u.size for _, _, u, _ in world.joints)), np.zeros_like(world.bodies.p)
    for i, (link, (U, D_inverse, u, G)) in enumerate(zip(world.bodies.links, world.joints, strict=True)):
        acceleration[i] = link.X @ acceleration[link.parent] + world.bodies.c[i]
        a[link.dofs] = D_inverse @ (u - U.T @ acceleration[i] + G.T @ f)
        acceleration[i] += link.S @ a[link.dofs]
    return a
