"""Times aba, rnea and crba on robots, from C++ and from Python, beside Pinocchio."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import Protocol

from benchmarks.contenders import PinRobot, in_core, in_core_one_by_one, in_python, in_python_one_by_one, pin_twin
from benchmarks.growth import count_flops
from benchmarks.race import Contender, race, relative_error
from benchmarks.report import Row
from benchmarks.robots import Robot, Samples

LARGE_BATCH = 4096


class BuildContenders(Protocol):
    """Pinocchio's builds that race on the samples; ``stack`` ends them."""

    def __call__(self, robot: PinRobot, samples: Samples, stack: ExitStack) -> list[Contender]: ...


def measure(
    robot: Robot, options: argparse.Namespace, build: BuildContenders | None, speedups: dict[str, float]
) -> list[Row]:
    """All contenders on all algorithms of one robot."""
    samples, many = Samples.random(robot.model, options.batch), Samples.random(robot.model, LARGE_BATCH)
    kernel = [in_core_one_by_one(robot, samples)]
    kernel += [in_core(robot, samples, dtype) for dtype in ("float64", "float32")]
    large = [in_core(robot, many, "float64"), in_python(robot, many, "float64")]
    rows = []
    with ExitStack() as stack:
        rivals = _pinocchio(robot, samples, build, stack)
        contenders = [*rivals, *kernel, in_python_one_by_one(robot, samples)]
        for algorithm in options.algorithms:
            print(f"  {robot.name}: {algorithm} ...", file=sys.stderr, flush=True)
            best = race(contenders, algorithm, options.rounds)
            reference = (rivals or kernel)[0].result(algorithm)
            inside, outside = race(large, algorithm, options.rounds).values()
            row = Row(
                robot=robot.name,
                nv=robot.model.nv,
                algorithm=algorithm,
                batch=options.batch,
                microseconds={name: seconds / options.batch * 1e6 for name, seconds in best.items()},
                errors={c.name: relative_error(c.result(algorithm), reference) for c in contenders},
                python_overhead=outside / inside - 1,
                thread_speedup=speedups[algorithm],
                flops=count_flops(robot.model, algorithm),
            )
            rows.append(row)
    return rows


def _pinocchio(robot: Robot, samples: Samples, build: BuildContenders | None, stack: ExitStack) -> list[Contender]:
    """Pinocchio in all forms at hand."""
    twin = pin_twin(robot)
    if twin is None:
        return []
    return [twin.contender(samples), *(build(twin, samples, stack) if build else [])]


def thread_speedup(robot: Robot, algorithms: list[str], rounds: int) -> dict[str, float]:
    """Two threads over one, on a large batch, by algorithm."""
    many = Samples.random(robot.model, LARGE_BATCH)
    pair = [in_python(robot, many, num_threads=n) for n in (1, 2)]
    speedups = {}
    for algorithm in algorithms:
        one, two = race(pair, algorithm, rounds).values()
        speedups[algorithm] = one / two
    return speedups
