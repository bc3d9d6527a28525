"""Best-first search over skeletons of skills, with the cross-entropy method for their parameters.

A node is a skeleton with some ways of doing it: parameters, controls and the states they lead to. It is made from a
node with one skill less by drawing parameters of that skill and simulating them, all side by side, from the states that
are there; the better ones tell where to draw next. Nodes that are near the goal are continued first.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import at_least
from ..errors import PlanningError
from ..progress import progress_bar
from ..simulation.state import State
from .following import Event, followed
from .motion import controls_along
from .plan import Plan, Stage, Verdict, check
from .problem import KNOT, Problem, View
from .skills import Parameter, Skill, skills_for

#: Samples of a skill at a time, how many of them are kept, and how often they are drawn.
_SAMPLES, _KEPT, _ROUNDS = 96, 12, 5
#: A spread is never less than this share of its bounds.
_LEAST_SPREAD = 0.004
#: [m] What one more skill costs beside the distance from the goal, and what the hand may miss its path by for nothing;
#: what it misses beyond counts twice.
_PER_SKILL, _MISSED, _MISS = 0.15, 0.01, 2.0
#: [m] What trying a skill once more costs, with samples spread wider each time, and how often that is done.
_AGAIN, _MOST_TIMES = 0.3, 5
#: [m] Skills that do no more than this for what they are for are left out.
_PROGRESS = 0.005
#: Of what the goal allows: skills that are as near are not drawn again.
_NEAR_ENOUGH = 0.3
#: [m] The cost of an environment that failed.
_FAILED = 100.0
#: Of a polish: how often, how many samples at a time, and how far they spread, of what a search begins with.
_POLISHES, _POLISHED, _POLISH_SPREAD = 4, 32, 0.2


@dataclass
class _Node:
    """Some ways of doing the skills of a skeleton, the best first."""

    state: State  # (ways) at their ends
    stages: tuple[Skill, ...] = ()
    x: tuple[Array, ...] = ()  # of each skill, (ways, parameters)
    control: tuple[Array, ...] = ()  # of each skill, (ways, steps, nu)
    events: tuple[list[Event], ...] = ()  # of each skill, by its steps
    cost: float = 0.0  # [m]

    def continued(self, skill: Skill, ways: _Ways, cost: float) -> _Node:
        """With one more skill."""
        rows = ways.parent
        return _Node(
            ways.state,
            (*self.stages, skill),
            (*(x[rows] for x in self.x), ways.x),
            (*(u[rows] for u in self.control), ways.control),
            (*self.events, ways.events),
            cost,
        )


@dataclass
class _Ways:
    """Some samples of one skill."""

    parent: NDArray[np.int64]  # (n,) which way of the skeleton before it
    x: Array  # (n, parameters)
    control: Array  # (n, steps, nu)
    events: list[Event]
    state: State
    cost: Array  # (n,) [m]

    def best(self, n: int) -> _Ways:
        """Those of least cost, of those that did not fail."""
        order = np.argsort(self.cost, kind="stable")[:n]
        order = order[self.cost[order] < _FAILED] if self.cost[order[0]] < _FAILED else order[:1]
        x, control, state = self.x[order], self.control[order], self.state[order]
        return _Ways(self.parent[order], x, control, self.events, state, self.cost[order])

    def and_(self, other: _Ways) -> _Ways:
        """All of both."""
        parent, x = np.concatenate([self.parent, other.parent]), np.concatenate([self.x, other.x])
        control, cost = np.concatenate([self.control, other.control]), np.concatenate([self.cost, other.cost])
        return _Ways(parent, x, control, self.events, State.join([self.state, other.state]), cost)


class _Budget:
    """Seconds, or simulated samples: what is spent first ends the search."""

    def __init__(self, seconds: float | None, samples: int | None) -> None:
        self._seconds, self._most, self._began = seconds, samples, time.monotonic()
        self.samples = 0

    @property
    def elapsed(self) -> float:
        """[s]"""
        return time.monotonic() - self._began

    @property
    def share(self) -> float:
        """That is spent, at most 1."""
        of_samples = 0.0 if self._most is None else self.samples / self._most
        of_seconds = 0.0 if self._seconds is None else self.elapsed / self._seconds
        return min(1.0, max(of_samples, of_seconds))

    @property
    def is_spent(self) -> bool:
        return self.share >= 1.0


def solve(
    problem: Problem,
    *,
    seconds: float | None = None,
    samples: int | None = None,
    seed: int = 0,
    skills: Sequence[Skill] | None = None,
    most_skills: int = 6,
    progress: bool = False,
) -> Plan:
    """A plan whose motion brings about the goal, also at half the step and with friction 10 % less or more.

    seconds: for which it may search, 60 unless ``samples`` are given: the number of skills that may be simulated. Given
    samples alone, the result depends on the seed and on nothing else. skills: what may be done, by default all that
    :func:`skills_for` finds. most_skills: in a row. progress: show a progress bar.

    Raises a :class:`~featherweight.PlanningError` where nothing is found, which says what came closest.

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.5))
    >>> start = [0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0]
    >>> arm = scene.add(fw.models.arm(), name="arm", q=start, self_collision=False)
    >>> servos = scene.servo(arm, kp=4000, kd=200)
    >>> block = scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3), name="block", pose=(0.5, 0.1, 0.04))
    >>> sim = fw.Simulator(scene, dt=4e-3, integrator="implicit")
    >>> problem = fw.planning.Problem(sim, hand="arm/flange", goal=fw.planning.Near("block", (0.45, -0.1), within=0.05))
    >>> plan = fw.planning.solve(problem, samples=400, seed=0)
    >>> plan.verdict.worst < 0.05
    True
    """
    at_least(0, seed=seed)
    at_least(1, most_skills=most_skills)
    if samples is not None:
        at_least(1, samples=samples)
    if seconds is not None and not (isinstance(seconds, int | float) and np.isfinite(seconds) and seconds > 0.0):
        raise ValueError(f"seconds: expected a positive number, got {seconds!r}")
    if problem.is_solved(problem.start):
        raise PlanningError(f"{problem.goal.body!r} is at the goal already")
    known = skills_for(problem) if skills is None else tuple(skills)
    if wrong := [each for each in known if not isinstance(each, Skill)]:
        raise ValueError(f"skills: expected skills such as planning.Push, got {wrong[0]!r}")
    budget = _Budget(60.0 if seconds is None and samples is None else seconds, samples)
    search = _Search(problem, known, budget, seed, most_skills)
    with progress_bar(100, "planning", enabled=progress) as advance:
        shown = 0
        for _ in search.steps():
            now = 100 if search.found else round(100 * budget.share)
            advance(now - shown)
            shown = now
    return search.result()


class _Search:
    def __init__(
        self, problem: Problem, skills: tuple[Skill, ...], budget: _Budget, seed: int, most_skills: int
    ) -> None:
        self._problem, self._skills, self._budget = problem, skills, budget
        self._seed, self._most_skills = seed, most_skills
        self._queue: list[tuple[float, int, _Node, Skill, int]] = []  # the last: how often it was tried before
        self._queued = self._tried = 0
        self._closest: tuple[float, tuple[Skill, ...]] = np.inf, ()
        self.found: Plan | None = None

    def steps(self) -> Iterator[None]:
        """One skill at the end of one skeleton after the other."""
        self._queue_after(_Node(self._problem.start[[0]]))
        if not self._queue:
            raise PlanningError("no skill is applicable: nothing that may be moved is within reach")
        while self._queue and not self.found and not self._budget.is_spent:
            priority, _, parent, skill, times = heapq.heappop(self._queue)
            node = self._optimised(parent, skill, times)
            self._tried += 1
            if skill.parameters and times < _MOST_TIMES:  # what samples missed others may hit
                self._put(priority + _AGAIN, parent, skill, times + 1)
            yield
            if node is None:
                continue
            distance = self._distance(node.state)
            if distance < self._closest[0]:
                self._closest = distance, node.stages
            if distance <= self._problem.goal.within:
                self._finish(node)
                yield
            if len(node.stages) < self._most_skills and not self.found:
                self._queue_after(node)

    def result(self) -> Plan:
        """What was found; a PlanningError if nothing was."""
        if self.found is not None:
            return self.found
        distance, stages = self._closest
        spent = f"{self._tried} skeletons, {self._budget.samples} samples, {self._budget.elapsed:.0f} s"
        if not stages:
            raise PlanningError(f"no plan in {spent}: no skill did what it is for")
        titles = ", ".join(skill.title for skill in stages)
        raise PlanningError(f"no plan in {spent}; closest: {titles}, {distance:.3g} m from the goal")

    def _distance(self, state: State) -> float:
        """Of the best way [m]."""
        return float(self._problem.goal.distance(View(self._problem, state[[0]]))[0])

    def _queue_after(self, node: _Node) -> None:
        view = View(self._problem, node.state)
        for skill in self._skills:
            if node.stages and skill.is_idle_after(node.stages[-1]):
                continue
            if skill.is_applicable(view):
                self._put(node.cost + _PER_SKILL * (len(node.stages) + 1) + skill.delay, node, skill, 0)

    def _put(self, priority: float, node: _Node, skill: Skill, times: int) -> None:
        self._queued += 1
        heapq.heappush(self._queue, (priority, self._queued, node, skill, times))

    # -- one skill ---------------------------------------------------------------------------------------------------

    def _optimised(self, parent: _Node, skill: Skill, times: int) -> _Node | None:
        """The parent and one more skill, by the cross-entropy method; None if it does not do what it is for."""
        rng = np.random.default_rng((self._seed, self._tried))
        of = skill.parameters
        lower, upper, mean, spread = _numbers_of(of)
        spread = spread * (1 + times)
        n_parents = parent.state.batch_size
        ways: _Ways | None = None
        parents: NDArray[np.int64] = np.arange(n_parents)
        for k in range(_ROUNDS if of else 1):
            n = _SAMPLES if of else n_parents
            chosen = np.arange(n) % n_parents if k == 0 else rng.choice(parents, n)
            x = np.clip(mean + spread * rng.standard_normal((n, len(of))), lower, upper)
            if k == 0 and of:
                x[0] = mean
            drawn = self._simulated(parent.state[chosen], chosen, skill, x)
            ways = (drawn if ways is None else ways.and_(drawn)).best(_KEPT)
            if of:
                mean = ways.x.mean(axis=0)
                spread = np.maximum(ways.x.std(axis=0), _LEAST_SPREAD * (upper - lower))
                parents = ways.parent
            if self._budget.is_spent or ways.cost[0] < _NEAR_ENOUGH * self._problem.goal.within:
                break
        assert ways is not None
        before = View(self._problem, parent.state)
        if ways.cost[0] >= _FAILED or (of and not ways.cost[0] < skill.cost(before)[0] - _PROGRESS):
            return None
        to_go = min(self._distance(ways.state), 1.0) + min(float(ways.cost[0]), 1.0)
        return parent.continued(skill, ways, to_go)

    def _simulated(self, start: State, parents: NDArray[np.int64], skill: Skill, x: Array) -> _Ways:
        before = View(self._problem, start)
        path = skill.path(before, x)
        control, miss = controls_along(self._problem, before, path)
        per_knot = round(KNOT / self._problem.sim.dt)
        events = [(knot * per_knot, name, on) for knot, name, on in path.events]
        after = followed(self._problem.sim, start, control, events)
        self._budget.samples += len(x)
        cost = skill.cost(View(self._problem, after)) + _MISS * np.maximum(miss - _MISSED, 0.0)
        cost = np.where(after.failed | ~np.isfinite(cost), _FAILED, cost)
        return _Ways(parents, x, control, events, after, cost)

    # -- the end -----------------------------------------------------------------------------------------------------

    def _finish(self, node: _Node) -> None:
        """The best of the ways of a skeleton, polished if it is not good enough at half the step or other friction."""
        plan, verdict = self._best_of(node)
        if verdict.worst > self._problem.goal.within:
            plan, verdict = self._polished(plan, verdict)
        if verdict.worst <= self._problem.goal.within:
            self.found = plan._judged(verdict, self._tried, self._budget.samples, self._budget.elapsed)

    def _best_of(self, node: _Node) -> tuple[Plan, Verdict]:
        plans = self._plans(node)
        verdicts = check(self._problem, plans)
        best = int(np.argmin([each.worst for each in verdicts]))
        return plans[best], verdicts[best]

    def _plans(self, node: _Node) -> list[Plan]:
        """One for each way."""
        columns = list(zip(node.stages, node.x, node.control, node.events, strict=True))
        return [
            Plan(self._problem, tuple(Stage(skill, x[k], u[k], tuple(events)) for skill, x, u, events in columns))
            for k in range(node.state.batch_size)
        ]

    def _polished(self, plan: Plan, verdict: Verdict) -> tuple[Plan, Verdict]:
        """All parameters of the skeleton together, by the cross-entropy method, for the worst of the checks."""
        rng = np.random.default_rng((self._seed, self._tried, 1))
        lower, upper, _, spread = _numbers_of([p for stage in plan.stages for p in stage.skill.parameters])
        mean, spread = np.concatenate([stage.x for stage in plan.stages]), _POLISH_SPREAD * spread
        best = plan, verdict
        for _ in range(_POLISHES):
            x = np.clip(mean + spread * rng.standard_normal((_POLISHED, len(mean))), lower, upper)
            x[0] = mean
            plans = self._plans(self._again(plan, x))
            verdicts = check(self._problem, plans)
            self._budget.samples += 4 * len(x) * len(plan.stages)
            order = np.argsort([each.worst for each in verdicts], kind="stable")[: _KEPT // 2]
            if verdicts[order[0]].worst < best[1].worst:
                best = plans[order[0]], verdicts[order[0]]
            if best[1].worst <= self._problem.goal.within or self._budget.is_spent:
                break
            mean = x[order].mean(axis=0)
            spread = np.maximum(x[order].std(axis=0), 0.25 * _LEAST_SPREAD * (upper - lower))
        return best

    def _again(self, plan: Plan, x: Array) -> _Node:
        """The skills of a plan with other parameters (n, all)."""
        rows, first = np.arange(len(x)), 0
        node = _Node(self._problem.start[[0] * len(x)])
        for stage in plan.stages:
            own = x[:, first : first + len(stage.x)]
            node = node.continued(stage.skill, self._simulated(node.state, rows, stage.skill, own), 0.0)
            first += len(stage.x)
        return node


def _numbers_of(parameters: Sequence[Parameter]) -> tuple[Array, Array, Array, Array]:
    """Lower and upper bounds, means and spreads."""
    columns = ([getattr(p, name) for p in parameters] for name in ("lower", "upper", "mean", "spread"))
    lower, upper, mean, spread = (np.array(column, dtype=np.float64) for column in columns)
    return lower, upper, mean, spread
