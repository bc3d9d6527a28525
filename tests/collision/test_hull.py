"""Convex polytopes as they are built from points and triangles."""

import itertools

import numpy as np
import pytest
from helpers.shapes import Array, hull_of, random_rotation
from scipy.spatial import ConvexHull as Qhull

from featherweight import _core

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def test_triangles_of_a_cube_become_six_squares() -> None:
    for R in (np.eye(3), random_rotation(np.random.default_rng(0))):
        hull, _ = hull_of(CUBE @ R.T)
        assert sorted(len(face) for face in hull.faces) == [4] * 6
        corners = hull.vertices
        for face, normal in zip(hull.faces, hull.face_normals, strict=True):
            np.testing.assert_allclose(corners[face] @ normal, 1, atol=1e-12)
            winding = np.cross(corners[face[1]] - corners[face[0]], corners[face[2]] - corners[face[1]])
            np.testing.assert_allclose(winding @ normal, 4, atol=1e-12)


def test_points_inside_faces_and_inside_the_hull_are_dropped() -> None:
    points = np.concatenate([CUBE, np.array([[0, 0, 1.0], [0.2, 0.1, 0]])])
    hull = Qhull(points, qhull_options="QJ Pp")  # joggled: the point in a face may be a corner of triangles
    assert len(_core.ConvexHull(points, hull.simplices.tolist()).vertices) == 8


def test_polygons_close_around_the_solid() -> None:
    """Euler's formula, and the volume from the faces, of random hulls."""
    rng = np.random.default_rng(1)
    for n in (4, 10, 50, 200):
        hull, points = hull_of(rng.normal(size=(n, 3)))
        n_edges = sum(len(face) for face in hull.faces) // 2
        assert len(hull.vertices) - n_edges + len(hull.faces) == 2
        corners, volume = hull.vertices, 0.0
        for face in hull.faces:
            for j, k in itertools.pairwise(face[1:]):
                volume += np.linalg.det(corners[[face[0], j, k]]) / 6
        np.testing.assert_allclose(volume, Qhull(points).volume, rtol=1e-12)


def test_large_polygons_are_thinned() -> None:
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    hull, _ = hull_of(np.concatenate([np.c_[ring, np.zeros(100)], np.c_[ring, np.ones(100)]]))
    assert len(hull.vertices) == 200
    assert max(len(face) for face in hull.faces) == 32


@pytest.mark.parametrize(
    "vertices,faces,message",
    [
        (CUBE, [[0, 1, 2]] * 4, "without volume"),
        (CUBE, Qhull(CUBE).simplices.tolist() * 2, "more than two faces"),
        (CUBE, [[0, 1, 2], [0, 1, 9], [0, 1, 2], [0, 1, 2]], "indices of the 8 vertices, got 9"),
        (CUBE[:4], [[0, 1, 2], [0, 2, 1], [1, 2, 3], [1, 3, 2]], "without volume"),
        (CUBE[[0, 1, 2, 4]], [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 3, 0]], "faces"),
        (CUBE * np.nan, [[0, 1, 2]] * 4, "not finite"),
        (CUBE, [[0, 1, 2, 3]] * 4, "want triangles"),
        (CUBE[:3], [[0, 1, 2]], "at least 4"),
    ],
)
def test_what_is_not_a_convex_solid_is_refused(vertices: Array, faces: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.ConvexHull(vertices, faces)


def test_dents_are_refused() -> None:
    hull = Qhull(CUBE)
    points = np.concatenate([CUBE, np.zeros((1, 3))])
    first = hull.simplices[0].tolist()
    dented = hull.simplices[1:].tolist() + [[first[i], first[(i + 1) % 3], 8] for i in range(3)]
    with pytest.raises(ValueError, match=r"not convex|faces"):
        _core.ConvexHull(points, dented)
