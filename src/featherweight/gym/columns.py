"""What a term may return instead of an array: which columns it picks. The core reads those of a whole batch at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array

if TYPE_CHECKING:
    from .world import World

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of what a world knows, minus offsets: scale * (value - offset), with noise before the scale.

    source: the name of an array (n, k) of :class:`~featherweight.gym.World`, such as "q", or "command NAME".
    columns: (m,) indices; all if None. offsets: (m,), zero if None. They must be the same for every world.

    >>> @fw.gym.term
    ... def joint_speed(world: fw.gym.World, joints: str) -> fw.gym.Columns:
    ...     return fw.gym.Columns("v", world.names.dofs(joints))
    >>> joint_speed("robot/*_knee")
    joint_speed('robot/*_knee')
    """

    source: str
    columns: Integers | None = None
    offsets: Array | None = None
    scale: float = 1.0
    noise: float = 0.0

    def read(self, world: World) -> Array:
        """(n, m) in NumPy."""
        values = _array(world, self.source)
        if self.columns is not None:
            values = values[:, self.columns]
        if self.offsets is not None:
            values = values - self.offsets
        if self.noise:
            values = values + world.random.uniform(-self.noise * np.ones(values.shape[1]), self.noise)
        return values if self.scale == 1.0 else self.scale * values


@dataclass(frozen=True, eq=False)
class Outside:
    """Whether some of the columns is not between low and high, (n,)."""

    columns: Columns
    low: float
    high: float

    def read(self, world: World) -> NDArray[np.bool_]:
        """(n,) in NumPy."""
        values = self.columns.read(world)
        return np.asarray(((values < self.low) | (values > self.high)).any(axis=1))


def _array(world: World, source: str) -> Array:
    kind, _, name = source.partition(" ")
    values: Array = world.command(name) if kind == "command" else getattr(world, source)
    return values


def add(to: _core.Columns, columns: Columns, arrays: Mapping[str, Array]) -> None:
    """Has the core read ``columns`` of the ``arrays`` of a whole batch, by source."""
    values = arrays[columns.source]
    indices = np.arange(values.shape[1]) if columns.columns is None else columns.columns
    offsets = np.zeros(len(indices)) if columns.offsets is None else columns.offsets
    to.add(values, indices.tolist(), offsets.tolist(), columns.scale, columns.noise)
