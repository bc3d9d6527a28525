"""Scenes: robots, bodies and ground in one world, and what may touch what.

>>> scene = fw.Scene(ground=fw.Plane(friction=0.8))
>>> robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.5))
>>> crate = scene.add(fw.box((0.4, 0.3, 0.2)), name="crate", pose=(1, 0, 0.1))
>>> scene.compile().model.nv
24
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked_name, close_names, numbers
from ..constraints.constraint_set import (
    AnyConstraint,
    DistanceConstraint,
    FrameConstraint,
    HingeConstraint,
    JointCombination,
    JointCoupling,
    PointConstraint,
    gains_of,
    rows_of,
)
from ..model.coupling_checks import check_couplings
from ..model.description import WORLD, Actuator
from ..model.geometry_checks import checked_medium, checked_pose
from ..model.materials import ContactLaw
from ..model.medium import Medium
from ..model.model import Model
from ..records import Packed, packed, same_values, unpacked
from .compilation import Compilation, SceneEntry, SceneObject, SelfCollision
from .compiled import CompiledScene
from .shapes import Body

GROUND = "ground"


class Scene:
    """Collects the contents of a world; :meth:`compile` turns them into one model, with shapes that can touch.

    ground: a :class:`Plane`, a :class:`HeightField`, any static body, or None; gravity: [m/s^2] in the world;
    medium: a :class:`Medium` that exerts drag on everything that moves, or None.

    Two shapes can touch unless they belong to one body (links connected by fixed joints are one), to two links
    connected by one joint, or are both static; unless their ``contype`` and ``conaffinity`` bits do not match; or
    unless they are excluded here or in the model. ``pair`` overrides all of these but the first and the third.

    Scenes are pickled with everything that was added, and are equal if the same was added in the same order.

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.8))
    >>> robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.5))
    >>> scene.servo(robot, kp=40, kd=1)[:1]
    ('robot/front_left_hip_joint',)
    """

    def __init__(
        self,
        ground: Body | None = None,
        *,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        medium: Medium | None = None,
    ) -> None:
        self._gravity = numbers("scene", "gravity", gravity, (3,))
        self._medium = checked_medium("scene", medium)
        self._entries: dict[str, SceneEntry] = {}
        self._names: set[str] = set()  # of parts, links, frames and shapes: what exclude and pair may name
        self._frames: set[str] = set()  # of links and frames: what constraints may name
        self._excludes: list[tuple[str, str]] = []
        self._pairs: list[tuple[str, str, dict[str, Any]]] = []
        self._constraints: list[AnyConstraint] = []
        self._switches: dict[int, str] = {}  # of constraints, by their place
        self._actuators: dict[str, Actuator] = {}  # by joint; those of the models come before them
        if ground is not None:
            if not isinstance(ground, Body) or not ground.static:
                raise ValueError(f"ground must be a Plane, a HeightField or a static body, got {ground!r}")
            self.add(ground, name=ground.name or GROUND)

    def add(
        self,
        content: Model | Body,
        name: str | None = None,
        *,
        pose: ArrayLike | None = None,
        q: ArrayLike | None = None,
        keyframe: str | None = None,
        self_collision: SelfCollision = True,
    ) -> SceneObject:
        """Add a model or a body to the scene, as often as you like; returns a handle to it.

        name: unique; by default that of the content, with a number if it is taken. Links, frames and joints of a model
        are called "name/link" in the scene; a body is a link called ``name`` on a free joint called ``name``.
        pose: (4, 4) or a position: the pose of the world frame of a model, or the initial pose of a body.
        q: (nq,), the initial configuration of a model, relative to the pose; by default ``model.q0``, or that of the
        ``keyframe``. self_collision: False: the links of a model never touch each other, only static parts of its file,
        such as a floor; "adjacent": even links connected by one joint can touch; "apart": only links that do not
        overlap initially can, since the shapes of many robots overlap by design.
        """
        if not isinstance(content, Model | Body):
            raise ValueError(f"scene: expected a Model or a body such as fw.box(...), got {content!r}")
        if self_collision not in (True, False, "adjacent", "apart"):
            raise ValueError(f'self_collision must be True, False, "adjacent" or "apart", got {self_collision!r}')
        name = self._new_name(content, name)
        what = f"{name!r}"
        own = None if isinstance(content, Model) else content.pose
        X = own if pose is None and own is not None else checked_pose(what, "pose", pose)
        if isinstance(content, Model):
            if self._entries:  # alone in the world, nothing could touch it anyway
                _warn_if_untouchable(name, content)
            if keyframe is not None:
                if q is not None:
                    raise ValueError(f"{what}: give q or a keyframe, not both")
                q = content.keyframe(keyframe).q
            q = None if q is None else numbers(what, "q", q, (content.nq,))
            new = {f"{name}/{frame}" for frame in content.frame_names}
            shapes = {f"{name}/{link.name}/{g.name}" for link in content.description.links for g in link.geometries}
        else:
            if q is not None or keyframe is not None:
                raise ValueError(f"{what}: q and keyframes belong to models; give a body a pose")
            new = {name}
            shapes = {f"{name}/{geometry.name}" for geometry in content.geometries}
        taken = next(iter(new & self._frames), None)
        if taken is not None:
            raise ValueError(f"{what}: the scene has a link or frame {taken!r} already")
        self._frames |= new
        self._names |= {name} | new | shapes
        handle = SceneObject(name, content)
        self._entries[name] = SceneEntry(handle, X, q, self_collision)
        return handle

    def exclude(self, a: SceneObject | str, b: SceneObject | str) -> None:
        """Prevent ``a`` and ``b`` from touching: handles, or names of parts, links ("robot/foot") or shapes.

        >>> scene = fw.Scene(ground=fw.Plane())
        >>> ghost = scene.add(fw.sphere(0.1), name="ghost", pose=(0.0, 0.0, 0.1))
        >>> scene.exclude(ghost, "ground")
        >>> sim = fw.Simulator(scene)
        >>> bool(sim.rollout(sim.state(), n_steps=500).final.q[2] < 0.0)  # it falls through
        True
        """
        self._excludes.append((self._target(a), self._target(b)))

    def pair(self, a: SceneObject | str, b: SceneObject | str, **law: Any) -> None:
        """Let ``a`` and ``b`` touch, regardless of the filter, with their own properties instead of combined ones.

        law: any of friction, torsional, rolling, restitution, tangential_restitution, stiffness, damping, dim and
        margin, as in :class:`ContactLaw`; others stay combined. Later calls take precedence.

        >>> scene = fw.Scene(ground=fw.Plane(friction=1.0))
        >>> ball = scene.add(fw.sphere(0.1), name="ball")
        >>> scene.pair("ground", ball, friction=0.1)
        >>> scene.compile().law(0, 1).friction
        0.1
        """
        known = ContactLaw.__dataclass_fields__
        unknown = next((key for key in law if key not in known), None)
        if unknown is not None:
            raise ValueError(f"pair: unknown property {unknown!r}{close_names(unknown, known)}")
        ContactLaw(**{"stiffness": 1.0, **law} if "damping" in law else law)  # checks the numbers
        self._pairs.append((self._target(a), self._target(b), law))

    def constrain(self, constraint: AnyConstraint, *, switch: str | None = None) -> None:
        """Anchor a point or a frame where it starts, or at its ``position``; or close it with a second frame ``to``.

        Without ``to_offset``, a point is closed with the origin of ``to``, a frame as it starts relative to ``to``.

        Hinges, rods and couplings of joints hold as well. Frames and joints are named as in the scene ("robot/foot", or
        the name of a body).

        Rows with an ``acceleration``, ``stiffness``, ``damping`` or ``compliance`` are guided instead of held: their
        error e, in metres or radians, obeys e'' + damping e' + stiffness e + compliance f = acceleration, f the force
        along the row [N or N m].

        switch: a name by which environments turn the constraint on and off (:meth:`State.switched`). It is off at
        first, and when it is switched on it holds its frames as they are then: a grasp is a weld with a switch. Rods
        and couplings have none.

        >>> scene = fw.Scene()
        >>> _ = scene.add(fw.sphere(0.1, mass=2.0), name="ball", pose=(0, 0, 1))
        >>> scene.constrain(fw.PointConstraint("ball", stiffness=100.0, damping=20.0, compliance=0.5))
        >>> sim = fw.Simulator(scene, dt=1e-3)
        >>> hung = sim.rollout(sim.state(), n_steps=3000, record=False).final
        >>> round(float(hung.q[2]) - 1.0, 4), hung.closures.force[0].round(2) + 0.0
        (-0.0981, array([ 0.  ,  0.  , 19.62]))
        """
        if isinstance(constraint, JointCoupling | JointCombination):
            self._check_coupled(constraint)
        elif isinstance(constraint, PointConstraint | FrameConstraint | HingeConstraint | DistanceConstraint):
            for frame in (constraint.frame, constraint.to):
                if frame is not None and frame not in self._frames:
                    hint = close_names(str(frame), self._frames)
                    raise ValueError(f"constrain: the scene has no link or frame {frame!r}{hint}")
        else:
            raise ValueError(f"constrain: expected a constraint such as fw.PointConstraint, got {constraint!r}")
        what = f"constraint on {constraint.what}"
        if switch is not None:
            self._check_switch(what, constraint, switch)
        gains_of(what, constraint, len(rows_of(what, constraint)))  # checks the numbers
        position = getattr(constraint, "position", None)
        if np.ndim(cast(Any, position)) > (2 if isinstance(constraint, FrameConstraint) else 1):
            raise ValueError(f"constrain: {constraint.what} must have one position, not one per sample")
        if switch is not None:
            self._switches[len(self._constraints)] = switch
        self._constraints.append(constraint)

    def servo(
        self,
        joints: SceneObject | str | Sequence[str],
        *,
        kp: ArrayLike,
        kd: ArrayLike = 0.0,
        effort: ArrayLike | None = None,
    ) -> tuple[str, ...]:
        """Add position servos to joints, with the force kp (control - q) - kd v. Returns their names.

        joints: a handle or the name of a part, for all its joints with one degree of freedom, or joints ("robot/knee").
        kp: [N/m] or [N m/rad], kd: [N s/m] or [N m s/rad], effort: largest force [N] or [N m] if less than the joint
        allows; one number, or one for each joint. Servos and motors do not take a joint beyond its ``velocity_limit``.
        A servo is called as its joint ("robot/knee/servo" if the model has
        an actuator of that name). Their controls come after those of the models' own actuators, in the order in which
        they were added.
        """
        return self._add_actuators("servo", joints, {"kp": kp, "kd": kd}, effort)

    def motor(
        self, joints: SceneObject | str | Sequence[str], *, gain: ArrayLike = 1.0, effort: ArrayLike | None = None
    ) -> tuple[str, ...]:
        """Add motors to joints, with the force gain * control. Arguments and result as in :meth:`servo`.

        >>> scene = fw.Scene()
        >>> clock = scene.add(fw.models.pendulum(), name="clock")
        >>> scene.motor(clock, gain=2.0, effort=5.0)
        ('clock/hinge',)
        """
        return self._add_actuators("motor", joints, {"kp": gain, "kd": 0.0}, effort)

    def compile(self) -> CompiledScene:
        """Compile the scene to one model with shapes, which later changes of the scene do not affect.

        >>> scene = fw.Scene(ground=fw.Plane())
        >>> crate = scene.add(fw.box((0.4, 0.3, 0.2)), name="crate", pose=(0.0, 0.0, 0.1))
        >>> scene.compile()
        <CompiledScene: nq=7, nv=6, 2 shapes, 0 constraints>
        """
        compilation = Compilation(self._entries, self._gravity, self._medium, self._actuators.values())
        return compilation.run(self._excludes, self._pairs, self._constraints, self._switches)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scene):
            return NotImplemented
        in_order = [(list(scene._entries.items()), list(scene._actuators.items())) for scene in (self, other)]
        return same_values(vars(self), vars(other)) and same_values(*in_order)

    __hash__ = None  # type: ignore[assignment]  # scenes change

    def __getstate__(self) -> Packed:
        return packed(dict(vars(self)))

    def __setstate__(self, state: object) -> None:
        self.__dict__.update(unpacked(type(self), state, vars(Scene())))

    def __copy__(self) -> Scene:
        """A copy with its own containers; what is in them never changes."""
        new = type(self).__new__(type(self))
        constant = ("_gravity", "_medium")
        new.__dict__.update({name: value if name in constant else value.copy() for name, value in vars(self).items()})
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Scene:
        return self.__copy__()

    def __repr__(self) -> str:
        parts = ", ".join(repr(name) for name in self._entries)
        return f"<Scene: {parts or 'empty'}>"

    def _add_actuators(
        self,
        what: str,
        joints: SceneObject | str | Sequence[str],
        gains: dict[str, ArrayLike],
        effort: ArrayLike | None,
    ) -> tuple[str, ...]:
        joints_ = self._joints(what, joints)

        def each(field: str, value: ArrayLike) -> Array:
            one = np.ndim(cast(Any, value)) == 0
            wanted = f"one number or {len(joints_)}, one for each joint"
            numbers_ = numbers(what, field, value, () if one else (len(joints_),), wanted)
            if (numbers_ < 0.0).any():
                raise ValueError(f"{what}: {field} must not be negative, got {numbers_.tolist()}")
            return np.broadcast_to(numbers_, len(joints_))

        columns = {field: each(field, value) for field, value in gains.items()}
        limits = None if effort is None else each("effort", effort)
        taken = {
            f"{part}/{actuator.name}"
            for part, entry in self._entries.items()
            if isinstance(entry.handle.content, Model)
            for actuator in entry.handle.content.description.actuators
        }
        for k, joint in enumerate(joints_):
            self._actuators[joint] = Actuator(
                f"{joint}/{what}" if joint in taken else joint,
                joint,
                "position" if what == "servo" else "motor",
                kp=float(columns["kp"][k]),
                kd=float(columns["kd"][k]),
                force_range=None if limits is None else (-float(limits[k]), float(limits[k])),
            )
        return tuple(self._actuators[joint].name for joint in joints_)

    def _check_switch(self, what: str, constraint: AnyConstraint, switch: str) -> None:
        if isinstance(constraint, JointCoupling | JointCombination | DistanceConstraint):
            raise ValueError(f"{what}: a {type(constraint).__name__} cannot be switched")
        points = isinstance(constraint, PointConstraint)  # whose second point is at the origin unless it is given
        for name, default in (("position", None), ("to_offset", (0.0, 0.0, 0.0) if points else None)):
            if getattr(constraint, name, default) != default:
                raise ValueError(f"{what}: it holds where it is switched on, and takes no {name}")
        if checked_name("constrain: switch", switch) in self._switches.values():
            raise ValueError(f"constrain: the switch {switch!r} is used twice")

    def _check_coupled(self, coupling: JointCoupling | JointCombination) -> None:
        names = (
            [name for name, _ in coupling.pairs]
            if isinstance(coupling, JointCombination)
            else [name for name in (coupling.joint, coupling.to) if name is not None]
        )
        dofs = self._dofs()
        for name in names:
            if name not in dofs:
                raise ValueError(f"constrain: the scene has no moving joint {name!r}{close_names(str(name), dofs)}")
            if dofs[name] != 1:
                raise ValueError(f"constrain: joint {name!r} has {dofs[name]} degrees of freedom, not one")
        if not names or len(set(names)) != len(names):
            raise ValueError(f"constrain: a coupling needs joints, each of them once, got {names}")
        pairs = [
            (f"constraint on {each.what}", each)
            for each in (*self._constraints, coupling)
            if isinstance(each, JointCoupling | JointCombination)
        ]
        check_couplings(pairs)

    def _dofs(self) -> dict[str, int]:
        """Of all joints that move, by their names in the scene."""
        return {
            f"{part}/{joint.name}": joint.nv
            for part, entry in self._entries.items()
            if isinstance(entry.handle.content, Model)
            for joint in entry.handle.content.joints
        }

    def _joints(self, what: str, joints: SceneObject | str | Sequence[str]) -> tuple[str, ...]:
        """Names of joints in the scene, each with one degree of freedom and without an actuator from here."""
        if isinstance(joints, SceneObject):
            joints = self._target(joints)
        if isinstance(joints, str) and joints in self._entries:
            content = self._entries[joints].handle.content
            own = content.joints if isinstance(content, Model) else ()
            names = tuple(f"{joints}/{joint.name}" for joint in own if joint.nv == 1)
            if not names:
                raise ValueError(f"{what}: {joints!r} has no joint with one degree of freedom")
        else:
            names = (joints,) if isinstance(joints, str) else tuple(joints)
        dofs = self._dofs()
        for name in names:
            if name not in dofs:
                raise ValueError(f"{what}: the scene has no moving joint {name!r}{close_names(str(name), dofs)}")
            if dofs[name] != 1:
                raise ValueError(f"{what}: joint {name!r} has {dofs[name]} degrees of freedom, not one")
            if name in self._actuators or names.count(name) > 1:
                raise ValueError(f"{what}: joint {name!r} would be driven twice")
        return names

    def _new_name(self, content: Model | Body, name: str | None) -> str:
        if name is not None:
            if checked_name("scene", name) in self._entries:
                raise ValueError(f"scene: the name {name!r} is used twice")
            if name == WORLD:
                raise ValueError(f"scene: the name {WORLD!r} is reserved for what does not move")
            return name
        wish = content.name or (content.kind if isinstance(content, Body) else "model")
        name, number = wish, 2
        while name in self._entries or name == WORLD:
            name, number = f"{wish}_{number}", number + 1
        return name

    def _target(self, target: SceneObject | str) -> str:
        name = target.name if isinstance(target, SceneObject) else target
        if name not in self._names:
            raise ValueError(f"the scene has no part, link or shape {name!r}{close_names(str(name), self._names)}")
        if isinstance(target, SceneObject) and self._entries[name].handle != target:
            raise ValueError(f"{name!r} belongs to another scene")
        return name


def _warn_if_untouchable(name: str, model: Model) -> None:
    if not any(geometry.role == "collision" for link in model.description.links for geometry in link.geometries):
        where = "its only link" if model.n_links == 1 else f"any of its {model.n_links} links"
        message = f"{name!r} has no collision shapes on {where}: nothing can touch it"
        warnings.warn(message, stacklevel=3)
