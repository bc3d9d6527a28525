"""Constrained forward dynamics by aba on bodies that rows of loops stiffen and couple, by 1 / eps: any rows.

A row between links makes the force on one depend on the acceleration of the other. Links are eliminated from the leaves
inward, those with the fewest couplings first; what is left of their couplings passes to their parents and between their
neighbours. Every further iteration is an affine sweep. Source: A. S. Sathya and J. Carpentier, "Constrained articulated
body dynamics algorithms". Oracle: dense algebra; ``loop_pv``, which needs neither couplings nor stiffness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import driving, rigid_bodies
from featherweight.reference.constraints import row_values
from featherweight.reference.loop_pv import LoopRows
from featherweight.reference.proximal import largest_mobility, proximal_point
from featherweight.reference.tree import WORLD, LinkState


def loop_aba(
    model: ModelDescription,
    q: Array,
    v: Array,
    tau: Array,
    rows: Sequence[LoopRows],
    *,
    eps: float = 1e-5,
    tolerance: float = 1e-11,
    max_iterations: int = 500,
) -> tuple[Array, Array, int, bool]:
    """Accelerations (nv,), forces (m,), iterations, converged. ``eps`` is relative to the largest mobility of a row."""
    bodies = rigid_bodies(model, q, v)
    tau = driving(bodies, tau)
    K, k = rows_on_links(bodies.links, bodies.c, rows)
    eps *= largest_mobility(bodies, K)
    tree = CoupledBodies(bodies.links, bodies.inertia, K / np.sqrt(eps))

    def solve(target: Array, drive: float) -> tuple[Array, Array]:
        p = drive * bodies.p - target @ K / eps
        a, acceleration = tree.accelerate(drive * tau, drive * bodies.c, p)
        return a, (target - row_values(K, acceleration)) / eps

    return proximal_point(solve, k, eps, tolerance, max_iterations)


def rows_on_links(links: list[LinkState], c: Array, rows: Sequence[LoopRows]) -> tuple[Array, Array]:
    """K (n + 1, m, 6) and k (m,): terms on joints become a pair of ends, on the link of the joint and on its parent."""
    K, k = np.zeros((len(links) + 1, sum(len(row.k) for row in rows), 6)), np.concatenate([row.k for row in rows])
    first = 0
    for row in rows:
        span = slice(first, first + len(row.k))
        for on, K_end in row.ends:
            K[on, span] += K_end
        for i, link in enumerate(links):
            if np.any(row.E[:, link.dofs]):
                across = row.E[:, link.dofs] @ np.linalg.pinv(link.S)  # E a = across (a_link - X a_parent - c)
                K[i, span] += across
                K[link.parent, span] -= across @ link.X
                k[span] += across @ c[i]
        first += len(row.k)
    K[WORLD] = 0.0
    return K, k


@dataclass(frozen=True, eq=False)
class Eliminated:
    """A joint, and what of its link the others feel."""

    U: Array  # (6, nv of the joint) force on the link per joint acceleration
    D_inverse: Array
    I_a: Array  # (6, 6) what the parent feels of the link
    W: dict[int, Array]  # per neighbour (6, nv of the joint): force on it per joint acceleration
    T: dict[int, Array]  # per neighbour (6, 6): force on it per acceleration of the parent, in the axes of the link


class CoupledBodies:
    """M a + p = 0 with M_ij = K_i^T K_j, and the inertia of link i added to M_ii: all links eliminated."""

    def __init__(self, links: list[LinkState], inertia: Array, K: Array) -> None:
        M = np.einsum("imr,jms->ijrs", K, K)
        M[range(len(links)), range(len(links))] += inertia[:-1]
        self.links, self.joints = links, dict[int, Eliminated]()
        left = set(range(len(links)))
        while left:
            parents = {links[i].parent for i in left}
            near = {i: [j for j in left if j != i and np.any(M[i, j])] for i in left - parents}
            i = min(near, key=lambda i: (len(near[i]), -i))
            self.joints[i] = joint = self._eliminate(M, i, near[i])
            left.remove(i)
            link = links[i]
            M[link.parent, link.parent] += link.X.T @ joint.I_a @ link.X
            for j, T in joint.T.items():
                M[j, link.parent] += T @ link.X
                M[link.parent, j] += (T @ link.X).T

    def _eliminate(self, M: Array, i: int, near: list[int]) -> Eliminated:
        link = self.links[i]
        U = M[i, i] @ link.S
        D_inverse = np.linalg.inv(link.S.T @ U + np.diag(link.armature))
        stays = np.eye(6) - link.S @ D_inverse @ U.T
        W = {j: M[j, i] @ link.S for j in near}
        T = {j: M[j, i] @ stays for j in near}
        for j in near:
            for k in near:
                M[j, k] -= W[j] @ D_inverse @ W[k].T
        return Eliminated(U, D_inverse, M[i, i] - U @ D_inverse @ U.T, W, T)

    def accelerate(self, tau: Array, c: Array, p: Array) -> tuple[Array, Array]:
        """Accelerations of the joints (nv,) and of the links (n + 1, 6), linear in (tau, c, p)."""
        p_A, u, a, acceleration = p.copy(), np.zeros_like(tau), np.zeros_like(tau), np.zeros_like(p)
        for i, joint in self.joints.items():
            link = self.links[i]
            u[link.dofs] = tau[link.dofs] - link.S.T @ p_A[i]
            answer = joint.D_inverse @ u[link.dofs]
            p_A[link.parent] += link.X.T @ (p_A[i] + joint.I_a @ c[i] + joint.U @ answer)
            for j, W in joint.W.items():
                p_A[j] += joint.T[j] @ c[i] + W @ answer
        for i, joint in reversed(self.joints.items()):
            link = self.links[i]
            acceleration[i] = link.X @ acceleration[link.parent] + c[i]
            felt = joint.U.T @ acceleration[i] + sum(W.T @ acceleration[j] for j, W in joint.W.items())
            a[link.dofs] = joint.D_inverse @ (u[link.dofs] - felt)
            acceleration[i] += link.S @ a[link.dofs]
        return a, acceleration
