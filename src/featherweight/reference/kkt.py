"""Constrained forward dynamics by dense linear algebra, the oracle of its family: O(n^3 + m^3), any rows.

Gauss's principle: of all accelerations that miss the rows least, the one nearest to the free motion, measured by H.
With H = C C^T and Y = J C^-T the acceleration is a0 + C^-T Y^+ (b - J a0): no rank is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import Rows, Solution, row_jacobian, solution
from featherweight.reference.crba import crba
from featherweight.reference.kinematics import link_motion
from featherweight.reference.rnea import rnea


def kkt(
    model: ModelDescription, q: Array, v: Array, tau: Array, rows: Sequence[Rows], f_ext: Array | None = None
) -> Solution:
    """The least-squares acceleration, with the smallest forces that produce it."""
    H, h, J, b = equations(model, q, v, rows, f_ext)
    C = np.linalg.cholesky(H)
    Y = np.linalg.solve(C, J.T).T
    free = np.linalg.solve(H, tau - h)
    Y_inverse = np.linalg.pinv(Y, rcond=1e-11)
    step = Y_inverse @ (b - J @ free)
    a = np.add(free, np.linalg.solve(C.T, step), dtype=np.float64)
    return solution(model, q, v, rows, a, Y_inverse.T @ step)


def equations(
    model: ModelDescription, q: Array, v: Array, rows: Sequence[Rows], f_ext: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """(H, h, J, b) of H a + h = tau + J^T f, J a = b."""
    H, h = crba(model, q), rnea(model, q, v, np.zeros_like(v), f_ext)
    _, at_rest = link_motion(model, q, v, np.zeros_like(v))  # acceleration of the links when the joints have none
    b = np.concatenate([np.zeros(0), *(row.k - row.K @ at_rest[row.link] for row in rows)])
    return H, h, row_jacobian(model, q, rows), b
