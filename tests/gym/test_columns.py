"""What the core does between two rollouts, against the same in NumPy: columns, random numbers, actions, starts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight import _core
from featherweight.gym.columns import Columns, Outside, add
from featherweight.gym.randomness import Randomness
from featherweight.gym.registration import TASKS
from featherweight.gym.world import World

gym, terms = fw.gym, fw.gym.terms
MASK = (1 << 64) - 1


def splitmix(state: int) -> tuple[int, float]:
    """The next state and number, in integers of Python."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, ((z ^ (z >> 31)) >> 11) * 2.0**-53


def test_numbers_of_a_stream() -> None:
    random = Randomness(3)
    random.seed([0, 1, 2], [5, 6, 7])
    before = random.streams.tolist()
    drawn = random.of(np.array([2, 0])).uniform(np.zeros(4), np.array([1.0, 2.0, 3.0, 4.0]))
    for row, environment in enumerate((2, 0)):
        state = before[environment]
        for k in range(4):
            state, unit = splitmix(state)
            assert drawn[row, k] == (k + 1.0) * unit
        assert random.streams[environment] == state
    assert random.streams[1] == before[1]


@pytest.mark.parametrize("name", TASKS)
def test_what_the_core_reads_is_what_the_terms_say(name: str) -> None:
    """Every observation and end of every task: read by the core, and term by term in NumPy from the same streams."""
    task, arguments = TASKS[name]
    envs = gym.VectorEnv(getattr(gym.tasks, task)(**arguments), 5)
    envs.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(8):
        envs.step(rng.uniform(-1, 1, envs.action_space.shape))
    episodes = envs._episodes
    rows = np.array([4, 1, 2])
    streams = episodes.random.streams.copy()
    read = episodes.observe(rows)
    drawn, episodes.random.streams[:] = episodes.random.streams.copy(), streams
    world = World(episodes._buffers, rows)
    parts = [np.reshape(term(world), (3, -1)) for term in episodes._groups["observations"].values()]
    assert np.array_equal(read, np.clip(np.concatenate(parts, axis=1), -100, 100).astype(np.float32))
    assert np.array_equal(episodes.random.streams, drawn)
    whole = World(episodes._buffers)
    for term in episodes._groups["terminations"].values():
        picked = term.picked(whole)
        if isinstance(picked, Outside):
            for low, high in ((picked.low, picked.high), (0.0, 1e-3), (-1e-3, 1e-3)):
                bound = replace(picked, low=low, high=high)
                core, flags = _core.Columns(), np.zeros(5, dtype=bool)
                add(core, bound.columns, episodes._buffers.by_source())
                core.mark_outside(episodes.random.streams, None, low, high, flags)
                assert np.array_equal(flags, bound.read(whole))


def test_noise_is_added_before_the_scale() -> None:
    envs = gym.VectorEnv(gym.tasks.cart_pole(), 4)
    envs.reset(seed=0)
    world = World(envs._episodes._buffers)
    term = 3.0 * terms.joint_positions("robot").noisy(0.5)
    streams = world._buffers.random.streams
    start = streams.copy()
    value = term(world)
    streams[:] = start
    noise = world.random.uniform(-0.5 * np.ones(2), 0.5)
    assert np.array_equal(value, 3.0 * (world.q - world.simulator.scene.q0 + noise))
    streams[:] = start
    picked = term.picked(world)
    assert isinstance(picked, Columns)
    assert np.array_equal(picked.read(world), value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_actions_become_controls(dtype: Any) -> None:
    """Targets, increments and grips, beyond their bounds: against the formulas of their docstrings."""
    whole = gym.tasks.pick_and_place()
    low, high = np.full(7, -0.1), np.linspace(0.05, 0.3, 7)
    actions: dict[str, gym.Action] = {
        "joints": gym.Increments("arm/joint_*", scale=0.06, low=tuple(low), high=tuple(high)),
        "grip": gym.Grip("arm/left_slide", 0.01, 0.04),
        "other": gym.Targets("arm/right_slide", scale=0.5),
    }
    envs = gym.VectorEnv(replace(whole, actions=actions), 3)
    envs.reset(seed=0)
    start, before = envs.control, envs.control[:, :7]
    for action in 1.5 * np.random.default_rng(1).uniform(-1, 1, (6, 3, 9)).astype(dtype):
        envs.step(action)
        a = np.clip(action.astype(float), -1, 1)
        wanted = np.clip(before + 0.06 * a[:, :7], low, high)
        np.testing.assert_allclose(envs.control[:, :7], wanted, rtol=1e-15)
        np.testing.assert_allclose(envs.control[:, 7], 0.01 + 0.015 * (a[:, 7] + 1.0), rtol=1e-14)
        np.testing.assert_allclose(envs.control[:, 8], start[:, 8] + 0.5 * a[:, 8], rtol=1e-15)
        before = envs.control[:, :7]


def test_starts_stay_within_limits_and_touch_nobody_else() -> None:
    envs = gym.VectorEnv(gym.tasks.hopper(), 4)
    envs.reset(seed=0)
    world = World(envs._episodes._buffers, np.array([3, 1]))
    model, q, v = world.model, world.q.copy(), world.v.copy()
    streams = world._buffers.random.streams.tolist()
    terms.scatter_joints("robot/[!x]*", position=3.0, velocity=0.7)(world)
    joints = world.names.joints("robot/[!x]*")
    for row, environment in enumerate((3, 1)):
        state = streams[environment]
        for joint in joints:
            state, unit = splitmix(state)
            k = joint.q_slice.start
            q[row, k] = np.clip(q[row, k] - 3.0 + 6.0 * unit, model.lower[k], model.upper[k])
        for joint in joints:
            state, unit = splitmix(state)
            v[row, joint.v_slice.start] += -0.7 + 1.4 * unit
    np.testing.assert_allclose(world.q, q, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(world.v, v, rtol=1e-14, atol=1e-15)
    assert world._buffers.random.streams[[0, 2]].tolist() == [streams[0], streams[2]]


@pytest.mark.parametrize("bad", ["q", "v"])
def test_a_start_that_is_not_finite_is_refused(bad: str) -> None:
    def explode(world: Any) -> None:
        getattr(world, bad)[:, 0] = np.nan

    for whole in (gym.tasks.cart_pole(), gym.tasks.ant()):
        with pytest.raises(ValueError, match="not finite"):
            gym.VectorEnv(replace(whole, resets={"bang": explode}), 2)


def test_the_core_refuses_what_does_not_fit() -> None:
    columns = _core.Columns()
    with pytest.raises(ValueError, match="no such column"):
        columns.add(np.zeros((2, 3)), [3], [0.0], 1.0, 0.0)
    columns.add(np.zeros((2, 3)), [1], [0.0], 1.0, 0.0)
    streams = np.zeros(2, dtype=np.uint64)
    with pytest.raises(ValueError, match="do not fit"):
        columns.read(streams, None, np.zeros((2, 1), dtype=np.float32), 1, 1.0)
    with pytest.raises(ValueError, match="no such environment"):
        columns.read(streams, np.array([2]), np.zeros((1, 1), dtype=np.float32), 0, 1.0)
