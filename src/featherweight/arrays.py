"""The type of all arrays of numbers, and what callers may give as one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def real_numbers(name: str, value: ArrayLike) -> Array:
    """``value`` as an array of float64, itself if it is one; text, booleans and complex numbers are refused."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # ragged
        raise ValueError(f"{name}: expected an array of numbers, got {type(value).__name__}") from None
    if array.dtype.kind not in "iuf":
        kinds = {"b": "booleans", "c": "complex numbers", "U": "text", "S": "text"} if array.ndim else {}
        got = kinds.get(array.dtype.kind, type(value).__name__)
        raise ValueError(f"{name}: expected an array of numbers, got {got}")
    return np.asarray(array, dtype=np.float64, order="C")
