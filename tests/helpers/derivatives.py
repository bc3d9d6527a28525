"""Derivatives against differences: the one comparison that all of them are put to."""

from __future__ import annotations

from collections.abc import Callable

import featherweight as fw
from featherweight.arrays import Array

from .compare import assert_close
from .finite_differences import gradient, tangent_derivative

#: Sixth-order differences of functions whose scale is one radian or metre are good to this.
DIFFERENCES = 1e-9


def check_derivatives(
    model: fw.Model,
    f: Callable[..., Array],
    at: dict[str, Array],
    found: dict[str, Array],
    tolerance: float = DIFFERENCES,
    step: float = 1e-3,
) -> None:
    """``found[name]`` is the derivative of ``f(**at)`` by the argument ``name``; by q in the tangent space."""
    for name, matrix in found.items():

        def along(x: Array, name: str = name) -> Array:
            return f(**{**at, name: x})

        if name == "q":
            expected = tangent_derivative(along, model.integrate, at["q"], model.nv, step)
        else:
            expected = gradient(along, at[name], step)
        assert_close(matrix, expected, tolerance, f"by {name}")
