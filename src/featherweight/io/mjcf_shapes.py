"""Shapes of a compiled MJCF file: what is seen of a geom, what it touches with, and how its surface behaves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..model import poses
from ..model.description import Geometry, Severity
from ..model.materials import Material
from ..model.medium import FluidShape
from ..model.thinning import MOST_CORNERS, thinned
from .mjcf_source import MjcfSource, mjcf_pose

#: A hull that deviates by less of its size counts as the same: what meshes are made of is not more exact.
THIN = 1e-3


class ShapeTranslation:
    """Geoms as shapes of links."""

    def __init__(self, source: MjcfSource) -> None:
        self._source, self._m, self._types = source, source.m, source.mujoco.mjtGeom
        self._paired = {int(geom) for ends in (self._m.pair_geom1, self._m.pair_geom2) for geom in ends}
        self._no_contact = source.disabled("CONTACT")

    def colliding(self) -> list[int]:
        """Geoms that can touch anything."""
        return [geom for geom in range(self._m.ngeom) if self._collides(geom)]

    def of_body(self, body: int) -> Iterator[Geometry]:
        m = self._m
        first, count = int(m.body_geomadr[body]), int(m.body_geomnum[body])
        for geom in range(first, first + count):
            name, collides = self._source.geom_name(geom), self._collides(geom)
            if m.geom_group[geom] <= 2 or not collides:  # MuJoCo's viewer hides groups above 2
                shape = self._shape(geom) or self._mesh(geom)
                if shape is not None:
                    yield Geometry(name, "visual", rgba=self._rgba(geom), **shape)
            if collides:
                shape = self._shape(geom) or self._hull(geom)
                if shape is not None:
                    yield Geometry(name, "collision", **shape, **self._contact(geom))

    def ellipsoid(self, geom: int) -> FluidShape:
        """What a fluid sees of a geom."""
        m, types = self._m, self._types
        x, y, z = (float(value) for value in m.geom_size[geom])
        match m.geom_type[geom]:
            case types.mjGEOM_SPHERE:
                size = (x, x, x)
            case types.mjGEOM_CAPSULE:
                size = (x, x, x + y)
            case types.mjGEOM_CYLINDER:
                size = (x, x, y)
            case _:
                size = (x, y, z)
        numbers = [float(value) for value in m.geom_fluid[geom]]  # the first says that it is an ellipsoid
        names = ("blunt_drag", "slender_drag", "angular_drag", "kutta_lift", "magnus_lift")
        options: dict[str, Any] = dict(zip(names, numbers[1:6], strict=True))
        options |= {"virtual_mass": tuple(numbers[6:9]), "virtual_inertia": tuple(numbers[9:12])}
        return FluidShape("ellipsoid", size, mjcf_pose(m.geom_pos[geom], m.geom_quat[geom]), **options)

    def _collides(self, geom: int) -> bool:
        if self._no_contact:
            return False
        return bool(self._m.geom_contype[geom] or self._m.geom_conaffinity[geom]) or geom in self._paired

    def _contact(self, geom: int) -> dict[str, Any]:
        m = self._m
        slide, spin, roll = (max(float(x), 0.0) for x in m.geom_friction[geom])  # MuJoCo takes less for next to none
        try:
            material = Material(friction=slide, torsional=spin, rolling=roll, dim=int(m.geom_condim[geom]))
        except ValueError as error:
            raise ModelError(f"geom {self._source.geom_name(geom)!r}", str(error)) from None
        bits = {key: int(getattr(m, f"geom_{key}")[geom]) & 0xFFFFFFFF for key in ("contype", "conaffinity")}
        margin, priority = float(m.geom_margin[geom]), int(m.geom_priority[geom])
        return {"material": material, "margin": margin, "priority": priority, **bits}

    def _shape(self, geom: int) -> dict[str, Any] | None:
        """Shape, size and placement of a geom that is not a mesh, as keywords of a Geometry."""
        m, types = self._m, self._types
        X = mjcf_pose(m.geom_pos[geom], m.geom_quat[geom])
        x, y, z = (float(value) for value in m.geom_size[geom])
        heights = None
        shape: str
        size: tuple[float, ...]
        match m.geom_type[geom]:
            case types.mjGEOM_PLANE:
                shape, size = "plane", ()
            case types.mjGEOM_SPHERE:
                shape, size = "sphere", (x,)
            case types.mjGEOM_CAPSULE:
                shape, size = "capsule", (x, 2.0 * y)
            case types.mjGEOM_CYLINDER:
                shape, size = "cylinder", (x, 2.0 * y)
            case types.mjGEOM_ELLIPSOID:
                shape, size = "ellipsoid", (x, y, z)
            case types.mjGEOM_BOX:
                shape, size = "box", (2.0 * x, 2.0 * y, 2.0 * z)
            case types.mjGEOM_HFIELD:
                shape = "heightfield"
                size, heights = _heights(m, int(m.geom_dataid[geom]))
            case _:
                return None
        return {"shape": shape, "size": size, "placement": X, "heights": heights}

    def _hull(self, geom: int) -> dict[str, Any] | None:
        """What a mesh collides with: the hull that MuJoCo made of it."""
        m = self._m
        if m.geom_type[geom] != self._types.mjGEOM_MESH:
            self._source.left_out_geoms.add(geom)
            kind = self._source.mujoco.mjtGeom(int(m.geom_type[geom])).name[7:].lower()
            self._source.note("geom", geom, f"shape {kind} is left out", Severity.MOTION)
            return None
        X = mjcf_pose(m.geom_pos[geom], m.geom_quat[geom])
        vertices = _hull_vertices(m, int(m.geom_dataid[geom]))
        if len(vertices) > MOST_CORNERS:
            count, extent = len(vertices), float(np.ptp(vertices, axis=0).max())
            vertices, deviation = thinned(vertices)
            message = f"collides as the hull of {len(vertices)} of its {count} corners, within {deviation:.2g} m"
            severity = Severity.NOTHING if deviation <= THIN * extent else Severity.MOTION
            self._source.note("geom", geom, message, severity)
        return {"shape": "convex", "size": (), "placement": X, "vertices": vertices}

    def _mesh(self, geom: int) -> dict[str, Any] | None:
        """What to see of a mesh: its file."""
        m, spec, source = self._m, self._source.spec, self._source
        if m.geom_type[geom] != self._types.mjGEOM_MESH:
            return None
        number = int(m.geom_dataid[geom])
        mesh = next(mesh for mesh in spec.meshes if mesh.id == number)
        if not mesh.file:
            source.note("geom", geom, f"mesh {mesh.name!r} has no file: it is not shown", Severity.PICTURE)
            return None
        if np.any(mesh.refpos) or not np.array_equal(mesh.refquat, (1.0, 0.0, 0.0, 0.0)):
            source.note("geom", geom, f"mesh {mesh.name!r} is shown without its refpos and refquat", Severity.PICTURE)
        name = os.path.basename(mesh.file) if spec.strippath else mesh.file
        meshdir = getattr(mesh, "compiler", spec).meshdir or spec.meshdir
        file = os.path.join(os.path.abspath(spec.modelfiledir), meshdir, name)
        # The compiler moves a mesh to its centre of mass and principal axes; the file still has it where it was.
        moved = mjcf_pose(m.mesh_pos[number], m.mesh_quat[number])
        X = mjcf_pose(m.geom_pos[geom], m.geom_quat[geom]) @ poses.inverse(moved)
        sx, sy, sz = (float(value) for value in mesh.scale)
        return {"shape": "mesh", "size": (sx, sy, sz), "placement": X, "mesh": os.path.normpath(file)}

    def _rgba(self, geom: int) -> tuple[float, float, float, float]:
        m = self._m
        material = int(m.geom_matid[geom])
        own = m.geom_rgba[geom]
        r, g, b, a = m.mat_rgba[material] if material >= 0 and np.allclose(own, (0.5, 0.5, 0.5, 1.0)) else own
        return float(r), float(g), float(b), float(a)


def _hull_vertices(m: Any, mesh: int) -> Array:
    """Corners (n, 3) of the hull that MuJoCo made of the mesh; all vertices where it made none."""
    first, count, graph = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh]), int(m.mesh_graphadr[mesh])
    vertices = np.asarray(m.mesh_vert[first : first + count], dtype=np.float64)
    if graph < 0:
        return vertices
    n = int(m.mesh_graph[graph])  # the graph starts: corners, faces, an address and a vertex for each corner
    return np.asarray(vertices[m.mesh_graph[graph + 2 + n : graph + 2 + 2 * n]])


def _heights(m: Any, field: int) -> tuple[tuple[float, float], Array]:
    """Full extents (x, y) and the table (nx, ny) of heights."""
    x, y, z, _ = (float(value) for value in m.hfield_size[field])
    rows, columns, first = int(m.hfield_nrow[field]), int(m.hfield_ncol[field]), int(m.hfield_adr[field])
    table = np.asarray(m.hfield_data[first : first + rows * columns], dtype=np.float64).reshape(rows, columns)
    return (2.0 * x, 2.0 * y), z * table.T  # its rows go along y
