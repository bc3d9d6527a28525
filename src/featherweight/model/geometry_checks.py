"""Checks of poses and shapes, like those of names and numbers in :mod:`featherweight.checks`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked_name, frozen, integer, not_negative, numbers, vector
from ..errors import ModelError
from . import poses
from .description import Bend, Geometry, Strut, identity_pose
from .joint_checks import checked_range
from .materials import Material
from .medium import FluidShape, Medium

#: A rotation matrix may be this far from orthonormal; it is then replaced by the nearest rotation.
ROTATION_TOLERANCE = 1e-6
#: How many numbers the size of each shape has.
SHAPE_SIZES = {
    "box": 3,
    "sphere": 1,
    "capsule": 2,
    "cylinder": 2,
    "ellipsoid": 3,
    "plane": 0,
    "mesh": 3,
    "convex": 0,
    "heightfield": 2,
}


def checked_medium(element: str, medium: Medium | None) -> Medium | None:
    if medium is not None and not isinstance(medium, Medium):
        raise ModelError(element, f"medium must be a Medium or None, got {medium!r}")
    return medium


def checked_fluid_shape(element: str, shape: FluidShape) -> FluidShape:
    if not isinstance(shape, FluidShape):
        raise ModelError(element, f"fluid shapes must be FluidShape records, got {shape!r}")
    return replace(shape, placement=checked_pose(element, "placement of a fluid shape", shape.placement))


def checked_strut(element: str, strut: Strut, rest_length: float | tuple[float, float]) -> Strut:
    """The same in numbers, with its lengths at rest."""
    points = tuple(_checked_point(element, f"point {k}", each) for k, each in enumerate(strut.points))
    if len(points) < 2:
        raise ModelError(element, f"runs through two points or more, got {len(points)}")
    n_spans = len(points) - 1
    rest = (rest_length, rest_length) if np.ndim(rest_length) == 0 else rest_length
    low, up = checked_range(element, "rest_length", cast(Any, rest)) or (0.0, 0.0)
    shares = tuple(strut.shares)
    if shares:
        shares = tuple(
            not_negative(element, "shares", x) for x in numbers(element, "shares", shares, (n_spans,)).tolist()
        )
    bends = tuple(_checked_bend(element, each, n_spans) for each in strut.bends)
    if len({each.span for each in bends}) != len(bends):
        raise ModelError(element, "bends around two shapes in the same span: put a point between them")
    return Strut(
        strut.name,
        points,
        not_negative(element, "stiffness", strut.stiffness),
        not_negative(element, "damping", strut.damping),
        (not_negative(element, "rest_length", low), up),
        checked_range(element, "range", strut.range),
        not_negative(element, "friction", strut.friction),
        shares,
        bends,
    )


def _checked_point(element: str, what: str, point: Any) -> tuple[str, tuple[float, float, float]]:
    if not isinstance(point, (tuple, list)) or len(point) != 2 or not isinstance(point[0], str):
        raise ModelError(element, f"{what} must be the name of a link and a position on it, got {point!r}")
    x, y, z = numbers(element, what, point[1], (3,)).tolist()
    return point[0], (x, y, z)


def _checked_bend(element: str, bend: Bend, n_spans: int) -> Bend:
    if not isinstance(bend, Bend):
        raise ModelError(element, f"bends must be Bend records, got {bend!r}")
    what = f"bend of {element}"
    if bend.shape not in ("sphere", "cylinder"):
        raise ModelError(what, f'the shape must be "sphere" or "cylinder", got {bend.shape!r}')
    span = integer(what, "span", bend.span)
    if not 0 <= span < n_spans:
        raise ModelError(what, f"the spans are 0 to {n_spans - 1}, got {span}")
    return replace(
        bend,
        span=span,
        link=checked_name(f"link of {what}", bend.link),
        radius=not_negative(what, "radius", bend.radius),
        placement=checked_pose(what, "placement", bend.placement),
        side=None if bend.side is None else _checked_point(what, "side", bend.side),
    )


def checked_pose(element: str, field: str, placement: ArrayLike | None) -> Array:
    if placement is None:
        return identity_pose()
    if np.shape(cast(Any, placement)) == (3,):
        return frozen(poses.pose(numbers(element, field, placement, (3,))))
    X = numbers(element, field, placement, (4, 4), "a 4x4 pose or 3 numbers for a position")
    if not np.array_equal(X[3], (0.0, 0.0, 0.0, 1.0)):
        raise ModelError(element, f"{field} must have the last row 0 0 0 1, got {vector(X[3])}")
    R = X[:3, :3]
    if np.array_equal(R, identity_pose()[:3, :3]):
        return X
    error = float(np.abs(R @ R.T - np.eye(3)).max()) if np.abs(R).max() < 2.0 else math.inf
    if error > ROTATION_TOLERANCE or np.linalg.det(R) < 0.0:
        raise ModelError(element, f"{field} must have a rotation matrix, got {R.tolist()}")
    if error > 1e-12:  # rounded numbers; poses that are right to rounding keep their bits
        u, _, vt = np.linalg.svd(R)
        X = X.copy()
        X[:3, :3] = u @ vt
        return frozen(X)
    return X


def checked_geometry(element: str, geometry: Geometry) -> Geometry:
    if not isinstance(geometry, Geometry):
        raise ModelError(element, f"geometries must be Geometry records, got {geometry!r}")
    what = f"geometry {geometry.name!r} of {element}"
    if geometry.shape not in SHAPE_SIZES:
        raise ModelError(what, f"unknown shape {geometry.shape!r}, the shapes are {', '.join(SHAPE_SIZES)}")
    if geometry.role not in ("visual", "collision"):
        raise ModelError(what, f'the role must be "visual" or "collision", got {geometry.role!r}')
    size = numbers(what, "size", geometry.size, (SHAPE_SIZES[geometry.shape],))
    if geometry.shape != "mesh" and (size < 0.0).any():  # a negative mesh scale mirrors
        raise ModelError(what, f"size must not be negative, got {vector(size)}")
    if (geometry.shape == "mesh") != (geometry.mesh is not None):
        raise ModelError(what, "a mesh needs a file, and no other shape may have one")
    if (geometry.shape == "convex") != (geometry.vertices is not None):
        raise ModelError(what, "a convex shape needs vertices, and no other shape may have them")
    if (geometry.shape == "heightfield") != (geometry.heights is not None):
        raise ModelError(what, "a height field needs heights, and no other shape may have them")
    if geometry.material is not None and not isinstance(geometry.material, Material):
        raise ModelError(what, f"material must be a Material, got {geometry.material!r}")
    rgba = None
    if geometry.rgba is not None:
        r, g, b, a = (float(x) for x in numbers(what, "rgba", geometry.rgba, (4,)))
        rgba = (r, g, b, a)
    return replace(
        geometry,
        size=tuple(float(x) for x in size),
        placement=checked_pose(what, "placement", geometry.placement),
        rgba=rgba,
        vertices=None if geometry.vertices is None else checked_points(what, geometry.vertices),
        heights=None if geometry.heights is None else checked_heights(what, geometry.heights),
        contype=_bits(what, "contype", geometry.contype),
        conaffinity=_bits(what, "conaffinity", geometry.conaffinity),
        margin=not_negative(what, "margin", geometry.margin),
        priority=integer(what, "priority", geometry.priority),
    )


def checked_points(what: str, vertices: ArrayLike) -> Array:
    shape = np.shape(cast(Any, vertices))
    wanted = "at least 4 points of 3 numbers"
    points = numbers(what, "vertices", vertices, (max(shape[0], 4), 3) if shape else (4, 3), wanted)
    return frozen(np.ascontiguousarray(points))


def checked_heights(what: str, heights: ArrayLike) -> Array:
    shape = np.shape(cast(Any, heights))
    wanted = "a table of at least 2x2 numbers"
    table = numbers(what, "heights", heights, tuple(max(n, 2) for n in shape) if len(shape) == 2 else (2, 2), wanted)
    return frozen(np.ascontiguousarray(table))


def _bits(what: str, field: str, value: object) -> int:
    bits = integer(what, field, value)
    if not 0 <= bits < 2**32:
        raise ModelError(what, f"{field} must be 32 bits, 0 to 2^32 - 1, got {bits}")
    return bits
