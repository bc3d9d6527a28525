"""Links of SDF: inertia, shapes and surfaces."""

from __future__ import annotations

import math
from typing import Any, Literal, cast

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..model import poses
from ..model.builder import ModelBuilder
from ..model.description import Geometry, Inertia, Severity
from ..model.geometry_checks import checked_geometry
from ..model.rigid_bodies import sum_of
from . import remedies
from .reader import MOTION, NOTHING, PICTURE
from .sdf_frames import Scope
from .sdf_reader import SdfReader
from .surfaces import Surface
from .xml import Element

WATER = 1000.0  # [kg/m^3] density of shapes that state none
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_SHAPES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "cone", "plane", "mesh", "polyline", "empty")
#: Corners of the circle that stands for the base of a cone.
_CONE_CORNERS = 32


def add_link(builder: ModelBuilder, scope: Scope, link: Element, name: str) -> None:
    """The link in the element ``link``, called ``name`` in the whole file."""
    _LinkReader(scope, link, name).add_to(builder)


class _LinkReader:
    def __init__(self, scope: Scope, link: Element, name: str) -> None:
        self._scope = scope
        self._reader: SdfReader = scope.reader
        self._link = link
        self._source = link.attributes["name"]
        self._name, self._what = name, f"link {name!r}"
        self._densities: list[tuple[Geometry, float | None]] = []

    def add_to(self, builder: ModelBuilder) -> None:
        surface = Surface(self._reader, self._what)
        for contact in self._link.all("contact"):
            surface.read_bullet(contact)
        shapes = [
            self._shape(shape, number, surface) for number, shape in enumerate(self._link.all("visual", "collision"))
        ]
        geometries = [shape for shape in shapes if shape is not None]
        self._report_settings()
        carried = 0.0 if self._reader.flag(self._link, "gravity", True) else 1.0
        builder.link(self._name, inertia=self._inertia(), geometries=geometries, gravity_compensation=carried)

    def _report_settings(self) -> None:
        reader, link = self._reader, self._link
        for tag in ("kinematic", "enable_wind"):
            if reader.flag(link, tag):
                reader.note(link, self._what, f"<{tag}> is left out", MOTION)
        for decay in link.all("velocity_decay"):
            if any(reader.value(decay, tag, 0.0) != 0.0 for tag in ("linear", "angular")) or decay.content():
                reader.note(decay, self._what, "<velocity_decay> is left out", MOTION)

    # -- inertia -------------------------------------------------------------------------------------------------

    def _inertia(self) -> Inertia | None:
        """Mass 1 kg and moments 1 kg m^2 where nothing is said, as the specification has it."""
        reader, inertial = self._reader, self._reader.one(self._link, "inertial")
        if inertial is None and self._scope.static:
            return None
        if inertial is None:
            reader.note(self._link, self._what, "has no inertia: 1 kg and 1 kg m^2, as the specification says", NOTHING)
            return Inertia(1.0, np.zeros(3), np.eye(3))
        if inertial.get("auto") in ("true", "1"):
            return self._inertia_of_shapes(inertial)
        X, _ = reader.pose(inertial)
        mass = reader.value(inertial, "mass", 1.0)
        holder = reader.one(inertial, "inertia")
        values = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
        if holder is not None:
            values = tuple(reader.value(holder, tag, default) for tag, default in zip(_MOMENTS, values, strict=True))  # type: ignore[assignment]
        xx, xy, xz, yy, yz, zz = values
        moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if mass < 0.0:
            raise reader.error(inertial, self._what, f"mass must not be negative, got {mass:g}")
        R = X[:3, :3]
        turned = R @ moments @ R.T
        return Inertia(mass, X[:3, 3], 0.5 * turned + 0.5 * turned.T)

    def _inertia_of_shapes(self, inertial: Element) -> Inertia:
        """``auto``: collision shapes filled with their densities; a mass, if one is given, scales all of it."""
        reader = self._reader
        default = reader.value(inertial, "density", WATER)
        parts = []
        for shape, density in self._densities:
            inertia, left_out = remedies.inertia_of_shapes([shape], default if density is None else density)
            parts.append(inertia)
            if left_out:
                reader.note(inertial, self._what, f"the mass of its {shape.shape} {shape.name!r} is left out", MOTION)
        whole = sum_of(parts)
        mass = reader.value(inertial, "mass", whole.mass)
        scale = mass / whole.mass if whole.mass > 0.0 else 1.0
        return Inertia(scale * whole.mass, whole.com, scale * whole.matrix)

    # -- shapes --------------------------------------------------------------------------------------------------

    def _shape(self, shape: Element, number: int, surface: Surface) -> Geometry | None:
        """A shape, or None if it is left out. Pictures never stop an import."""
        role = cast(Literal["visual", "collision"], shape.tag)
        name = shape.get("name") or f"{self._source}_{role}_{number}"
        what = f"{role} {name!r} of {self._what}"
        if role == "collision":
            return self._collision(shape, name, what, surface.copy())
        try:
            geometry = self._geometry(shape, name, role, what, PICTURE)
            return None if geometry is None else checked_geometry(self._what, geometry)
        except ModelError as error:
            shape.settle()
            self._reader.note(shape, what, f"left out: {error.element}: {error.problem}", PICTURE)
            return None

    def _collision(self, shape: Element, name: str, what: str, surface: Surface) -> Geometry | None:
        reader = self._reader
        for each in shape.all("surface"):
            surface.read_sdf(each)
        for contact in shape.all("contact"):
            surface.read_bullet(contact)
        density = reader.one(shape, "density")
        geometry = self._geometry(shape, name, "collision", what, MOTION, material=surface.material(), **surface.bits())
        if geometry is None:
            return None
        sizes = geometry.size[:1] if geometry.shape == "capsule" else geometry.size
        if not all(x != 0.0 for x in sizes):
            message = f"a {geometry.shape} of size {' '.join(f'{x:g}' for x in geometry.size)} has no volume"
            severity = MOTION if any(geometry.size) else NOTHING
            reader.note(shape, what, f"{message}: nothing can touch it, left out", severity)
            return None
        filled = None if density is None else reader.parsed(density, "<density>", density.content(), 1)[0]
        self._densities.append((geometry, filled))
        return geometry

    def _geometry(
        self,
        shape: Element,
        name: str,
        role: Literal["visual", "collision"],
        what: str,
        severity: Severity,
        **contact: Any,
    ) -> Geometry | None:
        reader = self._reader
        X = self._pose(shape, severity)
        holder = reader.one(shape, "geometry", severity)
        solids = [] if holder is None else holder.all(*_SHAPES)
        if not solids or solids[0].tag == "empty":
            unknown = holder is not None and bool(holder.children) and not solids
            message = "<geometry> has no shape known here: left out" if unknown else "has no shape: left out"
            reader.note(shape, what, message, severity if unknown else NOTHING)
            return None
        found = self._solid(solids[0], what, severity)
        if found is None:
            return None
        kind, size, turn, more = found
        rgba = self._colour(shape) if role == "visual" else None
        return Geometry(
            name, role, cast(Any, kind), size, X @ turn, rgba=rgba, **cast(dict[str, Any], {**more, **contact})
        )

    def _pose(self, shape: Element, severity: Severity) -> Array:
        """Pose in the link, whatever it is relative to."""
        X, relative_to = self._reader.pose(shape, severity)
        if not relative_to or relative_to == self._source:
            return X
        return poses.inverse(self._scope.local(self._source)) @ self._scope.local(relative_to) @ X

    def _solid(
        self, solid: Element, what: str, severity: Severity
    ) -> tuple[str, tuple[float, ...], Array, dict[str, Any]] | None:
        """Kind and size as a :class:`Geometry` has them, how it is turned, and its mesh or vertices."""
        reader, turn, kind = self._reader, np.eye(4), solid.tag
        if kind == "box":
            return kind, reader.values(solid, "size", 3, (1.0, 1.0, 1.0), severity), turn, {}
        if kind == "ellipsoid":
            return kind, reader.values(solid, "radii", 3, (1.0, 1.0, 1.0), severity), turn, {}
        if kind == "sphere":
            return kind, reader.values(solid, "radius", 1, (1.0,), severity), turn, {}
        if kind == "plane":
            normal = np.array(reader.values(solid, "normal", 3, (0.0, 0.0, 1.0), severity))
            length = float(np.linalg.norm(normal))
            if not 0.0 < length < math.inf:
                raise reader.error(solid, what, "the normal is zero")
            turn[:3, :3] = poses.rotation_taking_z_to(normal / length)
            reader.values(solid, "size", 2, (1.0, 1.0), PICTURE)  # of the picture: the surface has no end
            return kind, (), turn, {}
        if kind == "mesh":
            return self._mesh(solid, what, severity)
        if kind == "polyline":
            return self._polyline(solid, what, severity)
        radius, length = (reader.values(solid, tag, 1, (1.0,), severity)[0] for tag in ("radius", "length"))
        if kind == "cone":
            angles = np.linspace(0.0, 2.0 * np.pi, _CONE_CORNERS, endpoint=False)
            base = np.column_stack(
                [radius * np.cos(angles), radius * np.sin(angles), np.full(len(angles), -length / 2)]
            )
            reader.note(solid, what, f"a cone is taken as a pyramid with {_CONE_CORNERS} sides", severity)
            return "convex", (), turn, {"vertices": np.vstack([base, [[0.0, 0.0, length / 2]]])}
        return kind, (radius, length), turn, {}

    def _mesh(
        self, mesh: Element, what: str, severity: Severity
    ) -> tuple[str, tuple[float, ...], Array, dict[str, Any]] | None:
        reader = self._reader
        uri = reader.text(mesh, "uri")
        scale = reader.values(mesh, "scale", 3, (1.0, 1.0, 1.0), NOTHING)
        for submesh in mesh.all("submesh"):
            submesh.settle()
            reader.note(submesh, what, "all of the mesh file is taken, not a part", severity)
        found = reader.files.find(uri) if uri else None
        if found is None:
            rest = "the reference is kept" if severity is PICTURE else "nothing can touch it, left out"
            reader.note(mesh, what, f"mesh file {uri!r} not found: {rest}", severity)
            if severity is not PICTURE or not uri:
                return None
        return "mesh", scale, np.eye(4), {"mesh": found or uri}

    def _polyline(
        self, polyline: Element, what: str, severity: Severity
    ) -> tuple[str, tuple[float, ...], Array, dict[str, Any]] | None:
        """The hull of an outline pulled up along z."""
        reader = self._reader
        corners = [reader.parsed(p, "<point>", p.content(), 2) for p in polyline.all("point")]
        height = reader.values(polyline, "height", 1, (1.0,), severity)[0]
        if len(corners) < 3 or height == 0.0:
            reader.note(polyline, what, "a polyline without area or height: left out", severity)
            return None
        reader.note(polyline, what, "a polyline is taken as its hull", severity)
        levels = [np.column_stack([np.array(corners), np.full(len(corners), z)]) for z in (0.0, height)]
        return "convex", (), np.eye(4), {"vertices": np.vstack(levels)}

    def _colour(self, visual: Element) -> tuple[float, float, float, float] | None:
        """The diffuse colour; materials of scripts and textures are left out."""
        material = self._reader.one(visual, "material", PICTURE)
        if material is None:
            return None
        for tag in ("diffuse", "ambient"):
            colour = self._reader.one(material, tag, PICTURE)
            if colour is not None and colour.content():
                text = colour.content()
                count = 3 if len(text.split()) == 3 else 4
                r, g, b, *a = self._reader.parsed(colour, f"<{tag}>", text, count, surplus=PICTURE)
                return r, g, b, a[0] if a else 1.0
        return None
