"""What terms see: some environments of a batch, as arrays with one row per environment."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..checks import close_names
from ..model.model import Model, ModelJoint
from ..simulation.live import LiveEnvironments
from ..simulation.simulator import Simulator
from .randomness import Draws, Randomness

if TYPE_CHECKING:
    from collections.abc import Mapping

Rows = NDArray[np.int64] | slice
Integers = NDArray[np.int64]
T = TypeVar("T")


@dataclass
class Buffers:
    """What a batch of environments keeps beside the physics."""

    live: LiveEnvironments
    names: Names
    random: Randomness
    steps: Integers  # (batch,) since the start of the episode
    control: Array  # (batch, nu)
    action: Array  # (batch, n) the last
    previous_action: Array  # (batch, n) the one before
    commands: dict[str, Array] = field(default_factory=dict)  # (batch, k) each
    period: float = 0.0  # [s] between two actions

    def by_source(self) -> dict[str, Array]:
        """The arrays of the whole batch that columns may be picked of."""
        arrays = {name: getattr(self, name) for name in ("control", "action", "previous_action")}
        arrays |= {name: getattr(self.live, name) for name in ("q", "v", "joint_forces", "acceleration")}
        return arrays | {f"command {name}": values for name, values in self.commands.items()}


class World:
    """Some environments of a batch, the ``rows``, at one moment. Arrays have one row for each of them.

    For the whole batch, ``q``, ``v`` and similar arrays are views of the simulator's own: do not modify them. Resets
    and events get copies of ``q`` and ``v`` of their environments, which they modify.

    >>> @fw.gym.term
    ... def height(world: fw.gym.World, part: str) -> fw.gym.Array:  # (n,) [m]
    ...     return world.q[:, world.names.base(part).q_slice.start + 2]
    >>> height("robot")
    height('robot')
    """

    def __init__(self, buffers: Buffers, rows: Rows = slice(None)) -> None:
        self._buffers = buffers
        self._rows = rows
        self._known: dict[object, Any] = {}
        self.q: Array = buffers.live.q[rows]  #: coordinates (n, nq)
        self.v: Array = buffers.live.v[rows]  #: velocities (n, nv)

    def __len__(self) -> int:
        return len(self.q)

    def only(self, row: int) -> World:
        """A world of one of its environments.

        >>> def speed(world: fw.gym.World) -> float:  # of the first
        ...     return float(np.abs(world.only(0).v).max())
        """
        return World(self._buffers, np.arange(self._buffers.live.batch)[self._rows][[row]])

    @property
    def simulator(self) -> Simulator:
        """The simulator of the task."""
        return self._buffers.live.simulator

    @property
    def model(self) -> Model:
        """The one model of everything that moves."""
        return self.simulator.model

    @property
    def names(self) -> Names:
        """Finds joints, actuators and links by name."""
        return self._buffers.names

    @property
    def random(self) -> Draws:
        """Random numbers, from the stream of each environment."""
        return self._buffers.random.of(self._rows)

    @property
    def period(self) -> float:
        """Time between two actions [s]."""
        return self._buffers.period

    @property
    def time(self) -> Array:
        """Time since the start of the episode, (n,) [s]."""
        return np.asarray(self._buffers.steps[self._rows] * self._buffers.period, dtype=np.float64)

    @property
    def action(self) -> Array:
        """The last action, (n, actions), between -1 and 1; zero after a reset."""
        return self._buffers.action[self._rows]

    @property
    def previous_action(self) -> Array:
        """The action before the last, (n, actions)."""
        return self._buffers.previous_action[self._rows]

    @property
    def control(self) -> Array:
        """The controls of the actuators, (n, nu)."""
        return self._buffers.control[self._rows]

    @property
    def joint_forces(self) -> Array:
        """Forces of actuators, springs and dampers in the last step, (n, nv) [N, N m]."""
        return self._buffers.live.joint_forces[self._rows]

    @property
    def acceleration(self) -> Array:
        """Mean acceleration over the last simulation step, (n, nv)."""
        return self._buffers.live.acceleration[self._rows]

    def command(self, name: str) -> Array:
        """The current command of that name, (n, k).

        >>> @fw.gym.term
        ... def lag(world: fw.gym.World) -> fw.gym.Array:  # (n,) [m/s]
        ...     return world.command("speed")[:, 0] - world.v[:, 0]
        >>> lag()
        lag()
        """
        known = self._buffers.commands
        if name not in known:
            raise ValueError(f"unknown command {name!r}{close_names(name, known)}; the task has {list(known)}")
        return known[name][self._rows]

    def placement(self, frame: str) -> Array:
        """Pose of a frame in the world, (n, 4, 4).

        >>> @fw.gym.term
        ... def reach(world: fw.gym.World, frame: str) -> fw.gym.Array:  # (n,) [m] from the origin
        ...     return np.linalg.norm(world.placement(frame)[:, :3, 3], axis=1)
        >>> reach("arm/grip")
        reach('arm/grip')
        """
        return self._once(
            ("placement", frame), lambda: np.asarray(_core.frame_placement(self.model, self._contiguous_q, frame))
        )

    def velocity(self, frame: str) -> Array:
        """Velocity of a frame, linear and angular, in world axes and at its origin, (n, 6).

        >>> @fw.gym.term
        ... def climb(world: fw.gym.World, frame: str) -> fw.gym.Array:  # (n,) [m/s]
        ...     return world.velocity(frame)[:, 2]
        >>> climb("robot/trunk")
        climb('robot/trunk')
        """

        def compute() -> Array:
            v = np.ascontiguousarray(self.v)
            return np.asarray(
                _core.frame_velocity(self.model, self._contiguous_q, v, frame, reference="local_world_aligned")
            )

        return self._once(("velocity", frame), compute)

    def pushed(self, links: Integers) -> NDArray[np.bool_]:
        """Whether a contact pushed each of the links (indices) in the last step, (n, links).

        >>> @fw.gym.term
        ... def feet_down(world: fw.gym.World) -> fw.gym.Array:  # (n,)
        ...     return world.pushed(world.names.links("robot/*_foot")).sum(axis=1).astype(float)
        >>> feet_down()
        feet_down()
        """
        all_links = self._once(("pushed",), self._buffers.live.pushed)
        return np.asarray(all_links[self._rows][:, links])

    @property
    def _contiguous_q(self) -> Array:
        return np.ascontiguousarray(self.q)

    def _once(self, key: object, compute: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = compute()
        return cast(T, self._known[key])


class Names:
    """Joints, actuators and links of a scene by name or pattern; patterns are like file names, "robot/*_hip".

    >>> @fw.gym.term
    ... def knees(world: fw.gym.World) -> fw.gym.Array:  # (n, 4) [rad]
    ...     return world.q[:, world.names.coordinates("robot/*_knee")]
    >>> knees()
    knees()
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        model = simulator.model
        self._joints = {joint.name: joint for joint in model.joints if joint.nq == joint.nv == 1}
        self._actuators = {each.name: k for k, each in enumerate(simulator.actuators)}
        self._links = {name: k for k, name in enumerate(model.link_names)}
        self._free = {joint.name: joint for joint in model.joints if joint.type == "free"}
        self._found: dict[tuple[str, str], Any] = {}

    def joints(self, pattern: str) -> tuple[ModelJoint, ...]:
        """All joints of one degree of freedom that match; "robot" is all of a part.

        >>> names = fw.gym.Names(fw.gym.tasks.quadruped().simulator)
        >>> [joint.name for joint in names.joints("robot/front_left_*")]
        ['robot/front_left_hip_joint', 'robot/front_left_thigh_joint', 'robot/front_left_calf_joint']
        """
        return self._once("joints", pattern, lambda: self._matches("joint of one degree of freedom", pattern))

    def coordinates(self, pattern: str) -> Integers:
        """Where the q of the :meth:`joints` that match is."""
        return self._once("q", pattern, lambda: np.array([joint.q_slice.start for joint in self.joints(pattern)]))

    def dofs(self, pattern: str) -> Integers:
        """Where the v of the :meth:`joints` that match is.

        >>> fw.gym.Names(fw.gym.tasks.quadruped().simulator).dofs("robot/front_left_*")
        array([6, 7, 8])
        """
        return self._once("v", pattern, lambda: np.array([joint.v_slice.start for joint in self.joints(pattern)]))

    def actuators(self, pattern: str) -> Integers:
        """Columns of the control.

        >>> fw.gym.Names(fw.gym.tasks.quadruped().simulator).actuators("robot/hind_*").size
        6
        """
        return self._once("actuators", pattern, lambda: np.array(self._matches("actuator", pattern)))

    def links(self, pattern: str) -> Integers:
        """Indices.

        >>> fw.gym.Names(fw.gym.tasks.quadruped().simulator).links("robot/*_foot").size
        4
        """
        return self._once("links", pattern, lambda: np.array(self._matches("link", pattern)))

    def base(self, part: str) -> ModelJoint:
        """The free joint of a part: of a robot with a floating base, or of a body.

        >>> fw.gym.Names(fw.gym.tasks.quadruped().simulator).base("robot").type
        'free'
        """
        return self._once("base", part, lambda: self._free_joint(part))

    def _free_joint(self, part: str) -> ModelJoint:
        found = [joint for name, joint in self._free.items() if part in (name, name.partition("/")[0])]
        if len(found) != 1:
            hint = close_names(part, self._simulator.scene.parts)
            raise ValueError(f"{part!r} has {len(found) or 'no'} free joints, expected one{hint}")
        return found[0]

    def _matches(self, what: str, pattern: str) -> tuple[Any, ...]:
        known: Mapping[str, Any] = {"actuator": self._actuators, "link": self._links}.get(what, self._joints)
        patterns = (pattern, f"{pattern}/*") if pattern in self._simulator.scene.parts else (pattern,)
        names = [name for name in known if any(fnmatch.fnmatchcase(name, each) for each in patterns)]
        if not names:
            raise ValueError(f"no {what} matches {pattern!r}{_hint(pattern, known)}")
        return tuple(known[name] for name in names)

    def _once(self, what: str, pattern: str, find: Callable[[], T]) -> T:
        key = (what, pattern)
        if key not in self._found:
            self._found[key] = find()
        return cast(T, self._found[key])


def _hint(pattern: str, known: Iterable[str]) -> str:
    names = list(known)
    return close_names(pattern, names) or f"; there are {', '.join(map(repr, names[:6]))}{', ...' * (len(names) > 6)}"
