"""The dual proximal-point iteration: constraint rows that are redundant, singular or contradictory, solved.

With the Delassus matrix G = J H^-1 J^T, regularised by eps, one step is (G + eps) df = rho, where rho is what the rows
still miss, and rho <- eps df is exactly what they miss after it. Per eigenvalue s of G, rho shrinks by eps / (s + eps):
all that some motion can reach is soon reached, the rest stays as it is. Taken off the target, that rest leaves a
consistent problem, whose answer is the least-squares acceleration with the smallest forces.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featherweight.description import Array

#: (target, drive) -> (a, f): the motion that solves J a + eps f = target, with all other forces and velocity terms
#: multiplied by drive: 1 for the problem itself, 0 for an increment.
Solve = Callable[[Array, float], tuple[Array, Array]]


def proximal_point(
    solve: Solve, target: Array, eps: float, tolerance: float, max_iterations: int
) -> tuple[Array, Array, int, bool]:
    """(a, f, iterations, converged): the least-squares acceleration and the smallest forces that go with it."""
    settled = tolerance * (1 + np.max(np.abs(target), initial=0.0))
    iterations, change = 0, np.inf
    while True:
        a, f = solve(target, 1.0)
        rho, before = eps * f, np.inf
        for iterations in range(iterations + 1, max_iterations + 1):
            da, df = solve(rho, 0.0)
            a, f = a + da, f + df
            change, rho = float(np.linalg.norm(eps * df - rho)), eps * df
            if change <= settled or change > 0.9 * before:  # gone, or a matter of rounding
                break
            before = change
        if np.linalg.norm(rho) <= settled or iterations >= max_iterations:
            return a, f, iterations, change <= settled
        target = target - rho  # no motion reaches it


def regularisation(eps: float, delassus_diagonal: Array) -> float:
    """``eps`` times the largest mobility of a row, so that it means the same for a finger and for an excavator."""
    largest = np.max(delassus_diagonal, initial=0.0)
    return float(eps * (largest if largest > 0 else 1.0))
