"""Environments behind the interfaces of libraries: the values of Gymnasium's, and libraries that train in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import featherweight as fw

pytest.importorskip("gymnasium", reason="needs gymnasium: pip install featherweight[gym]")
gym = fw.gym


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small networks on a machine with other work are slower on more."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name, package", [("stable_baselines3", "stable-baselines3"), ("rsl_rl", "rsl-rl-lib")])
def test_a_library_that_is_missing_is_named(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(fw.learn, name)(gym.tasks.cart_pole())


def test_lengths_of_episodes_may_be_set() -> None:
    envs = gym.VectorEnv(replace(gym.tasks.cart_pole(), episode_length=0.1), 3)
    envs.reset(seed=0)
    envs.lengths = np.array([0, 3, 4])
    for step in range(1, 3):
        *_, truncated, _ = envs.step(np.zeros((3, 1)))
        assert truncated.tolist() == [False, step == 2, step == 1]
    assert envs.lengths[1] == 5
    wrongs: list[Any] = [np.zeros(2, dtype=int), np.zeros(3), np.array([0, -1, 0])]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"lengths: expected \(3,\) integers, not negative"):
            envs.lengths = wrong


def test_stable_baselines3_sees_the_values_of_gymnasium() -> None:
    pytest.importorskip("stable_baselines3", reason="needs stable-baselines3")
    task = replace(gym.tasks.quadruped(), episode_length=0.2)
    envs, other = fw.learn.stable_baselines3(task, 3), gym.VectorEnv(task, 3, autoreset_mode="SameStep")
    envs.seed(7)
    assert np.array_equal(envs.reset(), other.reset(seed=7)[0])
    rng, ends = np.random.default_rng(0), 0
    for _ in range(15):
        action = rng.uniform(-1, 1, (3, 12)).astype(np.float32)
        seen, rewards, ended, infos = envs.step(action)
        expected, paid, terminated, truncated, found = other.step(action)
        assert np.array_equal(seen, expected) and np.array_equal(rewards, paid.astype(np.float32))
        assert np.array_equal(ended, terminated | truncated)
        for k in range(3):
            assert ("terminal_observation" in infos[k]) == ended[k]
            if ended[k]:
                ends += 1
                assert np.array_equal(infos[k]["terminal_observation"], found["final_obs"][k])
                assert infos[k]["TimeLimit.truncated"] == (truncated[k] and not terminated[k])
    assert ends >= 3
    assert envs.get_attr("num_envs", indices=[0, 2]) == [3, 3] and envs.env_is_wrapped(object, 1) == [False]
    with pytest.raises(ValueError, match="render_mode: environments of a batch share"):
        envs.set_attr("render_mode", None, indices=0)
    envs.close()


@pytest.mark.filterwarnings("ignore")  # of the library
def test_stable_baselines3_learns(request: pytest.FixtureRequest) -> None:
    library = pytest.importorskip("stable_baselines3", reason="needs stable-baselines3")
    request.getfixturevalue("one_thread")
    envs = fw.learn.stable_baselines3(gym.tasks.cart_pole(), 16)
    model = library.PPO("MlpPolicy", envs, n_steps=64, batch_size=256, n_epochs=6, learning_rate=3e-3, seed=0)

    def policy(seen: Any) -> Any:
        return model.predict(seen, deterministic=True)[0]

    before = fw.cluster.evaluate(envs.envs.task, policy, episodes=8).returns.mean()
    model.learn(6 * 1024)
    assert fw.cluster.evaluate(envs.envs.task, policy, episodes=8).returns.mean() > 1.5 * before


@pytest.mark.filterwarnings("ignore")  # of the library
def test_rsl_rl_sees_the_values_of_gymnasium_and_learns(request: pytest.FixtureRequest) -> None:
    pytest.importorskip("rsl_rl", reason="needs rsl-rl-lib")
    request.getfixturevalue("one_thread")
    import torch

    task = replace(gym.tasks.cart_pole(), episode_length=0.1)
    envs, other = fw.learn.rsl_rl(task, 3, seed=5), gym.VectorEnv(task, 3, autoreset_mode="SameStep")
    assert np.array_equal(envs.get_observations()["policy"].numpy(), other.reset(seed=5)[0])
    assert envs.max_episode_length == 5 and envs.num_actions == 1
    for step in range(1, 6):
        seen, rewards, ended, extras = envs.step(torch.full((3, 1), 0.1))
        expected, paid, terminated, truncated, _ = other.step(np.full((3, 1), 0.1, dtype=np.float32))
        assert np.array_equal(seen["policy"].numpy(), expected) and np.array_equal(rewards.numpy(), paid)
        assert np.array_equal(ended.numpy(), terminated | truncated)
        assert extras["time_outs"].tolist() == [step == 5] * 3 and extras["log"] == {"/reward/alive": 1.0}
    envs.episode_length_buf = torch.tensor([0, 4, 2])
    assert envs.step(torch.zeros(3, 1))[2].tolist() == [False, True, False]
    from rsl_rl.runners import OnPolicyRunner

    network = {"class_name": "MLPModel", "hidden_dims": [32, 32], "activation": "elu"}
    gaussian = {"class_name": "GaussianDistribution", "init_std": 0.5}
    settings = {
        "num_steps_per_env": 32, "save_interval": 1000, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**network, "distribution_cfg": gaussian}, "critic": dict(network),
        "algorithm": {"class_name": "PPO", "learning_rate": 3e-3, "schedule": "fixed"},
    }  # fmt: skip
    torch.manual_seed(0)
    envs = fw.learn.rsl_rl(gym.tasks.cart_pole(), 32)
    runner = OnPolicyRunner(envs, settings, log_dir=None, device="cpu")
    acting = runner.alg.get_policy()

    def policy(seen: Any) -> Any:
        from tensordict import TensorDict

        with torch.no_grad():
            return acting(TensorDict({"policy": torch.from_numpy(seen)}, batch_size=[len(seen)])).numpy()

    before = fw.cluster.evaluate(envs.envs.task, policy, episodes=8).returns.mean()
    runner.learn(8, init_at_random_ep_len=True)
    assert fw.cluster.evaluate(envs.envs.task, policy, episodes=8).returns.mean() > 1.5 * before
