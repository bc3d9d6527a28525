"""What a medium drags at, as the core takes it."""

from __future__ import annotations

from typing import Any

from ..model.description import ModelDescription
from ..model.drag import fluid_shapes
from ..model.medium import Medium


def in_medium(description: ModelDescription) -> dict[str, Any]:
    """The medium, boxes and ellipsoids on links; without a medium that acts there are none."""
    medium = description.medium or Medium()
    boxes: list[Any] = []
    ellipsoids: list[Any] = []
    for k, link in enumerate(description.links if medium.acts else ()):
        for shape in fluid_shapes(link):
            where = k, shape.placement.ravel().tolist(), shape.size
            if shape.kind == "box":
                boxes.append(where)
            else:
                ellipsoids.append((*where, shape.coefficients, shape.virtual_mass, shape.virtual_inertia))
    return {
        "medium": (medium.density, medium.viscosity, medium.wind),
        "boxes": boxes,
        "ellipsoids": ellipsoids,
    }
