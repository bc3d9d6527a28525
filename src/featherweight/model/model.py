"""The compiled model: the core's numbers with names, limits and files around them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from .. import _core, files
from ..arrays import Array
from ..checks import close_names, counted
from ..records import Record, packed, unpacked
from . import poses, saved
from .builder import ModelBuilder
from .description import (
    WORLD,
    Frame,
    Geometry,
    ImportNote,
    Inertia,
    Joint,
    JointType,
    Keyframe,
    Link,
    Mimic,
    ModelDescription,
    Severity,
    freeze,
    start_of,
)
from .geometry_checks import checked_pose

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class ModelJoint(Record):
    """A joint of a model: where its numbers are in q and v, and its limits. Arrays are read-only."""

    index: int  # position in model.description.joints
    description: Joint
    q_slice: slice
    v_slice: slice
    lower: Array  # (nq,), infinite where unlimited
    upper: Array
    effort_limit: Array  # (nv,) [N] or [N m], infinite where unlimited
    velocity_limit: Array
    limit_restitution: Array  # rebound speed over impact speed at lower and upper
    damping: Array  # [N s/m] or [N m s/rad]
    stiffness: Array  # of springs [N/m] or [N m/rad]
    rest_position: Array  # where springs exert no force [m] or [rad]
    friction: Array  # dry friction [N] or [N m]
    armature: Array  # rotor inertia [kg] or [kg m^2]

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def type(self) -> JointType:
        return self.description.type

    @property
    def parent(self) -> str:
        return self.description.parent

    @property
    def child(self) -> str:
        return self.description.child

    @property
    def nq(self) -> int:
        return self.description.nq

    @property
    def nv(self) -> int:
        return self.description.nv

    @property
    def axis(self) -> Array | None:
        return self.description.axis

    @property
    def mimic(self) -> Mimic | None:
        return self.description.mimic

    def __repr__(self) -> str:
        q, v = self.q_slice, self.v_slice
        place = f"q[{q.start}:{q.stop}], v[{v.start}:{v.stop}]" if self.nv else "does not move"
        return f"<joint {self.name!r}: {self.type}, {self.parent!r} -> {self.child!r}, {place}>"


@dataclass(frozen=True, eq=False)
class ModelLink(Record):
    """A link of a model. ``index`` is its place in ``forward_kinematics`` and in ``f_ext``."""

    index: int
    description: Link
    joint: str  # the joint that carries it

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def inertia(self) -> Inertia | None:
        return self.description.inertia

    @property
    def mass(self) -> float:
        return 0.0 if self.inertia is None else self.inertia.mass

    @property
    def geometries(self) -> tuple[Geometry, ...]:
        return self.description.geometries

    def __repr__(self) -> str:
        return f"<link {self.name!r}: {self.mass:g} kg, {len(self.geometries)} shapes, carried by {self.joint!r}>"


@dataclass(frozen=True, eq=False)
class ModelFrame(Record):
    """A named pose on a link; every link is a frame too, at its own origin."""

    index: int
    description: Frame

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def link(self) -> str:
        return self.description.link

    @property
    def placement(self) -> Array:
        return self.description.placement

    def __repr__(self) -> str:
        return f"<frame {self.name!r} on {self.link!r}>"


def _notes(count: int) -> str:
    return f"{count} note" if count == 1 else f"{count} notes"


def _change(count: int) -> str:
    return f"{count} changes" if count == 1 else f"{count} change"


class ImportReport(Sequence[ImportNote]):
    """What an importer assumed or ignored. Iterate over the notes, or print a table of them, the most severe first.

    Can be pickled, and equals a report of the same notes.

    >>> report = fw.models.arm().import_report
    >>> len(report), len(report.not_honoured)
    (0, 0)
    """

    def __init__(self, notes: Iterable[ImportNote] = ()) -> None:
        self._notes = tuple(notes)

    @property
    def not_honoured(self) -> tuple[ImportNote, ...]:
        """The notes because of which the motion differs from the file's: those that ``strict=True`` raises for."""
        return self.changing(Severity.MOTION)

    def changing(self, severity: Severity) -> tuple[ImportNote, ...]:
        """The notes of one severity.

        >>> urdf = '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed"><parent link="a"/>'
        >>> model = fw.loads(urdf + '<child link="b"/></joint></robot>', "urdf")
        >>> [len(model.import_report.changing(severity)) for severity in (fw.Severity.MOTION, fw.Severity.NOTHING)]
        [0, 2]
        """
        return tuple(note for note in self._notes if note.severity is severity)

    @overload
    def __getitem__(self, index: int) -> ImportNote: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ImportNote]: ...
    def __getitem__(self, index: int | slice) -> ImportNote | Sequence[ImportNote]:
        return self._notes[index]

    def __len__(self) -> int:
        return len(self._notes)

    def __iter__(self) -> Iterator[ImportNote]:
        return iter(self._notes)

    def __eq__(self, other: object) -> bool:
        return self._notes == other._notes if isinstance(other, ImportReport) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._notes)

    def __repr__(self) -> str:
        return f"<ImportReport: {_notes(len(self))}, {_change(len(self.not_honoured))} the motion>"

    def __str__(self) -> str:
        if not self._notes:
            return "import report: nothing to report"
        rows = [("changes", "line", "element", "message")]
        for severity in Severity:
            what = severity.name if severity is Severity.MOTION else str(severity)
            for note in self.changing(severity):
                rows.append((what, "" if note.line is None else str(note.line), note.element, note.message))
        a, b, c = (max(len(row[column]) for row in rows) for column in range(3))
        lines = [f"{what:<{a}}  {line:>{b}}  {element:<{c}}  {message}" for what, line, element, message in rows]
        counts = ", ".join(f"{_change(len(self.changing(severity)))} {_CHANGES[severity]}" for severity in Severity)
        return f"import report: {_notes(len(self))}, {counts}\n" + "\n".join(lines)


_CHANGES = {Severity.MOTION: "the motion", Severity.PICTURE: "the picture", Severity.NOTHING: "nothing"}


class Model(_core.Model):
    """A robot, or several, compiled for computations. Immutable, so it can be shared between threads.

    Made by :func:`featherweight.load`, :class:`featherweight.ModelBuilder` or from a :class:`ModelDescription`.
    ``nq``, ``nv``, ``n_links``, ``mass``, ``gravity``, ``neutral()``, ``integrate(q, dv)`` and ``difference(q0, q1)``
    come from the core.

    Models are pickled by their descriptions, and are equal if those are, bit for bit.

    >>> model = fw.models.quadruped()
    >>> model.nq, model.nv, model.joint("root_joint").type
    (19, 18, 'free')
    """

    _joints: dict[str, ModelJoint]
    _link_index: dict[str, int]
    description: ModelDescription  #: everything the model is made of, as plain records
    joints: tuple[ModelJoint, ...]  #: the joints that move, in the order of q and v
    lower: Array  #: (nq,) limits of q, infinite where unlimited
    upper: Array
    effort_limit: Array  #: (nv,) [N] or [N m], infinite where unlimited
    velocity_limit: Array
    limit_restitution: Array  #: (nv,) rebound speed over impact speed at lower and upper
    damping: Array  #: (nv,) [N s/m] or [N m s/rad]
    stiffness: Array  #: (nv,) of springs [N/m] or [N m/rad]
    rest_position: Array  #: (nv,) where springs exert no force [m] or [rad]
    friction: Array  #: (nv,) dry friction [N] or [N m]
    armature: Array  #: (nv,) rotor inertia [kg] or [kg m^2]

    def __init__(self, description: ModelDescription) -> None:
        self._compile(ModelBuilder.from_description(description).describe())

    @classmethod
    def _from_checked(cls, description: ModelDescription) -> Model:
        """Compile what :meth:`ModelBuilder.describe` returned, without checking it a second time."""
        model = cls.__new__(cls)
        model._compile(description)
        return model

    def _compile(self, description: ModelDescription) -> None:
        freeze(description)
        link_index = {link.name: i for i, link in enumerate(description.links)}
        index = link_index | {WORLD: -1}
        _core.Model.__init__(
            self,
            description.name,
            description.gravity.tolist(),
            [_core_link(link) for link in description.links],
            [_core_joint(joint, index) for joint in description.joints],
            [(frame.name, index[frame.link], frame.placement.ravel().tolist()) for frame in description.frames],
        )
        joints = []
        for i, (joint, (q, nq, v, nv)) in enumerate(zip(description.joints, self.joint_ranges(), strict=True)):
            joints.append(_model_joint(i, joint, slice(q, q + nq), slice(v, v + nv)))
        self.__dict__.update(
            description=description,
            joints=tuple(joint for joint in joints if joint.nv),
            _joints={joint.name: joint for joint in joints},
            _link_index=link_index,
            **{field: _joined([getattr(joint, field) for joint in joints]) for field in _DEFAULTS},
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Model is immutable: cannot set {name!r} (build a changed one with ModelBuilder)")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Model is immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self is other or self.description == other.description

    def __hash__(self) -> int:
        return hash((self.name, self.link_names, self.joint_names))

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[object, ...]]:
        return _unpickled, (type(self), packed({"description": self.description}))

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self

    # -- names ---------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """As the file or the builder calls the robot."""
        return self.description.name

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move, in the order of q and v."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, in the order of ``forward_kinematics``."""
        return tuple(link.name for link in self.description.links)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames: the links, then the extra frames."""
        return self.link_names + tuple(frame.name for frame in self.description.frames)

    @cached_property
    def _frames(self) -> dict[str, ModelFrame]:
        links = [Frame(name, name) for name in self.link_names]
        return {frame.name: ModelFrame(i, frame) for i, frame in enumerate((*links, *self.description.frames))}

    def joint(self, name: str) -> ModelJoint:
        """The joint called ``name``, fixed ones included (their slices are empty)."""
        return _look_up("joint", name, self._joints)

    def link(self, name: str) -> ModelLink:
        """The link called ``name``.

        >>> fw.models.arm().link("link_7").index
        7
        """
        index = _look_up("link", name, self._link_index)
        return ModelLink(index, self.description.links[index], self.description.joints[index].name)

    def frame(self, name: str) -> ModelFrame:
        """The frame called ``name``, which may be a link.

        >>> fw.models.arm().frame("flange").name
        'flange'
        """
        return _look_up("frame", name, self._frames)

    @cached_property
    def q0(self) -> Array:
        """Where the model starts, (nq,): as its file says, or neutral."""
        return _joined([start_of(joint.description) for joint in self.joints])

    @cached_property
    def keyframes(self) -> Mapping[str, Keyframe]:
        """States that the model has names for."""
        return MappingProxyType({keyframe.name: keyframe for keyframe in self.description.keyframes})

    def keyframe(self, name: str) -> Keyframe:
        """The keyframe called ``name``.

        >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
        >>> model = builder.keyframe("bent", q={"joint_2": 0.5}).build()
        >>> model.keyframe("bent").q[:3]
        array([0. , 0.5, 0. ])
        """
        return _look_up("keyframe", name, self.keyframes)

    @cached_property
    def import_report(self) -> ImportReport:
        """What the importer decided or left out."""
        return ImportReport(self.description.notes)

    def placed(self, link: str, pose: ArrayLike) -> Model:
        """The model with a link that is fixed to the world, such as a table or a mocap body, at another place.

        pose: (4, 4) or a position, in the model's world.

        >>> builder = fw.ModelBuilder("table")
        >>> _ = builder.solid("table", "box", (1.0, 1.0, 0.1), mass=9.0).joint("stands", "fixed", "world", "table")
        >>> moved = builder.build().placed("table", (2.0, 0.0, 0.0))
        >>> fw.frame_placement(moved, [], "table")[:3, 3]
        array([2., 0., 0.])
        """
        joint = self.joint(self.link(link).joint).description
        if joint.type != "fixed" or joint.parent != WORLD:
            raise ValueError(f"link {link!r} is not fixed to the world: its coordinates place it")
        X = checked_pose(f"link {link!r}", "pose", pose)
        moved = replace(joint, placement=X @ poses.inverse(joint.child_placement))
        joints = tuple(moved if each is joint else each for each in self.description.joints)
        return type(self)._from_checked(replace(self.description, joints=joints))

    # -- configurations ------------------------------------------------------------------------------------------

    def random(self, rng: np.random.Generator | int | None = None, *, batch: int | None = None) -> Array:
        """Random configurations within the limits, ``(nq,)`` or ``(batch, nq)``, float64.

        rng: a generator, a seed, or None for fresh entropy. Unlimited angles are uniform in [-pi, pi], unlimited
        travel in [-1, 1] m, orientations over all rotations; a limit on one side only is kept, with a range of that
        width.

        >>> arm = fw.models.arm()
        >>> q = arm.random(np.random.default_rng(0), batch=100)
        >>> q.shape, bool(((q >= arm.lower) & (q <= arm.upper)).all())
        ((100, 7), True)
        """
        if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int | np.integer) or batch < 1):
            raise ValueError(f"batch must be a positive integer or None, got {batch!r}")
        generator = np.random.default_rng(rng)
        low, up = self._random_range
        u = generator.random((self.nq,) if batch is None else (batch, self.nq))
        q = (1.0 - u) * low + u * up  # no overflow, however wide the limits
        for start in self._quaternion_starts:
            quaternion = generator.standard_normal((*q.shape[:-1], 4))
            q[..., start : start + 4] = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
        return q

    @cached_property
    def _random_range(self) -> tuple[Array, Array]:
        angle, travel = [math.pi], [1.0]
        reach = {"prismatic": travel, "universal": 2 * angle, "planar": 2 * travel + angle}
        reach |= {"spherical": 4 * travel, "free": 7 * travel}
        r = np.concatenate([np.zeros(0), *(reach.get(joint.type, angle) for joint in self.joints)])
        has_low, has_up = np.isfinite(self.lower), np.isfinite(self.upper)
        low = np.where(has_low, self.lower, np.where(has_up, self.upper - 2 * r, -r))
        up = np.where(has_up, self.upper, np.where(has_low, self.lower + 2 * r, r))
        return low, up

    @cached_property
    def _quaternion_starts(self) -> tuple[int, ...]:
        return tuple(joint.q_slice.stop - 4 for joint in self.joints if joint.type in ("spherical", "free"))

    # -- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file; :meth:`load` returns the same model, bit for bit.

        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/arm.json"
        >>> fw.models.arm().save(file)
        >>> fw.Model.load(file) == fw.models.arm()
        True
        """
        text = saved.encode(self.description).encode()
        with files.replacing(path) as file:
            file.write(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model that :meth:`save` wrote."""
        return cls._from_checked(saved.read(path))

    def __repr__(self) -> str:
        notes = f", {self.import_report!r}" if self.import_report.not_honoured else ""
        return (
            f"<Model {self.name!r}: nq={self.nq}, nv={self.nv}, {counted(len(self.joints), 'moving joint')}, "
            f"{counted(self.n_links, 'link')}, {self.mass:.6g} kg{notes}>"
        )


def _unpickled(kind: type[Model], state: object) -> Model:
    return kind._from_checked(unpacked(kind, state, ("description",))["description"])


#: Per-joint arrays of a Model, with what stands for "not given".
_DEFAULTS = {
    "lower": -np.inf,
    "upper": np.inf,
    "effort_limit": np.inf,
    "velocity_limit": np.inf,
    "limit_restitution": 0.0,
    "damping": 0.0,
    "stiffness": 0.0,
    "rest_position": 0.0,
    "friction": 0.0,
    "armature": 0.0,
}


def _model_joint(index: int, joint: Joint, q: slice, v: slice) -> ModelJoint:
    arrays = {}
    for field, default in _DEFAULTS.items():
        size = joint.nq if field in ("lower", "upper") else joint.nv
        given = getattr(joint, field)
        arrays[field] = np.full(size, default) if given is None else given
        arrays[field].setflags(write=False)
    return ModelJoint(index, joint, q, v, **arrays)


def _joined(parts: list[Array]) -> Array:
    result = np.concatenate([np.zeros(0), *parts])
    result.setflags(write=False)
    return result


def _look_up(kind: str, name: str, known: Mapping[str, _T]) -> _T:
    if name in known:
        return known[name]
    hint = close_names(str(name), known) if known else f": the model has no {kind}s"
    raise ValueError(f"unknown {kind} {name!r}{hint}")


def _core_link(link: Link) -> tuple[str, float, list[float], list[float]]:
    if link.inertia is None:
        return link.name, 0.0, [0.0] * 3, [0.0] * 9
    return link.name, link.inertia.mass, link.inertia.com.tolist(), link.inertia.matrix.ravel().tolist()


def _core_joint(joint: Joint, index: dict[str, int]) -> tuple[Any, ...]:
    def vector(axis: Array | None) -> list[float]:
        return [0.0] * 3 if axis is None else axis.tolist()

    return (
        joint.name,
        joint.type,
        index[joint.parent],
        index[joint.child],
        joint.placement.ravel().tolist(),
        joint.child_placement.ravel().tolist(),
        vector(joint.axis),
        vector(joint.axis2),
        joint.pitch,
        [0.0] * joint.nv if joint.armature is None else joint.armature.tolist(),
    )
