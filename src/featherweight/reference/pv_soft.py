"""Forward dynamics with compliant constraints, O(n + m): J a + R f = b, solved by aba on stiffened bodies.

A row that gives in by R per force is a spring between acceleration and target: its stiffness joins the inertia of its
link, and nothing else of aba changes. Oracle: the dense system [[H, -J^T], [J, R]].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import accelerate, articulate, driving, rigid_bodies
from featherweight.reference.constraints import Rows, Solution, solution


def pv_soft(
    model: ModelDescription,
    q: Array,
    v: Array,
    tau: Array,
    rows: Sequence[Rows],
    compliance: Sequence[Array],
    f_ext: Array | None = None,
) -> Solution:
    """``compliance`` holds R of each constraint, (m, m), symmetric and positive definite [acceleration per force]."""
    bodies = rigid_bodies(model, q, v, f_ext)
    tau = driving(bodies, tau)
    inertia, p = bodies.inertia.copy(), bodies.p.copy()
    for row, R in zip(rows, compliance, strict=True):
        inertia[row.link] += row.K.T @ np.linalg.solve(R, row.K)
        p[row.link] -= row.K.T @ np.linalg.solve(R, row.k)
    a, acceleration = accelerate(bodies.links, articulate(bodies.links, inertia), tau, bodies.c, p)
    forces = [
        np.linalg.solve(R, row.k - row.K @ acceleration[row.link]) for row, R in zip(rows, compliance, strict=True)
    ]
    return solution(model, q, v, rows, a, np.concatenate([np.zeros(0), *forces]))
