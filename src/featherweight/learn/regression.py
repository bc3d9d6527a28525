"""Policies fitted to observations and the actions that were right in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import at_least
from ..records import Record
from .policy import BOUND, LEAST, Activation, Policy

Library = Literal["torch", "numpy"]

Single: TypeAlias = NDArray[np.float32]

#: Of Adam [Kingma and Ba 2015].
FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8
#: The share of the rate that is left at the end.
LAST = 0.01


class Learner(Protocol):
    """Whatever makes policies for :func:`imitate`.

    >>> def by_least_squares(observations: fw.gym.Array, actions: fw.gym.Array, seed: int) -> fw.learn.Policy:
    ...     weights = np.linalg.lstsq(observations, actions, rcond=None)[0].astype(np.float64)
    ...     n = observations.shape[1]
    ...     return fw.learn.Policy((weights,), (np.zeros(weights.shape[1]),), np.zeros(n), np.ones(n), output="clip")
    >>> learner: fw.learn.Learner = by_least_squares
    """

    def __call__(self, observations: Array, actions: Array, seed: int) -> Policy:
        """A policy for (m, n_observations) and (m, n_actions), which depends on them and on the seed."""


@dataclass(frozen=True)
class Regression(Record):
    """Fits a policy by Adam on the mean square of what actions miss, while observations are blurred at random.

    Blurred, a policy does not learn by heart what a planner said in a few thousand states, each a little otherwise.
    library: "torch" or "numpy", which take the same steps to rounding; by default PyTorch if it is installed. In
    PyTorch on one thread, results have the same bits whenever the same is asked on the same machine.

    >>> x = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> fit = fw.learn.Regression(hidden=(32,), steps=500, library="numpy")
    >>> policy = fit(x, 0.5 * x[:, :1] * x[:, 1:], seed=0)
    >>> bool(np.abs(policy([[0.5, 0.8]]) - 0.2).max() < 0.05)
    True
    """

    hidden: tuple[int, ...] = (128, 64)
    activation: Activation = "elu"
    steps: int = 600  # of Adam
    minibatch: int = 128  # samples of a step
    rate: float = 2e-3  # of Adam at first; it falls linearly to a hundredth
    blur: float = 0.3  # added to observations at random in every step, in their standard deviations
    library: Library | None = None

    def __post_init__(self) -> None:
        at_least(1, steps=self.steps, minibatch=self.minibatch)
        if not (np.isfinite(self.rate) and self.rate > 0.0):
            raise ValueError(f"rate: expected a positive number, got {self.rate!r}")
        if not (np.isfinite(self.blur) and self.blur >= 0.0):
            raise ValueError(f"blur: expected a number of at least 0, got {self.blur!r}")
        if self.library not in (None, *get_args(Library)):
            raise ValueError(f'library: expected "torch", "numpy" or None, got {self.library!r}')

    @property
    def chosen(self) -> Library:
        """The library, where none was asked for: PyTorch if it is installed."""
        if self.library is not None:
            return self.library
        try:
            import torch  # noqa: F401
        except ImportError:
            return "numpy"
        return "torch"

    def __call__(self, observations: Array, actions: Array, seed: int) -> Policy:
        """The policy of observations (m, n_observations) that come closest to the actions (m, n_actions)."""
        n, m = observations.shape[1], actions.shape[1]
        mean, deviation = observations.mean(axis=0), np.maximum(observations.std(axis=0), LEAST)
        first = Policy.initial(n, m, hidden=self.hidden, activation=self.activation, output="clip", seed=seed)
        x = np.clip((observations - mean) / deviation, -BOUND, BOUND).astype(np.float32)
        steps = Minibatches(self, x, actions.astype(np.float32), seed)
        layers = [
            (W.astype(np.float32), b.astype(np.float32)) for W, b in zip(first.weights, first.biases, strict=True)
        ]
        if self.chosen == "torch":
            from .torch_networks import fit
        else:
            from .numpy_networks import fit
        layers = fit(layers, self.activation, steps)
        weights, biases = zip(*layers, strict=True)
        return replace(first, weights=weights, biases=biases, mean=mean, deviation=deviation)


class Minibatches:
    """The samples of each step, inputs and targets, and its rate."""

    def __init__(self, asked: Regression, x: Single, y: Single, seed: int) -> None:
        self._asked, self._x, self._y, self._seed = asked, x, y, seed

    def __iter__(self) -> Iterator[tuple[Single, Single, float]]:
        rng = np.random.default_rng((self._seed, 1))
        asked, left = self._asked, np.empty(0, dtype=np.int64)
        for step in range(asked.steps):
            if not len(left):
                left = rng.permutation(len(self._x))
            rows, left = np.split(left, [asked.minibatch])
            x = self._x[rows]
            if asked.blur:
                x = x + np.float32(asked.blur) * rng.standard_normal(x.shape, dtype=np.float32)
            yield x, self._y[rows], asked.rate * (1.0 - (1.0 - LAST) * step / asked.steps)
