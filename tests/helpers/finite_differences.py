"""Derivatives by central differences of sixth order, on the configuration manifold or along a motion.

With the default step, truncation and rounding are both about 1e-12 for functions of order one whose scale is one
radian or metre; tests that use it state 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from featherweight.arrays import Array

STEP = 1e-3
#: f'(0) = sum of w (f(k h) - f(-k h)) / h, exact for polynomials up to degree six.
STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))


def time_derivative(f: Callable[[float], ArrayLike], step: float = STEP) -> Array:
    """df/dt at t = 0, of the shape of f."""
    return np.asarray(sum(w * (np.asarray(f(k * step)) - np.asarray(f(-k * step))) for k, w in STENCIL) / step)


def gradient(f: Callable[[Array], ArrayLike], x: Array, step: float = STEP) -> Array:
    """df/dx in a vector space, of shape (*f.shape, x.size)."""
    return tangent_derivative(f, lambda at, dx: at + dx, x, x.size, step)


def tangent_derivative(
    f: Callable[[Array], ArrayLike],
    integrate: Callable[[Array, Array], Array],
    q: Array,
    nv: int,
    step: float = STEP,
) -> Array:
    """df/dq in the tangent space at q, of shape (*f.shape, nv): column k moves q along the k-th velocity.

    ``integrate(q, dv)`` moves a configuration, as ``model.integrate`` does.
    """
    columns = [time_derivative(lambda t, e=e: f(integrate(q, t * e)), step) for e in np.eye(nv)]  # type: ignore[misc]
    return np.stack(columns, axis=-1)
