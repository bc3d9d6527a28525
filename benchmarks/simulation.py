"""Times whole steps with contact beside MuJoCo, with how exactly they were solved and what came of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np

import featherweight as fw
from benchmarks.motions import DT, Motion
from benchmarks.mujoco_twin import MujocoTwin, mujoco_twin
from benchmarks.race import equal_turns, take_turns, time_python
from featherweight import Automatic

#: Free accelerations may differ by this much, relative: more, and it would not be the same robot.
SAME_ROBOT = 1e-10
#: Of featherweight's steps: the natural residual, relative to the velocities of the problem.
TOLERANCE = 1e-8
OURS, THEIRS = "featherweight", "MuJoCo"
#: Steps of environments that are worth two threads: with fewer, waking them is what would be timed.
SHARED = 4000


@dataclass
class SimulationRow:
    """One motion, one size of batch. What both engines have is by engine; the rest is featherweight's."""

    case: str
    nv: int
    batch: int
    steps: int
    microseconds: dict[str, float]  # per step of one environment, the smallest
    medians: dict[str, float]
    contacts: dict[str, float]  # mean per environment
    heights: dict[str, float]  # of the base or the topmost body, mean [m]
    residual: float  # largest natural residual of any step, relative to the velocities of its problem
    unconverged: float  # share of steps that missed the tolerance
    iterations: dict[str, float]  # mean per step
    disagreement: float | None  # of the free accelerations of both engines, relative
    speedups: dict[str, float]  # of two threads over one
    setting: str = ""  # of the motion

    def ratio(self) -> float | None:
        """How many of featherweight's steps one of MuJoCo's takes."""
        return self.microseconds[THEIRS] / self.microseconds[OURS] if THEIRS in self.microseconds else None

    def cells(self) -> dict[str, str]:
        """One line of the table by column."""
        cells = {"motion": f"{self.case} (nv {self.nv})", "setting": self.setting, "batch": str(self.batch)}
        for name, time in self.microseconds.items():
            cells[name] = f"{time:.3g} ({self.medians[name]:.3g})"
        ratio = self.ratio()
        if ratio is not None:
            median = self.medians[THEIRS] / self.medians[OURS]
            cells["ratio"] = f"{ratio:.1f}x ({median:.1f}x)"
        cells["contacts"] = both(self.contacts, ".2f")
        cells["height [m]"] = both(self.heights, ".3f")
        cells["worst residual"] = f"{self.residual:.1e}"
        cells["unconverged"] = f"{100 * self.unconverged:.3g} %"
        cells["Gauss-Seidel, Newton, ADMM"] = ", ".join(f"{count:.3g}" for count in self.iterations.values())
        if self.speedups:
            cells["2 threads"] = both(self.speedups, ".2f", "x")
        if self.disagreement is not None:
            cells["free acceleration"] = f"{self.disagreement:.0e}"
        return cells


def both(values: dict[str, float], form: str, unit: str = "") -> str:
    """featherweight / MuJoCo."""
    return " / ".join(f"{value:{form}}{unit}" for value in values.values())


def measure_motion(motion: Motion, rounds: int, speedups: dict[str, float] | None = None) -> SimulationRow:
    """Both engines in turn on all environments of the motion, on one thread."""
    with ExitStack() as stack:
        ours = Ours(motion)
        field: dict[str, Callable[[], object]] = {OURS: ours.run}
        contacts, heights, disagreement = {OURS: ours.contacts()}, {OURS: ours.height()}, None
        twin = mujoco_twin(motion, stack)
        if twin is not None:
            disagreement = checked_disagreement(twin)
            twin.run()
            contacts[THEIRS], heights[THEIRS] = twin.contacts(), twin.height()
            field[THEIRS] = twin.run
        times = equal_turns(field, rounds)
    work = len(motion.q) * motion.steps
    return SimulationRow(
        case=motion.name,
        nv=motion.scene.model.nv,
        batch=len(motion.q),
        steps=motion.steps,
        microseconds={name: 1e6 * min(seconds) / work for name, seconds in times.items()},
        medians={name: 1e6 * float(np.median(seconds)) / work for name, seconds in times.items()},
        contacts=contacts,
        heights=heights,
        residual=float(np.max(ours.trajectory.residual)),
        unconverged=float(np.sum(ours.trajectory.unconverged)) / work,
        iterations={name: float(np.sum(n)) / work for name, n in ours.trajectory.iterations.items()},
        disagreement=disagreement,
        speedups=speedups or {},
        setting=motion.setting,
    )


def thread_speedups(motion: Motion, rounds: int) -> dict[str, float]:
    """Two threads over one, by engine; empty for little work. To be measured before confinement to one core."""
    if len(motion.q) * motion.steps < SHARED:
        return {}
    with ExitStack() as stack:
        field: dict[tuple[str, int], Callable[[], object]] = {}
        for threads in (1, 2):
            field[OURS, threads] = Ours(motion, threads).run
            twin = mujoco_twin(motion, stack, threads)
            if twin is not None:
                field[THEIRS, threads] = twin.run
        best = take_turns({key: partial(time_python, run) for key, run in field.items()}, rounds)
    return {name: best[name, 1] / best[name, 2] for name, threads in best if threads == 1}


def checked_disagreement(twin: MujocoTwin) -> float:
    """Of free accelerations; a RuntimeError when MuJoCo has another robot."""
    disagreement = twin.disagreement()
    if not disagreement < SAME_ROBOT:
        raise RuntimeError(
            f"motion {twin.motion.name!r}: MuJoCo has another robot, free accelerations differ by {disagreement:.0e}"
        )
    return disagreement


class Ours:
    """The motion in featherweight, as a user would roll it out."""

    def __init__(self, motion: Motion, num_threads: int = 1) -> None:
        self.motion = motion
        solver = Automatic(tolerance=TOLERANCE)
        self.sim = fw.Simulator(
            motion.scene, dt=DT, integrator=motion.integrator, solver=solver, num_threads=num_threads
        )
        single = len(motion.q) == 1
        q, v, control = motion.q, motion.v, motion.control
        if single:
            q, v, control = q[0], v[0], None if control is None else control[0]
        self._start = self.sim.state(None if single else len(q), q=q, v=v)
        self._control = control
        self.trajectory = self.run()

    def run(self) -> fw.Trajectory:
        steps = self.motion.steps if self._control is None else None
        return self.sim.rollout(self._start, control=self._control, n_steps=steps)

    def height(self) -> float:
        """The mean over all environments and steps [m]."""
        return float(self.trajectory.q[..., self.motion.height].mean())

    def contacts(self, environments: int = 16) -> float:
        """Mean number per environment of those that carry force."""
        few = self.motion.first(environments)
        state = self.sim.state(len(few.q), q=few.q, v=few.v)
        recorded = self.sim.rollout(state, control=few.control, n_steps=few.steps, record_contacts=True).contacts
        loaded = [np.count_nonzero(contacts.impulse[:, 2] > 0.0) for contacts in recorded]
        return float(np.mean(loaded)) / len(few.q)
