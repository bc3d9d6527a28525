"""Equality constraints on the accelerations of frames.

>>> feet = [fw.PointConstraint("front_left_foot"), fw.FrameConstraint("torso", rows=("z", "rx", "ry"))]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from .description import Array
from .model import Model

#: Names of the rows a constraint may have: along, then about the axes of its frame.
ROWS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, eq=False)
class PointConstraint:
    """The point at ``offset`` of a frame does not accelerate, or accelerates as desired, along the frame's axes.

    ``rows`` picks axes among "x", "y", "z". ``acceleration`` [m/s^2] and ``compliance`` [1/kg: acceleration given way
    per newton] are numbers for all rows or one per row. The force acts on the link, in the frame's axes [N].
    """

    frame: str | int
    rows: Sequence[str] = ("x", "y", "z")
    offset: ArrayLike = (0.0, 0.0, 0.0)  # (3,) [m], in the frame
    acceleration: ArrayLike = 0.0
    compliance: ArrayLike = 0.0


@dataclass(frozen=True, eq=False)
class FrameConstraint:
    """A frame does not accelerate, or has the desired spatial acceleration [linear; angular] in its own axes.

    ``rows`` picks among "x", "y", "z", "rx", "ry", "rz"; ``offset`` is the pose (4, 4) of the constraint's frame in the
    named one. ``acceleration`` [m/s^2, rad/s^2] and ``compliance`` are numbers for all rows or one per row. The force
    [N, N m] acts on the link, in the constraint's axes at its origin.
    """

    frame: str | int
    rows: Sequence[str] = ROWS
    offset: ArrayLike = field(default_factory=lambda: np.eye(4))
    acceleration: ArrayLike = 0.0
    compliance: ArrayLike = 0.0


Constraint: TypeAlias = PointConstraint | FrameConstraint


class ConstraintSet(_core.ConstraintSet):
    """Constraints compiled for a model, to be used in many calls."""

    def __init__(self, model: Model, constraints: Sequence[Constraint]) -> None:
        self.constraints = tuple(constraints)
        if not self.constraints:
            raise ValueError("constraints: expected at least one; without any, use fw.aba")
        compiled = [_compiled(k, constraint) for k, constraint in enumerate(self.constraints)]
        super().__init__(model, [entry[0] for entry in compiled])
        self.targets: Array = np.concatenate([entry[1] for entry in compiled])
        self.targets.flags.writeable = False
        ends = np.cumsum([len(entry[1]) for entry in compiled]).tolist()
        #: Where the rows of each constraint are in the vector of all rows.
        self.slices = tuple(slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))

    def __repr__(self) -> str:
        return f"<ConstraintSet: {self.n_constraints} constraints, {self.n_rows} rows>"


def _compiled(
    k: int, constraint: Constraint
) -> tuple[tuple[str | int, list[float], bool, list[int], list[float]], Array]:
    """What the core wants to know of a constraint, and the accelerations its rows are to have."""
    if not isinstance(constraint, PointConstraint | FrameConstraint):
        raise ValueError(f"constraint {k}: expected a PointConstraint or FrameConstraint, got {constraint!r}")
    what = f"constraint {k} on {constraint.frame!r}"
    point = isinstance(constraint, PointConstraint)
    known = ROWS[:3] if point else ROWS
    rows = tuple(constraint.rows)
    if not rows or len(set(rows)) != len(rows) or not set(rows) <= set(known):
        raise ValueError(f"{what}: rows must be different ones of {', '.join(known)}, got {constraint.rows!r}")
    offset = np.eye(4)
    if point:
        offset[:3, 3] = _numbers(what, "offset", constraint.offset, (3,))
    else:
        offset = _numbers(what, "offset", constraint.offset, (4, 4))
        R = offset[:3, :3]
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
            raise ValueError(f"{what}: offset must be a rigid motion, a (4, 4) pose")
    acceleration = _per_row(what, "acceleration", constraint.acceleration, len(rows))
    compliance = _per_row(what, "compliance", constraint.compliance, len(rows))
    if compliance.min() < 0:
        raise ValueError(f"{what}: compliance must not be negative, got {constraint.compliance!r}")
    axes = [ROWS.index(row) for row in rows]
    return (constraint.frame, offset.ravel().tolist(), point, axes, compliance.tolist()), acceleration


def _numbers(what: str, name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what}: {name} must be numbers, got {value!r}") from None
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{what}: {name} must be {shape} finite numbers, got {value!r}")
    return array


def _per_row(what: str, name: str, value: ArrayLike, n: int) -> Array:
    return np.full(n, _numbers(what, name, value, ())) if np.ndim(value) == 0 else _numbers(what, name, value, (n,))
