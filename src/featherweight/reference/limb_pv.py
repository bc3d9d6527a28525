"""Popov-Vereshchagin that solves for the constraint forces of a limb where the limb ends, O(n + m): any rows.

A limb's rows are carried on, none of them eliminated, to the link where it meets another limb, or to the world: by then
its joints have all answered. If they can move every row, one block elimination of L + eps, without any pivoting, turns
the rows into inertia of that link; if not, the limbs go on as one. The proximal iteration takes eps out again.
Oracle: kkt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import Bodies, driving, rigid_bodies
from featherweight.reference.constraints import Rows, Solution, rows_by_link, solution, spans, targets
from featherweight.reference.elimination import Block, ldl
from featherweight.reference.proximal import largest_mobility, proximal_point
from featherweight.reference.tree import WORLD


def limb_pv(
    model: ModelDescription,
    q: Array,
    v: Array,
    tau: Array,
    rows: Sequence[Rows],
    f_ext: Array | None = None,
    *,
    eps: float = 1e-9,
    pivot: float = 1e-3,
    tolerance: float = 1e-13,
    max_iterations: int = 100,
) -> Solution:
    """``eps`` and the smallest ``pivot`` at which a limb may end are relative to the largest mobility of a row."""
    bodies = rigid_bodies(model, q, v, f_ext)
    tau = driving(bodies, tau)
    eps, pivot = np.array([eps, pivot]) * largest_mobility(bodies, rows_by_link(rows, len(model.links)))
    limbs = Limbs(bodies, rows, eps, pivot)

    def solve(target: Array, drive: float) -> tuple[Array, Array]:
        return limbs.solve(target, drive * tau, drive * bodies.c, drive * bodies.p)

    a, f, iterations, converged = proximal_point(solve, targets(rows), eps, tolerance, max_iterations)
    return solution(model, q, v, rows, a, f, iterations, converged)


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two articulated bodies, and the rows that pass it."""

    U: Array
    D_inverse: Array
    I_a: Array
    at: list[int]  # the rows
    G: Array  # how the joint's accelerations move them
    K_a: Array  # how the parent's acceleration moves them


class Limbs:
    """The inertias and rows of all limbs, eliminated; forces and accelerations follow from it by linear sweeps."""

    def __init__(self, bodies: Bodies, rows: Sequence[Rows], eps: float, pivot: float) -> None:
        """Leaf to root: project out joint i, hand the rest of body and rows to its parent."""
        m = targets(rows).size
        self.links, self.joints = bodies.links, list[Joint]()
        self.ends: list[list[Block]] = [[] for _ in bodies.p]
        I_A, K, L = bodies.inertia.copy(), np.zeros((m, 6)), eps * np.eye(m)
        own: list[list[int]] = [[] for _ in bodies.p]
        arriving: list[list[list[int]]] = [[] for _ in bodies.p]  # per link, the rows of each limb that comes to it
        for row, span in zip(rows, spans(rows), strict=True):
            K[span] = row.K
            own[row.link] += range(span.start, span.stop)

        def end(i: int, at: list[int]) -> None:
            block = Block(at, K[at], *ldl(L[np.ix_(at, at)]))
            self.ends[i].append(block)
            I_A[i] += block.K.T @ block.solve(block.K)

        for i, link in reversed(list(enumerate(bodies.links))):
            at = own[i]
            for limb in arriving[i]:
                if len(arriving[i]) > 1 and min(ldl(L[np.ix_(limb, limb)])[1]) > pivot:
                    end(i, limb)
                else:
                    at = at + limb
            U = I_A[i] @ link.S
            D_inverse = np.linalg.inv(link.S.T @ U + np.diag(link.armature))
            I_a = I_A[i] - U @ D_inverse @ U.T
            G = K[at] @ link.S
            K_a = K[at] - G @ D_inverse @ U.T
            self.joints.append(Joint(U, D_inverse, I_a, at, G, K_a))
            I_A[link.parent] += link.X.T @ I_a @ link.X
            K[at] = K_a @ link.X
            L[np.ix_(at, at)] += G @ D_inverse @ G.T
            arriving[link.parent] += [at] if at else []
        self.joints.reverse()
        for at in [own[WORLD], *arriving[WORLD]]:
            end(WORLD, at)

    def solve(self, target: Array, tau: Array, c: Array, p: Array) -> tuple[Array, Array]:
        """(a, f) of J a + eps f = target, linear in all arguments.

        Without tau, c and p, as in a proximal increment, a target comes to the end of its limb unchanged: a fast
        program then visits only the links above, and the limbs once, when the forces have settled.
        """
        p_A, k, u = p.copy(), target.copy(), np.zeros_like(tau)
        for i, (link, joint) in reversed(list(enumerate(zip(self.links, self.joints, strict=True)))):
            for end in self.ends[i]:
                p_A[i] -= end.K.T @ end.solve(k[end.at])
            u[link.dofs] = tau[link.dofs] - link.S.T @ p_A[i]
            answer = joint.D_inverse @ u[link.dofs]
            p_A[link.parent] += link.X.T @ (p_A[i] + joint.I_a @ c[i] + joint.U @ answer)
            k[joint.at] -= joint.K_a @ c[i] + joint.G @ answer

        a, f, acceleration = np.zeros_like(tau), np.zeros_like(target), np.zeros_like(p)
        for end in self.ends[WORLD]:
            f[end.at] = end.solve(k[end.at])
        for i, (link, joint) in enumerate(zip(self.links, self.joints, strict=True)):
            acceleration[i] = link.X @ acceleration[link.parent] + c[i]
            push = u[link.dofs] - joint.U.T @ acceleration[i] + joint.G.T @ f[joint.at]
            a[link.dofs] = joint.D_inverse @ push
            acceleration[i] += link.S @ a[link.dofs]
            for end in self.ends[i]:
                f[end.at] = end.solve(k[end.at] - end.K @ acceleration[i])
        return a, f
