"""Pictures of robots: their shapes, and sticks from joint to joint, on 3-D axes of matplotlib."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..model.description import WORLD, Geometry
from ..model.model import Model
from .surfaces import surface
from .world import PLAIN

__all__ = ["draw"]

_AROUND = 12  # faces around a round shape
_LEAST_RATIO = 0.4  # of the axes, shortest to longest
_DRAWN = ("box", "sphere", "ellipsoid", "capsule", "cylinder")  # matplotlib is too slow for meshes


def draw(model: Model, q: ArrayLike | None = None, ax: Any = None, *, alpha: float = 1.0) -> Any:
    """Draw ``model`` at the configuration ``q`` ``(nq,)``, by default its initial one; returns the axes.

    ax: 3-D axes to draw on, e.g. of ``plt.subplot(projection="3d")``; new ones by default. Several calls on the
    same axes share a scene. alpha: opacity. Visual shapes are drawn, or collision shapes if there are none; of a mesh
    or a plane, only the stick to its link. Needs matplotlib.

    >>> axes = fw.draw(fw.models.arm())  # then: axes.figure.savefig("arm.png")
    >>> axes.name
    '3d'
    """
    toolkit = _matplotlib("mpl_toolkits.mplot3d.art3d")
    if ax is None:
        ax = _matplotlib("matplotlib.pyplot").figure().add_subplot(projection="3d")
    placements = _core.forward_kinematics(model, model.q0 if q is None else q)
    if placements.ndim != 3:
        raise ValueError(f"q: expected one configuration, shape ({model.nq},), got {np.shape(np.asarray(q))}")

    shared = ax.has_data()
    sticks = np.array(list(_sticks(model, placements))).reshape(-1, 2, 3)
    if len(sticks):
        ax.add_collection3d(toolkit.Line3DCollection(sticks, colors="0.3", linewidths=1.0, alpha=alpha))
    faces: list[Array] = []
    colours: list[tuple[float, ...]] = []
    for link, X in zip(model.description.links, placements, strict=True):
        for geometry in _to_see(link.geometries):
            new = [_moved(face, X @ geometry.placement) for face in _faces(geometry)]
            faces += new
            colours += [(*(geometry.rgba or PLAIN)[:3], alpha)] * len(new)
    if faces:  # one collection, because matplotlib sorts faces by depth only within one
        ax.add_collection3d(toolkit.Poly3DCollection(faces, facecolors=colours, shade=True))

    # collections do not widen the axes by themselves in every matplotlib
    points = np.concatenate([sticks.reshape(-1, 3), placements[:, :3, 3], *faces])
    ax.auto_scale_xyz(*points.T, had_data=shared)
    _set_limits(ax)
    ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    return ax


def _set_limits(ax: Any) -> None:
    """Equal scales; thin directions are widened, and have few numbers, which would overlap."""
    limits = np.array([ax.get_xlim3d(), ax.get_ylim3d(), ax.get_zlim3d()])
    middle, extent = limits.mean(axis=1), np.ptp(limits, axis=1)
    extent = np.maximum(extent, _LEAST_RATIO * extent.max())
    lower, upper = middle - 0.5 * extent, middle + 0.5 * extent
    ax.auto_scale_xyz(*np.stack([lower, upper], axis=1), had_data=True)
    ax.set_aspect("equal")
    for axis, part in zip("xyz", extent / extent.max(), strict=True):
        ax.locator_params(axis=axis, nbins=max(2, round(6 * part)))


def _matplotlib(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError('drawing needs matplotlib: pip install "featherweight[plot]"') from None


def _sticks(model: Model, placements: Array) -> Iterator[tuple[Array, Array]]:
    """From the origin of each link to that of its parent; none from the world."""
    index = {name: i for i, name in enumerate(model.link_names)}
    for child, joint in enumerate(model.description.joints):
        if joint.parent != WORLD:
            yield placements[index[joint.parent], :3, 3], placements[child, :3, 3]


def _to_see(geometries: tuple[Geometry, ...]) -> list[Geometry]:
    visual = [geometry for geometry in geometries if geometry.role == "visual"]
    return visual or list(geometries)


def _moved(points: Array, X: Array) -> Array:
    return np.asarray(points @ X[:3, :3].T + X[:3, 3])


def _faces(geometry: Geometry) -> list[Array]:
    """Triangles (3, 3) around the shape, in its own coordinates; none of planes and meshes."""
    if geometry.shape not in _DRAWN:
        return []
    around = surface(geometry, _AROUND)
    return list(around.vertices[around.faces])
