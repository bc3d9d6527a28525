"""xacro: macros, arguments and inclusions are expanded by the xacro package, and the result is URDF."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw

pytest.importorskip("xacro", reason="the xacro package is not installed")

MACRO = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="body" params="name mass"><link name="${name}"><inertial><mass value="${2 * mass}"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></xacro:macro></robot>"""
ROBOT = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="length" default="0.5"/><xacro:include filename="{}"/>
<link name="base"/><xacro:body name="arm" mass="1.5"/>
<joint name="j" type="revolute"><origin xyz="0 0 $(arg length)"/><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def robot(tmp_path: Path, included: str) -> Path:
    folder = tmp_path / "arm_description" / "urdf"
    folder.mkdir(parents=True)
    (folder / "body.xacro").write_text(MACRO)
    (folder / "arm.urdf.xacro").write_text(ROBOT.format(included))
    return folder / "arm.urdf.xacro"


@pytest.mark.parametrize("included", ["body.xacro", "$(find arm_description)/urdf/body.xacro"])
def test_macros_and_inclusions_are_expanded(tmp_path: Path, included: str) -> None:
    model = fw.load(robot(tmp_path, included), strict=True)
    assert model.mass == 3.0
    assert_close(model.joint("j").description.placement[:3, 3], [0.0, 0.0, 0.5])


def test_arguments(tmp_path: Path) -> None:
    model = fw.load(robot(tmp_path, "body.xacro"), arguments={"length": "0.7"})
    assert_close(model.joint("j").description.placement[:3, 3], [0.0, 0.0, 0.7])
    with pytest.raises(ValueError, match="arguments belong to xacro files, not to urdf"):
        fw.loads("<robot/>", "urdf", arguments={"length": "1"})


def test_text_is_expanded_from_its_directory(tmp_path: Path) -> None:
    file = robot(tmp_path, "body.xacro")
    model = fw.loads(file.read_text(), "xacro", directory=file.parent)
    assert np.array_equal(model.q0, [0.0])


@pytest.mark.parametrize(
    "text, complaint",
    [
        ('<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:nobody/></robot>', "nobody"),
        ('<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="${1 +}"/></robot>', "cannot be expanded"),
        ("<robot>", "cannot be expanded"),
        ('<robot><link name="$(find no_such_package)"/></robot>', "no_such_package"),
    ],
)
def test_what_cannot_be_expanded_is_refused_by_name(text: str, complaint: str) -> None:
    with pytest.raises(fw.ModelImportError, match=complaint):
        fw.loads(text, "xacro")


def test_without_the_package_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ImportError, match=r"featherweight\[xacro\]"):
        fw.loads("<robot/>", "xacro")
