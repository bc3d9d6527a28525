"""Checks of names and numbers that enter a model or a scene: each returns the value in its final, read-only form, or
raises :class:`ModelError` with the element at fault, what was got and what is wanted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .errors import ModelError


def frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


def checked_name(kind: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ModelError(kind, f"the name must be a non-empty string, got {name!r}")
    try:
        name.encode()  # what the core, files and terminals take
    except UnicodeEncodeError:
        raise ModelError(kind, f"the name must be text that UTF-8 can hold, got {name!r}") from None
    return name


def number(element: str, field: str, value: object) -> float:
    return float(numbers(element, field, cast(Any, value), (), "one number"))


def numbers(
    element: str,
    field: str,
    value: ArrayLike,
    shape: tuple[int, ...],
    wanted: str | None = None,
    *,
    allow_infinite: bool = False,
) -> Array:
    """``value`` as a read-only float64 array of ``shape``, or an error that says what was got and what is wanted."""
    try:
        raw = np.asarray(value)
    except ValueError:  # ragged
        raw = np.empty(0, dtype=object)
    if raw.shape != shape or (raw.size and raw.dtype.kind not in "iuf"):
        wanted = wanted or ("x".join(str(n) for n in shape) + " numbers")
        got = f"an array of shape {raw.shape}" if raw.dtype.kind in "iuf" else repr(value)
        raise ModelError(element, f"{field} must be {wanted}, got {got}")
    result = raw.astype(np.float64)
    if not np.isfinite(result).all() and (not allow_infinite or np.isnan(result).any()):
        raise ModelError(element, f"{field} must be finite, got {result.tolist()}")
    return frozen(result)


def not_negative(what: str, field: str, value: object) -> float:
    result = number(what, field, value)
    if result < 0.0:
        raise ModelError(what, f"{field} must not be negative, got {result:g}")
    return result


def integer(what: str, field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ModelError(what, f"{field} must be an integer, got {value!r}")
    return int(value)


def at_least(least: int, **counts: int) -> None:
    """Refuses what is no whole number, or a smaller one."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            expected = "a positive integer" if least == 1 else f"an integer of at least {least}"
            raise ValueError(f"{name}: expected {expected}, got {value!r}")


def vector(values: Array) -> str:
    return "(" + ", ".join(f"{x:.6g}" for x in values) + ")"


def close_names(name: str, known: Iterable[str]) -> str:
    """``" (did you mean 'a', 'b'?)"``, or nothing when no known name is close."""
    short = [other for other in known if len(other) < 100]  # matching is quadratic in the length
    matches = difflib.get_close_matches(name, short[:2000], n=3) if len(name) < 100 else []
    return f" (did you mean {', '.join(repr(match) for match in matches)}?)" if matches else ""


def counted(n: int, what: str) -> str:
    """``1 link``, ``2 links``."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
