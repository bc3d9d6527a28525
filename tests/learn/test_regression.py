"""Fitted policies: gradients of differences, the same steps in PyTorch, functions that are known."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.learn import numpy_networks

Regression = fw.learn.Regression


@pytest.mark.parametrize("activation", ["elu", "tanh", "relu"])
def test_gradients_of_networks_are_those_of_differences(activation: str) -> None:
    rng = np.random.default_rng(0)
    layers: list[Any] = [(rng.normal(size=(a, b)), rng.normal(size=b)) for a, b in itertools.pairwise((4, 6, 5, 2))]
    x, y = rng.normal(size=(7, 4)), rng.normal(size=(7, 2))

    def loss() -> float:  # in double precision: differences of single precision say little
        weights, biases = zip(*layers, strict=True)
        policy = fw.learn.Policy(weights, biases, np.zeros(4), np.ones(4), activation)  # type: ignore[arg-type]
        return float(np.mean((np.arctanh(policy(x)) - y) ** 2))

    layers = [(0.3 * W, 0.3 * b) for W, b in layers]  # where the inverse of tanh is accurate
    found = numpy_networks.gradient(layers, activation, x, y)
    arrays = [array for layer in layers for array in layer]
    for array, slope in zip(arrays, found, strict=True):
        at = np.unravel_index(rng.integers(array.size), array.shape)
        ends = []
        for sign in (1e-6, -1e-6):
            array[at] += sign
            ends.append(loss())
            array[at] -= sign
        assert abs((ends[0] - ends[1]) / 2e-6 - slope[at]) < 1e-7


@pytest.mark.parametrize("activation", ["elu", "tanh", "relu"])
def test_pytorch_takes_the_same_steps(activation: Any) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install featherweight[torch]")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 5))
    y = np.sin(x[:, :2]) * 0.5
    ask = {"hidden": (16, 8), "activation": activation, "minibatch": 32}
    for steps, most in ((1, 1e-6), (30, 1e-4)):  # rounding to single precision, and what thirty steps make of it
        one, two = (Regression(steps=steps, library=name, **ask)(x, y, 7) for name in ("numpy", "torch"))
        assert np.abs(one(x) - two(x)).max() < most
        assert one.weights[0].shape == two.weights[0].shape == (5, 16)


def test_a_function_is_learnt_and_blur_makes_it_smooth() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-2.0, 2.0, (400, 1)) + 5.0  # normalised by itself
    wave = 0.6 * np.sin(2.0 * x)
    sharp, blurred = (
        Regression(hidden=(64, 32), steps=800, rate=1e-2, blur=blur, library="numpy")(x, wave, 0) for blur in (0.0, 1.0)
    )
    grid = np.linspace(3.5, 6.5, 50)[:, None]
    assert np.abs(sharp(grid) - 0.6 * np.sin(2.0 * grid)).max() < 0.1
    assert blurred(grid).std() < 0.8 * sharp(grid).std()


def test_the_seed_says_it_all() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 3)), rng.uniform(-1, 1, (50, 2))
    fit = Regression(hidden=(8,), steps=20, library="numpy")
    assert fit(x, y, 4) == fit(x, y, 4) != fit(x, y, 5)


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"steps": 0}, "steps: expected a positive integer"),
        ({"rate": 0.0}, "rate: expected a positive number"),
        ({"blur": -1.0}, "blur: expected a number of at least 0"),
        ({"library": "jax"}, 'library: expected "torch", "numpy" or None'),
        ({"activation": "gelu"}, "activation must be one of"),
    ],
)
def test_wrong_settings_are_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Regression(**{"library": "numpy"} | change)(np.zeros((5, 2)), np.zeros((5, 1)), 0)
