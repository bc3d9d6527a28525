"""Surfaces are closed, face outward, and have the size of their shapes."""

import numpy as np
import pytest

import featherweight as fw
from featherweight.scene.hulls import mass_properties
from featherweight.viewer.surfaces import surface

SHAPES = {
    "box": ((0.2, 0.4, 0.6), 0.048),
    "sphere": ((0.3,), 4 / 3 * np.pi * 0.3**3),
    "ellipsoid": ((0.1, 0.2, 0.3), 4 / 3 * np.pi * 0.006),
    "capsule": ((0.1, 0.5), np.pi * 0.01 * 0.5 + 4 / 3 * np.pi * 1e-3),
    "cylinder": ((0.1, 0.5), np.pi * 0.01 * 0.5),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_surface_encloses_the_volume_of_its_shape(shape: str) -> None:
    size, volume = SHAPES[shape]
    made = surface(fw.Geometry("shape", "visual", shape, size), around=256)  # type: ignore[arg-type]
    assert mass_properties(made.vertices, made.faces)[0] == pytest.approx(volume, rel=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_edge_has_two_faces_that_run_along_it_in_opposite_directions(shape: str) -> None:
    made = surface(fw.Geometry("shape", "visual", shape, SHAPES[shape][0]))  # type: ignore[arg-type]
    _, place = np.unique(made.vertices.round(12), axis=0, return_inverse=True)
    faces = place.ravel()[made.faces]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    one_way = {tuple(edge) for edge in edges.tolist()}
    assert len(one_way) == len(edges)
    assert {(b, a) for a, b in one_way} == one_way


def test_height_fields_are_split_along_the_diagonals_that_contacts_see() -> None:
    heights = np.zeros((2, 2))
    heights[1, 1] = 1.0
    made = surface(fw.Geometry("ground", "collision", "heightfield", (2.0, 2.0), heights=heights))
    corner = {(-1.0, -1.0): 0, (-1.0, 1.0): 1, (1.0, -1.0): 2, (1.0, 1.0): 3}
    names = [corner[x, y] for x, y, _ in made.vertices.tolist()]
    edges = {frozenset((names[i], names[j])) for a, b, c in made.faces.tolist() for i, j in ((a, b), (b, c), (c, a))}
    assert frozenset((0, 3)) in edges
    assert frozenset((1, 2)) not in edges


def test_vertices_are_shared_across_smooth_edges_only() -> None:
    """So that a cylinder looks round, and its rim and a box do not."""
    made = {shape: fw.Geometry("shape", "visual", shape, size) for shape, (size, _) in SHAPES.items()}  # type: ignore[arg-type]
    count = {shape: len(surface(geometry, 24).vertices) for shape, geometry in made.items()}
    assert count["box"] == 6 * 4
    assert count["cylinder"] == 4 * 24 + 2  # two rims of either side, two centres
    assert count["sphere"] == 24 * 11 + 2  # rings and poles
