"""Laws of contact: what a block of rows is, and the nearest impulses that its law admits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from featherweight.arrays import Array

Law = Literal["equality", "unilateral", "interval", "point", "disc"]


@dataclass(frozen=True)
class ConeBlock:
    """Consecutive rows with one law; a point has two tangents, then its normal."""

    law: Law
    rows: int
    mu: float = 0.0  # of a point; of a disc in metres
    normal: int = -1  # row of the problem that bounds a disc
    lower: float = 0.0  # of an interval
    upper: float = 0.0


def slices(blocks: Sequence[ConeBlock]) -> list[slice]:
    ends = np.cumsum([block.rows for block in blocks])
    return [slice(int(end) - block.rows, int(end)) for block, end in zip(blocks, ends, strict=True)]


def onto_disc(x: Array, radius: float) -> Array:
    length = float(np.linalg.norm(x))
    return x if length <= radius else x * (max(radius, 0.0) / length)


def onto_cone(x: Array, mu: float) -> Array:
    """The nearest point with |x_T| <= mu x_N."""
    length = float(np.linalg.norm(x[:2]))
    if length <= mu * x[2]:
        return x
    normal = max((mu * length + x[2]) / (1 + mu * mu), 0.0)
    return np.append(x[:2] * (mu * normal / length if length > 0 else 0.0), normal)
