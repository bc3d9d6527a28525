"""``fw.load``: the right reader for the file, and clear errors for what is no file at all."""

import os
from pathlib import Path

import pytest

import featherweight as fw
from featherweight import files

DATA = Path(__file__).parents[1] / "data"
URDF = (DATA / "axes.urdf").read_text()


def test_xml_with_a_robot_is_urdf(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(URDF)
    assert fw.load(file).name == "axes"
    assert fw.load(str(file)).name == "axes"


def test_saved_models_are_loaded(tmp_path: Path) -> None:
    fw.load(DATA / "axes.urdf").save(tmp_path / "robot.json")
    assert fw.load(tmp_path / "robot.json").joint_names == ("j3", "j1", "j2")
    assert fw.load(tmp_path / "robot.json", floating_base=True).joint_names[0] == "root_joint"


@pytest.mark.parametrize("name, complaint", [("none.urdf", "does not exist"), (".", "is a directory")])
def test_no_such_file(tmp_path: Path, name: str, complaint: str) -> None:
    for load in (fw.load, fw.Model.load):
        with pytest.raises(fw.ModelImportError, match=complaint):
            load(tmp_path / name)


def test_pipes_and_huge_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(fw.ModelImportError, match="not a regular file"):
        fw.load(tmp_path / "pipe.urdf")
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    with pytest.raises(fw.ModelImportError, match="more than the 10 allowed"):
        fw.load(DATA / "axes.urdf")


@pytest.mark.parametrize(
    "name, text, complaint",
    [
        ("robot.step", URDF, "unknown extension '.step'"),
        ("robot.sdf", URDF, "must have <sdf>"),
        ("robot", URDF, "has no extension: expected one of"),
        ("robot.xml", "<scene/>", "must be one of <robot>, <sdf>, <mujoco>, got <scene>"),
        ("robot.xml", "", "got none"),
        ("robot.json", URDF, "is not JSON"),
        ("robot.urdf", "\ufeff", "no element found"),
    ],
)
def test_wrong_kind_of_file(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(fw.ModelImportError, match=complaint) as caught:
        fw.load(file)
    assert str(file) in str(caught.value)


def test_errors_are_value_errors_with_path_line_and_element() -> None:
    with pytest.raises(ValueError, match=r"^<string>:1: <robot>|XML") as caught:
        fw.loads("<robot><link></robot>", "urdf")
    error = caught.value
    assert isinstance(error, fw.ModelImportError)
    assert (error.path, error.line) == (None, 1)


def test_names_of_nothing_say_where_robots_are() -> None:
    with pytest.raises(fw.ModelImportError, match=r"go2: file: does not exist \(names of robot_descriptions end in"):
        fw.load("go2")


def test_unknown_format() -> None:
    with pytest.raises(ValueError, match="format must be"):
        fw.loads(URDF, "step")  # type: ignore[arg-type]


def test_bytes_and_text_are_the_same() -> None:
    assert fw.loads(URDF, "urdf").joint_names == fw.loads(URDF.encode(), "urdf").joint_names
