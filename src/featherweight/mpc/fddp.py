"""Whole-body control with contacts on a schedule: differential dynamic programming that may start infeasible (FDDP).

Nodes are linearised together, as lanes of a batch, since a plan may have gaps between them: what the plan says of a
state, and where the node before it leads. The Riccati recursion closes gaps as far as the step it leads to is taken.
[Mastalli et al. 2020]
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..checks import at_least
from ..simulation.simulator import Simulator
from ..simulation.state import State
from .contact_costs import ContactCosts
from .horizon import Horizon, Planner, Start
from .plan import Plan
from .residuals import numbers_of
from .schedule import Schedule
from .scheduled_nodes import Contacts, Linearised, ScheduledNodes
from .task import QuadraticCost, Task

#: Lengths of a step that are tried, one on each lane.
LENGTHS = (1.0, 0.7, 0.5, 0.3, 0.15, 0.07, 0.03, 0.01)
#: Of the share of its largest curvature that is added to that of controls: bounds, and factors after a good update and
#: a bad one.
LEAST, MOST, LESS, MORE = 1e-9, 1e6, 0.3, 8.0
#: Lengths from which on a step counts as good; the share of the cost by which a first plan must still improve; the
#: largest gap that it may have then.
GOOD, SETTLED, CLOSED = 0.5, 1e-6, 1e-8
#: The share of what closing gaps is worth that must pay for the cost.
_MARGIN = 0.5
#: [rad/s, m/s] What moves faster has failed.
_FASTEST = 1e4


@dataclass(frozen=True, eq=False, repr=False)
class ScheduledPlan(Plan):
    """What :meth:`FDDP.update` returns: a plan, the forces of its contacts, and the gaps that are left in it.

    >>> scene = fw.Scene()
    >>> robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.3))
    >>> servos = scene.servo(robot, kp=60, kd=1.5)
    >>> sim = fw.Simulator(scene, dt=0.02, integrator="implicit")
    >>> task = fw.mpc.Task(sim)
    >>> term = task.add("posture", fw.mpc.joint_position("robot"))
    >>> feet = [f"robot/{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    >>> plan = fw.mpc.FDDP(sim, task, fw.mpc.Schedule(feet, [True] * 4), nodes=10).update(sim.state())
    >>> plan.closed.shape, plan.forces.shape
    ((10, 4), (10, 12))
    """

    closed: NDArray[np.bool_]  # (N, contacts)
    forces: Array  # (N, rows) of the contacts in their axes [N, N m]; zero where they are open
    gap: float  # the largest, in tangent space [m, rad, m/s, rad/s]


class FDDP(Planner):
    """Plans by Gauss-Newton steps through constrained dynamics, with contacts that open and close on a schedule.

    sim: whose robot and actuators are planned with; its ground and its contacts are not looked at. Servos and motors
    follow their laws: efforts of motors are bounds of their controls, others have no limit; limits of joints and dry
    friction are no part of such plans. schedule: which contacts are closed when. dt: [s] of a node, whole numbers of
    steps of ``sim``; a node is one step. bounds: (lower, upper) of controls. control: (nu,) or (nodes, nu), what the
    first plan begins with; by default what holds the first posture still. iterations: in an update; first_iterations:
    at most, in one that has no plan to begin with; it ends where the cost falls by less than a millionth.

    Plans have gaps until a step of full length is taken, so that a path that is only guessed may begin one:
    ``reset(q=...)``. Results do not depend on threads or on time.

    >>> scene = fw.Scene()
    >>> robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.3))
    >>> actuators = scene.motor(robot)
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> stance = np.tile([0.0, 0.8, -1.6], 4)
    >>> task = fw.mpc.Task(sim, terminal=10.0)
    >>> term = task.add("place", fw.mpc.frame_position("robot/trunk"), target=(0.05, 0.0, 0.25), weight=30)
    >>> term = task.add("posture", fw.mpc.joint_position(), target=stance, weight=0.3)
    >>> term = task.add("rates", fw.mpc.joint_velocity(), weight=0.1)
    >>> term = task.add("effort", fw.mpc.control(), weight=0.02)
    >>> feet = [f"robot/{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    >>> mpc = fw.mpc.FDDP(sim, task, fw.mpc.Schedule(feet, friction=0.7), nodes=40)
    >>> plan = mpc.update(sim.state(q=[0, 0, 0.3, 0, 0, 0, 1, *stance]))
    >>> bool(abs(plan.q[-1, 0] - 0.05) < 5e-3), plan.gap < 1e-8
    (True, True)
    """

    def __init__(
        self,
        sim: Simulator,
        task: Task,
        schedule: Schedule,
        *,
        nodes: int = 25,
        dt: float | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        control: ArrayLike | None = None,
        iterations: int = 1,
        first_iterations: int = 50,
        lengths: Sequence[float] = LENGTHS,
        regularisation: float = 1e-9,
    ) -> None:
        if not isinstance(schedule, Schedule):
            raise ValueError(f"schedule: expected a fw.mpc.Schedule, got {schedule!r}")
        super().__init__(Horizon(sim, task, nodes, dt, bounds))
        self.schedule = schedule
        at_least(1, iterations=iterations, first_iterations=first_iterations)
        self._iterations, self._first_iterations = iterations, max(iterations, first_iterations)
        self._lengths = np.array(lengths, dtype=np.float64)
        if self._lengths.ndim != 1 or not len(self._lengths) or not ((self._lengths > 0) & (self._lengths <= 1)).all():
            raise ValueError(f"lengths: expected numbers above 0, up to 1, got {lengths!r}")
        self._nodes = ScheduledNodes(sim, schedule, self.horizon.dt)
        self._contacts = ContactCosts(schedule, self._nodes.constraints, sim.num_threads)
        self._lower = np.maximum(self.horizon.lower, self._nodes.lower)
        self._upper = np.minimum(self.horizon.upper, self._nodes.upper)
        self._first_control = None if control is None else self.horizon.controls(control)
        self._first_regularisation = float(regularisation)
        self.reset()

    def reset(
        self, control: ArrayLike | None = None, *, q: ArrayLike | None = None, v: ArrayLike | None = None
    ) -> None:
        """Forgets the last plan. What the next one begins with: controls (nu,) or (nodes, nu), a path (nodes + 1, nq)
        and its velocities (nodes + 1, nv); the first state is always that of the update."""
        model, rows = self.sim.model, self.horizon.nodes + 1
        paths: list[Array | None] = []
        for name, x, width in (("q", q, model.nq), ("v", v, model.nv)):
            path = None if x is None else numbers_of(name, x)
            if path is not None and path.shape != (rows, width):
                raise ValueError(
                    f"{name}: expected ({rows}, {width}), a row for each node and one for the end, got {path.shape}"
                )
            paths.append(path)
        self._control = self._first_control if control is None else self.horizon.controls(control)
        self._path = paths
        self._plan: ScheduledPlan | None = None
        self.regularisation = self._first_regularisation

    def update(self, state: State, time: float = 0.0) -> ScheduledPlan:
        """The next plan, from this state at this time [s]; the last one, moved there, is what it begins with."""
        start, times = self.horizon.start(state), self.horizon.times(time)
        contacts = self._scheduled(times)
        q, v, control = self._begin(start, time, contacts)
        is_first = self._plan is None
        timing: dict[str, float] = {}
        first = None
        for _ in range(self._first_iterations if is_first else self._iterations):
            found = self._improve(q, v, control, contacts, times, timing)
            first = found.cost if first is None else first
            if found.path is not None:
                q, v, control = found.path[:3]
            if is_first and found.is_settled:
                break
        assert first is not None
        terms = found.terms
        if not terms:  # nothing better was found
            known = self.task.costs(q[None], v[None], control[None], times)
            terms = {name: float(x[0]) for name, x in known.items()}
        if self._contacts:
            terms["contacts"] = found.contact_cost
        self._plan = ScheduledPlan(
            float(time), self.horizon.dt, q, v, control, found.gain, self._lower, self._upper, sum(terms.values()),
            terms, first, found.length, timing, self.sim.model,
            closed=contacts[0], forces=found.forces, gap=found.gap,
        )  # fmt: skip
        return self._plan

    def _scheduled(self, times: Array) -> Contacts:
        """Contacts of nodes, and which begin with an impact: a contact closes."""
        closed = self.schedule.closed(np.concatenate([[times[0] - self.dt], times[:-1]]))
        return np.ascontiguousarray(closed[1:]), np.asarray((closed[1:] & ~closed[:-1]).any(axis=1))

    def _begin(self, start: Start, time: float, contacts: Contacts) -> tuple[Array, Array, Array]:
        """What the next step is taken from; the first state is that of the robot."""
        N, last = self.horizon.nodes, self._plan
        if last is None:
            q, v = (
                np.tile(x, (N + 1, 1)) if path is None else path.copy()
                for path, x in zip(self._path, (start.q, start.v), strict=True)
            )
            control = self._control
            if control is None:
                closed, which = np.unique(contacts[0], axis=0, return_inverse=True)
                control = np.stack([self._nodes.holding(start.q, on) for on in closed])[np.reshape(which, -1)]
            control = np.clip(control, self._lower, self._upper)
        else:
            moved = self.horizon.moved(last, time)
            q, v, control = last.q[moved], last.v[moved], last.control[np.minimum(moved[:-1], N - 1)]
            for k in range(int(np.argmax(moved)), N):  # beyond its end
                q[k + 1 : k + 2], v[k + 1 : k + 2], _ = self._nodes.advance(
                    q[k : k + 1], v[k : k + 1], control[k : k + 1], (contacts[0][k : k + 1], contacts[1][k : k + 1])
                )
            if not np.abs(v).max() < _FASTEST:
                raise ValueError("state: what the last plan leads to is too fast; reset the controller")
        q[0], v[0] = start.q, start.v
        return q, v, control

    def _improve(
        self, q: Array, v: Array, control: Array, contacts: Contacts, times: Array, timing: dict[str, float]
    ) -> _Step:
        """One Gauss-Newton step."""
        began = clock.perf_counter()

        def lap(part: str) -> None:
            nonlocal began
            now = clock.perf_counter()
            timing[part] = timing.get(part, 0.0) + now - began
            began = now

        nodes = self._nodes.linearise(q[:-1], v[:-1], control, contacts)
        gaps = np.concatenate([self.sim.model.difference(q[1:], nodes.q), nodes.v - v[1:]], axis=1)
        lap("derivatives")
        cost, S = self._quadratic(q, v, control, contacts[0], times, nodes)
        lap("costs")
        gain, feedforward, dx, du = self._solve(nodes, gaps, cost, S, control)
        lap("riccati")
        paths = self._follow(q, v, control, gaps, feedforward, gain, contacts)
        lap("rollout")
        price = self._price(cost, S, dx, du, gaps)
        apart = float(np.abs(gaps).sum())
        terms = self.task.costs(paths.q, paths.v, paths.control, times)
        of_contacts = self._of_contacts(paths, contacts[0])
        totals = sum(terms.values(), of_contacts)
        merits = np.where(paths.failed, np.inf, totals + price * apart * (1.0 - self._lengths))
        best = int(np.argmin(merits))
        before = cost.value + price * apart
        better = bool(merits[best] < before)
        length = float(self._lengths[best]) if better else 0.0
        lap("costs")
        factor = LESS if length >= GOOD else 1.0 if length > 0.0 else MORE
        self.regularisation = min(max(self.regularisation * factor, LEAST), MOST)
        largest = float(np.abs(gaps).max(initial=0.0)) * (1.0 - length)
        is_settled = before - min(merits[best], before) < SETTLED * abs(before) and largest < CLOSED
        if not better:
            kept = float(self._contacts.value(q[:-1], nodes.forces, contacts[0]).sum()) if self._contacts else 0.0
            is_settled |= self.regularisation >= MOST
            return _Step(cost.value, None, {}, gain, nodes.forces, kept, length, largest, is_settled)
        path = (paths.q[best], paths.v[best], paths.control[best])
        of_path = {name: float(x[best]) for name, x in terms.items()}
        paid = float(of_contacts[best])
        return _Step(cost.value, path, of_path, gain, paths.forces[best], paid, length, largest, is_settled)

    def _quadratic(
        self, q: Array, v: Array, control: Array, closed: NDArray[np.bool_], times: Array, nodes: Linearised
    ) -> tuple[QuadraticCost, Array | None]:
        """The cost to second order, and its mixed part (N, nu, 2 nv)."""
        cost = self.task.quadratic(q, v, control, times)
        if not self._contacts:
            return cost, None
        own = self._contacts.quadratic(q[:-1], nodes, closed)
        cost.q[:-1] += own.q
        cost.Q[:-1] += own.Q
        return QuadraticCost(cost.value + own.value, cost.q, cost.Q, cost.r + own.r, cost.R + own.R), own.S

    def _solve(
        self, nodes: Linearised, gaps: Array, cost: QuadraticCost, S: Array | None, control: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Gains, changes of controls, and the step. The regularisation rises until they exist."""
        nv = self.sim.model.nv
        scale = max(float(np.abs(np.diagonal(cost.R, axis1=1, axis2=2)).max()), 1e-12)
        A, B = (np.concatenate([np.zeros_like(x), x], axis=1)[None] for x in (nodes.A, nodes.B))
        lower, upper = self._lower - control, self._upper - control
        is_bounded = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        blocks = self._nodes.blocks
        while True:
            gain, feedforward, x, u, *_, failed = _core.riccati(
                A, B, cost.Q[None], cost.R[None], None if S is None else S[None], cost.q[None], cost.r[None],
                gaps[None], np.zeros((1, 2 * nv)), nodes.E[None], nodes.D[None], blocks, self.regularisation * scale,
                lower[None] if is_bounded else None, upper[None] if is_bounded else None, 1,
            )  # fmt: skip
            if failed[0] < 0 and np.isfinite(feedforward).all() and np.isfinite(gain).all():
                return gain[0], feedforward[0], x[0], u[0]
            if self.regularisation >= MOST:
                raise ValueError("task: no control is best; let every control cost something")
            self.regularisation = min(max(self.regularisation, LEAST) * MORE, MOST)

    def _price(self, cost: QuadraticCost, S: Array | None, dx: Array, du: Array, gaps: Array) -> float:
        """Of gaps, per unit: so high that the step is worth taking."""
        apart = float(np.abs(gaps).sum())
        if apart == 0.0:
            return 0.0
        slope = float((cost.q * dx).sum() + (cost.r * du).sum())
        curvature = np.einsum("ki,kij,kj->", dx, cost.Q, dx) + np.einsum("ki,kij,kj->", du, cost.R, du)
        if S is not None:
            curvature += 2.0 * np.einsum("ki,kij,kj->", du, S, dx[:-1])
        return max(slope + 0.5 * float(curvature), 0.0) / (_MARGIN * apart) + 1e-9 * abs(cost.value) / apart

    def _follow(
        self, q: Array, v: Array, control: Array, gaps: Array, feedforward: Array, gain: Array, contacts: Contacts
    ) -> _Paths:
        """Rolls steps of all lengths out, with feedback; gaps shrink by as much as a length is long."""
        model, n, N = self.sim.model, len(self._lengths), len(control)
        nv, length = model.nv, self._lengths[:, None]
        paths = _Paths(
            np.empty((n, *q.shape)), np.empty((n, *v.shape)), np.empty((n, *control.shape)),
            np.empty((n, N, self._nodes.constraints.n_rows)), np.zeros(n, dtype=np.bool_),
        )  # fmt: skip
        paths.q[:, 0], paths.v[:, 0] = q[0], v[0]
        now_q, now_v = np.tile(q[0], (n, 1)), np.tile(v[0], (n, 1))
        first = control[:, None] + length * feedforward[:, None]  # (N, lengths, nu), without feedback
        plan_q, closed, lands = (np.repeat(x[:, None], n, axis=1) for x in (q, *contacts))
        is_apart = np.asarray(gaps.any(axis=1))
        for k in range(N):
            away = np.concatenate([model.difference(plan_q[k], now_q), now_v - v[k]], axis=1)
            u = np.minimum(np.maximum(first[k] + away @ gain[k].T, self._lower), self._upper)
            now_q, now_v, paths.forces[:, k] = self._nodes.advance(now_q, now_v, u, (closed[k], lands[k]))
            if is_apart[k]:
                left = (length - 1.0) * gaps[k]
                now_q, now_v = np.asarray(model.integrate(now_q, left[:, :nv])), now_v + left[:, nv:]
            if not np.abs(now_v).max() < _FASTEST:
                fast = ~(np.abs(now_v).max(axis=1) < _FASTEST)
                paths.failed[fast] = True
                now_q[fast], now_v[fast] = q[k + 1], v[k + 1]
            paths.q[:, k + 1], paths.v[:, k + 1], paths.control[:, k] = now_q, now_v, u
        return paths

    def _of_contacts(self, paths: _Paths, closed: NDArray[np.bool_]) -> Array:
        """What forces of contacts cost, (lengths,)."""
        n, N = len(self._lengths), len(closed)
        if not self._contacts:
            return np.zeros(n)
        flat = paths.q[:, :-1].reshape(n * N, -1), paths.forces.reshape(n * N, -1), np.tile(closed, (n, 1))
        return np.asarray(self._contacts.value(*flat).reshape(n, N).sum(axis=1))

    def __repr__(self) -> str:
        return f"<FDDP: {self.horizon.nodes} nodes of {self.dt:g} s, {len(self.task)} terms, {self.schedule!r}>"


@dataclass(frozen=True, eq=False)
class _Paths:
    """Of all lengths."""

    q: Array  # (lengths, N + 1, nq)
    v: Array
    control: Array  # (lengths, N, nu)
    forces: Array  # (lengths, N, rows)
    failed: NDArray[np.bool_]  # (lengths,)


@dataclass(frozen=True, eq=False)
class _Step:
    """What came of a Gauss-Newton step."""

    cost: float  # before it
    path: tuple[Array, Array, Array] | None  # q, v and control; None: nothing better was found
    terms: dict[str, float]  # of the path
    gain: Array
    forces: Array
    contact_cost: float
    length: float
    gap: float  # the largest that is left
    is_settled: bool
