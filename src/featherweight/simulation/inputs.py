"""What drives a step or a rollout, as users give it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import real_numbers

if TYPE_CHECKING:
    from .state import State

#: That the core counts in one rollout.
MOST_STEPS = 2**31 - 1


def flat_forces(f_ext: ArrayLike | None, n_links: int) -> ArrayLike | None:
    """(..., n_links, 6) as (..., 6 n_links)."""
    if f_ext is None:
        return None
    array = real_numbers("f_ext", f_ext)
    if array.ndim < 2 or array.shape[-2:] != (n_links, 6):
        raise ValueError(f"f_ext: expected shape (..., {n_links}, 6), got {array.shape}")
    return array.reshape(*array.shape[:-2], 6 * n_links)


def count_steps(arrays: dict[str, ArrayLike | None], n_steps: int | None, state: State) -> int:
    """How many steps a rollout has, by ``n_steps`` or by the rows of what drives it."""
    if n_steps is not None:
        if isinstance(n_steps, bool) or not isinstance(n_steps, int | np.integer) or n_steps < 0:
            raise ValueError(f"n_steps must be a non-negative integer, got {n_steps!r}")
        if n_steps > MOST_STEPS:
            raise ValueError(f"n_steps must be at most {MOST_STEPS}, got {n_steps}")
        return int(n_steps)
    for name, value in arrays.items():
        if value is not None:
            shape = np.shape(value)[: -2 if name == "f_ext" else -1]
            if len(shape) == (1 if state.single else 2) or (not state.single and len(shape) == 1):
                return int(shape[-1])
    raise ValueError("rollout: give n_steps, or forces with one row per step")
