"""Inertias of solids, and which inertias no solid has."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import number, numbers, vector
from ..errors import ModelError
from .description import Inertia
from .geometry_checks import SHAPE_SIZES, checked_pose

#: An inertia may miss physical consistency by this fraction of its trace: what rounding in a file explains.
INERTIA_TOLERANCE = 1e-6

Shape = Literal["box", "sphere", "capsule", "cylinder", "ellipsoid"]


def solid_inertia(shape: Shape, size: ArrayLike, mass: float, placement: ArrayLike | None = None) -> Inertia:
    """Inertia of a solid of uniform density. ``size`` [m] as in :class:`Geometry`; ``placement``: its pose in the link.

    >>> float(fw.solid_inertia("sphere", 0.5, mass=2.0).matrix[0, 0])
    0.2
    """
    element = f"solid {shape!r}"
    if shape not in get_args(Shape):
        raise ModelError(element, f"unknown shape, the solids are {', '.join(get_args(Shape))}")
    dimensions = numbers(element, "size", np.atleast_1d(np.asarray(size)), (SHAPE_SIZES[shape],))
    if (dimensions < 0.0).any():
        raise ModelError(element, f"size must not be negative, got {dimensions.tolist()}")
    mass = number(element, "mass", mass)
    X = checked_pose(element, "placement", placement)
    R = X[:3, :3]
    return Inertia(mass, X[:3, 3].copy(), mass * R @ np.diag(_unit_moments(shape, dimensions)) @ R.T)


def _unit_moments(shape: Shape, size: Array) -> Array:
    """Principal moments per unit mass about the centre [m^2]."""
    if shape == "box":
        return np.asarray((np.sum(size**2) - size**2) / 12.0)
    if shape == "ellipsoid":
        return np.asarray((np.sum(size**2) - size**2) / 5.0)
    if shape == "sphere":
        return np.full(3, 0.4 * size[0] ** 2)
    r, length = size
    if shape == "cylinder":
        across = r * r / 4.0 + length * length / 12.0
        return np.array([across, across, r * r / 2.0])
    # Capsule: a cylinder and two half balls, whose centroids sit 3/8 r beyond its ends.
    volume_cylinder, volume_ball = length, 4.0 / 3.0 * r  # per pi r^2
    total = volume_cylinder + volume_ball
    if total == 0.0:
        return np.zeros(3)
    share, ball = volume_cylinder / total, volume_ball / total
    across = share * (r * r / 4.0 + length * length / 12.0) + ball * (0.4 * r * r + length**2 / 4 + 0.375 * length * r)
    return np.array([across, across, share * r * r / 2.0 + ball * 0.4 * r * r])


def nonphysical(mass: float, inertia: Array) -> str | None:
    """Why no rigid body has this inertia, or None. One test covers positive moments and the triangle inequality:
    the second moment of mass, tr(I)/2 - I, must be positive semidefinite."""
    scale = float(np.abs(inertia).max())
    if scale == 0.0:
        return None
    if mass == 0.0:
        return "the mass is zero but the inertia is not"
    unit = inertia / scale  # so that no finite number overflows
    trace = float(np.trace(unit))
    if np.linalg.eigvalsh(0.5 * trace * np.eye(3) - unit)[0] >= -INERTIA_TOLERANCE * abs(trace):
        return None
    moments = np.asarray(np.linalg.eigvalsh(unit) * scale, dtype=np.float64)
    if moments[0] < 0.0:
        return f"the inertia is not positive: its principal moments are {vector(moments)}"
    return f"the principal moments {vector(moments)} violate the triangle inequality: no body has them"


def nearest_physical(inertia: Array) -> Array:
    """The inertia nearest to a symmetric ``inertia`` that a body can have: its second moments of mass that are negative
    become zero, the others and all directions stay."""
    scale = float(np.abs(inertia).max()) or 1.0  # so that no finite number overflows on the way
    unit = inertia / scale
    values, axes = np.linalg.eigh(0.5 * np.trace(unit) * np.eye(3) - unit)
    kept = (axes * np.maximum(values, 0.0)) @ axes.T
    return np.asarray(scale * (np.trace(kept) * np.eye(3) - kept))
