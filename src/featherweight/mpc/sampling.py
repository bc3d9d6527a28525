"""Plans from samples alone: the best of many controls, or averages of the better ones, on lanes.

All change the last plan by noise at knots, with straight lines between them, and differ in what they make of the costs.
They need no derivatives, and so serve tasks whose slopes say nothing; where slopes do, :class:`ILQR` gets further with
less.
"""

from __future__ import annotations

import time as clock
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import at_least
from ..simulation.simulator import Simulator
from ..simulation.state import State
from .horizon import Horizon, Planner, Start
from .plan import Plan
from .residuals import numbers_of
from .task import Task


class Sampling(Planner, ABC):
    """What they share; see :class:`PredictiveSampling`.

    noise: standard deviation at knots, in units of controls, a number or (nu,). Results depend on the seed and on the
    states that were given, not on threads or on time.

    >>> issubclass(fw.mpc.MPPI, fw.mpc.Sampling)
    True
    """

    def __init__(
        self,
        sim: Simulator,
        task: Task,
        *,
        nodes: int = 25,
        dt: float | None = None,
        samples: int = 64,
        knots: int = 6,
        noise: ArrayLike = 0.1,
        iterations: int = 1,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        control: ArrayLike | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(Horizon(sim, task, nodes, dt, bounds))
        at_least(2, samples=samples)
        at_least(1, knots=knots, iterations=iterations)
        at_least(0, seed=seed)
        if knots > nodes:
            raise ValueError(f"knots: expected at most one for each of {nodes} nodes, got {knots}")
        self._noise = numbers_of("noise", noise)
        if self._noise.shape not in ((), (sim.nu,)) or (self._noise < 0.0).any():
            raise ValueError(f"noise: expected a number or ({sim.nu},), not negative, got {noise!r}")
        self._samples, self._iterations, self._seed = samples, iterations, seed
        at = np.linspace(0.0, nodes - 1.0, knots)
        self._lines = np.stack([np.interp(np.arange(nodes), at, e) for e in np.eye(knots)], axis=1)  # (nodes, knots)
        self._first = self.horizon.controls(np.zeros(sim.nu) if control is None else control)
        self.reset()

    def reset(self, control: ArrayLike | None = None) -> None:
        """Forgets the last plan. control: what the next one begins with, (nu,) or (nodes, nu)."""
        self._control = self._first if control is None else self.horizon.controls(control)
        self._time: float | None = None
        self._updates = 0

    def update(self, state: State, time: float = 0.0) -> Plan:
        """The next plan, from this state at this time [s]; the last one, moved there, is what it begins with."""
        horizon, began = self.horizon, clock.perf_counter()
        start, times = horizon.start(state), horizon.times(time)
        moved = 0 if self._time is None else round((time - self._time) / self.dt)
        control = self._control[np.minimum(np.arange(horizon.nodes) + max(moved, 0), horizon.nodes - 1)]
        rng = np.random.default_rng((self._seed, self._updates))
        spread = np.broadcast_to(self._noise, (self._lines.shape[1], self.sim.nu))
        first = np.inf
        for k in range(self._iterations):
            unit = rng.standard_normal((self._samples, *spread.shape))
            unit[0] = 0.0  # the last plan itself is one of them
            tried = np.clip(control + self._lines @ (self._spread(k, spread) * unit), horizon.lower, horizon.upper)
            costs = self._costs(start, tried, times)
            if not np.isfinite(costs).any():
                raise ValueError("state: everything that could be planned from it fails")
            first = float(costs[0]) if k == 0 else first
            control, spread = self._chosen(tried, costs, spread)
        N, n, nu = horizon.nodes, 2 * self.sim.model.nv, self.sim.nu
        nowhere = np.tile(start.q, (N, 1)), np.tile(start.v, (N, 1))
        gain = np.zeros((N, nu, n))
        q, v, u, _ = horizon.follow(start, *nowhere, control, np.zeros((N, nu)), gain, np.zeros(1))
        terms = {name: float(x[0]) for name, x in self.task.costs(q, v, u, times).items()}
        cost = sum(terms.values())
        self._control, self._time, self._updates = u[0], float(time), self._updates + 1
        timing = {"all": clock.perf_counter() - began}
        return Plan(
            float(time), self.dt, q[0], v[0], u[0], gain, horizon.lower, horizon.upper, cost, terms, first,
            float(cost < first), timing, self.sim.model,
        )  # fmt: skip

    def _costs(self, start: Start, tried: Array, times: Array) -> Array:
        """(samples,), infinite where the simulation failed."""
        n, substeps = len(tried), self.horizon.substeps
        lanes = self.sim.state(n, q=np.tile(start.q, (n, 1)), v=np.tile(start.v, (n, 1)))
        path = self.sim.rollout(lanes, control=np.repeat(tried, substeps, axis=1), every=substeps)
        q = np.concatenate([np.tile(start.q, (n, 1, 1)), path.q], axis=1)
        v = np.concatenate([np.tile(start.v, (n, 1, 1)), path.v], axis=1)
        total = np.sum(list(self.task.costs(q, v, tried, times).values()), axis=0)
        return np.where(path.final.failed, np.inf, total)

    def _spread(self, iteration: int, spread: Array) -> Array:
        """Standard deviations at knots, (knots, nu), in one of the iterations of an update."""
        return spread

    @abstractmethod
    def _chosen(self, tried: Array, costs: Array, spread: Array) -> tuple[Array, Array]:
        """Controls (nodes, nu) from those tried, (samples, nodes, nu), and what the next iteration spreads."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._samples} samples of {self.horizon.nodes} nodes of {self.dt:g} s>"


class PredictiveSampling(Sampling):
    """The best of the samples. [Howell et al. 2022.]

    >>> scene = fw.Scene()
    >>> pole = scene.add(fw.models.pendulum(), name="pole")
    >>> actuators = scene.motor(["pole/hinge"])
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> task = fw.mpc.Task(sim)
    >>> term = task.add("angle", fw.mpc.joint_position(), target=0.5, weight=5)
    >>> plan = fw.mpc.PredictiveSampling(sim, task, nodes=30, noise=2.0).update(sim.state())
    >>> plan.cost < plan.start
    True
    """

    def _chosen(self, tried: Array, costs: Array, spread: Array) -> tuple[Array, Array]:
        return tried[int(np.argmin(costs))], spread


class MPPI(Sampling):
    """The average of samples, weighted by exp(-cost / temperature), in standard deviations of the costs.

    [Williams, Aldrich, Theodorou 2017.]

    >>> scene = fw.Scene()
    >>> motors = scene.motor(scene.add(fw.models.pendulum(), name="pole"))
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> task = fw.mpc.Task(sim)
    >>> angle = task.add("angle", fw.mpc.joint_position(), target=0.5, weight=5)
    >>> plan = fw.mpc.MPPI(sim, task, nodes=30, noise=2.0).update(sim.state())
    >>> plan.cost < plan.start
    True
    """

    def __init__(self, sim: Simulator, task: Task, *, temperature: float = 0.3, **settings: object) -> None:
        if not (np.isfinite(temperature) and temperature > 0.0):
            raise ValueError(f"temperature: expected a positive number, got {temperature!r}")
        self._temperature = temperature
        super().__init__(sim, task, **settings)  # type: ignore[arg-type]

    def _chosen(self, tried: Array, costs: Array, spread: Array) -> tuple[Array, Array]:
        return np.einsum("s,snu->nu", _weights(costs, self._temperature), tried), spread


class CEM(Sampling):
    """The mean of the best samples, which the next iteration spreads as they were spread. [Rubinstein 1999.]

    >>> scene = fw.Scene()
    >>> motors = scene.motor(scene.add(fw.models.pendulum(), name="pole"))
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> task = fw.mpc.Task(sim)
    >>> angle = task.add("angle", fw.mpc.joint_position(), target=0.5, weight=5)
    >>> plan = fw.mpc.CEM(sim, task, nodes=30, noise=2.0).update(sim.state())
    >>> plan.cost < plan.start
    True
    """

    def __init__(self, sim: Simulator, task: Task, *, elites: int = 8, iterations: int = 3, **settings: object) -> None:
        at_least(2, elites=elites)
        self._elites = elites
        super().__init__(sim, task, iterations=iterations, **settings)  # type: ignore[arg-type]
        self._to_knots = np.linalg.pinv(self._lines)

    def _chosen(self, tried: Array, costs: Array, spread: Array) -> tuple[Array, Array]:
        best = tried[_best(costs, self._elites)]
        return best.mean(axis=0), (self._to_knots @ best).std(axis=0)


class DIAL(MPPI):
    """MPPI whose noise shrinks from iteration to iteration, sooner at the beginning of the plan. [Xue et al. 2024.]

    shrink: factor on the noise from one iteration to the next; early: factor at the first knot beside the last.

    >>> scene = fw.Scene()
    >>> motors = scene.motor(scene.add(fw.models.pendulum(), name="pole"))
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> task = fw.mpc.Task(sim)
    >>> angle = task.add("angle", fw.mpc.joint_position(), target=0.5, weight=5)
    >>> plan = fw.mpc.DIAL(sim, task, nodes=30, noise=2.0).update(sim.state())
    >>> plan.cost < plan.start
    True
    """

    def __init__(
        self,
        sim: Simulator,
        task: Task,
        *,
        iterations: int = 3,
        temperature: float = 0.3,
        shrink: float = 0.5,
        early: float = 0.5,
        **settings: object,
    ) -> None:
        for name, value in (("shrink", shrink), ("early", early)):
            if not 0.0 < value <= 1.0:
                raise ValueError(f"{name}: expected a factor above 0, at most 1, got {value!r}")
        self._shrink, self._early = shrink, early
        super().__init__(sim, task, temperature=temperature, iterations=iterations, **settings)

    def _spread(self, iteration: int, spread: Array) -> Array:
        along = self._early ** np.linspace(1.0, 0.0, len(spread))[:, None]
        return np.asarray(self._shrink**iteration * along * spread)


def _weights(costs: Array, temperature: float) -> Array:
    """That sum to one; of samples that failed, zero."""
    finite = np.isfinite(costs)
    away = costs - costs[finite].min()
    scale = temperature * max(float(np.std(costs[finite])), 1e-12)
    weights = np.where(finite, np.exp(-np.where(finite, away, 0.0) / scale), 0.0)
    return np.asarray(weights / weights.sum())


def _best(costs: Array, count: int) -> NDArray[np.intp]:
    """Of those that did not fail."""
    order = np.argsort(costs, kind="stable")[:count]
    return order[np.isfinite(costs[order])]
