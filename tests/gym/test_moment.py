"""What gradients through environments rest on: terms by what they read, and batches that go on from a file."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.gym.moment import READ, Moment, Sensitivities
from featherweight.gym.registration import TASKS

gym, terms = fw.gym, fw.gym.terms


def moved(task: gym.Task, n: int = 3) -> gym.VectorEnv:
    """Environments after some actions."""
    envs = gym.VectorEnv(task, n)
    envs.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(6):
        envs.step(rng.uniform(-1.0, 1.0, envs.action_space.shape))
    return envs


def test_terms_have_the_derivatives_of_calculus() -> None:
    """Each by a formula of its own, quaternions included."""
    moment = moved(gym.tasks.quadruped())._episodes.moment()
    v, action, before = (moment.arrays[name] for name in ("v", "action", "previous_action"))
    x = np.random.default_rng(2).normal(size=(3, 3))
    cases = {
        "rate": (terms.action_rate(), np.ones((3, 1)), {"action": 2 * (action - before),
                                                         "previous_action": 2 * (before - action)}),
        "speed": (-2.0 * terms.drift(terms.base_spin("robot")), np.ones((3, 1)),
                  {"v": np.pad(-4.0 * v[:, 3:6], ((0, 0), (3, 12)))}),
        "legs": (0.5 * terms.joint_positions("robot").noisy(0.3), np.ones((3, 12)),
                 {"q": np.tile([0.0] * 6 + [0.5] * 12, (3, 1))}),
    }  # fmt: skip
    up = np.asarray(terms.up("robot")(moment.changed({})))  # R' z, which turns as -w x it
    cases["up"] = (terms.up("robot").noisy(0.02), x, {"q": np.pad(np.cross(x, up), ((0, 0), (3, 12)))})
    for name, (term, cotangents, expected) in cases.items():
        found = Sensitivities([(term, slice(0, cotangents.shape[1]))], moment).pull(moment, cotangents)
        for part in READ:
            # differences at 1e-5: third derivatives of order one give 1e-10, rounding of order ten 1e-10
            assert np.abs(found[part] - expected.get(part, 0.0)).max() < 1e-9, (name, part)


def test_values_that_are_cut_do_not_change() -> None:
    moment = moved(gym.tasks.hopper())._episodes.moment()
    fast = Sensitivities([(1e6 * terms.joint_velocities("robot"), slice(0, 6))], moment)
    assert not fast.pull(moment, np.ones((3, 6)), bound=100.0)["v"].any()
    assert (fast.pull(moment, np.ones((3, 6)))["v"] == 1e6).all()
    squares = Sensitivities([(1e9 * terms.drift(terms.joint_velocities("robot")), slice(0, 1))], moment)
    assert not squares.pull(moment, np.ones((3, 1)), bound=100.0)["v"].any()


def test_a_moment_is_what_environments_are() -> None:
    envs = moved(gym.tasks.quadruped("rough"))
    moment = envs._episodes.moment()
    world = moment.changed({})
    for name in ("q", "v", "control", "action", "previous_action", "joint_forces", "acceleration"):
        assert np.array_equal(getattr(world, name), moment.arrays[name])
    assert np.array_equal(world.command("velocity"), envs._episodes._buffers.commands["velocity"])
    envs.step(np.zeros(envs.action_space.shape))
    assert not np.array_equal(envs._episodes.live.q, moment.arrays["q"])  # a copy
    assert isinstance(moment, Moment) and len(world) == 3


@pytest.mark.parametrize("name", ["Hopper-v0", "QuadrupedFlat-v0", "QuadrupedRough-v0", "ArmPickAndPlace-v0"])
def test_environments_go_on_from_their_arrays(name: str) -> None:
    """Bit for bit: contacts, commands, pushes, noise and randomised friction."""
    task, arguments = TASKS[name]
    made = replace(getattr(gym.tasks, task)(**arguments), episode_length=0.4)
    envs, others = moved(made), gym.VectorEnv(made, 3)
    arrays = {name: x.copy() for name, x in envs._episodes.arrays().items()}
    others.reset(seed=9)
    others._episodes.restore(arrays)
    others._ended = envs._ended.copy()  # type: ignore[union-attr]
    rng = np.random.default_rng(5)
    for _ in range(30):
        action = rng.uniform(-1, 1, envs.action_space.shape)
        pairs: Any = zip(envs.step(action)[:4], others.step(action)[:4], strict=True)
        for one, other in pairs:
            assert np.array_equal(one, other)
    assert envs.state == others.state


def test_arrays_of_other_environments_are_refused() -> None:
    envs = moved(gym.tasks.hopper())
    with pytest.raises(ValueError, match="'command/velocity' is not theirs"):
        envs._episodes.restore(moved(gym.tasks.quadruped())._episodes.arrays())
    with pytest.raises(ValueError, match="a state of 2 environments, expected 3"):
        envs._episodes.restore(moved(gym.tasks.hopper(), 2)._episodes.arrays())
