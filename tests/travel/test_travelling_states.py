"""States and trajectories arrive elsewhere as they left, and step on from there with the same bits."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from helpers.compare import assert_same_bits
from helpers.travel import JOURNEYS, crowded, various

import featherweight as fw

every_journey = pytest.mark.parametrize("travel", JOURNEYS.values(), ids=JOURNEYS.keys())
Travel = Callable[[Any], Any]

FIELDS = (
    *("q", "v", "acceleration", "joint_forces"),
    *("residual", "primal", "dual", "complementarity", "penetration", "converged", "failed"),
)


@pytest.fixture(scope="module")
def sim() -> fw.Simulator:
    return fw.Simulator(crowded(), dt=2e-3, integrator="implicit")


@pytest.fixture(scope="module")
def middle(sim: fw.Simulator) -> dict[str, fw.State]:
    """In the middle of things, with contacts and impulses to start warm from."""
    single, many = sim.state(), various(sim, 5)
    control = np.full(sim.nu, 0.05)
    states = {name: sim.rollout(state, control=control, n_steps=120).final for name, state in
              (("single", single), ("many", many))}  # fmt: skip
    assert all(len(state.contacts) > 5 and state._core.impulses.any() for state in states.values())
    return states


def assert_same(got: fw.State, expected: fw.State) -> None:
    assert got == expected and hash(got) == hash(expected)
    assert (got.time, got.single, got.batch_size) == (expected.time, expected.single, expected.batch_size)
    for name in FIELDS:
        assert_same_bits(getattr(got, name), getattr(expected, name), name)
    assert got.iterations.keys() == expected.iterations.keys()
    assert all(np.array_equal(got.iterations[name], expected.iterations[name]) for name in got.iterations)
    assert got.contacts == expected.contacts
    assert got.parameters == expected.parameters


@every_journey
@pytest.mark.parametrize("which", ["single", "many"])
def test_states_go_on_where_they_were(travel: Travel, which: str, middle: dict[str, fw.State]) -> None:
    state = middle[which]
    back = travel(state)
    assert back is not state
    assert_same(back, state)
    here, there = state.simulator, back.simulator
    assert_same(there.step(back), here.step(state))
    a, b = (sim.rollout(each, n_steps=50, record_contacts=True) for sim, each in ((here, state), (there, back)))
    assert a == b
    assert_same(b.final, a.final)


@every_journey
def test_states_change_alike(travel: Travel, middle: dict[str, fw.State]) -> None:
    """Reports stay with a state that is changed, and go where it starts anew."""
    state = middle["many"]
    back = travel(state)
    first = np.arange(5) < 2
    changes: list[Callable[[fw.State], fw.State]] = [
        lambda each: each.replace(v=np.zeros(each.v.shape[1])),
        lambda each: each.randomised(friction=np.full(5, 0.3)),
        lambda each: each.reset(first),
        lambda each: each.simulator.rollout(each, n_steps=0).final,
    ]
    for change in changes:
        assert_same(change(back), change(state))
    assert back.replace(v=back.v) == back
    residual = back.reset(first).residual
    assert (residual[:2] == 0.0).all() and (residual[2:] > 0.0).all()


@every_journey
def test_failed_environments_stay_failed(travel: Travel) -> None:
    sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
    tau = np.array([[np.nan], [0.0]])
    state = sim.step(sim.state(2), tau)
    assert state.failed.tolist() == [True, False]
    back = travel(state)
    assert_same(back, state)
    assert_same(back.simulator.step(back), sim.step(state))
    assert back.reset().failed.tolist() == [False, False]


def test_apart_or_together(middle: dict[str, fw.State]) -> None:
    """A state brings its simulator along; one that came by itself equals it, and takes the state over."""
    state = middle["many"]
    sim = state.simulator
    there, back = pickle.loads(pickle.dumps((sim, state)))
    assert back.simulator is there
    alone, apart = pickle.loads(pickle.dumps(sim)), pickle.loads(pickle.dumps(state))
    assert apart.simulator is not alone
    expected = sim.step(state)
    for simulator, each in ((there, back), (alone, apart), (sim, apart), (alone, state)):
        got = simulator.step(each)
        assert got.simulator is simulator
        assert_same(got, expected)
        assert_same(simulator.rollout(each, n_steps=1).final, expected)
    assert_same_bits(alone.gravity_compensation(apart), sim.gravity_compensation(state))
    with pytest.raises(ValueError, match="belongs to a different simulator"):
        fw.Simulator(sim.scene, dt=1e-3).step(apart)


def test_many_states_share_a_simulator(middle: dict[str, fw.State]) -> None:
    state = middle["single"]
    sim = state.simulator
    states = [state, sim.step(state), sim.step(sim.step(state))]
    back = pickle.loads(pickle.dumps(states))
    assert back == states and len({id(each.simulator) for each in back}) == 1
    assert len(pickle.dumps(states)) < 1.5 * len(pickle.dumps(state))


def test_files_and_pickles_hold_the_same(middle: dict[str, fw.State], tmp_path: Path) -> None:
    for name, state in middle.items():
        state.save(tmp_path / name)
        assert_same(fw.State.load(state.simulator, tmp_path / name), state)


def test_states_that_differ(middle: dict[str, fw.State]) -> None:
    state = middle["many"]
    sim = state.simulator
    q, v = state.q.copy(), state.v.copy()
    v[2, 3] = np.nextafter(v[2, 3], 1.0)
    q[0, 0] = np.nextafter(q[0, 0], 1.0)
    others = {
        "a bit of v": state.replace(v=v),
        "a bit of q": state.replace(q=q),
        "friction": state.randomised(friction=np.ones(5)),
        "time": sim.step(state),
        "contacts": state.reset(np.arange(5) == 1, q=state.q, v=state.v),
        "simulator": fw.Simulator(sim.scene, dt=1e-3).state(5),
    }
    for name, other in others.items():
        assert other != state, name
    assert state != 0 and sim.state() != sim.state(1)
    assert sim.state(3) == sim.state(3) and len({sim.state(3), sim.state(3), sim.state(2)}) == 2


def test_a_state_started_anew_is_a_new_state(sim: fw.Simulator) -> None:
    start = sim.state(4)
    end = sim.rollout(start, n_steps=30).final
    anew = end.reset()
    assert not anew.acceleration.any() and not anew.joint_forces.any() and len(anew.contacts) == 0
    anew.time = start.time
    assert anew == start


@every_journey
@pytest.mark.parametrize("batch", [None, 3])
def test_trajectories(travel: Travel, batch: int | None, sim: fw.Simulator) -> None:
    trajectory = sim.rollout(sim.state(batch), n_steps=80, record_contacts=True)
    back = travel(trajectory)
    assert back == trajectory and back.contacts == trajectory.contacts and len(back.contacts) == 80
    for name in ("time", "q", "v", "residual", "penetration", "unconverged"):
        assert_same_bits(getattr(back, name), getattr(trajectory, name), name)
    assert back.q.flags.writeable or travel is JOURNEYS["out of band"]
    assert back.final.simulator is back.simulator
    assert back != sim.rollout(sim.state(batch), n_steps=79, record_contacts=True)
    assert back != sim.rollout(sim.state(batch), n_steps=80)


@every_journey
def test_contacts_parameters_and_readings(travel: Travel, middle: dict[str, fw.State]) -> None:
    state = middle["many"]
    sensors: list[Any] = [fw.IMU("robot/trunk"), fw.JointSensor("robot/front_left_hip_joint")]
    sensors += [fw.ContactForceSensor("ground"), fw.FrameSensor("load")]
    for value in (state.contacts, state.parameters, *(sensor.read(state) for sensor in sensors)):
        assert travel(value) == value
    assert travel(state.contacts) != state.simulator.step(state).contacts
    back = travel(state.parameters)
    assert not back.friction.flags.writeable and not back.heights["ground"].flags.writeable
    assert back != state.randomised(friction=np.ones(5)).parameters


# -- pickles that are not ours ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, complaint",
    [
        (lambda arrays: arrays.pop("q"), "not a saved state, q missing"),
        (lambda arrays: arrays.pop("contacts/gap"), "contacts/gap missing"),
        (lambda arrays: arrays.update(v=np.zeros((5, 3))), r"v is \(5, 3\), this scene wants \(5, \d+\)"),
        (lambda arrays: arrays.update(q=np.array(0.0)), r"q is \(\), this scene wants"),
        (lambda arrays: arrays.update({"contacts/gap": np.zeros(1)}), "contacts/counts: .* in all, and there are 1"),
        (
            lambda arrays: arrays["contacts/shape_a"].fill(999),
            r"shape_a: must be integers from 0 to \d+, got 999",
        ),
        (
            lambda arrays: arrays["contacts/feature"].fill(-1),
            r"feature: must be integers from 0 to \d+, got -1",
        ),
        (lambda arrays: arrays["contacts/counts"].fill(0), "contacts/counts: 0 in all, and there are"),
        (
            lambda arrays: arrays.update({"report/failed": np.zeros(2, dtype=bool)}),
            r"report/failed is \(2,\), this scene",
        ),
        (lambda arrays: arrays["single"].fill(True), "a single environment, and arrays of 5"),
        (lambda arrays: arrays.update(friction=-np.ones(5)), "friction: factors must not be negative"),
    ],
)
def test_damaged_states_are_refused(
    change: Callable[[dict[str, Any]], None], complaint: str, middle: dict[str, fw.State]
) -> None:
    form, values, read_only = middle["many"].__getstate__()
    arrays = {name: array.copy() for name, array in values["arrays"].items()}
    change(arrays)
    damaged = (form, {"simulator": values["simulator"], "arrays": arrays}, read_only)
    with pytest.raises(pickle.UnpicklingError, match=f"^pickle of State: .*{complaint}"):
        fw.State.__new__(fw.State).__setstate__(damaged)


def test_files_of_another_format_are_refused(sim: fw.Simulator, tmp_path: Path) -> None:
    np.savez(tmp_path / "old.npz", format=2, q=np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"old\.npz: saved by another version, format 2"):
        fw.State.load(sim, tmp_path / "old.npz")
    np.savez(tmp_path / "part.npz", format=5, q=np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"part\.npz: not a saved state, time, single, v, .* missing"):
        fw.State.load(sim, tmp_path / "part.npz")


# -- arrays ----------------------------------------------------------------------------------------------------------


class OldConsumer:
    """Takes arrays by DLPack before version 1, which cannot say that they are read-only: most of today's torch."""

    def __init__(self, array: Any) -> None:
        self.capsule = array.__dlpack__()


@pytest.mark.parametrize("which", ["single", "many"])
@pytest.mark.parametrize("name", ["q", "v", "acceleration", "joint_forces"])
def test_arrays_are_plain_and_seen_without_a_copy(which: str, name: str, middle: dict[str, fw.State]) -> None:
    state = middle[which]
    array = getattr(state, name)
    n = state.simulator.model.nq if name == "q" else state.simulator.model.nv
    assert type(array) is np.ndarray and array.dtype == np.float64 and array.flags.c_contiguous
    assert array.shape == ((n,) if which == "single" else (5, n))
    assert np.shares_memory(array, getattr(state, name))
    assert np.shares_memory(array, np.asarray(array)) and np.shares_memory(array, np.asarray(array, dtype=np.float64))
    view = memoryview(cast(Any, array))
    assert view.c_contiguous and view.readonly and view.format == "d" and view.shape == array.shape
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0.0


@pytest.mark.parametrize("which", ["single", "many"])
def test_arrays_for_what_speaks_dlpack(which: str, middle: dict[str, fw.State]) -> None:
    """Without a copy where read-only arrays are understood, with one anywhere."""
    q = middle[which].q
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        seen = np.from_dlpack(q)
        assert np.shares_memory(seen, q) and not seen.flags.writeable
        assert_same_bits(seen, q)
    with pytest.raises((BufferError, TypeError), match="readonly"):
        OldConsumer(q)
    OldConsumer(q.copy())
    assert_same_bits(np.from_dlpack(q.copy()), q)


def test_reports_of_batches_are_plain_too(middle: dict[str, fw.State]) -> None:
    state = middle["many"]
    for values in (state.residual, state.penetration, *state.iterations.values()):
        assert values.shape == (5,) and values.flags.c_contiguous and not values.flags.writeable
    contacts = state.contacts
    for values in (contacts.position, contacts.frame, contacts.gap, contacts.impulse, contacts.shape_a):
        assert values.flags.c_contiguous and len(values) == len(contacts)


def test_a_copy_has_memory_of_its_own(middle: dict[str, fw.State]) -> None:
    state = middle["many"]
    for back in (copy.copy(state), copy.deepcopy(state)):
        assert not np.shares_memory(back.q, state.q) and back.simulator is state.simulator
