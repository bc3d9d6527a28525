"""Block after block, each solved exactly with the others fixed, until all obey their laws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.block import solve_block
from featherweight.reference.contact.laws import ConeBlock, slices
from featherweight.reference.contact.residuals import natural_residual


def gauss_seidel(
    G: Array,
    g: Array,
    blocks: Sequence[ConeBlock],
    *,
    start: Array | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 2000,
) -> tuple[Array, int]:
    """Impulses and the number of iterations. tolerance: of the natural residual [m/s]."""
    impulses = np.zeros(len(g)) if start is None else np.array(start, dtype=float)
    for iteration in range(max_iterations):
        if natural_residual(G, g, blocks, impulses) <= tolerance:
            return impulses, iteration
        for block, own in zip(blocks, slices(blocks), strict=True):
            without = G[own] @ impulses + g[own] - G[own, own] @ impulses[own]
            radius = block.mu * impulses[block.normal]
            impulses[own] = solve_block(G[own, own], without, block, radius)
    return impulses, max_iterations
