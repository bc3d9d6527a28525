"""Policies: the numbers of PyTorch without PyTorch, the same bits in any batch, files that hold all of it."""

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw

Policy = fw.learn.Policy


def some(activation: Any = "elu", output: Any = "tanh", seed: int = 0) -> Any:
    """With numbers that are not those it begins with."""
    rng = np.random.default_rng(seed)
    sizes = (7, 16, 8, 3)
    weights = tuple(rng.normal(size=(a, b)) / np.sqrt(a) for a, b in itertools.pairwise(sizes))
    biases = tuple(0.1 * rng.normal(size=n) for n in sizes[1:])
    return Policy(weights, biases, rng.normal(size=7), rng.uniform(0.5, 2.0, 7), activation, output)


@pytest.mark.parametrize("activation", ["elu", "tanh", "relu"])
def test_it_is_the_formula(activation: str) -> None:
    """Number by number, in plain Python."""
    from math import exp, tanh

    policy, x = some(activation), np.random.default_rng(1).normal(size=7)
    known: dict[str, Any] = {"elu": lambda s: s if s > 0 else exp(s) - 1.0, "tanh": tanh, "relu": lambda s: max(s, 0.0)}
    act = known[activation]
    values = [(a - m) / d for a, m, d in zip(x, policy.mean, policy.deviation, strict=True)]
    for k, (W, b) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        values = [sum(v * w for v, w in zip(values, column, strict=True)) + c for column, c in zip(W.T, b, strict=True)]
        values = [act(v) for v in values] if k < 2 else [tanh(v) for v in values]
    assert np.abs(policy(x) - values).max() < 1e-14


@pytest.mark.parametrize("n", [1, 2, 7, 64, 129])
def test_bits_do_not_depend_on_the_batch(n: int) -> None:
    policy = Policy.initial(50, 12, seed=0)
    x = np.random.default_rng(2).normal(size=(n, 50))
    actions = policy(x)
    assert all(np.array_equal(policy(x[k]), actions[k]) for k in range(n))
    assert np.array_equal(policy(np.asfortranarray(x)), actions)
    assert np.array_equal(policy(x[::-1]), actions[::-1])


def test_observations_far_off_are_cut() -> None:
    policy = some()
    far, edge = np.full(7, 1e9), policy.mean + 10.0 * policy.deviation
    assert np.abs(policy(far) - policy(edge)).max() < 1e-14  # of a quotient of ten, rounded


def test_files_and_pickles_hold_all_of_it(tmp_path: Path) -> None:
    policy = some("tanh", "clip")
    policy.save(tmp_path / "policy.npz")
    x = np.random.default_rng(0).normal(size=(5, 7))
    for again in (Policy.load(tmp_path / "policy.npz"), pickle.loads(pickle.dumps(policy))):
        assert again == policy
        assert np.array_equal(again(x), policy(x))
    assert some(seed=1) != policy


def test_it_begins_almost_at_rest() -> None:
    policy = Policy.initial(10, 4, hidden=(32, 32), seed=3)
    assert policy == Policy.initial(10, 4, hidden=(32, 32), seed=3) != Policy.initial(10, 4, hidden=(32, 32), seed=4)
    x = np.random.default_rng(0).normal(size=(100, 10))
    assert 0.0 < np.abs(policy(x)).max() < 0.2
    assert np.allclose(policy.weights[1].T @ policy.weights[1], 2.0 * np.eye(32))


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"activation": "gelu"}, "activation must be one of elu, tanh, relu, got 'gelu'"),
        ({"output": "none"}, "output must be one of tanh, clip"),
        ({"deviation": np.zeros(7)}, "deviations must be positive"),
        ({"mean": np.zeros(6)}, r"layer 0: expected weights \(6, outputs\)"),
        ({"biases": (np.zeros(16), np.zeros(9), np.zeros(3))}, "layer 1: .* got .16, 8. and .9,."),
        ({"biases": (np.zeros(16),)}, "3 weights and 1 biases"),
        ({"mean": np.full(7, np.nan)}, "must be finite"),
    ],
)
def test_wrong_parts_are_named(change: dict[str, Any], problem: str) -> None:
    policy = some()
    parts = {name: getattr(policy, name) for name in policy.__dataclass_fields__} | change
    with pytest.raises(ValueError, match=problem):
        Policy(**parts)


def test_wrong_observations_are_named() -> None:
    policy = some()
    with pytest.raises(ValueError, match=r"observations: expected shape \(7,\) or \(batch, 7\), got \(3, 6\)"):
        policy(np.zeros((3, 6)))
    x = np.zeros((3, 7))
    x[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"observations: nan at \(1, 2\)"):
        policy(x)
    with pytest.raises(ValueError, match="sizes of layers must be positive integers"):
        Policy.initial(4, 2, hidden=(0,))


def test_files_that_are_no_policies_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    np.savez(path, q=np.zeros(3))
    with pytest.raises(ValueError, match=r"policy.npz: not a saved policy"):
        Policy.load(path)
    arrays = some().arrays()
    for name, value, problem in (
        ("biases/1", None, "'biases/1' is missing"),
        ("extra", np.zeros(2), "'extra' is nothing that it has"),
        ("activation", np.array(17), "activation is"),
        ("weights/0", np.zeros((7, 2)), "layer 0"),
    ):
        changed = {k: x for k, x in {**arrays, name: value}.items() if x is not None}
        np.savez(path, format=1, **changed)
        with pytest.raises(ValueError, match=problem):
            Policy.load(path)


def test_a_network_of_pytorch_becomes_the_same_policy() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install featherweight[torch]")
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(nn.Linear(7, 32), nn.ELU(), nn.Sequential(nn.Linear(32, 16), nn.ELU()), nn.Linear(16, 3))
    mean, deviation = np.linspace(-1, 1, 7), np.linspace(0.5, 2, 7)
    policy = Policy.from_torch(net, mean=mean, deviation=deviation, output="tanh")
    x = np.random.default_rng(0).normal(size=(64, 7))
    with torch.no_grad():
        single = torch.tanh(net(torch.tensor((x - mean) / deviation, dtype=torch.float32))).numpy()
        double = torch.tanh(net.double()(torch.tensor((x - mean) / deviation))).numpy()
    assert np.abs(policy(x) - single).max() < 1e-6
    assert np.abs(policy(x) - double).max() < 1e-14
    for wrong in (nn.Sequential(nn.Linear(7, 3), nn.ELU()), nn.Sequential(nn.GELU(), nn.Linear(7, 3)), [nn.LSTM(7, 3)]):
        with pytest.raises(ValueError, match="policy: expected"):
            Policy.from_torch(wrong)
