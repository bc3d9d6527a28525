"""Springs of joints: frequency and energy against closed forms, MuJoCo's acceleration, stability when stiff."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.simulation.core_arguments import Integrator

MASS, STIFFNESS, REST = 2.0, 50.0, 0.3
OMEGA = math.sqrt(STIFFNESS / MASS)


def oscillator(dt: float, integrator: Integrator, **joint: Any) -> fw.Simulator:
    """A mass on a spring along x, weightless."""
    builder = fw.ModelBuilder("oscillator", gravity=(0, 0, 0)).link("mass", mass=MASS)
    spring = {"stiffness": STIFFNESS, "rest_position": REST} | joint
    builder.joint("slide", "prismatic", "world", "mass", axis="x", **spring)
    return fw.Simulator(builder.build(), dt=dt, integrator=integrator)


def test_semi_implicit_steps_follow_their_recurrence() -> None:
    """q'' = -w^2 q by symplectic steps is a cosine of frequency acos(1 - (w dt)^2 / 2) / dt, for all time."""
    dt, start = 5e-3, 0.1
    sim = oscillator(dt, "semi_implicit")
    q = sim.rollout(sim.state(q=[REST + start]), n_steps=4000).q[:, 0] - REST
    angle = math.acos(1.0 - 0.5 * (OMEGA * dt) ** 2)
    n = np.arange(1, 4001)
    exact = start * np.cos(angle * (n + 0.5)) / math.cos(0.5 * angle)  # at rest at n = 0
    np.testing.assert_allclose(q, exact, rtol=0, atol=1e-11)
    assert abs(angle / dt / OMEGA - 1.0) < (OMEGA * dt) ** 2 / 24 * 1.01  # and that is near the true one


def test_semi_implicit_steps_keep_an_energy() -> None:
    """1/2 m v^2 + 1/2 k x^2 - 1/2 k dt x v is the same at every step."""
    dt = 2e-2
    sim = oscillator(dt, "semi_implicit")
    run = sim.rollout(sim.state(q=[REST + 0.1], v=[0.2]), n_steps=5000)
    x, v = run.q[:, 0] - REST, run.v[:, 0]
    energy = 0.5 * MASS * v**2 + 0.5 * STIFFNESS * x**2 - 0.5 * STIFFNESS * dt * x * v
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


def test_fourth_order() -> None:
    errors = []
    for dt in (2e-2, 1e-2):
        sim = oscillator(dt, "rk4")
        run = sim.rollout(sim.state(q=[REST + 0.1]), n_steps=round(2.0 / dt))
        errors.append(np.abs(run.q[:, 0] - REST - 0.1 * np.cos(OMEGA * run.time)).max())
        energy = 0.5 * MASS * run.v[:, 0] ** 2 + sim.scene.springs.energy(run.q)
        assert abs(energy[-1] / (0.5 * STIFFNESS * 0.01) - 1.0) < 10 * (OMEGA * dt) ** 5
    assert errors[1] < 1e-6 and 15.0 < errors[0] / errors[1] < 17.0


def test_implicit_steps_follow_their_recurrence() -> None:
    """(m + dt^2 k) v' = m v - dt k x, x' = x + dt v': backward Euler."""
    dt = 1e-2
    sim = oscillator(dt, "implicit", damping=0.7)
    run = sim.rollout(sim.state(q=[REST + 0.1]), n_steps=200)
    x, v, expected = 0.1, 0.0, []
    for _ in range(200):
        v = (MASS * v - dt * STIFFNESS * x) / (MASS + dt * 0.7 + dt * dt * STIFFNESS)
        x += dt * v
        expected.append(REST + x)
    np.testing.assert_allclose(run.q[:, 0], expected, rtol=0, atol=1e-13)


def test_implicit_steps_are_stable_however_stiff() -> None:
    dt = 1e-2
    sim = oscillator(dt, "implicit", stiffness=1e6 * MASS / dt**2)
    run = sim.rollout(sim.state(q=[REST + 0.1]), n_steps=5)
    assert abs(run.q[0, 0] - REST) < 1.1e-7  # a millionth of the way is left
    assert abs(run.q[-1, 0] - REST) < 1e-15


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_springs_hold_a_weight(integrator: Integrator) -> None:
    """Damped to rest, a pendulum sags until k (q - rest) is the torque of its weight."""
    builder = fw.ModelBuilder("pendulum").link("bob", mass=1.0, com=(1.0, 0, 0))
    builder.joint("hinge", "revolute", "world", "bob", axis=(0, -1, 0), stiffness=40.0, rest_position=0.2, damping=8.0)
    sim = fw.Simulator(builder.build(), dt=2e-3, integrator=integrator)
    q = float(sim.rollout(sim.state(), n_steps=20000, record=False).final.q[0])
    assert abs(40.0 * (q - 0.2) + 9.81 * math.cos(q)) < 1e-10


def test_every_dof_of_universal_and_planar_joints() -> None:
    builder = fw.ModelBuilder("springs", gravity=(0, 0, 0))
    builder.link("a", mass=1.0, inertia=(1, 1, 1)).link("b", mass=2.0, inertia=(1, 1, 1))
    builder.joint("u", "universal", "world", "a", axis="x", axis2="y", stiffness=[3.0, 5.0], rest_position=[0.1, 0.0])
    builder.joint("p", "planar", "world", "b", stiffness=[0.0, 4.0, 6.0], rest_position=0.5)
    sim = fw.Simulator(builder.build(), dt=1e-3, integrator="rk4")
    after = sim.step(sim.state())
    np.testing.assert_allclose(after.joint_forces, [0.3, 0.0, 0.0, 2.0, 3.0], rtol=1e-3, atol=1e-12)
    assert sim.scene.springs.energy(sim.scene.q0) == 0.5 * (3 * 0.01 + 4 * 0.25 + 6 * 0.25)


def test_the_functions_of_a_model_know_nothing_of_springs() -> None:
    """As of damping."""
    model = oscillator(1e-3, "rk4", damping=3.0).model
    assert fw.aba(model, [0.0], [1.0], [0.0]) == 0.0


MJCF = """
<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <default><joint stiffness="7"/><default class="stiff"><joint stiffness="30" springref="0.4"/></default></default>
  <worldbody>
    <body name="a"><joint name="one" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/>
      <body name="b" pos="0.6 0 0"><joint name="two" axis="0 0.6 0.8" ref="0.2" class="stiff"/>
        <geom type="box" size="0.1 0.2 0.05" pos="0.2 0.1 0"/>
        <body name="c" pos="0.4 0 0"><joint name="three" type="slide" axis="1 0 0" springref="-0.1" damping="2"/>
          <geom size="0.08" pos="0 0.1 0"/></body></body></body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_mujoco_agrees(integrator: Integrator) -> None:
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(theirs)
    ours = fw.loads(MJCF, "mjcf", strict=True)
    assert ours.joint("two").stiffness[0] == 30.0 and ours.joint("two").rest_position[0] == 0.4
    assert ours.joint("three").rest_position[0] == -0.1 and ours.joint("one").stiffness[0] == 7.0
    scene = fw.Scene()
    scene.add(ours, name="arm", self_collision=False)
    sim = fw.Simulator(scene, dt=1e-12, integrator=integrator)  # so short that the acceleration is that of its start
    rng = np.random.default_rng(0)
    for _ in range(5):
        data.qpos[:] = rng.uniform(-1, 1, 3)
        mujoco.mj_forward(theirs, data)
        after = sim.step(sim.state(q=fw.convert.from_mujoco(ours, data.qpos)))
        # gravity and springs may cancel in one joint: all are off by a share of the largest
        np.testing.assert_allclose(after.acceleration, data.qacc, rtol=0, atol=1e-11 * np.abs(data.qacc).max())
