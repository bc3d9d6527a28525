"""Heights of feet over time: targets that make legs step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..records import Record


@dataclass(frozen=True, eq=False)
class Gait(Record):
    """Each foot stands for a while and swings for a while, on half a sine wave.

    >>> gait = fw.mpc.trot(period=0.5, lift=0.06, height=0.02)
    >>> gait([0.125])  # the first foot and the last are up
    array([[0.08, 0.02, 0.02, 0.08]])
    """

    period: float  # [s] of a stride
    lift: float  # [m]
    phases: tuple[float, ...]  # of each foot: the share of a period by which it swings earlier
    swing: float = 0.5  # share of a period in the air
    height: float = 0.0  # of the frame of a foot that stands [m]
    start: float = 0.0  # [s] before it all feet stand

    def __post_init__(self) -> None:
        for name in ("period", "swing"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name}: expected a positive number, got {getattr(self, name)}")
        if not self.swing < 1.0:
            raise ValueError(f"swing: expected a share of a period, less than 1, got {self.swing}")

    def __call__(self, times: ArrayLike) -> Array:
        """Target heights, (times, feet)."""
        phase, is_up = self._swings(times)
        return self.height + self.lift * np.where(is_up, np.sin(np.pi * phase / self.swing), 0.0)

    def stands(self, times: ArrayLike) -> NDArray[np.bool_]:
        """Which feet are on the ground, (times, feet): for a :class:`Schedule`.

        >>> fw.mpc.trot(period=0.5).stands([0.0, 0.25])
        array([[False,  True,  True, False],
               [ True, False, False,  True]])
        """
        return ~self._swings(times)[1]

    def _swings(self, times: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
        """Shares of the period since each foot began to swing, and whether it still does."""
        times = np.atleast_1d(np.asarray(times, dtype=np.float64))
        phase = np.mod(np.add.outer((times - self.start) / self.period, np.asarray(self.phases)), 1.0)
        return phase, (phase < self.swing) & (times[:, None] >= self.start)


def trot(period: float = 0.5, lift: float = 0.06, *, height: float = 0.0, start: float = 0.0) -> Gait:
    """Four feet, in pairs across: for feet in the order left and right in front, left and right behind.

    >>> fw.mpc.trot(period=0.5).stands([0.1, 0.35])
    array([[False,  True,  True, False],
           [ True, False, False,  True]])
    """
    return Gait(period, lift, (0.0, 0.5, 0.5, 0.0), height=height, start=start)


def walk(
    period: float = 0.8, lift: float = 0.06, *, swing: float = 0.45, height: float = 0.0, start: float = 0.0
) -> Gait:
    """Two feet, one after the other; both stand for a while in between.

    >>> fw.mpc.walk(period=0.8, height=0.08)([0.18, 0.38]).round(3)
    array([[0.14, 0.08],
           [0.08, 0.08]])
    """
    return Gait(period, lift, (0.0, 0.5), swing, height, start)
