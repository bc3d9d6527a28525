"""What a long run was when it last paused, in a file: a run that is called again goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import files

Arrays = dict[str, NDArray[Any]]

_NAME = "checkpoint.npz"


class Checkpoint:
    """The file of one run in a directory; without one, nothing is kept.

    A directory belongs to one run: what it was asked for, the ``plan``, must be the same when it goes on.
    """

    def __init__(self, directory: str | os.PathLike[str] | None, plan: Mapping[str, Any]) -> None:
        self._plan = json.loads(json.dumps(plan))
        self._path = None if directory is None else Path(directory) / _NAME
        if self._path is not None:
            if self._path.parent.exists() and not self._path.parent.is_dir():
                raise ValueError(f"directory: {self._path.parent} is a file")
            self._path.parent.mkdir(parents=True, exist_ok=True)

    def load(self) -> Arrays | None:
        """What was kept last; None if nothing was."""
        if self._path is None or not self._path.exists():
            return None
        arrays = files.read_arrays(self._path)
        try:
            before = json.loads(arrays.pop("plan").tobytes())
        except (KeyError, ValueError):
            raise ValueError(f"{self._path}: not the checkpoint of a run that learns") from None
        for name in [*self._plan, *before]:
            if name not in before or name not in self._plan or before[name] != self._plan[name]:
                was, now = (repr(each[name]) if name in each else "not there" for each in (before, self._plan))
                raise ValueError(f"directory: {self._path.parent} holds another run: {name} was {was}, is {now}")
        return arrays

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep this in place of what was kept."""
        if self._path is not None:
            plan = np.frombuffer(json.dumps(self._plan).encode(), np.uint8)
            files.write_arrays(self._path, {**arrays, "plan": plan})


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Under names that begin with ``prefix/``, for files that hold several such sets."""
    return {f"{prefix}/{name}": x for name, x in arrays.items()}


def part(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """What :func:`under` put there."""
    return {name.removeprefix(f"{prefix}/"): x for name, x in arrays.items() if name.startswith(f"{prefix}/")}
