"""Lines through points of links, around balls and cylinders: their lengths, springs and dampers."""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import Bend, ModelDescription, Strut
from featherweight.reference.spatial import skew
from featherweight.reference.stages.bodies import Bodies

Placed = tuple[Array, Array]  # where a point is in the world (3,), and its Jacobian there (3, nv)


def add_struts(model: ModelDescription, bodies: Bodies, v: Array, force: Array) -> None:
    """Their forces at the start of the step, added to ``force`` (nv,): - J^T of the length, times the pull."""
    for strut in model.struts:
        length, J = strut_length(model, bodies, strut, len(v))
        stretch = length - float(np.clip(length, *strut.rest_range))
        force -= J * (strut.stiffness * stretch + strut.damping * float(J @ v))


def strut_length(model: ModelDescription, bodies: Bodies, strut: Strut, nv: int) -> tuple[float, Array]:
    """How long it is [m], and how that changes with velocities (nv,)."""
    places = [_place(model, bodies, link, np.array(point), nv) for link, point in strut.points]
    bends = {bend.span: bend for bend in strut.bends}
    length, J = 0.0, np.zeros(nv)
    for span, share in enumerate(strut.shares or np.ones(len(places) - 1)):
        way, along = [places[span], places[span + 1]], 0.0
        if span in bends:
            met, along = _bent(model, bodies, bends[span], *way)
            way[1:1] = met
        parts = [(way[0], way[1])] if len(way) == 2 else [(way[0], way[1]), (way[2], way[3])]
        length += float(share) * along
        for (x, Jx), (y, Jy) in parts:
            part = float(np.linalg.norm(y - x))
            length += float(share) * part
            if part > 0.0:
                J += float(share) * ((y - x) / part @ (Jy - Jx))
    return length, J


def _place(model: ModelDescription, bodies: Bodies, link: str, point: Array, nv: int) -> Placed:
    if link == "world":
        return point, np.zeros((3, nv))
    i = next(i for i, each in enumerate(model.links) if each.name == link)
    X, J = bodies.poses[i], bodies.jacobians[i]
    return X[:3, :3] @ point + X[:3, 3], X[:3, :3] @ (J[:3] - skew(point) @ J[3:])


def _bent(model: ModelDescription, bodies: Bodies, bend: Bend, a: Placed, b: Placed) -> tuple[list[Placed], float]:
    """The points where a span meets the shape and leaves it, as points of its link, and how far it follows it."""
    nv = a[1].shape[1]
    columns = [_place(model, bodies, bend.link, bend.placement[:3, :3] @ e + bend.placement[:3, 3], nv)[0]
               for e in (np.zeros(3), *np.eye(3))]  # fmt: skip
    center, R = columns[0], np.stack(columns[1:], axis=1) - columns[0][:, None]
    p, q = R.T @ (a[0] - center), R.T @ (b[0] - center)
    side = None
    if bend.side is not None:
        side = R.T @ (_place(model, bodies, bend.side[0], np.array(bend.side[1]), nv)[0] - center)
    plane = np.eye(3)[:2]
    if bend.shape == "sphere":
        plane = np.linalg.qr(np.stack([p, q], axis=1))[0].T
    flat = _circle(plane @ p, plane @ q, bend.radius, None if side is None else plane @ side,
                   side is not None and float(np.linalg.norm(side)) < bend.radius)  # fmt: skip
    if flat is None:
        return [], 0.0
    first, last, angle = flat
    met = [plane.T @ first, plane.T @ last]
    ways = np.array([np.linalg.norm(first - plane @ p), bend.radius * angle, np.linalg.norm(plane @ q - last)])
    along = float(ways[1])
    if bend.shape == "cylinder":
        heights = p[2] + (q[2] - p[2]) * np.cumsum(ways)[:2] / ways.sum()
        met[0][2], met[1][2] = heights
        along = float(np.hypot(along, heights[1] - heights[0]))
    X = bend.placement
    return [_place(model, bodies, bend.link, X[:3, :3] @ each + X[:3, 3], nv) for each in met], along


def _circle(a: Array, b: Array, radius: float, side: Array | None, inside: bool) -> tuple[Array, Array, float] | None:
    """In the plane, by angles: where a thread meets a circle, leaves it, and the angle between; None: straight."""
    at_a, at_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    t = np.clip(a @ (a - b) / ((a - b) @ (a - b)), 0.0, 1.0)
    passes = np.linalg.norm(a + t * (b - a)) > radius
    if min(at_a, at_b) < radius or (inside and not passes):
        return None
    angle, whole = np.arctan2(a[1], a[0]), np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b)  # of a, and from there to b

    def point(x: float) -> Array:
        return radius * np.array([np.cos(x), np.sin(x)])

    if inside:  # the shortest way that touches the circle, by bisection of its slope
        low, high = 0.0, 1.0
        for _ in range(60):
            share = 0.5 * (low + high)
            x = point(angle + share * whole)
            slope = np.array([-x[1], x[0]]) @ ((x - a) / np.linalg.norm(x - a) + (x - b) / np.linalg.norm(x - b))
            low, high = (low, share) if slope * whole > 0.0 else (share, high)
        return x, x, 0.0
    turning, sweep = np.sign(whole), abs(whole)
    is_far = side is not None and bool(np.all(np.linalg.solve(np.stack([a, b], axis=1), -side) > 0.0))
    if passes and not is_far:
        return None
    if is_far:
        turning, sweep = -turning, 2.0 * np.pi - sweep
    before, after = np.arccos(radius / at_a), np.arccos(radius / at_b)
    first, last = angle + turning * before, angle + turning * (sweep - after)
    return point(first), point(last), float(max(sweep - before - after, 0.0))
