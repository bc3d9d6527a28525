"""Results of items in a directory, so that work which was cut short can be resumed."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import files

_PLAN = "plan.json"
_RESULT = re.compile(r"item-(\d{6,})\.pickle")


class Journal:
    """The results of one call of ``map``; without a directory, of none.

    A directory belongs to one call: the function, the number of items and the seed must be the same when it is resumed.
    Results are written as a whole or not at all.
    """

    def __init__(
        self, directory: str | os.PathLike[str] | None, function: Callable[..., Any], n_items: int, seed: int | None
    ) -> None:
        self._n_items = n_items
        self._folder = None if directory is None else Path(directory)
        if self._folder is None:
            return
        plan = {"function": _name(function), "items": n_items, "seed": seed}
        path = self._folder / _PLAN
        if path.exists():
            _check_plan(path, plan)
            return
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(f"directory: {self._folder} is a file")
        self._folder.mkdir(parents=True, exist_ok=True)
        with files.replacing(path) as file:
            file.write(json.dumps(plan, indent=1).encode())

    def found(self) -> list[int]:
        """Items whose results are there."""
        if self._folder is None:
            return []
        matches = (_RESULT.fullmatch(path.name) for path in self._folder.iterdir())
        indices = sorted(int(match[1]) for match in matches if match)
        return [index for index in indices if index < self._n_items]

    def result(self, index: int) -> Any:
        """Of one of the items :meth:`found`."""
        path = self._path(index)
        try:
            return pickle.loads(path.read_bytes())
        except Exception as error:
            raise ValueError(f"{path}: cannot be read, delete it to compute it again: {error}") from error

    def keep(self, index: int, value: Any) -> None:
        if self._folder is not None:
            with files.replacing(self._path(index)) as file:
                file.write(pickle.dumps(value))

    def _path(self, index: int) -> Path:
        assert self._folder is not None
        return self._folder / f"item-{index:06}.pickle"


def _name(function: Callable[..., Any]) -> str:
    inner = getattr(function, "func", function)  # of a functools.partial
    return str(getattr(inner, "__qualname__", type(inner).__qualname__))


def _check_plan(path: Path, plan: dict[str, Any]) -> None:
    try:
        before = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: is no plan of featherweight.cluster: {error}") from None
    for name, value in plan.items():
        there = before.get(name) if isinstance(before, dict) else None
        if there != value:
            raise ValueError(
                f"directory: {path.parent} holds results of another call: {name} was {there!r}, is {value!r}"
            )
