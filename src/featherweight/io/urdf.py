"""URDF, read by a parser of our own. What is honoured, decided and reported is documented in docs/importing.md."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from ..arrays import Array
from ..errors import ModelError, ModelImportError
from ..model import poses
from ..model.builder import ROOT_JOINT, WORLD, ModelBuilder
from ..model.description import Geometry, ImportNote, JointType, Mimic, ModelDescription, Severity
from . import xml
from .meshes import MeshFinder, PackageDirs
from .xml import Element

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITY = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)

_JOINT_TYPES: dict[str, JointType] = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "free",
    "spherical": "spherical",  # not in the specification, but in use
}
_ONE_DOF = ("revolute", "continuous", "prismatic")

#: Attributes and children that are read, by element. Whatever else a file holds is reported.
_KNOWN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "robot": (("name", "version"), ("link", "joint", "material")),
    "link": (("name",), ("inertial", "visual", "collision")),
    "inertial": ((), ("origin", "mass", "inertia")),
    "mass": (("value",), ()),
    "inertia": (("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), ()),
    "origin": (("xyz", "rpy"), ()),
    "visual": (("name",), ("origin", "geometry", "material")),
    "collision": (("name",), ("origin", "geometry")),
    "geometry": ((), ("box", "sphere", "cylinder", "capsule", "mesh")),
    "box": (("size",), ()),
    "sphere": (("radius",), ()),
    "cylinder": (("radius", "length"), ()),
    "capsule": (("radius", "length"), ()),
    "mesh": (("filename", "scale"), ()),
    "material": (("name",), ("color",)),
    "color": (("rgba",), ()),
    "joint": (("name", "type"), ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")),
    "parent": (("link",), ()),
    "child": (("link",), ()),
    "axis": (("xyz",), ()),
    "limit": (("lower", "upper", "effort", "velocity"), ()),
    "dynamics": (("damping", "friction"), ()),
    "mimic": (("joint", "multiplier", "offset"), ()),
}

#: Elements that are left out without changing how the robot moves.
_LEFT_OUT = {
    "transmission": "actuation is not part of the model",
    "ros2_control": "control is not part of the model",
    "gazebo": "settings of another simulator",
    "sensor": "sensors are not part of the model",
    "safety_controller": "controller limits are not part of the model",
    "calibration": "calibration is not part of the model",
    "texture": "textures are not part of the model",
    "material": "a collision shape has no colour",
    "verbose": "a setting of another tool",
}
_HARMLESS_ATTRIBUTES = {("link", "type"), ("joint", "dont_collapse"), ("geometry", "name"), ("material", "color")}
#: What changes it inside a <gazebo> element, and inside the others.
_GAZEBO_PHYSICS = {
    *("mu", "mu1", "mu2", "kp", "kd", "fdir1", "maxVel", "minDepth", "maxContacts", "surface", "selfCollide"),
    *("gravity", "turnGravityOff", "static", "dampingFactor", "springStiffness", "springReference"),
    *("stopCfm", "stopErp", "joint", "link", "physics"),
}
_ROTOR_INERTIA = {"motorInertia", "rotorInertia", "motor_inertia", "rotor_inertia"}


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
    return _Reader(path, MeshFinder(directory, package_dirs)).read(robot, floating_base)


class _Reader:
    def __init__(self, path: Path | None, meshes: MeshFinder) -> None:
        self._path = path
        self._meshes = meshes
        self._lines: dict[str, int] = {}  # "joint 'elbow'" -> line
        self._notes: list[ImportNote] = []
        self._materials: dict[str, tuple[float, float, float, float]] = {}
        self._renamed: dict[str, str] = {}
        self._declared_types: dict[str | None, str | None] = {}  # joint name -> type

    def read(self, robot: Element, floating_base: bool) -> ModelDescription:
        place = robot
        try:
            builder = ModelBuilder(robot.attributes.get("name") or "robot", allow_nonphysical=True)
            self._report_unknown(robot, "robot")
            self._collect_materials(robot)
            self._rename_world(robot)
            self._declared_types = {j.attributes.get("name"): j.attributes.get("type") for j in robot.all("joint")}
            for place in robot.all("link"):
                self._add_link(builder, place)
            for place in robot.all("joint"):
                self._add_joint(builder, place)
            place = robot
            description = self._rooted(builder, floating_base)
        except ModelImportError:
            raise
        except ModelError as error:
            line = place.line if place is not robot else self._lines.get(error.element, robot.line)
            raise ModelImportError(error.element, error.problem, self._path, line) from None
        notes = [*self._notes, *(replace(n, line=self._lines.get(n.element)) for n in description.notes)]
        return replace(description, notes=tuple(sorted(notes, key=lambda note: note.line or 0)))

    # -- links ---------------------------------------------------------------------------------------------------

    def _add_link(self, builder: ModelBuilder, link: Element) -> None:
        source = self._attribute(link, "name")
        name = self._renamed.get(source, source)
        what = f"link {name!r}"
        self._lines.setdefault(what, link.line)
        self._report_unknown(link, what)
        geometries = [
            self._geometry(shape, name, number)
            for number, shape in enumerate(child for child in link.children if child.tag in ("visual", "collision"))
        ]
        inertial = self._one(link, "inertial")
        if inertial is None:
            self._note(link, what, "has no inertia: taken as massless", honoured=True)
            builder.link(name, geometries=geometries)
            return
        mass, X, moments = self._inertial(inertial, what)
        R = X[:3, :3]
        builder.link(name, mass=mass, com=X[:3, 3], inertia=_symmetric(R @ moments @ R.T), geometries=geometries)
        if mass == 0.0 and not moments.any():
            self._note(inertial, what, "has no mass: taken as massless", honoured=True)

    def _inertial(self, inertial: Element, what: str) -> tuple[float, Array, Array]:
        """Mass, pose of the inertial frame in the link, and inertia about its origin in its axes."""
        self._report_unknown(inertial, what)
        mass_element, inertia = self._one(inertial, "mass"), self._one(inertial, "inertia")
        mass, moments = 0.0, np.zeros((3, 3))
        if mass_element is None:
            self._note(inertial, what, "<inertial> without <mass>: taken as zero", honoured=False)
        else:
            self._report_unknown(mass_element, what)
            mass = self._number(mass_element, "value")
        if inertia is None:
            self._note(inertial, what, "<inertial> without <inertia>: taken as a point mass", honoured=False)
        else:
            self._report_unknown(inertia, what)
            xx, xy, xz, yy, yz, zz = (self._number(inertia, key) for key in _KNOWN["inertia"][0])
            moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return mass, self._origin(inertial), moments

    def _geometry(self, shape: Element, link: str, number: int) -> Geometry:
        what = f"{shape.tag} of link {link!r}"
        self._report_unknown(shape, what)
        role = cast(Literal["visual", "collision"], shape.tag)
        holder = self._one(shape, "geometry")
        if holder is None:
            raise self._error(shape, what, "has no <geometry>")
        self._report_unknown(holder, what)
        solids = [child for child in holder.children if child.tag in _KNOWN["geometry"][1]]
        if len(solids) != 1:
            raise self._error(holder, what, f"<geometry> must have one shape, got {len(solids)}")
        solid = solids[0]
        self._report_unknown(solid, what)
        mesh: str | None = None
        if solid.tag == "box":
            size = self._numbers(solid, "size", 3)
        elif solid.tag == "sphere":
            size = self._numbers(solid, "radius", 1)
        elif solid.tag == "mesh":
            size = self._numbers(solid, "scale", 3, default=(1.0, 1.0, 1.0))
            mesh = self._mesh_file(solid, what)
        else:
            size = (self._number(solid, "radius"), self._number(solid, "length"))
        return Geometry(
            name=shape.attributes.get("name") or f"{link}_{role}_{number}",
            role=role,
            shape=cast(Any, solid.tag),
            size=size,
            placement=self._origin(shape),
            mesh=mesh,
            rgba=self._colour(shape) if role == "visual" else None,
        )

    def _mesh_file(self, mesh: Element, what: str) -> str:
        reference = self._attribute(mesh, "filename")
        found = self._meshes.find(reference)
        if found is None:
            self._note(mesh, what, f"mesh file {reference!r} not found: the reference is kept", honoured=False)
        return found or reference

    def _collect_materials(self, robot: Element) -> None:
        """Colours by name: a material may be defined at the top or in any visual, and used in all others."""
        visuals = [visual for link in robot.all("link") for visual in link.all("visual")]
        for material in [found for holder in (robot, *visuals) for found in holder.all("material")]:
            name = material.attributes.get("name", "")
            self._report_unknown(material, f"material {name!r}")
            colour = self._one(material, "color")
            if colour is not None and name:
                self._materials.setdefault(name, self._rgba(colour))

    def _colour(self, visual: Element) -> tuple[float, float, float, float] | None:
        material = self._one(visual, "material")
        if material is None:
            return None
        colour = self._one(material, "color")
        if colour is not None:
            return self._rgba(colour)
        name = material.attributes.get("name", "")
        if name not in self._materials and not material.children:
            self._note(material, f"material {name!r}", "is not defined: no colour", honoured=True)
        return self._materials.get(name)

    def _rgba(self, colour: Element) -> tuple[float, float, float, float]:
        r, g, b, a = self._numbers(colour, "rgba", 4)
        return r, g, b, a

    # -- joints --------------------------------------------------------------------------------------------------

    def _add_joint(self, builder: ModelBuilder, joint: Element) -> None:
        name = self._attribute(joint, "name")
        what = f"joint {name!r}"
        self._lines.setdefault(what, joint.line)
        self._report_unknown(joint, what)
        declared = self._attribute(joint, "type")
        if declared not in _JOINT_TYPES:
            raise self._error(joint, what, f"unknown type {declared!r}, the types are {', '.join(_JOINT_TYPES)}")
        type_ = _JOINT_TYPES[declared]
        placement = self._origin(joint)
        options: dict[str, Any] = {}
        if type_ in _ONE_DOF:
            options |= self._limits(joint, type_, what) | self._dynamics(joint, what)
            options |= {"axis": self._axis(joint, what), "mimic": self._mimic(joint, what)}
        else:
            self._report_unused(joint, declared, what)
        if type_ == "planar":
            # The plane is across the axis; in the joint frame of the model it is across z.
            turn = np.eye(4)
            turn[:3, :3] = poses.rotation_taking_z_to(self._axis(joint, what))
            placement, options["child_placement"] = placement @ turn, poses.inverse(turn)
        ends = [self._end(joint, role, what) for role in ("parent", "child")]
        builder.joint(name, type_, ends[0], ends[1], placement=placement, **options)

    def _end(self, joint: Element, role: str, what: str) -> str:
        end = self._one(joint, role)
        if end is None:
            raise self._error(joint, what, f"has no <{role}>")
        self._report_unknown(end, what)
        link = self._attribute(end, "link")
        return self._renamed.get(link, link)

    def _axis(self, joint: Element, what: str) -> Array:
        axis = self._one(joint, "axis")
        if axis is not None:
            self._report_unknown(axis, what)
        if axis is None or "xyz" not in axis.attributes:
            self._note(axis or joint, what, "has no axis: x, as the specification says", honoured=True)
            return np.array([1.0, 0.0, 0.0])
        given = np.array(self._numbers(axis, "xyz", 3))
        scale = float(np.abs(given).max())
        if scale == 0.0:
            raise self._error(axis, what, "the axis is zero")
        unit = given / scale
        unit /= np.linalg.norm(unit)
        if np.abs(unit - given).max() > 1e-3:
            self._note(axis, what, f"axis {axis.attributes['xyz']!r} is not a unit vector: normalised", honoured=True)
        return unit

    def _limits(self, joint: Element, type_: JointType, what: str) -> dict[str, Any]:
        limit = self._one(joint, "limit")
        if limit is None:
            if type_ != "continuous":
                self._note(joint, what, "has no <limit>: taken as unlimited", honoured=True)
            return {}
        self._report_unknown(limit, what)
        options: dict[str, Any] = {}
        for key in ("effort", "velocity"):
            if key in limit.attributes:
                options[f"{key}_limit"] = self._number(limit, key, allow_infinite=True)
            else:
                self._note(limit, what, f"<limit> has no {key}: taken as unlimited", honoured=True)
        if type_ != "continuous":
            options |= {key: self._number(limit, key, default=0.0, allow_infinite=True) for key in ("lower", "upper")}
        elif "lower" in limit.attributes or "upper" in limit.attributes:
            self._note(limit, what, "a continuous joint has no position limits: left out", honoured=True)
        return options

    def _dynamics(self, joint: Element, what: str) -> dict[str, Any]:
        dynamics = self._one(joint, "dynamics")
        if dynamics is None:
            return {}
        self._report_unknown(dynamics, what)
        return {key: self._number(dynamics, key, default=0.0) for key in ("damping", "friction")}

    def _mimic(self, joint: Element, what: str) -> Mimic | None:
        mimic = self._one(joint, "mimic")
        if mimic is None:
            return None
        self._report_unknown(mimic, what)
        target = self._attribute(mimic, "joint")
        if self._declared_types.get(target) not in _ONE_DOF or target == joint.attributes["name"]:
            message = f"mimics {target!r}, which is not another joint with one degree of freedom: left out"
            self._note(mimic, what, message, honoured=False)
            return None
        message = f"mimics {target!r}: recorded, not enforced by the dynamics of the tree"
        self._note(mimic, what, message, honoured=False)
        return Mimic(target, self._number(mimic, "multiplier", default=1.0), self._number(mimic, "offset", default=0.0))

    def _report_unused(self, joint: Element, declared: str, what: str) -> None:
        for child in joint.children:
            if child.tag in ("limit", "dynamics", "mimic"):
                self._note(child, what, f"<{child.tag}> of a {declared} joint: left out", honoured=declared == "fixed")

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
        self._note(links[WORLD], f"link {WORLD!r}", f"is called {name!r}: the name is reserved", honoured=True)

    def _rooted(self, builder: ModelBuilder, floating_base: bool) -> ModelDescription:
        roots = builder.root_links()
        if len(roots) <= 1:
            return builder.describe(floating_base=floating_base and bool(roots))
        for link in roots:
            type_: JointType = "free" if floating_base else "fixed"
            builder.joint(f"{link}_{ROOT_JOINT}", type_, WORLD, link)
            line = self._lines[f"link {link!r}"]
            message = f"is one of {len(roots)} roots: attached to the world by a {type_} joint"
            self._notes.append(ImportNote(f"link {link!r}", line, message, Severity.NOTHING))
        return builder.describe()

    # -- elements and attributes ---------------------------------------------------------------------------------

    def _report_unknown(self, element: Element, what: str) -> None:
        attributes, children = _KNOWN[element.tag]
        for name in element.attributes:
            if name not in attributes and not name.startswith("xmlns"):
                message = f"<{element.tag}> has an unknown attribute {name!r}: left out"
                self._note(element, what, message, honoured=(element.tag, name) in _HARMLESS_ATTRIBUTES)
        for child in element.children:
            if child.tag not in children:
                self._report_left_out(child, what)

    def _report_left_out(self, element: Element, what: str) -> None:
        label = element.attributes.get("name") or element.attributes.get("reference")
        named = f"{element.tag} {label!r}" if label else element.tag
        where = named if what == "robot" else f"{named} of {what}"
        if element.tag not in _LEFT_OUT:
            xacro = " (is this a xacro file that was not expanded?)" if element.tag.startswith("xacro:") else ""
            self._note(element, where, f"unknown element <{element.tag}>{xacro}: left out", honoured=False)
            return
        physics = sorted(_tags_inside(element) & (_GAZEBO_PHYSICS if element.tag == "gazebo" else _ROTOR_INERTIA))
        because = f", with {', '.join(physics)}" if physics else ""
        self._note(element, where, f"left out: {_LEFT_OUT[element.tag]}{because}", honoured=not physics)

    def _origin(self, holder: Element) -> Array:
        origin = self._one(holder, "origin")
        if origin is None:
            return np.eye(4)
        self._report_unknown(origin, f"<origin> of {holder.tag} {holder.attributes.get('name', '')!r}")
        zero = (0.0, 0.0, 0.0)
        return poses.pose(self._numbers(origin, "xyz", 3, zero), rpy=self._numbers(origin, "rpy", 3, zero))

    def _one(self, element: Element, tag: str) -> Element | None:
        found = element.all(tag)
        if len(found) > 1:
            raise self._error(found[1], f"<{tag}> of {_label(element)}", "is given twice")
        return found[0] if found else None

    def _attribute(self, element: Element, key: str) -> str:
        value = element.attributes.get(key)
        if not value:
            problem = "missing" if value is None else "empty"
            raise self._error(element, _label(element), f"attribute {key!r} is {problem}")
        return value

    def _number(
        self, element: Element, key: str, default: float | None = None, *, allow_infinite: bool = False
    ) -> float:
        if default is not None and key not in element.attributes:
            return default
        return self._numbers(element, key, 1, allow_infinite=allow_infinite)[0]

    def _numbers(
        self,
        element: Element,
        key: str,
        count: int,
        default: tuple[float, ...] | None = None,
        *,
        allow_infinite: bool = False,
    ) -> tuple[float, ...]:
        if default is not None and key not in element.attributes:
            return default
        text = self._attribute(element, key)
        values = tuple(_parsed(token, allow_infinite) for token in text.split())
        if len(values) != count or any(math.isnan(value) for value in values):
            wanted = "a number" if count == 1 else f"{count} numbers"
            raise self._error(element, _label(element), f"attribute {key!r} must be {wanted}, got {text[:100]!r}")
        return values

    def _note(self, element: Element, what: str, message: str, *, honoured: bool) -> None:
        self._notes.append(ImportNote(what, element.line, message, Severity.NOTHING if honoured else Severity.MOTION))

    def _error(self, element: Element, what: str, problem: str) -> ModelImportError:
        return ModelImportError(what, problem, self._path, element.line)


def _parsed(token: str, allow_infinite: bool) -> float:
    """The number in ``token``, or NaN if it is not one. Python's float() would accept more than URDF does."""
    if _NUMBER.fullmatch(token):
        value = float(token)
        return value if math.isfinite(value) else math.nan
    infinity = _INFINITY.fullmatch(token) if allow_infinite else None
    return math.nan if infinity is None else (-math.inf if infinity.group(1) == "-" else math.inf)


def _label(element: Element) -> str:
    name = element.attributes.get("name")
    return f"{element.tag} {name!r}" if name else f"<{element.tag}>"


def _symmetric(matrix: Array) -> Array:
    return 0.5 * matrix + 0.5 * matrix.T


def _tags_inside(element: Element) -> set[str]:
    tags, pending = set(), list(element.children)
    while pending:
        child = pending.pop()
        tags.add(child.tag)
        pending += child.children
    return tags
