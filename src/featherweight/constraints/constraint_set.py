"""Equality constraints on the accelerations of frames and joints.

>>> feet = [fw.PointConstraint("front_left_foot"), fw.FrameConstraint("torso", rows=("z", "rx", "ry"))]
>>> loop = [fw.HingeConstraint("coupler_end", "rocker_end"), fw.JointCoupling("left", to="right", polynomial=(0.0, -1))]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import accumulate
from math import isfinite
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..model.coupling_checks import check_couplings
from ..model.model import Model
from ..records import Record, packed, unpacked

#: Names of the rows a constraint may have: along, then about the axes of its frame.
ROWS = ("x", "y", "z", "rx", "ry", "rz")

#: Most coefficients of a coupling's polynomial.
MOST_COEFFICIENTS = 8

#: Of a rod [m]: squares of what is shorter are no numbers.
LEAST_LENGTH = 1e-100


class _Held(Record):
    """What the kinds of constraints have in common: they keep what was given in one immutable form."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "rows":
                self.__dict__[name] = tuple(value) if isinstance(value, list | np.ndarray) else value
            elif name not in ("frame", "to", "joint", "joints", "axis"):
                self.__dict__[name] = _kept(value)

    @property
    def what(self) -> str:
        """What it is on, for messages."""
        return repr(getattr(self, "frame", None))

    @cached_property
    def fingerprint(self) -> str:
        """The same for constraints of one kind with the same values, bit for bit, and for no others."""
        values = [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]
        own = [(x.shape, x.tobytes()) if isinstance(x, np.ndarray) else x for x in values]
        return f"{type(self).__name__} {own!r}"  # one string, which remembers its hash


def _kept(value: Any) -> Any:
    """Numbers as a float, a tuple or a read-only array; anything else unchanged, for ConstraintSet to refuse."""
    if value is None or type(value) is float or (type(value) is tuple and all(type(x) is float for x in value)):
        return value
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return value
    return _frozen(array) if array.ndim > 1 else tuple(array.tolist()) if array.ndim else float(array)


@dataclass(frozen=True, eq=False)
class PointConstraint(_Held):
    """The point at ``offset`` in a frame does not accelerate, or accelerates as desired, along the axes of the frame.

    ``rows`` picks axes among "x", "y", "z". ``acceleration`` [m/s^2] and ``compliance`` [1/kg: acceleration by which a
    row yields per newton] are numbers for all rows or one per row. The force acts on the link, in the frame's axes [N].

    ``stiffness`` [1/s^2] draws the point back to ``position``, (3,) or one per sample (batch, 3) in the world, and
    ``damping`` [1/s] to rest: numbers for all rows or one per row.

    With a second frame ``to`` the motion is relative to its link, as if that reached to the point: a loop is closed.
    The opposite force acts there, at the same place. The point at ``to_offset`` in ``to`` is where the first belongs;
    ``stiffness`` draws it there.

    Constraints can be pickled and compare by value.

    >>> tip = fw.PointConstraint("tip", rows="z")
    >>> fw.constraint_jacobian(fw.models.pendulum(), [0.5], [tip]).shape
    (1, 1)
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

    With a second frame ``to`` the motion is relative to its link, as seen from the first frame: a loop is closed. The
    opposite force acts there. The pose ``to_offset`` (4, 4) in ``to`` is where the first frame belongs; ``stiffness``
    draws it there. By default that is the frame ``to`` itself, and in a scene where the two are at the start.

    Constraints can be pickled and compare by value.

    >>> anchor = fw.FrameConstraint("flange")
    >>> arm = fw.models.arm()
    >>> fw.constraint_jacobian(arm, arm.neutral(), [anchor]).shape
    (6, 7)
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
    to_offset: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class HingeConstraint(_Held):
    """Two frames share their origin and an axis, about which they may turn: a loop closed by a hinge.

    ``axis`` is one of the first frame, "x", "y" or "z"; ``rows`` picks among the five that a hinge has, "x", "y", "z"
    and the turns about the other two axes, by default all of them. The rest is as in :class:`FrameConstraint`.

    >>> model = fw.models.four_bar()
    >>> pin = fw.HingeConstraint("coupler_end", "rocker_end", axis="y")
    >>> fw.constraint_jacobian(model, model.neutral(), [pin]).shape
    (5, 3)
    """

    frame: str | int
    to: str | int
    axis: Literal["x", "y", "z"] = "z"
    rows: Sequence[str] | None = None
    offset: ArrayLike = field(default_factory=lambda: np.eye(4))
    to_offset: ArrayLike = field(default_factory=lambda: np.eye(4))
    acceleration: ArrayLike = 0.0
    compliance: ArrayLike = 0.0
    stiffness: ArrayLike = 0.0
    damping: ArrayLike = 0.0


@dataclass(frozen=True, eq=False)
class DistanceConstraint(_Held):
    """Two points keep their distance, as if a rod without mass held them apart. One row, along the rod.

    The points are at ``offset`` of ``frame`` and ``to_offset`` of ``to``, or of the world without it [m]. ``length``
    is by default their distance in the neutral configuration [m]. It is what ``stiffness`` [1/s^2] draws the points
    back to; ``damping`` [1/s] draws them to rest. A positive force [N] pushes them apart. Where the points meet there
    is no direction along which to push, and the row vanishes: to keep them together, use :class:`PointConstraint`.

    >>> rod = fw.DistanceConstraint("tip", length=1.0)
    >>> fw.ConstraintSet(fw.models.pendulum(), [rod]).n_rows
    1
    """

    frame: str | int
    to: str | int | None = None
    length: float | None = None
    offset: ArrayLike = (0.0, 0.0, 0.0)
    to_offset: ArrayLike = (0.0, 0.0, 0.0)
    acceleration: ArrayLike = 0.0
    compliance: ArrayLike = 0.0
    stiffness: ArrayLike = 0.0
    damping: ArrayLike = 0.0


@dataclass(frozen=True, eq=False)
class JointCoupling(_Held):
    """A joint follows another: ``q = polynomial(q_to)``, coefficients from the constant up. One row.

    Mimic joints, gears and cams. Both joints have one axis; without ``to`` the joint stays where the constant says. The
    force acts on the joint, and minus the polynomial's derivative times it on the other [N m, N]. ``stiffness``,
    ``damping``, ``acceleration`` and ``compliance`` are in units of the joint's coordinate.

    >>> builder = fw.ModelBuilder("gears")
    >>> for name, at in (("motor", 0.0), ("wheel", 0.2)):
    ...     _ = builder.link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    ...     _ = builder.joint(name, "continuous", "world", name, placement=(0.0, at, 0.0), axis="x")
    >>> model = builder.build()
    >>> gear = [fw.JointCoupling("wheel", to="motor", polynomial=(0.0, -0.5))]
    >>> fw.constraint_jacobian(model, np.zeros(2), gear)
    array([[0.5, 1. ]])
    """

    joint: str
    to: str | None = None
    polynomial: ArrayLike = (0.0, 1.0)
    acceleration: ArrayLike = 0.0
    compliance: ArrayLike = 0.0
    stiffness: ArrayLike = 0.0
    damping: ArrayLike = 0.0

    @property
    def what(self) -> str:
        return f"joint {self.joint!r}"


@dataclass(frozen=True, eq=False)
class JointCombination(_Held):
    """Coordinates of several joints, each times its coefficient, add up to ``value``. One row.

    Differentials, belts over several pulleys, tendons that do not stretch. ``joints`` maps joints with one axis to
    their coefficients, and is kept as pairs. The force times its coefficient acts on each joint.

    >>> fw.JointCombination({"left": 0.5, "right": 0.5, "carrier": -1.0}).joints
    (('left', 0.5), ('right', 0.5), ('carrier', -1.0))
    """

    joints: Mapping[str, float] | Sequence[tuple[str, float]]
    value: float = 0.0
    acceleration: ArrayLike = 0.0
    compliance: ArrayLike = 0.0
    stiffness: ArrayLike = 0.0
    damping: ArrayLike = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = self.joints.items() if isinstance(self.joints, Mapping) else self.joints
        self.__dict__["joints"] = tuple((name, _kept(coefficient)) for name, coefficient in pairs)

    @property
    def pairs(self) -> tuple[tuple[str, float], ...]:
        """Names of joints and their coefficients."""
        return tuple(self.joints.items() if isinstance(self.joints, Mapping) else self.joints)

    @property
    def what(self) -> str:
        return "joints " + ", ".join(repr(name) for name, _ in self.pairs)


#: What holds points and frames; and all that can be in a set.
Constraint: TypeAlias = PointConstraint | FrameConstraint
AnyConstraint: TypeAlias = Constraint | HingeConstraint | DistanceConstraint | JointCoupling | JointCombination
_KINDS = (PointConstraint, FrameConstraint, HingeConstraint, DistanceConstraint, JointCoupling, JointCombination)


class ConstraintSet(_core.ConstraintSet):
    """Constraints compiled for a model, for use in many calls.

    Immutable. A set is pickled together with its model, and equals a set of the same constraints on an equal model.

    >>> feet = ["front_left_foot", "hind_right_foot"]
    >>> constraints = fw.ConstraintSet(fw.models.quadruped(), [fw.PointConstraint(foot) for foot in feet])
    >>> constraints.n_rows
    6
    """

    model: Model
    targets: Array  # (n_rows,) desired accelerations, without feedback
    compliance: Array  # (n_rows,) [1/kg, 1/(kg m^2)]
    stiffness: Array  # (n_rows,) [1/s^2]
    damping: Array  # (n_rows,) [1/s]
    positions: Array | None  # (n_constraints, 4, 4) or (batch, n_constraints, 4, 4), if any constraint has one
    slices: tuple[slice, ...]  # where the rows of each constraint are in the vector of all rows
    is_stiff: bool  # whether any row is
    is_damped: bool

    def __init__(self, model: Model, constraints: Sequence[AnyConstraint]) -> None:
        self.model = model
        self.constraints = tuple(constraints)
        if not self.constraints:
            raise ValueError("constraints: expected at least one; without any, use fw.aba")
        checked = [_checked(model, k, constraint) for k, constraint in enumerate(self.constraints)]
        check_couplings(
            [
                (f"constraint {k} on {each.what}", each)
                for k, each in enumerate(self.constraints)
                if isinstance(each, JointCoupling | JointCombination)
            ]
        )
        super().__init__(model, [each.specification for each in checked])
        columns = [[x for part in parts for x in part] for parts in zip(*[each[1:5] for each in checked], strict=True)]
        self.targets, self.compliance, self.stiffness, self.damping = _frozen(np.array(columns, dtype=np.float64))
        self.is_stiff, self.is_damped = any(columns[2]), any(columns[3])
        self.positions = _positions([each.position for each in checked], self.is_stiff)
        ends = list(accumulate(len(each.acceleration) for each in checked))
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


#: What the core takes of a closure: frame, offset, whether it is a point, axes, compliance, the second frame and its
#: offset, the length of a rod; and of a coupling: degree of freedom and polynomial of each joint, compliance.
_ClosureTuple: TypeAlias = tuple[
    str | int, list[float], bool, list[int], list[float], str | int | None, list[float], float
]
_CouplingTuple: TypeAlias = tuple[list[tuple[int, list[float]]], float]


class Gains(NamedTuple):
    """Per row."""

    acceleration: list[float]
    compliance: list[float]
    stiffness: list[float]
    damping: list[float]


class _Checked(NamedTuple):
    specification: _ClosureTuple | _CouplingTuple
    acceleration: list[float]  # per row, as all that follow
    compliance: list[float]
    stiffness: list[float]
    damping: list[float]
    position: Array | None = None  # (4, 4) or (batch, 4, 4)


def _checked(model: Model, k: int, constraint: AnyConstraint) -> _Checked:
    known = getattr(constraint, "_checked", None)  # of frames and points, which depend on no model
    if type(known) is _Checked:
        return known
    if not isinstance(constraint, _KINDS):
        kinds = ", ".join(kind.__name__ for kind in _KINDS)
        raise ValueError(f"constraint {k}: expected one of {kinds}, got {constraint!r}")
    what = f"constraint {k} on {constraint.what}"
    if isinstance(constraint, JointCoupling | JointCombination):
        return _checked_coupling(model, what, constraint)
    if isinstance(constraint, DistanceConstraint):
        return _checked_rod(model, what, constraint)
    checked = constraint.__dict__["_checked"] = _checked_frames(what, constraint)
    return checked


def _checked_frames(what: str, constraint: PointConstraint | FrameConstraint | HingeConstraint) -> _Checked:
    point, rows = isinstance(constraint, PointConstraint), rows_of(what, constraint)
    pose = _placed_points if point else _poses
    offset = _offset(what, "offset", constraint.offset, pose)
    to_offset = _IDENTITY if constraint.to_offset is None else _offset(what, "to_offset", constraint.to_offset, pose)
    if constraint.to is None and to_offset != _IDENTITY:
        raise ValueError(
            f"{what}: to_offset is {'a point' if point else 'a pose'} of the second frame, which is not given"
        )
    wanted = None if isinstance(constraint, HingeConstraint) else constraint.position
    if constraint.to is not None and wanted is not None:
        raise ValueError(f"{what}: a position in the world means nothing to a motion relative to {constraint.to!r}")
    position = None if wanted is None else pose(what, "position", wanted)
    gains = gains_of(what, constraint, len(rows))
    if position is None and constraint.to is None and any(gains.stiffness):
        raise ValueError(f"{what}: stiffness draws the frame to a position, which is not given")
    axes = [ROWS.index(row) for row in rows]
    specification = (
        constraint.frame, offset, point, axes, gains.compliance, constraint.to, to_offset, 0.0,
    )  # fmt: skip
    return _Checked(specification, *gains, position)


def rows_of(what: str, constraint: AnyConstraint) -> tuple[str, ...]:
    """Names of the rows; of a rod or a coupling, whose one row has none, ("",)."""
    if isinstance(constraint, DistanceConstraint | JointCoupling | JointCombination):
        return ("",)
    given, known = constraint.rows, tuple(ROWS[:3] if isinstance(constraint, PointConstraint) else ROWS)
    if isinstance(constraint, HingeConstraint):
        if constraint.axis not in ("x", "y", "z"):
            raise ValueError(f"{what}: axis must be 'x', 'y' or 'z', got {constraint.axis!r}")
        known = tuple(row for row in ROWS if row != "r" + constraint.axis)
        given = known if given is None else given
    rows = tuple(given or ())
    if not rows or len(set(rows)) != len(rows) or not set(rows) <= set(known):
        raise ValueError(f"{what}: rows must be distinct and among {', '.join(known)}, got {given!r}")
    return rows


def _checked_rod(model: Model, what: str, constraint: DistanceConstraint) -> _Checked:
    offset, to_offset = (
        _offset(what, name, getattr(constraint, name), _placed_points) for name in ("offset", "to_offset")
    )
    if constraint.length is None:
        start = model.neutral()
        ends = [
            (np.eye(4) if frame is None else _core.frame_placement(model, start, frame)) @ np.reshape(place, (4, 4))
            for frame, place in ((constraint.frame, offset), (constraint.to, to_offset))
        ]
        length = float(np.linalg.norm(ends[0][:3, 3] - ends[1][:3, 3]))
        if length < 1e-9:
            raise ValueError(
                f"{what}: the points meet in the neutral configuration; give a length, or use PointConstraint"
            )
    else:
        length = float(_numbers(what, "length", constraint.length, ()))
        if length < LEAST_LENGTH:
            raise ValueError(
                f"{what}: length must be positive, and {LEAST_LENGTH:g} m at least, got {constraint.length!r}"
            )
    gains = gains_of(what, constraint, 1)
    specification = (
        constraint.frame, offset, True, [0], gains.compliance, constraint.to, to_offset, length,
    )  # fmt: skip
    return _Checked(specification, *gains)


def _checked_coupling(model: Model, what: str, constraint: JointCoupling | JointCombination) -> _Checked:
    if isinstance(constraint, JointCoupling):
        polynomial = _coefficients(what, constraint.polynomial)
        if constraint.to is None and len(polynomial) > 1:
            raise ValueError(
                f"{what}: without a second joint the polynomial is one number, got {constraint.polynomial!r}"
            )
        terms = [(constraint.joint, [0.0, 1.0] if constraint.to is not None else [-polynomial[0], 1.0])]
        if constraint.to is not None:
            terms.append((constraint.to, [-c for c in polynomial]))
    else:
        if not constraint.pairs:
            raise ValueError(f"{what}: joints must map names to coefficients, got none")
        terms = [
            (name, [0.0, float(_numbers(what, f"coefficient of {name!r}", c, ()))]) for name, c in constraint.pairs
        ]
        if not any(polynomial[1] for _, polynomial in terms):
            raise ValueError(f"{what}: all coefficients are zero")
        terms[0][1][0] -= float(_numbers(what, "value", constraint.value, ()))
    names = [name for name, _ in terms]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what}: joint {name!r} is coupled to itself")
    gains = gains_of(what, constraint, 1)
    dofs = [(_dof(model, what, name), polynomial) for name, polynomial in terms]
    return _Checked((dofs, gains.compliance[0]), *gains)


def _coefficients(what: str, polynomial: ArrayLike) -> list[float]:
    values = np.atleast_1d(np.asarray(polynomial, dtype=object))
    numbers = _numbers(what, "polynomial", polynomial, (values.size,) if np.ndim(polynomial) else ())
    if not 1 <= numbers.size <= MOST_COEFFICIENTS:
        raise ValueError(f"{what}: a polynomial has 1 to {MOST_COEFFICIENTS} coefficients, got {numbers.size}")
    return [float(c) for c in np.atleast_1d(numbers)]


def _dof(model: Model, what: str, name: str) -> int:
    """The degree of freedom of a joint with one axis."""
    try:
        joint = model.joint(name)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{what}: {error.args[0]}") from None
    nv = joint.v_slice.stop - joint.v_slice.start
    if nv != 1:
        raise ValueError(f"{what}: joint {name!r} is {joint.type} and has {nv} degrees of freedom, not one")
    return int(joint.v_slice.start)


def gains_of(what: str, constraint: AnyConstraint, n: int) -> Gains:
    """What all kinds of constraints have, for each of n rows."""
    return Gains(
        _per_row(what, "acceleration", constraint.acceleration, n),
        _not_negative(what, "compliance", constraint.compliance, n),
        _not_negative(what, "stiffness", constraint.stiffness, n),
        _not_negative(what, "damping", constraint.damping, n),
    )


#: A pose, by rows.
_IDENTITY = np.eye(4).ravel().tolist()
_IDENTITY_BYTES = np.eye(4).tobytes()


def _offset(what: str, name: str, value: ArrayLike, pose: Callable[[str, str, ArrayLike], Array]) -> list[float]:
    """A pose, by rows."""
    if pose is _placed_points and isinstance(value, tuple) and len(value) == 3 and all(map(isfinite, value)):
        x, y, z = value  # as constraints keep them: the usual case, at a tenth of the cost
        return [1.0, 0.0, 0.0, x, 0.0, 1.0, 0.0, y, 0.0, 0.0, 1.0, z, 0.0, 0.0, 0.0, 1.0]
    offset = pose(what, name, value)
    if offset.ndim > 2:
        raise ValueError(f"{what}: {name} must be the same for all samples, got shape {np.shape(value)}")
    return offset.ravel().tolist()


def _positions(positions: list[Array | None], are_needed: bool) -> Array | None:
    """One array of all poses; a constraint without a position gets the identity, as seen from its second frame."""
    batches = {len(each) for each in positions if each is not None and each.ndim > 2}
    if len(batches) > 1:
        raise ValueError(f"constraints: positions for batches of {' and of '.join(map(str, sorted(batches)))} samples")
    if all(each is None for each in positions) and not are_needed:
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


def _per_row(what: str, name: str, value: ArrayLike, n: int) -> list[float]:
    if type(value) is float and isfinite(value):  # as constraints keep them
        return [value] * n
    one = np.ndim(value) == 0
    numbers: list[float] = _numbers(what, name, value, () if one else (n,)).ravel().tolist()
    return numbers * n if one else numbers


def _not_negative(what: str, name: str, value: ArrayLike, n: int) -> list[float]:
    numbers = _per_row(what, name, value, n)
    if min(numbers) < 0:
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
    if poses.tobytes() == _IDENTITY_BYTES:
        return poses
    R = poses[..., :3, :3]
    off = np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max()
    if off > 1e-9 or np.linalg.det(R).min() < 0 or (poses[..., 3, :] != (0, 0, 0, 1)).any():
        raise ValueError(f"{what}: {name} must be a rigid motion, a (4, 4) pose")
    return poses
