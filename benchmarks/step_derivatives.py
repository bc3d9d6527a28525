"""Times derivatives of steps with contact: ``python -m benchmarks.step_derivatives [MOTION ...]``.

Robots settle onto their feet; then, in turns and on one thread, one step, its matrices A and B, its product with a
cotangent, and over a short rollout `linearise` and `rollout_vjp`. Calls as a user makes them, with the step that is
differentiated, but for "in the core". Times are those of the thread: on machines that others use, too.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

import featherweight as fw
from benchmarks.motions import DT, Motion, load_motions
from benchmarks.race import take_turns, time_python
from benchmarks.robots import load_robots
from featherweight.simulation.derivatives import Columns

ROBOTS = ["quadruped", "humanoid"]
MOTIONS = ["quadruped, feet", "humanoid, 8 corners"]
BATCH, SETTLING, STEPS, ROUNDS = 256, 150, 16, 15


warnings.filterwarnings("ignore", category=fw.SimulationWarning)  # some are dropped into the ground


def measure(motion: Motion, single: bool) -> dict[str, float]:
    """Microseconds per step of one environment."""
    sim = fw.Simulator(motion.scene, dt=DT, num_threads=1)
    control = None if motion.control is None else motion.control[0, -1] if single else motion.control[:, -1]
    q, v = (motion.q[0], motion.v[0]) if single else (motion.q, motion.v)
    state = sim.state(None if single else len(q), q=q, v=v)
    state = sim.rollout(state, control=control, n_steps=SETTLING, record=False).final
    shape = (sim.model.nv,) if single else (len(q), sim.model.nv)
    w = np.random.default_rng(0).normal(size=shape)
    trajectory = sim.rollout(state, control=control, n_steps=STEPS, tape=True)
    many = np.zeros((*shape[:-1], STEPS, sim.model.nv))
    many[..., -1, :] = w
    ready = sim._ready(state, None, control, None)
    columns = Columns(sim, ("q", "v", "control"))
    _, pull = sim.step_vjp(state, control=control)
    work: dict[str, Callable[[], object]] = {
        "step": lambda: sim.step(state, control=control),
        "A, B in the core": lambda: ready.product(columns, "jacobian", None),
        "step_derivatives": lambda: sim.step_derivatives(state, control=control, wrt=("q", "v", "control")),
        "pull": lambda: pull(w, w),
        "step_vjp": lambda: sim.step_vjp(state, control=control)[1](w, w),
        "rollout": lambda: sim.rollout(state, control=control, n_steps=STEPS),
        "linearise": lambda: sim.linearise(trajectory),
        "rollout_vjp": lambda: sim.rollout_vjp(trajectory, many, many),
    }
    times = take_turns({name: partial(time_python, run, clock=time.thread_time) for name, run in work.items()}, ROUNDS)
    steps = {"rollout": STEPS, "linearise": STEPS, "rollout_vjp": STEPS}
    environments = 1 if single else len(q)
    return {name: 1e6 * seconds / environments / steps.get(name, 1) for name, seconds in times.items()}


def main(names: list[str]) -> None:
    for motion in load_motions(load_robots(ROBOTS, True), BATCH, 2 * SETTLING):
        if motion.name not in (names or MOTIONS):
            continue
        for single in (False, True):
            times = measure(motion, single)
            cells = ", ".join(f"{name} {time:.2f}" for name, time in times.items())
            print(f"{motion.name}, {'one environment' if single else f'batch {BATCH}'} [us]: {cells}; "
                  f"step_vjp {times['step_vjp'] / times['step']:.1f} steps, "
                  f"rollout_vjp {times['rollout_vjp'] / times['rollout']:.1f} rollouts", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
