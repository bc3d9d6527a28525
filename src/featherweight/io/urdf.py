"""URDF, read by a parser of our own. What is honoured, decided and reported is documented in docs/importing.md."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from ..arrays import Array
from ..errors import ModelError, ModelImportError
from ..model import poses
from ..model.builder import ROOT_JOINT, ModelBuilder
from ..model.description import WORLD, Geometry, JointType, Mimic, ModelDescription, Severity
from ..model.geometry_checks import checked_geometry
from . import remedies, xml
from .meshes import MeshFinder, PackageDirs
from .reader import MOTION, NOTHING, PICTURE, Reader
from .surfaces import Surface
from .urdf_extensions import Extensions
from .urdf_left_out import judge
from .urdf_loops import closures
from .xml import Element

_JOINT_TYPES: dict[str, JointType] = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "free",
    "spherical": "spherical",  # this and the following are not in the specification, but in use
    "ball": "spherical",
    "universal": "universal",
    "screw": "helical",
}
_ONE_DOF = ("revolute", "continuous", "prismatic", "helical")
_SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh", "plane", "drake:capsule", "drake:ellipsoid")
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read(
    text: bytes,
    path: Path | None = None,
    *,
    floating_base: bool = False,
    package_dirs: PackageDirs = None,
    directory: Path | None = None,
) -> ModelDescription:
    """The description in URDF ``text``; ``directory`` is where relative mesh paths start."""
    robot = xml.parse(text, path)
    if robot.tag != "robot":
        problem = "a URDF file must have <robot> as its outermost element"
        raise ModelImportError(f"<{robot.tag}>", problem, path, robot.line)
    return _UrdfReader(path, MeshFinder(directory, package_dirs)).read(robot, floating_base)


class _UrdfReader(Reader):
    def __init__(self, path: Path | None, meshes: MeshFinder) -> None:
        super().__init__(path)
        self._meshes = meshes
        self._lines: dict[str, int] = {}  # "joint 'elbow'" -> line
        self._materials: dict[str, tuple[float, float, float, float]] = {}
        self._renamed: dict[str, str] = {}
        self._declared_types: dict[str | None, str | None] = {}  # joint name -> type

    def read(self, robot: Element, floating_base: bool) -> ModelDescription:
        place = robot
        robot.get("version")
        joints = robot.all("joint", "drake:joint")
        try:
            self._extensions = Extensions(self, robot, self._meshes)
            builder = ModelBuilder(
                robot.get("name") or "robot", gravity=self._extensions.gravity, allow_nonphysical=True
            )
            builder.check_size(len(robot.all("link")))
            self._collect_materials(robot)
            self._rename_world(robot)
            self._declared_types = {j.attributes.get("name"): j.attributes.get("type") for j in joints}
            for place in robot.all("link"):
                self._add_link(builder, place)
            for place in joints:
                self._add_joint(builder, place)
            place = robot
            self._extensions.add_to(builder, self._renamed)
            description = self._rooted(builder, floating_base)
            loops = tuple(closures(self, description, self._extensions.loops))
            description = replace(description, closures=loops)
        except ModelImportError:
            raise
        except ModelError as error:
            line = place.line if place is not robot else self._lines.get(error.element, robot.line)
            raise ModelImportError(error.element, error.problem, self.path, line) from None
        self.report_unread(robot, judge)
        return self._finished(description)

    def _finished(self, description: ModelDescription) -> ModelDescription:
        """All notes with their lines, in the order of the file, and a model that can be simulated."""
        description = remedies.settle_inertias(description)
        notes = [*self.notes, *(replace(n, line=n.line or self._lines.get(n.element)) for n in description.notes)]
        description = remedies.start_within_limits(replace(description, notes=()), self._lines.get)
        notes += description.notes
        description = remedies.carry_massless(replace(description, notes=tuple(notes)), self._lines.get)
        description = remedies.ground_planes(description, self._lines.get)
        return replace(description, notes=tuple(sorted(description.notes, key=lambda note: note.line or 0)))

    # -- links ---------------------------------------------------------------------------------------------------

    def _add_link(self, builder: ModelBuilder, link: Element) -> None:
        source = self.attribute(link, "name")
        name = self._renamed.get(source, source)
        what = f"link {name!r}"
        self._lines.setdefault(what, link.line)
        surface = self._extensions.surface(source, what, link)
        shapes = [
            self._shape(shape, name, number, surface) for number, shape in enumerate(link.all("visual", "collision"))
        ]
        geometries = [shape for shape in shapes if shape is not None]
        inertial = self.one(link, "inertial")
        if inertial is None:
            self.note(link, what, "has no inertia: taken as massless", NOTHING)
            builder.link(name, geometries=geometries)
            return
        mass, X, moments = self._inertial(inertial, what, geometries)
        R = X[:3, :3]
        moments = self._extensions.changed_moments(source, mass, moments)
        builder.link(
            name,
            mass=mass,
            com=X[:3, 3],
            inertia=_symmetric(R @ moments @ R.T),
            geometries=geometries,
            gravity_compensation=self._extensions.carried(source),
        )
        if mass == 0.0 and not moments.any():
            self.note(inertial, what, "has no mass: taken as massless", NOTHING)

    def _inertial(self, inertial: Element, what: str, geometries: list[Geometry]) -> tuple[float, Array, Array]:
        """Mass, pose of the inertial frame in the link, and inertia about its origin in its axes."""
        mass_element, inertia = self.one(inertial, "mass"), self.one(inertial, "inertia")
        density = self.one(inertial, "density")
        if mass_element is None and inertia is None and density is not None:
            return self._inertia_of_shapes(density, what, geometries)
        mass, moments = 0.0, np.zeros((3, 3))
        if mass_element is None:
            self.note(inertial, what, "<inertial> without <mass>: taken as zero", MOTION)
        else:
            mass = self.number(mass_element, "value")
        if inertia is None:
            self.note(inertial, what, "<inertial> without <inertia>: taken as a point mass", MOTION)
        else:
            xx, xy, xz, yy, yz, zz = (self.number(inertia, key) for key in _MOMENTS)
            moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return mass, self._origin(inertial), moments

    def _inertia_of_shapes(self, density: Element, what: str, geometries: list[Geometry]) -> tuple[float, Array, Array]:
        """A density instead of a mass: that of the collision shapes."""
        value = self.number(density, "value")
        inertia, left_out = remedies.inertia_of_shapes(geometries, value)
        for shape in left_out:
            self.note(density, what, f"the mass of its {shape.shape} {shape.name!r} is left out", MOTION)
        self.note(density, what, f"has a density: its mass is {inertia.mass:g} kg, of its collision shapes", NOTHING)
        return inertia.mass, poses.pose(inertia.com), inertia.matrix

    def _shape(self, shape: Element, link: str, number: int, surface: Surface) -> Geometry | None:
        """A shape, or None if it is left out. Pictures never stop an import."""
        if shape.tag == "collision":
            return self._geometry(shape, link, number, surface.copy())
        try:
            visual = self._geometry(shape, link, number, None)
            return None if visual is None else checked_geometry(f"link {link!r}", visual)
        except ModelError as error:
            shape.settle()
            self.note(shape, f"visual of link {link!r}", f"left out: {error.element}: {error.problem}", PICTURE)
            return None

    def _geometry(self, shape: Element, link: str, number: int, surface: Surface | None) -> Geometry | None:
        what = f"{shape.tag} of link {link!r}"
        severity = PICTURE if surface is None else MOTION
        role = cast(Literal["visual", "collision"], shape.tag)
        name = shape.get("name") or f"{link}_{role}_{number}"
        placement = self._origin(shape, severity)
        holder = self.one(shape, "geometry", severity)
        solids = [] if holder is None else holder.all(*_SHAPES)
        if holder is None or not solids:
            empty = holder is None or not holder.children
            message = (
                "has no <geometry>: left out" if holder is None else "<geometry> has no shape known here: left out"
            )
            self.note(shape, what, message, NOTHING if empty else severity)
            return None
        for extra in solids[1:]:
            extra.settle()
            self.note(extra, what, f"<geometry> has {len(solids)} shapes: the first one counts", severity)
        kind, size, turn = self._size(solids[0], what, severity)
        mesh = self._mesh_file(solids[0], what, severity) if kind == "mesh" else None
        if mesh is None and kind == "mesh" and role == "collision":
            return None
        if surface is not None and not self._has_volume(kind, size):
            flat = any(x != 0.0 for x in size)
            message = (
                f"a {kind} of size {' '.join(f'{x:g}' for x in size)} has no volume: nothing can touch it, left out"
            )
            self.note(solids[0], what, message, MOTION if flat else NOTHING)
            return None
        if surface is not None:
            self._extensions.read_shape(shape, surface)
        return Geometry(
            name=name,
            role=role,
            shape=cast(Any, kind),
            size=size,
            placement=placement @ turn,
            mesh=mesh or (solids[0].attributes.get("filename") if kind == "mesh" else None),
            rgba=self._colour(shape) if role == "visual" else None,
            material=None if surface is None else surface.material(),
            **({} if surface is None else surface.bits()),
        )

    def _size(self, solid: Element, what: str, severity: Severity) -> tuple[str, tuple[float, ...], Array]:
        """Kind and size as a :class:`Geometry` has them, and how the shape is turned."""
        turn = np.eye(4)
        if solid.tag == "box":
            return "box", self.numbers(solid, "size", 3, surplus=severity), turn
        if solid.tag == "sphere":
            return "sphere", self.numbers(solid, "radius", 1, surplus=severity), turn
        if solid.tag == "mesh":
            return "mesh", self._scale(solid), turn
        if solid.tag == "drake:ellipsoid":
            return "ellipsoid", tuple(self.number(solid, key) for key in "abc"), turn
        if solid.tag == "plane":
            normal = np.array(self.numbers(solid, "normal", 3, default=(0.0, 0.0, 1.0), surplus=severity))
            turn[:3, :3] = poses.rotation_taking_z_to(self._unit(solid, what, normal, "normal"))
            return "plane", (), turn
        return solid.tag.removeprefix("drake:"), (self.number(solid, "radius"), self.number(solid, "length")), turn

    def _scale(self, mesh: Element) -> tuple[float, ...]:
        text = mesh.get("scale")
        if text is not None and len(text.split()) == 1:
            return 3 * (self.number(mesh, "scale"),)
        return self.numbers(mesh, "scale", 3, default=(1.0, 1.0, 1.0), surplus=NOTHING)

    @staticmethod
    def _has_volume(kind: str, size: tuple[float, ...]) -> bool:
        return all(x != 0.0 for x in (size[:1] if kind == "capsule" else size))

    def _mesh_file(self, mesh: Element, what: str, severity: Severity) -> str | None:
        reference = self.attribute(mesh, "filename")
        found = self._meshes.find(reference)
        if found is None:
            rest = "the reference is kept" if severity is PICTURE else "nothing can touch it, left out"
            self.note(mesh, what, f"mesh file {reference!r} not found: {rest}", severity)
        return found

    def _collect_materials(self, robot: Element) -> None:
        """Colours by name: a material may be defined at the top or in any visual, and used in all others."""
        visuals = [visual for link in robot.all("link") for visual in link.all("visual")]
        for material in [found for holder in (robot, *visuals) for found in holder.all("material")]:
            name = material.get("name") or ""
            colour = next(iter(material.all("color")), None)
            if colour is not None and name and name not in self._materials:
                rgba = self._rgba(colour)
                if rgba is not None:
                    self._materials[name] = rgba

    def _colour(self, visual: Element) -> tuple[float, float, float, float] | None:
        material = self.one(visual, "material", PICTURE)
        if material is None:
            return None
        colour = self.one(material, "color", PICTURE)
        if colour is not None:
            return self._rgba(colour)
        name = material.get("name") or ""
        if name not in self._materials and not material.children:
            self.note(material, f"material {name!r}", "is not defined: no colour", PICTURE)
        return self._materials.get(name)

    def _rgba(self, colour: Element) -> tuple[float, float, float, float] | None:
        text = colour.get("rgba") or colour.get("rgb") or ""
        try:
            r, g, b, *a = self.parsed(colour, "colour", text, 3 if len(text.split()) == 3 else 4, surplus=PICTURE)
        except ModelImportError as error:
            self.note(colour, "<color>", error.problem, PICTURE)
            return None
        return r, g, b, a[0] if a else 1.0

    # -- joints --------------------------------------------------------------------------------------------------

    def _add_joint(self, builder: ModelBuilder, joint: Element) -> None:
        name = self.attribute(joint, "name")
        what = f"joint {name!r}"
        self._lines.setdefault(what, joint.line)
        declared = self.attribute(joint, "type")
        if declared not in _JOINT_TYPES:
            raise self.error(joint, what, f"unknown type {declared!r}, the types are {', '.join(_JOINT_TYPES)}")
        type_ = _JOINT_TYPES[declared]
        placement = self._origin(joint)
        options: dict[str, Any] = {}
        if type_ in _ONE_DOF:
            options |= self._limits(joint, type_, what) | self._dynamics(joint, what)
            options |= {"axis": self._axis(joint, what), "mimic": self._mimic(joint, what)}
            options |= self._extensions.joint_options(name)
            if type_ == "helical":
                options["pitch"] = self._extensions.pitch(joint)
        else:
            self._report_unused(joint, declared, what)
        if type_ == "universal":
            options |= {"axis": (1.0, 0.0, 0.0), "axis2": (0.0, 1.0, 0.0)}  # as Drake has them
        if type_ == "planar":
            # The plane is across the axis; in the joint frame of the model it is across z.
            turn = np.eye(4)
            turn[:3, :3] = poses.rotation_taking_z_to(self._axis(joint, what))
            placement, options["child_placement"] = placement @ turn, poses.inverse(turn)
        ends = [self._end(joint, role, what) for role in ("parent", "child")]
        builder.joint(name, type_, ends[0], ends[1], placement=placement, **options)

    def _end(self, joint: Element, role: str, what: str) -> str:
        end = self.one(joint, role)
        if end is None:
            raise self.error(joint, what, f"has no <{role}>")
        link = self.attribute(end, "link")
        return self._renamed.get(link, link)

    def _axis(self, joint: Element, what: str) -> Array:
        axis = self.one(joint, "axis")
        if axis is None or axis.get("xyz") is None:
            self.note(axis or joint, what, "has no axis: x, as the specification says", NOTHING)
            return np.array([1.0, 0.0, 0.0])
        return self._unit(axis, what, np.array(self.numbers(axis, "xyz", 3)), "axis")

    def _unit(self, element: Element, what: str, given: Array, word: str) -> Array:
        scale = float(np.abs(given).max())
        if scale == 0.0:
            raise self.error(element, what, f"the {word} is zero")
        unit = given / scale
        unit /= np.linalg.norm(unit)
        if np.abs(unit - given).max() > 1e-3:
            shown = " ".join(f"{x:g}" for x in given)
            self.note(element, what, f"{word} {shown!r} is not a unit vector: normalised", NOTHING)
        return np.asarray(unit)

    def _limits(self, joint: Element, type_: JointType, what: str) -> dict[str, Any]:
        limit = self.one(joint, "limit")
        if limit is None:
            if type_ != "continuous":
                self.note(joint, what, "has no <limit>: taken as unlimited", NOTHING)
            return {}
        options: dict[str, Any] = {}
        for key in ("effort", "velocity"):
            value = self.number(limit, key, math.inf, allow_infinite=True)
            if key not in limit.attributes:
                self.note(limit, what, f"<limit> has no {key}: taken as unlimited", NOTHING)
            elif value < 0.0:
                self.note(limit, what, f"{key} limit {value:g} is negative: taken as unlimited", MOTION)
            options[f"{key}_limit"] = value if value >= 0.0 else math.inf
        given = [key for key in ("lower", "upper") if limit.get(key) is not None]
        if type_ == "continuous":
            if given:
                self.note(limit, what, "a continuous joint has no position limits: left out", NOTHING)
            return options
        if not given:
            message = "<limit> has neither lower nor upper: taken as unlimited, as MuJoCo, Drake and PyBullet do"
            self.note(limit, what, message, NOTHING)
            return options
        lower, upper = (self.number(limit, key, 0.0, allow_infinite=True) for key in ("lower", "upper"))
        if lower > upper:
            message = f"lower limit {lower:g} is above the upper limit {upper:g}: taken as unlimited"
            self.note(limit, what, f"{message}, as Gazebo and PyBullet do", MOTION)
            return options
        return options | {"lower": lower, "upper": upper}

    def _dynamics(self, joint: Element, what: str) -> dict[str, Any]:
        dynamics, old = self.one(joint, "dynamics"), self.one(joint, "joint_properties")
        if dynamics is not None and old is not None:
            old.settle()
            same = xml.same_content(replace(old, tag="dynamics"), dynamics)
            message = "<joint_properties> is an old word for <dynamics>, which counts"
            self.note(old, what, message, NOTHING if same else MOTION)
        source = dynamics or old
        if source is None:
            return {}
        options = {key: self.number(source, key, 0.0) for key in ("damping", "friction")}
        for key, vendor in (("damping", "mu_viscous"), ("friction", "mu_coulomb")):  # Franka's names
            if source.get(key) is None and source.get(vendor) is not None:
                options[key] = self.number(source, vendor)
        springs = {"spring_stiffness": "stiffness", "spring_reference": "rest_position", "armature": "armature"}
        return options | {
            name: self.number(source, key) for key, name in springs.items() if source.get(key) is not None
        }

    def _mimic(self, joint: Element, what: str) -> Mimic | None:
        mimic = self.one(joint, "mimic")
        if mimic is None:
            return None
        target = self.attribute(mimic, "joint")
        law = Mimic(target, self.number(mimic, "multiplier", 1.0), self.number(mimic, "offset", 0.0))
        type_ = _JOINT_TYPES.get(self._declared_types.get(target) or "")
        if type_ not in _ONE_DOF or target == joint.attributes["name"]:
            message = f"mimics {target!r}, which is not another joint with one degree of freedom: left out"
            self.note(mimic, what, message, MOTION)
            return None
        self.note(mimic, what, f"mimics {target!r}: scenes hold it, functions of the model do not", NOTHING)
        return law

    def _report_unused(self, joint: Element, declared: str, what: str) -> None:
        for child in joint.all("limit", "dynamics", "joint_properties", "mimic"):
            child.settle()
            severity = NOTHING if declared == "fixed" else MOTION
            self.note(child, what, f"<{child.tag}> of a {declared} joint: left out", severity)
        if declared != "planar":
            for child in joint.all("axis"):
                child.settle()  # exporters write it for all joints

    # -- the tree ------------------------------------------------------------------------------------------------

    def _rename_world(self, robot: Element) -> None:
        """A link called "world" is a link like any other; only its name is reserved."""
        links = {link.attributes.get("name"): link for link in robot.all("link")}
        if WORLD not in links:
            return
        name = f"{WORLD}_link"
        while name in links:
            name += "_"
        self._renamed[WORLD] = name
        self.note(links[WORLD], f"link {WORLD!r}", f"is called {name!r}: the name is reserved", NOTHING)

    def _rooted(self, builder: ModelBuilder, floating_base: bool) -> ModelDescription:
        roots = builder.root_links()
        if len(roots) <= 1:
            return builder.describe(floating_base=floating_base and bool(roots))
        for link in roots:
            type_: JointType = "free" if floating_base else "fixed"
            builder.joint(f"{link}_{ROOT_JOINT}", type_, WORLD, link)
            message = f"is one of {len(roots)} roots: attached to the world by a {type_} joint"
            self.note(Element("link", {}, self._lines[f"link {link!r}"]), f"link {link!r}", message, NOTHING)
        return builder.describe()

    def _origin(self, holder: Element, severity: Severity = MOTION) -> Array:
        origin = self.one(holder, "origin", severity)
        if origin is None:
            return np.eye(4)
        zero = (0.0, 0.0, 0.0)
        position, rpy = (self.numbers(origin, key, 3, zero, surplus=severity) for key in ("xyz", "rpy"))
        return poses.pose(position, rpy=rpy)


def _symmetric(matrix: Array) -> Array:
    return 0.5 * matrix + 0.5 * matrix.T
