"""What a rollout records is what its steps are, one by one."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.simulation.core_arguments import Integrator


def a_scene() -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane(friction=0.7))
    scene.add(fw.models.quadruped(), name="robot", q=None)
    scene.add(fw.box((0.2, 0.2, 0.2)), name="crate", pose=(1.0, 0.0, 0.15))
    return scene


def a_start(sim: fw.Simulator, batch: int | None) -> fw.State:
    rng = np.random.default_rng(3)
    state = sim.state(batch)
    return state.replace(v=0.3 * rng.standard_normal(state.v.shape))


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "verlet"])
@pytest.mark.parametrize("batch", [None, 1, 5])
def test_what_is_recorded_is_what_steps_are(integrator: Integrator, batch: int | None) -> None:
    sim = fw.Simulator(a_scene(), 2e-3, integrator=integrator)
    start = state = a_start(sim, batch)
    if batch is not None:
        state = start = state.randomised(friction=np.linspace(0.5, 1.5, batch))
    recorded = sim.rollout(start, n_steps=120, record_contacts=True)
    touched = 0
    for k in range(120):
        state = sim.step(state)
        touched += len(state.contacts)
        assert recorded.contacts[k] == state.contacts
        assert np.array_equal(recorded.q[..., k, :], state.q) and np.array_equal(recorded.v[..., k, :], state.v)
        assert np.array_equal(recorded.residuals[..., k], state.residual)
        assert np.array_equal(recorded.penetrations[..., k], state.penetration)
    assert np.array_equal(recorded.final.q, state.q) and np.array_equal(recorded.final.v, state.v)
    assert touched > 100


@pytest.mark.parametrize("n_steps", [1, 6, 7, 20, 21])
def test_every_so_many_steps_are_recorded_and_the_last(n_steps: int) -> None:
    sim = fw.Simulator(a_scene(), 2e-3)
    start = sim.rollout(a_start(sim, 3), n_steps=150, record=False).final
    every = sim.rollout(start, n_steps=n_steps, record_contacts=True)
    some = sim.rollout(start, n_steps=n_steps, record_contacts=True, every=7)
    rows = sorted({*range(6, n_steps, 7), n_steps - 1})
    assert np.array_equal(some.time, every.time[rows]) and np.array_equal(some.q, every.q[:, rows])
    assert list(some.contacts) == [every.contacts[k] for k in rows]
    starts = [0, *(k + 1 for k in rows[:-1])]
    for name in ("residuals", "penetrations"):
        worst = np.maximum.reduceat(getattr(every, name), starts, axis=1)
        assert np.array_equal(getattr(some, name), worst)
    assert some.final == every.final


def test_contacts_of_all_rows_are_counted_and_summed() -> None:
    sim = fw.Simulator(a_scene(), 2e-3)
    contacts = sim.rollout(a_start(sim, 3), n_steps=90, record_contacts=True).contacts
    for k, each in enumerate(contacts):
        assert np.array_equal(np.bincount(each.environment, minlength=3), contacts.counts[k])  # type: ignore[attr-defined]
        sums = np.bincount(each.environment, weights=each.impulse[:, 2], minlength=3) / sim.dt
        assert np.array_equal(sums, contacts.normal_force[k])  # type: ignore[attr-defined]
    assert contacts[-1] == contacts[89] and contacts[3:5] == (contacts[3], contacts[4])
    with pytest.raises(IndexError):
        contacts[90]


def test_recorded_contacts_travel() -> None:
    sim = fw.Simulator(a_scene(), 2e-3)
    contacts = sim.rollout(a_start(sim, 2), n_steps=60, record_contacts=True).contacts
    there = pickle.loads(pickle.dumps(contacts))
    assert there == contacts and hash(there) == hash(contacts) and list(there) == list(contacts)
    assert there != sim.rollout(a_start(sim, 2), n_steps=59, record_contacts=True).contacts


def test_contacts_without_coordinates_and_with_a_policy() -> None:
    sim = fw.Simulator(a_scene(), 2e-3)
    start = a_start(sim, 2)
    expected = sim.rollout(start, n_steps=60, record_contacts=True)
    bare = sim.rollout(start, n_steps=60, record=False, record_contacts=True)
    assert bare.q.shape == (2, 0, sim.model.nq) and len(bare) == 0 and bare.contacts == expected.contacts
    asked = sim.rollout(start, n_steps=60, policy=lambda state: None, record_contacts=True)
    assert asked.contacts == expected.contacts and np.array_equal(asked.residuals, expected.residuals)


def test_an_environment_that_fails_is_recorded_as_it_stays() -> None:
    sim = fw.Simulator(a_scene(), 2e-3)
    start = a_start(sim, 2)
    tau = np.zeros((2, 20, sim.model.nv))
    tau[1, 10] = 1e14
    with pytest.warns(fw.SimulationWarning):
        recorded = sim.rollout(start, tau, record_contacts=True)
    assert np.array_equal(recorded.final.failed, [False, True])
    assert np.array_equal(recorded.q[1, 9:], np.tile(recorded.q[1, 9], (11, 1)))
    state = start
    for k in range(20):
        with pytest.warns(fw.SimulationWarning) if k == 10 else nullcontext():
            state = sim.step(state, tau[:, k])
        assert recorded.contacts[k] == state.contacts


@pytest.mark.parametrize("every", [0, -1, 1.5, True])
def test_rows_that_make_no_sense_are_refused(every: Any) -> None:
    sim = fw.Simulator(fw.models.pendulum())
    with pytest.raises(ValueError, match="every"):
        sim.rollout(sim.state(), n_steps=3, every=every)


def test_a_tape_is_of_every_step() -> None:
    sim = fw.Simulator(fw.models.pendulum())
    with pytest.raises(ValueError, match="every"):
        sim.rollout(sim.state(), n_steps=3, every=2, tape=True)


def test_more_steps_than_are_counted_are_refused() -> None:
    sim = fw.Simulator(fw.models.pendulum())
    with pytest.raises(ValueError, match="n_steps"):
        sim.rollout(sim.state(), n_steps=2**40, record=False)


def test_the_page_has_a_curve_of_residuals() -> None:
    sim = fw.Simulator(a_scene(), 2e-3)
    trajectory = sim.rollout(a_start(sim, 2), n_steps=30)
    curves = trajectory.animation().curves
    assert np.array_equal(curves["residual"], trajectory.residuals) and "energy [J]" in curves
