"""Mesh files: what is damaged is named, nothing is repaired, dropped or expanded silently."""

from __future__ import annotations

import gc
import json
import struct
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight import files
from featherweight.scene import mesh_files

trimesh = pytest.importorskip("trimesh")
pytest.importorskip("scipy")

SUFFIXES = ("stl", "obj", "ply", "off", "dae", "glb", "gltf")


def box(path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of trimesh, which forgets to close some
        trimesh.creation.box((0.2, 0.4, 0.6)).export(path)
        gc.collect()
    return path


@pytest.fixture
def stl(tmp_path: Path) -> Path:
    return box(tmp_path / "box.stl")


def mass_of(path: Path) -> float:
    inertia = fw.mesh(path, density=1000.0).inertia
    assert inertia is not None
    return inertia.mass


def refuse(path: Path, complaint: str) -> None:
    with pytest.raises(fw.ModelError, match=rf"mesh: mesh file '.*{path.name}' .*{complaint}"):
        fw.mesh(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_formats_that_are_read(suffix: str, tmp_path: Path) -> None:
    if suffix == "dae":
        pytest.importorskip("collada")
    assert mass_of(box(tmp_path / f"box.{suffix}")) == pytest.approx(48.0, rel=1e-6)


def test_text_of_any_case(tmp_path: Path) -> None:
    mesh = trimesh.creation.box((0.2, 0.4, 0.6))
    (tmp_path / "BOX.STL").write_bytes(trimesh.exchange.stl.export_stl_ascii(mesh).encode())
    assert mass_of(tmp_path / "BOX.STL") == pytest.approx(48.0, rel=1e-6)


@pytest.mark.parametrize("stated", [0, 11, 13, 2**32 - 1])
def test_a_binary_file_that_states_a_wrong_number_of_triangles(stated: int, stl: Path) -> None:
    data = bytearray(stl.read_bytes())
    data[80:84] = struct.pack("<I", stated)
    stl.write_bytes(data)
    refuse(stl, f"states {stated} triangles and is as long as 12 of them")


@pytest.mark.parametrize("length", [0, 10, 84, 100, 683])
def test_a_file_that_ends_early(length: int, stl: Path) -> None:
    stl.write_bytes(stl.read_bytes()[:length])
    refuse(stl, "" if length > 84 else "neither text nor|states")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vertices_that_are_not_finite(value: float, stl: Path) -> None:
    data = bytearray(stl.read_bytes())
    data[84 + 50 + 12 : 84 + 50 + 16] = struct.pack("<f", value)  # the first corner of the second triangle
    stl.write_bytes(data)
    refuse(stl, "has a vertex that is not finite: number 3")


@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
def test_vertices_of_text_that_are_not_finite(value: str, tmp_path: Path) -> None:
    path = tmp_path / "tetra.obj"
    path.write_text(f"v 0 0 0\nv 1 0 0\nv 0 {value} 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    refuse(path, "has a vertex that is not finite")


def test_triangles_of_vertices_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "tetra.off"
    path.write_text("OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 3\n3 0 2 3\n3 1 2 9\n")
    refuse(path, "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("huge.off", "OFF\n1000000000000 1 0\n0 0 0\n3 0 0 0\n"),
        ("huge.ply", "ply\nformat ascii 1.0\nelement vertex 1000000000000\nproperty float x\nend_header\n0\n"),
        ("huge.gltf", json.dumps({"asset": {"version": "2.0"}, "accessors": [{"count": 10**12, "type": "VEC3"}]})),
        ("list.gltf", "[1, 2]"),
        ("words.gltf", '{"accessors": 3}'),
    ],
)
def test_numbers_of_elements_that_no_file_could_hold(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    tracemalloc.start()
    refuse(path, "states 1000000000000 elements|is not glTF")
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_archives_are_not_read(tmp_path: Path) -> None:
    """However small they are."""
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("box.stl", bytes(50_000_000))
    assert path.stat().st_size < 100_000
    start = time.process_time()
    refuse(path, "has no format that is read: stl, obj")
    for suffix in ("zae", "3mf", "tar.gz", "bz2", "exe", ""):
        other = path.with_name(f"bomb.{suffix}")
        other.write_bytes(path.read_bytes())
        refuse(other, "has no format that is read")
    assert time.process_time() - start < 1.0


def test_files_that_are_too_large(stl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 600)
    refuse(stl, "has 684 bytes, more than the 600 allowed")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_and_foreign_files(suffix: str, tmp_path: Path) -> None:
    for content in (
        b"",
        b"\0" * 1000,
        b"\xff\xfe" * 500,
        b"<?xml version='1.0'?><a/>",
        b"solid facet",
        b"ply\nend_header\n",
    ):
        path = tmp_path / f"foreign.{suffix}"
        path.write_bytes(content)
        mesh_files._read_mesh.cache_clear()
        refuse(path, "")


def test_a_module_that_is_missing_is_named(stl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("No module named 'collada'", name="collada")

    monkeypatch.setattr(trimesh, "load", load)
    refuse(stl, r"cannot be read without the Python module 'collada': pip install")


def test_a_file_that_changes_is_read_again(stl: Path) -> None:
    before = mass_of(stl)
    trimesh.creation.box((0.4, 0.4, 0.6)).export(stl)
    assert mass_of(stl) == pytest.approx(2 * before, rel=1e-6)


def test_text_in_capital_letters_is_read(tmp_path: Path) -> None:
    file = tmp_path / "box.STL"
    file.write_text(trimesh.creation.box((0.2, 0.3, 0.4)).export(file_type="stl_ascii").upper())
    vertices = mesh_files.mesh_vertices("mesh", str(file))
    np.testing.assert_allclose(np.abs(vertices).max(axis=0), (0.1, 0.15, 0.2))
    assert len(vertices) == 8
