"""A quadruped learns to trot at commanded velocities, in minutes on two cores.

    OPENBLAS_NUM_THREADS=1 python examples/learning/trot.py --out out/trot

Saves the policy, the learning curve, and a page that shows the robot following a command; fails if the return stays
below 1700. ``--policy out/trot/policy.npz`` shows a saved policy again, without learning.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from ppo import Curve, Policy, Settings, learn  # beside this file

import featherweight as fw

NAME = "featherweight/QuadrupedFlat-v0"
GOAL = 1700.0  # return of an episode: the mean over the last hundred
COMMAND = (0.8, 0.0, 0.0)  # forward and to the left [m/s], turning [rad/s]


def show(policy: Policy, seconds: float = 8.0) -> tuple[fw.Trajectory, Any]:
    """The robot following COMMAND, without disturbances: its motion, and its velocities (actions, 3)."""
    terms, whole = fw.gym.terms, fw.gym.tasks.quadruped()
    task = replace(whole, commands={"velocity": terms.uniform(COMMAND, COMMAND)}, events={})
    env = fw.gym.Env(task)
    observation, _ = env.reset(seed=0)
    start, controls, velocities = env.state, [], []
    for _ in range(round(seconds / task.period)):
        observation, *_ = env.step(policy(observation[None])[0])
        controls.append(env.control)
        velocities.append(env.state.v[0, [0, 1, 5]].copy())
    every_step = np.repeat(controls, task.decimation, axis=0)[None]
    return task.simulator.rollout(start, control=every_step, record_contacts=True), np.array(velocities)


def plot(curve: Curve, path: Path) -> None:
    """Return over CPU time."""
    from matplotlib.figure import Figure

    figure = Figure((6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve.cpu, curve.returns)
    axes.axhline(GOAL, color="0.6", linewidth=1.0, linestyle="--")
    axes.set_xlabel("CPU time of all threads [s]")
    axes.set_ylabel("return of an episode of 20 s")
    axes.set_title(f"{NAME}: {curve.steps[-1] / 1e6:.1f} million steps")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2_500_000, help="of all environments together (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/trot"), help="folder (%(default)s)")
    parser.add_argument("--policy", type=Path, help="a saved policy to show, instead of learning one")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.policy is not None:
        policy = Policy(*sizes(), Settings())
        policy.load(options.policy)
    else:
        policy, curve = learn(NAME, options.steps, Settings())
        policy.save(options.out / "policy.npz")
        plot(curve, options.out / "curve.png")
        print(f"return {curve.returns[-1]:.0f} after {curve.seconds[-1]:.0f} s, {curve.cpu[-1]:.0f} s of CPU time")
        reached = next((k for k, value in enumerate(curve.returns) if value >= GOAL), None)
        if reached is None:
            raise SystemExit(f"the return stays below {GOAL:.0f}")
        print(f"it passed {GOAL:.0f} after {curve.seconds[reached]:.0f} s, {curve.cpu[reached]:.0f} s of CPU time")
    motion, velocities = show(policy)
    motion.html(options.out / "trot.html")
    mean = velocities[len(velocities) // 2 :, 0].mean()
    print(f"commanded to go {COMMAND[0]:g} m/s, it goes {mean:.2f} m/s: {options.out / 'trot.html'}")


def sizes() -> tuple[int, int]:
    """Of an observation and of an action."""
    env = fw.gym.Env(fw.gym.tasks.quadruped())
    return int(env.observation_space.shape[0]), int(env.action_space.shape[0])


if __name__ == "__main__":
    main()
