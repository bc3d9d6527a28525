"""One environment of a live view: its links with their shapes, its frames and its centre of mass."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import _core
from ..arrays import Array
from ..model.poses import quaternion_from_rotation
from .world import World

#: What can be shown or hidden.
Layer = Literal["visual", "collision", "frames", "centre"]


class LiveEnvironment:
    """Scene nodes of viser under ``/environments/k``, which :meth:`move` places. offset: (3,) [m] from the origin."""

    def __init__(self, server: Any, world: World, k: int, offset: Array, size: float, visible: dict[str, bool]) -> None:
        self.offset = offset
        self._model = world.model
        scene, root = server.scene, f"/environments/{k}"
        scene.add_frame(root, show_axes=False, position=offset)
        self.links = [
            scene.add_frame(
                f"{root}/{name}", show_axes=visible["frames"], axes_length=0.12 * size, axes_radius=0.004 * size
            )
            for name in map(str, range(world.model.n_links))
        ]
        self._meshes: dict[str, list[Any]] = {"visual": [], "collision": []}
        for n, item in enumerate(world.items):
            if item.link >= 0:
                node = f"{root}/{item.link}/{n}"
                self._meshes[item.role].append(add_item(server, world, n, node, visible[item.role]))
        self._centre = scene.add_icosphere(
            f"{root}/centre", 0.02 * size, (208, 28, 139), subdivisions=2, visible=visible["centre"]
        )

    def move(self, q: Array) -> Array:
        """To a configuration (nq,); returns the centre of mass (3,) [m], where it is shown."""
        placements = np.asarray(_core.forward_kinematics(self._model, q))
        for handle, X in zip(self.links, placements, strict=True):
            handle.position = X[:3, 3]
            handle.wxyz = wxyz(X[:3, :3])
        centre = np.asarray(_core.center_of_mass(self._model, q)) if self._model.mass > 0.0 else np.zeros(3)
        self._centre.position = centre
        return np.asarray(centre + self.offset)

    def show(self, layer: Layer, visible: bool) -> None:
        if layer == "frames":
            for link in self.links:
                link.show_axes = visible
        elif layer == "centre":
            self._centre.visible = visible
        else:
            for mesh in self._meshes[layer]:
                mesh.visible = visible


def add_item(server: Any, world: World, n: int, node: str, visible: bool) -> Any:
    """The surface of item ``n``, under the name ``node``."""
    item = world.items[n]
    surface, (r, g, b, alpha) = world.surfaces[item.surface], item.colour
    collision = item.role == "collision"
    return server.scene.add_mesh_simple(
        node,
        surface.vertices.astype(np.float32),
        surface.faces.astype(np.uint32),
        color=(0.9, 0.45, 0.25) if collision else (r, g, b),
        opacity=min(alpha, 0.45) if collision else alpha if alpha < 1.0 else None,
        side="double",
        position=item.placement[:3, 3],
        wxyz=wxyz(item.placement[:3, :3]),
        visible=visible,
    )


def wxyz(R: Array) -> Array:
    """The quaternion of a rotation, in the order of viser."""
    x, y, z, w = quaternion_from_rotation(np.asarray(R))
    return np.array([w, x, y, z])
