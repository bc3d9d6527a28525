"""What a saved state holds: the one place where its arrays are judged before the core sees them.

Files and pickles may come from anywhere. Every array that a state always has is listed in :func:`_wanted` with its
shape and what its numbers may be; parameters come on top and are judged by :class:`Parameters`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..core_tables import ContactTable, StepReports
from .parameters import is_parameter

if TYPE_CHECKING:
    from .simulator import Simulator

#: Of saved files.
FORMAT = 5
#: Arrays of the core, one row per environment. Impulses are those of joints and constraints: warm starts.
ROWS = (
    *("q", "v", "activation", "impulses", "switches", "grips"),
    *("q_start", "v_start", "acceleration", "applied"),
)
#: All arrays that a state always has.
NAMES = (
    *("time", "single", *ROWS),
    *(f"contacts/{name}" for name in ContactTable.names()),
    *(f"report/{name}" for name in StepReports.names()),
)
#: Quaternions and normals may be off unit length by this much: steps leave rounding, nothing else.
_UNIT = 1e-6

Arrays = Mapping[str, NDArray[Any]]
Check = Callable[[Array], NDArray[np.bool_]]


@dataclass(frozen=True)
class _Numbers:
    """What one array must be: its shape, a sentence about its numbers, and whether each of them is so."""

    shape: tuple[int, ...]
    what: str
    good: Check
    excusable: bool = False  # the last step of environments that failed may have left anything


def _finite(x: Array) -> NDArray[np.bool_]:
    return np.isfinite(x)


def _not_negative(x: Array) -> NDArray[np.bool_]:
    return np.isfinite(x) & (x >= 0.0)


def _counts(x: Array) -> NDArray[np.bool_]:
    return np.asarray((x >= 0.0) & (x <= 2**32 - 1) & (x == np.floor(x)))


def _flags(x: Array) -> NDArray[np.bool_]:
    return np.asarray((x == 0.0) | (x == 1.0))


def _below(n: int) -> Check:
    return lambda x: _counts(x) & (x < n)


def check_format(arrays: Arrays) -> None:
    """Raises a ValueError unless they were saved in the format of this version."""
    if "format" not in arrays:
        raise ValueError("not a saved state, format missing")
    if arrays["format"].shape != () or arrays["format"] != FORMAT:
        raise ValueError(f"saved by another version, format {arrays['format']}")


def checked(simulator: Simulator, arrays: Arrays) -> dict[str, Array]:
    """The arrays of a state for this scene, as float64; the first that is wrong raises a ValueError that names it.

    Parameters among them are numbers then, but not judged yet.
    """
    if missing := [name for name in NAMES if name not in arrays]:
        raise ValueError(f"not a saved state, {', '.join(missing)} missing")
    if unknown := [name for name in arrays if name not in NAMES and name != "format" and not is_parameter(name)]:
        raise ValueError(f"{unknown[0]!r} is nothing that a state has")
    result = {name: _as_numbers(name, array) for name, array in arrays.items()}
    batch = len(result["q"]) if result["q"].ndim else 0
    if batch < 1:
        raise ValueError(f"q is {result['q'].shape}, this scene wants (batch, {simulator.model.nq})")
    n_contacts = len(np.atleast_1d(result["contacts/gap"]))
    for name, wanted in _wanted_first(batch).items():
        _check(name, result[name], wanted)
    failed, counts = result["report/failed"] > 0.0, result["contacts/counts"]
    if counts.sum() != n_contacts:
        raise ValueError(f"contacts/counts: {counts.sum():g} in all, and there are {n_contacts} contacts")
    if result["single"] and batch != 1:
        raise ValueError(f"a single environment, and arrays of {batch}")
    of_contacts = np.repeat(failed, counts.astype(np.int64))
    for name, wanted in _wanted(simulator, batch, n_contacts).items():
        excused = of_contacts if name.startswith("contacts/") else failed
        _check(name, result[name], wanted, excused)
    for name in ("q", "q_start"):
        _check_quaternions(simulator.model._quaternion_starts, name, result[name])
    _check_quaternions(range(3, result["grips"].shape[1], 7), "grips", result["grips"])
    return result


def _as_numbers(name: str, array: NDArray[Any]) -> Array:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: expected numbers, got {getattr(array, 'dtype', type(array).__name__)}")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def _wanted_first(batch: int) -> dict[str, _Numbers]:
    """What is needed to judge the others."""
    return {
        "time": _Numbers((), "a finite time", _finite),
        "single": _Numbers((), "0 or 1", _flags),
        "report/failed": _Numbers((batch,), "0 or 1", _flags),
        "contacts/counts": _Numbers((batch,), "counts", _counts),
    }


def _wanted(simulator: Simulator, batch: int, n_contacts: int) -> dict[str, _Numbers]:
    core, scene = simulator._environments(1), simulator.scene
    wanted = {}
    for name in ROWS:
        coordinates = name in ("q", "v", "activation", "grips", "q_start", "v_start")
        wanted[name] = _Numbers((batch, getattr(core, name).shape[1]), "finite", _finite, excusable=not coordinates)
    wanted["switches"] = _Numbers((batch, len(simulator.switches)), "0 or 1", _flags)
    limits = {"shape_a": len(scene.shapes), "shape_b": len(scene.shapes), "material": len(scene.laws)}
    for name, n in (limits | {"feature": 2**32}).items():
        wanted[f"contacts/{name}"] = _Numbers((n_contacts,), f"integers from 0 to {n - 1}", _below(n))
    for name, shape in (("position", (3,)), ("frame", (3, 3)), ("gap", ()), ("impulse", (6,))):
        wanted[f"contacts/{name}"] = _Numbers((n_contacts, *shape), "finite", _finite, excusable=True)
    for name in StepReports.names():
        good = _Numbers((batch,), "finite and not negative", _not_negative, excusable=True)
        wanted[f"report/{name}"] = good
    return wanted


def _check(name: str, array: Array, wanted: _Numbers, excused: NDArray[np.bool_] | None = None) -> None:
    """excused: rows in which numbers that are excusable may be anything."""
    if array.shape != wanted.shape:
        raise ValueError(f"{name} is {array.shape}, this scene wants {wanted.shape}")
    wrong = ~wanted.good(array)
    if wanted.excusable and excused is not None:
        wrong[excused] = False
    for place in np.argwhere(wrong)[:1].tolist():
        where = f" at {tuple(place)}" if place else ""
        raise ValueError(f"{name}: must be {wanted.what}, got {array[tuple(place)]:g}{where}")


def _check_quaternions(starts: Iterable[int], name: str, q: Array) -> None:
    for start in starts:
        with np.errstate(over="ignore"):
            length = np.linalg.norm(q[:, start : start + 4], axis=1)
        for environment in np.flatnonzero(np.abs(length - 1.0) > _UNIT)[:1].tolist():
            raise ValueError(
                f"{name}: the quaternion at {start} of environment {environment} has length {length[environment]:g}, "
                "expected 1"
            )
