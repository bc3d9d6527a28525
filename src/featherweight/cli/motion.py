"""A motion that ``featherweight simulate --out`` or ``trajectory.save`` wrote, to look at."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..viewer.animation import Animation
from ..viewer.world import World


@dataclass(frozen=True, eq=False)
class SavedMotion:
    """What :func:`featherweight.view` shows of a file."""

    shown: Animation

    def animation(self) -> Animation:
        return self.shown


def saved_motion(path: Path, find: Callable[[str], Model], robot: str | None) -> SavedMotion:
    """The motion in the file at ``path``. robot: which one moves, where the file does not say; ``find`` loads it."""
    arrays = _read(path)
    for name in ("time", "q"):
        if name not in arrays or arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{path}: not a motion, {name} is missing or not finite")
    source = robot or (str(arrays["robot"]) if "robot" in arrays else None)
    if source is None:
        raise ValueError(f"{path}: the file does not say which robot moves: name it with --robot")
    model, time = find(source), np.asarray(arrays["time"], dtype=np.float64)
    q = np.asarray(arrays["q"], dtype=np.float64)
    q = q.reshape(-1, *q.shape[-2:]) if q.ndim >= 2 else q
    if time.ndim != 1 or len(time) == 0 or q.shape[1:] != (len(time), model.nq):
        raise ValueError(f"{path}: q is {q.shape}, {model.name!r} wants (environments, {len(time)}, {model.nq})")
    curves = {}
    if "residual" in arrays and np.size(arrays["residual"]) == q.shape[0] * q.shape[1]:
        curves["residual [1]"] = np.asarray(arrays["residual"], dtype=np.float64).reshape(q.shape[:2])
    return SavedMotion(Animation(World.of(model), f"{model.name}: {path.name}", time, q, (), curves))


def _read(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in ("time", "q", "residual", "robot") if name in file}
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path}: not a motion saved by featherweight simulate --out") from None
