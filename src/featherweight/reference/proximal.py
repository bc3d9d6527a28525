"""The dual proximal-point iteration: constraint rows that are redundant, singular or contradictory, solved.

With the Delassus matrix G = J H^-1 J^T, regularised by eps, one step is (G + eps) df = rho, where rho is what the rows
still miss, and rho <- eps df is exactly what they miss after it. Per eigenvalue s of G, rho shrinks by eps / (s + eps):
all that some motion can reach is soon reached, the rest stays as it is. Taken off the target, that rest leaves a
consistent problem, whose answer is the least-squares acceleration. The same steps find the part of the forces that
moves nothing; without it they are the smallest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.articulated import Bodies, articulate, mobilities

#: (target, drive) -> (a, f): the motion that solves J a + eps f = target, with all other forces and velocity terms
#: multiplied by drive: 1 for the problem itself, 0 for an increment.
Solve = Callable[[Array, float], tuple[Array, Array]]


def proximal_point(
    solve: Solve, target: Array, eps: float, tolerance: float, max_iterations: int
) -> tuple[Array, Array, int, bool]:
    """(a, f, iterations, converged): the least-squares acceleration and the smallest forces that go with it."""
    settled = tolerance * (1 + float(np.max(np.abs(target), initial=0.0)))
    iterations = 0
    for _ in range(3):  # rounding leaves a little to the second time, and nothing to the third
        a, f = solve(target, 1.0)
        rho, a, f, steps, converged = exhaust(solve, eps * f, a, f, eps, settled, max_iterations - iterations)
        iterations += steps
        if np.linalg.norm(rho) <= settled or not converged:
            break
        target = target - rho
    idle, *_, found = exhaust(solve, f, a, f, eps, tolerance * float(np.linalg.norm(f)), max_iterations)
    return a, f - idle if found else f, iterations, converged


def exhaust(
    solve: Solve, rho: Array, a: Array, f: Array, eps: float, settled: float, max_iterations: int
) -> tuple[Array, Array, Array, int, bool]:
    """(rho, a, f, steps, converged): what no motion takes from ``rho``; ``a`` and ``f`` with what takes the rest."""
    before = np.inf
    for step in range(1, max_iterations + 1):
        da, df = solve(rho, 0.0)
        a, f = a + da, f + df
        change, rho = float(np.linalg.norm(eps * df - rho)), eps * df
        if change <= settled or change > 0.9 * before:  # it stays, up to rounding; or something gives in too slowly
            return rho, a, f, step, change <= settled + 1e-5 * float(np.linalg.norm(rho))
        before = change
    return rho, a, f, max_iterations, False


def largest_mobility(bodies: Bodies, K: Array) -> float:
    """The largest entry on the diagonal of G: what is small relative to it is small for a finger and an excavator."""
    mobility = mobilities(bodies.links, articulate(bodies.links, bodies.inertia), K)
    largest = float(np.max(mobility, initial=0.0))
    return largest if largest > 0 else 1.0
