"""Actuators from MJCF push in a simulation as they push in MuJoCo: laws, tendons, limits that are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight.arrays import Array
from featherweight.reference.stages.activations import activate
from featherweight.reference.stages.of_simulator import step_scene
from featherweight.reference.stages.servos import servos

mujoco = pytest.importorskip("mujoco")

TWO = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody><body><joint name="a" type="slide" {a}/>
<geom size="0.1"/><body><joint name="b" axis="1 0 0"/><geom size="0.1" pos="0 0.5 0"/></body></body></worldbody>
<tendon><fixed name="t"><joint joint="a" coef="0.5"/><joint joint="b" coef="-2"/></fixed></tendon>
<actuator>{actuators}</actuator></mujoco>"""
CASES = {
    "a constant bias": '<general joint="a" gainprm="2" biastype="affine" biasprm="1.5 -3 -0.5"/>',
    "a bias without gain": '<general joint="b" gainprm="0" biastype="affine" biasprm="1 -3 0"/>',
    "a negative gain": '<general joint="b" gainprm="-2" gear="3" biastype="affine" biasprm="0 0 -1"/>',
    "a bias within bounds": '<general joint="a" gear="2" biastype="affine" biasprm="1 -3 0" forcerange="-1 2"/>',
    "a motor on a tendon": '<motor tendon="t" gear="3"/>',
    "a bounded motor on a tendon": '<motor tendon="t" gear="-3" forcerange="-0.2 0.4" ctrlrange="-0.9 0.9"/>',
    "two on one joint": '<position joint="a" kp="20"/><velocity joint="a" kv="3"/>',
    "a tendon and a joint": '<motor tendon="t"/><motor joint="b" gear="2"/>',
    "rotor and damper": '<motor joint="a" gear="2" armature="0.3" damping="0.2"/>',
}
LIMITS = {
    "symmetric": 'actuatorfrcrange="-1 1" actuatorfrclimited="true"',
    "asymmetric": 'actuatorfrcrange="-0.5 2" actuatorfrclimited="true"',
}


def forces(sim: fw.Simulator, m: Any, seed: int) -> tuple[Array, Array]:
    """Ours and MuJoCo's joint forces of actuators in a random state."""
    q, v, control = np.split(3.0 * np.random.default_rng(seed).normal(size=4 + sim.nu), [2, 4])
    data = mujoco.MjData(m)
    data.qpos, data.qvel, data.ctrl = q, v, control
    mujoco.mj_forward(m, data)
    return sim.step(sim.state(q=q, v=v), control=control).joint_forces, data.qfrc_actuator + data.qfrc_passive


@pytest.mark.parametrize("actuators", CASES.values(), ids=CASES.keys())
def test_actuators_push_as_in_mujoco(actuators: str) -> None:
    text = TWO.format(a="", actuators=actuators)
    sim, m = fw.Simulator(fw.loads(text, "mjcf", strict=True)), mujoco.MjModel.from_xml_string(text)
    for seed in range(8):
        assert_close(*forces(sim, m, seed))


@pytest.mark.parametrize("actuators", ['<motor joint="a" gear="-2"/>', CASES["two on one joint"]])
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
def test_a_joint_limits_the_sum_of_its_actuators(actuators: str, limit: str) -> None:
    text = TWO.format(a=limit, actuators=actuators)
    model = fw.loads(text, "mjcf")
    if model.import_report.not_honoured:
        assert "asymmetric" not in LIMITS or "position" in actuators  # two with an asymmetric sum are told
        return
    sim, m = fw.Simulator(model), mujoco.MjModel.from_xml_string(text)
    for seed in range(8):
        assert_close(*forces(sim, m, seed))


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_the_twin_has_the_same_laws(integrator: Any) -> None:
    actuators = "".join(CASES[name] for name in ("two on one joint", "a motor on a tendon", "a constant bias"))
    text = TWO.format(a=LIMITS["symmetric"], actuators=actuators.replace('joint="a"', 'joint="a" ctrlrange="-1 1"', 1))
    sim = fw.Simulator(fw.loads(text, "mjcf"), integrator=integrator)
    control = np.random.default_rng(0).normal(size=sim.nu)
    twin = servos(step_scene(sim), activate(step_scene(sim), control, None)[0])
    told = sim._actuation.controls(np.clip(control, *sim._control_range))
    assert told is not None
    laws = zip(sim._actuation.laws, told, strict=True)
    ours = sorted((dof, gain * u, kp, kd, low, up) for (dof, gain, kp, kd, low, up, _), u in laws)
    expected = sorted((s.dof, s.drive, s.kp, s.kd, s.lower, s.upper) for s in twin)
    np.testing.assert_allclose(ours, expected, rtol=1e-13)


def test_batches_and_rollouts_are_driven_alike() -> None:
    text = TWO.format(a=LIMITS["symmetric"], actuators="".join(CASES.values()))
    sim = fw.Simulator(fw.loads(text, "mjcf"), integrator="implicit")
    rng = np.random.default_rng(1)
    control = rng.normal(size=(3, 5, sim.nu))
    together = sim.rollout(sim.state(3), control=control).final
    for k in range(3):
        alone = sim.state()
        for step in range(5):
            alone = sim.step(alone, control=control[k, step])
        np.testing.assert_array_equal(alone.q, together.q[k])
    # The bias acts without a control as well.
    np.testing.assert_array_equal(sim.step(sim.state()).v, sim.step(sim.state(), control=np.zeros(sim.nu)).v)


def test_gains_of_actuators_that_share_a_limit_must_be_equal() -> None:
    sim = fw.Simulator(fw.loads(TWO.format(a=LIMITS["symmetric"], actuators=CASES["two on one joint"]), "mjcf"))
    state = sim.state(2).randomised(gains=np.array([[0.5, 0.5], [2.0, 2.0]]))
    low, high = sim.step(state, control=[0.01, 0.0]).joint_forces[:, 0]
    assert_close(high, 4.0 * low)
    with pytest.raises(ValueError, match="share a joint of limited effort"):
        sim.state(2).randomised(gains=np.array([[0.5, 0.5], [2.0, 1.0]]))
