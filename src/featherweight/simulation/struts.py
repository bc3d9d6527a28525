"""Springs and dampers between points of links."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..model.description import WORLD, Strut
from ..model.model import Model


def struts(model: Model) -> list[Any]:
    """As the core takes them: link and position of each point; stiffness, damping, and lengths at rest."""
    index = {WORLD: -1} | {name: k for k, name in enumerate(model.link_names)}
    return [
        ([(index[link], list(point)) for link, point in each.points], each.stiffness, each.damping, each.rest_range)
        for each in model.description.struts
    ]


def strut_lengths(model: Model, q: Array) -> dict[str, Array]:
    """How long each is at q (..., nq), (...) [m]."""
    placed = np.asarray(_core.forward_kinematics(model, q)) if model.description.struts else np.zeros(0)
    return {each.name: _length(model, each, placed) for each in model.description.struts}


def _length(model: Model, strut: Strut, placed: Array) -> Array:
    points = []
    for link, point in strut.points:
        p = np.array(point)
        X = placed[..., 0 if link == WORLD else model.link(link).index, :, :]
        points.append(np.broadcast_to(p, (*X.shape[:-2], 3)) if link == WORLD else X[..., :3, :3] @ p + X[..., :3, 3])
    spans = np.diff(np.stack(points), axis=0)
    return np.asarray(np.linalg.norm(spans, axis=-1).sum(axis=0))


def strut_energy(model: Model, q: Array) -> Array:
    """The energy of all their springs at q (..., nq), (...) [J]."""
    energy, lengths = np.zeros(q.shape[:-1]), strut_lengths(model, q)
    for each in model.description.struts:
        length = lengths[each.name]
        energy += 0.5 * each.stiffness * (length - np.clip(length, *each.rest_range)) ** 2
    return energy
