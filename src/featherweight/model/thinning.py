"""Hulls with fewer corners: finely tessellated meshes have more than collision can use, or needs.

The corners that reach farthest in evenly spread directions are kept, then those that stick out most from the hull of
these: what is left out lies within a known distance of what is kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array

#: Corners of a hull that the core takes as it is: 3 (2 n - 4) corners of triangles stay below its 32767.
MOST_CORNERS = 5400
_KEPT = 5000  # corners of a hull that is thinned; a ball is then within 1e-3 of its radius
_DIRECTIONS = 3000
_CHUNK = 4_000_000  # distances at a time


def thinned(points: Array) -> tuple[Array, float]:
    """Some of the ``points`` (n, 3), corners of a hull, and how far the others are at most outside of theirs [m]."""
    from scipy.spatial import ConvexHull  # whoever has a hull to thin has it

    kept = np.unique((points @ _directions(_DIRECTIONS).T).argmax(axis=0))
    outside, facets = _outside(ConvexHull(points[kept]), points)
    # The farthest point beyond each facet, the worst facets first.
    order = np.argsort(-outside, kind="stable")
    _, first = np.unique(facets[order], return_index=True)
    worst = order[np.sort(first)]
    kept = np.union1d(kept, worst[outside[worst] > 0.0][: _KEPT - len(kept)])
    outside, _ = _outside(ConvexHull(points[kept]), points)
    return points[kept], max(0.0, float(outside.max()))


def _outside(hull: Any, points: Array) -> tuple[Array, Array]:
    """How far each point is outside of a hull, and beyond which facet."""
    normals, offsets = hull.equations[:, :3], hull.equations[:, 3]
    size = max(1, _CHUNK // len(offsets))
    parts = [points[k : k + size] @ normals.T + offsets for k in range(0, len(points), size)]
    distance = np.concatenate([part.max(axis=1) for part in parts])
    facet = np.concatenate([part.argmax(axis=1) for part in parts])
    scale = float(np.abs(points).max())
    return np.where(distance > 1e-12 * scale, distance, 0.0), facet


def _directions(n: int) -> Array:
    """Evenly spread over the sphere, along a spiral of golden angles."""
    k = np.arange(n) + 0.5
    z, turn = 1.0 - 2.0 * k / n, math.pi * (1.0 + math.sqrt(5.0)) * k
    r = np.sqrt(1.0 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)
