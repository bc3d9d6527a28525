"""Lines through points of links: their springs, dampers, limits and dry friction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..model.description import WORLD
from ..model.model import Model
from .actuation import braked
from .branches import check_branches

if TYPE_CHECKING:
    from .simulator import Simulator


def struts(model: Model) -> list[Any]:
    """As the core takes them: points, shares of spans, bends; stiffness, damping, and lengths at rest."""
    index = {WORLD: -1} | {name: k for k, name in enumerate(model.link_names)}

    def placed(point: tuple[str, tuple[float, float, float]]) -> tuple[int, list[float]]:
        return index[point[0]], list(point[1])

    return [
        (
            [placed(point) for point in each.points],
            list(each.shares) or [1.0] * (len(each.points) - 1),
            [
                (
                    bend.span,
                    index[bend.link],
                    bend.placement.ravel().tolist(),
                    bend.shape == "sphere",
                    bend.radius,
                    None if bend.side is None else placed(bend.side),
                )
                for bend in each.bends
            ],
            each.stiffness,
            each.damping,
            each.rest_range,
        )
        for each in model.description.struts
    ]


def strut_rows(model: Model) -> Iterator[tuple[str, int, float]]:
    """Limits and dry friction of struts: kind, strut, bound."""
    for k, strut in enumerate(model.description.struts):
        lower, upper = strut.range or (-np.inf, np.inf)
        if strut.range is not None or strut.friction > 0.0:
            over = [*(link for link, _ in strut.points), *(bend.link for bend in strut.bends)]
            check_branches(f"strut {strut.name!r}", model, over)
        if 0.0 < lower < np.inf:
            yield "lower_limit", k, lower
        if np.isfinite(upper):
            yield "upper_limit", k, upper
        if strut.friction > 0.0:
            yield "dry_friction", k, strut.friction


def strut_lengths(sim: Simulator, q: Array) -> dict[str, Array]:
    """How long each strut is at q (..., nq), (...) [m]."""
    return dict(zip(_names(sim), np.moveaxis(_measured(sim, q)[0], -1, 0), strict=True))


def strut_energy(sim: Simulator, q: Array) -> Array:
    """The energy of all their springs at q (..., nq), (...) [J]."""
    energy = np.zeros(q.shape[:-1])
    for each, length in zip(sim.model.description.struts, strut_lengths(sim, q).values(), strict=True):
        energy += 0.5 * each.stiffness * (length - np.clip(length, *each.rest_range)) ** 2
    return energy


def strut_violation(sim: Simulator, q: Array) -> Array:
    """By how much the worst strut is beyond its limits at q (..., nq), (...) [m]; zero where none is."""
    worst = np.zeros(q.shape[:-1])
    for each, length in zip(sim.model.description.struts, strut_lengths(sim, q).values(), strict=True):
        if each.range is not None:
            worst = np.maximum(worst, np.maximum(each.range[0] - length, length - each.range[1]))
    return worst


def _names(sim: Simulator) -> list[str]:
    return [each.name for each in sim.model.description.struts]


def _measured(sim: Simulator, q: Array) -> tuple[Array, Array]:
    """Lengths (..., struts) and their changes with velocities (..., struts, nv)."""
    lengths, arms = sim._core.measure_struts(np.ascontiguousarray(q, dtype=np.float64).reshape(-1, q.shape[-1]))
    return lengths.reshape(*q.shape[:-1], -1), arms.reshape(*q.shape[:-1], *arms.shape[1:])


def are_plain(model: Model) -> bool:
    """Whether struts are springs and dampers over points, no link is sticky and no transmission braked: derivatives
    have a closed form."""
    description = model.description
    special = any(s.range is not None or s.friction > 0.0 or s.shares or s.bends for s in description.struts)
    special = special or any(True for _ in braked(model))
    return not special and all(a.strut is None and a.sticky is None for a in description.actuators)
