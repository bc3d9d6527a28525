"""The tables of numbers that the core returns, with names: the one place that knows what is in which column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arrays import Array
from .checks import frozen
from .records import Record


class Layout:
    """What the columns of a table hold, in their order: the shape under each name, () for one number."""

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        self._places: dict[str, tuple[int | slice, tuple[int, ...]]] = {}
        start = 0
        for name, shape in shapes.items():
            end = start + math.prod(shape)
            self._places[name] = (slice(start, end) if shape else start, shape)
            start = end
        self.width = start

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def part(self, table: Array, name: str) -> Array:
        """What a table (..., width) holds under a name, (..., *shape): a view where its memory allows."""
        if table.shape[-1] != self.width:
            raise ValueError(f"a table of {table.shape[-1]} columns, expected {self.width}: {', '.join(self)}")
        columns, shape = self._places[name]
        part: Array = table[..., columns]
        return part.reshape(part.shape[:-1] + shape) if len(shape) > 1 else part

    def split(self, table: Array) -> dict[str, Array]:
        """All that a table holds, by name."""
        return {name: self.part(table, name) for name in self}

    def joined(self, parts: Mapping[str, NDArray[Any]]) -> Array:
        """The table (n, width) that holds ``parts`` (n, *shape)."""
        n = len(np.atleast_1d(parts[next(iter(self))]))
        table = np.empty((n, self.width))
        for name, (columns, shape) in self._places.items():
            if np.shape(parts[name]) != (n, *shape):
                raise ValueError(f"{name}: expected shape {(n, *shape)}, got {np.shape(parts[name])}")
            table[:, columns] = parts[name].reshape(n, math.prod(shape)) if shape else parts[name]
        return table


# -- how well steps were solved --------------------------------------------------------------------------------------

#: Over several steps, the largest of the first counts, and the sum of the second.
_WORST = ("residual", "primal", "dual", "complementarity", "penetration", "closure_error")
_SUMS = ("gauss_seidel", "newton", "admm", "unconverged")
_FIGURES = Layout(**dict.fromkeys(_WORST + _SUMS, ()))
#: Of the last step, and of all steps of the last call.
_REPORTS = Layout(
    last=(_FIGURES.width,), total=(_FIGURES.width,), contacts=(), failed=(), failed_dof=(), failed_step=()
)


@dataclass(frozen=True, eq=False)
class StepFigures(Record):
    """How well one or several steps were solved, (batch,) each. Arrays are read-only."""

    residual: Array  # natural, relative to the velocities of the problem
    primal: Array  # [N s]
    dual: Array  # [m/s]
    complementarity: Array  # [J]
    penetration: Array  # [m]
    closure_error: Array  # [m or rad]
    gauss_seidel: Array  # iterations
    newton: Array  # factorisations
    admm: Array  # iterations
    unconverged: Array  # steps that missed the tolerance

    @classmethod
    def joined(cls, parts: Sequence[StepFigures]) -> StepFigures:
        """Of the environments of all parts, in order."""
        return _figures(np.concatenate([_FIGURES.joined(vars(part)) for part in parts]))


class StepReports:
    """What the core reports about a call of :meth:`Environments.rollout`, read when it is asked for."""

    def __init__(self, source: Array | _core.Environments) -> None:
        """source: the table, or environments that are not stepped again as long as somebody may ask."""
        self._source = source

    @classmethod
    def of(cls, core: _core.Environments) -> StepReports:
        return cls(core)

    @property
    def _table(self) -> Array:
        if isinstance(self._source, _core.Environments):
            self._source = self._source.reports()
        return self._source

    @property
    def last(self) -> StepFigures:
        """Of the last step."""
        return _figures(_REPORTS.part(self._table, "last"))

    @property
    def penetration(self) -> Array:
        """(batch,) at the start of the last step [m]."""
        return _FIGURES.part(_REPORTS.part(self._table, "last"), "penetration")

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(batch,) environments whose velocities lost their meaning."""
        return _REPORTS.part(self._table, "failed") > 0.0

    def failure(self, environment: int) -> tuple[int, int]:
        """Where an environment failed in the last call: the degree of freedom that was fastest, and the step."""
        row = self._table[environment]
        return int(_REPORTS.part(row, "failed_dof")), int(_REPORTS.part(row, "failed_step"))

    def without(self, environments: NDArray[np.bool_]) -> StepReports:
        """The same, with some environments as if they had never been stepped."""
        return StepReports(np.where(environments[:, None], 0.0, self._table))

    @staticmethod
    def names() -> list[str]:
        """Of the :meth:`arrays`."""
        return [*_FIGURES, "failed"]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that a state needs to keep, by name."""
        return {**vars(self.last), "failed": self.failed}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> StepReports:
        """What :meth:`arrays` returned."""
        last = _FIGURES.joined(arrays)
        none = np.zeros(len(last))
        rest = {"total": np.zeros_like(last), "contacts": none, "failed": arrays["failed"]}
        rest |= {"failed_dof": none, "failed_step": none}
        return cls(_REPORTS.joined({"last": last, **rest}))

    def hand_to(self, core: _core.Environments) -> None:
        """Tell the environments what their next step, and reading their forces, depend on."""
        core.set_reports(self.failed.astype(np.float64), np.ascontiguousarray(self.last.residual))


class StepTotals:
    """The reports of many calls, added up."""

    def __init__(self, batch: int) -> None:
        self._table = np.zeros((batch, _FIGURES.width))

    def plus(self, core: _core.Environments) -> StepTotals:
        """With those of the last call."""
        both = StepTotals(0)
        both._table = self._table.copy()
        core.add_totals(both._table)
        return both

    def figures(self) -> StepFigures:
        return _figures(self._table)


def _figures(table: Array) -> StepFigures:
    """Of a table (batch, width)."""
    columns = frozen(np.array(table.T, order="C"))  # one array and views of it: ten of their own take ten times as long
    return StepFigures._of(**dict(zip(_FIGURES, columns, strict=True)))


# -- contacts --------------------------------------------------------------------------------------------------------

_INTEGERS = Layout(shape_a=(), shape_b=(), material=(), feature=())
_NUMBERS = Layout(position=(3,), frame=(3, 3), gap=(), impulse=(6,))


class ContactTable:
    """All points of contact of the last step, n of all environments together, as the core keeps them for the next.

    Integers (n,): shape_a and shape_b, indices of shapes; material, row of the scene's laws; feature, by which the next
    step finds the point again. Numbers: position (n, 3) [m], world; frame (n, 3, 3), rows t1, t2, normal, world axes;
    gap (n,) [m]; impulse (n, 6) along t1, t2, normal and about them [N s, N m s].
    """

    def __init__(self, start: Array, integers: Array, numbers: Array) -> None:
        self._start, self._integers, self._numbers = start, integers, numbers

    @classmethod
    def of(cls, core: _core.Environments) -> ContactTable:
        return cls(*core.contacts())

    @property
    def counts(self) -> NDArray[np.int64]:
        """(batch,)."""
        return (self._start[1:] - self._start[:-1]).astype(np.int64)

    def integers(self, name: str) -> NDArray[np.int64]:
        return _INTEGERS.part(self._integers, name).astype(np.int64)

    def numbers(self, name: str) -> Array:
        return np.ascontiguousarray(_NUMBERS.part(self._numbers, name))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, by name."""
        arrays: dict[str, NDArray[Any]] = {"counts": self.counts}
        arrays |= {name: self.integers(name) for name in _INTEGERS}
        return arrays | {name: self.numbers(name) for name in _NUMBERS}

    @staticmethod
    def names() -> list[str]:
        """Of the :meth:`arrays`."""
        return ["counts", *_INTEGERS, *_NUMBERS]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ContactTable:
        """What :meth:`arrays` returned."""
        start = np.concatenate([[0.0], np.cumsum(arrays["counts"], dtype=np.float64)])
        return cls(start, _INTEGERS.joined(arrays), _NUMBERS.joined(arrays))

    def hand_to(self, core: _core.Environments) -> None:
        """Put them in place of those of the environments."""
        core.set_contacts(self._start, self._integers, self._numbers)


# -- solutions under constraints -------------------------------------------------------------------------------------


def constrained_solution(result: Array, nv: int, n_rows: int) -> tuple[Array, Array, Array, Array, Array]:
    """(..., nv + n_rows + 3) of constrained and impulse dynamics: motion, forces, residual, iterations, converged."""
    end = _width(result, nv + n_rows + 3) - 3
    return result[..., :nv], result[..., nv:end], result[..., end], result[..., end + 1], result[..., end + 2]


def inverse_solution(result: Array, nv: int, n_rows: int) -> dict[str, Array]:
    """(..., nv + n_rows + 2) of constrained inverse dynamics by name."""
    end = _width(result, nv + n_rows + 2) - 2
    return {
        "tau": result[..., :nv],
        "forces": result[..., nv:end],
        "residual": result[..., end],
        "converged": result[..., end + 1],
    }


def _width(table: Array, expected: int) -> int:
    if table.shape[-1] != expected:
        raise ValueError(f"a table of {table.shape[-1]} columns, expected {expected}")
    return expected


def inverted_matrix(result: Array, n_rows: int) -> dict[str, Array]:
    """(..., n_rows^2 + 1) of an inverse Delassus matrix by name; weakest: the largest ratio of mobility to pivot."""
    return Layout(inverse=(n_rows, n_rows), weakest=()).split(result)
