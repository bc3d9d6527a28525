"""Constraint rows that may act between two links, as rows on one link each: their ends.

A row between two links is the sum of what its ends see. With all ends stacked as if they were rows of their own, and
P the matrix that adds up the ends of each row, the Delassus matrix of the rows is P (that of the ends) P^T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import Rows, frame_rows, point_rows
from featherweight.reference.kinematics import find_frame, frame_placement
from featherweight.reference.spatial import inverse, motion_transform
from featherweight.reference.tree import sizes


@dataclass(frozen=True, eq=False)
class RowsBetween:
    """The rows of a constraint between two links. Its force acts on the first link, and the opposite on the second."""

    first: Rows
    second: Rows  # its K negated: the rows are K_first a_first + K_second a_second


Constraint: TypeAlias = Rows | RowsBetween


def point_rows_between(
    model: ModelDescription, q: Array, frame: str, to: str, *, axes: Sequence[int] = (0, 1, 2)
) -> RowsBetween:
    """Rows of the velocity of the origin of ``frame`` less that of the link of ``to`` there, in its axes."""
    first = point_rows(model, q, np.zeros(sizes(model)[1]), frame, axes=axes)
    return RowsBetween(first, _opposite(model, q, to, frame_placement(model, q, frame), axes))


def frame_rows_between(
    model: ModelDescription, q: Array, frame: str, to: str, *, axes: Sequence[int] = (0, 1, 2, 3, 4, 5)
) -> RowsBetween:
    """Rows of the spatial velocity of ``frame`` minus that of the link of ``to``, both at the origin and in the axes of
    ``frame``: where ``to`` sits on its link does not matter.
    """
    first = frame_rows(model, q, np.zeros(sizes(model)[1]), frame, axes=axes)
    return RowsBetween(first, _opposite(model, q, to, frame_placement(model, q, frame), axes))


def split(constraints: Sequence[Constraint]) -> tuple[list[Rows], Array]:
    """All ends, and P (number of rows, number of rows of the ends), which adds them up."""
    ends, row_of, m = list[Rows](), list[int](), 0
    for constraint in constraints:
        own = [constraint] if isinstance(constraint, Rows) else [constraint.first, constraint.second]
        size = own[0].k.size
        ends += own
        row_of += len(own) * list(range(m, m + size))
        m += size
    return ends, np.eye(m)[:, row_of]


def row_damping(damping: Array | float, m: int) -> Array:
    """(m,) R > 0, given for all rows or for each."""
    R = np.broadcast_to(np.asarray(damping, dtype=np.float64), m)
    if not np.all(R > 0):
        raise ValueError(f"damping is {damping}, expected positive numbers")
    return R


def _opposite(model: ModelDescription, q: Array, to: str, X_WF: Array, axes: Sequence[int]) -> Rows:
    """Minus the velocity of the link of ``to``, in a frame that is at ``X_WF`` and moves with that link."""
    link, X_LB = find_frame(model, to)
    X_WL = frame_placement(model, q, to) @ inverse(X_LB)
    return Rows(link, -motion_transform(inverse(X_WF) @ X_WL)[list(axes)], np.zeros(len(axes)))
