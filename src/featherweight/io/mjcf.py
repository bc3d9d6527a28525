"""MJCF, compiled by the official ``mujoco`` package and translated from the result.

Defaults, includes, inference and checks are therefore MuJoCo's own, and the configuration is MuJoCo's qpos up to the
order of quaternions (:mod:`featherweight.convert`). What is honoured and reported is documented in docs/importing.md.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import ModelError, ModelImportError
from ..model import poses
from ..model.builder import ROOT_JOINT, WORLD, ModelBuilder
from ..model.description import Geometry, ImportNote, Inertia, JointType, ModelDescription, Severity
from . import mjcf_contact

_LINE = re.compile(r"[Ll]ine(?: number)?[ =](\d+)")
_ELEMENT = re.compile(r"Element(?: name)? '([^']*)'")

#: Kinds of elements that the translation leaves out: list in the spec, name in the file, what that changes, why.
_LEFT_OUT = (
    ("tendons", "tendon", Severity.MOTION, "tendons are not supported"),
    ("flexes", "flex", Severity.MOTION, "deformable bodies are not supported"),
    ("plugins", "plugin", Severity.MOTION, "plugins are not supported"),
    ("sensors", "sensor", Severity.NOTHING, "sensors are not part of the model"),
    ("cameras", "camera", Severity.PICTURE, "cameras are not part of the model"),
    ("lights", "light", Severity.PICTURE, "lights are not part of the model"),
    ("keys", "key", Severity.NOTHING, "keyframes are not part of the model"),
    ("skins", "skin", Severity.PICTURE, "skins are not part of the model"),
    ("textures", "texture", Severity.PICTURE, "textures are not part of the model"),
    ("numerics", "numeric", Severity.NOTHING, "custom data is not part of the model"),
    ("texts", "text", Severity.NOTHING, "custom data is not part of the model"),
    ("tuples", "tuple", Severity.NOTHING, "custom data is not part of the model"),
)
_SOFT_LIMIT_DEFAULTS: dict[str, Any] = {"solref": (0.02, 1.0), "solimp": (0.9, 0.95, 0.001, 0.5, 2.0), "margin": 0.0}


def read(
    text: bytes, path: Path | None = None, *, floating_base: bool = False, directory: Path | None = None
) -> ModelDescription:
    """The description in MJCF ``text``, or in the file at ``path`` when there is one (includes start from it)."""
    try:
        import mujoco
    except ImportError:
        raise ImportError('loading MJCF needs the mujoco package: pip install "featherweight[mjcf]"') from None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if path is not None:
                spec = mujoco.MjSpec.from_file(str(path))
            else:
                spec = mujoco.MjSpec.from_string(text.decode("utf-8"))
                spec.modelfiledir = "" if directory is None else str(directory)
            model = spec.compile()
        except Exception as error:  # whatever its parser and compiler raise, it is about the file
            raise _compiler_error(str(error), path) from None
    try:
        description = _Translation(mujoco, spec, model).run(floating_base)
    except ModelError as error:
        raise ModelImportError(error.element, error.problem, path) from None
    told = [ImportNote("MuJoCo", None, " ".join(str(warning.message).split()), Severity.NOTHING) for warning in caught]
    notes = sorted((*told, *description.notes), key=lambda note: note.line or 0)
    return replace(description, notes=tuple(notes))


class _Translation:
    """From a compiled MjModel ``m``; the MjSpec it came from knows the lines of the file."""

    def __init__(self, mujoco: Any, spec: Any, m: Any) -> None:
        self._mujoco = mujoco
        self._spec = spec
        self._m = m
        self._lines = {
            (kind, element.id): _line(element) for kind, elements in _spec_lists(spec).items() for element in elements
        }
        self._bodies = [WORLD, *_names([m.body(i).name or f"body_{i}" for i in range(1, m.nbody)], {WORLD})]
        self._joints = self._joint_names()
        self._taken_joints = set(self._joints)
        self._paired = {int(geom) for ends in (m.pair_geom1, m.pair_geom2) for geom in ends}
        self._left_out: set[int] = set()  # geoms
        disabled = m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        self._builder = ModelBuilder(
            spec.modelname or "model", gravity=np.zeros(3) if disabled else m.opt.gravity, allow_nonphysical=True
        )

    def run(self, floating_base: bool) -> ModelDescription:
        self._report_options()
        world_link = self._add_world_geoms()
        for body in range(1, self._m.nbody):
            self._add_body(body)
            self._add_joints(body, floating_base)
        self._add_sites()
        self._add_contacts(world_link)
        self._report_left_out()
        description = self._builder.describe()
        if floating_base and not any(j.type == "free" and j.parent == WORLD for j in description.joints):
            raise ModelError(
                f"model {description.name!r}", "floating_base needs a body that is welded to the world, or free already"
            )
        return description

    # -- bodies --------------------------------------------------------------------------------------------------

    def _add_world_geoms(self) -> str | None:
        """What is fixed to MuJoCo's world body goes on a link of its own, fixed to the world."""
        geometries = list(self._geometries(0))
        if not geometries:
            return None
        [name] = _names(["worldbody"], set(self._bodies))
        self._builder.link(name, geometries=geometries)
        self._builder.joint(self._fixed_joint_name(name), "fixed", WORLD, name)
        return name

    def _add_body(self, body: int) -> None:
        m = self._m
        mass = float(m.body_mass[body])
        X = _pose(m.body_ipos[body], m.body_iquat[body])
        R = X[:3, :3]
        moments = R @ np.diag(m.body_inertia[body]) @ R.T
        inertia = Inertia(mass, X[:3, 3], 0.5 * (moments + moments.T))
        self._builder.link(self._bodies[body], inertia=inertia, geometries=self._geometries(body))
        if m.body_gravcomp[body] != 0.0:
            self._note("body", body, "gravity compensation is not imported", Severity.MOTION)
        if m.body_mocapid[body] >= 0:
            self._note("body", body, "a mocap body stays where the file puts it", Severity.MOTION)

    def _geometries(self, body: int) -> Iterator[Geometry]:
        m = self._m
        first, count = int(m.body_geomadr[body]), int(m.body_geomnum[body])
        for geom in range(first, first + count):
            name, collides = self._geom_name(geom), self._collides(geom)
            if m.geom_group[geom] <= 2 or not collides:  # MuJoCo's viewer hides groups above 2
                shape = self._shape(geom) or self._mesh(geom)
                if shape is not None:
                    yield Geometry(name, "visual", rgba=self._rgba(geom), **shape)
            if collides:
                shape = self._shape(geom) or self._hull(geom)
                if shape is not None:
                    yield Geometry(name, "collision", **shape, **self._contact(geom))

    def _collides(self, geom: int) -> bool:
        return bool(self._m.geom_contype[geom] or self._m.geom_conaffinity[geom]) or geom in self._paired

    def _contact(self, geom: int) -> dict[str, Any]:
        m = self._m
        numbers = {key: int(getattr(m, f"geom_{key}")[geom]) for key in ("contype", "conaffinity", "priority")}
        bits = {key: value & 0xFFFFFFFF if key != "priority" else value for key, value in numbers.items()}
        return {"material": mjcf_contact.material(m, geom), "margin": float(m.geom_margin[geom]), **bits}

    def _shape(self, geom: int) -> dict[str, Any] | None:
        """Shape, size and placement of a geom that is not a mesh, as keywords of a Geometry."""
        m, types = self._m, self._mujoco.mjtGeom
        X = _pose(m.geom_pos[geom], m.geom_quat[geom])
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
                size, heights = mjcf_contact.heights(m, int(m.geom_dataid[geom]))
            case _:
                return None
        return {"shape": shape, "size": size, "placement": X, "heights": heights}

    def _hull(self, geom: int) -> dict[str, Any] | None:
        """What a mesh collides with: the hull that MuJoCo made of it."""
        m = self._m
        if m.geom_type[geom] != self._mujoco.mjtGeom.mjGEOM_MESH:
            self._left_out.add(geom)
            kind = self._mujoco.mjtGeom(int(m.geom_type[geom])).name[7:].lower()
            self._note("geom", geom, f"shape {kind} is left out", Severity.MOTION)
            return None
        X = _pose(m.geom_pos[geom], m.geom_quat[geom])
        vertices = mjcf_contact.hull_vertices(m, int(m.geom_dataid[geom]))
        return {"shape": "convex", "size": (), "placement": X, "vertices": vertices}

    def _mesh(self, geom: int) -> dict[str, Any] | None:
        """What to see of a mesh: its file."""
        m = self._m
        if m.geom_type[geom] != self._mujoco.mjtGeom.mjGEOM_MESH:
            return None
        number = int(m.geom_dataid[geom])
        mesh = next(mesh for mesh in self._spec.meshes if mesh.id == number)
        if not mesh.file:
            self._note("geom", geom, f"mesh {mesh.name!r} has no file: it is not shown", Severity.PICTURE)
            return None
        if np.any(mesh.refpos) or not np.array_equal(mesh.refquat, (1.0, 0.0, 0.0, 0.0)):
            self._note("geom", geom, f"mesh {mesh.name!r} is shown without its refpos and refquat", Severity.PICTURE)
        spec = self._spec
        name = os.path.basename(mesh.file) if spec.strippath else mesh.file
        meshdir = getattr(mesh, "compiler", spec).meshdir or spec.meshdir
        file = os.path.join(os.path.abspath(spec.modelfiledir), meshdir, name)
        # The compiler moves a mesh to its centre of mass and principal axes; the file still has it where it was.
        moved = _pose(m.mesh_pos[number], m.mesh_quat[number])
        X = _pose(m.geom_pos[geom], m.geom_quat[geom]) @ poses.inverse(moved)
        sx, sy, sz = (float(value) for value in mesh.scale)
        return {"shape": "mesh", "size": (sx, sy, sz), "placement": X, "mesh": os.path.normpath(file)}

    def _rgba(self, geom: int) -> tuple[float, float, float, float]:
        m = self._m
        material = int(m.geom_matid[geom])
        own = m.geom_rgba[geom]
        r, g, b, a = m.mat_rgba[material] if material >= 0 and np.allclose(own, (0.5, 0.5, 0.5, 1.0)) else own
        return float(r), float(g), float(b), float(a)

    # -- joints --------------------------------------------------------------------------------------------------

    def _add_joints(self, body: int, floating_base: bool) -> None:
        """Joints of one body act one after the other: massless links stand between them."""
        m = self._m
        name, parent = self._bodies[body], self._bodies[m.body_parentid[body]]
        first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
        X = _pose(m.body_pos[body], m.body_quat[body])
        if count == 0 and floating_base and parent == WORLD:
            self._builder.joint(self._root_joint_name(name), "free", WORLD, name)
        elif count == 0:
            self._builder.joint(self._fixed_joint_name(name), "fixed", parent, name, placement=X)
        for joint in range(first, first + count):
            child = name
            if joint + 1 < first + count:
                [child] = _names([f"{name}/{self._joints[joint]}"], set(self._bodies))
                self._builder.link(child)
            self._add_joint(joint, parent, child, X)
            parent, X = child, np.eye(4)

    def _add_joint(self, joint: int, parent: str, child: str, X: Array) -> None:
        m, types = self._m, self._mujoco.mjtJoint
        name, kind = self._joints[joint], m.jnt_type[joint]
        dof = int(m.jnt_dofadr[joint])
        nv = {int(types.mjJNT_FREE): 6, int(types.mjJNT_BALL): 3}.get(int(kind), 1)
        dofs = slice(dof, dof + nv)
        options: dict[str, Any] = {
            "damping": m.dof_damping[dofs],
            "friction": m.dof_frictionloss[dofs],
            "armature": m.dof_armature[dofs],
        }
        self._report_joint(joint, dofs)
        if kind == types.mjJNT_FREE:
            self._builder.joint(name, "free", parent, child, **options)
            return
        # q is measured from the reference, and the joint acts at its own position in the body.
        anchor = poses.pose(m.jnt_pos[joint])
        axis = m.jnt_axis[joint]
        reference = float(m.qpos0[m.jnt_qposadr[joint]])
        back = np.eye(4)
        type_: JointType = "spherical"
        if kind == types.mjJNT_HINGE:
            type_ = "revolute" if m.jnt_limited[joint] else "continuous"
            back[:3, :3] = poses.rotation_about(axis, -reference)
        elif kind == types.mjJNT_SLIDE:
            type_ = "prismatic"
            back[:3, 3] = -reference * axis
        if type_ != "spherical":
            options["axis"] = axis
            options |= self._limits(joint)
            options |= self._spring(joint)
        self._builder.joint(
            name, type_, parent, child, placement=X @ anchor @ back, child_placement=poses.inverse(anchor), **options
        )

    def _limits(self, joint: int) -> dict[str, Any]:
        m = self._m
        options: dict[str, Any] = {}
        if m.jnt_limited[joint]:
            options["lower"], options["upper"] = (float(x) for x in m.jnt_range[joint])
        if m.jnt_actfrclimited[joint]:
            low, up = (float(x) for x in m.jnt_actfrcrange[joint])
            options["effort_limit"] = min(-low, up) if low <= 0.0 <= up else 0.0
            if low != -up:
                message = f"actuator force range [{low:g}, {up:g}] is taken as +-{options['effort_limit']:g}"
                self._note("joint", joint, message, Severity.MOTION)
        return options

    def _spring(self, joint: int) -> dict[str, Any]:
        m = self._m
        if m.jnt_stiffness[joint] == 0.0:
            return {}
        return {"stiffness": m.jnt_stiffness[joint], "rest_position": m.qpos_spring[m.jnt_qposadr[joint]]}

    def _report_joint(self, joint: int, dofs: slice) -> None:
        m = self._m
        types = self._mujoco.mjtJoint
        turns_freely = int(m.jnt_type[joint]) in (int(types.mjJNT_FREE), int(types.mjJNT_BALL))
        if turns_freely and (m.jnt_stiffness[joint] != 0.0 or _any(m, "jnt_stiffnesspoly", joint)):
            self._note("joint", joint, "the spring of a ball or free joint is not imported", Severity.MOTION)
        elif _any(m, "jnt_stiffnesspoly", joint):
            self._note("joint", joint, "only the linear part of the spring is imported", Severity.MOTION)
        if _any(m, "dof_dampingpoly", dofs):
            self._note("joint", joint, "only the linear part of the damping is imported", Severity.MOTION)
        if m.jnt_type[joint] == types.mjJNT_BALL and m.jnt_limited[joint]:
            self._note("joint", joint, "the limit of a ball joint is not imported", Severity.MOTION)
        if m.jnt_limited[joint]:
            changed = _differences(m, "jnt", joint, _SOFT_LIMIT_DEFAULTS)
            if changed:
                self._note("joint", joint, f"limit compliance ({changed}) is not imported", Severity.MOTION)

    def _joint_names(self) -> list[str]:
        m = self._m
        names = []
        for joint in range(m.njnt):
            body = int(m.jnt_bodyid[joint])
            number = f"_{joint - int(m.body_jntadr[body])}" if m.body_jntnum[body] > 1 else ""
            names.append(m.joint(joint).name or f"{self._bodies[body]}_joint{number}")
        return _names(names, set())

    def _fixed_joint_name(self, link: str) -> str:
        return self._new_joint_name(f"{link}_fixed")

    def _root_joint_name(self, link: str) -> str:
        return self._new_joint_name(ROOT_JOINT if ROOT_JOINT not in self._taken_joints else f"{link}_{ROOT_JOINT}")

    def _new_joint_name(self, wish: str) -> str:
        [name] = _names([wish], self._taken_joints)
        self._taken_joints.add(name)
        return name

    # -- sites and notes -----------------------------------------------------------------------------------------

    def _add_sites(self) -> None:
        m = self._m
        taken = set(self._builder.link_names())
        wishes = [m.site(i).name or f"site_{i}" for i in range(m.nsite)]
        free = _names([f"{wish}_site" if wish in taken else wish for wish in wishes], taken)
        for site, (wish, name) in enumerate(zip(wishes, free, strict=True)):
            if name != wish:
                message = f"is called {name!r}: a link has its name"
                self._builder.note(ImportNote(f"site {wish!r}", None, message, Severity.NOTHING))
            link = self._bodies[m.site_bodyid[site]]
            self._builder.frame(name, link, _pose(m.site_pos[site], m.site_quat[site]))

    def _report_options(self) -> None:
        option, default = self._m.opt, self._mujoco.MjOption()
        if option.density != 0.0 or option.viscosity != 0.0:
            message = "the fluid (density, viscosity) is not imported"
            self._builder.note(ImportNote("option", None, message, Severity.MOTION))
        gravity, energy = self._mujoco.mjtDisableBit.mjDSBL_GRAVITY, self._mujoco.mjtEnableBit.mjENBL_ENERGY
        if option.disableflags & ~int(gravity) or option.enableflags & ~int(energy):
            message = "flags are not imported, but for gravity"
            self._builder.note(ImportNote("option/flag", None, message, Severity.MOTION))
        honoured_or_told = ("gravity", "density", "viscosity", "wind", "disableflags", "enableflags")
        names = [name for name in dir(option) if not name.startswith("_") and name not in honoured_or_told]
        changed = [name for name in names if not np.array_equal(getattr(option, name), getattr(default, name))]
        if changed:
            message = f"simulation settings ({', '.join(changed)}) are not part of the model"
            self._builder.note(ImportNote("option", None, message, Severity.NOTHING))

    def _add_contacts(self, world_link: str | None) -> None:
        m, note = self._m, self._note
        contacts = mjcf_contact.ContactTranslation(self._mujoco, m, self._builder, self._bodies, world_link, note)
        contacts.add_excludes()
        contacts.add_pairs(self._geom_name, self._left_out)
        contacts.report_softness([geom for geom in range(m.ngeom) if self._collides(geom)])
        closures = _names([m.equality(i).name or f"equality_{i}" for i in range(m.neq)], set())
        contacts.add_closures(lambda number: closures[number])
        motors = _names([m.actuator(i).name or f"actuator_{i}" for i in range(len(m.actuator_trntype))], set())
        contacts.add_actuators(self._joints, lambda number: motors[number])

    def _report_left_out(self) -> None:
        for elements, kind, severity, message in _LEFT_OUT:
            for element in getattr(self._spec, elements, ()):
                label = f"{kind} {element.name!r}" if element.name else kind
                self._builder.note(ImportNote(label, _line(element), message, severity))

    def _note(self, kind: str, number: int, message: str, severity: Severity) -> None:
        self._builder.note(ImportNote(self._label(kind, number), self._lines.get((kind, number)), message, severity))

    def _label(self, kind: str, number: int) -> str:
        if kind in ("body", "joint"):
            return f"{kind} {(self._bodies if kind == 'body' else self._joints)[number]!r}"
        if kind == "geom":
            return f"geom {self._geom_name(number)!r}"
        name = {"equality": self._m.equality, "actuator": self._m.actuator, "contact pair": self._m.pair}[kind](
            number
        ).name
        return f"{kind} {name!r}" if name else kind

    def _geom_name(self, geom: int) -> str:
        return self._m.geom(geom).name or f"geom_{geom}"


def _spec_lists(spec: Any) -> dict[str, Any]:
    return {
        "body": spec.bodies,
        "joint": spec.joints,
        "geom": spec.geoms,
        "equality": spec.equalities,
        "actuator": spec.actuators,
        "contact pair": spec.pairs,
    }


def _pose(position: Array, wxyz: Array) -> Array:
    return poses.pose(position, xyzw=np.roll(wxyz, -1))


def _names(wishes: list[str], taken: set[str]) -> list[str]:
    """The names asked for, each with a number appended if it is taken already."""
    taken, names = set(taken), []
    for wish in wishes:
        name, number = wish, 2
        while name in taken:
            name, number = f"{wish}_{number}", number + 1
        taken.add(name)
        names.append(name)
    return names


def _any(m: Any, field: str, index: int | slice) -> bool:
    """Whether a field is nonzero; older versions of MuJoCo may not have it."""
    return hasattr(m, field) and bool(np.any(getattr(m, field)[index]))


def _differences(m: Any, prefix: str, index: int, defaults: dict[str, Any]) -> str:
    fields = {key: getattr(m, f"{prefix}_{key}")[index] for key in defaults}
    return ", ".join(key for key, value in defaults.items() if not np.array_equal(fields[key], value))


def _line(element: Any) -> int | None:
    """The line in the main file; MuJoCo does not know it for what is included."""
    match = _LINE.search(element.info or "")
    return int(match.group(1)) or None if match else None


def _compiler_error(message: str, path: Path | None) -> ModelImportError:
    line, element = _LINE.search(message), _ELEMENT.search(message)
    problem = " ".join(message.split())
    label = f"element {element.group(1)!r}" if element and element.group(1) else "MJCF"
    return ModelImportError(label, problem, path, int(line.group(1)) if line else None)
