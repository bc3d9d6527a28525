"""Equality constraints on the accelerations of frames.

>>> feet = [fw.PointConstraint("front_left_foot"), fw.FrameConstraint("torso", rows=("z", "rx", "ry"))]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..model.model import Model
from ..records import Record, packed, unpacked

#: Names of the rows a constraint may have: along, then about the axes of its frame.
ROWS = ("x", "y", "z", "rx", "ry", "rz")


class _Held(Record):
    """What the kinds of constraints have in common: they keep what was given in one immutable form."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "rows":
                self.__dict__[name] = tuple(value) if isinstance(value, list | np.ndarray) else value
            elif name not in ("frame", "to"):
                self.__dict__[name] = _kept(value)


def _kept(value: Any) -> Any:
    """Numbers as a float, a tuple or a read-only array; anything else unchanged, for ConstraintSet to refuse."""
    if value is None:
        return None
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return value
    return _frozen(array) if array.ndim > 1 else tuple(array.tolist()) if array.ndim else float(array)


@dataclass(frozen=True, eq=False)
class PointConstraint(_Held):
    """The point at ``offset`` of a frame does not accelerate, or accelerates as desired, along the frame's axes.

    ``rows`` picks axes among "x", "y", "z". ``acceleration`` [m/s^2] and ``compliance`` [1/kg: acceleration by which a
    row yields per newton] are numbers for all rows or one per row. The force acts on the link, in the frame's axes [N].

    ``stiffness`` [1/s^2] draws the point back to ``position``, (3,) or one per sample (batch, 3) in the world, and
    ``damping`` [1/s] to rest: numbers for all rows or one per row.

    With a second frame ``to`` the motion is relative to the point at ``to_offset`` in it, still along the axes of the
    first, and the opposite force acts there. :func:`featherweight.delassus`, the functions for terms of constraints and
    scenes take such closures; their forces are not solved for yet by :func:`featherweight.constrained_dynamics`.

    Constraints pickle, and compare by value.
    """

    frame: str | int
    rows: Sequence[str] = ("x", "y", "z")
    offset: ArrayLike = (0.0, 0.0, 0.0)  # (3,) [m], in the frame
    acceleration: ArrayLike = 0.0
    compliance: ArrayLike = 0.0
    position: ArrayLike | None = None
    stiffness: ArrayLike = 0.0
    damping: ArrayLike = 0.0
    to: str | int | None = None
    to_offset: ArrayLike = (0.0, 0.0, 0.0)  # (3,) [m], in that frame


@dataclass(frozen=True, eq=False)
class FrameConstraint(_Held):
    """A frame does not accelerate, or has the desired spatial acceleration [linear; angular] in its own axes.

    ``rows`` picks among "x", "y", "z", "rx", "ry", "rz"; ``offset`` is the pose (4, 4) of the constraint's frame in the
    named one. ``acceleration`` [m/s^2, rad/s^2] and ``compliance`` are numbers for all rows or one per row. The force
    [N, N m] acts on the link, in the constraint's axes at its origin.

    ``stiffness`` [1/s^2] draws the frame back to the pose ``position``, (4, 4) or one per sample (batch, 4, 4) in the
    world, and ``damping`` [1/s] to rest: numbers for all rows or one per row.

    With a second frame ``to`` the motion is relative to its link, as seen from the first frame, and the opposite force
    acts there. :func:`featherweight.delassus`, the functions for terms of constraints and scenes take such closures;
    their forces are not solved for yet by :func:`featherweight.constrained_dynamics`.

    Constraints pickle, and compare by value.
    """

    frame: str | int
    rows: Sequence[str] = ROWS
    offset: ArrayLike = field(default_factory=lambda: np.eye(4))
    acceleration: ArrayLike = 0.0
    compliance: ArrayLike = 0.0
    position: ArrayLike | None = None
    stiffness: ArrayLike = 0.0
    damping: ArrayLike = 0.0
    to: str | int | None = None


Constraint: TypeAlias = PointConstraint | FrameConstraint


class ConstraintSet(_core.ConstraintSet):
    """Constraints compiled for a model, to be used in many calls.

    Immutable. It pickles together with its model, and equals a set of the same constraints on an equal model.
    """

    model: Model
    targets: Array  # (n_rows,) desired accelerations, without feedback
    compliance: Array  # (n_rows,) [1/kg, 1/(kg m^2)]
    stiffness: Array  # (n_rows,) [1/s^2]
    damping: Array  # (n_rows,) [1/s]
    positions: Array | None  # (n_constraints, 4, 4) or (batch, n_constraints, 4, 4), if any constraint has one
    slices: tuple[slice, ...]  # where the rows of each constraint are in the vector of all rows

    def __init__(self, model: Model, constraints: Sequence[Constraint]) -> None:
        self.model = model
        self.constraints = tuple(constraints)
        if not self.constraints:
            raise ValueError("constraints: expected at least one; without any, use fw.aba")
        checked = [_checked(k, constraint) for k, constraint in enumerate(self.constraints)]
        super().__init__(model, [each.specification for each in checked])
        self.targets = _frozen(np.concatenate([each.acceleration for each in checked]))
        self.compliance = _frozen(np.concatenate([each.specification[4] for each in checked]))
        self.stiffness = _frozen(np.concatenate([each.stiffness for each in checked]))
        self.damping = _frozen(np.concatenate([each.damping for each in checked]))
        self.positions = _positions([each.position for each in checked])
        ends = np.cumsum([len(each.acceleration) for each in checked]).tolist()
        self.slices = tuple(slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstraintSet):
            return NotImplemented
        return self is other or (self.model == other.model and self.constraints == other.constraints)

    def __hash__(self) -> int:
        return hash((self.model, self.constraints))

    def __reduce__(self) -> tuple[Callable[..., ConstraintSet], tuple[object, ...]]:
        return _unpickled, (type(self), packed({"model": self.model, "constraints": self.constraints}))

    def __copy__(self) -> ConstraintSet:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ConstraintSet:
        return self

    def __repr__(self) -> str:
        return f"<ConstraintSet: {self.n_constraints} constraints, {self.n_rows} rows>"


def _unpickled(kind: type[ConstraintSet], state: object) -> ConstraintSet:
    return kind(**unpacked(kind, state, ("model", "constraints")))


def compiled_for(model: Model, constraints: Sequence[Constraint] | ConstraintSet) -> ConstraintSet:
    """The constraints as a set, which they may already be."""
    return constraints if isinstance(constraints, ConstraintSet) else ConstraintSet(model, constraints)


#: What the core takes: frame, offset, whether it is a point, axes, compliance, the second frame and its offset.
_Specification: TypeAlias = tuple[str | int, list[float], bool, list[int], list[float], str | int | None, list[float]]


class _Checked(NamedTuple):
    specification: _Specification
    acceleration: Array  # per row, as stiffness and damping
    stiffness: Array
    damping: Array
    position: Array | None  # (4, 4) or (batch, 4, 4)


def _checked(k: int, constraint: Constraint) -> _Checked:
    if not isinstance(constraint, PointConstraint | FrameConstraint):
        raise ValueError(f"constraint {k}: expected a PointConstraint or FrameConstraint, got {constraint!r}")
    what = f"constraint {k} on {constraint.frame!r}"
    point = isinstance(constraint, PointConstraint)
    known = ROWS[:3] if point else ROWS
    rows = tuple(constraint.rows)
    if not rows or len(set(rows)) != len(rows) or not set(rows) <= set(known):
        raise ValueError(f"{what}: rows must be distinct and among {', '.join(known)}, got {constraint.rows!r}")
    pose = _placed_points if point else _poses
    offset = _offset(what, "offset", constraint.offset, pose)
    to_offset = np.eye(4)
    if isinstance(constraint, PointConstraint):
        to_offset = _offset(what, "to_offset", constraint.to_offset, pose)
        if constraint.to is None and np.any(to_offset != np.eye(4)):
            raise ValueError(f"{what}: to_offset is a point of the second frame, which is not given")
    if constraint.to is not None and constraint.position is not None:
        raise ValueError(f"{what}: a position in the world means nothing to a motion relative to {constraint.to!r}")
    position = None if constraint.position is None else pose(what, "position", constraint.position)
    stiffness = _not_negative(what, "stiffness", constraint.stiffness, len(rows))
    if position is None and stiffness.any():
        raise ValueError(f"{what}: stiffness draws the frame to a position, which is not given")
    compliance = _not_negative(what, "compliance", constraint.compliance, len(rows))
    axes = [ROWS.index(row) for row in rows]
    return _Checked(
        specification=(
            constraint.frame,
            offset.ravel().tolist(),
            point,
            axes,
            compliance.tolist(),
            constraint.to,
            to_offset.ravel().tolist(),
        ),
        acceleration=_per_row(what, "acceleration", constraint.acceleration, len(rows)),
        stiffness=stiffness,
        damping=_not_negative(what, "damping", constraint.damping, len(rows)),
        position=position,
    )


def _offset(what: str, name: str, value: ArrayLike, pose: Callable[[str, str, ArrayLike], Array]) -> Array:
    offset = pose(what, name, value)
    if offset.ndim > 2:
        raise ValueError(f"{what}: {name} must be the same for all samples, got shape {np.shape(value)}")
    return offset


def _positions(positions: list[Array | None]) -> Array | None:
    """One array of all poses; a constraint without a position gets the identity, which no stiffness uses."""
    batches = {len(each) for each in positions if each is not None and each.ndim > 2}
    if len(batches) > 1:
        raise ValueError(f"constraints: positions for batches of {' and of '.join(map(str, sorted(batches)))} samples")
    if all(each is None for each in positions):
        return None
    poses = [np.eye(4) if each is None else each for each in positions]
    return _frozen(np.stack(np.broadcast_arrays(*poses), axis=-3))


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _numbers(what: str, name: str, value: ArrayLike, shape: tuple[int, ...], batch: bool = False) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what}: {name} must be numbers, got {value!r}") from None
    sample = array.shape[1:] if batch and array.ndim > len(shape) and len(array) else array.shape
    if sample != shape or not np.isfinite(array).all():
        raise ValueError(f"{what}: {name} must be {shape} finite numbers, got {value!r}")
    return array


def _per_row(what: str, name: str, value: ArrayLike, n: int) -> Array:
    return np.full(n, _numbers(what, name, value, ())) if np.ndim(value) == 0 else _numbers(what, name, value, (n,))


def _not_negative(what: str, name: str, value: ArrayLike, n: int) -> Array:
    numbers = _per_row(what, name, value, n)
    if numbers.min() < 0:
        raise ValueError(f"{what}: {name} must not be negative, got {value!r}")
    return numbers


def _placed_points(what: str, name: str, value: ArrayLike) -> Array:
    """(..., 4, 4) at points (..., 3)."""
    points = _numbers(what, name, value, (3,), batch=True)
    poses = np.broadcast_to(np.eye(4), (*points.shape[:-1], 4, 4)).copy()
    poses[..., :3, 3] = points
    return poses


def _poses(what: str, name: str, value: ArrayLike) -> Array:
    poses = _numbers(what, name, value, (4, 4), batch=True)
    R = poses[..., :3, :3]
    off = np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max()
    if off > 1e-9 or np.linalg.det(R).min() < 0 or (poses[..., 3, :] != (0, 0, 0, 1)).any():
        raise ValueError(f"{what}: {name} must be a rigid motion, a (4, 4) pose")
    return poses
