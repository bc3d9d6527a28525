"""Time featherweight beside Pinocchio and MuJoCo, in one run, with the error beside the time.

They come from their wheels (``pip install pin mujoco``) when installed; Pinocchio's C++, built for this machine by
``--build-peers``, joins in from then on.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks import machine, robots
from benchmarks.cases import Case, load_cases
from benchmarks.conditioning import measure_conditioning
from benchmarks.constrained import measure_case
from benchmarks.constrained_growth import measure_constrained_growth
from benchmarks.constrained_report import ConstrainedReport, LimitsReport
from benchmarks.contenders import ALGORITHMS, pin_installed
from benchmarks.delassus import long_case, measure_delassus
from benchmarks.delassus_kernels import METHODS as DELASSUS_METHODS
from benchmarks.delassus_kernels import DelassusKernel
from benchmarks.delassus_report import DelassusReport
from benchmarks.free import measure, thread_speedup
from benchmarks.growth import measure_growth
from benchmarks.motions import Motion, load_motions, stack
from benchmarks.mujoco_twin import mujoco_installed
from benchmarks.peers import pinocchio_cpp
from benchmarks.report import Report
from benchmarks.robots import Robot
from benchmarks.settling import SHAPES, SIZES, measure_pile
from benchmarks.simulation import measure_motion, thread_speedups
from benchmarks.simulation_report import SimulationReport
from benchmarks.solvers import METHODS, Solver

__all__ = ["main"]

AnyReport: TypeAlias = Report | ConstrainedReport | LimitsReport | DelassusReport | SimulationReport
#: Environments with a stack: each has as much to do as many of a robot.
STACKS = 16
PARTS = {
    "free": "aba, rnea and crba on robots",
    "constrained": "constrained dynamics of anchored robots",
    "delassus": "Delassus matrices of anchored robots, and how their cost grows",
    "limits": "growth and accuracy of constrained dynamics",
    "simulation": "steps with contact beside MuJoCo, and how their cost grows",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark from the command line; returns the exit code."""
    parser = ArgumentParser(prog="featherweight bench", description=__doc__.splitlines()[0])
    known = ", ".join([*robots.KNOWN_ROBOTS, *robots.BUILTIN_ROBOTS])
    parts = "; ".join(f"{name}: {what}" for name, what in PARTS.items())
    parts += " (default: all; without limits and growth where robots are given)"
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"robot files, or any of {known}")
    parser.add_argument("--fixed-base", action="store_true", help="load URDF files given by path with a fixed base")
    parser.add_argument("--parts", nargs="+", choices=PARTS, metavar="PART", help=parts)
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS), metavar="NAME",
                        help=f"of the part free: {', '.join(ALGORITHMS)} (all)")  # fmt: skip
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME",
                        help=f"of the parts constrained and limits: {', '.join(METHODS)} (all)")  # fmt: skip
    parser.add_argument("--batch", type=int, default=256, help="samples per pass (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=250, help="steps of a simulation (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each contender (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("build/bench"), help="folder for results (%(default)s)")
    parser.add_argument("--build-peers", action="store_true", help="first build Pinocchio's C++, unless cached")
    options = parser.parse_args(argv)
    if min(options.batch, options.rounds, options.steps) < 1:
        parser.error("--batch, --rounds and --steps must be at least 1")
    options.parts = options.parts or [part for part in PARTS if part != "limits" or not options.models]
    try:
        if options.build_peers:
            pinocchio_cpp.build()
        for report in run(options):
            print(f"{report.text()}\n")
            report.save(options.output)
            plot(report, options.output)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"featherweight bench: {error}", file=sys.stderr)
        return 1 if isinstance(error, RuntimeError) else 2
    print(f"also as JSON and Markdown in {options.output}")
    return 0


def plot(report: AnyReport, folder: Path) -> None:
    try:
        report.plot(folder)
    except ImportError:
        print("note: plots need matplotlib (pip install matplotlib)", file=sys.stderr)


def run(options: Namespace) -> Iterator[AnyReport]:
    """Measure everything that the options ask for, a report for each part."""
    if not options.models and robots.robot_data() is None:
        print(f"note: {robots.ROBOT_DATA_MISSING}; timing built-in robots instead", file=sys.stderr)
    if not pin_installed():
        print("note: Pinocchio is not installed (pip install pin==4.1.0); timing featherweight alone", file=sys.stderr)
    field = list(robots.load_robots(options.models or robots.default_names(), not options.fixed_base))
    about, speedups = machine.describe(), {}
    if "free" in options.parts:
        # before this process is confined to one core: threads inherit the confinement of whoever starts them
        speedups = {robot.name: thread_speedup(robot, options.algorithms, options.rounds) for robot in field}
    motions = list(load_simulations(field, options)) if "simulation" in options.parts else []
    threads = [thread_speedups(motion, min(options.rounds, 10)) for motion in motions]
    stay_on_one_core()
    if "free" in options.parts:
        yield free(Report(about), field, speedups, options)
    cases = list(load_cases(field))
    if "constrained" in options.parts and cases:
        yield constrained(ConstrainedReport(about), cases, options)
    if "delassus" in options.parts and cases:
        yield delassus(DelassusReport(about), cases, options)
    if "limits" in options.parts:
        growth = measure_constrained_growth(Solver, options.methods, min(options.rounds, 5))
        yield LimitsReport(about, growth, measure_conditioning(cases, options.methods))
    if motions:
        yield simulation(SimulationReport(about), motions, threads, options)


def free(report: Report, field: list[Robot], speedups: dict[str, dict[str, float]], options: Namespace) -> Report:
    for robot in field:
        report.rows += measure(robot, options, pinocchio_cpp.contenders, speedups[robot.name])
    report.growth = measure_growth(options.algorithms)
    return report


def constrained(report: ConstrainedReport, cases: list[Case], options: Namespace) -> ConstrainedReport:
    for case in cases:
        print(f"  {case.name}: constrained dynamics ...", file=sys.stderr, flush=True)
        report.rows += measure_case(case, options.methods, options.batch, options.rounds, pinocchio_cpp.constrained)
    return report


def delassus(report: DelassusReport, cases: list[Case], options: Namespace) -> DelassusReport:
    for case in cases if options.models else [*cases, long_case()]:
        print(f"  {case.name}: Delassus matrices ...", file=sys.stderr, flush=True)
        report.rows += measure_delassus(case, options.batch, options.rounds, pinocchio_cpp.delassus)
    if not options.models:
        report.growth = measure_constrained_growth(DelassusKernel, DELASSUS_METHODS, min(options.rounds, 5))
    return report


def load_simulations(field: list[Robot], options: Namespace) -> Iterator[Motion]:
    """Of the robots; where none is named, of the built-in ones as well, and a stack."""
    if not mujoco_installed():
        print(
            "note: MuJoCo is not installed (pip install mujoco); simulating with featherweight alone", file=sys.stderr
        )
    if options.models:
        yield from load_motions(field, options.batch, options.steps)
        return
    own = list(robots.load_robots(list(robots.BUILTIN_ROBOTS)))
    others = [robot for robot in field if robot.name not in robots.BUILTIN_ROBOTS]
    yield from load_motions([*own, *others], options.batch, options.steps)
    yield stack(min(options.batch, STACKS), options.steps)


def simulation(
    report: SimulationReport, motions: list[Motion], speedups: list[dict[str, float]], options: Namespace
) -> SimulationReport:
    rounds = min(options.rounds, 10)  # one is thousands of steps already
    for motion, speedup in zip(motions, speedups, strict=True):
        print(f"  {motion.name}: simulation ...", file=sys.stderr, flush=True)
        report.rows.append(measure_motion(motion, rounds, speedup))
        if len(motion.q) > 1:
            report.rows.append(measure_motion(motion.first(1), rounds))
    if not options.models:
        for shape in SHAPES:
            for size in SIZES:
                print(f"  {size} spheres, {shape} ...", file=sys.stderr, flush=True)
                report.piles.append(measure_pile(size, shape))
    return report


def stay_on_one_core() -> None:
    """Confine this process, and those it starts, to the last core allowed, which tends to be the quieter one."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
