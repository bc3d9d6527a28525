"""What is held or closed keeps its energy: impulses of closures turn velocities, and take nothing from them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.four_bar import assembled, four_bar

import featherweight as fw
from featherweight.arrays import Array


@pytest.mark.parametrize("speed, dt", [(20.0, 1e-3), (60.0, 2e-3), (300.0, 1e-3)])
def test_a_rod_whirls_on_about_its_held_end(speed: float, dt: float) -> None:
    """For a minute. The chord of a step is shorter than its arc, so that velocities are larger by half (w dt / 2)^2."""
    length = 0.3
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.capsule(0.01, length, mass=1.0), name="rod")
    scene.constrain(fw.PointConstraint("rod", offset=(0, 0, length / 2)))
    sim = fw.Simulator(scene, dt=dt)
    start = sim.state(v=[-speed * length / 2, 0, 0, 0, speed, 0])
    motion = sim.rollout(start, n_steps=round(60.0 / dt))
    energy = fw.kinetic_energy(sim.model, motion.q, motion.v)
    chord = (speed * dt) ** 2  # of the energy, several times over
    assert np.abs(energy / fw.kinetic_energy(sim.model, start.q, start.v) - 1).max() < 0.3 * chord
    assert np.abs(energy[1:] / energy[1] - 1).max() < 1e-3 * chord
    end = fw.frame_placement(sim.model, motion.q, "rod") @ [0, 0, length / 2, 1]
    assert np.abs(end[:, :3] - [0, 0, length / 2]).max() < 5e-12
    assert motion.unconverged == 0
    assert motion.closure_error < 5e-12


def turning(rows: tuple[str, ...], speed: float, dt: float, seconds: float, tilt: float = 0.0) -> fw.Trajectory:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(four_bar(tilt), name="bars", q=assembled(1.0), self_collision=False)
    scene.constrain(fw.PointConstraint("bars/tip", to="bars/end", rows=rows))
    sim = fw.Simulator(scene, dt=dt)
    loop = [fw.PointConstraint("bars/tip", to="bars/end", rows=("x", "z"))]
    J = fw.constraint_jacobian(sim.model, sim.scene.q0, loop)
    v = speed * np.concatenate([[1.0], np.linalg.solve(J[:, 1:], -J[:, 0])])
    return sim.rollout(sim.state(v=v), n_steps=round(seconds / dt))


def energies(motion: fw.Trajectory) -> Array:
    return np.asarray(fw.kinetic_energy(motion.simulator.model, motion.q, motion.v))


def test_a_crank_and_rocker_keep_turning() -> None:
    """For a minute: the mean energy of a turn stays, and the crank is where it would be."""
    dt = 1e-3
    motion = turning(("x", "z"), 3.0, dt, 60.0)
    energy, angle = energies(motion), motion.q[:, 0]
    turns = np.flatnonzero(np.diff(np.floor((angle - 1.0) / (2 * np.pi)))) + 1
    means = np.array([energy[i:j].mean() for i, j in itertools.pairwise(turns)])
    assert len(means) > 20
    assert np.abs(means / means[0] - 1).max() < 1e-3
    finer = turning(("x", "z"), 3.0, dt / 4, 1.0)
    assert abs(motion.q[999, 0] - finer.q[-1, 0]) < 0.01 * (finer.q[-1, 0] - 1.0)
    assert motion.closure_error < 1e-11


def test_velocities_belong_to_the_middle_of_the_step() -> None:
    """At the coordinates between two steps the velocity is the mean of theirs: so read, energy stays for a minute."""
    motion = turning(("x", "z"), 3.0, 1e-3, 60.0)
    energy = fw.kinetic_energy(motion.simulator.model, motion.q[:-1], (motion.v[:-1] + motion.v[1:]) / 2)
    assert np.abs(energy / energy[0] - 1).max() < 5e-4
    assert np.abs(energies(motion) / energies(motion)[0] - 1).max() > 2e-3  # as they are: of first order


@pytest.mark.parametrize("tilt", [0.0, 1e-7])
def test_rows_that_repeat_each_other_are_met_as_one(tilt: float) -> None:
    """The row across the plane of the bars has nothing to move, but for axes rounded in some file."""
    plane, space = turning(("x", "z"), 3.0, 1e-3, 1.0), turning(("x", "y", "z"), 3.0, 1e-3, 1.0, tilt)
    assert space.unconverged == 0
    assert space.closure_error <= 10 * tilt + 1e-11
    np.testing.assert_allclose(space.q, plane.q, atol=1e-9 + tilt)


@pytest.mark.filterwarnings("ignore:.*no collision shapes")
def test_environments_with_closures_do_not_know_their_neighbours() -> None:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(four_bar(), name="bars", q=assembled(1.0), pose=(0, 0, 0.2), self_collision=False)
    scene.add(fw.box((0.1, 0.1, 0.1)), name="box", pose=(1, 0, 0.05))
    scene.constrain(fw.PointConstraint("bars/tip", to="bars/end", rows=("x", "z")))
    scene.constrain(fw.PointConstraint("box", rows=("y",)))
    sim = fw.Simulator(scene, dt=2e-3)
    v = np.random.default_rng(0).normal(size=(9, sim.model.nv)) * np.geomspace(1e-3, 10, 9)[:, None]
    many = sim.rollout(sim.state(batch=9, v=v), n_steps=40)
    for k in range(9):
        alone = sim.rollout(sim.state(v=v[k]), n_steps=40)
        np.testing.assert_array_equal(alone.q, many.q[k])
        np.testing.assert_array_equal(alone.v, many.v[k])


@pytest.mark.filterwarnings("ignore:.*no collision shapes")
@pytest.mark.parametrize("name", ["four_bar", "five_bar", "slider_crank", "stewart", "delta", "loop_biped"])
def test_velocities_lead_where_closures_are_closed(name: str) -> None:
    """However soon the iterations end: coordinates go by the velocities, to the speed that closures are found to."""
    model = getattr(fw.models, name)()
    rng = np.random.default_rng(0)
    sim = fw.Simulator(model, dt=2e-3)
    state = sim.state(8)
    slices = [model.joint(joint.name).v_slice for joint in model.description.joints]
    along_axes = [part.start for part in slices if part.stop - part.start == 1]  # what turns as a body bends its path
    for _ in range(100):
        state = sim.step(state, tau=rng.normal(scale=0.5, size=(8, model.nv)))
        path = [model.difference(*ends) / 2e-3 for ends in zip(state.q_start, state.q, strict=True)]
        assert np.abs(path - state.v)[:, along_axes].max() < 1e-8
        assert state.closure_error.max() < 2e-12
