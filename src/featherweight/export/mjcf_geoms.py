"""Shapes of a model or scene as MJCF: geoms, and meshes and height fields as assets."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ..model.description import Geometry
from ..model.materials import Material
from ..model.medium import FluidShape
from ..scene.compiled import CompiledShape, SurfaceProperties
from .writing import MjcfText, place, text_of

#: Groups that MuJoCo's viewer shows, and one that it does not.
SEEN, HIDDEN = "2", "3"
_MESH_FILES = (".stl", ".obj", ".msh")


class GeomWriter:
    """Geoms on bodies; names of those that can touch, by the shape."""

    def __init__(self, text: MjcfText) -> None:
        self._text = text
        self._files: dict[tuple[str, tuple[float, ...]], str] = {}

    def add_visual(self, body: Element, link: str, geometry: Geometry) -> None:
        """What is only seen; a mesh whose file MuJoCo does not read is not."""
        options = {"contype": "0", "conaffinity": "0", "group": SEEN, **place(geometry.placement)}
        if geometry.rgba is not None:
            options["rgba"] = text_of(geometry.rgba)
        if geometry.shape == "mesh":
            asset = self._file(geometry)
            if asset is None:
                return
            options |= {"type": "mesh", "mesh": asset}
        elif geometry.shape in ("convex", "heightfield"):
            return  # what it touches with shows it as well
        elif not all(geometry.size):
            return  # nothing to be seen, which MuJoCo refuses
        else:
            options |= {"type": geometry.shape, "size": _size(geometry)}
        name = self._text.new_name("geom", f"{geometry.name}_visual", f"{link}/{geometry.name}_visual")
        SubElement(body, "geom", {"name": name, **options})

    def add_fluid(self, body: Element, link: str, shape: FluidShape) -> None:
        """An ellipsoid that a medium drags at."""
        if shape.kind != "ellipsoid":
            return  # MuJoCo has a box with the inertia of the body
        options = {"type": "ellipsoid", "size": text_of(shape.size), "contype": "0", "conaffinity": "0"}
        options |= {
            "fluidshape": "ellipsoid",
            "fluidcoef": text_of(shape.coefficients),
            "group": "4",
            "rgba": "0 0 0 0",
        }
        name = self._text.new_name("geom", f"{link}/fluid")
        SubElement(body, "geom", {"name": name, **options, **place(shape.placement)})

    def add_collision(
        self, body: Element, wishes: tuple[str, ...], shape: CompiledShape, surface: SurfaceProperties, visible: bool
    ) -> str:
        """What touches; returns the name of the geom."""
        name = self._text.new_name("geom", *wishes)
        X, material = shape.placement, surface.material
        if shape.kind == "convex":
            options = {"type": "mesh", "mesh": self._hull(name, shape)}
        elif shape.kind == "heightfield":
            asset, lowest = self._heights(name, shape)
            X = X.copy()
            X[:3, 3] += lowest * X[:3, 2]
            options = {"type": "hfield", "hfield": asset}
        else:
            options = {"type": shape.kind, "size": text_of((0.0, 0.0, 1.0) if shape.kind == "plane" else shape.size)}
        *friction, rows = written_friction(material)
        options |= {
            "friction": text_of(friction),
            "condim": str(rows),
            "contype": str(_signed(shape.contype)),
            "conaffinity": str(_signed(shape.conaffinity)),
            "group": "0" if visible else HIDDEN,
        }
        if surface.margin:
            options["margin"] = repr(surface.margin)
        if surface.priority:
            options["priority"] = str(surface.priority)
        if shape.rgba is not None:
            options["rgba"] = text_of(shape.rgba)
        if material.restitution or material.tangential_restitution:
            self._text.leave_out(f"shape {shape.name!r}: restitution")
        if material.stiffness < math.inf:
            self._text.leave_out(f"shape {shape.name!r}: stiffness and damping of its surface")
        SubElement(body, "geom", {"name": name, **options, **place(X)})
        return name

    def _file(self, geometry: Geometry) -> str | None:
        file = Path(geometry.mesh or "")
        if file.suffix.lower() not in _MESH_FILES or not file.is_file():
            return None
        key = str(file), geometry.size
        if key not in self._files:
            self._files[key] = self._text.new_name("mesh", file.stem)
            options = {"name": self._files[key], "file": str(file.absolute()), "scale": text_of(geometry.size)}
            SubElement(self._text.section("asset"), "mesh", {**options, "inertia": "shell"})
        return self._files[key]

    def _hull(self, name: str, shape: CompiledShape) -> str:
        assert shape.vertices is not None
        asset = self._text.new_name("mesh", name)
        options = {"name": asset, "vertex": text_of(shape.vertices.ravel()), "inertia": "convex"}
        SubElement(self._text.section("asset"), "mesh", options)
        return asset

    def _heights(self, name: str, shape: CompiledShape) -> tuple[str, float]:
        """The asset, and the height from which MuJoCo counts."""
        assert shape.heights is not None
        asset = self._text.new_name("hfield", name)
        lowest, extent = float(shape.heights.min()), float(np.ptp(shape.heights))
        nx, ny = shape.heights.shape
        rows = shape.heights.T - lowest
        options = {
            "name": asset,
            "nrow": str(ny),
            "ncol": str(nx),
            "size": text_of((*shape.size, extent or 1e-6, 1.0)),
            "elevation": text_of(rows[::-1].ravel()),  # MuJoCo's first row in a file is the farthest along y
        }
        SubElement(self._text.section("asset"), "hfield", options)
        return asset, lowest


def written_friction(material: Material) -> tuple[float, float, float, int]:
    """Coefficients and rows of a contact, as they are asked for where nothing is said."""
    slide, spin, roll = 1.0 if material.friction is None else material.friction, material.torsional, material.rolling
    return slide, spin, roll, material.dim or (6 if roll else 4 if spin else 3 if slide else 1)


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >= 1 << 31 else bits


def _size(geometry: Geometry) -> str:
    half = tuple(0.5 * x for x in geometry.size)
    match geometry.shape:
        case "box":
            return text_of(half)
        case "capsule" | "cylinder":
            return text_of((geometry.size[0], half[1]))
        case "plane":
            return "0 0 1"
        case _:
            return text_of(geometry.size)
