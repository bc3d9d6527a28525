"""Convex hulls of points, made when a scene or a body needs them, and kept.

They come from SciPy's Qhull, which is in the extra ``featherweight[mesh]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import frozen
from ..errors import ModelError
from ..model.description import Inertia
from ..model.thinning import MOST_CORNERS, thinned
from ..records import Record
from .mesh_files import INSTALL

#: A hull is flat when it fills less than this part of a cube around it.
_FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Hull(Record):
    """A convex polyhedron. Arrays are read-only."""

    vertices: Array  # (n, 3) [m], corners only
    faces: NDArray[np.int32]  # (m, 3) triangles, counter-clockwise from outside
    volume: float  # [m^3]
    com: Array  # (3,) [m]
    unit_inertia: Array  # (3, 3) about the com, per unit mass [m^2]

    def inertia(self, mass: float) -> Inertia:
        return Inertia(mass, self.com, frozen(mass * self.unit_inertia))


def convex_hull(what: str, points: Array) -> Hull:
    """Hull of ``points`` (n, 3), n >= 4; ``what`` is named in errors. Points in a plane have none."""
    try:
        return _convex_hull(np.ascontiguousarray(points, dtype=np.float64).tobytes())
    except ModelError as error:
        raise ModelError(what, error.problem) from None


@lru_cache(maxsize=1024)
def _convex_hull(data: bytes) -> Hull:
    try:
        from scipy.spatial import ConvexHull, QhullError
    except ImportError:
        raise ImportError(f"convex shapes need the scipy package: {INSTALL}") from None
    points = np.frombuffer(data).reshape(-1, 3)
    extent = float(np.ptp(points, axis=0).max())
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        raise ModelError("hull", f"the {len(points)} vertices span no volume: they lie in a plane") from None
    corners = np.sort(hull.vertices)
    vertices = points[corners]
    faces = np.searchsorted(corners, hull.simplices)
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    volume, com, moments = mass_properties(vertices, faces)
    if not volume > _FLAT * extent**3:
        raise ModelError("hull", f"the {len(points)} vertices span no volume: {volume:.3g} m^3")
    if len(vertices) > MOST_CORNERS:  # its mass stays that of all
        fewer = _convex_hull(np.ascontiguousarray(thinned(vertices)[0]).tobytes())
        return Hull(fewer.vertices, fewer.faces, volume, frozen(com), frozen(moments))
    result = Hull(frozen(vertices), faces.astype(np.int32), volume, frozen(com), frozen(moments))
    result.faces.setflags(write=False)
    return result


def mass_properties(vertices: Array, faces: NDArray[np.integer]) -> tuple[float, Array, Array]:
    """Volume, centre and inertia per unit mass about it, of the solid inside closed triangles.

    The sum over tetrahedra from the mean vertex to each triangle; their second moments are those of the standard
    tetrahedron, (1 + delta_ij) / 120, mapped by the corners.
    """
    origin = vertices.mean(axis=0)
    corners = (vertices - origin)[faces]  # (m, 3, 3), a row per corner
    det = np.linalg.det(corners)
    volume = float(det.sum()) / 6.0
    if volume == 0.0:
        return 0.0, origin, np.zeros((3, 3))
    center = (det[:, None] * corners.sum(axis=1)).sum(axis=0) / (24.0 * volume)
    second = np.einsum("k,kai,ab,kbj->ij", det, corners, (1.0 + np.eye(3)) / 120.0, corners) / volume
    second -= np.outer(center, center)
    return volume, origin + center, np.asarray(np.trace(second) * np.eye(3) - second)


def connected_parts(vertices: Array, faces: NDArray[np.integer]) -> list[Array]:
    """Vertices of each part of a mesh that its triangles connect; vertices at one place are one."""
    _, merged = np.unique(vertices, axis=0, return_inverse=True)
    triangles = merged.ravel()[faces]
    label = np.arange(int(merged.max()) + 1)
    while True:  # every vertex takes the lowest label around it, until nothing changes
        lowest = label[triangles].min(axis=1)
        new = label.copy()
        np.minimum.at(new, triangles, lowest[:, None])
        new = new[new]
        if np.array_equal(new, label):
            break
        label = new
    of_vertex = label[merged.ravel()]
    used = np.unique(faces)
    return [vertices[used[of_vertex[used] == part]] for part in np.unique(of_vertex[used])]
