"""Many robots in one scene: each is solved by itself, as fast and as exactly as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

import featherweight as fw
from benchmarks.motions import DT
from featherweight.arrays import Array


def crowd(n: int) -> fw.Simulator:
    """Humanoids in a row, three metres apart, held by servos."""
    scene, model = fw.Scene(ground=fw.Plane(friction=0.8)), fw.models.humanoid()
    for k in range(n):
        robot = scene.add(model, name=f"robot_{k}", pose=(0, 3 * k, 1))
        scene.servo(robot, kp=400, kd=20)
    return fw.Simulator(scene, dt=DT, integrator="implicit", num_threads=1)


def shaken(sim: fw.Simulator) -> fw.State:
    state = sim.state()
    v: Array = np.random.default_rng(5).normal(scale=0.2, size=sim.model.nv)
    return state.replace(v=v)


@pytest.mark.parametrize("n", [3, 8])
def test_robots_of_a_crowd_move_as_if_alone(n: int) -> None:
    """Both ways a matrix is made: dense, for all of them, and island by island."""
    sim, alone = crowd(n), crowd(1)
    start = shaken(sim)
    together = sim.rollout(start, control=np.zeros(sim.nu), n_steps=100)
    assert not np.any(together.unconverged)
    for k in range(n):
        part = sim.scene.parts[f"robot_{k}"]
        single = alone.state().replace(v=start.v[part.v])
        own = alone.rollout(single, control=np.zeros(alone.nu), n_steps=100)
        q = together.q[:, part.q] - np.array([0, 3 * k, *np.zeros(len(start.q[part.q]) - 2)])
        assert np.abs(q - own.q).max() <= 1e-7  # residuals of 1e-9 of velocities, over a hundred steps


def test_a_crowd_is_solved_in_every_step() -> None:
    sim = crowd(16)
    trajectory = sim.rollout(shaken(sim), control=np.zeros(sim.nu), n_steps=250)
    assert len(trajectory.final.contacts) > 100
    assert not np.any(trajectory.unconverged)
    assert np.max(trajectory.residual) <= 1e-9


def test_a_robot_beside_a_pile_is_solved_however_the_pile_is() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    rng = np.random.default_rng(0)
    for k in range(150):
        x, y, z = k % 5, k // 5 % 5, k // 25
        place = 0.12 * np.array((x, y, z)) + (1, 0, 0.1) + rng.uniform(-0.02, 0.02, 3)
        scene.add(fw.sphere(0.06, friction=0.8), name=f"ball_{k}", pose=place)
    for k in range(4):  # walls of a pit
        angle = 0.5 * np.pi * k
        normal = np.round([np.cos(angle), np.sin(angle), 0])
        centre = np.array((1.24, 0.24, 0.5)) - 0.41 * normal
        scene.add(fw.box((0.1, 0.9, 1.0), static=True), name=f"wall_{k}", pose=fw.pose(centre, rpy=(0, 0, angle)))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(-2, 0, 0.45))
    scene.servo(robot, kp=60, kd=4)
    sim = fw.Simulator(scene, dt=DT, integrator="implicit", solver=fw.Automatic(pile_iterations=3), num_threads=1)
    state = sim.state()
    own = sim.scene.parts["robot"]
    for _ in range(400):
        state = sim.step(state, control=np.zeros(sim.nu))
    assert not state.converged  # three iterations are not enough for a pile
    assert np.abs(state.v[own.v]).max() < 1e-3  # the robot stands
