"""Times derivatives of dynamics beside Pinocchio's: ``python -m benchmarks.derivatives [ROBOT ...]``.

Batches on lanes and single samples inside C++; Pinocchio from its wheel, called from Python, and from C++ where
``featherweight bench --build-peers`` has built it. All take turns in one run. Under constraints the accelerations and
forces are known to ours, and found first by Pinocchio, which costs it little.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks.cases import Case, load_cases
from benchmarks.contenders import PinRobot, pin_twin
from benchmarks.peers.pinocchio_cpp import holding
from benchmarks.race import take_turns, time_python
from benchmarks.robots import Samples, default_names, load_robots
from featherweight import _testing

ALGORITHMS = ("rnea_derivatives", "aba_derivatives", "constrained_derivatives")
#: The wheel's functions; constrained derivatives start from a solution, and are left to C++.
WHEEL = {"rnea_derivatives": "computeRNEADerivatives", "aba_derivatives": "computeABADerivatives"}
BATCH, ROUNDS = 64, 30


def in_core(case: Case, samples: Samples, algorithm: str, single: bool) -> Callable[[int], float]:
    """Seconds of a pass over the samples inside C++."""
    model = case.robot.model
    q, v, x = (np.ascontiguousarray(part) for part in (samples.q, samples.v, samples.x))
    constraints = fw.ConstraintSet(model, case.constraints) if algorithm == "constrained_derivatives" else None

    def seconds(repeats: int) -> float:
        timing = _testing.benchmark(model, algorithm, q, v, x, constraints=constraints, repeats=repeats, single=single)
        return float(timing["seconds_min"])

    return seconds


def in_wheel(robot: PinRobot, samples: Samples, algorithm: str) -> Callable[[int], float]:
    pin: Any = importlib.import_module("pinocchio")
    function, data, states = getattr(pin, WHEEL[algorithm]), robot.model.createData(), robot.samples(samples)
    calls = list(zip(states.q, states.v, states.x, strict=True))

    def work() -> None:
        for inputs in calls:
            function(robot.model, data, *inputs)

    return lambda repeats: time_python(work, repeats)


def measure(case: Case, stack: ExitStack) -> dict[tuple[str, str], float]:
    """Microseconds of a sample, by algorithm and contender."""
    samples = Samples.random(case.robot.model, BATCH)
    field: dict[tuple[str, str], Callable[[int], float]] = {}
    for algorithm in ALGORITHMS:
        field[algorithm, "batch"] = in_core(case, samples, algorithm, single=False)
        field[algorithm, "single"] = in_core(case, samples, algorithm, single=True)
    if twin := pin_twin(case.robot):
        for algorithm in WHEEL:
            field[algorithm, "pin wheel"] = in_wheel(twin, samples, algorithm)
        for name, process in holding("pinocchio_derivatives", twin, case, samples, stack):
            for algorithm in ALGORITHMS:
                field[algorithm, name] = lambda repeats, p=process, a=algorithm: p.seconds(a, repeats)  # type: ignore[misc]
    return {key: seconds / BATCH * 1e6 for key, seconds in take_turns(field, ROUNDS).items()}


def main(names: list[str]) -> None:
    for case in load_cases(load_robots(names or default_names(), True)):
        with ExitStack() as stack:
            times = measure(case, stack)
        for algorithm in ALGORITHMS:
            own = {who: time for (what, who), time in times.items() if what == algorithm}
            ratios = [
                f"{who} {time:.2f} us ({time / own['batch']:.1f}x, single {time / own['single']:.1f}x)"
                for who, time in own.items()
                if who.startswith("pin")
            ]
            print(f"{case.name:14} {algorithm:24} batch {own['batch']:.2f} us, single {own['single']:.2f} us; "
                  + "; ".join(ratios))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
