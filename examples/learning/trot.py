"""A quadruped learns to trot where it is told to, in minutes on two cores.

    OPENBLAS_NUM_THREADS=1 python examples/learning/trot.py --out out/trot

It saves the policy, the curve of its learning, and a page that shows the robot following a command.
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


def show(
    policy: Policy, path: Path, command: tuple[float, float, float] = (0.8, 0.0, 0.0), seconds: float = 8.0
) -> Any:
    """A page of the robot that is told to go at ``command`` and left in peace; returns its velocities (actions, 3)."""
    terms, whole = fw.gym.terms, fw.gym.tasks.quadruped()
    task = replace(whole, commands={"velocity": terms.uniform(command, command)}, events={})
    env = fw.gym.Env(task)
    observation, _ = env.reset(seed=0)
    start, controls, velocities = env.state, [], []
    for _ in range(round(seconds / task.period)):
        observation, *_ = env.step(policy(observation[None])[0])
        controls.append(env.control)
        velocities.append(env.state.v[0, [0, 1, 5]].copy())
    every_step = np.repeat(controls, task.decimation, axis=0)[None]
    task.simulator.rollout(start, control=every_step, record_contacts=True).html(path)
    return np.array(velocities)


def plot(curve: Curve, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure((6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(np.array(curve.steps) / 1e6, curve.returns)
    axes.set_xlabel("million steps of all environments")
    axes.set_ylabel("return of an episode of 20 s")
    axes.set_title(f"{curve.cpu[-1]:.0f} s of CPU time")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2_500_000, help="of all environments together (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/trot"), help="folder (%(default)s)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    policy, curve = learn(NAME, options.steps, Settings())
    policy.save(options.out / "policy.npz")
    print(f"return {curve.returns[-1]:.0f} after {curve.seconds[-1]:.0f} s, {curve.cpu[-1]:.0f} s of CPU time")
    velocities = show(policy, options.out / "trot.html")
    reached = velocities[len(velocities) // 2 :, 0].mean()
    print(f"told to go 0.8 m/s, it goes {reached:.2f} m/s: {options.out / 'trot.html'}")
    plot(curve, options.out / "curve.png")


if __name__ == "__main__":
    main()
