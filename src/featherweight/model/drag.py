"""What a medium does to links: the NumPy side of the core's step/drag.hpp."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from .description import Inertia, Link
from .medium import FluidShape, Medium


def fluid_shapes(link: Link) -> tuple[FluidShape, ...]:
    """What a medium sees of the link: its own, or the box of uniform density that has its inertia."""
    if link.inertia is None or link.inertia.mass <= 0.0:
        return ()
    return link.fluid_shapes or (_box_of(link.inertia),)


def drag(link: Link, medium: Medium, velocity: Array) -> Array:
    """Force and moment (..., 6) on the link at its origin, given its velocity (..., 6) through the medium, its axes."""
    total = np.zeros_like(velocity)
    for shape in fluid_shapes(link):
        R, p = shape.placement[:3, :3], shape.placement[:3, 3]
        w = velocity[..., 3:]
        v = velocity[..., :3] + np.cross(w, p)
        local = shape.force(medium, np.concatenate([v @ R, w @ R], axis=-1))
        f = local[..., :3] @ R.T
        total = total + np.concatenate([f, local[..., 3:] @ R.T + np.cross(p, f)], axis=-1)
    return np.asarray(total)


def box_edges(mass: float, moments: Array) -> tuple[float, float, float]:
    """Full edges [m] of the box of uniform density with these principal moments [kg m^2]."""
    x, y, z = (math.sqrt(6.0 / mass * max(0.0, float(moments.sum() - 2.0 * moment))) for moment in moments)
    return x, y, z


def _box_of(inertia: Inertia) -> FluidShape:
    matrix, placement = inertia.matrix, np.eye(4)
    placement[:3, 3] = inertia.com
    moments = np.diag(matrix)
    if np.abs(matrix - np.diag(moments)).max() > 1e-9 * np.trace(matrix):  # else axes of the link are as good as any
        moments, axes = np.linalg.eigh(matrix)
        placement[:3, :3] = axes * np.linalg.det(axes)
    return FluidShape("box", box_edges(inertia.mass, moments), placement)
