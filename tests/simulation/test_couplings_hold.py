"""Joints that move each other: gears, mimic joints, cams and differentials hold in every step, and keep energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.model.description import Mimic

INERTIA, RATIO = (0.02, 0.05), -0.4


def wheels(*, mimic: bool = False, weight: float = 0.0, **options: Any) -> fw.Model:
    """Two wheels about x, side by side; the second may follow the first."""
    builder = fw.ModelBuilder("gears")
    for k, (name, inertia) in enumerate(zip(("motor", "wheel"), INERTIA, strict=True)):
        builder.link(name, mass=1.0, com=(0.0, 0.0, -weight), inertia=(inertia, 0.05, 0.05))
        follows = Mimic("motor", RATIO, 0.1) if mimic and k else None
        at = (0.0, 0.3 * k, 0.0)
        builder.joint(name, "continuous", "world", name, placement=at, axis="x", mimic=follows, **options)
    return builder.build()


def coupled(model: fw.Model, *constraints: Any, dt: float = 1e-3, **options: Any) -> fw.Simulator:
    scene = fw.Scene()
    scene.add(model, name="m", **options)
    for each in constraints:
        scene.constrain(each)
    return fw.Simulator(scene, dt=dt)


def energy(sim: fw.Simulator, q: Any, v: Any) -> Any:
    return fw.kinetic_energy(sim.model, q, v) + fw.potential_energy(sim.model, q)


def test_a_geared_wheel_adds_its_inertia_by_the_square_of_the_ratio() -> None:
    sim = coupled(wheels(), fw.JointCoupling("m/wheel", to="m/motor", polynomial=(0.0, RATIO)))
    torque = 0.3
    after = sim.step(sim.state(), [torque, 0.0])
    expected = torque / (INERTIA[0] + RATIO**2 * INERTIA[1])
    np.testing.assert_allclose(after.v, np.array([1.0, RATIO]) * expected * sim.dt, rtol=1e-13)
    np.testing.assert_allclose(after.couplings.force, INERTIA[1] * RATIO * expected, rtol=1e-12)


def test_a_mimic_joint_is_held_and_takes_no_energy() -> None:
    sim = coupled(wheels(mimic=True, weight=0.2), q=[0.5, 0.1 + RATIO * 0.5])
    run = sim.rollout(sim.state(v=[3.0, RATIO * 3.0]), n_steps=4000)
    assert np.abs(run.q[:, 1] - RATIO * run.q[:, 0] - 0.1).max() < 1e-12
    drift = energy(sim, run.q, run.v)
    assert np.ptp(drift[:1000]) < 5e-3 * np.abs(drift).max()
    assert abs(drift[-1000:].mean() - drift[:1000].mean()) < 2e-3 * np.abs(drift).max()


def test_a_cam_follows_its_polynomial_exactly() -> None:
    """The energy of a cam at constant potential is that of a single degree of freedom."""
    cam = fw.JointCoupling("m/wheel", to="m/motor", polynomial=(0.0, 0.3, 0.2, -0.1))
    sim = coupled(wheels(), cam)
    run = sim.rollout(sim.state(v=[2.0, 0.6]), n_steps=1000)
    x, y = run.q.T
    assert np.abs(y - (0.3 * x + 0.2 * x**2 - 0.1 * x**3)).max() < 1e-11
    drift = energy(sim, run.q, run.v)
    assert np.ptp(drift) < 5e-3 * drift[0]


def differential() -> fw.Model:
    builder = fw.ModelBuilder("differential")
    for k, name in enumerate(("left", "right", "carrier")):
        builder.link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        builder.joint(name, "continuous", "world", name, placement=(0.0, 0.3 * k, 0.0), axis="y")
    return builder.build()


def test_a_differential_shares_torque_equally() -> None:
    rule = fw.JointCombination({"m/left": 0.5, "m/right": 0.5, "m/carrier": -1.0})
    sim = coupled(differential(), rule)
    run = sim.rollout(sim.state(v=[1.0, -1.0, 0.0]), tau=[0.0, 0.0, 0.6], n_steps=500)
    left, right, carrier = run.q.T
    assert np.abs(0.5 * (left + right) - carrier).max() < 1e-13
    # each half feels lambda / 2 and the carrier tau - lambda: 0.1 (a + a) / 2 and so on
    acceleration = 0.6 / (0.1 + 2 * 0.1)
    np.testing.assert_allclose(run.v[-1], np.array([1, -1, 0]) + acceleration * 0.5 * np.array([1, 1, 1]), atol=1e-12)


def test_what_a_coupled_joint_touches_is_felt_by_the_other() -> None:
    """A geared arm on a stop: the limit of the one holds both."""
    builder = fw.ModelBuilder("gears")
    for k, name in enumerate(("motor", "wheel")):
        builder.link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        limit: dict[str, Any] = {"upper": 0.05} if k else {}
        at = (0.0, 0.3 * k, 0.0)
        builder.joint(name, "revolute", "world", name, placement=at, axis="x", **limit)
    builder.couple("gear", "wheel", "motor", (0.0, 0.5))
    sim = coupled(builder.build())
    state = sim.rollout(sim.state(), tau=[1.0, 0.0], n_steps=1000).final
    np.testing.assert_allclose(state.q, [0.1, 0.05], atol=1e-9)
    np.testing.assert_allclose(state.forces.limits, [0.0, -2.0], atol=1e-6)
    np.testing.assert_allclose(state.forces.couplings.force, [2.0], atol=1e-6)


def test_a_joint_held_in_place_stays() -> None:
    sim = coupled(wheels(weight=0.3), fw.JointCoupling("m/motor", polynomial=(0.7,)), q=[0.7, 0.0])
    state = sim.rollout(sim.state(), n_steps=100).final
    assert abs(state.q[0] - 0.7) < 1e-13
    np.testing.assert_allclose(state.couplings.force, [9.81 * 0.3 * np.sin(0.7)], rtol=1e-9)


def test_couplings_that_say_the_same_twice_hold_as_one() -> None:
    """As least squares of rows that repeat each other."""
    gear = fw.JointCombination({"m/wheel": 1.0, "m/motor": -RATIO})
    again = fw.JointCombination({"m/wheel": 2.0, "m/motor": -2 * RATIO})
    sims = [coupled(wheels(weight=0.2), *rules, q=[0.3, RATIO * 0.3]) for rules in ([gear], [gear, again])]
    once, twice = (sim.rollout(sim.state(), n_steps=200).final for sim in sims)
    np.testing.assert_allclose(once.q, twice.q, rtol=1e-12)
    assert bool(twice.converged)


@pytest.mark.parametrize("lanes", [1, 3, 9])
def test_batches_give_the_same_bits(lanes: int) -> None:
    sim = coupled(wheels(mimic=True, weight=0.2), q=[0.5, 0.1 + RATIO * 0.5])
    v = np.linspace(0.0, 4.0, lanes)[:, None] * np.array([1.0, RATIO])
    whole = sim.rollout(sim.state(lanes, v=v), n_steps=20).q
    for k in range(lanes):
        np.testing.assert_array_equal(sim.rollout(sim.state(v=v[k]), n_steps=20).q, whole[k])


def test_a_rod_and_a_hinge_hold_as_the_points_they_are() -> None:
    """A pendulum on a massless rod swings as one on a rod that is part of it."""
    scene = fw.Scene()
    scene.add(fw.sphere(0.01), name="bob", pose=(0.3, 0.0, 1.0))
    scene.constrain(fw.DistanceConstraint("bob", to_offset=(0.0, 0.0, 1.0)))
    sim = fw.Simulator(scene, dt=1e-3)
    run = sim.rollout(sim.state(), n_steps=1000)
    length = np.linalg.norm(run.q[:, :3] - (0.0, 0.0, 1.0), axis=1)
    assert np.abs(length - 0.3).max() < 1e-12
    total = energy(sim, run.q, run.v)
    assert np.ptp(total) < 2e-2 * (total.max() - fw.potential_energy(sim.model, run.q).min())
    hinged = fw.Scene()
    hinged.add(fw.models.four_bar(closed=False), name="f", self_collision=False)
    hinged.constrain(fw.HingeConstraint("f/coupler_end", "f/rocker_end", axis="y"))
    own = fw.Simulator(hinged)
    closed = fw.Simulator(fw.models.four_bar())
    a, b = (s.rollout(s.state(), n_steps=200).final for s in (own, closed))
    np.testing.assert_allclose(a.q, b.q, atol=1e-9)


def test_bad_couplings_are_refused_by_name() -> None:
    scene = fw.Scene()
    scene.add(wheels(), name="m")
    with pytest.raises(ValueError, match="no moving joint 'm/whel'"):
        scene.constrain(fw.JointCoupling("m/whel", to="m/motor"))
    scene.constrain(fw.JointCoupling("m/wheel", to="m/motor"))
    with pytest.raises(ValueError, match="circle"):
        scene.constrain(fw.JointCoupling("m/motor", to="m/wheel"))
    scene.add(fw.models.box(), name="box")
    with pytest.raises(ValueError, match="degrees of freedom"):
        scene.constrain(fw.JointCoupling("box/root_joint", to="m/motor"))
