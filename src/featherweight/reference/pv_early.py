"""Popov-Vereshchagin that solves for a constraint force as soon as a joint can answer it, O(n + m): any rows.

After each joint the rows that it moves well are eliminated, largest pivot first, and turn into inertia of the body; the
others travel on, at most six at a time. Each row starts with L = eps, and the proximal iteration takes eps out again:
no pivot is ever smaller, and none that is small is taken on a moving body. Oracle: kkt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import Bodies, driving, rigid_bodies
from featherweight.reference.constraints import Rows, Solution, rows_by_link, solution, spans, targets
from featherweight.reference.elimination import Removal, RowSystem, Turn, recover
from featherweight.reference.proximal import largest_mobility, proximal_point
from featherweight.reference.tree import WORLD


def pv_early(
    model: ModelDescription,
    q: Array,
    v: Array,
    tau: Array,
    rows: Sequence[Rows],
    f_ext: Array | None = None,
    *,
    eps: float = 1e-9,
    pivot: float = 1e-2,
    tolerance: float = 1e-13,
    max_iterations: int = 100,
) -> Solution:
    """``eps`` and the smallest ``pivot`` to eliminate are relative to the largest mobility of a row."""
    bodies = rigid_bodies(model, q, v, f_ext)
    tau = driving(bodies, tau)
    eps, pivot = np.array([eps, pivot]) * largest_mobility(bodies, rows_by_link(rows, len(model.links)))

    def solve(target: Array, drive: float) -> tuple[Array, Array]:
        # increments have the same inertias, rows and pivots: a fast program keeps them and propagates p and k only
        driven = Bodies(bodies.links, drive * bodies.c, bodies.inertia, drive * bodies.p)
        return sweep(driven, drive * tau, rows, target, eps, pivot)

    a, f, iterations, converged = proximal_point(solve, targets(rows), eps, tolerance, max_iterations)
    return solution(model, q, v, rows, a, f, iterations, converged)


def sweep(
    bodies: Bodies, tau: Array, rows: Sequence[Rows], target: Array, eps: float, pivot: float
) -> tuple[Array, Array]:
    """(a, f) of J a + eps f = target."""
    system = RowSystem(np.zeros((target.size, 6)), eps * np.eye(target.size), target.copy())
    I_A, p_A = bodies.inertia.copy(), bodies.p.copy()
    carried: list[list[int]] = [[] for _ in p_A]  # the rows on each link, at most six ...
    folded: list[list[Turn | Removal]] = [[] for _ in p_A]  # ... and the steps that brought them down to six

    def carry(i: int, arriving: list[int]) -> None:
        carried[i], steps = system.fold(carried[i] + arriving)
        folded[i] += steps

    for row, span in zip(rows, spans(rows), strict=True):
        system.K[span] = row.K
        carry(row.link, list(range(span.start, span.stop)))

    # leaf to root: project out joint i, then the forces it can answer; hand the rest of body and rows to its parent
    joints = []
    for i, link in reversed(list(enumerate(bodies.links))):
        at, removed = carried[i], list[Turn | Removal]()
        U = I_A[i] @ link.S
        D_inverse = np.linalg.inv(link.S.T @ U + np.diag(link.armature))
        u = tau[link.dofs] - link.S.T @ p_A[i]
        G = system.K[at] @ link.S
        joints.append((U, D_inverse, u, G, at, removed))
        I_a, p_a = I_A[i] - U @ D_inverse @ U.T, p_A[i] + U @ D_inverse @ u
        system.L[np.ix_(at, at)] += G @ D_inverse @ G.T
        system.K[at] -= G @ D_inverse @ U.T
        system.k[at] -= G @ D_inverse @ u
        while at and system.L[best := max(at, key=lambda row: system.L[row, row]), best] > pivot:
            at = [row for row in at if row != best]
            gone = system.remove(best, at)
            removed.append(gone)
            I_a += np.outer(gone.K, gone.K) / gone.pivot
            p_a -= gone.K * gone.k / gone.pivot
        system.k[at] -= system.K[at] @ bodies.c[i]
        system.K[at] = system.K[at] @ link.X
        carry(link.parent, at)
        I_A[link.parent] += link.X.T @ I_a @ link.X
        p_A[link.parent] += link.X.T @ (p_a + I_a @ bodies.c[i])

    # root to leaf: forces and accelerations
    a, acceleration, f, at = np.zeros_like(tau), np.zeros_like(p_A), np.zeros_like(target), carried[WORLD]
    f[at] = np.linalg.solve(system.L[np.ix_(at, at)], system.k[at])
    recover(f, folded[WORLD], acceleration[WORLD])
    for i, (link, (U, D_inverse, u, G, at, removed)) in enumerate(zip(bodies.links, joints[::-1], strict=True)):
        acceleration[i] = link.X @ acceleration[link.parent] + bodies.c[i]
        recover(f, removed, acceleration[i])
        a[link.dofs] = D_inverse @ (u - U.T @ acceleration[i] + G.T @ f[at])
        acceleration[i] += link.S @ a[link.dofs]
        recover(f, folded[i], acceleration[i])
    return a, f
