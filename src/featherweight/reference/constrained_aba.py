"""Constrained forward dynamics by aba on bodies that penalties 1 / eps stiffen, O(n + m) per iteration: any rows.

The inertias are articulated once; every further iteration is an affine sweep that spreads the force increment. The
stiffness passes through all joints and takes digits with it, so eps must stay moderate. Source: A. S. Sathya and
J. Carpentier, "Constrained articulated body dynamics algorithms". Oracle: kkt.
"""

from __future__ import annotations

from collections.abc import Sequence

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import accelerate, articulate, driving, rigid_bodies
from featherweight.reference.constraints import Rows, Solution, row_values, rows_by_link, solution, targets
from featherweight.reference.proximal import largest_mobility, proximal_point


def constrained_aba(
    model: ModelDescription,
    q: Array,
    v: Array,
    tau: Array,
    rows: Sequence[Rows],
    f_ext: Array | None = None,
    *,
    eps: float = 1e-4,
    tolerance: float = 1e-11,
    max_iterations: int = 200,
) -> Solution:
    """``eps`` regularises relative to the largest mobility of a row."""
    bodies, K = rigid_bodies(model, q, v, f_ext), rows_by_link(rows, len(model.links))
    tau = driving(bodies, tau)
    eps *= largest_mobility(bodies, K)
    joints = articulate(bodies.links, bodies.inertia + K.transpose(0, 2, 1) @ K / eps)

    def solve(target: Array, drive: float) -> tuple[Array, Array]:
        p = drive * bodies.p - target @ K / eps
        a, acceleration = accelerate(bodies.links, joints, drive * tau, drive * bodies.c, p)
        return a, (target - row_values(K, acceleration)) / eps

    a, f, iterations, converged = proximal_point(solve, targets(rows), eps, tolerance, max_iterations)
    return solution(model, q, v, rows, a, f, iterations, converged)
