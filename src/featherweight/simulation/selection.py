"""Some environments of a batch as a state of their own, and several states as one batch."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .state import State

Arrays = dict[str, NDArray[Any]]

_CONTACTS, _COUNTS = "contacts/", "contacts/counts"


def rows_of(batch: int, index: object) -> tuple[NDArray[np.int64], bool]:
    """The environments that ``index`` selects from a batch, and whether it is a single one."""
    if isinstance(index, SupportsIndex) and not isinstance(index, bool | np.bool_ | np.ndarray):
        row = operator.index(index)
        if not -batch <= row < batch:
            raise IndexError(f"environment {row} of {batch}")
        return np.array([row % batch]), True
    if isinstance(index, slice):
        return np.arange(batch)[index], False
    rows = np.asarray(index)
    if rows.ndim != 1 or not (rows.dtype == np.bool_ or np.issubdtype(rows.dtype, np.integer) or rows.size == 0):
        raise IndexError(
            f"environments are selected by an integer, a slice, or (n,) integers or booleans, got {index!r}"
        )
    if rows.dtype == np.bool_ and len(rows) != batch:
        raise IndexError(f"expected ({batch},) booleans, got {len(rows)}")
    return np.arange(batch)[rows.astype(np.int64) if rows.size == 0 else rows], False


def selected(arrays: Arrays, rows: NDArray[np.int64], single: bool) -> Arrays:
    """The arrays of a state (``State._arrays``) reduced to some of its environments."""
    counts = arrays[_COUNTS]
    starts = np.concatenate([[0], np.cumsum(counts)])
    points = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows.tolist()] or [np.arange(0)])
    chosen: Arrays = {"time": arrays["time"], "single": np.array(single)}
    for name, values in arrays.items():
        if name not in chosen:
            chosen[name] = values[points if name.startswith(_CONTACTS) and name != _COUNTS else rows]
    return chosen


def joined(states: Sequence[State]) -> Arrays:
    """The arrays of several states of one simulator as those of one batch, in order."""
    parts = [state._arrays() for state in states]
    if any(part.keys() != parts[0].keys() for part in parts):
        raise ValueError("states to be joined must have the same kinds of parameters: see State.randomised")
    both: Arrays = {"time": parts[0]["time"], "single": np.array(False)}
    return both | {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name not in both}
