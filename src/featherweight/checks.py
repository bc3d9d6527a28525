"""Checks of what enters a model or a scene: each returns the value in its final, read-only form or raises
:class:`ModelError` with the element at fault, what was got and what is wanted."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from . import poses
from .description import Array, Geometry, identity_pose
from .errors import ModelError
from .materials import Material

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


def frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


def checked_name(kind: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ModelError(kind, f"the name must be a non-empty string, got {name!r}")
    try:
        name.encode()  # what the core, files and terminals take
    except UnicodeEncodeError:
        raise ModelError(kind, f"the name must be text that UTF-8 can hold, got {name!r}") from None
    return name


def number(element: str, field: str, value: object) -> float:
    return float(numbers(element, field, cast(Any, value), (), "one number"))


def numbers(
    element: str,
    field: str,
    value: ArrayLike,
    shape: tuple[int, ...],
    wanted: str | None = None,
    *,
    allow_infinite: bool = False,
) -> Array:
    """``value`` as a read-only float64 array of ``shape``, or an error that says what was got and what is wanted."""
    try:
        raw = np.asarray(value)
    except ValueError:  # ragged
        raw = np.empty(0, dtype=object)
    if raw.shape != shape or (raw.size and raw.dtype.kind not in "iuf"):
        wanted = wanted or ("x".join(str(n) for n in shape) + " numbers")
        got = f"an array of shape {raw.shape}" if raw.dtype.kind in "iuf" else repr(value)
        raise ModelError(element, f"{field} must be {wanted}, got {got}")
    result = raw.astype(np.float64)
    if not np.isfinite(result).all() and (not allow_infinite or np.isnan(result).any()):
        raise ModelError(element, f"{field} must be finite, got {result.tolist()}")
    return frozen(result)


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
        raise ModelError(what, "a mesh needs a file, and only a mesh has one")
    if (geometry.shape == "convex") != (geometry.vertices is not None):
        raise ModelError(what, "a convex shape needs vertices, and only that has them")
    if (geometry.shape == "heightfield") != (geometry.heights is not None):
        raise ModelError(what, "a height field needs heights, and only that has them")
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
        priority=_integer(what, "priority", geometry.priority),
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


def not_negative(what: str, field: str, value: object) -> float:
    result = number(what, field, value)
    if result < 0.0:
        raise ModelError(what, f"{field} must not be negative, got {result:g}")
    return result


def _bits(what: str, field: str, value: object) -> int:
    bits = _integer(what, field, value)
    if not 0 <= bits < 2**32:
        raise ModelError(what, f"{field} must be 32 bits, 0 to 2^32 - 1, got {bits}")
    return bits


def _integer(what: str, field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ModelError(what, f"{field} must be an integer, got {value!r}")
    return int(value)


def vector(values: Array) -> str:
    return "(" + ", ".join(f"{x:.6g}" for x in values) + ")"


def close_names(name: str, known: Iterable[str]) -> str:
    """``" (did you mean 'a', 'b'?)"``, or nothing when no known name is close."""
    short = [other for other in known if len(other) < 100]  # matching is quadratic in the length
    matches = difflib.get_close_matches(name, short[:2000], n=3) if len(name) < 100 else []
    return f" (did you mean {', '.join(repr(match) for match in matches)}?)" if matches else ""
