"""What couples joints in MJCF files holds in a simulation: judged by MuJoCo's own errors of its equalities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

mujoco = pytest.importorskip("mujoco")

#: Three pendulums side by side, one of them on a slide, that gravity moves differently.
ROBOT = """<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="a"><joint name="a" axis="0 1 0" ref="{ref}"/><geom size="0.05" pos="0.3 0 0" mass="1"/></body>
<body name="b" pos="0 0.5 0"><joint name="b" axis="0 1 0"/><geom size="0.05" pos="0.2 0 0.1" mass="0.7"/>
  <body name="tip" pos="0.3 0 0"><joint name="d" axis="0 1 0"/><geom size="0.05" pos="0.1 0 0" mass="0.2"/></body>
</body>
<body name="c" pos="0 1 0"><joint name="c" type="slide" axis="0 0 1"/><geom size="0.05" mass="0.4"/></body>
</worldbody><tendon>
<fixed name="s"><joint joint="a" coef="0.5"/><joint joint="b" coef="-1.2"/></fixed>
<fixed name="t"><joint joint="c" coef="2"/><joint joint="b" coef="0.3"/></fixed></tendon>
<equality>{equality}</equality></mujoco>"""
EQUALITIES = {
    "a gear": '<joint joint1="b" joint2="a" polycoef="0 -2"/>',
    "a cam": '<joint joint1="c" joint2="a" polycoef="0 0.2 -0.3 0.1"/>',
    "a joint that is kept": '<joint joint1="b" polycoef="0"/>',
    "a tendon that is kept": '<tendon tendon1="s"/>',
    "two tendons": '<tendon tendon1="s" tendon2="t" polycoef="0 0.7"/>',
    "a gear and a tendon": '<joint joint1="d" joint2="b" polycoef="0 -1"/><tendon tendon1="t"/>',
    "a loop": '<connect body1="tip" body2="b" anchor="0.05 0 0"/>',
}


def errors(text: str, model: fw.Model, q: Array) -> Array:
    """By how much MuJoCo finds its equalities missed."""
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.qpos = fw.convert.to_mujoco(model, q)
    mujoco.mj_forward(m, data)
    assert data.ne > 0
    return np.abs(np.asarray(data.efc_pos[: data.ne], dtype=np.float64))


@pytest.mark.parametrize("ref", [0.0, 0.3])
@pytest.mark.parametrize("equality", EQUALITIES.values(), ids=EQUALITIES.keys())
def test_what_the_file_couples_stays_coupled(equality: str, ref: float) -> None:
    text = ROBOT.format(equality=equality, ref=ref)
    model = fw.loads(text, "mjcf", strict=True)
    sim = fw.Simulator(model, dt=1e-3)
    motion = sim.rollout(sim.state(), n_steps=300)
    assert np.abs(motion.q[-1] - sim.scene.q0).max() > 0.05  # it moves
    worst = max(float(errors(text, model, q).max()) for q in motion.q[::50])
    assert worst <= 1e-8


def test_inactive_equalities_hold_nothing() -> None:
    text = ROBOT.format(equality='<tendon tendon1="s" active="false"/>', ref=0)
    model = fw.loads(text, "mjcf", strict=True)
    assert not model.description.couplings


@pytest.mark.parametrize(
    "equality, note",
    [
        ('<tendon tendon1="s" tendon2="t" polycoef="0 1 0.5"/>', "an equality of type tendon"),
        ('<weld body1="a" body2="a"/>', "connects 'a' to itself"),
    ],
)
def test_what_is_left_out_is_told(equality: str, note: str) -> None:
    try:
        model = fw.loads(ROBOT.format(equality=equality, ref=0), "mjcf")
    except fw.ModelImportError:
        return  # MuJoCo refuses it
    assert note in str(model.import_report)


def test_couplings_of_several_joints_are_saved(tmp_path: Path) -> None:
    model = fw.loads(ROBOT.format(equality=EQUALITIES["two tendons"], ref=0.2), "mjcf")
    [coupling] = model.description.couplings
    assert coupling.to is None and len(coupling.others) == 2
    model.save(tmp_path / "robot.json")
    assert fw.load(tmp_path / "robot.json") == model
    [again] = fw.loads(fw.to_mjcf(model, strict=True), "mjcf").description.couplings
    factor = dict(again.terms)[coupling.joint]
    assert {name: x / factor for name, x in again.terms} == pytest.approx(dict(coupling.terms))
    assert again.polynomial[0] / factor == pytest.approx(coupling.polynomial[0])


def test_functions_of_a_model_take_couplings_of_several_joints() -> None:
    model = fw.loads(ROBOT.format(equality=EQUALITIES["two tendons"], ref=0.2), "mjcf")
    [sum_of_joints] = fw.constraints_of(model)
    assert isinstance(sum_of_joints, fw.JointCombination)
    sim = fw.Simulator(model)
    motion = sim.rollout(sim.state(), n_steps=100)
    assert np.abs(fw.loop_error(model, motion.q, [sum_of_joints])).max() < 1e-9
    builder = fw.ModelBuilder.from_description(model.description)
    with pytest.raises(ValueError, match="first degree"):
        builder.couple("cam", "a", "b", (0.0, 1.0, 2.0), [("c", 1.0)])


def test_mimics_of_urdf_files_hold() -> None:
    link = '<link name="{}"><inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
    link += 'ixy="0" ixz="0" iyz="0"/></inertial></link>'
    hinge = '<joint name="{}" type="continuous"><parent link="base"/><child link="{}"/><axis xyz="0 1 0"/>{}</joint>'
    text = '<robot name="r"><link name="base"/>' + link.format("x") + link.format("y") + hinge.format("j", "x", "")
    text += hinge.format("k", "y", '<mimic joint="j" multiplier="-0.5" offset="0.1"/>') + "</robot>"
    sim = fw.Simulator(fw.loads(text, "urdf", strict=True), dt=1e-3)
    q = sim.rollout(sim.state(), n_steps=300).q
    assert np.ptp(q[:, 0]) > 0.05
    assert np.abs(q[:, 1] - (0.1 - 0.5 * q[:, 0])).max() <= 1e-9
