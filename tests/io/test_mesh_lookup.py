"""Where the meshes of a robot are found: around its file, in packages, in the places that ROS and Gazebo name."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.urdf_text import BODY, two_links

import featherweight as fw
from featherweight import Severity


def robot(reference: str, role: str = "visual", rest: str = "") -> str:
    shape = f'<{role}><geometry><mesh filename="{reference}"/></geometry></{role}>'
    return two_links(link=f"{BODY}{shape}", rest=rest)


def mesh_of(model: fw.Model) -> str | None:
    return model.link("a").geometries[0].mesh


def package(tmp_path: Path, folder: str = "arm", name: str | None = None) -> tuple[Path, Path]:
    """A package with a mesh in ``meshes``, and where its robots are."""
    mesh, robots = tmp_path / folder / "meshes" / "m.stl", tmp_path / folder / "robots" / "urdf"
    mesh.parent.mkdir(parents=True)
    robots.mkdir(parents=True)
    mesh.touch()
    if name is not None:
        (tmp_path / folder / "package.xml").write_text(f"<package><name> {name} </name></package>")
    return mesh, robots / "arm.urdf"


@pytest.mark.parametrize(
    "reference",
    [
        "package://arm/meshes/m.stl",
        "package:///arm/meshes/m.stl",
        "model://arm/meshes/m.stl",
        "../../meshes/m.stl",
        "file://../../meshes/m.stl",
        "meshes/m.stl",  # relative to the package
        "../meshes/m.stl",
        "..\\..\\meshes\\m.stl",
        "package://renamed_arm/meshes/m.stl",  # the same path without the name of the package
        "$(find arm)/meshes/m.stl",
        "package://arm/meshes/%6d.stl",
    ],
)
def test_meshes_are_found_around_the_file(tmp_path: Path, reference: str) -> None:
    mesh, file = package(tmp_path)
    file.write_text(robot(reference))
    assert mesh_of(fw.load(file, strict=True)) == str(mesh)


def test_an_absolute_file_is_found(tmp_path: Path) -> None:
    mesh, _ = package(tmp_path)
    assert mesh_of(fw.loads(robot(f"file://{mesh}"), "urdf")) == str(mesh)
    assert mesh_of(fw.loads(robot(str(mesh)), "urdf")) == str(mesh)


def test_a_package_is_known_by_the_name_in_its_package_xml(tmp_path: Path) -> None:
    mesh, file = package(tmp_path, "checkout-2", "arm_description")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "m.stl").touch()  # not that one
    file.write_text(robot("package://arm_description/meshes/m.stl"))
    assert mesh_of(fw.load(file)) == str(mesh)


def test_relative_paths_stay_within_the_package(tmp_path: Path) -> None:
    _, file = package(tmp_path, "arm", "arm")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "n.stl").touch()
    file.write_text(robot("other/n.stl"))
    assert mesh_of(fw.load(file)) == "other/n.stl"


@pytest.mark.parametrize("listed", ["arm", "."])
def test_meshes_are_found_in_package_dirs(tmp_path: Path, listed: str) -> None:
    mesh, _ = package(tmp_path)
    text = robot("package://arm/meshes/m.stl")
    assert mesh_of(fw.loads(text, "urdf", package_dirs=[tmp_path / listed])) == str(mesh)
    assert mesh_of(fw.loads(text, "urdf", package_dirs=str(tmp_path / listed))) == str(mesh)


@pytest.mark.parametrize(
    "variable, below",
    [
        ("ROS_PACKAGE_PATH", "."),
        ("GAZEBO_MODEL_PATH", "."),
        ("GZ_SIM_RESOURCE_PATH", "."),
        ("AMENT_PREFIX_PATH", "share"),
        ("COLCON_PREFIX_PATH", "share"),
    ],
)
def test_meshes_are_found_where_ros_and_gazebo_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, below: str
) -> None:
    mesh, _ = package(tmp_path / below)
    monkeypatch.setenv(variable, f"/nowhere:{tmp_path}")
    assert mesh_of(fw.loads(robot("package://arm/meshes/m.stl"), "urdf")) == str(mesh)


def test_mujocos_mesh_directory_is_looked_at_first(tmp_path: Path) -> None:
    mesh, file = package(tmp_path)
    settings = '<mujoco><compiler meshdir="../../meshes"/></mujoco>'
    file.write_text(robot("package://nobody/deep/below/m.stl", rest=settings))
    assert mesh_of(fw.load(file)) == str(mesh)


UNKNOWN = ["package://nobody/m.stl", "http://host/m.stl", "m.stl", "x" * 5000, "a&#x20;\u00e9.stl"]


@pytest.mark.parametrize("reference", UNKNOWN)
def test_a_missing_picture_is_listed_and_never_stops_an_import(reference: str) -> None:
    model = fw.loads(robot(reference), "urdf", strict=True)
    assert mesh_of(model) == reference.replace("&#x20;", " ")
    [note] = model.import_report.changing(Severity.PICTURE)
    assert (note.line, note.element) == (3, "visual of link 'a'")


@pytest.mark.parametrize("reference", UNKNOWN)
def test_a_missing_collision_mesh_touches_nothing(reference: str) -> None:
    text = robot(reference, "collision")
    scene = fw.Scene()
    scene.add(fw.loads(text, "urdf"))
    assert not scene.compile().shapes
    with pytest.raises(
        fw.ModelImportError, match=r":3: collision of link 'a': mesh file .* not found: nothing can touch"
    ):
        fw.loads(text, "urdf", strict=True)
