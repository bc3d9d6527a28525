"""The velocity jump of an impact by dense linear algebra: H (v+ - v) = J^T impulses, J v+ = -restitution J v.

The same principle as kkt, with velocities for accelerations: of all jumps that miss the rows least, the smallest,
measured by H. Oracle: conservation of momentum and energy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import Rows, spans
from featherweight.reference.kkt import equations


def impulse_dynamics(
    model: ModelDescription, q: Array, v: Array, rows: Sequence[Rows], restitution: Sequence[float]
) -> tuple[Array, list[Array]]:
    """Velocities after the impact and the impulse of each constraint, ``restitution`` being one number for each."""
    H, _, J, _ = equations(model, q, v, rows)
    e = np.concatenate([np.full(row.k.size, e) for row, e in zip(rows, restitution, strict=True)])
    C = np.linalg.cholesky(H)
    Y_inverse = np.linalg.pinv(np.linalg.solve(C, J.T).T, rcond=1e-11)
    step = Y_inverse @ (-(1 + e) * (J @ v))
    impulses = Y_inverse.T @ step
    return v + np.linalg.solve(C.T, step), [impulses[span] for span in spans(rows)]
