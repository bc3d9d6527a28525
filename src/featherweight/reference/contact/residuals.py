"""The natural map, by which all solvers are judged: lambda - P(lambda - sigma / D) = 0.

P is the nearest point of the set of admissible impulses, D the mean mobility of the block, so that D times the map is a
velocity. A frictional point takes it as a pair: its normal on the half line, its tangents on the disc of radius mu
lambda_N. De Saxce's cone has the same solutions in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock, onto_disc, slices


def natural_residual(G: Array, g: Array, blocks: Sequence[ConeBlock], impulses: Array) -> float:
    """The largest entry of D (lambda - P(lambda - sigma / D)) [m/s]."""
    sigma, worst = G @ impulses + g, 0.0
    for block, own in zip(blocks, slices(blocks), strict=True):
        D = float(np.mean(np.diag(G)[own])) or 1.0
        x = impulses[own] - sigma[own] / D
        if block.law == "unilateral":
            x = np.maximum(x, 0.0)
        elif block.law == "interval":
            x = np.clip(x, block.lower, block.upper)
        elif block.law == "point":
            x = np.append(onto_disc(x[:2], block.mu * impulses[own][2]), max(x[2], 0.0))
        elif block.law == "disc":
            x = onto_disc(x, block.mu * impulses[block.normal])
        worst = max(worst, float(np.abs(D * (impulses[own] - x)).max()))
    return worst
