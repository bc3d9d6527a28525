"""Delassus matrices: how forces along constraint rows accelerate the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from numpy.typing import ArrayLike

from . import _core
from .constrained import activity
from .constraints import Constraint, ConstraintSet, compiled_for
from .description import Array
from .model import Model

DelassusMethod = Literal["auto", "ltl", "pv_osim", "efpa", "kjr"]


def delassus(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[Constraint] | ConstraintSet,
    *,
    method: DelassusMethod = "auto",
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> Array:
    """The Delassus matrix J H^-1 J^T, (..., n_rows, n_rows): accelerations of the rows per force along each of them.

    q: (nq,) or a batch (batch, nq). The inverse of the operational-space inertia, where that exists.
    """
    if method not in get_args(DelassusMethod):
        raise ValueError(f"method: unknown {method!r}, expected one of {', '.join(get_args(DelassusMethod))}")
    compiled = compiled_for(model, constraints)
    kernel = {"auto": "pv_osim", "ltl": "ltl_osim"}.get(method, method)
    return _core.delassus(model, q, compiled, activity(active), kernel, num_threads)
