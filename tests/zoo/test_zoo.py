"""The zoo finds what it is to find: differences from MuJoCo, and what got worse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("mujoco")

from zoo import mjcf, report, robots, srdf, urdf

STANDING = """<mujoco><worldbody><geom type="plane" size="9 9 1"/><body name="b" pos="0 0 0.1"><freejoint/>
<geom name="box" type="box" size="0.1 0.1 0.1"/>{}</body></worldbody></mujoco>"""


def result_of(text: str, tmp_path: Path) -> mjcf.Result:
    file = tmp_path / "package" / "robot.xml"
    file.parent.mkdir()
    file.write_text(text)
    [robot] = robots.find(tmp_path)
    result = mjcf.compare(robot)
    assert result is not None
    return result


def test_a_box_stands_beside_mujoco(tmp_path: Path) -> None:
    result = result_of(STANDING.format(""), tmp_path)
    assert result.robot == "package/robot.xml"
    assert (result.loads, result.strict, result.dynamics, result.pairs, result.stands) == (True,) * 5
    assert result.actuators is None


def test_what_is_left_out_is_found(tmp_path: Path) -> None:
    ball = '<body pos="0 0 0.2"><joint type="ball" stiffness="3"/><geom size="0.05"/></body>'
    result = result_of(STANDING.format(ball), tmp_path)
    assert not result.strict
    assert "spring" in result.reason


def test_what_gets_worse_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "EXPECTED", tmp_path / "expected.json")
    monkeypatch.setattr(report, "PAGE", tmp_path / "zoo.md")
    good = mjcf.Result("package/robot.xml", 6, True, True, "", True, None, True, True)
    report.update([good])
    assert "| package | 1 | 1 of 1 |" in (tmp_path / "zoo.md").read_text()
    assert not report.regressions([good])
    [told] = report.regressions([replace(good, pairs=False, detail="pairs: 1 more")])
    assert told == "package/robot.xml: no longer pairs (pairs: 1 more)"


BODY = '<inertial><mass value="2"/><inertia ixx=".02" iyy=".02" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial>'
FOOT = '<collision><geometry><box size=".2 .2 .2"/></geometry></collision>'
URDF = f"""<robot name="r"><link name="base">{BODY}{FOOT}</link><link name="arm">{BODY}</link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/><origin xyz=".3 0 .2"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="100" velocity="9"/></joint></robot>"""
SRDF = """<robot name="r"><group_state name="home" group="all"><joint name="root_joint" value="0 0 .1 0 0 0 1"/>
<joint name="elbow" value="-1"/></group_state></robot>"""


def test_a_robot_from_urdf_stands_as_its_posture_says(tmp_path: Path) -> None:
    pytest.importorskip("pinocchio")
    package = tmp_path / "menagerie"
    for name, text in (("urdf/box.urdf", URDF), ("srdf/box.srdf", SRDF)):
        (package / name).parent.mkdir(parents=True)
        (package / name).write_text(text)
    [robot] = robots.find(package, "menagerie")
    assert robot.name == "menagerie/urdf/box.urdf"
    assert srdf.posture(robot.path) == {"root_joint": [0, 0, 0.1, 0, 0, 0, 1], "elbow": [-1]}
    result = urdf.compare(robot)
    assert result is not None
    assert (result.strict, result.dynamics, result.stands, result.converges) == (True,) * 4, result
