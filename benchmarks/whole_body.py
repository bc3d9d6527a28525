"""Whole-body control in closed loop: ``python -m benchmarks.whole_body [quadruped] [humanoid]``.

Each run has a plant of its own: friction 0.6 to 1.0, links 10 % heavier than in the plan, steps of 2 ms instead of 20,
and 10 ms from a state to the plan that was made for it. The quadruped trots at 0.8 m/s, turns, and is pushed by 200 N
for 0.1 s from a random side; the humanoid walks at 0.4 m/s, and steps in place while it is pushed by 400 N for 0.1 s
from one of eight sides. Updates are timed alone, on one core.

``--rates`` only times updates, by CPU time, along a walk on the planner's own model: what other programs do meanwhile
matters less.
"""

from __future__ import annotations

import sys
import time as clock
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks.main import stay_on_one_core
from benchmarks.motions import FRICTION, LEGGED, legged_motion
from benchmarks.report import markdown_table

NODE, DELAY, STEP = 0.02, 0.01, 0.002
FEET = {
    "quadruped": tuple(f"robot/{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")),
    "humanoid": ("robot/left_foot", "robot/right_foot"),
}


@dataclass(frozen=True, eq=False)
class Walker:
    """A robot that stands, and who tells it what to do."""

    robot: str
    mpc: fw.mpc.ILQR
    plant: fw.Simulator
    standing: fw.State
    trunk: str

    @classmethod
    def of(cls, robot: str, samples: int, iterations: int) -> Walker:
        motion = legged_motion(robot, getattr(fw.models, robot)(), LEGGED[robot], 1, 1)
        assert motion.control is not None
        sim = fw.Simulator(motion.scene, dt=NODE, integrator="implicit", num_threads=1)
        plant = fw.Simulator(motion.scene, dt=STEP, integrator="implicit", num_threads=1)
        stance = LEGGED[robot].stance
        posture = np.array([stance.get(a.joint.partition("/")[2], 0.0) for a in sim.actuators if a.joint])
        q = motion.q[0].copy()
        q[:2], q[3:7], q[7:] = 0.0, (0, 0, 0, 1), posture
        standing = plant.rollout(plant.state(q=q), control=posture, n_steps=500, record=False).final
        standing = plant.state(q=standing.q)
        trunk = "robot/trunk" if robot == "quadruped" else "robot/torso"
        task = _task(robot, sim, standing, trunk, posture)
        smoothing = fw.mpc.Smoothing(std=0.01, samples=samples)
        mpc = fw.mpc.ILQR(sim, task, nodes=25, smoothing=smoothing, control=posture, iterations=iterations)
        return cls(robot, mpc, plant, standing, trunk)

    def has_fallen(self, state: fw.State) -> bool:
        """Whether the trunk is down, or lies on its side."""
        at = fw.frame_placement(self.plant.model, state.q, self.trunk)
        start = fw.frame_placement(self.plant.model, self.standing.q, self.trunk)
        return bool(at[2, 3] < 0.6 * start[2, 3] or at[2, 2] < 0.5)

    def run(self, seed: int, seconds: float, speed: float, turn: float, force: Any, at: float) -> fw.mpc.ClosedLoop:
        """force: (3,) on the trunk for 0.1 s from the time ``at`` on."""
        rng = np.random.default_rng(seed)
        friction = rng.uniform(0.6, 1.0, 1) / FRICTION
        state = self.standing.randomised(friction=friction, masses=np.full((1, self.plant.model.n_links), 1.1))
        self.mpc.reset()
        self.mpc.task["speed"].target = (speed, 0.0, 0.0)
        self.mpc.task["turn"].target = (0.0, 0.0, turn)

        def push(t: float, s: fw.State) -> Any:
            return self.plant.push(s, self.trunk, force) if at <= t < at + 0.1 and np.any(force) else None

        return fw.mpc.run(self.mpc, self.plant, state, seconds, delay=DELAY, push=push, until=self.has_fallen)


@dataclass(frozen=True)
class Gait:
    """How a robot goes, and the weights of what it is asked for."""

    lift: Callable[..., Any]
    period: float  # [s]
    height: float
    upright: float
    turn: tuple[float, float, float]
    posture: float
    rates: float
    feet: float
    effort: float
    flat: float = 0.0  # of soles; zero: feet are points
    balance: float = 0.0  # of the centre of mass, above the feet


GAITS = {
    "quadruped": Gait(fw.mpc.trot, 0.5, 15.0, 6.0, (0.6, 0.6, 1.5), 0.6, 0.02, 40.0, 0.4),
    "humanoid": Gait(fw.mpc.walk, 0.8, 8.0, 5.0, (0.5, 0.5, 1.5), 0.7, 0.03, 30.0, 0.3, flat=4.0, balance=6.0),
}


def _task(robot: str, sim: fw.Simulator, standing: fw.State, trunk: str, posture: Any) -> fw.mpc.Task:
    task, gait, feet = fw.mpc.Task(sim, terminal=5.0), GAITS[robot], FEET[robot]
    lift = gait.lift(period=gait.period, lift=0.06, height=_height(standing, feet[0]))
    task.add("height", fw.mpc.frame_position(trunk, "z"), target=_height(standing, trunk), weight=gait.height)
    task.add("upright", fw.mpc.frame_axis(trunk, "z", "xy"), weight=gait.upright)
    task.add("speed", fw.mpc.frame_velocity(trunk, axes="local"), weight=2)
    task.add("turn", fw.mpc.frame_angular_velocity(trunk, axes="local"), weight=list(gait.turn))
    task.add("posture", fw.mpc.joint_position("robot"), target=posture, weight=gait.posture)
    task.add("rates", fw.mpc.joint_velocity("robot"), weight=gait.rates)
    task.add("feet", fw.mpc.frame_position(feet, "z"), target=lift, weight=gait.feet)
    if gait.flat:
        task.add("flat", fw.mpc.frame_axis(feet, "z", "xy"), weight=gait.flat)
    if gait.balance:
        task.add("balance", fw.mpc.center_of_mass("xy", above=feet), weight=gait.balance)
    task.add("effort", fw.mpc.control(), target=posture, weight=gait.effort)
    return task


def _height(state: fw.State, frame: str) -> float:
    return float(fw.frame_placement(state.simulator.model, state.q, frame)[2, 3])


def quadruped(walker: Walker, seeds: int, seconds: float) -> list[dict[str, str]]:
    """Trots, turns, and is pushed from a side of its own in every run."""
    rows = []
    for seed in range(seeds):
        angle = np.random.default_rng(1000 + seed).uniform(0.0, 2.0 * np.pi)
        force = 200.0 * np.array([np.cos(angle), np.sin(angle), 0.0])
        rows.append(_row(walker, f"{seed}: 0.8 m/s, 0.3 rad/s, 20 N s", seed, seconds, 0.8, 0.3, force))
    return rows


def humanoid(walker: Walker, seeds: int, seconds: float) -> list[dict[str, str]]:
    """Walks, and is pushed from eight sides."""
    rows = [_row(walker, f"{s}: 0.4 m/s", s, seconds, 0.4, 0.0, np.zeros(3)) for s in range(max(1, seeds // 5))]
    for k in range(8):
        angle = 0.25 * np.pi * k
        force = 400.0 * np.array([np.cos(angle), np.sin(angle), 0.0])
        rows.append(_row(walker, f"in place, 40 N s at {45 * k} degrees", k, 3.0, 0.0, 0.0, force))
    return rows


def _row(walker: Walker, name: str, seed: int, seconds: float, speed: float, turn: float, force: Any) -> dict[str, str]:
    log = walker.run(seed, seconds, speed, turn, force, at=1.0)
    local = log.v[len(log.v) // 2 :, 0].mean()  # along the trunk, after the start and the push
    return {
        "run": name,
        "stays up": "yes" if log.failed_at is None else f"falls at {log.failed_at:.1f} s",
        "speed [m/s]": f"{local:.2f}",
        "turn [rad/s]": f"{log.v[len(log.v) // 2 :, 5].mean():.2f}",
        "update, median [ms]": f"{1e3 * np.median(log.update_seconds):.1f}",
        "99 % [ms]": f"{1e3 * np.quantile(log.update_seconds, 0.99):.1f}",
        "refused": str(log.refused),
    }


def rates(walker: Walker, updates: int) -> dict[str, str]:
    """CPU time of updates, and the least that its parts took [ms]."""
    mpc, sim = walker.mpc, walker.mpc.sim
    mpc.reset()
    mpc.task["speed"].target = (0.8 if walker.robot == "quadruped" else 0.4, 0.0, 0.0)
    state = sim.state(q=walker.standing.q)
    took, parts = [], []
    for k in range(updates + 1):
        began = clock.process_time()
        plan = mpc.update(state, k * NODE)
        took.append(1e3 * (clock.process_time() - began))
        parts.append(plan.timing)
        state = sim.step(state, control=plan.control[0])
    took, parts = took[1:], parts[1:]  # the first update takes more iterations
    least = {part: min(1e3 * each[part] for each in parts) for part in parts[0]}
    return {
        "robot": walker.robot,
        "median [ms]": f"{np.median(took):.2f}",
        "99 % [ms]": f"{np.quantile(took, 0.99):.2f}",
        "least [ms]": f"{min(took):.2f}",
        **{f"{part} [ms]": f"{ms:.2f}" for part, ms in least.items()},
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m benchmarks.whole_body", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("robots", nargs="*", default=list(FEET), help="quadruped, humanoid or both")
    parser.add_argument("--seeds", type=int, default=10, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=4, help="of the smoothing (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=2, help="of an update (default: %(default)s)")
    parser.add_argument("--rates", type=int, metavar="UPDATES", help="only time so many updates of each robot")
    options = parser.parse_args(argv)
    stay_on_one_core()
    for robot in options.robots:
        if robot not in FEET:
            parser.error(f"robots: expected some of {', '.join(FEET)}, got {robot!r}")
    if options.rates:
        walkers = [Walker.of(robot, options.samples, options.iterations) for robot in options.robots]
        print(markdown_table([rates(walker, options.rates) for walker in walkers]))
        return 0
    for robot in options.robots:
        rows = {"quadruped": quadruped, "humanoid": humanoid}[robot](
            Walker.of(robot, options.samples, options.iterations), options.seeds, options.seconds
        )
        up = sum(row["stays up"] == "yes" for row in rows)
        print(f"{robot}: {up} of {len(rows)} stay up\n\n{markdown_table(rows)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
