"""Plans: skills with their parameters and controls, which can be replayed, saved and looked at."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import files
from ..arrays import Array
from ..records import Record
from ..simulation.state import State
from ..simulation.trajectory import Trajectory
from . import skills
from .following import Event, followed
from .problem import Problem, View
from .skills import Skill

_FORMAT = 1
#: By how much friction is less or more where a plan is tried.
_FRICTION = 0.1


@dataclass(frozen=True, eq=False)
class Stage(Record):
    """One skill of a plan.

    >>> skill = fw.planning.Wait("ball")
    >>> fw.planning.Stage(skill, np.zeros(0), np.zeros((250, 7)), ()).skill.title
    'wait ball'
    """

    skill: Skill
    x: Array  # (parameters,)
    control: Array  # (steps, nu)
    events: tuple[Event, ...]  # step of the stage, switch, and whether it is turned on


@dataclass(frozen=True)
class Verdict(Record):
    """How far from the goal a plan ends, where it is replayed from its start [m].

    >>> fw.planning.Verdict(0.01, 0.02, 0.03, 0.015).worst
    0.03
    """

    nominal: float
    half_step: float
    less_friction: float  # all coefficients 10 % less
    more_friction: float

    @property
    def worst(self) -> float:
        """The largest of them."""
        return max(self.nominal, self.half_step, self.less_friction, self.more_friction)


@dataclass(frozen=True)
class Statistics(Record):
    """What a plan took to be found.

    >>> fw.planning.Statistics(skeletons=3, samples=1200, seconds=4.0).samples
    1200
    """

    skeletons: int  # that were tried
    samples: int  # of single skills that were simulated
    seconds: float


@dataclass(frozen=True, eq=False)
class Plan(Record):
    """What to do, one skill after the other: the result of :func:`solve`.

    Its controls are followed as they are, whatever happens: a plan that holds at half the step and with other friction
    does not depend on luck. ``print(plan)`` shows a table.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> servos = scene.servo(scene.add(fw.models.arm(), name="arm"), kp=4000, kd=200)
    >>> block = scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3), name="block", pose=(0.5, 0, 0.04))
    >>> goal = fw.planning.Near("block", (0.4, 0.3), within=0.04)
    >>> problem = fw.planning.Problem(fw.Simulator(scene, dt=4e-3), hand="arm/flange", goal=goal)
    >>> nothing = fw.planning.Stage(fw.planning.Wait("block"), np.zeros(0), np.zeros((25, 7)), ())
    >>> plan = fw.planning.Plan(problem, (nothing,))
    >>> plan.replay().q.shape, plan.skeleton, plan.seconds
    ((25, 14), ('wait block',), 0.1)
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/plan"
    >>> plan.html(file + ".html")
    >>> plan.save(file + ".npz")
    >>> fw.planning.Plan.load(problem, file + ".npz").verdict.nominal > goal.within
    True
    """

    problem: Problem
    stages: tuple[Stage, ...]
    verdict: Verdict = Verdict(*[np.inf] * 4)  # infinite: it was not tried
    statistics: Statistics = Statistics(0, 0, 0.0)

    @property
    def skeleton(self) -> tuple[str, ...]:
        """Its skills, in words."""
        return tuple(stage.skill.title for stage in self.stages)

    @property
    def parameters(self) -> tuple[dict[str, float], ...]:
        """Of each skill, by name."""
        return tuple(
            {p.name: float(x) for p, x in zip(stage.skill.parameters, stage.x, strict=True)} for stage in self.stages
        )

    @property
    def control(self) -> Array:
        """(steps, nu) of all actuators."""
        return np.concatenate([stage.control for stage in self.stages])

    @property
    def events(self) -> tuple[Event, ...]:
        """Step of the plan, switch, and whether it is turned on before that step."""
        found, first = [], 0
        for stage in self.stages:
            found += [(first + step, name, on) for step, name, on in stage.events]
            first += len(stage.control)
        return tuple(found)

    @property
    def seconds(self) -> float:
        """That it lasts."""
        return len(self.control) * self.problem.sim.dt

    @cached_property
    def trajectory(self) -> Trajectory:
        """What happens, step by step."""
        return self.replay()

    def replay(self, state: State | None = None, *, half: bool = False) -> Trajectory:
        """Its controls, from another single state than the start. half: at half the step."""
        sim = self.problem.half if half else self.problem.sim
        start = _at_half(self.problem, self.problem.start) if half and state is None else state
        start = self.problem.start if start is None else start
        repeat, first = 2 if half else 1, start.time
        control = np.repeat(self.control, repeat, axis=0)
        turned: dict[int, dict[str, bool]] = {}
        for step, name, on in self.events:
            turned.setdefault(repeat * step, {})[name] = on

        def policy(now: State) -> tuple[None, Array, dict[str, bool] | None]:
            k = round((now.time - first) / sim.dt)
            return None, control[k], turned.get(k)

        return sim.rollout(start, n_steps=len(control), policy=policy)

    def html(self, path: str | os.PathLike[str], *, fps: float = 50.0) -> None:
        """A page that shows it."""
        self.trajectory.html(path, fps=fps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As an .npz file that :meth:`load` reads."""
        outline = [
            {"skill": type(stage.skill).__name__, **vars(stage.skill), "events": stage.events} for stage in self.stages
        ]
        text = np.frombuffer(json.dumps(outline).encode(), dtype=np.uint8)
        arrays: dict[str, Any] = {"format": _FORMAT, "outline": text}
        for k, stage in enumerate(self.stages):
            arrays |= {f"x/{k}": stage.x, f"control/{k}": stage.control}
        files.write_arrays(path, arrays)

    @classmethod
    def load(cls, problem: Problem, path: str | os.PathLike[str]) -> Plan:
        """A saved plan, for the same problem; it is checked anew."""
        arrays = files.read_arrays(path)
        try:
            if "format" not in arrays or arrays["format"].shape != () or arrays["format"] != _FORMAT:
                raise ValueError("not a saved plan, or one of another version")
            outline = json.loads(bytes(arrays["outline"].tolist()))
            stages = tuple(_stage(problem, each, arrays, k) for k, each in enumerate(outline))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None
        plan = cls(problem, stages)
        return replace(plan, verdict=check(problem, [plan])[0])

    def _judged(self, verdict: Verdict, skeletons: int, samples: int, seconds: float) -> Plan:
        """With what is known about it."""
        return replace(self, verdict=verdict, statistics=Statistics(skeletons, samples, seconds))

    def __str__(self) -> str:
        lines, first = [f"{'from':>7}  {'skill':<32}parameters"], 0.0
        for stage, values in zip(self.stages, self.parameters, strict=True):
            units = [p.unit for p in stage.skill.parameters]
            shown = ", ".join(f"{n} {x:.3g} {u}" for (n, x), u in zip(values.items(), units, strict=True))
            lines.append(f"{first:6.2f} s  {stage.skill.title:<32}{shown}".rstrip())
            first += len(stage.control) * self.problem.sim.dt
        v = self.verdict
        if np.isfinite(v.worst):
            lines.append(
                f"{first:6.2f} s  ends {1e3 * v.nominal:.0f} mm from the goal; at half the step "
                f"{1e3 * v.half_step:.0f}, with friction -10 % {1e3 * v.less_friction:.0f}, "
                f"+10 % {1e3 * v.more_friction:.0f} (allowed {1e3 * self.problem.goal.within:.0f})"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Plan: {', '.join(self.skeleton)}>"


def check(problem: Problem, plans: Sequence[Plan]) -> list[Verdict]:
    """Replays plans of one skeleton from the start: as they are, with other friction, and at half the step."""
    n = len(plans)
    control, events = np.stack([plan.control for plan in plans]), plans[0].events
    factors = np.repeat([1.0, 1.0 - _FRICTION, 1.0 + _FRICTION], n)
    own = problem.start.parameters.friction
    start = problem.start[[0] * (3 * n)].randomised(friction=factors if own is None else factors * own[0])
    after = followed(problem.sim, start, np.tile(control, (3, 1, 1)), events)
    away = np.where(after.failed, np.inf, problem.goal.distance(View(problem, after))).reshape(3, n)
    finer = _at_half(problem, problem.start[[0] * n])
    ends = followed(problem.half, finer, np.repeat(control, 2, axis=1), [(2 * k, name, on) for k, name, on in events])
    half = np.where(ends.failed, np.inf, problem.goal.distance(View(problem, ends)))
    return [Verdict(*(float(x) for x in row)) for row in zip(away[0], half, away[1], away[2], strict=True)]


def _at_half(problem: Problem, state: State) -> State:
    """The same state, of the simulator at half the step."""
    return State._from_arrays(problem.half, state._arrays())


def _stage(problem: Problem, outline: dict[str, Any], arrays: dict[str, Any], k: int) -> Stage:
    given = dict(outline)
    kind = getattr(skills, given.pop("skill"))
    events = tuple((int(step), str(name), bool(on)) for step, name, on in given.pop("events"))
    skill = kind(**given)
    x, control = arrays[f"x/{k}"], arrays[f"control/{k}"]
    if x.shape != (len(skill.parameters),):
        raise ValueError(f"stage {k}: expected {len(skill.parameters)} parameters, got {x.shape}")
    if control.ndim != 2 or control.shape[1] != problem.sim.nu:
        raise ValueError(f"stage {k}: expected controls of {problem.sim.nu} actuators, got {control.shape}")
    unknown = [name for _, name, _ in events if name not in problem.sim.switches]
    if unknown:
        raise ValueError(f"stage {k}: the scene has no switch {unknown[0]!r}")
    return Stage(skill, x, control, events)
