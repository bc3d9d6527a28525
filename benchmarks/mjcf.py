"""A compiled scene as MJCF text, so that MuJoCo has the same masses, joints, shapes, bits and servos.

What MuJoCo has no counterpart of, or means something else by, is a ValueError: a comparison would not be one.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from featherweight import Actuator, CompiledScene, CompiledShape, Inertia, Material
from featherweight.arrays import Array
from featherweight.model import poses
from featherweight.model.description import Joint
from featherweight.scene.compiled import SurfaceProperties

#: Joint types by MuJoCo's names.
JOINTS = {"free": "free", "spherical": "ball", "revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}


def to_mjcf(scene: CompiledScene, dt: float) -> str:
    """The scene for MuJoCo with steps of ``dt`` [s]: elliptic cones, Newton's method, all else at its default.

    Coordinates come in the same order as featherweight's; links on fixed joints are part of the body that carries them,
    as in featherweight's own dynamics.
    """
    _check(scene)
    description = scene.model.description
    root = Element("mujoco", model="scene")
    SubElement(root, "compiler", angle="radian", inertiafromgeom="false", autolimits="true")
    gravity = _numbers(description.gravity)
    SubElement(root, "option", timestep=repr(dt), gravity=gravity, cone="elliptic", solver="Newton")
    carrier = {"world": (SubElement(root, "worldbody"), np.eye(4))}  # link -> body that it is part of, pose in it
    masses: dict[Element, list[tuple[Inertia, Array]]] = {}
    for joint, link in zip(description.joints, description.links, strict=True):
        body, X = carrier[joint.parent]
        X = X @ joint.placement @ joint.child_placement
        if joint.type != "fixed":
            body, X = SubElement(body, "body", {"name": link.name, **_place(X)}), np.eye(4)
            _add_joint(body, joint)
        carrier[link.name] = body, X
        if link.inertia is not None:
            masses.setdefault(body, []).append((link.inertia, X))
    for body, parts in masses.items():
        if body.tag == "body":
            body.insert(0, _inertial(parts))
    for shape in scene.shapes:
        body, X = carrier["world" if shape.static else description.links[shape.link].name]
        body.append(_geom(shape, X @ shape.placement, scene.surfaces[shape.surface]))
    actuators = SubElement(root, "actuator")
    joints = {joint.name: joint for joint in description.joints}
    for actuator in description.actuators:
        if actuator.joint is None:
            raise ValueError(f"actuator {actuator.name!r} acts on no joint")
        _add_servo(actuators, actuator, joints[actuator.joint])
    return ElementTree.tostring(root, encoding="unicode")


def _check(scene: CompiledScene) -> None:
    if scene.constraints or scene.excluded or scene.overrides or any(shape.family >= 0 for shape in scene.shapes):
        raise ValueError(
            "scene: expected nothing but shapes that touch by their contype and conaffinity, "
            "got constraints, excluded or overridden pairs, or self_collision=False"
        )


def _inertial(parts: list[tuple[Inertia, Array]]) -> Element:
    """Of one body made of several, each with its pose."""
    mass = sum(part.mass for part, _ in parts)
    centres = [X[:3, :3] @ part.com + X[:3, 3] for part, X in parts]
    com = np.average(centres, axis=0, weights=[part.mass for part, _ in parts])
    matrix = np.zeros((3, 3))
    for (part, X), centre in zip(parts, centres, strict=True):
        arm = centre - com
        matrix += X[:3, :3] @ part.matrix @ X[:3, :3].T + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    moments = matrix[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return Element("inertial", mass=repr(float(mass)), pos=_numbers(com), fullinertia=_numbers(moments))


def _add_joint(body: Element, joint: Joint) -> None:
    if joint.type not in JOINTS:
        raise ValueError(f"joint {joint.name!r}: no counterpart in MuJoCo for a {joint.type} joint")
    options = {"name": joint.name, "type": JOINTS[joint.type]}
    if joint.type == "free":
        if joint.parent != "world" or not np.array_equal(joint.placement @ joint.child_placement, np.eye(4)):
            raise ValueError(f"joint {joint.name!r}: MuJoCo has free joints only right on the world")
        SubElement(body, "joint", options)
        return
    at = poses.inverse(joint.child_placement)  # of the joint in the child link, whose pose is that of the body
    options["pos"] = _numbers(at[:3, 3])
    if joint.axis is not None:
        options["axis"] = _numbers(at[:3, :3] @ joint.axis)
        options |= _limits(joint)
    for name, values in (("damping", joint.damping), ("frictionloss", joint.friction), ("armature", joint.armature)):
        if values is not None and np.any(values):
            if np.ptp(values) > 0.0:
                raise ValueError(f"joint {joint.name!r}: MuJoCo has one {name} for all its dofs, got {values}")
            options[name] = repr(float(values[0]))
    if joint.stiffness is not None and np.any(joint.stiffness):
        rest = 0.0 if joint.rest_position is None else float(joint.rest_position[0])
        options |= {"stiffness": repr(float(joint.stiffness[0])), "springref": repr(rest)}
    SubElement(body, "joint", options)


def _limits(joint: Joint) -> dict[str, str]:
    lower, upper = joint.lower, joint.upper
    if lower is None or upper is None or not np.isfinite((lower[0], upper[0])).any():
        return {}
    if not np.isfinite((lower[0], upper[0])).all():
        raise ValueError(f"joint {joint.name!r}: MuJoCo has limits on both sides, got {lower[0]} to {upper[0]}")
    return {"range": _numbers((lower[0], upper[0]))}


def _add_servo(actuators: Element, actuator: Actuator, joint: Joint) -> None:
    if actuator.kind != "position" or actuator.gear != 1.0 or actuator.force_range or actuator.ctrl_range:
        raise ValueError(f"actuator {actuator.name!r}: expected a position servo without gear and ranges of its own")
    if joint.velocity_limit is not None and np.isfinite(joint.velocity_limit).any():
        raise ValueError(f"actuator {actuator.name!r}: MuJoCo has no velocity limits, joint {joint.name!r} has one")
    options = {"name": actuator.name, "joint": joint.name, "kp": repr(actuator.kp), "kv": repr(actuator.kd)}
    if joint.effort_limit is not None and np.isfinite(joint.effort_limit[0]):
        options["forcerange"] = _numbers((-joint.effort_limit[0], joint.effort_limit[0]))
    SubElement(actuators, "position", options)


def _geom(shape: CompiledShape, X: Array, surface: SurfaceProperties) -> Element:
    friction = surface.material.friction
    if friction is None or surface.material != Material(friction=friction) or surface.margin or surface.priority:
        raise ValueError(f"shape {shape.name!r}: expected a rigid surface with a friction of its own, got {surface}")
    if shape.kind in ("convex", "heightfield"):
        raise ValueError(f"shape {shape.name!r}: a {shape.kind} would need assets")
    options = {
        "name": shape.name,
        "type": shape.kind,
        "size": _numbers((0.0, 0.0, 1.0) if shape.kind == "plane" else shape.size),
        "friction": _numbers((friction, 0.005, 0.0001)),  # sliding, and MuJoCo's own of spin and rolling: unused
        "contype": str(shape.contype),
        "conaffinity": str(shape.conaffinity),
    }
    return Element("geom", {**options, **_place(X)})


def _place(X: Array) -> dict[str, str]:
    x, y, z, w = poses.quaternion_from_rotation(X[:3, :3])
    return {"pos": _numbers(X[:3, 3]), "quat": _numbers((w, x, y, z))}


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
