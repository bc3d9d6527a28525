"""Parts of the core by themselves, for tests and benchmarks only."""

from collections.abc import Sequence
from typing import Any

import numpy
import numpy.typing

from ._core import ConstraintSet, ConvexHull, HeightField, Model


def shape_bounds(kind: str, size: Sequence[float] | ConvexHull | HeightField, pose: numpy.typing.ArrayLike, margin: float) -> numpy.typing.NDArray[numpy.float64]:
    """Lower and upper corner of the box along the world's axes, (2, 3) [m]."""

def sweep(kind_a: str, size_a: Sequence[float] | ConvexHull | HeightField, pose_a: numpy.typing.ArrayLike, velocity_a: Sequence[float], kind_b: str, size_b: Sequence[float] | ConvexHull | HeightField, pose_b: numpy.typing.ArrayLike, velocity_b: Sequence[float], duration: float, depth: float, circles: bool = False) -> tuple[str, float, list[numpy.typing.NDArray[numpy.float64]]]:
    """
    How two shapes pass each other within the duration [s]: misses, grazes or hits, when, and their poses then (or at the end). velocities (6,), of the centres, linear and angular, world axes; depth [m]: of a graze; circles: linear velocities turn with the shapes.
    """

def broadphase(boxes: numpy.typing.ArrayLike, contype: Sequence[int], conaffinity: Sequence[int], group: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of boxes (n, 2, 3) that overlap and may touch, in rising order."""

def solve_cone_problem(G: numpy.typing.ArrayLike, g: numpy.typing.ArrayLike, blocks: Sequence[tuple[str, int, int, float, float, float]], lambda0: numpy.typing.ArrayLike | None = None, *, scale: float = 1.0, solver: str = 'auto', tolerance: float = ..., max_gauss_seidel: int = ..., max_pile: int = ..., max_newton: int = ..., max_admm: int = ..., sparse: bool = False) -> tuple[numpy.typing.NDArray[numpy.float64], dict[str, Any]]:
    """
    The impulses lambda, (m,), with which sigma = G lambda + g obeys the laws of all blocks, and a report.

    G: (m, m) symmetric [1/kg]; g: (m,) [m/s]. blocks: (law, rows, normal, mu, lower, upper) in the order of their
    rows; law is 'equality', 'unilateral', 'interval' (lower, upper), 'point' (two tangents, then the normal; mu)
    or 'disc' (mu times the impulse of the row `normal`). lambda0: warm start. scale: typical velocity, to which
    the tolerance of the natural residual is relative. solver: 'auto', 'gauss_seidel', 'newton' or 'admm'. sparse:
    G is stored by its blocks that are not zero.
    report: residual, primal, dual, complementarity; gauss_seidel, newton, admm (iterations); converged.
    """

def use_isa(name: str) -> None:
    """
    Switches all kernels to another instruction set of build_info()['available_isas'].
    """

def granted_cores(proc: str, groups: str) -> float:
    """
    Cores that control groups grant, as folders like /proc and /sys/fs/cgroup say; infinity: all.
    """

def allocation_count() -> int:
    """
    How often a workspace had to grow since the process started: constant over warm calls.
    """

def operation_counts(model: Model, algorithm: str, *, q: numpy.typing.ArrayLike | None = None, constraints: ConstraintSet | None = None, targets: numpy.typing.ArrayLike | None = None, tolerance: float = 1e-10, max_iterations: int = 60) -> dict[str, int]:
    """
    Floating-point operations of one sample, counted by running the kernel with a counting scalar.

    q: the neutral configuration unless given. With constraints, algorithm is a method of constrained_dynamics, or an
    algorithm for Delassus matrices by its full name, such as 'pv_osim'.
    """

def benchmark(model: Model, algorithm: str, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, x: numpy.typing.ArrayLike, *, constraints: ConstraintSet | None = None, targets: numpy.typing.ArrayLike | None = None, tolerance: float = 1e-10, max_iterations: int = 60, dtype: str = 'float64', repeats: int = 10, single: bool = False, isa: str = '') -> dict[str, float]:
    """
    Seconds of one pass over the batch inside C++, minimum and median of `repeats`, on one thread.

    With constraints, algorithm is a method of constrained_dynamics and x are the joint forces, or an algorithm for
    Delassus matrices by its full name, such as 'pv_osim'.
    """
