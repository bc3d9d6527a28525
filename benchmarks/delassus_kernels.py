"""Our methods for Delassus matrices, ready to be timed, counted and checked on an anchored robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

import featherweight as fw
from benchmarks.growth import total_flops
from benchmarks.race import time_python
from benchmarks.robots import Array, Samples
from featherweight import _testing, delassus
from featherweight.constraints.constraint_set import Constraint
from featherweight.constraints.delassus import DelassusMethod, InverseMethod, inverse_kernel_of, kernel_of

#: Every method that is an algorithm of its own; names that stand for one of the others have its kernel.
METHODS: tuple[DelassusMethod, ...] = tuple(
    method for method in get_args(DelassusMethod) if method not in ("auto", "pv_osim_base")
)
INVERSE_METHODS: tuple[InverseMethod, ...] = tuple(method for method in get_args(InverseMethod) if method != "auto")


class DelassusKernel:
    """One method on one robot."""

    def __init__(self, model: fw.Model, constraints: Sequence[Constraint], method: DelassusMethod) -> None:
        self.model, self.method, self.kernel = model, method, kernel_of(method)
        self.compiled = fw.ConstraintSet(model, list(constraints))

    @property
    def auto(self) -> bool:
        """Whether this is what ``auto`` takes."""
        return bool(self.kernel == kernel_of("auto"))

    def kernel_seconds(self, samples: Samples, repeats: int, **options: Any) -> float:
        """Smallest time of one pass inside C++, which leaves packed triangles; see ``_testing.benchmark``."""
        q, v, x = samples.q, samples.v, samples.x
        timing = _testing.benchmark(
            self.model, self.kernel, q, v, x, constraints=self.compiled, repeats=repeats, **options
        )
        return float(timing["seconds_min"])

    def python_seconds(self, samples: Samples, repeats: int) -> float:
        """The same for one call from Python, which returns full matrices."""
        return time_python(lambda: self.matrices(samples.q), repeats)

    def python_seconds_one_by_one(self, samples: Samples, repeats: int) -> float:
        """The same for one call per sample."""

        def work() -> None:
            for q in samples.q:
                self.matrices(q)

        return time_python(work, repeats)

    def matrices(self, q: Array) -> Array:
        return delassus(self.model, q, self.compiled, method=self.method, num_threads=1)

    def flops(self, q: Array) -> int:
        """Operations of one evaluation."""
        return total_flops(_testing.operation_counts(self.model, self.kernel, q=q, constraints=self.compiled))


class InverseKernel:
    """One method on one robot, for the inverse with some damping."""

    def __init__(self, compiled: fw.ConstraintSet, model: fw.Model, method: InverseMethod, damping: float) -> None:
        self.model, self.compiled, self.method, self.damping = model, compiled, method, damping
        self.kernel = inverse_kernel_of(method, compiled)
        self.auto: bool = self.kernel == inverse_kernel_of("auto", compiled)

    def kernel_seconds(self, samples: Samples, repeats: int, **options: Any) -> float:
        """Smallest time of one pass inside C++, which leaves packed triangles; see ``_testing.benchmark``."""
        options |= {"constraints": self.compiled, "targets": np.full(self.compiled.n_rows, self.damping)}
        timing = _testing.benchmark(
            self.model, self.kernel, samples.q, samples.v, samples.x, repeats=repeats, **options
        )
        return float(timing["seconds_min"])

    def matrices(self, q: Array) -> Array:
        return fw.delassus_inverse(
            self.model, q, self.compiled, damping=self.damping, method=self.method, num_threads=1
        )
