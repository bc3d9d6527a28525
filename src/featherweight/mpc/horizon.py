"""The horizon of a controller: nodes of some steps each, and what it may tell the actuators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..checks import at_least
from ..core_tables import StepReports
from ..simulation.simulator import Simulator
from ..simulation.state import State
from ..simulation.switches import check_all_off
from .plan import Plan
from .residuals import numbers_of
from .task import Task

#: [1] by how much a node may miss a whole number of steps.
_WHOLE = 1e-6


class Start(NamedTuple):
    """A state that was checked, to plan from."""

    q: Array  # (nq,)
    v: Array  # (nv,)


class Horizon:
    """What controllers share: nodes, times, bounds, and plans rolled out on lanes."""

    def __init__(
        self, sim: Simulator, task: Task, nodes: int, dt: float | None, bounds: tuple[ArrayLike, ArrayLike] | None
    ) -> None:
        if task.sim is not sim:
            raise ValueError("task: belongs to another simulator")
        if not len(task):
            raise ValueError("task: has no terms yet")
        if not sim.nu:
            raise ValueError("sim: the scene has no actuators, so there is nothing to decide")
        at_least(1, nodes=nodes)
        dt = sim.dt if dt is None else dt
        substeps = round(dt / sim.dt) if np.isfinite(dt) else 0
        if substeps < 1 or abs(dt / sim.dt - substeps) > _WHOLE:
            raise ValueError(f"dt: expected a whole number of steps of {sim.dt:g} s, got {dt!r}")
        self.sim, self.task, self.nodes, self.dt, self.substeps = sim, task, nodes, float(dt), substeps
        self.lower, self.upper = self._bounds(bounds)
        self._mixing, self._offset = sim._actuation.mixing, sim._actuation.offset

    def _bounds(self, bounds: tuple[ArrayLike, ArrayLike] | None) -> tuple[Array, Array]:
        """Those given, within the ranges of the actuators."""
        low, high = (x.copy() for x in self.sim._control_range)
        if bounds is not None:
            given = [np.broadcast_to(numbers_of("bounds", x), (self.sim.nu,)) for x in bounds]
            low, high = np.maximum(low, given[0]), np.minimum(high, given[1])
        if (low > high).any():
            which = self.sim.actuators[int(np.argmax(low > high))].name
            raise ValueError(f"bounds: no control of {which!r} is within them")
        return low, high

    def times(self, time: float) -> Array:
        """Of all nodes, (nodes + 1,)."""
        return np.asarray(time + self.dt * np.arange(self.nodes + 1))

    def moved(self, plan: Plan, time: float) -> NDArray[np.intp]:
        """Which nodes of a plan those of the next one begin as, (nodes + 1,); its end is repeated."""
        passed = round((time - plan.time) / plan.dt)
        if passed < 0:
            raise ValueError(f"time: {time:g} s is before the last plan, of {plan.time:g} s; reset the controller")
        return np.minimum(np.arange(self.nodes + 1) + passed, self.nodes)

    def start(self, state: State) -> Start:
        """What plans begin with."""
        if not isinstance(state, State) or (not state.single and state.batch_size != 1):
            raise ValueError("state: expected that of a single environment")
        model, own = state.simulator.model, self.sim.model
        if state.simulator is not self.sim and model.joint_names != own.joint_names:
            raise ValueError("state: has other joints than the simulator that plans")
        q, v = np.reshape(state.q, -1), np.reshape(state.v, -1)
        if np.any(state.failed) or not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ValueError("state: its environment failed, so there is nothing to plan from")
        check_all_off("state", state)
        return Start(q, v)

    def controls(self, control: ArrayLike) -> Array:
        """(nodes, nu), checked, of finite numbers within bounds."""
        array = numbers_of("control", control)
        if array.shape not in ((self.sim.nu,), (self.nodes, self.sim.nu)):
            raise ValueError(f"control: expected ({self.sim.nu},) or ({self.nodes}, {self.sim.nu}), got {array.shape}")
        return np.clip(np.broadcast_to(array, (self.nodes, self.sim.nu)), self.lower, self.upper)

    def follow(
        self, start: Start, q: Array, v: Array, control: Array, feedforward: Array, gain: Array, lengths: Array
    ) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Rolls out the plan with feedback, once for each length: q, v, control, and which of them failed."""
        lanes = self.sim._environments(len(lengths))
        lanes.q[...], lanes.v[...], lanes.q_start[...], lanes.v_start[...] = start.q, start.v, start.q, start.v
        q, v, control = _core.follow_plan(
            lanes, self.substeps, q, v, control, feedforward, gain, lengths, self.lower, self.upper,
            self._mixing, None if self._mixing is None else self._offset,
            self.sim._options, self.sim.num_threads,
        )  # fmt: skip
        return q, v, control, StepReports.of(lanes).failed


class Planner:
    """What all controllers have: a horizon."""

    def __init__(self, horizon: Horizon) -> None:
        self.horizon = horizon

    @property
    def sim(self) -> Simulator:
        """What it plans with."""
        return self.horizon.sim

    @property
    def task(self) -> Task:
        """What it plans for."""
        return self.horizon.task

    @property
    def dt(self) -> float:
        """Of a node [s]."""
        return self.horizon.dt
