"""What a task asks of a motion: residuals of states and controls at nodes, with exact derivatives.

Each is made by name, for example ``fw.mpc.frame_position("robot/trunk", "z")``, and belongs to no simulator until a
task takes it. Rows of several frames follow each other, in the order of the frames.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array, real_numbers
from ..derivatives.frames import FrameVelocityDerivatives, frame_velocity_derivatives
from ..derivatives.row_changes import inverse_right_jacobian
from ..derivatives.whole_body import center_of_mass_derivatives
from ..kinematics.logarithms import log3, rotation_from_quaternion
from ..model.model import Model
from ..records import Record
from ..simulation.simulator import Simulator

#: Which ones along an axis: a slice where they follow each other, since NumPy reads and writes slices several times
#: faster than lists.
Places: TypeAlias = "slice | NDArray[np.intp]"
#: By "q" and "v", in tangent space, and "control": (nodes, rows, columns), or the column of each row, whose slope is 1.
Slopes = Mapping[str, "Array | Places"]

_AXES = {"x": 0, "y": 1, "z": 2}
_REFERENCES = {"world": "local_world_aligned", "local": "local"}


class Nodes:
    """States and controls of many nodes, (n, ...) each, and what frames do there, computed once."""

    def __init__(self, model: Model, q: Array, v: Array, control: Array, num_threads: int | None = None) -> None:
        self.model, self.q, self.v, self.control, self.num_threads = model, q, v, control, num_threads
        self._known: dict[tuple[str, ...], Any] = {}

    def __len__(self) -> int:
        return len(self.q)

    def placement(self, frame: str) -> Array:
        """(n, 4, 4)."""
        return self._once(("placement", frame), lambda: self._call(_core.frame_placement, self.q, frame))

    def jacobian(self, frame: str, axes: str) -> Array:
        """(n, 6, nv), about the frame's origin."""
        reference = _REFERENCES[axes]
        return self._once(
            ("jacobian", frame, axes), lambda: self._call(_core.jacobian, self.q, frame, reference=reference)
        )

    def velocity(self, frame: str, axes: str) -> Array:
        """(n, 6)."""
        reference = _REFERENCES[axes]
        return self._once(
            ("velocity", frame, axes),
            lambda: self._call(_core.frame_velocity, self.q, self.v, frame, reference=reference),
        )

    def velocity_slopes(self, frame: str, axes: str) -> FrameVelocityDerivatives:
        """By q and v, (n, 6, nv)."""
        reference = _REFERENCES[axes]
        return self._once(  # type: ignore[return-value]
            ("velocity slopes", frame, axes),
            lambda: self._call(frame_velocity_derivatives, self.q, self.v, frame, reference=reference),
        )

    @cached_property
    def center_of_mass(self) -> Array:
        """(n, 3)."""
        return np.asarray(self._call(_core.center_of_mass, self.q))

    @cached_property
    def center_of_mass_slope(self) -> Array:
        """(n, 3, nv)."""
        return self._call(center_of_mass_derivatives, self.q).dq  # type: ignore[no-any-return]

    def _call(self, function: Any, *arguments: Any, **named: Any) -> Any:
        return function(self.model, *arguments, num_threads=self.num_threads, **named)

    def _once(self, key: tuple[str, ...], compute: Any) -> Array:
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Residual(Record):
    """Rows that should be zero once their target is taken off.

    >>> fw.mpc.frame_velocity("robot/trunk", "xy").rows
    2
    """

    @abstractmethod
    def bound(self, sim: Simulator) -> Residual:
        """The same with names looked up; errors name what a simulator does not have."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many; known once it is bound."""

    @property
    def uses_control(self) -> bool:
        """Whether it is one of controls, which the last node has none of."""
        return False

    @abstractmethod
    def value(self, nodes: Nodes, target: Array) -> Array:
        """(n, rows) for targets (n or 1, width)."""

    @abstractmethod
    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        """Derivatives of the value."""

    @property
    def width(self) -> int:
        """Numbers in a target: one per row, unless it is written in another way."""
        return self.rows


@dataclass(frozen=True, eq=False)
class _OfFrames(Residual):
    frames: tuple[str, ...]
    components: tuple[int, ...]

    def bound(self, sim: Simulator) -> Residual:
        for frame in self.frames:
            sim.model.frame(frame)
        return self

    @property
    def rows(self) -> int:
        return len(self.frames) * len(self.components)

    @cached_property
    def _places(self) -> Places:
        return places(self.components)


@dataclass(frozen=True, eq=False)
class FramePosition(_OfFrames):
    """Positions of frames in the world [m]."""

    def value(self, nodes: Nodes, target: Array) -> Array:
        return _beside([nodes.placement(frame)[:, self._places, 3] for frame in self.frames]) - target

    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        return {"q": _beside([nodes.jacobian(frame, "world")[:, self._places] for frame in self.frames])}


@dataclass(frozen=True, eq=False)
class FrameAxis(_OfFrames):
    """Where an axis of frames points, world components [1]."""

    axis: int

    def value(self, nodes: Nodes, target: Array) -> Array:
        return _beside([nodes.placement(frame)[:, self._places, self.axis] for frame in self.frames]) - target

    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        rows = np.empty((len(nodes), self.rows, nodes.model.nv))
        row = 0
        for frame in self.frames:
            direction = nodes.placement(frame)[:, :3, self.axis, None]
            turns = nodes.jacobian(frame, "world")[:, 3:]
            for x in self.components:  # of turns x direction
                y, z = (x + 1) % 3, (x + 2) % 3
                np.subtract(turns[:, y] * direction[:, z], turns[:, z] * direction[:, y], out=rows[:, row])
                row += 1
        return {"q": rows}


@dataclass(frozen=True, eq=False)
class FrameOrientation(Residual):
    """The rotation vector from a target orientation to that of a frame, in the axes of the target [rad]."""

    frame: str

    def bound(self, sim: Simulator) -> Residual:
        sim.model.frame(self.frame)
        return self

    @property
    def rows(self) -> int:
        return 3

    @property
    def width(self) -> int:
        return 4

    def _away(self, nodes: Nodes, target: Array) -> Array:
        wanted = rotation_from_quaternion(target)
        return np.asarray(log3(np.swapaxes(wanted, -1, -2) @ nodes.placement(self.frame)[:, :3, :3]))

    def value(self, nodes: Nodes, target: Array) -> Array:
        return self._away(nodes, target)

    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        turns = nodes.jacobian(self.frame, "local")[:, 3:]
        return {"q": inverse_right_jacobian(self._away(nodes, target)) @ turns}


@dataclass(frozen=True, eq=False)
class FrameVelocity(_OfFrames):
    """Velocities of the origins of frames, or their angular velocities [m/s, rad/s]."""

    axes: str

    def value(self, nodes: Nodes, target: Array) -> Array:
        return _beside([nodes.velocity(frame, self.axes)[:, self._places] for frame in self.frames]) - target

    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        found = [nodes.velocity_slopes(frame, self.axes) for frame in self.frames]
        return {
            "q": _beside([each.dq[:, self._places] for each in found]),
            "v": _beside([each.dv[:, self._places] for each in found]),
        }


@dataclass(frozen=True, eq=False)
class _OfJoints(Residual):
    part: str
    joints: tuple[str, ...]
    q_columns: tuple[int, ...]
    v_columns: tuple[int, ...]

    @property
    def rows(self) -> int:
        return len(self.v_columns)

    @cached_property
    def _q_places(self) -> Places:
        return places(self.q_columns)

    @cached_property
    def _v_places(self) -> Places:
        return places(self.v_columns)

    def bound(self, sim: Simulator) -> Residual:
        known = sim.model.joints
        if self.joints:
            chosen = [sim.model.joint(name) for name in self.joints]
            for joint in chosen:
                if joint.nq != 1:
                    raise ValueError(f"joint {joint.name!r}: expected one of a single number, not {joint.type!r}")
        else:
            chosen = [j for j in known if j.nq == 1 and (not self.part or j.name.startswith(f"{self.part}/"))]
            if not chosen:
                raise ValueError(f"no joints in {self.part!r}; there are {', '.join(j.name for j in known)}")
        columns = [tuple(getattr(j, which).start for j in chosen) for which in ("q_slice", "v_slice")]
        return type(self)(self.part, self.joints, *columns)


@dataclass(frozen=True, eq=False)
class JointPosition(_OfJoints):
    """Positions of joints [rad, m]."""

    def value(self, nodes: Nodes, target: Array) -> Array:
        return nodes.q[:, self._q_places] - target

    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        return {"q": self._v_places}


@dataclass(frozen=True, eq=False)
class JointVelocity(_OfJoints):
    """Velocities of joints [rad/s, m/s]."""

    def value(self, nodes: Nodes, target: Array) -> Array:
        return nodes.v[:, self._v_places] - target

    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        return {"v": self._v_places}


@dataclass(frozen=True, eq=False)
class CenterOfMass(Residual):
    """The centre of mass of everything that moves, from the world's origin or from the middle of frames [m]."""

    components: tuple[int, ...]
    above: tuple[str, ...]

    def bound(self, sim: Simulator) -> Residual:
        for frame in self.above:
            sim.model.frame(frame)
        return self

    @property
    def rows(self) -> int:
        return len(self.components)

    def value(self, nodes: Nodes, target: Array) -> Array:
        middle = sum((nodes.placement(frame)[:, :3, 3] for frame in self.above), np.zeros(3)) / max(len(self.above), 1)
        return np.asarray((nodes.center_of_mass - middle)[:, self.components] - target)

    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        slope = nodes.center_of_mass_slope
        for frame in self.above:
            slope = slope - nodes.jacobian(frame, "world")[:, :3] / len(self.above)
        return {"q": slope[:, self.components]}


@dataclass(frozen=True, eq=False)
class Control(Residual):
    """Controls, as actuators take them."""

    count: int

    def bound(self, sim: Simulator) -> Residual:
        if not sim.nu:
            raise ValueError("control: the scene has no actuators")
        return Control(sim.nu)

    @property
    def rows(self) -> int:
        return self.count

    @property
    def uses_control(self) -> bool:
        return True

    def value(self, nodes: Nodes, target: Array) -> Array:
        return nodes.control - target

    def slopes(self, nodes: Nodes, target: Array) -> Slopes:
        return {"control": slice(0, self.count)}


# -- what users call ---------------------------------------------------------------------------------------------------


def frame_position(frames: str | Sequence[str], components: str = "xyz") -> Residual:
    """Positions of frames or links in the world [m]; components: which of "x", "y" and "z".

    >>> fw.mpc.frame_position(["robot/left_foot", "robot/right_foot"], "z").rows
    2
    """
    return FramePosition(_names(frames), _components(components))


def frame_axis(frames: str | Sequence[str], axis: Literal["x", "y", "z"] = "z", components: str = "xyz") -> Residual:
    """Where an axis of frames or links points, components in the world; with "z" and target (0, 0, 1): upright.

    >>> fw.mpc.frame_axis("robot/trunk", "z", "xy").rows  # upright where both are zero
    2
    """
    [which] = _components(axis)
    return FrameAxis(_names(frames), _components(components), which)


def frame_orientation(frame: str) -> Residual:
    """The rotation of a frame or link away from the target, a quaternion xyzw, as a rotation vector [rad].

    >>> fw.mpc.frame_orientation("robot/hand").width  # a target is a quaternion
    4
    """
    return FrameOrientation(frame)


def frame_velocity(
    frames: str | Sequence[str], components: str = "xyz", *, axes: Literal["world", "local"] = "world"
) -> Residual:
    """Velocities of the origins of frames or links [m/s], along axes of the world or their own.

    >>> fw.mpc.frame_velocity("robot/trunk", axes="local").rows
    3
    """
    return FrameVelocity(_names(frames), _components(components), _axes(axes))


def frame_angular_velocity(
    frames: str | Sequence[str], components: str = "xyz", *, axes: Literal["world", "local"] = "world"
) -> Residual:
    """Angular velocities of frames or links [rad/s], along axes of the world or their own.

    >>> fw.mpc.frame_angular_velocity("robot/trunk", "z").rows
    1
    """
    return FrameVelocity(_names(frames), tuple(3 + k for k in _components(components)), _axes(axes))


def joint_position(part: str = "", *, joints: Sequence[str] = ()) -> Residual:
    """Positions of joints with one degree of freedom [rad, m]: those named, all of a part of the scene, or all.

    >>> fw.mpc.joint_position("quadruped").bound(fw.Simulator(fw.models.quadruped())).rows
    12
    """
    return JointPosition(part, tuple(joints), (), ())


def joint_velocity(part: str = "", *, joints: Sequence[str] = ()) -> Residual:
    """Velocities of joints with one degree of freedom [rad/s, m/s]: those named, all of a part of the scene, or all.

    >>> fw.mpc.joint_velocity(joints=["arm/joint_2", "arm/joint_4"]).bound(fw.Simulator(fw.models.arm())).rows
    2
    """
    return JointVelocity(part, tuple(joints), (), ())


def center_of_mass(components: str = "xyz", *, above: str | Sequence[str] = ()) -> Residual:
    """The centre of mass of everything that moves [m], in the world, or from the middle of the frames ``above``.

    >>> fw.mpc.center_of_mass("xy", above=["robot/left_foot", "robot/right_foot"]).rows
    2
    """
    return CenterOfMass(_components(components), _names(above) if above else ())


def control() -> Residual:
    """All controls, in the order of ``sim.actuators``.

    >>> scene = fw.Scene()
    >>> motors = scene.motor(scene.add(fw.models.arm(), name="arm"))
    >>> fw.mpc.control().bound(fw.Simulator(scene)).rows
    7
    """
    return Control(0)


def places(numbers: Sequence[int]) -> Places:
    """These, as a slice if they follow each other."""
    first = numbers[0]
    if list(numbers) == list(range(first, first + len(numbers))):
        return slice(first, first + len(numbers))
    return np.array(numbers, dtype=np.intp)


def _beside(rows: list[Array]) -> Array:
    """(n, rows, ...) of several frames as one array."""
    return rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1)


def _names(frames: str | Sequence[str]) -> tuple[str, ...]:
    names = (frames,) if isinstance(frames, str) else tuple(frames)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"frames: expected names, got {frames!r}")
    return names


def _components(components: str) -> tuple[int, ...]:
    if not components or not all(c in _AXES for c in components) or len(set(components)) != len(components):
        raise ValueError(f'components: expected some of "xyz", got {components!r}')
    return tuple(_AXES[c] for c in components)


def _axes(axes: str) -> str:
    if axes not in _REFERENCES:
        raise ValueError(f'axes: expected "world" or "local", got {axes!r}')
    return axes


def numbers_of(name: str, value: ArrayLike) -> Array:
    """As an array, of finite numbers."""
    array = real_numbers(name, value)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: contains numbers that are not finite")
    return array
