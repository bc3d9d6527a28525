"""A motion as a page: one file that any browser opens, without a network.

three.js is part of it, as are all surfaces and placements, so that nothing else is needed: in a notebook, as an
attachment, among the artefacts of a build.
"""

from __future__ import annotations

import base64
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..files import replacing
from ..model.description import Joint
from .animation import Animation
from .world import GROUND

#: Frames a second, and in all: beyond, every second, third, ... is shown.
FPS, MOST_FRAMES = 50.0, 3000
#: Environments shown side by side.
MOST_ENVIRONMENTS = 64
#: Placements in a page, of all environments, frames and links: 48 bytes each, and a third more as text.
MOST_PLACEMENTS = 1_000_000


def page(animation: Animation, *, fps: float = FPS) -> str:
    """The page as text."""
    environments = min(animation.n_environments, MOST_ENVIRONMENTS)
    most = MOST_PLACEMENTS // max(1, environments * animation.world.model.n_links)
    shown = animation.frames(fps, max(2, min(MOST_FRAMES, most))).first(environments)
    left_out = animation.n_environments - environments
    data = json.dumps(_data(shown, left_out), separators=(",", ":")).replace("</", "<\\/")
    assets = resources.files(__package__) / "assets"
    text = (assets / "page.html").read_text(encoding="utf-8")
    parts = {
        "title": _escaped(animation.title),
        "style": (assets / "viewer.css").read_text(encoding="utf-8"),
        "three": (assets / "three.min.js").read_text(encoding="utf-8"),
        "data": data,
        "viewer": (assets / "viewer.js").read_text(encoding="utf-8"),
    }
    for name, part in parts.items():
        text = text.replace(f"%{name}%", part, 1)
    return text


def save_page(animation: Animation, path: str | os.PathLike[str], *, fps: float = FPS) -> None:
    """Write the page to a file, all of it or nothing."""
    text = page(animation, fps=fps)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode())


def _data(animation: Animation, left_out: int) -> dict[str, Any]:
    world, model = animation.world, animation.world.model
    placements = animation.placements()
    extent = animation.extent(placements[0])
    return {
        "title": animation.title,
        "gravity": model.gravity.tolist(),
        "links": list(model.link_names),
        "parents": list(world.parents),
        "joints": [_joint(joint) for joint in model.description.joints],
        "surfaces": [
            {"vertices": _packed(s.vertices, "<f4"), "faces": _packed(s.faces, "<u4")} for s in world.surfaces
        ],
        "items": [
            {
                "name": item.name,
                "role": item.role,
                "link": item.link,
                "placement": item.placement[:3].ravel().tolist(),
                "surface": item.surface,
                "colour": None if item.colour is GROUND else list(item.colour),
            }
            for item in world.items
        ],
        "time": animation.time.tolist(),
        "q0": animation.q[0, 0].tolist(),
        "environments": animation.n_environments,
        "left_out": left_out,
        "placements": _packed(placements, "<f4"),
        "centers": _packed(animation.centers_of_mass(), "<f4"),
        "contacts": [
            {
                "environment": np.asarray(c.environment).tolist(),
                "position": np.round(c.position, 6).ravel().tolist(),
                "force": [float(f"{x:.5g}") for x in np.ravel(c.force)],
            }
            for c in animation.contacts
        ],
        "weight": model.mass * float(np.linalg.norm(model.gravity)),
        "curves": {name: _packed(values, "<f4") for name, values in animation.curves.items()},
        "lower": extent.lower.tolist(),
        "upper": extent.upper.tolist(),
        "size": extent.size,
        "floor": world.floor(),
        "travels": extent.travels,
        "loops": len(model.description.closures),
    }


def _joint(joint: Joint) -> dict[str, Any]:
    """What it takes to move it."""

    def numbers(values: Array | None) -> list[float | None] | None:
        return None if values is None else [x if np.isfinite(x) else None for x in values.tolist()]

    return {
        "name": joint.name,
        "type": joint.type,
        "nq": joint.nq,
        "placement": joint.placement[:3].ravel().tolist(),
        "child_placement": joint.child_placement[:3].ravel().tolist(),
        "axis": None if joint.axis is None else joint.axis.tolist(),
        "axis2": None if joint.axis2 is None else joint.axis2.tolist(),
        "pitch": joint.pitch,
        "lower": numbers(joint.lower),
        "upper": numbers(joint.upper),
    }


def _packed(values: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
