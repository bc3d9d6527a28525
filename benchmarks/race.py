"""Contenders take turns in one run, so that whatever else the machine does hits all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from benchmarks.robots import Array

Key = TypeVar("Key")


@dataclass(frozen=True)
class Contender:
    """One way to compute an algorithm on a fixed set of samples.

    ``seconds(algorithm, repeats)`` is the smallest time of one pass over all samples; ``result(algorithm)`` is what it
    computes, in featherweight's coordinates.
    """

    name: str
    seconds: Callable[[str, int], float]
    result: Callable[[str], Array]


def race(contenders: Iterable[Contender], algorithm: str, rounds: int) -> dict[str, float]:
    """Smallest seconds of one pass over the samples, by contender."""
    return take_turns({c.name: partial(c.seconds, algorithm) for c in contenders}, rounds)


def take_turns(field: Mapping[Key, Callable[[int], float]], rounds: int, burst: float = 5e-3) -> dict[Key, float]:
    """The smallest of the seconds that each function returns; its argument is how often it should repeat its work.

    In each round every one runs for about ``burst`` seconds. The minimum is what the code costs; anything above it is
    the machine's doing.
    """
    best = {name: seconds(1) for name, seconds in field.items()}  # warms up and tells how many passes fill a burst
    for _ in range(rounds):
        for name, seconds in field.items():
            repeats = int(np.clip(burst / best[name], 1, 10_000))
            best[name] = min(best[name], seconds(repeats))
    return best


def equal_turns(field: Mapping[Key, Callable[[], object]], rounds: int) -> dict[Key, list[float]]:
    """The seconds of a call, one figure for every round: in each, every one runs for as long as the slowest takes.

    A machine that is shared disturbs a long run for sure and a short one by chance. Means over turns of the same
    length are disturbed alike.
    """
    turn = max(time_python(work, 1) for work in field.values())  # warms up
    times: dict[Key, list[float]] = {name: [] for name in field}
    for _ in range(rounds):
        for name, work in field.items():
            calls, spent = 0, 0.0
            while calls == 0 or spent < turn:
                spent += time_python(work, 1)
                calls += 1
            times[name].append(spent / calls)
    return times


def time_python(work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Smallest seconds of ``work()``."""
    best = float("inf")
    for _ in range(repeats):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def relative_error(value: Array, reference: Array) -> float:
    """Largest deviation over all samples, each relative to 1 + the largest entry of its reference."""
    return float(relative_errors(value, reference).max())


def relative_errors(value: Array, reference: Array) -> Array:
    """By sample."""
    axes = tuple(range(1, reference.ndim))
    errors: Array = np.abs(value - reference).max(axis=axes) / (1 + np.abs(reference).max(axis=axes))
    return errors
