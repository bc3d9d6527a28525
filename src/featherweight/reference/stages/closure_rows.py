"""Rows of closures: two frames that coincide, along and about the axes of the first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherweight.arrays import Array
from featherweight.model.description import Closure, ModelDescription
from featherweight.reference.constraints import turn_error
from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.stages.bodies import Bodies, advance, place
from featherweight.reference.stages.predict import FreeMotion
from featherweight.reference.stages.rows import RowBlock
from featherweight.reference.stages.scene import StepScene

FASTEST, FASTEST_TURN = 0.5, 2.0  # [m/s, rad/s] at which frames that are apart come together
ROWS = ("x", "y", "z", "rx", "ry", "rz")


def closure_rows(model: ModelDescription, bodies: Bodies, closure: Closure) -> list[RowBlock]:
    """Equalities: one block along the axes, one about them. Both sides are pushed at the origin of the second frame."""
    (link, X_a), (to, X_b) = _frames(model, bodies, closure)
    along = bodies.point(link, X_b[:3, 3]) - bodies.point(to, X_b[:3, 3])
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


def openings(scene: StepScene, free: FreeMotion, v: Array) -> Array:
    """(m,) by how much errors of closures change in a step that ends with v, over dt, beyond J v [m/s or rad/s]."""
    if not scene.closures:
        return np.zeros(0)
    blocks = [own for each in scene.closures for own in closure_rows(scene.model, free.bodies, each)]
    q, _ = advance(scene.model, free.q, v, scene.dt * (v + free.bend))
    before, after = (
        closure_errors(scene.model, bodies, scene.closures) for bodies in (free.bodies, place(scene.model, q))
    )
    opening = np.asarray((after - before) / scene.dt - np.vstack([block.J for block in blocks]) @ v)
    return np.where([rate for closure in scene.closures for rate in integrable(closure)], opening, 0.0)


def integrable(closure: Closure) -> list[bool]:
    """Of each row, whether its velocity is the rate of its error: of a single one about an axis it is not."""
    rows = _rows(closure)
    return [row < 3 or sum(other >= 3 for other in rows) != 1 for row in rows]


def allowed_errors(scene: StepScene, errors: Array) -> Array:
    """(m,) what may be left of them at the end of a step: what is apart comes together at a bounded speed.

    Of rows that are guided, all.
    """
    left, row = errors.copy(), 0
    errors = np.where([guide.holds for guide in scene.guides], errors, 0.0)
    for closure in scene.closures:
        for kind, fastest in ((0, FASTEST), (1, FASTEST_TURN)):
            own = [row + k for k, r in enumerate(_rows(closure)) if r // 3 == kind]
            length = float(np.linalg.norm(errors[own]))
            left[own] -= errors[own] * (min(1.0, fastest * scene.dt / length) if length > 0 else 1.0)
        row += len(closure.rows)
    return left


def dependent(scene: StepScene, G: Array, softness: Array) -> NDArray[np.bool_]:
    """(m,) rows of closures that earlier ones leave no mobility to speak of, G = J H^-1 J^T of all of them."""
    kinds = np.array([r // 3 for closure in scene.closures for r in _rows(closure)])
    floors = 1e-10 * np.array([np.diag(G)[kinds == kind].max() for kind in kinds])
    G, kept = G + np.diag(softness), list[int]()
    for k in range(len(G)):
        left = G[k, k] - G[k, kept] @ np.linalg.solve(G[np.ix_(kept, kept)], G[kept, k]) if kept else G[k, k]
        if left > max(floors[k], 1e-12 * G[k, k]):
            kept.append(k)
    return np.isin(np.arange(len(G)), kept, invert=True)


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
