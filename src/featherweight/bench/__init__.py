"""Times featherweight beside Pinocchio, in one run, with the error beside the time: ``featherweight bench``.

Pinocchio comes from its wheel (``pip install pin``) when installed; its C++ built for this machine joins in when run
from the source tree as ``python -m benchmarks``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from featherweight.bench import machine, robots
from featherweight.bench.contenders import (
    ALGORITHMS,
    PinRobot,
    in_core,
    in_core_one_by_one,
    in_python,
    in_python_one_by_one,
    pin_installed,
)
from featherweight.bench.growth import count_flops, measure_growth
from featherweight.bench.race import Contender, race, relative_error
from featherweight.bench.report import Report, Row
from featherweight.bench.robots import Robot, Samples

__all__ = ["main"]

LARGE_BATCH = 4096


class Peers(Protocol):
    """Contenders that have to be built first."""

    def build(self) -> None: ...

    def contenders(self, robot: PinRobot, samples: Samples, stack: ExitStack) -> list[Contender]: ...


def main(argv: Sequence[str] | None = None, peers: Peers | None = None) -> int:
    """Run the benchmark from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="featherweight bench", description=__doc__.splitlines()[0])
    known = ", ".join([*robots.KNOWN_ROBOTS, *robots.BUILTIN_ROBOTS])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"robot files, or any of {known}")
    parser.add_argument("--fixed-base", action="store_true", help="load URDF files given by path with a fixed base")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS), metavar="NAME")
    parser.add_argument("--batch", type=int, default=256, help="samples per pass (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each contender (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("build/bench"), help="folder for results (%(default)s)")
    if peers:
        parser.add_argument("--build-peers", action="store_true", help="first build Pinocchio's C++, unless cached")
    options = parser.parse_args(argv)
    if options.batch < 1 or options.rounds < 1:
        parser.error("--batch and --rounds must be at least 1")
    try:
        if peers and options.build_peers:
            peers.build()
        report = run(options, peers)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"featherweight bench: {error}", file=sys.stderr)
        return 1
    print(report.text())
    report.save(options.output)
    try:
        report.plot(options.output)
        print(f"\nalso as JSON, Markdown and plots in {options.output}")
    except ImportError:
        print(f"\nalso as JSON and Markdown in {options.output}; plots need matplotlib (pip install matplotlib)")
    return 0


def run(options: argparse.Namespace, peers: Peers | None) -> Report:
    """Measure everything that the options ask for."""
    if not options.models and robots.robot_data() is None:
        print(f"note: {robots.ROBOT_DATA_MISSING}; timing built-in robots instead", file=sys.stderr)
    if not pin_installed():
        print("note: Pinocchio is not installed (pip install pin==4.1.0); timing featherweight alone", file=sys.stderr)
    report = Report(machine.describe())
    field = list(robots.load_robots(options.models or robots.default_names(), not options.fixed_base))
    # before this process is confined to one core: threads inherit the confinement of whoever starts them
    speedups = {robot.name: thread_speedup(robot, options.algorithms, options.rounds) for robot in field}
    stay_on_one_core()
    for robot in field:
        report.rows += measure(robot, options, peers, speedups[robot.name])
    report.growth = measure_growth(options.algorithms)
    return report


def measure(robot: Robot, options: argparse.Namespace, peers: Peers | None, speedups: dict[str, float]) -> list[Row]:
    """All contenders on all algorithms of one robot."""
    samples, many = Samples.random(robot.model, options.batch), Samples.random(robot.model, LARGE_BATCH)
    kernel = [in_core_one_by_one(robot, samples)]
    kernel += [in_core(robot, samples, dtype) for dtype in ("float64", "float32")]
    large = [in_core(robot, many, "float64"), in_python(robot, many, "float64")]
    rows = []
    with ExitStack() as stack:
        rivals = pinocchio(robot, samples, peers, stack)
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


def pinocchio(robot: Robot, samples: Samples, peers: Peers | None, stack: ExitStack) -> list[Contender]:
    """Pinocchio in all forms at hand; none, with a note, for a robot that it does not have or has differently."""
    if not pin_installed():
        return []
    try:
        twin = PinRobot(robot)
    except ValueError as error:
        print(f"note: {robot.name} is timed without Pinocchio: {error}", file=sys.stderr)
        return []
    return [twin.contender(samples), *(peers.contenders(twin, samples, stack) if peers else [])]


def thread_speedup(robot: Robot, algorithms: list[str], rounds: int) -> dict[str, float]:
    """Two threads over one, on a large batch, by algorithm."""
    many = Samples.random(robot.model, LARGE_BATCH)
    pair = [in_python(robot, many, num_threads=n) for n in (1, 2)]
    speedups = {}
    for algorithm in algorithms:
        one, two = race(pair, algorithm, rounds).values()
        speedups[algorithm] = one / two
    return speedups


def stay_on_one_core() -> None:
    """Confine this process, and those it starts, to the last core allowed, which tends to be the quieter one."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
