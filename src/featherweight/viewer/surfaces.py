"""Triangles around shapes, for pictures and pages."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..model.description import Geometry
from ..scene import hulls
from ..scene.mesh_files import read_mesh

#: Half the edge of the square that stands for an infinite plane [m].
PLANE = 100.0
#: Edges at which the surface turns by more than this are drawn sharp: between a cylinder of twelve faces and a box.
_CREASE = math.radians(40.0)


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles, counter-clockwise seen from outside. Faces that share a vertex are shaded as one smooth surface."""

    vertices: Array  # (n, 3) [m], in the axes of the shape
    faces: NDArray[np.int64]  # (m, 3)


def surface(geometry: Geometry, around: int = 32) -> Surface:
    """The surface of a shape; round ones have ``around`` faces about their axis. Mesh files need trimesh."""
    return split_at_creases(_triangles(geometry, around))


def split_at_creases(whole: Surface) -> Surface:
    """The same triangles, with vertices repeated along sharp edges: normals are averaged on either side only."""
    _, place = np.unique(whole.vertices, axis=0, return_inverse=True)
    at = place.ravel()[whole.faces].ravel()  # of each corner of each triangle: equal where vertices coincide
    n = len(at)
    following = np.arange(n).reshape(-1, 3)[:, [1, 2, 0]].ravel()  # the corner at the other end of the edge
    low, high = np.minimum(at, at[following]), np.maximum(at, at[following])
    order = np.lexsort((high, low))
    one, other = order[:-1], order[1:]
    edges = whole.vertices[whole.faces]
    normals = np.cross(edges[:, 1] - edges[:, 0], edges[:, 2] - edges[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    turn = np.einsum("ij,ij->i", normals[one // 3], normals[other // 3])
    smooth = (low[one] == low[other]) & (high[one] == high[other]) & (turn > math.cos(_CREASE))
    one, other = one[smooth], other[smooth]
    same = at[one] == at[other]  # corners one and other coincide, or one and the far end of the other's edge
    near, far = np.where(same, other, following[other]), np.where(same, following[other], other)
    group = _connected(n, np.concatenate([one, following[one]]), np.concatenate([near, far]))
    _, first, faces = np.unique(group, return_index=True, return_inverse=True)
    return Surface(whole.vertices[whole.faces.ravel()[first]], faces.reshape(-1, 3))


def _connected(n: int, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each of n items the least item that it is connected to by pairs (a, b)."""
    label = np.arange(n)
    while True:
        least = np.minimum(label[a], label[b])
        new = label.copy()
        np.minimum.at(new, a, least)
        np.minimum.at(new, b, least)
        new = new[new]
        if np.array_equal(new, label):
            return label
        label = new


def _triangles(geometry: Geometry, around: int) -> Surface:
    size = np.array(geometry.size)
    if geometry.shape == "box":
        return _box(size)
    if geometry.shape == "sphere":
        return _revolved(_ball(size[0], 0.0, around), around)
    if geometry.shape == "ellipsoid":
        ball = _revolved(_ball(1.0, 0.0, around), around)
        return Surface(ball.vertices * size, ball.faces)
    if geometry.shape == "capsule":
        return _revolved(_ball(size[0], 0.5 * size[1], around), around)
    if geometry.shape == "cylinder":
        r, half = size[0], 0.5 * size[1]
        return _revolved([(0.0, -half), (r, -half), (r, half), (0.0, half)], around)
    if geometry.shape == "plane":
        corners = PLANE * np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
        return Surface(corners, np.array([(0, 1, 2), (0, 2, 3)]))
    if geometry.shape == "mesh":
        assert geometry.mesh is not None
        return _joined(read_mesh(f"shape {geometry.name!r}", geometry.mesh), size)
    if geometry.shape == "convex":
        assert geometry.vertices is not None
        hull = hulls.convex_hull(f"shape {geometry.name!r}", geometry.vertices)
        return Surface(hull.vertices, np.asarray(hull.faces))
    assert geometry.heights is not None
    return height_surface(geometry.heights, 0.5 * size[0], 0.5 * size[1])


def height_surface(heights: Array, half_x: float, half_y: float) -> Surface:
    """The surface over a grid of ``heights`` (nx, ny), split along the diagonals that contacts see."""
    nx, ny = heights.shape
    x, y = np.linspace(-half_x, half_x, nx), np.linspace(-half_y, half_y, ny)
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1).reshape(-1, 3)
    corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
    right, both, up = corner + ny, corner + ny + 1, corner + 1
    faces = np.concatenate([np.stack([corner, right, both], axis=1), np.stack([corner, both, up], axis=1)])
    return Surface(vertices, faces)


def _box(size: Array) -> Surface:
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * size
    squares = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return Surface(corners, np.array([t for a, b, c, d in squares for t in ((a, b, c), (a, c, d))]))


def _ball(radius: float, half_length: float, around: int) -> list[tuple[float, float]]:
    """Outline (r, z) of two half balls, ``half_length`` away from the middle, from bottom to top."""
    angles = np.linspace(0.0, 0.5 * math.pi, max(3, around // 4) + 1)
    upper = [(radius * math.cos(angle), half_length + radius * math.sin(angle)) for angle in angles]
    upper[-1] = (0.0, half_length + radius)
    return [(r, -z) for r, z in reversed(upper)] + (upper if half_length else upper[1:])


def _revolved(outline: list[tuple[float, float]], around: int) -> Surface:
    """The outline (r, z), from bottom to top, turned about z."""
    turns = np.linspace(0.0, 2.0 * math.pi, around, endpoint=False)
    rings = [np.stack([r * np.cos(turns), r * np.sin(turns), np.full(around, z)], axis=1) for r, z in outline]
    here, there = np.arange(around), np.roll(np.arange(around), -1)
    faces = []
    for k, ((low, _), (high, _)) in enumerate(itertools.pairwise(outline)):
        below, above = k * around, (k + 1) * around
        if low > 0.0:
            faces.append(np.stack([below + here, below + there, above + there], axis=1))
        if high > 0.0:
            faces.append(np.stack([below + here, above + there, above + here], axis=1))
    return Surface(np.concatenate(rings), np.concatenate(faces))


def _joined(parts: list[tuple[Array, NDArray[np.int64]]], scale: Array) -> Surface:
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts[:-1])])
    faces = np.concatenate([triangles + start for (_, triangles), start in zip(parts, starts, strict=True)])
    if np.prod(scale) < 0.0:  # mirrored
        faces = faces[:, ::-1]
    return Surface(np.concatenate([vertices for vertices, _ in parts]) * scale, faces)
