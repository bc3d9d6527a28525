"""Couplings of joints that make no sense together: cycles and contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .constraint_set import AnyConstraint


def check_couplings(constraints: Sequence[tuple[str, AnyConstraint]]) -> None:
    """Raises where joints follow each other in a circle, or are told to be in two places.

    constraints: each with what messages call it. That polynomials of higher degree contradict each other is a matter of
    the configuration: their rows are then solved in the least-squares sense.
    """
    _check_cycles(constraints)
    _check_contradictions(constraints)


def _check_cycles(constraints: Sequence[tuple[str, AnyConstraint]]) -> None:
    leaders: dict[str, list[str]] = {}
    for what, each in constraints:
        joint, to = getattr(each, "joint", None), getattr(each, "to", None)
        if joint is None or to is None:
            continue
        if to in leaders.get(joint, ()):
            raise ValueError(f"{what}: joint {joint!r} already follows {to!r}")
        way = _way(leaders, to, joint)
        if way:
            raise ValueError(f"{what}: joints follow each other in a circle, {' -> '.join([joint, *way])}")
        leaders.setdefault(joint, []).append(to)


def _way(leaders: dict[str, list[str]], start: str, goal: str) -> list[str]:
    """Joints from ``start`` to ``goal``, each following the next; empty if there is no such way."""
    if start == goal:
        return [start]
    for leader in leaders.get(start, ()):
        way = _way(leaders, leader, goal)
        if way:
            return [start, *way]
    return []


def _check_contradictions(constraints: Sequence[tuple[str, AnyConstraint]]) -> None:
    """Linear couplings A q = b that no q satisfies: a row that depends on those before it, with another value."""
    columns: dict[str, int] = {}
    rows: list[tuple[str, dict[int, float], float]] = []
    for what, each in constraints:
        found = _linear(each)
        if found is not None:
            terms, value = found
            rows.append((what, {columns.setdefault(name, len(columns)): c for name, c in terms.items()}, value))
    basis: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []  # reduced rows [A | b], pivots one
    pivots: list[int] = []
    for what, entries, value in rows:
        row = np.zeros(len(columns) + 1)
        for column, c in entries.items():
            row[column] = c
        row[-1] = value
        size = float(np.abs(row[:-1]).max())
        scale = 1.0 + abs(value)
        for pivot, other in zip(pivots, basis, strict=True):
            row = row - row[pivot] * other
        pivot = int(np.argmax(np.abs(row[:-1])))
        if abs(row[pivot]) > 1e-9 * size:
            basis.append(row / row[pivot])
            pivots.append(pivot)
        elif abs(row[-1]) > 1e-9 * scale:
            raise ValueError(f"{what}: contradicts the couplings before it, by {abs(row[-1]):.3g}")


def _linear(each: Any) -> tuple[dict[str, float], float] | None:
    """Coefficients and value of a coupling that is linear and rigid."""
    if np.any(np.asarray(each.compliance, dtype=float) > 0):
        return None
    if hasattr(each, "joints"):
        return dict(each.joints), float(each.value)
    if not hasattr(each, "polynomial"):
        return None
    c = np.atleast_1d(np.asarray(each.polynomial, dtype=float))
    if c[2:].any():
        return None
    terms = {each.joint: 1.0}
    if each.to is not None:
        terms[each.to] = -float(c[1]) if len(c) > 1 else 0.0
    return terms, float(c[0])
