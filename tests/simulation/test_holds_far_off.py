"""Frames that should coincide and are far apart: they come together at a bounded speed, or say that they cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

DT = 2e-3


def held(pose: Array, *constraints: fw.PointConstraint | fw.FrameConstraint, steps: int) -> fw.Trajectory:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.box((0.1, 0.2, 0.3)), name="box", pose=pose)
    for constraint in constraints:
        scene.constrain(constraint)
    sim = fw.Simulator(scene, dt=DT)
    return sim.rollout(sim.state(), n_steps=steps)


def test_a_hold_half_a_metre_off_comes_at_half_a_metre_per_second() -> None:
    motion = held(fw.pose((0.3, 0, 0.4)), fw.FrameConstraint("box", position=np.eye(4)), steps=600)
    speeds = np.linalg.norm(np.diff(motion.q[:, :3], axis=0), axis=1) / DT
    assert speeds.max() < 0.5 + 1e-9
    np.testing.assert_allclose(speeds[:490], 0.5, rtol=1e-9)
    assert np.abs(motion.v).max() < 1e-12, "nothing is thrown"
    assert np.abs(motion.q[-1, :3]).max() < 1e-12
    assert motion.unconverged == 0


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, 0.8)])
@pytest.mark.parametrize("rows", [("x", "y", "z", "rx", "ry", "rz"), ("x", "y", "z", "rx", "ry")])
def test_a_weld_or_hinge_that_is_half_a_turn_off_moves(axis: Array, rows: tuple[str, ...]) -> None:
    turned = np.eye(4)
    u = np.asarray(axis, dtype=float)
    turned[:3, :3] = 2 * np.outer(u, u) - np.eye(3)
    motion = held(turned, fw.FrameConstraint("box", rows=rows, position=np.eye(4)), steps=round(1.02 * np.pi / 2 / DT))
    assert motion.final.closure_error < 1e-9
    assert motion.unconverged == 0
    assert np.abs(motion.v).max() < 1e-10


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "verlet"])
def test_a_weld_off_by_pi_turns_in_the_first_step(integrator: Any) -> None:
    """By two radians per second, without a velocity, and says how far it still is."""
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.box((0.1, 0.2, 0.3)), name="box")
    scene.constrain(fw.FrameConstraint("box", position=np.diag([-1.0, -1.0, 1.0, 1.0])))
    sim = fw.Simulator(scene, dt=DT, integrator=integrator)
    after = sim.step(sim.state())
    assert abs(2 * np.arcsin(np.linalg.norm(after.q[3:6])) - 2 * DT) < 1e-12
    assert np.abs(after.v).max() == 0
    assert abs(after.closure_error - (np.pi - 2 * DT)) < 1e-9
    assert not after.converged


def test_holds_that_contradict_each_other_say_so() -> None:
    a = fw.PointConstraint("box", position=(0, 0, 0))
    b = fw.PointConstraint("box", position=(0.2, 0, 0))
    motion = held(np.eye(4), a, b, steps=1000)
    assert np.isfinite(motion.q).all()
    assert not motion.final.converged
    assert motion.final.closure_error == pytest.approx(0.2, abs=1e-6)
    assert motion.unconverged == 1000


def test_a_hold_that_nothing_can_move_says_so() -> None:
    """A slider along x, held a little aside."""
    builder = fw.ModelBuilder("slider")
    builder.solid("block", "box", (0.1, 0.1, 0.1), mass=1.0)
    builder.joint("rail", "prismatic", "world", "block", axis="x")
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(builder.build(), name="slider")
    scene.constrain(fw.PointConstraint("slider/block", rows=("y", "z"), position=(0, 0.01, 0)))
    sim = fw.Simulator(scene, dt=DT)
    motion = sim.rollout(sim.state(v=[1.0]), n_steps=100)
    assert motion.final.closure_error == pytest.approx(0.01)
    assert not motion.final.converged
    np.testing.assert_allclose(motion.v, 1.0, rtol=1e-12)


def straight_arm(lift: float, bend: float) -> fw.Scene:
    """On a lift below its limit by so much [m], nearly straight down to where its hand is held."""
    builder = fw.ModelBuilder("arm")
    builder.solid("torso", "box", (0.1, 0.1, 0.1), mass=5.0).solid("upper", "capsule", (0.04, 0.4), mass=2.0)
    builder.solid("lower", "capsule", (0.04, 0.4), mass=1.0)
    builder.joint("lift", "prismatic", "world", "torso", axis="z", lower=lift, upper=1.0, armature=1e4)
    ends: Any = {"child_placement": (0, 0, -0.25), "axis": "y"}
    builder.joint("shoulder", "continuous", "torso", "upper", placement=(0, 0.2, 0), **ends, start=[bend])
    builder.joint("elbow", "continuous", "upper", "lower", placement=(0, 0, -0.25), **ends, start=[-2.0 * bend])
    scene = fw.Scene()
    scene.add(builder.build(), name="arm")
    scene.constrain(fw.PointConstraint("arm/lower", offset=(0, 0, -0.25), position=(0, 0.2, -np.cos(bend))))
    return scene


@pytest.mark.filterwarnings("ignore:.*beyond its limit")
@pytest.mark.parametrize("bend", [0.0, 1e-5, 1e-4, 0.01, 0.3])
def test_a_straight_arm_that_is_held_is_not_thrown_by_its_limits(bend: float) -> None:
    """The lift would have to rise where the arm hardly lets it: nothing jumps, whether it gets there or not."""
    sim = fw.Simulator(straight_arm(0.04, bend), dt=DT)
    motion = sim.rollout(sim.state(), n_steps=500)
    moved = np.diff(motion.q, axis=0) - DT * motion.v[1:]
    assert np.abs(moved).max() <= 1.2 * 2.0 * DT  # two radians per second, and what the curve of the way leaves open
    assert motion.final.closure_error < 1e-9
    assert motion.unconverged == 0


def shoulder_on_a_slide(bend: float, slide_damping: float) -> fw.Scene:
    """An arm of two links of a metre, bent by so much, on a lift 4 cm below its limit and a slide; its hand is held."""
    builder = fw.ModelBuilder("arm", gravity=(0.0, 0.0, 0.0))
    for name in ("cart", "lift"):
        builder.link(name, mass=10.0, inertia=np.ones(3))
    builder.joint("slide", "prismatic", "world", "cart", axis="x", damping=slide_damping)
    builder.joint("up", "prismatic", "cart", "lift", axis="z", lower=0.04, upper=1.0, damping=100.0)
    above, at = "lift", 0.0
    for k, angle in enumerate((bend, -2.0 * bend)):
        builder.link(f"arm_{k}", mass=1.0, com=(0.5, 0.0, 0.0), inertia=0.1 * np.ones(3))
        builder.joint(f"turn_{k}", "revolute", above, f"arm_{k}", axis="y", placement=(at, 0, 0), start=[angle])
        above, at = f"arm_{k}", 1.0
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(builder.build(), name="arm")
    scene.constrain(fw.PointConstraint("arm/arm_1", offset=(1.0, 0, 0), position=(2.0 * np.cos(bend), 0, 0)))
    return scene


@pytest.mark.filterwarnings("ignore:.*beyond its limit")
@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_a_limit_gives_way_where_no_posture_meets_it(integrator: Any) -> None:
    """A straight arm reaches no farther, and its base does not move: the hand is held, the lift stays where it is."""
    sim = fw.Simulator(shoulder_on_a_slide(0.0, 1e11), dt=DT, integrator=integrator)
    motion = sim.rollout(sim.state(), n_steps=300)
    assert motion.unconverged == 0 and motion.final.closure_error < 1e-6
    assert motion.final.limit_violation > 0.02
    bent = fw.Simulator(shoulder_on_a_slide(0.3, 1e11), dt=DT, integrator=integrator)
    motion = bent.rollout(bent.state(), n_steps=600)
    assert motion.unconverged == 0 and motion.final.closure_error < 1e-9
    assert motion.final.limit_violation < 1e-6
