"""Random numbers for many environments at once, each from a stream of its own.

Stream k is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) started at a key made of the seed of environment k: its
numbers depend on that seed and on how many were drawn before, never on how many environments there are. The core draws
them, for all environments in one call, where a thousand generators of NumPy would take a loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array

Words = NDArray[np.uint64]


class Randomness:
    """Streams of ``n`` environments."""

    def __init__(self, n: int) -> None:
        self.streams: Words = np.zeros(n, dtype=np.uint64)

    def seed(self, rows: NDArray[np.int64] | list[int], seeds: Sequence[int]) -> None:
        """Start the streams ``rows`` anew."""
        keys = [int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) for seed in seeds]
        self.streams[rows] = np.array(keys, dtype=np.uint64)

    def of(self, rows: NDArray[np.int64] | slice) -> Draws:
        """What terms draw from for the environments ``rows``."""
        return Draws(self.streams, rows)


class Draws:
    """Random numbers with one row for each of some environments.

    >>> @fw.gym.term
    ... def shuffled(world: fw.gym.World) -> None:  # a reset: starts anywhere along x
    ...     world.q[:, 0] += world.random.uniform(-1.0, 1.0)
    >>> shuffled()
    shuffled()
    """

    def __init__(self, streams: Words, rows: NDArray[np.int64] | slice) -> None:
        self._streams = streams
        self._rows = None if isinstance(rows, slice) else rows
        self._n = len(streams) if isinstance(rows, slice) else len(rows)

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> Array:
        """Evenly between low and high, which are numbers or (k,): (n,) or (n, k)."""
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        shape = np.broadcast(low, high).shape
        unit = np.empty((self._n, math.prod(shape)))
        _core.draw(self._streams, self._rows, unit)
        return np.asarray(low + (high - low) * unit.reshape(-1, *shape))

    def scatter(
        self,
        q: Array,
        v: Array,
        coordinates: NDArray[np.int64],
        dofs: NDArray[np.int64],
        limits: tuple[Array, Array],
        position: float,
        velocity: float,
    ) -> None:
        """Moves coordinates of q (n, nq) by up to ``position``, within limits, and changes velocities v (n, nv)."""
        _core.scatter(self._streams, self._rows, q, v, coordinates, dofs, *limits, position, velocity)

    def normal(self, scale: ArrayLike = 1.0) -> Array:
        """Of a Gaussian with this standard deviation, a number or (k,): (n,) or (n, k). Box-Muller."""
        shape = np.shape(scale)
        one = np.ones(shape)
        radius = np.sqrt(-2.0 * np.log1p(-self.uniform(0.0 * one, one)))
        return np.asarray(np.asarray(scale) * radius * np.cos(self.uniform(0.0 * one, 2.0 * np.pi * one)))
