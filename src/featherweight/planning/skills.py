"""Skills: what a hand can do, with parameters that are searched for.

A skill knows when it can be tried, from places alone; how the hand moves, given its parameters; and how far the scene
is afterwards from what it was meant to bring about. Whether it does is for the simulator to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..records import Record
from .motion import Path
from .problem import FACES, Problem, View

#: [m] Above the ground where the hand, or what it holds, travels; and where tips push.
_TRAVEL, _CLEAR = 0.16, 0.004
#: [m] Beyond this a grasp has missed.
_GRASPED = 0.03
#: [m] From the first joint of the arm: nearer the hand does not go.
_NEAREST = 0.26
#: Costs of what cannot be, in metres.
_WRONG = 10.0


@dataclass(frozen=True)
class Parameter(Record):
    """One of the numbers of a skill: its bounds, and where the search begins.

    >>> fw.planning.Parameter("speed", "m/s", 0.3, 2.5, mean=1.0, spread=0.5).name
    'speed'
    """

    name: str
    unit: str
    lower: float
    upper: float
    mean: float
    spread: float  # standard deviation


@dataclass(frozen=True)
class Skill(Record, ABC):
    """Something to do with a body.

    >>> fw.planning.Push("block", tool="hook").title
    'push block with hook'
    """

    body: str  # what it is about

    @property
    def title(self) -> str:
        """As tables show it."""
        return f"{type(self).__name__.lower()} {self.body}"

    @property
    @abstractmethod
    def parameters(self) -> tuple[Parameter, ...]:
        """What is searched for."""

    @abstractmethod
    def is_applicable(self, view: View) -> bool:
        """Whether it is worth trying in the first environment, by where things are."""

    @abstractmethod
    def path(self, view: View, x: Array) -> Path:
        """How the hand moves. x: (n, parameters)."""

    def cost(self, after: View) -> Array:
        """(n,) how far things are from what it is for [m]."""
        return np.zeros(len(after))

    @property
    def delay(self) -> float:
        """[m] By how much it is tried later than others."""
        return 0.0

    def is_idle_after(self, last: Skill) -> bool:
        """Whether nothing comes of it right after another."""
        return self == last


def _heading(angle: Array) -> Array:
    """(n, 2)"""
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _flat(place: Array, height: Array | float) -> Array:
    """(n, 3) at a height."""
    return np.column_stack([place[:, :2], np.broadcast_to(height, (len(place),))])


@dataclass(frozen=True)
class Grasp(Skill):
    """Reach for a body and take hold of it.

    >>> [p.name for p in fw.planning.Grasp("hook").parameters]
    ['along', 'turn']
    """

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("along", "m", -0.03, 0.03, 0.0, 0.01),
            Parameter("turn", "rad", -1.0, 1.0, 0.0, 0.25),
        )

    def is_applicable(self, view: View) -> bool:
        if view.held is not None or self.body not in view.problem.grasps:
            return False
        grip = view.point(self.body, view.problem.tool(self.body).grip)
        return bool(0.2 < view.distance_from_base(grip)[0] < view.problem.reach)

    def path(self, view: View, x: Array) -> Path:
        problem = view.problem
        grip = np.asarray(problem.tool(self.body).grip)
        X = view.pose(self.body)
        local = np.tile(grip, (len(x), 1))
        local[:, 0] += x[:, 0]
        place = np.einsum("nij,nj->ni", X[:, :3, :3], local) + X[:, :3, 3]
        path = Path(view)
        turn = np.arctan2(place[:, 1] - problem.base[1], place[:, 0] - problem.base[0])
        if any(tool.body == self.body and tool.tip != tool.grip for tool in problem.tools):
            turn = view.turn(self.body)  # along the tool
        turn = turn + x[:, 1]
        path.lift(np.maximum(path.place[:, 2], _TRAVEL), 0.24)
        path.around(_flat(place, _TRAVEL), 0.96, turn)
        path.to(_flat(place, place[:, 2] + _CLEAR), 0.4).stay(0.16)
        path.switch(problem.grasps[self.body], True)
        return path.lift(place[:, 2] + 0.04, 0.24)

    def is_idle_after(self, last: Skill) -> bool:
        return last == Release(self.body)

    def cost(self, after: View) -> Array:
        hand = after.place(after.problem.hand)
        grip = np.asarray(after.problem.tool(self.body).grip)
        X = after.pose(self.body)
        local = np.einsum("nji,nj->ni", X[:, :3, :3], hand - X[:, :3, 3]) - grip
        local[:, 0] = np.maximum(np.abs(local[:, 0]) - 0.03, 0.0)
        off = np.linalg.norm(local, axis=1)
        return np.where(off < _GRASPED, 0.0, _WRONG + off)


@dataclass(frozen=True)
class Release(Skill):
    """Let go of a body, and rise.

    >>> fw.planning.Release("hook").title
    'release hook'
    """

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return ()

    def is_applicable(self, view: View) -> bool:
        return view.held == self.body

    def is_idle_after(self, last: Skill) -> bool:
        return last == Grasp(self.body)

    def path(self, view: View, x: Array) -> Path:
        path = Path(view)
        down = view.point(self.body, (0.0, 0.0, 0.0))[:, 2] - _resting_height(view.problem, self.body)
        path.lift(path.place[:, 2] - np.maximum(down, 0.0), 0.4)
        path.switch(view.problem.grasps[self.body], False)
        return path.lift(np.maximum(path.place[:, 2] + 0.1, _TRAVEL), 0.4)


@dataclass(frozen=True)
class Wait(Skill):
    """Do nothing for a while.

    >>> fw.planning.Wait("ball", seconds=0.5).seconds
    0.5
    """

    seconds: float = 1.0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return ()

    def is_applicable(self, view: View) -> bool:
        return bool(np.linalg.norm(view.velocity(self.body)[0]) > view.problem.goal.slowest)

    def path(self, view: View, x: Array) -> Path:
        return Path(view).stay(self.seconds)


@dataclass(frozen=True)
class _Contact(Skill):
    """What moves a body by the hand, or by the tip of a tool."""

    tool: str | None = None
    face: str = "x"

    @property
    def title(self) -> str:
        return super().title + (f" with {self.tool}" if self.tool else "")

    def is_applicable(self, view: View) -> bool:
        if view.held != self.tool or self.body == self.tool:
            return False
        return bool(view.distance_from_base(view.place(self.body))[0] < view.problem.reach + self._length(view))

    def _length(self, view: View) -> float:
        """By how much a tool lengthens the arm [m]."""
        if self.tool is None:
            return 0.0
        tool = view.problem.tool(self.tool)
        return float(np.hypot(tool.tip[0] - tool.grip[0], tool.tip[1] - tool.grip[1]))

    def _effector(self, view: View, angle: Array) -> tuple[Array, Array, Array]:
        """From the hand's place to the tip (n, 3) [m], its turn (n,), where the face looks along ``angle`` (n,)."""
        X = view.pose(view.problem.hand)
        turn = np.arctan2(X[:, 1, 0], X[:, 0, 0])
        if self.tool is None:
            return np.zeros((len(angle), 3)), turn, np.full(len(angle), 0.03)
        tool = view.problem.tool(self.tool)
        tip, heading = view.point(self.tool, tool.tip), view.turn(self.tool)
        turned = angle - FACES[self.face] - heading
        c, s = np.cos(turned), np.sin(turned)
        from_hand = tip - X[:, :3, 3]
        offset = np.stack(
            [c * from_hand[:, 0] - s * from_hand[:, 1], s * from_hand[:, 0] + c * from_hand[:, 1], from_hand[:, 2]],
            axis=1,
        )
        rest = _resting_height(view.problem, self.tool) + tool.tip[2] + _CLEAR
        return offset, turn + turned, np.full(len(angle), rest)

    def _toward(self, view: View, target: Array) -> tuple[Array, Array]:
        """Angle and distance (n,) from the body to a target (2,)."""
        away = target[:2] - view.place(self.body)[:, :2]
        return np.arctan2(away[:, 1], away[:, 0]), np.linalg.norm(away, axis=1)

    def _target(self, view: View) -> Array:
        """Where the body should go: the place of the goal, or where the hand can take hold of it."""
        goal = view.problem.goal
        if self.body == goal.body:
            return np.asarray(goal.place)
        at = view.place(self.body)[0, :2] - view.problem.base
        return np.asarray(view.problem.base + at * (0.55 / np.linalg.norm(at)))

    def _above(self, path: Path, tip: Array, offset: Array, turn: Array, height: Array) -> Path:
        """Over a place of the tip, and down to it; offset: from the hand to the tip, which is held below it."""
        hand = _flat(tip, height) - offset
        up = np.maximum(_TRAVEL - offset[:, 2], path.place[:, 2])
        path.lift(up, 0.32)
        path.around(_flat(hand, up), 0.96, turn)
        return path.to(hand, 0.48)

    def cost(self, after: View) -> Array:
        goal = after.problem.goal
        if self.body == goal.body:
            return goal.distance(after)
        grip = after.point(self.body, after.problem.tool(self.body).grip)
        return np.maximum(after.distance_from_base(grip) - (after.problem.reach - 0.08), 0.0)


@dataclass(frozen=True)
class Push(_Contact):
    """Go behind a body, and move it slowly to where it should be, with the hand or with a face of a tool.

    A tool is moved only until the hand can reach it.

    >>> [p.name for p in fw.planning.Push("block").parameters]
    ['angle', 'aside', 'gap', 'beyond']
    """

    _inward: ClassVar[bool] = False  # whether it moves bodies toward the arm

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("angle", "rad", -0.5, 0.5, 0.0, 0.1),
            Parameter("aside", "m", -0.05, 0.05, 0.0, 0.015),
            Parameter("gap", "m", 0.005, 0.06, 0.025, 0.01),
            Parameter("beyond", "m", -0.08, 0.15, 0.0, 0.02),
        )

    def is_applicable(self, view: View) -> bool:
        if not super().is_applicable(view) or not _is_within(view.problem, self._target(view), self._length(view)):
            return False
        if self.body == view.problem.goal.body:
            return self._is_inward(view) == self._inward
        grip = view.point(self.body, view.problem.tool(self.body).grip)
        return self._inward and not _is_within(view.problem, grip[0], 0.0)

    def _is_inward(self, view: View) -> bool:
        base = view.problem.base
        now, then = view.place(self.body)[0, :2], self._target(view)[:2]
        return bool(np.linalg.norm(then - base) < np.linalg.norm(now - base))

    def path(self, view: View, x: Array) -> Path:
        angle, distance = self._toward(view, self._target(view))
        angle = angle + x[:, 0]
        along, across = _heading(angle), _heading(angle + 0.5 * np.pi)
        offset, turn, height = self._effector(view, angle)
        behind = view.problem.radius(self.body) + 0.02
        start = view.place(self.body)[:, :2] - (behind + x[:, 2])[:, None] * along + x[:, 1, None] * across
        path = self._above(Path(view), start, offset, turn, height)
        end = start + (distance + x[:, 2] + x[:, 3])[:, None] * along
        path.to(_kept_off(view.problem, _flat(end, height) - offset), 1.4)
        back = path.place - 0.04 * np.column_stack([along, np.zeros(len(x))])
        path.to(back, 0.24)
        return path.lift(path.place[:, 2] + 0.06, 0.24)


@dataclass(frozen=True)
class Pull(Push):
    """The same toward the arm.

    >>> fw.planning.Pull("block", tool="hook", face="-x").title
    'pull block with hook'
    """

    _inward: ClassVar[bool] = True


@dataclass(frozen=True)
class Strike(_Contact):
    """Hit a body so that it goes where it should on its own.

    >>> [p.unit for p in fw.planning.Strike("puck").parameters]
    ['rad', 'm', 'm/s']
    """

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("angle", "rad", -1.3, 1.3, 0.0, 0.3),
            Parameter("aside", "m", -0.03, 0.03, 0.0, 0.006),
            Parameter("speed", "m/s", 0.3, 2.6, 1.4, 0.4),
        )

    def is_applicable(self, view: View) -> bool:
        """Goals beyond reach only: others are pushed to."""
        if not super().is_applicable(view) or self.body != view.problem.goal.body:
            return False
        return not _is_within(view.problem, self._target(view), self._length(view))

    @property
    def delay(self) -> float:
        return 0.05

    def path(self, view: View, x: Array) -> Path:
        angle, _ = self._toward(view, self._target(view))
        angle = angle + x[:, 0]
        along, across = _heading(angle), _heading(angle + 0.5 * np.pi)
        offset, turn, height = self._effector(view, angle)
        before, after = 0.2, 0.16
        touch = view.place(self.body)[:, :2] + x[:, 1, None] * across
        touch -= (view.problem.radius(self.body) + 0.02) * along
        speed = x[:, 2]
        start = touch - (0.5 * before * speed)[:, None] * along
        path = self._above(Path(view), start, offset, turn, height)
        velocity = np.column_stack([speed[:, None] * along, np.zeros(len(x))])
        path.through(_flat(touch, height) - offset, velocity, before, after)
        return path.lift(path.place[:, 2] + 0.08, 0.4).stay(1.6)


@dataclass(frozen=True)
class Throw(Skill):
    """Swing a body that is held, and let go of it in flight.

    >>> fw.planning.Throw("ball").parameters[2].name
    'flight'
    """

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("radius", "m", 0.35, 0.65, 0.5, 0.05),
            Parameter("height", "m", 0.4, 0.95, 0.7, 0.08),
            Parameter("flight", "s", 0.3, 0.8, 0.5, 0.06),
            Parameter("angle", "rad", -0.3, 0.3, 0.0, 0.04),
            Parameter("reach", "m", -0.4, 0.6, 0.0, 0.12),
        )

    def is_applicable(self, view: View) -> bool:
        return view.held == self.body == view.problem.goal.body

    def path(self, view: View, x: Array) -> Path:
        problem, goal = view.problem, np.asarray(view.problem.goal.place)
        radius, height, flight, angle, reach = x.T
        to = goal[:2] - problem.base
        azimuth = np.arctan2(to[1], to[0])
        release = np.column_stack([problem.base + radius[:, None] * _heading(np.full(len(x), azimuth)), height])
        distance = np.linalg.norm(to) - radius + reach
        drop = (goal[2] if len(goal) > 2 else _resting_height(problem, self.body)) - height
        g = -float(problem.sim.model.gravity[2])
        velocity = np.column_stack(
            [(distance / flight)[:, None] * _heading(azimuth + angle), drop / flight + 0.5 * g * flight]
        )
        before, after = 0.4, 0.24
        path = Path(view, aim=0.05)
        path.lift(np.maximum(path.place[:, 2], 0.3), 0.4)
        path.around(release - 0.5 * before * velocity, 1.2, np.full(len(x), azimuth)).stay(0.08)
        path.through(release, velocity, before, after)
        path.switch(problem.grasps[self.body], False, earlier=after)
        return path.stay(1.6)

    def cost(self, after: View) -> Array:
        return after.problem.goal.distance(after)


def _kept_off(problem: Problem, hand: Array) -> Array:
    """Places of the hand (n, 3), those too near to the arm's first joint as far as they must be."""
    away = hand[:, :2] - problem.base
    distance = np.maximum(np.linalg.norm(away, axis=1), 1e-9)
    away *= (np.maximum(distance, _NEAREST) / distance)[:, None]
    return np.column_stack([problem.base + away, hand[:, 2]])


def _is_within(problem: Problem, place: Array, more: float) -> bool:
    """Whether the hand gets to a place, with something so long [m]."""
    return bool(np.linalg.norm(place[:2] - problem.base) < problem.reach + more)


def _resting_height(problem: Problem, body: str) -> float:
    """Where the origin of a body is when it lies as it started [m]."""
    return float(View(problem, problem.start).place(body)[0, 2])


def skills_for(problem: Problem) -> tuple[Skill, ...]:
    """All that might be tried: by hand and with every face of every tool, on whatever may be moved.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> servos = scene.servo(scene.add(fw.models.arm(), name="arm"), kp=4000, kd=200)
    >>> block = scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3), name="block", pose=(0.5, 0, 0.04))
    >>> goal = fw.planning.Near("block", (0.4, 0.3), within=0.04)
    >>> problem = fw.planning.Problem(fw.Simulator(scene, dt=4e-3), hand="arm/flange", goal=goal)
    >>> [skill.title for skill in fw.planning.skills_for(problem)]
    ['push block', 'pull block', 'strike block', 'wait block']
    """
    found: list[Skill] = []
    for body in problem.bodies:
        if body in problem.grasps:
            found += [Grasp(body), Release(body)]
        found += [Push(body), Pull(body), Strike(body)]
        for tool in problem.tools:
            if tool.body != body:
                found += [kind(body, tool.body, face) for face in tool.faces for kind in (Push, Pull, Strike)]
    if problem.goal.body in problem.grasps:
        found.append(Throw(problem.goal.body))
    found.append(Wait(problem.goal.body))
    return tuple(found)
