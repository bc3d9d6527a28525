"""Bodies have the mass and inertia of their shapes, against formulas and against trimesh; nonsense is refused."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight.scene import hulls

trimesh = pytest.importorskip("trimesh")

UNTYPED: Any = fw
CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])


def inertia_of(body: fw.Body) -> fw.Inertia:
    assert body.inertia is not None
    return body.inertia


@pytest.mark.parametrize(
    "body, volume, moments",
    [
        (fw.box((1.0, 2.0, 3.0)), 6.0, [13 / 12, 10 / 12, 5 / 12]),
        (fw.sphere(0.5), 4 / 3 * math.pi * 0.125, [0.1] * 3),
        (fw.cylinder(0.5, 2.0), math.pi * 0.5, [0.0625 + 4 / 12] * 2 + [0.125]),
        (fw.ellipsoid((1.0, 2.0, 3.0)), 8 * math.pi, [13 / 5, 10 / 5, 5 / 5]),
        (fw.capsule(0.5, 0.0), 4 / 3 * math.pi * 0.125, [0.1] * 3),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_solids_have_the_textbooks_mass_and_inertia(body: fw.Body, volume: float, moments: list[float]) -> None:
    inertia = inertia_of(body)
    assert_close(inertia.mass, 1000.0 * volume)
    assert_close(inertia.matrix / inertia.mass, np.diag(moments))
    assert_close(inertia.com, np.zeros(3))


def test_capsule_has_trimeshs_inertia() -> None:
    peer = trimesh.creation.capsule(height=0.7, radius=0.2, count=[256, 256])
    inertia = inertia_of(fw.capsule(0.2, 0.7, density=1.0))
    assert_close(inertia.mass, peer.volume, tolerance=1e-3)  # the peer's is a polyhedron
    assert_close(np.diag(inertia.matrix), peer.principal_inertia_components[[2, 1, 0]], tolerance=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_hulls_have_trimeshs_inertia(seed: int) -> None:
    points = np.random.default_rng(seed).normal((3.0, -2.0, 1.0), size=(30, 3))
    peer = trimesh.convex.convex_hull(points)
    peer.density = 200.0
    body = fw.convex(points, density=200.0)
    inertia = inertia_of(body)
    assert_close(inertia.mass, peer.mass)
    assert_close(inertia.com, peer.center_mass)
    assert_close(inertia.matrix, peer.moment_inertia, tolerance=1e-11)
    vertices = body.geometries[0].vertices
    assert vertices is not None
    assert {tuple(v) for v in vertices} == {tuple(v) for v in peer.vertices}


def test_hull_of_a_box_is_the_box() -> None:
    inside = np.random.default_rng(0).uniform(size=(50, 3)) * (1.0, 2.0, 3.0)
    convex, box = inertia_of(fw.convex(np.concatenate([CUBE, inside]), mass=5.0)), inertia_of(fw.box((1, 2, 3), mass=5))
    assert_close(convex.matrix, box.matrix)
    assert_close(convex.com, [0.5, 1.0, 1.5])


@pytest.mark.parametrize("seed", range(3))
def test_hull_faces_look_outward(seed: int) -> None:
    hull = hulls.convex_hull("points", np.random.default_rng(seed).normal(size=(40, 3)))
    a, b, c = np.moveaxis(hull.vertices[hull.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    heights = np.einsum("ij,kj->ik", normal, hull.vertices) - np.einsum("ij,ij->i", normal, a)[:, None]
    assert (heights <= 1e-12).all()
    assert len(hull.faces) == 2 * len(hull.vertices) - 4  # Euler: nothing is missing


def test_mesh_file_becomes_its_hull(tmp_path: Path) -> None:
    path = tmp_path / "blob.stl"
    trimesh.creation.icosphere(radius=0.3).export(path)
    body = fw.mesh(path, scale=(1.0, 1.0, 2.0), mass=2.0)
    inertia = inertia_of(body)
    assert body.geometries[0].shape == "convex"
    assert inertia.mass == 2.0
    assert_close(np.diag(inertia.matrix), inertia_of(fw.ellipsoid((0.3, 0.3, 0.6), mass=2.0)).matrix.diagonal(), 0.02)


def test_units_of_a_collada_file_count(tmp_path: Path) -> None:
    pytest.importorskip("collada")
    path = tmp_path / "box.dae"
    text = trimesh.exchange.dae.export_collada(trimesh.creation.box((100.0, 200.0, 300.0))).decode()
    path.write_text(text.replace("<asset>", '<asset><unit name="centimeter" meter="0.01"/>'))
    assert_close(inertia_of(fw.mesh(path)).mass, 6000.0)


def test_pieces_of_a_mesh_are_hulls_of_their_own() -> None:
    left, right = trimesh.creation.box((1, 1, 1)), trimesh.creation.box((1, 1, 1))
    left.apply_translation((-2.0, 0, 0))
    right.apply_translation((2.0, 0, 0))
    both = trimesh.util.concatenate([left, right])
    dumbbell = fw.mesh(both.vertices, both.faces, pieces=True)
    assert [geometry.name for geometry in dumbbell.geometries] == ["piece_0", "piece_1"]
    inertia = inertia_of(dumbbell)
    assert_close(inertia.mass, 2000.0)
    assert_close(np.diag(inertia.matrix), [2000 / 6, 2000 * (1 / 6 + 4), 2000 * (1 / 6 + 4)])
    assert_close(inertia_of(fw.mesh(both.vertices, both.faces)).mass, 5000.0)  # one hull around both


def test_static_bodies_have_no_mass() -> None:
    wall = fw.box((1, 1, 1), static=True)
    assert wall.inertia is None
    assert wall.mass == math.inf


def test_plane_is_where_its_normal_and_offset_say() -> None:
    plane = fw.Plane(normal=(0, 3, 4), offset=2.0)
    assert_close(plane.pose[:3, 2], [0.0, 0.6, 0.8])
    assert_close(plane.pose[:3, 3], [0.0, 1.2, 1.6])


@pytest.mark.parametrize(
    "make, complaint",
    [
        (lambda: fw.box((1, 1)), "box: size must be 3 numbers"),
        (lambda: fw.box((1, 0, 1)), r"box: size must be positive, got \(1, 0, 1\)"),
        (lambda: fw.box((1, -1, 1)), "box: size must be positive"),
        (lambda: fw.box((1, math.nan, 1)), "box: size must be finite"),
        (lambda: fw.sphere(0.0), "sphere: radius must be positive"),
        (lambda: fw.sphere(-1.0), "sphere: radius must be positive"),
        (lambda: fw.capsule(0.1, -1.0), "capsule: length must not be negative"),
        (lambda: fw.cylinder(0.1, 0.0), "cylinder: length must be positive"),
        (lambda: fw.ellipsoid((1, 1, math.inf)), "ellipsoid: radii must be finite"),
        (lambda: fw.box((1, 1, 1), mass=0.0), "box: mass must be positive, got 0"),
        (lambda: fw.box((1, 1, 1), mass=1.0, density=1.0), "mass or density, not both"),
        (lambda: fw.box((1, 1, 1), density=-1.0), "density must be positive"),
        (lambda: fw.box((1, 1, 1), material=fw.Material(), friction=1.0), "material or friction, not both"),
        (lambda: UNTYPED.box((1, 1, 1), material="ice"), "material must be a Material"),
        (lambda: UNTYPED.box((1, 1, 1), fricton=1.0), r"unknown option 'fricton' \(did you mean 'friction'"),
        (lambda: fw.box((1, 1, 1), pose=np.zeros((4, 4))), "pose must have the last row"),
        (lambda: fw.box((1, 1, 1), margin=-1.0), "margin must not be negative"),
        (lambda: fw.box((1, 1, 1), contype=-1), "contype must be 32 bits"),
        (lambda: fw.box((1, 1, 1), name=""), "non-empty"),
        (lambda: UNTYPED.box((1, 1, 1), static=1), "static must be True or False"),
        (lambda: fw.box((1, 1, 1), static=True, mass=1.0), "a static body has no mass"),
        (lambda: fw.convex(CUBE[:3]), "vertices must be at least 4 points"),
        (lambda: fw.convex(CUBE * (1, 1, 0)), "convex: the 8 vertices span no volume"),
        (lambda: fw.convex(np.ones((8, 3))), "convex: the 8 vertices span no volume"),
        (lambda: fw.convex([[0, 0, math.nan]] * 4), "vertices must be finite"),
        (lambda: fw.mesh("missing.stl"), "mesh file .*missing.stl' does not exist"),
        (lambda: fw.mesh(__file__), "mesh file .* has no format that is read"),
        (lambda: fw.mesh(CUBE, [[0, 1, 8]]), "faces must name vertices 0 to 7"),
        (lambda: fw.mesh(CUBE, [[0, 1]]), "faces must be triples"),
        (lambda: fw.mesh(CUBE, pieces=True), "pieces need faces"),
        (lambda: fw.Plane(normal=(0, 0, 0)), "normal must not be zero"),
        (lambda: UNTYPED.Plane(mass=1.0), "unknown option 'mass'"),
        (lambda: fw.HeightField([1.0, 2.0], (1, 1)), "heights must be a table of at least 2x2"),
        (lambda: UNTYPED.HeightField([[1.0, math.nan], [0, 0]], (1, 1)), "heights must be finite"),
        (lambda: fw.HeightField(np.zeros((2, 2)), (1, 0)), "size must be positive"),
    ],
)
def test_nonsense_is_refused(make: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()


def test_missing_packages_say_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "box.stl"
    trimesh.creation.box((1, 1, 1)).export(path)
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ImportError, match=r"featherweight\[mesh\]"):
        fw.convex(CUBE + 0.123)  # not seen before, so not kept
    with pytest.raises(ImportError, match=r"featherweight\[mesh\]"):
        fw.mesh(path)
