"""Pinocchio's C++ as contenders, in every build that :func:`build` has left in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

from benchmarks.cases import Case
from benchmarks.contenders import PinRobot
from benchmarks.peers.build import build, cached
from benchmarks.peers.process import PinocchioProcess, numbers
from benchmarks.pin_constrained import Peer, Proximal, anchored_joints
from benchmarks.pin_delassus import Way
from benchmarks.race import Contender
from benchmarks.robots import Array, Samples

__all__ = ["build", "constrained", "contenders", "delassus", "holding"]

#: Pinocchio offers two frame conventions; whichever is faster on a robot speaks for it.
VARIANTS = {"aba": ("aba_local", "aba_world"), "rnea": ("rnea",), "crba": ("crba_local", "crba_world")}
#: The last one is for information: it starts from what the call before left, and at few iterations that shows.
CONSTRAINED = ("constraintDynamics", "pv", "constrainedABA")
#: All ways there are to the Delassus matrix: extended forces, the recursion behind the damped inverse, the factor of
#: constraintDynamics, the factor of H, J H^-1 J^T multiplied out, and the operator applied to every unit force.
MATRICES = (
    "computeDelassusMatrix",
    "computePvDelassusMatrix",
    "ConstraintCholesky",
    "cholesky",
    "computeMinverse",
    "DelassusOperatorRigidBody",
)
#: And to the inverse of a damped one.
INVERSES = (
    "computeDampedDelassusMatrixInverse",
    "computeDampedDelassusMatrixInverse_EFPA",
    "ConstraintCholesky_inverse",
    "computePvDelassusMatrix_LLT",
    "DelassusOperatorRigidBody_inverse",
)


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
        shape = (robot.model.nv,) * (2 if algorithm == "crba" else 1)
        return robot.in_our_order(process.result(VARIANTS[algorithm][0], *shape))

    return Contender(name, seconds, result)


def constrained(robot: PinRobot, case: Case, samples: Samples, stack: ExitStack) -> list[Peer]:
    """Every method of every build in the cache, on one case."""
    processes = holding("pinocchio_constrained", robot, case, samples, stack)
    return [_peer(name, method, robot, process) for name, process in processes for method in CONSTRAINED]


def delassus(robot: PinRobot, case: Case, samples: Samples, damping: float, stack: ExitStack) -> list[Way]:
    """Every way of every build in the cache to the matrix, and to its inverse with ``damping``, on one case."""
    field = []
    m = sum(len(constraint.rows) for constraint in case.constraints)
    for name, process in holding("pinocchio_delassus", robot, case, samples, stack):
        for method in (*MATRICES, *INVERSES):
            request = f"{method} {damping!r}"
            seconds, result = partial(process.seconds, request), partial(process.result, request, m, m)
            field.append(Way(f"{name} {method}", method in INVERSES, seconds, result))
    return field


def holding(
    program: str, robot: PinRobot, case: Case, samples: Samples, stack: ExitStack
) -> Iterator[tuple[str, PinocchioProcess]]:
    """Every build of a program that anchors the robot, at work, by name."""
    anchors = anchored_joints(robot, case)
    lines = [f"{len(case.constraints[0].rows)} {len(anchors)}"]
    lines += [f"{joint} {numbers(pose[:3, :3])} {numbers(pose[:3, 3])}" for joint, pose in anchors]
    for name, binary in cached(program).items():
        process = PinocchioProcess(binary, robot.model, robot.samples(samples), "\n".join(lines) + "\n")
        stack.callback(process.close)
        yield f"pin {name}", process


def _peer(build: str, method: str, robot: PinRobot, process: PinocchioProcess) -> Peer:
    def request(settings: Proximal) -> str:
        return f"{method} {settings.mu!r} {settings.iterations}"

    def seconds(settings: Proximal, repeats: int) -> float:
        return process.seconds(request(settings), repeats)

    def result(settings: Proximal) -> Array:
        return robot.in_our_order(process.result(request(settings), robot.model.nv))

    return Peer(build, method, seconds, result)
