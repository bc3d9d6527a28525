"""What environments cost compared with bare physics: ``python -m benchmarks.environments [--num-envs 1024]``.

Environments take some random actions; then a rollout starts where they did, with the same controls. Both are timed in
turns, at least five times and for a second, by the clock and by CPU time, and the fastest of each are compared: the
ratio is the throughput that observations, rewards and resets leave. On a machine with other work to do, only the ratio
of CPU times means something.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

import featherweight as fw
from featherweight.gym.registration import TASKS

#: By the clock, and CPU time of all threads [s].
Seconds = NDArray[np.float64]


def measure(
    name: str, num_envs: int, actions: int = 10, repeats: int = 5, seconds: float = 1.0
) -> tuple[Seconds, Seconds]:
    """Times (2,) of one action in all environments, bare and with everything."""
    task, arguments = TASKS[name]
    envs = fw.gym.VectorEnv(getattr(fw.gym.tasks, task)(**arguments), num_envs)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    bare: list[Seconds] = []
    whole: list[Seconds] = []
    simulator, decimation = envs.task.simulator, envs.task.decimation
    began_at = time.perf_counter()
    while len(bare) < repeats or time.perf_counter() - began_at < seconds:
        start, controls = envs.state, np.empty((num_envs, actions * decimation, simulator.nu))
        chosen = rng.uniform(-0.5, 0.5, (actions, *envs.action_space.shape)).astype(np.float32)
        spent = np.zeros(2)
        for k, action in enumerate(chosen):
            began = _now()
            envs.step(action)
            spent += _now() - began
            controls[:, k * decimation : (k + 1) * decimation] = envs.control[:, None]
        whole.append(spent / actions)
        began = _now()
        simulator.rollout(start, control=controls, record=False)
        bare.append((_now() - began) / actions)
    return np.min(bare, axis=0), np.min(whole, axis=0)


def _now() -> Seconds:
    return np.array([time.perf_counter(), time.process_time()])


def main() -> None:
    parser = argparse.ArgumentParser(description="The throughput of environments beside the bare rollout.")
    parser.add_argument("--num-envs", type=int, default=1024, help="(%(default)s)")
    parser.add_argument("names", nargs="*", default=list(TASKS), metavar="NAME", help=f"of {', '.join(TASKS)} (all)")
    options = parser.parse_args()
    print(f"{options.num_envs} environments{'':10} bare [ms]  with all [ms]   share   share of CPU time")
    for name in options.names:
        bare, whole = measure(name, options.num_envs)
        clock, cpu = 100 * bare / whole
        print(f"{name:28} {1e3 * bare[0]:8.2f} {1e3 * whole[0]:13.2f} {clock:8.0f} % {cpu:12.0f} %")


if __name__ == "__main__":
    main()
