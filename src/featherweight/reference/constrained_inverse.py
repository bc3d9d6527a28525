"""Inverse dynamics under constraints by dense linear algebra: tau + J^T f = H a + h, tau = 0 where there is no motor.

The degrees of freedom without a motor determine the constraint forces, in the least-squares sense, and the smallest of
them where there is a choice; the motors do the rest. Oracle: constrained forward dynamics return the acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import Rows, spans
from featherweight.reference.kkt import equations


def constrained_inverse_dynamics(
    model: ModelDescription,
    q: Array,
    v: Array,
    a: Array,
    rows: Sequence[Rows],
    actuated: NDArray[np.bool_],
    f_ext: Array | None = None,
) -> tuple[Array, list[Array], float]:
    """Joint forces, the force of each constraint, and the largest generalised force that is left unexplained."""
    H, h, J, _ = equations(model, q, v, rows, f_ext)
    needed = H @ a + h
    f = np.linalg.pinv(J[:, ~actuated].T, rcond=1e-8) @ needed[~actuated]
    left = needed - J.T @ f
    residual = float(np.max(np.abs(left[~actuated]), initial=0.0))
    return np.where(actuated, left, 0.0), [f[span] for span in spans(rows)], residual
