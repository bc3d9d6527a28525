"""All blocks at once: Newton's method on the natural map x = lambda - sigma / D, whose pieces are smooth.

A row whose x lies inside its set must not move; one whose x is outside stays on the bound; tangents whose x leaves
the disc of radius R slide along e = x / |x|: their force keeps to the cone, e . lambda_T = mu lambda_N, and is viscous
across, sigma_T + beta lambda_T = 0 with beta = D (|x| / R - 1). A proximal term follows the residual.
Source: P. Alart, A. Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution
methods".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock, slices
from featherweight.reference.contact.residuals import natural_residual


def newton(
    G: Array, g: Array, blocks: Sequence[ConeBlock], start: Array, *, tolerance: float = 1e-9, max_steps: int = 50
) -> tuple[Array, int]:
    """Impulses and the number of steps, from a start nearby. tolerance: of the natural residual [m/s]."""
    impulses = np.array(start, dtype=float)
    for step in range(max_steps):
        residual = natural_residual(G, g, blocks, impulses)
        if residual <= tolerance:
            return impulses, step
        impulses = _step(G, g, blocks, impulses, 1e-3 * min(residual, 1.0))
    return impulses, max_steps


def _step(G: Array, g: Array, blocks: Sequence[ConeBlock], impulses: Array, eps: float) -> Array:
    m, sigma = len(g), G @ impulses + g
    A, b = G + eps * np.eye(m), eps * impulses - g  # rows that are free
    for block, own in zip(blocks, slices(blocks), strict=True):
        D, rows = float(np.mean(np.diag(G)[own])), np.arange(m)[own]
        x = impulses - sigma / D
        fixed = {}
        if block.law in ("unilateral", "interval", "point"):
            low, high = (block.lower, block.upper) if block.law == "interval" else (0.0, np.inf)
            if not low < x[rows[-1]] < high:
                fixed[rows[-1]] = np.clip(x[rows[-1]], low, high)
        if block.law in ("point", "disc"):
            tangents, normal = (rows[:2], rows[2]) if block.law == "point" else (rows, block.normal)
            R, length = block.mu * x[normal], float(np.linalg.norm(x[tangents]))
            if R <= 0:
                fixed |= dict.fromkeys(tangents, 0.0)
            elif length > R:
                e, beta = x[tangents] / length, D * (length / R - 1)
                across = np.array([-e[1], e[0]]) if len(e) == 2 else np.zeros(1)
                row = across @ A[tangents]
                row[tangents] += beta * across
                A[tangents[-1]], b[tangents[-1]] = row, across @ b[tangents]
                A[tangents[0]], b[tangents[0]] = 0.0, 0.0
                A[tangents[0], tangents], A[tangents[0], normal] = e, -block.mu
        for i, value in fixed.items():
            A[i], A[i, i], b[i] = 0.0, 1.0, value
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0], dtype=np.float64)
