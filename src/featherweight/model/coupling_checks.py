"""Couplings of joints that make no sense together: cycles and contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError


def check_couplings(couplings: Sequence[tuple[str, Any]]) -> None:
    """Raises where joints follow each other in a circle, or are told to be in two places.

    couplings: each with what messages call it. Those with ``joint``, ``to`` and ``polynomial`` say q = p(q_to), those
    with ``joints`` and ``value`` that coordinates times coefficients add up; others, and those that yield, are not
    judged. That polynomials of higher degree contradict each other is a matter of the configuration: their rows are
    then solved in the least-squares sense.
    """
    _check_cycles(couplings)
    _check_contradictions(couplings)


def _check_cycles(couplings: Sequence[tuple[str, Any]]) -> None:
    leaders: dict[str, list[str]] = {}
    for what, each in couplings:
        joint, to = getattr(each, "joint", None), getattr(each, "to", None)
        if joint is None or to is None:
            continue
        if to in leaders.get(joint, ()):
            raise ModelError(what, f"joint {joint!r} already follows {to!r}")
        way = _way(leaders, to, joint)
        if way:
            listed = [joint, *way] if len(way) < 10 else [joint, *way[:8], "...", way[-1]]
            raise ModelError(what, f"joints follow each other in a circle, {' -> '.join(listed)}")
        leaders.setdefault(joint, []).append(to)


def _way(leaders: dict[str, list[str]], start: str, goal: str) -> list[str]:
    """Joints from ``start`` to ``goal``, each following the next; empty if there is no such way."""
    came_from: dict[str, str | None] = {start: None}
    pending = [start]
    while pending:  # a stack, not recursion: chains are deep
        joint = pending.pop()
        if joint == goal:
            way: list[str] = []
            at: str | None = joint
            while at is not None:
                way.append(at)
                at = came_from[at]
            return way[::-1]
        for leader in leaders.get(joint, ()):
            if leader not in came_from:
                came_from[leader] = joint
                pending.append(leader)
    return []


def _check_contradictions(couplings: Sequence[tuple[str, Any]]) -> None:
    """Linear couplings A q = b that no q satisfies: a row that depends on those before it, with another value.

    Rows are sparse, and stay so where joints follow one another: each eliminates the joint that it is about.
    """
    solved: dict[str, tuple[dict[str, float], float]] = {}  # joint = sum of the others + value
    for what, each in couplings:
        found = _linear(each)
        if found is None:
            continue
        terms, value = found
        size, scale = max(map(abs, terms.values()), default=0.0), 1.0 + abs(value)
        while pivots := [name for name in terms if name in solved]:
            for name in pivots:
                coefficient = terms.pop(name)
                others, constant = solved[name]
                value -= coefficient * constant
                for other, x in others.items():
                    terms[other] = terms.get(other, 0.0) + coefficient * x
        left = {name: x for name, x in terms.items() if abs(x) > 1e-9 * size}
        if left:
            pivot = max(left, key=lambda name: abs(left[name]))
            scaled = {name: -x / left[pivot] for name, x in left.items() if name != pivot}
            solved[pivot] = scaled, value / left[pivot]
        elif abs(value) > 1e-9 * scale:
            raise ModelError(what, f"contradicts the couplings before it, by {abs(value):.3g}")


def _linear(each: Any) -> tuple[dict[str, float], float] | None:
    """Coefficients and value of a coupling that is linear and rigid."""
    if np.any(np.asarray(getattr(each, "compliance", 0.0), dtype=float) > 0):
        return None
    if hasattr(each, "joints"):
        return dict(each.joints), float(each.value)
    if not hasattr(each, "polynomial"):
        return None
    c = np.atleast_1d(np.asarray(each.polynomial, dtype=float))
    if c[2:].any():
        return None
    terms = {each.joint: 1.0} | {name: -x for name, x in getattr(each, "others", ())}
    if each.to is not None:
        terms[each.to] = -float(c[1]) if len(c) > 1 else 0.0
    return terms, float(c[0]) if len(c) else 0.0
