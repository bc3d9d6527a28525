"""Random numbers for many environments at once, each from a stream of its own.

Stream k is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) started at a key made of the seed of environment k: its
numbers depend on that seed and on how many were drawn before, never on how many environments there are. All arithmetic
is on arrays of 64-bit integers, where a thousand generators of NumPy would take a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array

_Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Randomness:
    """Streams of ``n`` environments."""

    def __init__(self, n: int) -> None:
        self._state: _Words = np.zeros(n, dtype=np.uint64)

    def seed(self, rows: NDArray[np.int64] | list[int], seeds: Sequence[int]) -> None:
        """Start the streams ``rows`` anew."""
        keys = [int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) for seed in seeds]
        self._state[rows] = np.array(keys, dtype=np.uint64)

    def of(self, rows: NDArray[np.int64] | slice) -> Draws:
        """What terms draw from for the environments ``rows``."""
        return Draws(self._state, rows)


class Draws:
    """Random numbers with one row for each of some environments."""

    def __init__(self, state: _Words, rows: NDArray[np.int64] | slice) -> None:
        self._state, self._rows = state, rows

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> Array:
        """Evenly between low and high, which are numbers or (k,): (n,) or (n, k)."""
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        shape = np.broadcast_shapes(low.shape, high.shape)
        unit = (self._words(int(np.prod(shape, dtype=np.int64))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return np.asarray(low + (high - low) * unit.reshape(-1, *shape))

    def normal(self, scale: ArrayLike = 1.0) -> Array:
        """Of a Gaussian with this standard deviation, a number or (k,): (n,) or (n, k). Box-Muller."""
        shape = np.shape(scale)
        one = np.ones(shape)
        radius = np.sqrt(-2.0 * np.log1p(-self.uniform(0.0 * one, one)))
        return np.asarray(np.asarray(scale) * radius * np.cos(self.uniform(0.0 * one, 2.0 * np.pi * one)))

    def _words(self, k: int) -> _Words:
        """The next k words of each stream, (n, k)."""
        z = self._state[self._rows][:, None] + np.arange(1, k + 1, dtype=np.uint64) * _GOLDEN
        self._state[self._rows] = z[:, -1]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))
