"""The example that learns: its gradients against finite differences, and a pole that it learns to balance."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "learning"


@pytest.fixture
def ppo(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield __import__("ppo")
    sys.modules.pop("ppo")


def test_gradients_of_a_network_are_those_of_finite_differences(ppo: Any) -> None:
    rng = np.random.default_rng(0)
    network = ppo.Network((4, 6, 5, 2), rng, 1.0)
    # all in double precision: differences of float32 say little
    network.parameters = network.parameters.astype(np.float64)
    network.gradient = np.zeros_like(network.parameters)
    shapes = [(4, 6), (6, 5), (5, 2)]
    network.layers, network._slots = ppo._split(network.parameters, shapes), ppo._split(network.gradient, shapes)
    x, slope = rng.normal(size=(7, 4)), rng.normal(size=(7, 2))
    network(x)
    network.backward(slope)
    for k in rng.choice(len(network.parameters), 20, replace=False):
        ends = []
        for sign in (1e-5, -1e-5):
            network.parameters[k] += sign
            ends.append((network(x) * slope).sum())
            network.parameters[k] -= sign
        assert abs((ends[0] - ends[1]) / 2e-5 - network.gradient[k]) < 1e-7


def test_a_pole_is_balanced_after_some_thousand_steps(ppo: Any) -> None:
    settings = ppo.Settings(num_envs=32, horizon=32, minibatches=2, hidden=(32, 32))
    told: list[str] = []
    policy, curve = ppo.learn("featherweight/CartPole-v0", 50_000, settings, tell=told.append)
    assert told and curve.lengths[0] < 60 < 150 < curve.lengths[-1]
    assert policy(np.zeros((3, 4), dtype=np.float32)).shape == (3, 1)
    _, other = ppo.learn("featherweight/CartPole-v0", 5_000, settings, tell=told.append)
    assert other.returns == curve.returns[: len(other.returns)]  # the seed says it all


def test_a_policy_is_saved_and_read(ppo: Any, tmp_path: Path) -> None:
    policy = ppo.Policy(5, 2, ppo.Settings())
    policy.mean.parameters[:] = np.linspace(-1, 1, len(policy.mean.parameters))
    policy.save(tmp_path / "policy.npz")
    other = ppo.Policy(5, 2, ppo.Settings(seed=1))
    other.load(tmp_path / "policy.npz")
    x = np.ones((3, 5), dtype=np.float32)
    assert np.array_equal(policy(x), other(x))
