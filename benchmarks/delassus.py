"""Delassus matrices of anchored robots: every method from C++ and from Python, beside Pinocchio's, with the errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

import featherweight as fw
from benchmarks import oracle
from benchmarks.cases import Case
from benchmarks.constrained import CHECKED
from benchmarks.contenders import PinRobot, instruction_set, pin_twin
from benchmarks.delassus_kernels import INVERSE_METHODS, METHODS, DelassusKernel, InverseKernel
from benchmarks.pin_constrained import TARGET_ERROR
from benchmarks.pin_delassus import Way, wheel
from benchmarks.race import relative_errors, take_turns, time_python
from benchmarks.robots import Array, Robot, Samples
from featherweight import _testing

#: What is added to the diagonal before matrices are inverted [1/kg, 1/(kg m^2)]: what Pinocchio suggests.
DAMPING = 1e-4
#: So much that all rows may be springs.
SOFT_DAMPING = 10.0
#: A robot so deep that whatever is not linear in depth shows; how many samples of it are timed, and how many checked.
LONG, LONG_BATCH, LONG_CHECKED = 200, 32, 4
MATRIX, INVERSE, SOFT_INVERSE = "matrix", f"inverse, damping {DAMPING:g}", f"inverse, damping {SOFT_DAMPING:g}"
SOLUTION, PRODUCT, AFTER_ALL = f"solution, damping {DAMPING:g}", "product", "to compare with"
ORDER = (MATRIX, INVERSE, SOFT_INVERSE, SOLUTION, PRODUCT, AFTER_ALL)
COLUMNS = (
    *("robot", "wanted", "method", "us", "best Pinocchio / us", "error", "median error"),
    *("single", "best Pinocchio / single", "python", "python, batch 1", "operations"),
)


class BuildWays(Protocol):
    """Pinocchio's ways that have to be built first; ``stack`` ends them."""

    def __call__(
        self, robot: PinRobot, case: Case, samples: Samples, damping: float, stack: ExitStack
    ) -> list[Way]: ...


@dataclass
class DelassusRow:
    """One case, one method. Times in microseconds per sample on one core, by the way it is called."""

    case: str
    nv: int
    m: int
    wanted: str  # one of ORDER
    method: str
    microseconds: dict[str, float]  # "us" is what is compared: ours on lanes, Pinocchio's as it is
    error: float  # of the worst sample
    median_error: float
    auto: bool = False  # what fw.delassus takes by itself
    flops: int | None = None  # one evaluation in a random posture

    def cells(self, beside: Sequence[DelassusRow]) -> dict[str, str]:
        """One line of the table by column, given the rows of the same case."""
        us, rival = self.microseconds, best_peer(beside, self.wanted)
        cells = {"robot": f"{self.case} (nv {self.nv}, m {self.m})", "wanted": self.wanted}
        cells |= {"method": f"{self.method} (auto)" if self.auto else self.method, "us": f"{us['us']:.3f}"}
        cells |= {"error": f"{self.error:.0e}", "median error": f"{self.median_error:.0e}"}
        if rival:
            cells["best Pinocchio / us"] = f"{rival.microseconds['us'] / us['us']:.1f}"
        if rival and "single" in us:
            cells["best Pinocchio / single"] = f"{rival.microseconds['us'] / us['single']:.1f}"
        cells |= {form: f"{us[form]:.3f}" for form in ("single", "python", "python, batch 1") if form in us}
        return cells | ({} if self.flops is None else {"operations": f"{self.flops:,}"})


def best_peer(rows: Sequence[DelassusRow], wanted: str) -> DelassusRow | None:
    """The fastest of Pinocchio's ways, over all builds, that are right on every sample."""
    right = [row for row in rows if row.method.startswith("pin ") and row.error <= TARGET_ERROR]
    return min((row for row in right if row.wanted == wanted), key=lambda row: row.microseconds["us"], default=None)


def long_case() -> Case:
    """A chain anchored at its tip."""
    robot = Robot(f"chain({LONG})", fw.models.chain(LONG))
    return Case(f"{robot.name} 6D", robot, (fw.FrameConstraint("tip"),))


def measure_delassus(case: Case, batch: int, rounds: int, build: BuildWays | None) -> list[DelassusRow]:
    """All methods on one case, taking turns."""
    model = case.robot.model
    batch, checked = (batch, CHECKED) if model.nv < LONG else (min(batch, LONG_BATCH), LONG_CHECKED)
    samples = Samples.random(model, batch)
    kernels = [DelassusKernel(model, case.constraints, method) for method in METHODS]
    exact = [oracle.delassus(model, q, case.constraints) for q in samples.q[:checked]]
    inverses = [oracle.damped_inverse(matrix, DAMPING) for matrix in exact]
    truth, inverse_truth = (np.array(matrices, np.float64) for matrices in (exact, inverses))
    soft_truth = np.array([oracle.damped_inverse(matrix, SOFT_DAMPING) for matrix in exact], np.float64)
    inverse_kernels = [
        (wanted, InverseKernel(kernels[0].compiled, model, method, damping), wanted_truth)
        for wanted, damping, wanted_truth in (
            (INVERSE, DAMPING, inverse_truth),
            (SOFT_INVERSE, SOFT_DAMPING, soft_truth),
        )
        for method in INVERSE_METHODS
    ]
    errors: dict[tuple[str, str], Array] = {
        **{(MATRIX, kernel.method): _errors(kernel, samples, truth) for kernel in kernels},
        **{(wanted, kernel.method): _errors(kernel, samples, right) for wanted, kernel, right in inverse_kernels},
    }
    operator = fw.DelassusOperator(model, samples.q, kernels[0].compiled, damping=DAMPING, num_threads=1)
    sides = np.random.default_rng(0).standard_normal((batch, truth.shape[1]))
    for wanted, call, matrices in ((SOLUTION, operator.solve, inverse_truth), (PRODUCT, operator.apply, truth)):
        right = (matrices @ sides[:checked, :, None])[..., 0]
        errors[wanted, "operator"] = relative_errors(call(sides, num_threads=1)[:checked], right)
    errors[AFTER_ALL, "aba"] = np.zeros(1)
    with ExitStack() as stack:
        ways = _ways(case, samples, build, stack)
        for way in ways:
            right = inverse_truth if way.inverse else truth
            found = np.nan_to_num(relative_errors(way.result()[:checked], right), nan=np.inf)
            errors[INVERSE if way.inverse else MATRIX, way.name] = found
        field: dict[tuple[str, str, str], Callable[[int], float]] = {
            (MATRIX, kernel.method, form): seconds for kernel in kernels for form, seconds in _forms(kernel, samples)
        }
        for wanted, kernel, _ in inverse_kernels:
            field[wanted, kernel.method, "us"] = partial(kernel.kernel_seconds, samples)
            field[wanted, kernel.method, "single"] = partial(kernel.kernel_seconds, samples, single=True, isa="scalar")
        field[SOLUTION, "operator", "us"] = partial(time_python, lambda: operator.solve(sides, num_threads=1))
        field[PRODUCT, "operator", "us"] = partial(time_python, lambda: operator.apply(sides, num_threads=1))
        field[AFTER_ALL, "aba", "us"] = partial(_aba_seconds, model, samples)
        for way in ways:
            field[INVERSE if way.inverse else MATRIX, way.name, "us"] = way.seconds
        best = take_turns(field, rounds)

    def row(wanted: str, method: str, auto: bool = False, flops: int | None = None) -> DelassusRow:
        return DelassusRow(
            case=case.name,
            nv=model.nv,
            m=truth.shape[1],
            wanted=wanted,
            method=method,
            microseconds={form: t / batch * 1e6 for (*key, form), t in best.items() if key == [wanted, method]},
            error=float(errors[wanted, method].max()),
            median_error=float(np.median(errors[wanted, method])),
            auto=auto,
            flops=flops,
        )

    ours = [row(MATRIX, kernel.method, kernel.auto, kernel.flops(samples.q[0])) for kernel in kernels]
    ours += [row(wanted, kernel.method, kernel.auto) for wanted, kernel, _ in inverse_kernels]
    ours += [row(SOLUTION, "operator"), row(PRODUCT, "operator"), row(AFTER_ALL, "aba")]
    theirs = [row(INVERSE if way.inverse else MATRIX, way.name) for way in ways]
    return sorted([*theirs, *ours], key=lambda row: ORDER.index(row.wanted))


def _aba_seconds(model: fw.Model, samples: Samples, repeats: int) -> float:
    return float(_testing.benchmark(model, "aba", samples.q, samples.v, samples.x, repeats=repeats)["seconds_min"])


def _forms(kernel: DelassusKernel, samples: Samples) -> Iterator[tuple[str, Callable[[int], float]]]:
    """The ways a method is called."""
    yield "us", partial(kernel.kernel_seconds, samples)
    yield "single", partial(kernel.kernel_seconds, samples, single=True, isa="scalar")
    yield "python", partial(kernel.python_seconds, samples)
    yield "python, batch 1", partial(kernel.python_seconds_one_by_one, samples)


def _errors(kernel: DelassusKernel | InverseKernel, samples: Samples, truth: Array) -> Array:
    """By sample, of lanes or plain doubles, whichever is worse."""
    q = samples.q[: len(truth)]
    lanes = relative_errors(kernel.matrices(q), truth)
    with instruction_set("scalar"):
        plain: Array = np.maximum(lanes, relative_errors(kernel.matrices(q), truth))
    return plain


def _ways(case: Case, samples: Samples, build: BuildWays | None, stack: ExitStack) -> list[Way]:
    """Pinocchio in all forms at hand."""
    twin = pin_twin(case.robot)
    if twin is None:
        return []
    return [wheel(twin, case, samples), *(build(twin, case, samples, DAMPING, stack) if build else [])]
