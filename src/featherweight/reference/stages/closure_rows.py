"""Rows of closures: two frames that coincide, along and about the axes of the first."""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import Closure, ModelDescription
from featherweight.reference.constraints import turn_error
from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.stages.bodies import Bodies
from featherweight.reference.stages.rows import RowBlock

ROWS = ("x", "y", "z", "rx", "ry", "rz")


def closure_rows(model: ModelDescription, bodies: Bodies, closure: Closure) -> list[RowBlock]:
    """Equalities: one block along the axes, one about them."""
    (link, X_a), (to, X_b) = _frames(model, bodies, closure)
    along = bodies.point(link, X_a[:3, 3]) - bodies.point(to, X_b[:3, 3])
    about = bodies.turn(link) - bodies.turn(to)
    J, rows = np.vstack([X_a[:3, :3].T @ along, X_a[:3, :3].T @ about]), _rows(closure)
    error = _error(X_a, X_b, rows)
    halves = [own for own in ([r for r in rows if r < 3], [r for r in rows if r >= 3]) if own]
    return [RowBlock("closure", ConeBlock("equality", len(own)), J[own], gap=error[own]) for own in halves]


def closure_errors(model: ModelDescription, bodies: Bodies, closures: tuple[Closure, ...]) -> Array:
    """(m,) what every row of every closure is off [m or rad]."""
    errors = [np.zeros(0)]
    for closure in closures:
        (_, X_a), (_, X_b) = _frames(model, bodies, closure)
        rows = _rows(closure)
        errors.append(_error(X_a, X_b, rows)[rows])
    return np.concatenate(errors)


def _rows(closure: Closure) -> list[int]:
    return sorted(ROWS.index(row) for row in closure.rows)


def _error(X_a: Array, X_b: Array, rows: list[int]) -> Array:
    """(6,) in the axes of a."""
    R_a, R_b = X_a[:3, :3], X_b[:3, :3]
    turned = turn_error(R_b.T @ R_a, [row - 3 for row in rows if row >= 3])
    return np.concatenate([R_a.T @ (X_a[:3, 3] - X_b[:3, 3]), turned])


def _frames(model: ModelDescription, bodies: Bodies, closure: Closure) -> list[tuple[int, Array]]:
    """Link and pose of both frames."""
    index = {"world": -1} | {link.name: i for i, link in enumerate(model.links)}
    ends = ((index[closure.link], closure.placement), (index[closure.to], closure.to_placement))
    return [(link, bodies.poses[link] @ placement) for link, placement in ends]
