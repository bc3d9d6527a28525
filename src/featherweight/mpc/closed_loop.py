"""Closed loops: a controller against a plant that is not quite what it plans with, as robots are."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, real_numbers
from ..progress import progress_bar
from ..records import Record
from ..simulation.simulator import Simulator
from ..simulation.state import State
from .plan import Plan

if TYPE_CHECKING:
    from ..viewer.animation import Animation

#: [s] The most by which a step of the prediction over the delay may exceed that of the plant.
_WHOLE = 1e-6


class Controller(Protocol):
    """What makes plans: :class:`ILQR` and its siblings."""

    @property
    def sim(self) -> Simulator:
        """What it plans with."""

    @property
    def dt(self) -> float:
        """Of a node [s]."""

    def update(self, state: State, time: float = 0.0) -> Plan:
        """The next plan."""


#: Forces on links (n_links, 6), as ``f_ext`` of a step, at a time [s] and a state of the plant; None: none.
Push = Callable[[float, State], "ArrayLike | None"]


@dataclass(frozen=True, eq=False)
class ClosedLoop(Record):
    """What :func:`run` returns: a row for each step of the plant, and one for each update.

    >>> fw.mpc.ClosedLoop.__dataclass_fields__["update_seconds"].name
    'update_seconds'
    """

    plant: Simulator
    time: Array  # (steps,) [s] after each step
    q: Array  # (steps, nq)
    v: Array  # (steps, nv)
    control: Array  # (steps, nu), what the plant was told
    final: State
    update_time: Array  # (updates,) [s] of the states that plans were made for
    update_seconds: Array  # (updates,) what they took on this machine
    cost: Array  # (updates,)
    length: Array  # (updates,) of steps; 0: nothing better was found
    refused: int  # updates that found no plan: the last one was followed further
    failed_at: float | None  # [s] when the plant failed, or what ``until`` said; None: it did not

    @property
    def rate(self) -> float:
        """Updates per second that this machine could have made: one over the median of what they took."""
        return float(1.0 / np.median(self.update_seconds))

    def animation(self) -> Animation:
        """For :func:`featherweight.view`."""
        from ..viewer.animation import Animation
        from ..viewer.world import World

        return Animation(World.of(self.plant.scene), self.plant.model.name, self.time, self.q[None])

    def html(self, path: str | os.PathLike[str], *, fps: float = 50.0) -> None:
        """Save the motion as a web page, see :meth:`Trajectory.html`."""
        from ..viewer.page import save_page

        save_page(self.animation(), path, fps=fps)

    def video(self, path: str | os.PathLike[str], *, fps: float = 30.0, size: tuple[int, int] = (1280, 720)) -> None:
        """Save the motion as an MP4 file, or as images, see :meth:`Trajectory.video`."""
        from ..viewer.film import save_video

        save_video(self.animation(), path, fps=fps, size=size)

    def __repr__(self) -> str:
        end = "" if self.failed_at is None else f", failed at {self.failed_at:.2f} s"
        most = 1e3 * float(np.quantile(self.update_seconds, 0.99))
        return (
            f"<ClosedLoop: {self.time[-1] if len(self.time) else 0.0:.2f} s, {len(self.update_time)} updates at "
            f"{self.rate:.0f} Hz (99 % within {most:.1f} ms), {self.refused} refused{end}>"
        )


def run(
    mpc: Controller,
    plant: Simulator,
    state: State,
    seconds: float,
    *,
    push: Push | None = None,
    delay: float = 0.0,
    period: float | None = None,
    feedback: float = 0.0,
    until: Callable[[State], bool] | None = None,
    progress: bool = False,
    show: Callable[[State], object] | None = None,
) -> ClosedLoop:
    """A controller against a plant, whose friction, masses, motors and steps may be others than it plans with.

    state: of a single environment of the plant, with parameters of its own if it was ``randomised``. push: forces on
    links at a time, for instance ``lambda t, s: plant.push(s, "robot/trunk", (0, 50, 0)) if 1 < t < 1.1 else None``.
    period: [s] between updates, by default a node. delay: [s] from a state to the plan that was made for it; the
    controller knows it, and plans from where its own simulator says the state will be by then. feedback: share of the
    plan's gains with which every step of the plant is answered between updates, 0 to 1. Gains are those for controls
    that are held for a node: of robots with contacts, all of them at a higher rate are too much.
    until: ends the run as a failure where it returns True, for instance once a robot has fallen. An update that
    raises ValueError is counted, and the last plan followed further; the first one must not. show: called with states
    of the plant 25 times a second, for instance that of ``fw.LiveView``.

    Nothing in the motion depends on how fast the machine is.

    >>> scene = fw.Scene()
    >>> motors = scene.motor(scene.add(fw.models.pendulum(), name="pole"))
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> task = fw.mpc.Task(sim)
    >>> angle = task.add("angle", fw.mpc.joint_position(), target=0.5, weight=5)
    >>> log = fw.mpc.run(fw.mpc.ILQR(sim, task, nodes=30), sim, sim.state(), 1.0)
    >>> log.q.shape, bool(abs(log.q[-1, 0] - 0.5) < 0.05)
    ((50, 1), True)
    """
    if not isinstance(state, State) or not state.single or state.simulator != plant:
        raise ValueError("state: expected one of a single environment of the plant")
    if plant.model.joint_names != mpc.sim.model.joint_names or plant.nu != mpc.sim.nu:
        raise ValueError("plant: has other joints or actuators than the simulator that plans")
    period = mpc.dt if period is None else period
    steps, between = (max(_whole(*x, plant.dt), 1) for x in (("seconds", seconds), ("period", period)))
    late = _whole("delay", delay, plant.dt)
    if late > between:
        raise ValueError(f"delay: expected at most the period of {period:g} s, got {delay:g}")
    if not 0.0 <= feedback <= 1.0:
        raise ValueError(f"feedback: expected a share from 0 to 1, got {feedback!r}")
    loop = _Loop(mpc, plant, state, late, feedback)
    with progress_bar(steps, "controlling", enabled=progress) as advance:
        for k in range(steps):
            loop.take_up()
            if k % between == 0:
                loop.plan()
            loop.step(push)
            if show is not None and k % max(1, round(0.04 / plant.dt)) == 0:
                show(loop.state)
            advance(1)
            if loop.state.failed or (until is not None and until(loop.state)):
                loop.failed_at = loop.time
                break
    return loop.result()


def _whole(name: str, seconds: float, dt: float) -> int:
    """So many steps of the plant."""
    n = round(seconds / dt) if np.isfinite(seconds) else -1
    if n < 0 or abs(n * dt - seconds) > _WHOLE:
        raise ValueError(f"{name}: expected a whole number of the plant's steps of {dt:g} s, got {seconds!r}")
    return n


class _Loop:
    """A run as far as it is."""

    def __init__(self, mpc: Controller, plant: Simulator, state: State, late: int, feedback: float) -> None:
        self.mpc, self.plant, self.state, self._late, self._feedback = mpc, plant, state, late, feedback
        self._predictor = Simulator(mpc.sim.scene, plant.dt, solver=plant.solver, integrator=plant.integrator)
        self._done = 0
        self._in_force: Plan | None = None
        self._next: tuple[int, Plan] | None = None  # and the step from which on it is in force
        self.failed_at: float | None = None
        self._refused = 0
        self._rows: list[tuple[float, Array, Array, Array]] = []
        self._updates: list[tuple[float, float, float, float]] = []

    @property
    def time(self) -> float:
        """Since the start [s]."""
        return self._done * self.plant.dt

    def take_up(self) -> None:
        """The next plan, once it is ready."""
        if self._next is not None and self._done >= self._next[0]:
            self._in_force, self._next = self._next[1], None

    def plan(self) -> None:
        """From the present state, for when the plan will be ready."""
        late = self._late if self._in_force is not None else 0
        ready = self._done + late
        state = self._expected() if late else self.state
        began = clock.perf_counter()
        try:
            made = self.mpc.update(state, ready * self.plant.dt)
        except ValueError:
            if self._in_force is None:
                raise
            self._refused += 1
            return
        self._updates.append((made.time, clock.perf_counter() - began, made.cost, made.length))
        if not late:
            self._in_force = made
        else:
            self._next = ready, made

    def step(self, push: Push | None) -> None:
        """One step of the plant."""
        assert self._in_force is not None
        control = self._in_force.feedback(self.state, self.time, self._feedback)
        force = None if push is None else push(self.time, self.state)
        if force is not None:
            force = real_numbers("push", force)
        self.state = self.plant.step(self.state, control=control, f_ext=force)
        self._done += 1
        self._rows.append((self.time, self.state.q, self.state.v, control))

    def _expected(self) -> State:
        """Where the controller's own model will be once the delay is over."""
        assert self._in_force is not None
        state = self._predictor.state(q=self.state.q, v=self.state.v)
        for k in range(self._late):
            time = (self._done + k) * self.plant.dt
            state = self._predictor.step(state, control=self._in_force.feedback(state, time, self._feedback))
        return state

    def result(self) -> ClosedLoop:
        """All of it."""
        time, q, v, control = (np.array(x, dtype=np.float64) for x in zip(*self._rows, strict=True))
        made_for, took, cost, length = np.array(self._updates, dtype=np.float64).T.copy()
        return ClosedLoop(
            self.plant, time, q, v, control, self.state, made_for, took, cost, length, self._refused, self.failed_at
        )
