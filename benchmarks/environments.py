"""What environments cost beside the bare physics: ``python -m benchmarks.environments [--num-envs 1024]``.

Environments take some random actions; then a rollout starts where they did, with the controls they had. Both are timed
in turn; the ratio of the fastest of each is the throughput that observations, rewards and resets leave.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import featherweight as fw
from featherweight.gym.registration import TASKS


def measure(name: str, num_envs: int, actions: int = 10, repeats: int = 5) -> tuple[float, float]:
    """Time of one action in all environments, bare and with everything [s]."""
    task, arguments = TASKS[name]
    envs = fw.gym.VectorEnv(getattr(fw.gym.tasks, task)(**arguments), num_envs)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    bare, whole = [], []
    simulator, decimation = envs.task.simulator, envs.task.decimation
    for _ in range(repeats):
        start, controls = envs.state, np.empty((num_envs, actions * decimation, simulator.nu))
        chosen = rng.uniform(-0.5, 0.5, (actions, *envs.action_space.shape)).astype(np.float32)
        began = time.perf_counter()
        for k, action in enumerate(chosen):
            envs.step(action)
            controls[:, k * decimation : (k + 1) * decimation] = envs.control[:, None]
        whole.append((time.perf_counter() - began) / actions)
        began = time.perf_counter()
        simulator.rollout(start, control=controls, record=False)
        bare.append((time.perf_counter() - began) / actions)
    return min(bare), min(whole)


def main() -> None:
    parser = argparse.ArgumentParser(description="The throughput of environments beside the bare rollout.")
    parser.add_argument("--num-envs", type=int, default=1024, help="(%(default)s)")
    parser.add_argument("names", nargs="*", default=list(TASKS), metavar="NAME", help=f"of {', '.join(TASKS)} (all)")
    options = parser.parse_args()
    print(f"{options.num_envs} environments{'':14} bare [ms]  with all [ms]   share")
    for name in options.names:
        bare, whole = measure(name, options.num_envs)
        print(f"{name:32} {1e3 * bare:8.2f} {1e3 * whole:13.2f} {100 * bare / whole:8.0f} %")


if __name__ == "__main__":
    main()
