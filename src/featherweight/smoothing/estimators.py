"""Gradients of Gaussian averages from samples in antithetic pairs: by values, by gradients, and by both.

The average F(x) = E f(x + sigma e), e standard normal, is smooth where f has kinks and jumps. Its gradient is both

  zeroth order   E [f(x + sigma e) - f(x - sigma e)] e / (2 sigma)          values alone, right for jumps, noisy
  first order    E [f'(x + sigma e) + f'(x - sigma e)] / 2                  gradients, little noise, blind to jumps

so that the mean weighted by inverse variances is better than either, unless f jumps: then the two do not agree, and the
zeroth order alone is right. [Suh et al. 2022, Do differentiable simulators give better policy gradients?] mix them by
one weight for all; here each component has its own, and is tested by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array

Order = Literal["zeroth", "first", "mixed"]
ORDERS = ("zeroth", "first", "mixed")

#: Standard errors by which the two orders may differ before the first counts as biased.
BIASED = 3.0


@dataclass(frozen=True)
class Estimate:
    """A mean over pairs, (...) each."""

    mean: Array
    error: Array  # the standard error of the mean
    first_share: Array  # weight of the first order, 0 to 1
    biased: NDArray[np.bool_]  # the two orders disagree


def noise(seed: int, pairs: int, width: int) -> Array:
    """(pairs, width) standard normal numbers; those of a pair do not depend on how many there are."""
    return np.random.default_rng(seed).standard_normal((pairs, width))


def mean_of(samples: Array) -> tuple[Array, Array]:
    """Mean and standard error of (pairs, ...)."""
    n = len(samples)
    return samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(n)


def estimate(order: Order, zeroth: Array | None, first: Array | None) -> Estimate:
    """zeroth, first: (pairs, ...), what each pair says the gradient is; None where the order does not need it."""
    if order != "mixed":
        samples = zeroth if order == "zeroth" else first
        assert samples is not None
        mean, error = mean_of(samples)
        share = np.full(mean.shape, 0.0 if order == "zeroth" else 1.0)
        return Estimate(mean, error, share, np.zeros(mean.shape, dtype=bool))
    assert zeroth is not None and first is not None
    (mean_0, error_0), (mean_1, error_1) = mean_of(zeroth), mean_of(first)
    variance = error_0**2 + error_1**2
    # numbers that are the same up to rounding agree, however small their variances are
    rounding = 1e-12 * (np.abs(zeroth).max(axis=0) + np.abs(first).max(axis=0))
    biased = np.abs(mean_1 - mean_0) > BIASED * np.sqrt(variance) + rounding
    share = np.where(biased, 0.0, np.divide(error_0**2, variance, out=np.ones_like(variance), where=variance > 0))
    mean = share * mean_1 + (1.0 - share) * mean_0
    error = np.sqrt((share * error_1) ** 2 + ((1.0 - share) * error_0) ** 2)
    return Estimate(mean, error, share, biased)
