"""Robots by name, from the cache of robot_descriptions."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import featherweight as fw
from featherweight.io import descriptions

URDF = '<robot name="go2"><link name="base"><inertial><mass value="2"/>{inertia}</inertial></link></robot>'.format(
    inertia='<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("robot_descriptions.") and "_description" in name]:
        if not name.startswith("robot_descriptions._"):
            del sys.modules[name]


def test_a_cached_robot_is_loaded_by_its_name(cache: Path) -> None:
    file = cache / "unitree_ros" / "robots" / "go2_description" / "urdf" / "go2_description.urdf"
    file.parent.mkdir(parents=True)
    file.write_text(URDF)
    model = fw.load("go2_description", floating_base=True, strict=True)
    assert (model.name, model.mass, model.nv) == ("go2", 2.0, 6)


def test_nothing_is_downloaded(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = importlib.import_module("robot_descriptions._cache")
    monkeypatch.setattr(package, "Repo", None)  # whatever would clone, fails
    before = package.clone_to_directory
    with pytest.raises(FileNotFoundError, match=r"'go2_description' is not in the cache .*unitree_ros.*pull go2_descr"):
        fw.load("go2_description")
    assert package.clone_to_directory is before
    assert not list(cache.iterdir())


def test_xacro_descriptions_bring_their_arguments(cache: Path) -> None:
    path = cache / "ur_description" / "urdf" / "ur.urdf.xacro"
    path.parent.mkdir(parents=True)
    path.write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r"><xacro:arg name="ur_type" default="none"/>'
        '<xacro:arg name="name" default="none"/><link name="$(arg ur_type)"/></robot>'
    )
    found = descriptions.find("ur5e_description")
    assert found.path.name.endswith(".xacro") and found.arguments
    model = fw.load("ur5e_description")
    assert model.link_names == ("ur5e",)


def test_unknown_names_get_a_hint(cache: Path) -> None:
    with pytest.raises(ValueError, match=r"has no 'go3_description'.*go[12]_description"):
        fw.load("go3_description")


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "robot_descriptions._cache", None)
    with pytest.raises(ImportError, match=r"featherweight\[descriptions\]"):
        fw.load("go2_description")


def test_a_file_of_that_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_description").write_text(URDF)
    with pytest.raises(fw.ModelImportError, match="has no extension"):
        fw.load("my_description")
