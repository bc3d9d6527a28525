"""Popov-Vereshchagin with a proximal iteration at the world, O(n + m^2 d + m^3): any rows, least-squares answers.

The sweeps of pv run once; the iteration only meets the (m, m) Delassus matrix. Oracle: kkt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import driving, rigid_bodies
from featherweight.reference.constraints import Rows, Solution, solution
from featherweight.reference.proximal import proximal_point
from featherweight.reference.pv import carry_to_world, outward


def prox_pv(
    model: ModelDescription,
    q: Array,
    v: Array,
    tau: Array,
    rows: Sequence[Rows],
    f_ext: Array | None = None,
    *,
    eps: float = 1e-9,
    tolerance: float = 1e-13,
    max_iterations: int = 100,
) -> Solution:
    """``eps`` regularises relative to the largest diagonal entry of the Delassus matrix."""
    bodies = rigid_bodies(model, q, v, f_ext)
    world = carry_to_world(bodies, driving(bodies, tau), rows)
    eps *= np.max(np.diag(world.L), initial=0.0) or 1.0
    factor = np.linalg.cholesky(world.L + eps * np.eye(world.k.size))

    def solve(target: Array, _: float) -> tuple[Array, Array]:
        # forces and velocities have already gone into the target on its way to the world
        return np.zeros(0), np.linalg.solve(factor.T, np.linalg.solve(factor, target))

    _, f, iterations, converged = proximal_point(solve, world.k, eps, tolerance, max_iterations)
    return solution(model, q, v, rows, outward(world, f), f, iterations, converged)
