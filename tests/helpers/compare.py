"""Comparison on a stated scale: an error counts relative to 1 + the largest expected value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from featherweight.arrays import Array

EPS = float(np.finfo(np.float64).eps)
#: What sums and products of some dozen numbers may lose.
ROUNDING = 100 * EPS
#: How many times EPS times the condition a stable method may be off; 0.8 was met on some instruction set and BLAS.
STABLE = 8.0


def relative_error(actual: ArrayLike, expected: ArrayLike) -> float:
    """max |actual - expected| / (1 + max |expected|); infinite when something is not finite."""
    got, want = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    if got.size == 0:
        return 0.0
    error = float(np.max(np.abs(got - want)) / (1.0 + np.max(np.abs(want))))
    return error if np.isfinite(error) else np.inf


def assert_close(actual: ArrayLike, expected: ArrayLike, tolerance: float = 1e-12, what: str = "") -> None:
    error = relative_error(actual, expected)
    assert error <= tolerance, f"{what or 'value'}: relative error {error:.2e}, tolerance {tolerance:.1e}"


def assert_same_bits(actual: ArrayLike, expected: ArrayLike, what: str = "") -> None:
    got, want = np.asarray(actual), np.asarray(expected)
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    same = np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(want).tobytes()
    assert same, f"{what}: differs by {np.max(np.abs(got - want)):.2e}"


def condition(mass_matrix: Array) -> float:
    """Of a positive matrix with its rows and columns scaled to a unit diagonal: in that measure, free of units, a
    Cholesky factorisation loses digits [Higham, Accuracy and Stability of Numerical Algorithms, 10.1], and so do sweeps
    over links."""
    scale = 1.0 / np.sqrt(np.diag(mass_matrix))
    return float(np.linalg.cond(scale[:, None] * mass_matrix * scale)) if mass_matrix.size else 1.0


def solve_tolerance(mass_matrix: Array) -> float:
    """What a backward-stable solve with this mass matrix may lose, on any CPU: rounding times its condition."""
    return ROUNDING + STABLE * EPS * condition(mass_matrix)
