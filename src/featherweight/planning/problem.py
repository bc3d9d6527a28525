"""What is to be planned: a scene, a hand with what it may hold, and a goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..checks import close_names, numbers
from ..model.description import WORLD
from ..records import Record
from ..simulation.simulator import Simulator
from ..simulation.state import State

#: [s] Between knots of the motions of a hand.
KNOT = 0.04

Face = Literal["x", "-x", "y", "-y"]

#: Which way each face of a tool looks, as an angle about its vertical.
FACES: dict[str, float] = {"x": 0.0, "y": 0.5 * np.pi, "-x": np.pi, "-y": -0.5 * np.pi}


@dataclass(frozen=True)
class Tool(Record):
    """A body that is held in order to move another.

    >>> hook = fw.planning.Tool("hook", grip=(-0.2, 0, 0.02), tip=(0.2, -0.06, 0), faces=("-x",))
    >>> hook.body
    'hook'
    """

    body: str  # link or frame in the scene
    grip: tuple[float, float, float] = (0.0, 0.0, 0.0)  # where the hand takes hold of it [m], its axes
    tip: tuple[float, float, float] = (0.0, 0.0, 0.0)  # where it pushes [m], its axes
    faces: tuple[Face, ...] = ("x",)  # which way the tip can push, in its axes

    def __post_init__(self) -> None:
        for name in ("grip", "tip"):
            object.__setattr__(
                self, name, tuple(numbers(f"tool {self.body!r}", name, getattr(self, name), (3,)).tolist())
            )
        unknown = [face for face in self.faces if face not in get_args(Face)]
        if unknown or not self.faces:
            raise ValueError(f"tool {self.body!r}: faces are some of x, -x, y, -y, got {self.faces!r}")


@dataclass(frozen=True)
class Near(Record):
    """A goal: a body is within some distance of a place, and slow.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> servos = scene.servo(scene.add(fw.models.arm(), name="arm"), kp=4000, kd=200)
    >>> block = scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3), name="block", pose=(0.5, 0, 0.04))
    >>> goal = fw.planning.Near("block", (0.4, 0.3), within=0.04)
    >>> problem = fw.planning.Problem(fw.Simulator(scene, dt=4e-3), hand="arm/flange", goal=goal)
    >>> bool(abs(goal.distance(fw.planning.View(problem, problem.start))[0] - np.hypot(0.1, 0.3)) < 1e-12)
    True
    """

    body: str  # link or frame in the scene
    place: tuple[float, ...]  # (2,) or (3,) [m] in the world; two numbers: at any height
    within: float  # [m]
    slowest: float = 0.05  # [m/s] slower is at rest

    def __post_init__(self) -> None:
        n = np.size(np.asarray(self.place))
        if n not in (2, 3):
            raise ValueError(f"goal: place must be 2 or 3 numbers, got {self.place!r}")
        object.__setattr__(self, "place", tuple(numbers("goal", "place", self.place, (n,)).tolist()))
        for name in ("within", "slowest"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and np.isfinite(value) and value > 0.0):
                raise ValueError(f"goal: {name} must be a positive number, got {value!r}")

    def distance(self, view: View) -> Array:
        """(batch,) [m] from the place; a body that is not at rest is farther by how fast it is."""
        at = np.asarray(self.place)
        away = np.linalg.norm(view.place(self.body)[:, : len(at)] - at, axis=1)
        speed = np.linalg.norm(view.velocity(self.body), axis=1)
        return np.asarray(away + np.maximum(speed - self.slowest, 0.0))


class Problem:
    """A scene, whose hand is to bring about a goal.

    sim: its integrator should be "implicit", and position servos drive the joints of the hand. hand: a frame at the
    tip of an arm, which points down along its z axis; what it can hold has a weld to it with a switch, see
    :meth:`Scene.constrain`. goal: see :class:`Near`. tools: what may be held to move other bodies. start: a single
    state, by default ``sim.state()``. reach: how far from the first joint of the arm the hand gets, pointing down [m].

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.5))
    >>> arm = scene.add(fw.models.arm(), name="arm")
    >>> servos = scene.servo(arm, kp=4000, kd=200)
    >>> block = scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3), name="block", pose=(0.5, 0, 0.04))
    >>> sim = fw.Simulator(scene, dt=4e-3, integrator="implicit")
    >>> problem = fw.planning.Problem(sim, hand="arm/flange", goal=fw.planning.Near("block", (0.4, 0.3), within=0.04))
    >>> problem.is_solved(sim.state()), problem.radius("block"), problem.tool("block").grip
    (False, 0.04, (0.0, 0.0, 0.0))
    """

    def __init__(
        self,
        sim: Simulator,
        *,
        hand: str,
        goal: Near,
        tools: Sequence[Tool] = (),
        start: State | None = None,
        reach: float = 0.72,
    ) -> None:
        if not isinstance(sim, Simulator):
            raise ValueError(f"sim: expected a Simulator, got {sim!r}")
        if abs(KNOT / sim.dt - round(KNOT / sim.dt)) > 1e-9:
            raise ValueError(f"sim: {KNOT:g} s must be a multiple of its step, which is {sim.dt:g} s")
        known = (*sim.model.link_names, *sim.model.frame_names)
        if not isinstance(goal, Near):
            raise ValueError(f"goal: expected a planning.Near, got {goal!r}")
        bodies = [("hand", hand), ("goal", goal.body), *((f"tool {k}", each.body) for k, each in enumerate(tools))]
        for what, name in bodies:
            if name not in known:
                raise ValueError(f"{what}: the scene has no link or frame {name!r}{close_names(str(name), known)}")
        start = sim.state() if start is None else start
        if not isinstance(start, State) or start.batch_size != 1 or start.simulator != sim:
            raise ValueError(f"start: expected a single state of the simulator, got {start!r}")
        self.sim, self.hand, self.goal, self.tools, self.reach = sim, hand, goal, tuple(tools), float(reach)
        self.start = start if start.single else start[0]
        self._find_arm()
        self.grasps = self._find_grasps()
        for tool in self.tools:
            if tool.body not in self.grasps:
                raise ValueError(
                    f"tool {tool.body!r}: the hand cannot hold it; the scene needs "
                    f"constrain(FrameConstraint({hand!r}, to={tool.body!r}), switch=...)"
                )

    def is_solved(self, state: State) -> bool:
        """Whether a single state is at the goal."""
        return bool(self.goal.distance(View(self, state))[0] <= self.goal.within)

    @property
    def bodies(self) -> tuple[str, ...]:
        """What may be moved: the body of the goal, and tools."""
        return tuple(dict.fromkeys((self.goal.body, *(tool.body for tool in self.tools))))

    def tool(self, body: str) -> Tool:
        """The tool of a body, or the body as one that only its own grasp knows."""
        return next((tool for tool in self.tools if tool.body == body), Tool(body))

    @cached_property
    def half(self) -> Simulator:
        """The same at half the step."""
        sim = self.sim
        settings = {"solver": sim.solver, "integrator": sim.integrator, "num_threads": sim.num_threads}
        return Simulator(sim.scene, 0.5 * sim.dt, **settings)  # type: ignore[arg-type]

    def radius(self, body: str) -> float:
        """Half of the least horizontal extent of the first shape of a body [m]."""
        link = self.sim.model.link_names.index(self.sim.model.frame(body).link)
        for shape in self.sim.scene.shapes:
            if shape.link == link:
                return float(min(shape.size[:2])) if shape.kind == "box" else float(shape.size[0])
        return 0.0

    def _find_arm(self) -> None:
        model = self.sim.model
        parents = {joint.child: joint for joint in model.description.joints}
        link, joints = model.frame(self.hand).link, []
        while link != WORLD:
            if parents[link].nv:
                joints.append(parents[link].name)
            link = parents[link].parent
        joints = joints[::-1]
        servos = {
            each.joint: k for k, each in enumerate(self.sim.actuators) if each.kind == "position" and each.gear == 1.0
        }
        missing = [name for name in joints if name not in servos]
        if missing or not joints:
            which = f"joint {missing[0]!r} has no position servo" if missing else "nothing carries it"
            raise ValueError(f"hand: {self.hand!r} is not driven: {which}; see Scene.servo")
        own = [model.joint(name) for name in joints]
        self.arm_q: NDArray[np.int64] = np.array([joint.q_slice.start for joint in own])
        self.arm_v: NDArray[np.int64] = np.array([joint.v_slice.start for joint in own])
        self.servos: NDArray[np.int64] = np.array([servos[name] for name in joints])
        gains = np.array([(self.sim.actuators[k].kp, self.sim.actuators[k].kd) for k in self.servos])
        self.kp, self.kd = gains.T
        self.base: Array = np.asarray(
            _core.frame_placement(model, self.sim.scene.q0, model.description.joints[own[0].index].child)
        )[:2, 3]

    def _find_grasps(self) -> dict[str, str]:
        """Switches by the bodies that the hand can hold."""
        model, scene = self.sim.model, self.sim.scene
        hand = model.link(model.frame(self.hand).link).index
        return {
            model.link_names[each.to if each.link == hand else each.link]: each.switch
            for each in scene.constraints
            if each.switch and hand in (each.link, each.to) and min(each.link, each.to) >= 0
        }


class View:
    """A batch of states, as skills look at it.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> servos = scene.servo(scene.add(fw.models.arm(), name="arm"), kp=4000, kd=200)
    >>> block = scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3), name="block", pose=(0.5, 0, 0.04))
    >>> goal = fw.planning.Near("block", (0.4, 0.3), within=0.04)
    >>> problem = fw.planning.Problem(fw.Simulator(scene, dt=4e-3), hand="arm/flange", goal=goal)
    >>> view = fw.planning.View(problem, problem.sim.state(batch=3))
    >>> view.place("block").shape, view.held
    ((3, 3), None)
    >>> view.pose("arm/flange")[0, :3, 3].round(2), view.point("block", (0, 0, 0.04))[0].round(2)
    (array([0. , 0. , 1.3]), array([0.5 , 0.  , 0.08]))
    >>> view.velocity("block").max(), view.turn("block").max(), view.distance_from_base(view.place("block"))[0]
    (np.float64(0.0), np.float64(0.0), np.float64(0.5))
    """

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem, self.state = problem, state
        model = problem.sim.model
        self.q: Array = np.atleast_2d(state.q)
        self._X = np.asarray(_core.forward_kinematics(model, self.q))
        switches = np.atleast_2d(state.switches)
        names = problem.sim.switches
        held = [body for body, switch in problem.grasps.items() if switches[0, names.index(switch)]]
        self.held: str | None = held[0] if held else None  # by the first environment

    def __len__(self) -> int:
        return len(self.q)

    def pose(self, name: str) -> Array:
        """(batch, 4, 4) of a link or frame in the world."""
        frame = self.problem.sim.model.frame(name)
        return np.asarray(self._X[:, self.problem.sim.model.link(frame.link).index] @ frame.placement)

    def place(self, name: str) -> Array:
        """(batch, 3) [m]"""
        return np.asarray(self.pose(name)[:, :3, 3])

    def point(self, name: str, offset: ArrayLike) -> Array:
        """(batch, 3) of a point fixed to a link or frame [m]."""
        X = self.pose(name)
        return np.asarray(X[:, :3, :3] @ np.asarray(offset, dtype=np.float64) + X[:, :3, 3])

    def velocity(self, name: str) -> Array:
        """(batch, 3) of its origin [m/s]."""
        v = np.atleast_2d(self.state.v)
        twist = _core.frame_velocity(self.problem.sim.model, self.q, v, name)
        return np.asarray(twist)[:, :3]

    def turn(self, name: str) -> Array:
        """(batch,) about the vertical: where its x axis points [rad]."""
        X = self.pose(name)
        return np.asarray(np.arctan2(X[:, 1, 0], X[:, 0, 0]))

    def distance_from_base(self, place: Array) -> Array:
        """(batch,) horizontal [m]"""
        return np.asarray(np.linalg.norm(place[:, :2] - self.problem.base, axis=1))
