"""Whole-body control by iLQR through the steps of the simulator, contacts included.

Each update rolls the last plan out from the present state with its feedback, linearises all nodes, solves for the best
change of controls within their bounds, and tries several lengths of it as one batch. [Tassa, Erez, Todorov 2012;
Tassa, Mansard, Todorov 2014.]
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..checks import at_least
from ..simulation.simulator import Simulator
from ..simulation.state import State
from .horizon import Horizon, Planner, Start
from .linearised_nodes import LinearisedNodes, Smoothing
from .plan import Plan
from .task import QuadraticCost, Task

#: Lengths of a step that are tried, one on each lane; with none of it, feedback alone.
LENGTHS = (1.0, 0.7, 0.5, 0.3, 0.15, 0.07, 0.03, 0.0)
#: Of the share of its largest curvature that is added to that of controls: bounds, and factors after a good update and
#: a bad one.
LEAST, MOST, LESS, MORE = 1e-8, 1e6, 0.3, 8.0
#: Lengths from which on a step counts as good, and no longer as bad.
GOOD, POOR = 0.5, 0.1
#: The share of the cost by which good steps of a first plan must still improve it.
SETTLED = 1e-3


class ILQR(Planner):
    """Plans by Gauss-Newton steps through the simulator's own steps: any contact, nothing scheduled.

    sim: the simulator that plans, with actuators; a plan has ``nodes`` of ``dt`` seconds, whole numbers of its steps.
    smoothing: derivatives are averages, which help where feet leave the ground. bounds: (lower, upper) of controls,
    within those of the actuators. control: (nu,) or (nodes, nu), what the first plan begins with; by default zero.
    iterations: Gauss-Newton steps in an update; first_iterations: at most, in one that has no plan to begin
    with; it ends where a good step lets the cost fall by less than a thousandth.

    Results depend on the states it was given, not on threads or on time.

    >>> scene = fw.Scene()
    >>> pole = scene.add(fw.models.pendulum(), name="pole")
    >>> actuators = scene.motor(["pole/hinge"])
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> task = fw.mpc.Task(sim)
    >>> term = task.add("angle", fw.mpc.joint_position(), target=0.5, weight=5)
    >>> term = task.add("effort", fw.mpc.control(), weight=0.1)
    >>> mpc = fw.mpc.ILQR(sim, task, nodes=30)
    >>> state = sim.state()
    >>> for _ in range(50):
    ...     plan = mpc.update(state)
    ...     state = sim.step(state, control=plan.feedback(state))
    >>> bool(abs(state.q[0] - 0.5) < 0.05)
    True
    """

    def __init__(
        self,
        sim: Simulator,
        task: Task,
        *,
        nodes: int = 25,
        dt: float | None = None,
        smoothing: Smoothing | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        control: ArrayLike | None = None,
        iterations: int = 1,
        first_iterations: int = 10,
        lengths: Sequence[float] = LENGTHS,
        regularisation: float = 1e-4,
    ) -> None:
        super().__init__(Horizon(sim, task, nodes, dt, bounds))
        at_least(1, iterations=iterations, first_iterations=first_iterations)
        self._nodes = LinearisedNodes(sim, nodes, self.horizon.substeps, smoothing or Smoothing(std=0.0, samples=1))
        self._iterations, self._first_iterations = iterations, max(iterations, first_iterations)
        self._lengths = np.array(lengths, dtype=np.float64)
        if self._lengths.ndim != 1 or not len(self._lengths) or not ((self._lengths >= 0) & (self._lengths <= 1)).all():
            raise ValueError(f"lengths: expected numbers from 0 to 1, got {lengths!r}")
        self._first = self.horizon.controls(np.zeros(sim.nu) if control is None else control)
        self._first_regularisation = float(regularisation)
        self.reset()

    def reset(self, control: ArrayLike | None = None) -> None:
        """Forgets the last plan. control: what the next one begins with, (nu,) or (nodes, nu)."""
        self._plan: Plan | None = None
        self._control = self._first if control is None else self.horizon.controls(control)
        self.regularisation = self._first_regularisation

    def update(self, state: State, time: float = 0.0) -> Plan:
        """The next plan, from this state at this time [s]; the last one, moved there, is what it begins with."""
        horizon = self.horizon
        timing: dict[str, float] = {}
        start, times = horizon.start(state), horizon.times(time)
        began = clock.perf_counter()

        def lap(part: str) -> None:
            nonlocal began
            now = clock.perf_counter()
            timing[part] = timing.get(part, 0.0) + now - began
            began = now

        q, v, control, gain = self._begin(start, time)
        lap("rollout")
        total = first = None
        length = 0.0
        is_first, has_moved = self._plan is None, True
        for _ in range(self._first_iterations if is_first else self._iterations):
            if has_moved:
                A, B = self._nodes(q[:-1], v[:-1], control)
                lap("derivatives")
                cost = self.task.quadratic(q, v, control, times)
                first = cost.value if first is None else first
                lap("costs")
            step, gain = self._solve(A, B, cost, control)
            lap("riccati")
            paths = horizon.follow(start, q[:-1], v[:-1], control, step, gain, self._lengths)
            lap("rollout")
            terms = self.task.costs(*paths[:3], times)
            totals = np.where(paths[3], np.inf, sum(terms.values()))
            best = int(np.argmin(totals))
            lap("costs")
            better = bool(np.isfinite(totals[best]) and totals[best] < cost.value)
            length = float(self._lengths[best]) if better else 0.0
            self._adapt(length)
            has_moved = better or total is None
            if has_moved:
                if not np.isfinite(totals[best]):
                    raise ValueError("state: everything that could be planned from it fails")
                q, v, control = (x[best] for x in paths[:3])
                total = {name: float(x[best]) for name, x in terms.items()}
            if is_first and length >= GOOD and cost.value - totals[best] < SETTLED * cost.value:
                break
        assert total is not None and first is not None
        self._plan = Plan(
            float(time), horizon.dt, q, v, control, gain, horizon.lower, horizon.upper, sum(total.values()), total,
            first, length, timing, self.sim.model,
        )  # fmt: skip
        return self._plan

    def _begin(self, start: Start, time: float) -> tuple[Array, Array, Array, Array]:
        """The last plan, moved in time and rolled out from ``start`` with its feedback."""
        horizon, last = self.horizon, self._plan
        N, nv, nu = horizon.nodes, len(start.v), self.sim.nu
        if last is None:
            q, v = np.tile(start.q, (N, 1)), np.tile(start.v, (N, 1))
            control, gain = self._control, np.zeros((N, nu, 2 * nv))
        else:
            moved = horizon.moved(last, time)[:-1]
            q, v = last.q[moved], last.v[moved]
            within = np.minimum(moved, N - 1)
            control, gain = last.control[within], last.gain[within] * (moved < N)[:, None, None]
        for feedback in (gain, np.zeros_like(gain)):
            paths = horizon.follow(start, q, v, control, np.zeros((N, nu)), feedback, np.zeros(1))
            if not paths[3].any():
                return paths[0][0], paths[1][0], paths[2][0], gain
        raise ValueError("state: the simulation of the last plan from it fails; reset the controller")

    def _solve(self, A: Array, B: Array, cost: QuadraticCost, control: Array) -> tuple[Array, Array]:
        """Changes of controls, and gains. The regularisation rises until they exist."""
        scale = max(float(np.abs(np.diagonal(cost.R, axis1=1, axis2=2)).max()), 1e-12)
        lower, upper = self.horizon.lower - control, self.horizon.upper - control
        is_bounded = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        while True:
            gain, feedforward, *_, failed = _core.riccati(
                A[None], B[None], cost.Q[None], cost.R[None], None, cost.q[None], cost.r[None],
                None, None, None, None, [0], self.regularisation * scale,
                lower[None] if is_bounded else None, upper[None] if is_bounded else None, 1,
            )  # fmt: skip
            if failed[0] < 0 and np.isfinite(feedforward).all() and np.isfinite(gain).all():
                return feedforward[0], gain[0]
            if self.regularisation >= MOST:
                raise ValueError("task: no control is best; let every control cost something")
            self.regularisation = min(max(self.regularisation, LEAST) * MORE, MOST)

    def _adapt(self, length: float) -> None:
        factor = LESS if length >= GOOD else 1.0 if length >= POOR else MORE
        self.regularisation = min(max(self.regularisation * factor, LEAST), MOST)

    def __repr__(self) -> str:
        return f"<ILQR: {self.horizon.nodes} nodes of {self.dt:g} s, {len(self.task)} terms, {self.sim!r}>"
