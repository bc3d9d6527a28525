"""Work given to other processes, started afresh or forked, is done with the same bits."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import pickle

import numpy as np
import pytest
from helpers import travel
from helpers.compare import assert_same_bits

import featherweight as fw

FORK = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")


@pytest.fixture(scope="module")
def states() -> list[fw.State]:
    sim = fw.Simulator(travel.crowded(), dt=2e-3, integrator="implicit")
    warm = sim.rollout(sim.state(), control=np.zeros(sim.nu), n_steps=100).final
    many = sim.rollout(travel.various(sim, 20), control=np.zeros(sim.nu), n_steps=60).final
    return [warm, sim.state(), sim.step(warm), many]


def assert_work_is_done(states: list[fw.State], results: list[tuple[np.ndarray, np.ndarray]]) -> None:
    for state, (q, impulse) in zip(states, results, strict=True):
        expected_q, expected_impulse = travel.end_of(state)
        assert_same_bits(q, expected_q)
        assert_same_bits(impulse, expected_impulse)


def test_spawned_workers(states: list[fw.State]) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert_work_is_done(states, pool.map(travel.end_of, states))
        sim = states[0].simulator
        for back, state in zip(pool.map(travel.stepped, [(sim, each) for each in states]), states, strict=True):
            assert back == sim.step(state)
            assert sim.step(back) == sim.step(sim.step(state))


@FORK
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # threads of the core do not mind
def test_forked_workers(states: list[fw.State]) -> None:
    travel.end_of(states[-1])  # threads of this process are at work before it forks
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert_work_is_done(states, list(pool.map(travel.end_of, states)))


def test_errors_come_back_from_workers(states: list[fw.State]) -> None:
    other = fw.Simulator(fw.models.arm())
    with (
        multiprocessing.get_context("spawn").Pool(1) as pool,
        pytest.raises(ValueError, match="belongs to a different simulator"),
    ):
        pool.map(travel.stepped, [(other, states[0])])


def test_closures_over_simulators(states: list[fw.State]) -> None:
    """As joblib's workers and Ray get them."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="functions without a name need cloudpickle")
    state = states[0]
    sim = state.simulator
    data = cloudpickle.dumps(lambda: sim.rollout(state, n_steps=10).q)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert_same_bits(pool.apply(travel.call, (data,)), sim.rollout(state, n_steps=10).q)


def test_a_state_that_comes_back_is_the_same_as_one_that_never_left(states: list[fw.State]) -> None:
    here = there = states[0]
    for _ in range(5):
        here = here.simulator.step(here)
        there = pickle.loads(pickle.dumps(there.simulator.step(there)))
    assert here == there
