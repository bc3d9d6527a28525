"""Piles are solved to the tolerance if there is time for it, and bounded in time if not."""

from __future__ import annotations

import numpy as np

import featherweight as fw
from benchmarks.motions import DT
from benchmarks.settling import pile_scene


def test_a_settling_pile_is_solved_almost_every_step() -> None:
    """Plain Gauss-Seidel misses more than half of the steps from the time when the spheres touch each other."""
    sim = fw.Simulator(pile_scene(200), dt=DT, solver=fw.Automatic(pile_iterations=2000), num_threads=1)
    state = sim.state()
    missed, large = 0, 0
    for _ in range(300):
        state = sim.step(state)
        large += int(np.count_nonzero(state.contacts.impulse[:, 2] > 0.0)) > 120
        missed += not state.converged
    assert large > 150
    assert missed <= 9


def test_time_for_a_pile_can_be_bounded() -> None:
    sim = fw.Simulator(pile_scene(200), dt=DT, solver=fw.Automatic(pile_iterations=30), num_threads=1)
    trajectory = sim.rollout(sim.state(), n_steps=250, record=False)
    assert np.sum(trajectory.iterations["gauss_seidel"]) <= 250 * 30 + 1000  # small islands take what they need
    assert 0 < np.sum(trajectory.unconverged) < 250
    assert trajectory.penetration < 1e-4


def test_a_ball_pressed_into_a_corner_stays_as_it_is() -> None:
    """It sticks to both walls and cannot move. Were the nanometres closed by which rolling opens loaded contacts,
    friction would have to grow until one of them slides."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.Plane(normal=(1, 0, 0), friction=0.8), name="wall")
    scene.add(fw.sphere(0.05, friction=0.8), name="ball", pose=(0.05, 0, 0.05))
    sim = fw.Simulator(scene, dt=DT)
    state = sim.state()
    push = sim.push(state, "ball", (-3.0, 0, 0))
    state = sim.rollout(state, f_ext=push, n_steps=50).final
    impulses, negligible = state.contacts.impulse, 0.01 * 9.81 * DT**2
    assert impulses.shape == (2, 6)
    assert np.all(impulses[:, 2] > 3e-3)  # the least that keep it there
    for gap in (1e-11, 1e-9, 0.9 * negligible):
        moved = sim.step(state.replace(q=np.array(state.q) + np.array((gap, 0, 0, 0, 0, 0, 0))), f_ext=push)
        assert moved.converged
        np.testing.assert_allclose(moved.contacts.gap, (0, gap), atol=1e-16)
        np.testing.assert_allclose(moved.contacts.impulse, impulses, atol=2e-8)
    # a gap that counts is closed: that takes sliding
    moved = sim.step(state.replace(q=np.array(state.q) + np.array((2 * negligible, 0, 0, 0, 0, 0, 0))), f_ext=push)
    friction = np.hypot(moved.contacts.impulse[:, 0], moved.contacts.impulse[:, 1])
    assert np.max(friction / (0.8 * moved.contacts.impulse[:, 2])) > 1 - 1e-6
    assert abs(sim.step(moved, f_ext=push).contacts.gap[1]) <= 1e-12
