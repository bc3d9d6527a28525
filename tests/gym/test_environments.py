"""Environments keep Gymnasium's rules: against its checker, and a batch against its own loop over single ones."""

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import featherweight as fw
from featherweight.gym.randomness import Randomness
from featherweight.gym.registration import TASKS

gym, terms = fw.gym, fw.gym.terms
every_task = pytest.mark.parametrize("name", TASKS)
MODES = ["NextStep", "SameStep", "Disabled"]


@every_task
def test_gymnasium_has_nothing_to_say(name: str) -> None:
    env = gymnasium.make(f"featherweight/{name}")
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@every_task
def test_episodes_of_random_actions_stay_finite(name: str) -> None:
    envs = gymnasium.make_vec(f"featherweight/{name}", num_envs=4)
    observations, _ = envs.reset(seed=0)
    envs.action_space.seed(0)
    for _ in range(25):
        observations, rewards, _, _, _ = envs.step(envs.action_space.sample())
        assert envs.observation_space.contains(observations)
        assert np.isfinite(rewards).all() and rewards.dtype == np.float64
    assert sum(part.stop - part.start for part in envs.unwrapped.observation_slices.values()) == observations.shape[1]


@pytest.fixture(scope="module")
def task() -> Any:
    """The quadruped with everything that is random, in episodes that end soon, each at a time of its own."""
    whole = gym.tasks.quadruped("rough")
    ends = {"drawn": terms.out_of_range(gym.Term(_clock), -1.0, 0.0)}
    return gym.Task(
        whole.simulator,
        actions=whole.actions,
        observations=whole.observations,
        rewards=whole.rewards,
        terminations=ends,
        resets=whole.resets,
        commands=dict(whole.commands)
        | {"end": terms.uniform(0.05, 0.2), "wish": gym.Repeated(terms.uniform(0.0, 1.0), 0.06)},
        events={"push": gym.Repeated(terms.kick("robot", 0.3), every=0.06)},
        randomisation=dict(whole.randomisation) | {"masses": _masses},
        episode_length=0.16,
    )


def _clock(world: Any) -> Any:
    return world.time[:, None] - world.command("end")


def _masses(world: Any) -> Any:
    return world.random.uniform(np.full(world.model.n_links, 0.9), 1.1)


@pytest.mark.parametrize("mode", MODES[:2])
def test_batch_is_a_loop_over_single_environments(task: Any, mode: str) -> None:
    """Bit for bit, with all that is random: Gymnasium's own loop is the oracle."""
    batch = gym.VectorEnv(task, 3, autoreset_mode=mode)
    loop = SyncVectorEnv([lambda: gym.Env(task)] * 3, autoreset_mode=AutoresetMode(mode))
    assert batch.metadata["autoreset_mode"] is AutoresetMode(mode)
    assert batch.single_observation_space == loop.single_observation_space
    ours: Any = batch.reset(seed=5)
    theirs: Any = loop.reset(seed=5)
    assert np.array_equal(ours[0], theirs[0])
    actions = np.random.default_rng(0).uniform(-1.5, 1.5, (20, *batch.action_space.shape))
    n_ended = 0
    for action in actions:
        ours, theirs = batch.step(action), loop.step(np.clip(action, -1.0, 1.0))
        for one, other in zip(ours[:4], theirs[:4], strict=True):
            assert np.array_equal(one, other)
            assert one.dtype == other.dtype
        n_ended += int((ours[2] | ours[3]).sum())
        assert ours[4].keys() == theirs[4].keys()
        if "final_obs" in theirs[4]:
            mask = theirs[4]["_final_obs"]
            assert np.array_equal(mask, ours[4]["_final_obs"])
            for row in np.flatnonzero(mask):
                assert np.array_equal(ours[4]["final_obs"][row], theirs[4]["final_obs"][row])
    assert n_ended > 3


@pytest.mark.parametrize("seeds", [7, [7, 8, 9, 10]])
def test_bits_do_not_depend_on_the_neighbours(task: Any, seeds: Any) -> None:
    few, many = gym.VectorEnv(task, 2), gym.VectorEnv(task, 4)
    actions = np.random.default_rng(1).uniform(-1, 1, (12, 4, 12))
    first = few.reset(seed=seeds if isinstance(seeds, int) else seeds[:2])[0], many.reset(seed=seeds)[0]
    assert np.array_equal(first[0], first[1][:2])
    for action in actions:
        parts: Any = zip(few.step(action[:2])[:4], many.step(action)[:4], strict=True)
        for one, other in parts:
            assert np.array_equal(one, other[:2])


def test_observations_stay_as_they_were(task: Any) -> None:
    envs = gym.VectorEnv(task, 2)
    first, _ = envs.reset(seed=0)
    kept = first.copy()
    second, *_ = envs.step(np.ones((2, 12)))
    assert np.array_equal(first, kept) and not np.shares_memory(first, second)


def test_disabled_needs_a_mask_and_takes_one(task: Any) -> None:
    envs = gym.VectorEnv(task, 3, autoreset_mode="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"reset\(\)"):
        envs.step(np.zeros((3, 12)))
    envs.reset(seed=0)
    ended = np.zeros(3, dtype=bool)
    while not ended.any():
        before, _, terminated, truncated, _ = envs.step(np.zeros((3, 12)))
        ended = terminated | truncated
    with pytest.raises(gymnasium.error.ResetNeeded, match="have ended"):
        envs.step(np.zeros((3, 12)))
    q = envs.state.q.copy()
    after, _ = envs.reset(options={"reset_mask": ended})
    assert np.array_equal(envs.state.q[~ended], q[~ended]) and not np.array_equal(envs.state.q[ended], q[ended])
    assert not np.array_equal(after[ended], before[ended])
    envs.step(np.zeros((3, 12)))
    with pytest.raises(ValueError, match=r"reset_mask: expected \(3,\) booleans"):
        envs.reset(options={"reset_mask": np.ones(2, dtype=bool)})


def test_an_environment_that_fails_ends_and_starts_again() -> None:
    def explode(world: Any) -> None:
        world.v[:, 0] = 1e10

    whole = gym.tasks.cart_pole()
    task = gym.Task(whole.simulator, whole.actions, whole.observations, whole.rewards, resets={"bang": explode})
    envs = gym.VectorEnv(task, 2, autoreset_mode="SameStep")
    envs.reset(seed=0)
    observations, _, terminated, _, infos = envs.step(np.zeros((2, 1)))
    assert terminated.all()
    assert np.isfinite(observations).all() and all(np.isfinite(each).all() for each in infos["final_obs"])


def test_streams_are_uniform_and_independent() -> None:
    random = Randomness(200)
    random.seed(np.arange(200), list(range(200)))
    draws = random.of(slice(None)).uniform(np.zeros(500), 1.0)
    assert abs(draws.mean() - 0.5) < 4 * np.sqrt(1 / 12 / draws.size)
    assert abs(draws.var() - 1 / 12) < 1e-3
    between = np.asarray(np.corrcoef(draws))[np.triu_indices(200, 1)]
    along = [np.corrcoef(row[1:], row[:-1])[0, 1] for row in draws]
    for values in (between, np.array(along)):
        assert abs(values.std() - 1 / np.sqrt(500)) < 0.005 and abs(values.mean()) < 0.01
    normal = random.of(slice(None)).normal(2.0 * np.ones(500))
    assert abs(normal.std() - 2.0) < 0.02 and abs(normal.mean()) < 0.02
    assert abs((np.abs(normal) > 4.0).mean() - 0.0455) < 0.004


def test_terms_show_what_they_are_and_pickle() -> None:
    made = 0.5 * terms.base_spin("robot").noisy(0.1)
    assert repr(made) == "0.5 * base_spin('robot').noisy(0.1)"
    assert pickle.loads(pickle.dumps(made)) == made
    assert (-made).scale == -0.5


def test_a_task_pickles_and_runs_the_same() -> None:
    task = gym.tasks.reach()
    first, second = (gym.Env(each) for each in (task, pickle.loads(pickle.dumps(task))))
    assert np.array_equal(first.reset(seed=3)[0], second.reset(seed=3)[0])
    assert np.array_equal(first.step(np.ones(7))[0], second.step(np.ones(7))[0])


def test_pictures() -> None:
    pytest.importorskip("panda3d")
    env = gymnasium.make("featherweight/CartPole-v0", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == np.uint8 and picture.shape == (480, 640, 3) and picture.std() > 5
    env.close()


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"observations": {"legs": terms.joint_positions("robot/hing")}},
            r"observations 'legs': no joint .*'robot/hinge'",
        ),
        ({"actions": {"push": gym.Targets("robot/motor")}}, "actions 'push': no actuator matches 'robot/motor'"),
        ({"actions": {"push": "slide"}}, "actions 'push': expected Targets"),
        ({"rewards": {"many": terms.joint_positions()}}, r"rewards 'many'.* one number for each environment"),
        ({"rewards": {"none": 3.0}}, "rewards 'none': expected a term"),
        ({"rewards": {}}, "rewards must not be empty"),
        (
            {"observations": {"goal": terms.command("gaol")}, "commands": {"goal": terms.uniform(0, 1)}},
            "'gaol'.*'goal'",
        ),
        ({"terminations": {"fell": terms.fell_over("robot")}}, "terminations 'fell': 'robot' has no free joints"),
        ({"observations": {"one": lambda world: 1.0}}, "observations 'one'.* a row for each"),
        ({"randomisation": {"colour": terms.uniform(0, 1)}}, "randomisation of 'colour'"),
        ({"events": {"push": terms.kick("robot")}}, "event 'push' must be Repeated"),
        ({"commands": {"x": gym.Repeated(terms.uniform(0, 1), 0.0)}}, "commands 'x': every must be a positive time"),
        ({"decimation": 0}, "decimation must be a positive integer"),
        ({"episode_length": 0.0}, "episode_length must be positive"),
        ({"simulator": 3}, "simulator must be a Simulator"),
    ],
)
def test_what_is_wrong_with_a_task_is_named(change: dict[str, Any], message: str) -> None:
    good = gym.tasks.cart_pole()
    fields = {name: getattr(good, name) for name in ("simulator", "actions", "observations", "rewards")}
    with pytest.raises(ValueError, match=message):
        gym.VectorEnv(gym.Task(**(fields | change)), 2)


@pytest.mark.parametrize(
    "actions, message",
    [
        (np.zeros((3, 1)), r"actions: expected shape \(2, 1\), got \(3, 1\)"),
        ([[0.0], [np.nan]], "actions: nan at number 0 of environment 1"),
    ],
)
def test_what_is_wrong_with_actions_is_named(actions: Any, message: str) -> None:
    envs = gym.VectorEnv(gym.tasks.cart_pole(), 2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        envs.step(actions)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"task": "CartPole-v0"}, "task: expected a Task, got 'CartPole-v0'; gymnasium.make_vec takes names"),
        ({"num_envs": 0}, "num_envs must be a positive integer"),
        ({"num_envs": 2, "render_mode": "human"}, "render_mode"),
        ({"num_envs": 2, "autoreset_mode": "Never"}, "Never"),
    ],
)
def test_what_is_wrong_with_a_batch_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.VectorEnv(**{"task": gym.tasks.cart_pole()} | arguments)
    envs = gym.VectorEnv(gym.tasks.cart_pole(), 2)
    with pytest.raises(ValueError, match="expected 2 seeds"):
        envs.reset(seed=[1, 2, 3])
