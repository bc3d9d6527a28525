"""Plans: what a controller means to do, and how it answers if the state is not where the plan says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..records import Record
from ..simulation.state import State

if TYPE_CHECKING:
    from ..model.model import Model


@dataclass(frozen=True, eq=False)
class Plan(Record):
    """What ``mpc.update`` returns, N nodes of dt seconds each. Made by :class:`ILQR` and its siblings.

    >>> scene = fw.Scene()
    >>> motors = scene.motor(scene.add(fw.models.pendulum(), name="pole"))
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> task = fw.mpc.Task(sim)
    >>> angle = task.add("angle", fw.mpc.joint_position(), target=0.5, weight=5)
    >>> plan = fw.mpc.ILQR(sim, task, nodes=30).update(sim.state())
    >>> plan.control.shape, plan.feedback(sim.state()).shape
    ((30, 1), (1,))
    """

    time: float  # [s] of its first node
    dt: float  # [s] between nodes
    q: Array  # (N + 1, nq)
    v: Array  # (N + 1, nv)
    control: Array  # (N, nu), each held until the next node
    gain: Array  # (N, nu, 2 nv): what changes of (q, v), in tangent space, change in it; zero if sampled
    lower: Array  # (nu,), bounds of controls
    upper: Array
    cost: float
    terms: Mapping[str, float]  # by name of a term of the task: their sum is the cost
    start: float  # cost of what the update began with
    length: float  # of the step it took, 0 to 1; 0: nothing better was found
    timing: Mapping[str, float]  # [s] by part of the update
    model: Model

    def node(self, time: float) -> int:
        """The node whose control is in force at ``time``; the last one after the end."""
        n = int(np.floor((time - self.time) / self.dt + 1e-9))
        return min(max(n, 0), len(self.control) - 1)

    def feedback(self, state: State, time: float | None = None, share: float = 1.0) -> Array:
        """The control for a state as it is, ([batch,] nu): that of the plan and its gain times what is missed.

        time: [s], by default that of the first node. Between nodes, states are compared with those on the way.
        share: of the gains, 0 to 1.
        """
        time = self.time if time is None else float(time)
        k = self.node(time)
        if share == 0.0:
            return np.broadcast_to(self.control[k], (*np.shape(state.q)[:-1], len(self.lower))).copy()
        way = min(max((time - self.time) / self.dt - k, 0.0), 1.0)
        step = np.asarray(self.model.difference(self.q[k], self.q[k + 1]))
        q = self.model.integrate(self.q[k], way * step)
        v = (1.0 - way) * self.v[k] + way * self.v[k + 1]
        shape = np.shape(state.q)[:-1]
        missed = np.concatenate(
            [self.model.difference(np.broadcast_to(q, (*shape, len(q))), state.q), state.v - v], axis=-1
        )
        return np.asarray(np.clip(self.control[k] + share * (missed @ self.gain[k].T), self.lower, self.upper))

    def __repr__(self) -> str:
        return f"<Plan: {len(self.control)} nodes of {self.dt:g} s from t = {self.time:g} s, cost {self.cost:.4g}>"
