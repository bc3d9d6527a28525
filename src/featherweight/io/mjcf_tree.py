"""Bodies, joints and sites of a compiled MJCF file as links, joints and frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.builder import ROOT_JOINT
from ..model.description import WORLD, ImportNote, Inertia, JointType, Severity
from ..model.drag import box_edges
from ..model.medium import FluidShape
from .mjcf_shapes import ShapeTranslation
from .mjcf_source import MjcfSource, given, mjcf_pose, new_names, within_margin

_FAR = 1e10  # MuJoCo takes no larger number for one


class TreeTranslation:
    """The kinematic tree."""

    def __init__(self, source: MjcfSource, shapes: ShapeTranslation) -> None:
        self._source, self._m, self._builder, self._shapes = source, source.m, source.builder, shapes
        self._bodies, self._joints = source.bodies, source.joints
        self._taken_joints = set(source.joints)
        self._types = source.mujoco.mjtJoint

    def add(self, floating_base: bool) -> None:
        self._add_world_geoms()
        for body in range(1, self._m.nbody):
            self._add_body(body)
            self._add_joints(body, floating_base)
        self._add_sites()
        mocap = [body for body in range(1, self._m.nbody) if self._m.body_mocapid[body] >= 0]
        message = "a mocap body stays where the file puts it; model.placed puts it elsewhere"
        self._source.note_all("body", mocap, message, Severity.NOTHING)

    # -- bodies --------------------------------------------------------------------------------------------------

    def _add_world_geoms(self) -> None:
        """What is fixed to MuJoCo's world body goes on a link of its own, fixed to the world."""
        geometries = list(self._shapes.of_body(0))
        if not geometries:
            return
        [name] = new_names(["worldbody"], set(self._bodies))
        self._builder.link(name, geometries=geometries)
        self._builder.joint(self._fixed_joint_name(name), "fixed", WORLD, name)
        self._source.world_link = name

    def _add_body(self, body: int) -> None:
        m = self._m
        mass = float(m.body_mass[body])
        X = mjcf_pose(m.body_ipos[body], m.body_iquat[body])
        R = X[:3, :3]
        moments = R @ np.diag(m.body_inertia[body]) @ R.T
        inertia = Inertia(mass, X[:3, 3], 0.5 * (moments + moments.T))
        fluid_shapes = self._fluid_shapes(body, X) if mass > 0.0 else ()
        geometries = self._shapes.of_body(body)
        carries = self._source.has_passive_forces and np.any(m.body_gravcomp > 0.0)  # else MuJoCo does not look
        carried = float(m.body_gravcomp[body]) if carries else 0.0
        self._builder.link(
            self._bodies[body],
            inertia=inertia,
            geometries=geometries,
            fluid_shapes=fluid_shapes,
            gravity_compensation=carried,
        )

    def _fluid_shapes(self, body: int, X: Array) -> list[FluidShape]:
        """Ellipsoids of its geoms; without them the box of its inertia, along the axes that the file has it in.

        X: of its principal axes. Boxes are left to the model where the file has no fluid.
        """
        m = self._m
        first, count = int(m.body_geomadr[body]), int(m.body_geomnum[body])
        ellipsoids = [self._shapes.ellipsoid(geom) for geom in range(first, first + count) if m.geom_fluid[geom][0] > 0]
        if ellipsoids or (m.opt.density == 0.0 and m.opt.viscosity == 0.0):
            return ellipsoids
        return [FluidShape("box", box_edges(float(m.body_mass[body]), m.body_inertia[body]), X)]

    # -- joints --------------------------------------------------------------------------------------------------

    def _add_joints(self, body: int, floating_base: bool) -> None:
        """Joints of one body act one after the other: massless links stand between them."""
        m = self._m
        name, parent = self._bodies[body], self._bodies[m.body_parentid[body]]
        first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
        X = mjcf_pose(m.body_pos[body], m.body_quat[body])
        if count == 0 and floating_base and parent == WORLD:
            start = np.concatenate([X[:3, 3], poses.quaternion_from_rotation(X[:3, :3])])
            self._builder.joint(self._root_joint_name(name), "free", WORLD, name, start=start)
        elif count == 0:
            self._builder.joint(self._fixed_joint_name(name), "fixed", parent, name, placement=X)
        for joint in range(first, first + count):
            child = name
            if joint + 1 < first + count:
                [child] = new_names([f"{name}/{self._joints[joint]}"], set(self._bodies))
                self._builder.link(child)
            self._add_joint(joint, parent, child, X)
            parent, X = child, np.eye(4)

    def _add_joint(self, joint: int, parent: str, child: str, X: Array) -> None:
        m, types = self._m, self._types
        name, kind = self._joints[joint], m.jnt_type[joint]
        options = self._dof_options(joint) | {"parent_contact": self._touches_parent(joint)}
        q = int(m.jnt_qposadr[joint])
        self._report(joint)
        if kind == types.mjJNT_FREE:
            start = np.concatenate([m.qpos0[q : q + 3], np.roll(m.qpos0[q + 3 : q + 7], -1)])
            self._builder.joint(name, "free", parent, child, start=start, **options)
            return
        # q is measured from the reference, and the joint acts at its own position in the body.
        anchor = poses.pose(m.jnt_pos[joint])
        axis = m.jnt_axis[joint]
        reference = float(m.qpos0[q])
        back = np.eye(4)
        type_: JointType = "spherical"
        if kind == types.mjJNT_HINGE:
            type_ = "revolute" if self._is_limited(joint) else "continuous"
            back[:3, :3] = poses.rotation_about(axis, -reference)
        elif kind == types.mjJNT_SLIDE:
            type_ = "prismatic"
            back[:3, 3] = -reference * axis
        if type_ != "spherical":
            options |= {"axis": axis, "start": [reference] if reference != 0.0 else None}
            options |= self._limits(joint) | self._effort_limit(joint) | self._spring(joint)
        self._builder.joint(
            name, type_, parent, child, placement=X @ anchor @ back, child_placement=poses.inverse(anchor), **options
        )

    def _dof_options(self, joint: int) -> dict[str, Any]:
        """Damping, dry friction and rotor inertia."""
        m, source = self._m, self._source
        dofs = self._dofs(joint)
        friction = np.array(m.dof_frictionloss[dofs])
        if source.disabled("FRICTIONLOSS"):
            friction[:] = 0.0
        if self._turns_freely(joint) and friction.any():
            source.note("joint", joint, "dry friction of a ball or free joint is not imported", Severity.MOTION)
            friction[:] = 0.0
        damping = np.zeros(len(friction)) if source.disabled("DAMPER") else np.array(m.dof_damping[dofs])
        armature = np.array(m.dof_armature[dofs])
        if not self._turns_freely(joint):  # rotors and dampers of actuators, seen through their gears
            for number, gear in source.actuators_on(joint):
                armature += gear**2 * given(m, "actuator_armature", number)
                if not source.disabled("DAMPER"):
                    damping += gear**2 * given(m, "actuator_damping", number)
        return {"damping": damping, "friction": friction, "armature": armature}

    def _touches_parent(self, joint: int) -> bool:
        """MuJoCo lets neighbours touch if one of them is welded to the world."""
        m = self._m
        parent = int(m.body_parentid[m.jnt_bodyid[joint]])
        return self._source.disabled("FILTERPARENT") or (parent > 0 and m.body_weldid[parent] == 0)

    def _is_limited(self, joint: int) -> bool:
        return bool(self._m.jnt_limited[joint]) and not self._source.disabled("LIMIT")

    def _limits(self, joint: int) -> dict[str, Any]:
        m = self._m
        if not self._is_limited(joint):
            return {}
        low, up = within_margin(m.jnt_range[joint], float(m.jnt_margin[joint]))
        # its limits have two sides: one that is as far as numbers go is none
        return {"lower": low if low > -_FAR else -np.inf, "upper": up if up < _FAR else np.inf}

    def _effort_limit(self, joint: int) -> dict[str, Any]:
        m = self._m
        if not m.jnt_actfrclimited[joint]:
            return {}
        low, up = (float(x) for x in m.jnt_actfrcrange[joint])
        drivers = [number for number, _ in self._source.actuators_on(joint)]
        if low != -up and len(drivers) > 1:
            limit = min(-low, up) if low <= 0.0 <= up else 0.0
            message = f"actuator force range [{low:g}, {up:g}] is taken as +-{limit:g}"
            self._source.note("joint", joint, message, Severity.MOTION)
            return {"effort_limit": limit}
        if len(drivers) > 1 and np.any(m.actuator_forcelimited[drivers]):
            message = "the force range limits each of its actuators, not their sum"
            self._source.note("joint", joint, message, Severity.MOTION)
        return {"effort_limit": max(-low, up, 0.0)}  # one that is not symmetric is that of its only actuator

    def _spring(self, joint: int) -> dict[str, Any]:
        m = self._m
        if m.jnt_stiffness[joint] == 0.0 or self._source.disabled("SPRING"):
            return {}
        return {"stiffness": m.jnt_stiffness[joint], "rest_position": m.qpos_spring[m.jnt_qposadr[joint]]}

    def _report(self, joint: int) -> None:
        m, source, turns_freely = self._m, self._source, self._turns_freely(joint)
        if not source.disabled("SPRING"):
            bent = np.any(given(m, "jnt_stiffnesspoly", joint))
            if turns_freely and (m.jnt_stiffness[joint] != 0.0 or bent):
                source.note("joint", joint, "the spring of a ball or free joint is not imported", Severity.MOTION)
            elif bent:
                source.note("joint", joint, "only the linear part of the spring is imported", Severity.MOTION)
            if np.any(given(m, "jnt_springyield", joint)) and m.jnt_stiffness[joint] != 0.0:
                source.note("joint", joint, "the spring does not yield here (springyield)", Severity.MOTION)
        if np.any(given(m, "dof_dampingpoly", self._dofs(joint))) and not source.disabled("DAMPER"):
            source.note("joint", joint, "only the linear part of the damping is imported", Severity.MOTION)
        if m.jnt_actgravcomp[joint] and m.jnt_actfrclimited[joint] and np.any(m.body_gravcomp):
            message = "gravity compensation is no part of the force of its actuators, which is limited"
            source.note("joint", joint, message, Severity.MOTION)
        if m.jnt_type[joint] == self._types.mjJNT_BALL and self._is_limited(joint):
            source.note("joint", joint, "the limit of a ball joint is not imported", Severity.MOTION)

    def _turns_freely(self, joint: int) -> bool:
        return int(self._m.jnt_type[joint]) in (int(self._types.mjJNT_FREE), int(self._types.mjJNT_BALL))

    def _dofs(self, joint: int) -> slice:
        nv = {int(self._types.mjJNT_FREE): 6, int(self._types.mjJNT_BALL): 3}.get(int(self._m.jnt_type[joint]), 1)
        first = int(self._m.jnt_dofadr[joint])
        return slice(first, first + nv)

    def _fixed_joint_name(self, link: str) -> str:
        return self._new_joint_name(f"{link}_fixed")

    def _root_joint_name(self, link: str) -> str:
        return self._new_joint_name(ROOT_JOINT if ROOT_JOINT not in self._taken_joints else f"{link}_{ROOT_JOINT}")

    def _new_joint_name(self, wish: str) -> str:
        [name] = new_names([wish], self._taken_joints)
        self._taken_joints.add(name)
        return name

    # -- sites ---------------------------------------------------------------------------------------------------

    def _add_sites(self) -> None:
        m = self._m
        taken = set(self._builder.link_names())
        wishes = [m.site(i).name or f"site_{i}" for i in range(m.nsite)]
        free = new_names([f"{wish}_site" if wish in taken else wish for wish in wishes], taken)
        self._source.sites = free
        for site, (wish, name) in enumerate(zip(wishes, free, strict=True)):
            if name != wish:
                message = f"is called {name!r}: a link has its name"
                self._builder.note(ImportNote(f"site {wish!r}", None, message, Severity.NOTHING))
            link = self._bodies[m.site_bodyid[site]]
            self._builder.frame(name, link, mjcf_pose(m.site_pos[site], m.site_quat[site]))
