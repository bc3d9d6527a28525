"""How the work grows with the robot: exact operation counts, free of the machine's noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import featherweight as fw
from featherweight import _core

SIZES = (8, 16, 32, 64, 128)
FAMILIES: dict[str, Callable[[int], fw.Model]] = {
    "chain": lambda n: fw.models.chain(n),
    "random tree": lambda n: fw.models.random_tree(seed=1, n=n),
}
#: A vectorised sine and cosine together cost about this many operations.
SINCOS_FLOPS = 37


@dataclass(frozen=True)
class Growth:
    """Operations of one evaluation of ``algorithm`` over the size of a family of robots."""

    family: str
    algorithm: str
    links: list[int]
    freedoms: list[int]
    flops: list[int]

    @property
    def exponent(self) -> float:
        """Of the freedoms: the slope in log-log coordinates over the larger half of the sizes."""
        half = len(self.freedoms) // 2
        return float(np.polyfit(np.log(self.freedoms[half:]), np.log(self.flops[half:]), 1)[0])


def count_flops(model: fw.Model, algorithm: str) -> int:
    """Additions, multiplications and divisions, sines and cosines at what they cost."""
    counts = dict(_core.operation_counts(model, algorithm))
    return int(counts.pop("sincos", 0) * SINCOS_FLOPS + sum(counts.values()))


def measure_growth(algorithms: list[str]) -> list[Growth]:
    curves = []
    for family, build in FAMILIES.items():
        models = [build(n) for n in SIZES]
        freedoms = [model.nv for model in models]
        for algorithm in algorithms:
            flops = [count_flops(model, algorithm) for model in models]
            curves.append(Growth(family, algorithm, list(SIZES), freedoms, flops))
    return curves
