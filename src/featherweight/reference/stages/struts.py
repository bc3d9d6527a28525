"""Springs and dampers along lines through points of links."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.spatial import skew
from featherweight.reference.stages.bodies import Bodies


def add_struts(model: ModelDescription, bodies: Bodies, v: Array, force: Array) -> None:
    """Their forces at the start of the step, added to ``force`` (nv,): - J^T of the length, times the pull."""
    index = {link.name: i for i, link in enumerate(model.links)}
    for strut in model.struts:
        places = [_place(bodies, index.get(link), np.array(point), len(v)) for link, point in strut.points]
        length, J = 0.0, np.zeros(len(v))
        for (x, Jx), (y, Jy) in pairwise(places):
            part = float(np.linalg.norm(y - x))
            length += part
            if part > 0.0:
                J += (y - x) / part @ (Jy - Jx)
        stretch = length - float(np.clip(length, *strut.rest_range))
        force -= J * (strut.stiffness * stretch + strut.damping * float(J @ v))


def _place(bodies: Bodies, link: int | None, point: Array, nv: int) -> tuple[Array, Array]:
    """Where a point of a link is in the world, and its Jacobian there (3, nv)."""
    if link is None:
        return point, np.zeros((3, nv))
    X, J = bodies.poses[link], bodies.jacobians[link]
    return X[:3, :3] @ point + X[:3, 3], X[:3, :3] @ (J[:3] - skew(point) @ J[3:])
