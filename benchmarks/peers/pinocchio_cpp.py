"""Pinocchio's C++ as contenders, in every build that :func:`build` has left in the cache."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.peers.build import build, cached
from benchmarks.peers.process import PinocchioProcess, numbers
from featherweight.bench.cases import Case
from featherweight.bench.contenders import PinRobot
from featherweight.bench.pin_constrained import Peer, Proximal, held_joints
from featherweight.bench.race import Contender
from featherweight.bench.robots import Array, Samples

__all__ = ["build", "constrained", "contenders"]

#: Pinocchio offers two frame conventions; whichever is faster on a robot speaks for it.
VARIANTS = {"aba": ("aba_local", "aba_world"), "rnea": ("rnea",), "crba": ("crba_local", "crba_world")}
#: The last one is for information: it starts from what the call before left, and at few iterations that shows.
CONSTRAINED = ("constraintDynamics", "pv", "constrainedABA")


def contenders(robot: PinRobot, samples: Samples, stack: ExitStack) -> list[Contender]:
    """Every build in the cache, ready to race on ``samples``; ``stack`` ends the processes."""
    field = []
    for name, binary in cached("pinocchio_bench").items():
        process = PinocchioProcess(binary, robot.model, robot.samples(samples))
        stack.callback(process.close)
        field.append(_contender(f"pin {name}", robot, process))
    return field


def _contender(name: str, robot: PinRobot, process: PinocchioProcess) -> Contender:
    def seconds(algorithm: str, repeats: int) -> float:
        return min(process.seconds(variant, repeats) for variant in VARIANTS[algorithm])

    def result(algorithm: str) -> Array:
        return robot.in_our_order(process.result(VARIANTS[algorithm][0], matrix=algorithm == "crba"))

    return Contender(name, seconds, result)


def constrained(robot: PinRobot, case: Case, samples: Samples, stack: ExitStack) -> list[Peer]:
    """Every method of every build in the cache, on one case."""
    held = held_joints(robot, case)
    lines = [f"{len(case.constraints[0].rows)} {len(held)}"]
    lines += [f"{joint} {numbers(pose[:3, :3])} {numbers(pose[:3, 3])}" for joint, pose in held]
    field = []
    for name, binary in cached("pinocchio_constrained").items():
        process = PinocchioProcess(binary, robot.model, robot.samples(samples), "\n".join(lines) + "\n")
        stack.callback(process.close)
        field += [_peer(f"pin {name}", method, robot, process) for method in CONSTRAINED]
    return field


def _peer(build: str, method: str, robot: PinRobot, process: PinocchioProcess) -> Peer:
    def request(settings: Proximal) -> str:
        return f"{method} {settings.mu!r} {settings.iterations}"

    def seconds(settings: Proximal, repeats: int) -> float:
        return process.seconds(request(settings), repeats)

    def result(settings: Proximal) -> Array:
        return robot.in_our_order(process.result(request(settings)))

    return Peer(build, method, seconds, result)
