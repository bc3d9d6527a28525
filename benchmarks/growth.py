"""How the work grows with the robot: exact operation counts, free of the machine's noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import featherweight as fw
from featherweight import _testing

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
    dofs: list[int]
    flops: list[int]

    @property
    def exponent(self) -> float:
        """Of the degrees of freedom."""
        return fitted_exponent(self.dofs, self.flops)


def fitted_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope in log-log coordinates over the larger half of the sizes."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(costs[half:]), 1)[0])


def count_flops(model: fw.Model, algorithm: str) -> int:
    """Of one evaluation in the neutral configuration."""
    return total_flops(_testing.operation_counts(model, algorithm))


def total_flops(counts: Mapping[str, int]) -> int:
    """Additions, multiplications and divisions, sines and cosines at what they cost."""
    return sum(count * (SINCOS_FLOPS if kind == "sincos" else 1) for kind, count in counts.items())


def measure_growth(algorithms: list[str]) -> list[Growth]:
    curves = []
    for family, build in FAMILIES.items():
        models = [build(n) for n in SIZES]
        dofs = [model.nv for model in models]
        for algorithm in algorithms:
            flops = [count_flops(model, algorithm) for model in models]
            curves.append(Growth(family, algorithm, list(SIZES), dofs, flops))
    return curves
