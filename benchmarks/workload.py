"""What two commits are compared by: calls of the public functions on built-in robots, and steps with contact.

As a program (``python -m benchmarks.workload [SITE]``) it reads names of work, one a line, and answers with the CPU
microseconds per sample of one turn. SITE is a folder with another featherweight than that of the checkout.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

ROBOTS = ("quadruped", "humanoid")
KERNELS = ("aba", "rnea", "crba", "minverse", "constrained_dynamics", "delassus", "constraint_jacobian", "operator")
MOTIONS = (
    "quadruped, feet",
    "quadruped, as documented",
    "quadruped, all shapes",
    "quadruped, feet, dry joints",
    "humanoid, 8 corners",
    "humanoid, as documented",
    "ten boxes",
)
#: Groups of work, for messages.
ALL = (*KERNELS, *MOTIONS)
SAMPLES, STEPS, STACKS = 256, 250, 16
#: Seconds of a turn: long beside what a clock resolves, short beside what a neighbour does to the machine.
TURN = 0.02

Work = tuple[Callable[[], object], int]  # a call, and how many samples or steps it does


def names() -> list[str]:
    """Of all work there is."""
    kernels = [f"{kernel}, {robot}, {SAMPLES}" for kernel in KERNELS for robot in ROBOTS]
    batches = [f"step, {motion}, {STACKS if motion == 'ten boxes' else SAMPLES}" for motion in MOTIONS]
    return [*kernels, *batches, *(f"step, {motion}, 1" for motion in MOTIONS)]


def work(name: str) -> Work:
    """By one of the :func:`names`."""
    kind, rest = name.split(", ", 1)
    subject, count = rest.rsplit(", ", 1)
    return _step(subject, int(count)) if kind == "step" else _kernel(kind, subject)


def _kernel(kernel: str, robot: str) -> Work:
    import numpy as np

    import featherweight as fw
    from benchmarks.cases import load_cases
    from benchmarks.robots import Robot, Samples

    model = getattr(fw.models, robot)()
    s = Samples.random(model, SAMPLES)
    [case] = [case for case in load_cases([Robot(robot, model)]) if case.robot.name == robot]
    anchors = fw.ConstraintSet(model, list(case.constraints))
    calls: dict[str, Callable[[], object]] = {
        "aba": partial(fw.aba, model, s.q, s.v, s.x),
        "rnea": partial(fw.rnea, model, s.q, s.v, s.x),
        "crba": partial(fw.crba, model, s.q),
        "minverse": partial(fw.minverse, model, s.q),
        "constrained_dynamics": partial(fw.constrained_dynamics, model, s.q, s.v, s.x, anchors),
        "delassus": partial(fw.delassus, model, s.q, anchors),
        "constraint_jacobian": partial(fw.constraint_jacobian, model, s.q, anchors),
    }
    if kernel == "operator":
        ones = np.ones((SAMPLES, anchors.n_rows))
        return partial(fw.DelassusOperator(model, s.q, anchors).apply, ones), SAMPLES
    return calls[kernel], SAMPLES


@cache
def _motions() -> dict[str, Any]:
    from benchmarks.motions import load_motions, stack
    from benchmarks.robots import load_robots

    motions = [*load_motions(load_robots(list(ROBOTS)), SAMPLES, STEPS), stack(STACKS, STEPS)]
    return {motion.name: motion for motion in motions}


def _step(motion: str, count: int) -> Work:
    from benchmarks.simulation import Ours

    whole = _motions()[motion]
    return Ours(whole if count > 1 else whole.first(1)).run, count * STEPS


def answer(lines: Any, out: Any) -> None:
    """CPU microseconds per sample for each name that comes in."""
    warnings.simplefilter("ignore")  # of motions that start with a foot in the ground
    known: dict[str, Work] = {}
    for line in lines:
        name = line.strip()
        if name not in known:
            known[name] = work(name)
            known[name][0]()
        call, samples = known[name]
        calls, spent, start = 0, 0.0, time.process_time()
        while calls == 0 or spent < TURN:
            call()
            calls += 1
            spent = time.process_time() - start
        out.write(f"{1e6 * spent / (calls * samples)!r}\n")
        out.flush()


def use(site: str) -> None:
    """Import featherweight from that folder, whatever is installed."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__.lower()]
    sys.path.insert(0, site)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        use(sys.argv[1])
        import featherweight

        assert str(featherweight.__file__).startswith(sys.argv[1]), featherweight.__file__
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    answer(sys.stdin, sys.stdout)
