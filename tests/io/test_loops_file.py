"""Loops and couplings beside a URDF file: ``robot.loops.yaml``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw

LINK = '<link name="{}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
HINGE = '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/>'
BARS = {
    "crank": ("base", "crank", "0 0 0"),
    "top": ("crank", "coupler", "0 0 0.3"),
    "right": ("base", "rocker", "1 0 0"),
}
#: Three bars of a parallelogram; the last pin is missing.
FOUR_BAR = (
    '<robot name="four_bar"><link name="base"/>'
    + "".join(LINK.format(name) + "</inertial></link>" for name in ("crank", "coupler", "rocker"))
    + "".join(
        HINGE.format(name, parent, child) + f'<origin xyz="{xyz}"/></joint>'
        for name, (parent, child, xyz) in BARS.items()
    )
    + "</robot>"
)
PIN = {"name": "pin", "type": "hinge", "link": "coupler", "to": "rocker", "xyz": [1, 0, 0], "axis": [0, 1, 0]}


def robot(folder: Path, document: Any, suffix: str = ".loops.json") -> Path:
    path = folder / "four_bar.urdf"
    path.write_text(FOUR_BAR)
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / f"four_bar{suffix}").write_text(text)
    return path


YAML = """# the pin at the end of the coupler
loops:
  - {name: pin, type: hinge, link: coupler, to: rocker, xyz: [1, 0, 0], axis: [0, 1, 0]}
"""


@pytest.mark.parametrize(
    "suffix, content", [(".loops.json", {"loops": [PIN]}), (".loops.yaml", YAML), (".loops.yml", YAML)]
)
def test_a_file_beside_the_robot_closes_its_loops(suffix: str, content: Any, tmp_path: Path) -> None:
    model = fw.load(robot(tmp_path, content, suffix), strict=True)
    [pin] = model.description.closures
    assert (pin.name, pin.link, pin.to, pin.rows) == ("pin", "coupler", "rocker", ("x", "y", "z", "rx", "ry"))
    assert_close(pin.placement[:3, 3], (1.0, 0.0, 0.0))
    assert_close(pin.to_placement[:3, 3], (0.0, 0.0, 0.3))  # where the coupler ends while nothing has moved
    assert_close(pin.placement[:3, 2], (0.0, 1.0, 0.0))
    assert "four_bar.loops" in str(model.import_report)
    sim = fw.Simulator(model, dt=1e-3)
    swings = sim.rollout(sim.state(v=np.array([1.0, -1.0, 1.0])), n_steps=200)
    assert swings.closure_error <= 1e-6
    assert_close(swings.final.q[0], swings.final.q[2], tolerance=1e-6)  # a parallelogram


def test_points_welds_and_second_frames(tmp_path: Path) -> None:
    point = {"link": "coupler", "to": "rocker", "xyz": [1, 0, 0], "to_xyz": [0, 0, 0.3]}
    weld = {"type": "fixed", "link": "rocker", "to": "world", "rpy": [0, 0, 1], "to_rpy": [0, 0, 0.5]}
    model = fw.load(robot(tmp_path, {"loops": [point, weld]}))
    first, second = model.description.closures
    assert (first.name, first.rows, second.name, len(second.rows)) == ("loop_0", ("x", "y", "z"), "loop_1", 6)
    assert_close(first.to_placement[:3, 3], (0.0, 0.0, 0.3))
    assert_close(second.to_placement[:3, 3], (1.0, 0.0, 0.0))
    assert_close(second.to_placement[0, :2], (np.cos(0.5), -np.sin(0.5)))


def test_couplings_and_another_place(tmp_path: Path) -> None:
    path = robot(tmp_path, {}, ".unused.json")
    elsewhere = tmp_path / "gears.json"
    elsewhere.write_text(json.dumps({"couplings": [{"joint": "right", "to": "crank", "polynomial": [0.1, -1]}]}))
    assert not fw.load(path).description.couplings
    [coupling] = fw.load(path, loops=elsewhere).description.couplings
    assert (coupling.joint, coupling.to, coupling.polynomial) == ("right", "crank", (0.1, -1.0))


@pytest.mark.parametrize(
    "document, problem",
    [
        ("[1, 2]", "file: must map names to values, got list"),
        ("{", "is not JSON"),
        ({"loop": []}, "unknown key 'loop'; they are loops, couplings"),
        ({"loops": {}}, None),
        ({"loops": {"a": 1}}, "loops must be a list, got dict"),
        ({"loops": [3]}, "loop 0: must map names to values, got int"),
        ({"loops": [{"link": "coupler"}]}, "loop 0: 'to' is missing"),
        ({"loops": [PIN | {"to": "rockr"}]}, "loop 0: 'rockr' is not a link"),
        ({"loops": [PIN | {"link": "world"}]}, "the first link must not be the world"),
        ({"loops": [PIN | {"to": "coupler"}]}, "both ends are on link 'coupler'"),
        ({"loops": [PIN | {"type": "ball"}]}, "type must be one of point, hinge, fixed, got 'ball'"),
        ({"loops": [PIN | {"axis": [0, 0, 0]}]}, "axis must not be zero"),
        ({"loops": [{**PIN, "axis": None}]}, "'axis' is missing"),
        ({"loops": [PIN | {"type": "point"}]}, "an axis belongs to a hinge"),
        ({"loops": [PIN | {"xyz": [1, "a", 0]}]}, "xyz must be 3 numbers"),
        ({"loops": [PIN | {"xyz": [1, 0]}]}, "xyz must be 3 numbers"),
        ({"loops": [PIN, PIN]}, "closure 'pin': the name is used twice"),
        ({"couplings": [{"joint": "crank", "to": "crnk"}]}, "couples an unknown joint 'crnk'"),
        ({"couplings": [{"joint": "crank", "polynomial": []}]}, "polynomial must be 1 to 8 numbers"),
        ({"couplings": [{"joint": "crank", "polynomial": [1e400]}]}, "must be finite"),
    ],
)
def test_what_makes_no_sense_is_named(document: Any, problem: str | None, tmp_path: Path) -> None:
    path = robot(tmp_path, document)
    if problem is None:
        assert not fw.load(path).description.closures
        return
    with pytest.raises(fw.ModelImportError, match=problem) as caught:
        fw.load(path)
    assert "four_bar.loops.json" in str(caught.value)


def test_yaml_that_is_none_has_a_line(tmp_path: Path) -> None:
    with pytest.raises(fw.ModelImportError, match=r"four_bar.loops.yaml:3: file: is not YAML"):
        fw.load(robot(tmp_path, "loops:\n  - a\n  b: [", ".loops.yaml"))


def test_loops_belong_to_urdf(tmp_path: Path) -> None:
    model = fw.models.pendulum()
    model.save(tmp_path / "robot.json")
    with pytest.raises(ValueError, match="loops belong to URDF"):
        fw.load(tmp_path / "robot.json", loops="x.json")


# -- couplings that contradict each other ----------------------------------------------------------------------------


def mimicking(**mimics: tuple[str, float, float]) -> str:
    text = '<robot name="r"><link name="base"/>'
    for k, name in enumerate("abc"):
        mimic = mimics.get(name)
        said = "" if mimic is None else '<mimic joint="{}" multiplier="{}" offset="{}"/>'.format(*mimic)
        text += LINK.format(f"l{k}") + f"</inertial></link>{HINGE.format(name, 'base', f'l{k}')}{said}</joint>"
    return text + "</robot>"


def test_mimics_in_a_circle_are_refused() -> None:
    with pytest.raises(fw.ModelImportError, match="in a circle, b -> a -> b"):
        fw.loads(mimicking(a=("b", 2.0, 0.0), b=("a", 0.5, 0.0)), "urdf")
    [note] = fw.loads(mimicking(a=("a", 1.0, 0.0)), "urdf").import_report.not_honoured
    assert "not another joint" in note.message
    fw.loads(mimicking(a=("b", 2.0, 0.1), b=("c", 0.5, 0.0)), "urdf")


def test_couplings_that_contradict_mimics_are_refused(tmp_path: Path) -> None:
    (tmp_path / "r.urdf").write_text(mimicking(a=("b", 2.0, 0.1), b=("c", 0.5, 0.2)))

    def load(*polynomial: float) -> fw.Model:
        text = json.dumps({"couplings": [{"joint": "a", "to": "c", "polynomial": polynomial}]})
        (tmp_path / "r.loops.json").write_text(text)
        return fw.load(tmp_path / "r.urdf")

    assert load(0.5, 1.0).description.couplings  # it follows from the mimics
    with pytest.raises(
        fw.ModelImportError, match=r"coupling 'coupling_0': contradicts the couplings before it, by 0\.1"
    ):
        load(0.4, 1.0)


def test_long_chains_of_mimics_are_judged_quickly() -> None:
    builder = fw.ModelBuilder()
    for k in range(3000):
        mimic = fw.Mimic(f"j{k - 1}", 1.0, 0.0) if k else None
        builder.link(f"l{k}", mass=1.0, inertia=(1, 1, 1))
        builder.joint(f"j{k}", "continuous", "world", f"l{k}", axis="x", mimic=mimic)
    assert len(builder.describe().joints) == 3000
