"""Constrained dynamics on robots: every method from C++ and from Python, beside Pinocchio's, with the errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from benchmarks import oracle
from benchmarks.cases import Case
from benchmarks.contenders import PinRobot, in_core, in_core_one_by_one, instruction_set, pin_twin
from benchmarks.pin_constrained import Peer, best_settings, wheel
from benchmarks.race import relative_errors, take_turns
from benchmarks.robots import Array, Samples
from benchmarks.solvers import Solver, softened
from featherweight.constraints.dynamics import Method

#: How many samples of a case are checked against the oracle, which is slow.
CHECKED = 64
#: Pinocchio's methods that all are compared with: the one that most people call, and its fastest that is right.
OPPONENTS = ("constraintDynamics", "pv")
COLUMNS = ("robot", "method", "us", *(f"{name} / us" for name in OPPONENTS), "error", "median error", "us / aba")
COLUMNS += ("single", "best Pinocchio / single", "python", "python, batch 1")
COLUMNS += ("iterations", "one more", "3 iterations / aba", "operations")


class BuildPeers(Protocol):
    """Pinocchio's methods that have to be built first; ``stack`` ends them."""

    def __call__(self, robot: PinRobot, case: Case, samples: Samples, stack: ExitStack) -> list[Peer]: ...


@dataclass
class ConstrainedRow:
    """One case, one method. Times in microseconds per sample on one core, by the way it is called."""

    case: str
    nv: int
    m: int
    method: str
    microseconds: dict[str, float]  # "us" is what is compared: ours on lanes, Pinocchio's as it is
    error: float | None = None  # of the worst sample
    median_error: float | None = None
    iterations: float | None = None  # solves with one factor, mean over the samples
    flops: int | None = None  # one evaluation in a random posture

    def cells(self, beside: Sequence[ConstrainedRow]) -> dict[str, str]:
        """One line of the table by column, given the rows of the same case."""
        us = self.microseconds
        cells = {"robot": f"{self.case} (nv {self.nv}, m {self.m})", "method": self.method, "us": f"{us['us']:.3f}"}
        rivals = {} if self.method == "aba" else {name: _fastest(beside, name) for name in OPPONENTS}
        for name, time in rivals.items():
            cells |= _ratio(f"{name} / us", time, us["us"])
        aba = next(row.microseconds["us"] for row in beside if row.method == "aba")
        cells["us / aba"] = f"{us['us'] / aba:.2f}"
        if "single" in us:
            cells["single"] = f"{us['single']:.3f}"
            cells |= _ratio("best Pinocchio / single", min(filter(None, rivals.values()), default=None), us["single"])
        cells |= {form: f"{us[form]:.2f}" for form in ("python", "python, batch 1") if form in us}
        if "three iterations" in us:
            cells["3 iterations / aba"] = f"{us['three iterations'] / aba:.2f}"
            cells["one more"] = f"{(us['three iterations'] - us['two iterations']) / us['us']:.0%}"
        if self.error is not None and self.median_error is not None:
            cells |= {"error": f"{self.error:.0e}", "median error": f"{self.median_error:.0e}"}
        if self.iterations is not None:
            cells["iterations"] = f"{self.iterations:.1f}"
        return cells | ({} if self.flops is None else {"operations": f"{self.flops:,}"})


def measure_case(
    case: Case, methods: Sequence[Method], batch: int, rounds: int, build: BuildPeers | None
) -> list[ConstrainedRow]:
    """All methods on one case, taking turns."""
    samples = Samples.random(case.robot.model, batch)
    solvers = [Solver(case.robot.model, case.constraints, method) for method in methods]
    truth = {compliance: _truth(case, samples, compliance) for compliance in {0.0, *(s.compliance for s in solvers)}}
    aba = {"us": in_core(case.robot, samples, "float64"), "single": in_core_one_by_one(case.robot, samples)}
    with ExitStack() as stack:
        peers = {peer.name: peer for peer in _peers(case, samples, build, stack)}
        tuned = {name: best_settings(peer, truth[0.0]) for name, peer in peers.items()}
        field: dict[tuple[str, str], Callable[[int], float]] = {}
        field |= {("aba", form): partial(contender.seconds, "aba") for form, contender in aba.items()}
        field |= {(s.method, form): seconds for s in solvers for form, seconds in _forms(s, samples)}
        field |= {(name, "us"): partial(peer.seconds, tuned[name][0]) for name, peer in peers.items()}
        best = take_turns(field, rounds)

    def row(method: str) -> ConstrainedRow:
        times = {form: seconds / batch * 1e6 for (name, form), seconds in best.items() if name == method}
        rows = solvers[0].compiled.n_rows if solvers else 0
        return ConstrainedRow(case.name, case.robot.model.nv, rows, method, times)

    rows = [row("aba")]
    for name, (settings, errors) in tuned.items():
        rows.append(_judged(row(name), errors, settings.iterations))
    for solver in solvers:
        rows.append(_judged(row(solver.method), *_check(solver, samples, truth[solver.compliance])))
        rows[-1].flops = solver.flops(samples.q[0])
    return rows


def _judged(row: ConstrainedRow, errors: Array, iterations: float) -> ConstrainedRow:
    row.error, row.median_error, row.iterations = float(errors.max()), float(np.median(errors)), iterations
    return row


def _forms(solver: Solver, samples: Samples) -> Iterator[tuple[str, Callable[[int], float]]]:
    """The ways a method is called."""
    yield "us", partial(solver.kernel_seconds, samples)
    yield "single", partial(solver.kernel_seconds, samples, single=True, isa="scalar")
    yield "python", partial(solver.python_seconds, samples)
    yield "python, batch 1", partial(solver.python_seconds_one_by_one, samples)
    for iterations, name in (2, "two"), (3, "three"):  # whatever they reach
        seconds = partial(solver.kernel_seconds, samples, tolerance=1e-300, max_iterations=iterations)
        yield f"{name} iterations", seconds


def _truth(case: Case, samples: Samples, compliance: float) -> Array:
    """The accelerations of the samples that are checked."""
    constraints = softened(case.constraints, compliance)
    states = zip(samples.q[:CHECKED], samples.v[:CHECKED], samples.x[:CHECKED], strict=True)
    return np.array([oracle.solve(case.robot.model, *state, constraints).a for state in states])


def _check(solver: Solver, samples: Samples, truth: Array) -> tuple[Array, float]:
    """Errors by sample, of lanes or plain doubles, whichever is worse; and the iterations."""
    inputs = (samples.q[:CHECKED], samples.v[:CHECKED], samples.x[:CHECKED])
    lanes = solver.solve(*inputs)
    with instruction_set("scalar"):
        plain = solver.solve(*inputs)
    errors = np.maximum(relative_errors(lanes.a, truth), relative_errors(plain.a, truth))
    return errors, float(lanes.iterations.mean())


def _peers(case: Case, samples: Samples, build: BuildPeers | None, stack: ExitStack) -> list[Peer]:
    """Pinocchio in all forms at hand."""
    twin = pin_twin(case.robot)
    if twin is None:
        return []
    return [wheel(twin, case, samples), *(build(twin, case, samples, stack) if build else [])]


def _fastest(rows: Sequence[ConstrainedRow], method: str) -> float | None:
    """Over all builds of one of Pinocchio's methods."""
    return min((row.microseconds["us"] for row in rows if row.method.endswith(f" {method}")), default=None)


def _ratio(title: str, above: float | None, below: float | None) -> dict[str, str]:
    return {title: f"{above / below:.1f}"} if above and below else {}
