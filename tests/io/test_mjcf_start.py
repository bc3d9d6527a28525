"""Robots from MJCF start where MuJoCo starts them, and at its keyframes; what is in the file is not added again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight.cli.main import main
from featherweight.cli.simulate import Drop
from featherweight.simulation.posture import bases

mujoco = pytest.importorskip("mujoco")

HOPPER = """<mujoco><compiler angle="radian"/><worldbody><geom name="floor" type="plane" size="9 9 1"/>
<body name="torso" pos="0 0 0.7"><joint name="x" type="slide" axis="1 0 0"/>
<joint name="z" type="slide" axis="0 0 1" ref="0.7"/><joint name="y" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.05"/>
<body name="leg"><joint name="knee" axis="0 1 0" range="-1 1" damping="1"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/></body></body></worldbody>
<actuator><motor name="motor" joint="knee" gear="10"/></actuator>
<keyframe><key name="high" qpos="0.1 1.2 0.2 0.3" qvel="0 1 0 0.5" ctrl="0.25"/><key qpos="0 0.7 0 0.5"/></keyframe>
</mujoco>"""
BALLS = """<mujoco><worldbody><body name="a" pos="1 2 3" quat="0.6 0.8 0 0"><freejoint/><geom size="0.1"/>
<body pos="0 0 1"><joint name="ball" type="ball"/><geom size="0.1"/></body></body>
<body name="b" pos="0 0 5"><joint name="slide" type="slide" ref="0.4"/><joint name="hinge" ref="30"/>
<geom size="0.1" pos="0 0.3 0"/></body></worldbody>
<keyframe><key name="k" qpos="0 0 1 0 1 0 0 0 0 1 0 0.5 1" qvel="1 2 3 4 5 6 7 8 9 10 11"/></keyframe></mujoco>"""


def peer(text: str, keyframe: int | None = None) -> tuple[Any, Any]:
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    if keyframe is not None:
        mujoco.mj_resetDataKeyframe(m, data, keyframe)
    mujoco.mj_forward(m, data)
    return m, data


@pytest.mark.parametrize("text", [HOPPER, BALLS], ids=["hopper", "balls"])
@pytest.mark.parametrize("keyframe", [None, 0])
def test_robots_start_where_mujoco_starts_them(text: str, keyframe: int | None) -> None:
    model = fw.loads(text, "mjcf", strict=True)
    sim = fw.Simulator(model)
    _, data = peer(text, keyframe)
    state = sim.state() if keyframe is None else sim.state(keyframe=next(iter(model.keyframes)))
    q, v = fw.convert.from_mujoco(model, data.qpos, data.qvel)
    assert_close(state.q, q)
    assert_close(state.v, v)
    if keyframe is not None and data.ctrl.size:
        assert_close(sim.keyframe("high").control, data.ctrl)


def test_unnamed_keyframes_have_numbers() -> None:
    assert tuple(fw.loads(HOPPER, "mjcf").keyframes) == ("high", "key_1")


def test_bodies_are_where_mujoco_has_them_at_the_start() -> None:
    model = fw.loads(BALLS, "mjcf")
    m, data = peer(BALLS)
    X = fw.forward_kinematics(model, model.q0)
    for body in range(1, m.nbody):
        name = m.body(body).name or f"body_{body}"
        assert_close(X[model.link(name).index][:3, 3], data.xpos[body])
        assert_close(X[model.link(name).index][:3, :3].ravel(), data.xmat[body])


def test_a_freed_base_starts_where_it_was_welded() -> None:
    text = '<mujoco><worldbody><body name="b" pos="1 2 3" quat="0 1 0 0"><geom size="1"/></body></worldbody></mujoco>'
    assert_close(fw.loads(text, "mjcf", floating_base=True).q0, [1, 2, 3, 1, 0, 0, 0])


def test_planar_bases_are_recognised() -> None:
    model = fw.loads(HOPPER, "mjcf")
    [base] = bases(model)
    assert (base.link, [joint.name for joint in base.joints]) == ("torso", ["x", "z", "y"])
    assert base.height == model.joint("z").q_slice.start
    driven = HOPPER.replace("</actuator>", '<motor joint="x"/><motor joint="z"/></actuator>')
    assert not bases(fw.loads(driven, "mjcf"))
    assert not bases(fw.models.arm())


def test_simulate_uses_the_ground_and_the_start_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hopper.xml"
    file.write_text(HOPPER)
    assert main(["simulate", str(file), "--seconds", "0.02", "--out", str(tmp_path / "motion.npz")]) == 0
    out = capsys.readouterr().out
    assert "free in some directions" in out
    assert "available keyframes: high, key_1" in out
    assert "ground defined in its file" in out
    with np.load(tmp_path / "motion.npz") as motion:
        assert_close(motion["q"][0], [0, 0.7, 0, 0])
    drop = Drop(fw.load(file), keyframe="high")
    assert [shape.name for shape in drop.simulator.scene.shapes if shape.static] == ["robot/worldbody/floor"]
    assert_close(drop.start().q[0], [0.1, 1.2, 0.2, 0.3])
    assert_close(drop.start().v[0], [0, 1, 0, 0.5])
    assert drop.control[0] == 0.25
    assert main(["simulate", str(file), "--keyframe", "hi"]) == 2
    assert "unknown keyframe 'hi'" in capsys.readouterr().err


def test_a_planar_robot_falls_as_in_mujoco() -> None:
    """Half a second of free fall and landing on the leg, without motors."""
    model = fw.loads(HOPPER, "mjcf")
    drop = Drop(model, 1e-3, controller="zero")
    assert_close(drop.run(0.05).base_height[-1, 0], 0.7 - 0.5 * 9.81 * 0.05**2, tolerance=3e-4)


def test_info_lists_starts_and_keyframes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hopper.xml").write_text(HOPPER)
    assert main(["info", str(tmp_path / "hopper.xml")]) == 0
    out = capsys.readouterr().out
    assert "keyframes: high, key_1" in out
    assert "start" in out.splitlines()[2]


def test_mocap_bodies_are_fixed_and_can_be_placed() -> None:
    text = '<mujoco><worldbody><body name="m" mocap="true" pos="0 0 1"><geom size="0.1"/></body>{}</worldbody></mujoco>'
    model = fw.loads(text.format('<body name="b"><freejoint/><geom size="0.1"/></body>'), "mjcf", strict=True)
    assert [note.element for note in model.import_report] == ["body 'm'"]
    moved = model.placed("m", (1.0, 0.0, 2.0))
    assert_close(fw.frame_placement(moved, moved.q0, "m")[:3, 3], [1, 0, 2])
    with pytest.raises(ValueError, match="'b' is not fixed to the world"):
        model.placed("b", (0, 0, 0))


def test_many_robots_in_one_file_start_apart() -> None:
    leg = '<body pos="0 0 0.4"><joint/><geom type="capsule" size="0.05 0.1"/></body>'
    one = '<body pos="{0} {1} 1"><freejoint/><geom type="capsule" size="0.05 0.2"/>{2}</body>'
    bodies = "".join(one.format(i, j, leg) for i in range(10) for j in range(10))
    floor = '<geom type="plane" size="20 20 1"/>'
    model = fw.loads(f"<mujoco><worldbody>{floor}{bodies}</worldbody></mujoco>", "mjcf", strict=True)
    sim = fw.Simulator(model)
    state = sim.step(sim.state())
    assert len(state.contacts) == 0
    assert_close(state.v[2], -9.81e-3, tolerance=1e-6)
