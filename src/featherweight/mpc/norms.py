"""What a residual costs: norms of its components, once they are weighted.

Weights make residuals of one unit each, so a norm has no scale of its own: where it changes its shape is at one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from ..arrays import Array

Norm: TypeAlias = Literal["quadratic", "smooth_abs", "one_sided"]

#: Of y, any shape: cost, slope, and a curvature that is never negative, each component by itself.
Shape: TypeAlias = Callable[[Array], tuple[Array, Array, Array]]


def quadratic(y: Array) -> tuple[Array, Array, Array]:
    """y^2 / 2."""
    return 0.5 * y * y, y, np.ones_like(y)


def smooth_abs(y: Array) -> tuple[Array, Array, Array]:
    """sqrt(1 + y^2) - 1: y^2 / 2 near zero, |y| - 1 far from it. The curvature is that of the parabola above it."""
    root = np.sqrt(1.0 + y * y)
    return y * y / (root + 1.0), y / root, 1.0 / root


def one_sided(y: Array) -> tuple[Array, Array, Array]:
    """y^2 / 2 where y is positive: what is below its target costs nothing."""
    positive = np.maximum(y, 0.0)
    return 0.5 * positive * positive, positive, (y > 0.0).astype(np.float64)


SHAPES: dict[Norm, Shape] = {"quadratic": quadratic, "smooth_abs": smooth_abs, "one_sided": one_sided}
