"""The height of the ground."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..world import World


def ground_height(world: World, x: Array, y: Array) -> Array:
    """Height at places of the world, in the shape of x and y [m]: that of the height field "ground", if any, else zero.

    Bilinear between its points, constant beyond its edges.
    """
    field = next((s for s in world.simulator.scene.shapes if s.name == "ground" and s.heights is not None), None)
    if field is None or field.heights is None:
        return np.zeros(np.shape(x))
    heights, origin = field.heights, field.placement[:3, 3]
    nx, ny = heights.shape
    i, fx = _cell((x - origin[0]) / field.size[0], nx)
    j, fy = _cell((y - origin[1]) / field.size[1], ny)
    low = (1.0 - fy) * heights[i, j] + fy * heights[i, j + 1]
    high = (1.0 - fy) * heights[i + 1, j] + fy * heights[i + 1, j + 1]
    return np.asarray(origin[2] + (1.0 - fx) * low + fx * high)


def _cell(place: Array, n: int) -> tuple[Array, Array]:
    """Index of the cell, and where in it, for places from -1 to 1 along n points."""
    at = np.clip(0.5 * (place + 1.0), 0.0, 1.0) * (n - 1)
    index = np.minimum(at.astype(np.int64), n - 2)
    return index, at - index
