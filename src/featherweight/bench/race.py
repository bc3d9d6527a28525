"""Contenders take turns in one run, so that whatever else the machine does hits all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from featherweight.bench.robots import Array


@dataclass(frozen=True)
class Contender:
    """One way to compute an algorithm on a fixed set of samples.

    ``seconds(algorithm, repeats)`` is the smallest time of one pass over all samples; ``result(algorithm)`` is what it
    computes, in featherweight's coordinates.
    """

    name: str
    seconds: Callable[[str, int], float]
    result: Callable[[str], Array]


def race(contenders: Iterable[Contender], algorithm: str, rounds: int, burst: float = 5e-3) -> dict[str, float]:
    """Smallest seconds of one pass over the samples, by contender.

    In each round every contender runs for about ``burst`` seconds. The minimum is what the code costs; anything above
    it is the machine's doing.
    """
    field = list(contenders)
    best = {c.name: c.seconds(algorithm, 1) for c in field}  # warms up and tells how many passes fill a burst
    for _ in range(rounds):
        for c in field:
            repeats = int(np.clip(burst / best[c.name], 1, 10_000))
            best[c.name] = min(best[c.name], c.seconds(algorithm, repeats))
    return best


def time_python(work: Callable[[], object], repeats: int) -> float:
    """Smallest seconds of ``work()``."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def relative_error(value: Array, reference: Array) -> float:
    """Largest deviation over all samples, each relative to 1 + the largest entry of its reference."""
    axes = tuple(range(1, reference.ndim))
    deviation = np.abs(value - reference).max(axis=axes) / (1 + np.abs(reference).max(axis=axes))
    return float(deviation.max())
