"""Rotors that spin faster than their joints, and joints that are driven through springs."""

from __future__ import annotations

import numpy as np
import pytest

import featherweight as fw

RATIO, ROTOR = 50.0, 2e-5


def hinge(axis: str = "y") -> fw.ModelBuilder:
    builder = fw.ModelBuilder("arm", gravity=(0.0, 0.0, 0.0))
    builder.solid("rod", "capsule", (0.02, 0.5), mass=1.0, placement=(0.25, 0.0, 0.0))
    return builder.joint("hinge", "revolute", "world", "rod", axis=axis)


def test_a_rotor_on_a_fixed_base_is_felt_by_the_square_of_its_ratio() -> None:
    with_rotor = fw.Simulator(hinge().rotor("drive", "hinge", RATIO, inertia=ROTOR, mass=0.05).build())
    builder = fw.ModelBuilder("arm", gravity=(0.0, 0.0, 0.0))
    builder.solid("rod", "capsule", (0.02, 0.5), mass=1.0, placement=(0.25, 0.0, 0.0))
    builder.joint("hinge", "revolute", "world", "rod", axis="y", armature=RATIO**2 * ROTOR)
    reflected = fw.Simulator(builder.build())
    a = with_rotor.rollout(with_rotor.state(), tau=[0.3, 0.0], n_steps=50).final
    b = reflected.rollout(reflected.state(), tau=[0.3], n_steps=50).final
    np.testing.assert_allclose(a.q, [b.q[0], RATIO * b.q[0]], rtol=1e-11)


def test_a_spinning_rotor_pushes_across_a_turning_base() -> None:
    """A turntable that carries a spinning wheel feels w x L, which a reflected inertia does not have."""
    builder = fw.ModelBuilder("gyro", gravity=(0.0, 0.0, 0.0))
    builder.solid("table", "cylinder", (0.2, 0.02), mass=2.0)
    builder.joint("table", "continuous", "world", "table", axis="z")
    builder.solid("arm", "box", (0.2, 0.02, 0.02), mass=0.1)
    builder.joint("tilt", "revolute", "table", "arm", axis="y")
    builder.solid("tool", "sphere", (0.02,), mass=0.1)
    builder.joint("wrist", "revolute", "arm", "tool", axis="x")
    builder.rotor("drive", "wrist", 200.0, inertia=1e-4, mass=0.05)
    sim = fw.Simulator(builder.build(), dt=1e-4)
    v = np.zeros(sim.model.nv)
    for name, rate in (("table", 1.0), ("wrist", 2.0), ("drive", 400.0)):
        v[sim.model.joint(f"gyro/{name}").v_slice] = rate
    after = sim.step(sim.state(v=v))
    tilt = sim.model.joint("gyro/tilt").v_slice.start
    inertia = fw.crba(sim.model, sim.scene.q0)[tilt, tilt]
    # the angular momentum along x of rotor and tool turns with the table
    momentum = 1e-4 * 400.0 + 0.4 * 0.1 * 0.02**2 * 2.0
    assert abs(after.v[tilt]) == pytest.approx(momentum * 1.0 * sim.dt / inertia, rel=1e-2)


def test_a_series_elastic_joint_swings_on_its_spring() -> None:
    """With the motor held, the joint swings at sqrt(k / I)."""
    k = 20.0
    builder = hinge().series_elastic("motor", "hinge", stiffness=k, inertia=1e-4, mass=0.1, ratio=10.0)
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(builder.build(), name="m", q=[0.1, 0.0])
    scene.constrain(fw.JointCoupling("m/motor", polynomial=(0.0,)))
    sim = fw.Simulator(scene, dt=1e-4)
    inertia = fw.crba(sim.model, sim.scene.q0)[0, 0]
    q = sim.rollout(sim.state(), n_steps=4000).q[:, 0]
    crossings = np.flatnonzero(np.diff(np.sign(q)))
    period = 2 * np.diff(crossings).mean() * sim.dt
    assert period == pytest.approx(2 * np.pi * np.sqrt(inertia / k), rel=2e-3)


def test_a_rotor_needs_a_hinge() -> None:
    with pytest.raises(ValueError, match="unknown joint 'hing'"):
        hinge().rotor("drive", "hing", 10.0, inertia=1e-4, mass=0.1)
    with pytest.raises(ValueError, match="must not be zero"):
        hinge().series_elastic("motor", "hinge", stiffness=1.0, inertia=1e-4, mass=0.1, ratio=0.0)
