"""What there is to see: surfaces on links and in the world, with their colours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..model.description import WORLD, Geometry
from ..model.model import Model
from ..scene.compiled import CompiledScene, CompiledShape
from .surfaces import Surface, height_surface, split_at_creases, surface

Role = Literal["visual", "collision", "ground"]
Colour = tuple[float, float, float, float]

PLAIN: Colour = (0.62, 0.64, 0.68, 1.0)  # of shapes without a colour
GROUND: Colour = (0.86, 0.87, 0.89, 1.0)


@dataclass(frozen=True, eq=False)
class Item:
    """A surface somewhere."""

    name: str
    role: Role
    link: int  # index in the model's links; -1: the world
    placement: Array  # (4, 4) in the link, or in the world
    surface: int  # index in World.surfaces
    colour: Colour


@dataclass(frozen=True, eq=False)
class World:
    """All items of a model or of a scene. Shapes that are alike share a surface."""

    model: Model
    surfaces: tuple[Surface, ...]
    items: tuple[Item, ...]
    parents: tuple[int, ...]  # of each link; -1: the world

    @classmethod
    def of(cls, what: Model | CompiledScene) -> World:
        """Visual shapes, or collision shapes of links that have none; of a scene, what does not move as well.

        A mesh file that cannot be read is left out, with a warning.
        """
        gather = _Gather()
        model = what.model if isinstance(what, CompiledScene) else what
        for k, link in enumerate(model.description.links):
            for role, geometry in _to_see(link.geometries):
                gather.add(f"{link.name}/{geometry.name}", role, k, geometry.placement, geometry)
            gather.drop_pictures_inside({f"{link.name}/{g.name}" for g in link.geometries if g.role == "collision"}, k)
        if isinstance(what, CompiledScene):
            gather.add_what_never_moves(what)
        return cls._made(model, gather)

    @classmethod
    def of_what_never_moves(cls, scene: CompiledScene) -> World:
        """Static shapes alone."""
        gather = _Gather()
        gather.add_what_never_moves(scene)
        return cls._made(scene.model, gather)

    @classmethod
    def _made(cls, model: Model, gather: _Gather) -> World:
        index = {name: k for k, name in enumerate(model.link_names)} | {WORLD: -1}
        parents = tuple(index[joint.parent] for joint in model.description.joints)
        return cls(model, tuple(gather.surfaces), tuple(gather.items), parents)

    def floor(self) -> float | None:
        """Height of the highest level ground [m], if there is one."""
        heights = []
        for item in self.items:
            if item.role == "ground":
                z = self.surfaces[item.surface].vertices @ item.placement[2, :3] + item.placement[2, 3]
                heights += [float(z[0])] if np.ptp(z) < 1e-9 else []
        return max(heights, default=None)

    def bounds(self, placements: Array) -> tuple[Array, Array]:
        """Lower and upper corner (3,) [m] of what moves, at placements (n_links, 4, 4) of the links."""
        points = [placements[:, :3, 3]]
        for item in self.items:
            if item.link >= 0:
                X = placements[item.link] @ item.placement
                v = self.surfaces[item.surface].vertices
                corners = np.array(np.meshgrid(*zip(v.min(axis=0), v.max(axis=0), strict=True))).reshape(3, -1).T
                points.append(corners @ X[:3, :3].T + X[:3, 3])
        together = np.concatenate(points) if len(placements) else np.zeros((1, 3))
        return together.min(axis=0), together.max(axis=0)


def title_of(scene: CompiledScene) -> str:
    """The names of up to three parts that can move."""
    names = [name for name, part in scene.parts.items() if part.v.stop > part.v.start]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") if names else "scene"


def _to_see(geometries: tuple[Geometry, ...]) -> Iterator[tuple[Role, Geometry]]:
    """Shapes and what they are shown as: collision shapes twice where there is nothing else to see."""
    bare = all(geometry.role == "collision" for geometry in geometries)
    for geometry in geometries:
        if geometry.role == "visual" or bare:
            yield "visual", geometry
        if geometry.role == "collision":
            yield "collision", geometry


def _plain(shape: str) -> Colour:
    """Of a shape without a colour."""
    return GROUND if shape in ("plane", "heightfield") else PLAIN


class _Gather:
    def __init__(self) -> None:
        self.surfaces: list[Surface] = []
        self.items: list[Item] = []
        self._known: dict[object, int] = {}

    def add(self, name: str, role: Role, link: int, placement: Array, geometry: Geometry) -> None:
        arrays = tuple(None if a is None else a.tobytes() for a in (geometry.vertices, geometry.heights))
        key = (geometry.shape, geometry.size, geometry.mesh, arrays)
        if key not in self._known:
            try:
                made = surface(geometry)
            except (ImportError, ModelError) as error:
                warnings.warn(f"{name} is not shown: {error}", stacklevel=4)
                return
            self._known[key] = len(self.surfaces)
            self.surfaces.append(made)
        colour = geometry.rgba or _plain(geometry.shape)
        self.items.append(Item(name, role, link, placement, self._known[key], colour))

    def drop_pictures_inside(self, colliding: set[str], link: int) -> None:
        """Pictures of meshes that collide, where other shapes of the link fill the same space: they would flicker."""
        seen = [item for item in self.items if item.link == link and item.role == "visual"]
        others = [self._corners(item) for item in seen if item.name not in colliding]
        if not others or len(others) == len(seen):
            return
        lower, upper = np.min(others, axis=(0, 1)), np.max(others, axis=(0, 1))
        margin = 0.05 * float(np.linalg.norm(upper - lower))
        for item in seen:
            corners = self._corners(item)
            if item.name in colliding and (corners > lower - margin).all() and (corners < upper + margin).all():
                self.items.remove(item)

    def _corners(self, item: Item) -> Array:
        """(2, 3): lower and upper, in the link."""
        points = self.surfaces[item.surface].vertices @ item.placement[:3, :3].T + item.placement[:3, 3]
        return np.stack([points.min(axis=0), points.max(axis=0)])

    def add_what_never_moves(self, scene: CompiledScene) -> None:
        for shape in scene.shapes:
            if shape.static:
                self.add_static(shape)

    def add_static(self, shape: CompiledShape) -> None:
        """Of a shape that was compiled; its link is gone."""
        if shape.vertices is not None and shape.faces is not None:
            solid = Surface(shape.vertices, np.asarray(shape.faces, dtype=np.int64))
            self.surfaces.append(split_at_creases(solid))
        elif shape.heights is not None:
            self.surfaces.append(split_at_creases(height_surface(shape.heights, *shape.size)))
        else:
            lengths = {"capsule": (1.0, 2.0), "cylinder": (1.0, 2.0), "box": (2.0, 2.0, 2.0)}.get(shape.kind)
            size = shape.size if lengths is None else tuple(np.multiply(shape.size, lengths).tolist())
            kind: Literal["box", "sphere", "capsule", "cylinder", "ellipsoid", "plane"] = shape.kind  # type: ignore[assignment]
            self.surfaces.append(surface(Geometry(shape.name, "collision", kind, size)))
        colour = shape.rgba or _plain(shape.kind)
        self.items.append(Item(shape.name, "ground", -1, shape.placement, len(self.surfaces) - 1, colour))
