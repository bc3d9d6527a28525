"""The tree of a model as MJCF: bodies, joints, inertias and sites."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.description import WORLD, Joint, Link, ModelDescription, start_of
from .mjcf_inertias import inertial, inertias_to_write
from .writing import MjcfText, place, text_of

UNLIMITED = 1e10  # MuJoCo's limits have two sides; beyond this it takes no number for one

_KINDS = {"free": "free", "spherical": "ball", "revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}


class BodyWriter:
    """Bodies by the names of links. Massless links between two joints are joints of one body, as MuJoCo has them."""

    def __init__(self, text: MjcfText, description: ModelDescription) -> None:
        self._text, self._description = text, description
        self._worldbody = text.section("worldbody")
        self.bodies: dict[str, Element] = {WORLD: self._worldbody}
        #: Frames that became sites, by name, and all that were added besides.
        self.sites: dict[str, str] = {}
        self._inertias = inertias_to_write(text, description)
        self._merged = _merged_links(description)
        self._driven = {name for actuator in description.actuators for name, _ in actuator.joints}

    def write(self) -> None:
        waiting: list[Joint] = []
        for joint, link in zip(self._description.joints, self._description.links, strict=True):
            waiting.append(joint)
            if link.name not in self._merged:
                self._add_body(waiting, link)
                waiting = []
        for frame in self._description.frames:
            self.sites[frame.name] = self.add_site(frame.name, frame.link, frame.placement)

    def add_site(self, wish: str, link: str, placement: Array) -> str:
        name = self._text.new_name("site", wish)
        SubElement(self.bodies[link], "site", {"name": name, **place(placement)})
        return name

    def site_of(self, name: str) -> str:
        """The site of a frame or of a link."""
        if name not in self.sites:
            self.sites[name] = self.add_site(name, name, np.eye(4))
        return self.sites[name]

    def _add_body(self, joints: list[Joint], link: Link) -> None:
        """joints: from the parent to the link, one after the other."""
        X = np.eye(4)
        for joint in joints:
            X = X @ joint.placement @ _motion(joint, start_of(joint)) @ joint.child_placement
        body = SubElement(self.bodies[joints[0].parent], "body", {"name": link.name, **place(X)})
        if link.gravity_compensation:
            body.set("gravcomp", repr(link.gravity_compensation))
        self.bodies[link.name] = body
        moves = any(joint.nv for joint in joints)
        inertia = self._inertias[link.name]
        if inertia is not None or moves:
            body.append(inertial(inertia))
        behind = np.eye(4)  # from the frame behind the joint to the link, where it starts
        elements: list[Element] = []
        for joint in reversed(joints):
            behind = joint.child_placement @ behind
            elements[:0] = self._joints(joint, behind)
            behind = joint.placement @ _motion(joint, start_of(joint)) @ behind
        body.extend(elements)

    def _joints(self, joint: Joint, behind: Array) -> Iterator[Element]:
        """behind: pose of the body in the frame that the joint moves."""
        at = poses.inverse(behind)
        start, name = start_of(joint), joint.name
        if joint.type == "fixed":
            return
        if joint.type == "free":
            if joint.parent != WORLD or not np.allclose(joint.placement @ behind, np.eye(4), atol=1e-15):
                raise ValueError(f"joint {name!r}: MuJoCo has free joints only right on the world")
            yield self._joint(joint, {"name": name, "type": "free"}, slice(0, 6))
        elif joint.type == "spherical":
            if not np.allclose(start, (0, 0, 0, 1), atol=1e-12):
                self._text.leave_out(f"joint {name!r}: where a ball joint starts; MuJoCo starts it without rotation")
            yield self._joint(joint, {"name": name, "type": "ball", "pos": text_of(at[:3, 3])}, slice(0, 3))
        elif joint.type in ("universal", "planar"):
            yield from self._compound(joint, at, start)
        elif joint.type in _KINDS:
            assert joint.axis is not None
            yield self._axis(joint, 0, name, _KINDS[joint.type], at, joint.axis, float(start[0]))
        else:
            raise ValueError(f"joint {name!r}: no counterpart in MuJoCo for a {joint.type} joint")

    def _compound(self, joint: Joint, at: Array, start: Array) -> Iterator[Element]:
        """Two hinges, or two slides and a hinge: each in the axes that those after it leave it."""
        axes = np.eye(3) if joint.type == "planar" else np.array([joint.axis, joint.axis2])
        kinds = ["hinge", "hinge"] if joint.type == "universal" else ["slide", "slide", "hinge"]
        turned = np.eye(4)
        turned[:3, :3] = poses.rotation_about(axes[-1], float(start[-1]))  # by the last, which is a hinge
        for k, (kind, axis) in enumerate(zip(kinds, axes, strict=True)):
            is_last = k == len(kinds) - 1
            before = at if is_last else at @ poses.inverse(turned)
            yield self._axis(joint, k, f"{joint.name}_{k}", kind, before, axis, float(start[k]))

    def _axis(self, joint: Joint, k: int, name: str, kind: str, at: Array, axis: Array, reference: float) -> Element:
        options = {"name": name, "type": kind, "pos": text_of(at[:3, 3]), "axis": text_of(at[:3, :3] @ axis)}
        if reference:
            options["ref"] = repr(reference)
        if joint.lower is not None and joint.upper is not None:
            low, up = float(joint.lower[k]), float(joint.upper[k])
            if math.isfinite(low) or math.isfinite(up):
                options["range"] = text_of((max(low, -UNLIMITED), min(up, UNLIMITED)))
        if joint.effort_limit is not None and math.isfinite(joint.effort_limit[k]):
            limit = float(joint.effort_limit[k])
            if limit > 0.0:
                options["actuatorfrcrange"] = text_of((-limit, limit))
            else:
                self._text.leave_out(f"joint {joint.name!r}: an effort limit of zero")
        if joint.stiffness is not None and joint.stiffness[k]:
            rest = 0.0 if joint.rest_position is None else float(joint.rest_position[k])
            options |= {"stiffness": repr(float(joint.stiffness[k])), "springref": repr(rest)}
        if joint.velocity_limit is not None and math.isfinite(joint.velocity_limit[k]) and joint.name in self._driven:
            self._text.leave_out(f"joint {joint.name!r}: the velocity limit of its drives")
        if joint.limit_restitution is not None and np.any(joint.limit_restitution):
            self._text.leave_out(f"joint {joint.name!r}: the restitution of its limits")
        return self._joint(joint, options, slice(k, k + 1))

    def _joint(self, joint: Joint, options: dict[str, str], dofs: slice) -> Element:
        for name, values in (
            ("damping", joint.damping),
            ("frictionloss", joint.friction),
            ("armature", joint.armature),
        ):
            if values is None or not np.any(values[dofs]):
                continue
            if np.ptp(values[dofs]) > 0.0:
                self._text.leave_out(f"joint {joint.name!r}: {name} that differs between its degrees of freedom")
            options[name] = repr(float(np.mean(values[dofs])))
        return Element("joint", options)


def _motion(joint: Joint, q: Array) -> Array:
    """Pose behind the joint in the frame before it."""
    X = np.eye(4)
    if joint.type in ("revolute", "continuous", "helical"):
        assert joint.axis is not None
        X[:3, :3] = poses.rotation_about(joint.axis, float(q[0]))
        X[:3, 3] = joint.pitch * q[0] * joint.axis
    elif joint.type == "prismatic":
        assert joint.axis is not None
        X[:3, 3] = q[0] * joint.axis
    elif joint.type == "universal":
        assert joint.axis is not None and joint.axis2 is not None
        X[:3, :3] = poses.rotation_about(joint.axis, float(q[0])) @ poses.rotation_about(joint.axis2, float(q[1]))
    elif joint.type == "planar":
        X = poses.pose((q[0], q[1], 0.0), rpy=(0.0, 0.0, q[2]))
    elif joint.type == "free":
        X = poses.pose(q[:3], xyzw=q[3:])
    return X  # MuJoCo has balls without rotation where they start


def _merged_links(description: ModelDescription) -> set[str]:
    """Links without mass, shape or use of their own, from which one joint leads on."""
    children = Counter(joint.parent for joint in description.joints)
    leads = {joint.parent: joint.type for joint in description.joints}
    used = {frame.link for frame in description.frames} | {sensor.of for sensor in description.sensors}
    used |= {end for closure in description.closures for end in (closure.link, closure.to)}
    for strut in description.struts:
        used |= {link for link, _ in strut.points} | {bend.link for bend in strut.bends}
        used |= {bend.side[0] for bend in strut.bends if bend.side is not None}
    used |= {actuator.sticky for actuator in description.actuators if actuator.sticky is not None}
    used |= {actuator.frame for actuator in description.actuators if actuator.frame is not None}
    carriers = {joint.child: joint.type for joint in description.joints}
    return {
        link.name
        for link in description.links
        if link.inertia is None
        and not link.geometries
        and not link.gravity_compensation
        and children[link.name] == 1
        and link.name not in used
        and leads[link.name] not in ("free", "fixed")
        and carriers[link.name] not in ("free", "fixed")
    }
