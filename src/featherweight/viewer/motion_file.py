"""The file of a motion, which ``featherweight simulate --out`` and ``trajectory.save`` write: how it is shown again.

Besides the numbers it has the model, as the text of a saved model, and what never moves, as triangles in the world, so
that nothing else is needed but the mesh files of the robot.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import saved
from ..model.model import Model
from ..scene.compiled import CompiledScene
from .animation import Animation
from .surfaces import Surface
from .world import GROUND, Item, World

Arrays = Mapping[str, NDArray[Any]]

_MOTION = ("time", "q", "residual", "residuals")
_SCENE = ("model", "still_names", "still_colours", "still_sizes", "still_vertices", "still_faces")


@dataclass(frozen=True, eq=False)
class SavedMotion:
    """What :func:`featherweight.view` shows of a file."""

    shown: Animation

    def animation(self) -> Animation:
        return self.shown


def scene_arrays(scene: CompiledScene) -> dict[str, Any]:
    """What a file needs besides the motion, by name."""
    still = World.of_what_never_moves(scene)
    places = [(item.placement, still.surfaces[item.surface]) for item in still.items]
    vertices = [surface.vertices @ X[:3, :3].T + X[:3, 3] for X, surface in places]
    faces = [surface.faces for _, surface in places]
    return {
        "model": saved.encode(scene.model.description),
        "still_names": np.array([item.name for item in still.items], dtype=np.str_),
        "still_colours": np.array([item.colour for item in still.items]).reshape(-1, 4),
        "still_sizes": np.array([(len(v), len(f)) for v, f in zip(vertices, faces, strict=True)]).reshape(-1, 2),
        "still_vertices": np.concatenate([np.zeros((0, 3)), *vertices]),
        "still_faces": np.concatenate([np.zeros((0, 3), dtype=np.int64), *faces]),
    }


def saved_motion(path: Path, find: Callable[[str], Model], robot: str | None) -> SavedMotion:
    """The motion in the file at ``path``. robot: which one moves, where the file does not say; ``find`` loads it."""
    arrays = _read(path)
    for name in ("time", "q"):
        if name not in arrays or arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{path}: not a motion, {name} is missing or not finite")
    if robot is not None:
        world = World.of(find(robot))
    elif "model" in arrays:
        world = _world(path, arrays)
    else:
        raise ValueError(f"{path}: the file does not say which robot moves: name it with --robot")
    model, time = world.model, np.asarray(arrays["time"], dtype=np.float64)
    q = np.asarray(arrays["q"], dtype=np.float64)
    q = q.reshape(-1, *q.shape[-2:]) if q.ndim >= 2 else q
    if time.ndim != 1 or len(time) == 0 or q.shape[1:] != (len(time), model.nq):
        raise ValueError(f"{path}: q is {q.shape}, {model.name!r} wants (environments, {len(time)}, {model.nq})")
    curves = {}
    for name in ("residual", "residuals"):  # of every row, not the worst of all
        if name in arrays and np.size(arrays[name]) == q.shape[0] * q.shape[1]:
            curves["residual"] = np.asarray(arrays[name], dtype=np.float64).reshape(q.shape[:2])
    return SavedMotion(Animation(world, path.name, time, q, (), curves))


def _world(path: Path, arrays: Arrays) -> World:
    """The model of the file, and what stands around it."""
    world = World.of(Model._from_checked(saved.decode(str(arrays["model"]), path)))
    try:
        surfaces, items = _still(*(arrays[name] for name in _SCENE[1:]), first=len(world.surfaces))
    except (KeyError, ValueError, IndexError, TypeError):
        raise ValueError(f"{path}: what stands around the robot is damaged: show it alone with --robot") from None
    return replace(world, surfaces=(*world.surfaces, *surfaces), items=(*world.items, *items))


def _still(
    names: NDArray[Any],
    colours: NDArray[Any],
    sizes: NDArray[Any],
    vertices: NDArray[Any],
    faces: NDArray[Any],
    *,
    first: int,
) -> tuple[list[Surface], list[Item]]:
    """Surfaces, the first of which is number ``first`` of its world, and where they are; ValueError if damaged."""
    ends = np.cumsum(sizes.reshape(-1, 2), axis=0)
    if ends.shape[0] and tuple(ends[-1]) != (len(vertices), len(faces)):
        raise ValueError("sizes")
    surfaces, items = [], []
    for k, (name, colour, (v, f)) in enumerate(zip(names.tolist(), colours.tolist(), ends.tolist(), strict=True)):
        n_vertices, n_faces = sizes[k]
        corners = np.asarray(vertices[v - n_vertices : v], dtype=np.float64).reshape(-1, 3)
        triangles = np.asarray(faces[f - n_faces : f], dtype=np.int64).reshape(-1, 3)
        if not np.isfinite(corners).all() or not ((triangles >= 0) & (triangles < len(corners))).all():
            raise ValueError("triangles")
        red, green, blue, opacity = colour
        shown = GROUND if tuple(colour) == GROUND else (red, green, blue, opacity)
        surfaces.append(Surface(corners, triangles))
        items.append(Item(str(name), "ground", -1, np.eye(4), first + k, shown))
    return surfaces, items


def _read(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in (*_MOTION, *_SCENE) if name in file}
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path}: not a motion saved by featherweight simulate --out") from None
