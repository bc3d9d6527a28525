"""A function of some parameters for all combinations of their values."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import files
from ..records import Record
from .items import ItemError
from .items import map as map_items


@dataclass(frozen=True, eq=False)
class Sweep(Record):
    """The table of a sweep: a row for each combination, parameters first, then results.

    A trial that failed has its message under "error"; one that was not run has parameters only.

    >>> table = fw.cluster.sweep(lambda gain: {"cost": (gain - 2) ** 2}, {"gain": [1, 2, 3]})
    >>> table.best("cost", smallest=True)
    {'gain': 2, 'cost': 0}
    """

    rows: tuple[dict[str, Any], ...]

    def best(self, name: str, *, smallest: bool = False) -> dict[str, Any]:
        """The row with the largest, or smallest, result of that name."""
        known = [row for row in self.rows if name in row]
        if not known:
            raise ValueError(f"no row of the sweep has {name!r}")
        return (min if smallest else max)(known, key=lambda row: row[name])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the table as a CSV file.

        >>> import pathlib, tempfile
        >>> table = fw.cluster.sweep(lambda gain: {"error": 1.0 / gain}, {"gain": [1.0, 2.0]}, workers=0)
        >>> file = pathlib.Path(tempfile.mkdtemp(), "table.csv")
        >>> table.save(file)
        >>> file.read_text().split()[0]
        'gain,error'
        """
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, names)
        writer.writeheader()
        writer.writerows(self.rows)
        with files.replacing(path) as file:
            file.write(text.getvalue().encode())

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        failed = sum("error" in row for row in self.rows)
        return f"<Sweep: {len(self.rows)} rows{f', {failed} FAILED' if failed else ''}>"


def sweep(
    function: Callable[..., Any],
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    *,
    workers: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    progress: bool = False,
    on_interrupt: str = "raise",
) -> Sweep:
    """``function(**parameters)`` for all combinations of a grid.

    grid: values by name, of which all combinations are taken, or the combinations themselves. Seeds are parameters
    like any other: ``{"rate": [1e-3, 3e-3], "seed": range(5)}``.
    function: returns a dictionary of results, or a single one, named "result". A trial that raises does not stop the
    others. workers, directory, progress, on_interrupt: as in :func:`map`.

    >>> fw.cluster.sweep(lambda a, b: a * b, {"a": [1, 2], "b": [3]}).rows
    ({'a': 1, 'b': 3, 'result': 3}, {'a': 2, 'b': 3, 'result': 6})
    """
    trials = _trials(grid)
    done = map_items(
        partial(_trial, function),
        trials,
        workers=workers,
        directory=directory,
        progress=progress,
        on_error="return",
        on_interrupt=on_interrupt,  # type: ignore[arg-type]  # checked there
    )
    return Sweep(tuple(_row(parameters, result) for parameters, result in zip(trials, done, strict=True)))


def _trials(grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not isinstance(grid, Mapping):
        return [dict(trial) for trial in grid]
    for name, values in grid.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise ValueError(f"sweep: the values of {name!r} must be a list, got {values!r}")
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _trial(function: Callable[..., Any], parameters: dict[str, Any]) -> dict[str, Any]:
    result = function(**parameters)
    results = dict(result) if isinstance(result, Mapping) else {"result": result}
    both = sorted(results.keys() & (parameters.keys() | {"error"}))
    if both:
        raise ValueError(f"a result has the name of a parameter, or of errors: {', '.join(both)}")
    return results


def _row(parameters: dict[str, Any], result: Any) -> dict[str, Any]:
    if result is None:
        return parameters
    return parameters | ({"error": result.problem} if isinstance(result, ItemError) else result)
