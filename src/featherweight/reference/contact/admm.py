"""Alternating directions: impulses x without bounds, y within them, z the velocity that agrees.

    y  = P(x - z / rho),   x' = (G + rho)^-1 (z + rho y - g - Gamma(z)),   z' = z - rho (x' - y)

P is the nearest admissible impulse, of De Saxce's cone for points, and Gamma(z) = mu |z_T| on their normals the
correction that makes its complement Coulomb's law. rho is a multiple of each block's mean mobility.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock, onto_cone, onto_disc, slices
from featherweight.reference.contact.residuals import natural_residual


def admm(
    G: Array,
    g: Array,
    blocks: Sequence[ConeBlock],
    *,
    start: Array | None = None,
    ratio: float = 0.3,
    tolerance: float = 1e-9,
    max_iterations: int = 5000,
) -> tuple[Array, int]:
    """Impulses and the number of iterations. tolerance: of the natural residual [m/s]; ratio: of rho to mobility."""
    rho = np.concatenate([np.full(own.stop - own.start, np.mean(np.diag(G)[own])) for own in slices(blocks)]) * ratio
    inverse = np.linalg.inv(G + np.diag(rho))
    x = np.zeros(len(g)) if start is None else np.array(start, dtype=float)
    y, z = x, G @ x + g
    for iteration in range(max_iterations):
        y = _nearest(x - z / rho, blocks)
        if natural_residual(G, g, blocks, y) <= tolerance:
            return y, iteration
        shift = np.zeros(len(g))
        for block, own in zip(blocks, slices(blocks), strict=True):
            if block.law == "point":
                shift[own.stop - 1] = block.mu * np.linalg.norm(z[own][:2])
        x = inverse @ (z + rho * y - g - shift)
        z = z - rho * (x - y)
    return y, max_iterations


def _nearest(x: Array, blocks: Sequence[ConeBlock]) -> Array:
    y = x.copy()
    for block, own in zip(blocks, slices(blocks), strict=True):
        if block.law == "unilateral":
            y[own] = np.maximum(x[own], 0.0)
        elif block.law == "interval":
            y[own] = np.clip(x[own], block.lower, block.upper)
        elif block.law == "point":
            y[own] = onto_cone(x[own], block.mu)
        elif block.law == "disc":
            y[own] = onto_disc(x[own], block.mu * max(y[block.normal], 0.0))
    return y
