"""Our methods for constrained dynamics, ready to be timed, counted and checked on an anchored robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, get_args

import featherweight as fw
from benchmarks.growth import total_flops
from benchmarks.race import time_python
from benchmarks.robots import Array, Samples
from featherweight import ConstrainedSolution, _testing
from featherweight.constraints.constraint_set import Constraint
from featherweight.constraints.dynamics import Method

#: Every method there is, but for the name that stands for one of the others.
METHODS: tuple[Method, ...] = tuple(method for method in get_args(Method) if method != "auto")
#: Methods that have no rigid rows, and how much theirs yield here [1/kg, 1/(kg m^2)].
COMPLIANCE = {"pv_soft": 1e-2}
#: As a user gets them who does not set any.
SETTINGS: dict[str, Any] = {
    name: signature(fw.constrained_dynamics).parameters[name].default for name in ("tolerance", "max_iterations")
}


def softened(constraints: Sequence[Constraint], compliance: float) -> list[Constraint]:
    """The same constraints with rows that yield by ``compliance``."""
    return [replace(constraint, compliance=compliance) for constraint in constraints]


class Solver:
    """One method on one robot. Where the method asks for soft rows, they are."""

    def __init__(self, model: fw.Model, constraints: Sequence[Constraint], method: Method) -> None:
        self.model, self.method = model, method
        self.compliance = COMPLIANCE.get(method, 0.0)
        self.compiled = fw.ConstraintSet(model, softened(constraints, self.compliance))

    def kernel_seconds(self, samples: Samples, repeats: int, **options: Any) -> float:
        """Smallest time of one pass inside C++; ``options`` of ``_testing.benchmark``."""
        timing = _testing.benchmark(
            self.model,
            self.method,
            samples.q,
            samples.v,
            samples.x,
            constraints=self.compiled,
            targets=self.compiled.targets,
            repeats=repeats,
            **{**SETTINGS, **options},
        )
        return float(timing["seconds_min"])

    def python_seconds(self, samples: Samples, repeats: int) -> float:
        """The same for one call from Python."""
        return time_python(lambda: self.solve(samples.q, samples.v, samples.x), repeats)

    def python_seconds_one_by_one(self, samples: Samples, repeats: int) -> float:
        """The same for one call per sample."""
        calls = list(zip(samples.q, samples.v, samples.x, strict=True))

        def work() -> None:
            for call in calls:
                self.solve(*call)

        return time_python(work, repeats)

    def solve(self, q: Array, v: Array, tau: Array) -> ConstrainedSolution:
        return fw.constrained_dynamics(self.model, q, v, tau, self.compiled, method=self.method, num_threads=1)

    def flops(self, q: Array, **options: Any) -> int:
        """Operations of one evaluation; ``options`` are settings of the method."""
        compiled = self.compiled
        counts = _testing.operation_counts(
            self.model, self.method, q=q, constraints=compiled, targets=compiled.targets, **{**SETTINGS, **options}
        )
        return total_flops(counts)
