"""What a URDF file may hold beyond what is read, and what leaving it out changes. Whatever is not listed here may mean
anything, and so counts as changing the motion."""

from __future__ import annotations

from ..model.description import Severity
from .reader import MOTION, NOTHING, PICTURE
from .xml import Element

_ELEMENTS: dict[str, tuple[Severity, str]] = {
    "sensor": (NOTHING, "sensors are not part of the model"),
    "safety_controller": (NOTHING, "limits of a controller are not part of the model"),
    "calibration": (NOTHING, "calibration is not part of the model"),
    "texture": (PICTURE, "textures are not part of the model"),
    "material": (PICTURE, "the shape has no colour"),
    "verbose": (NOTHING, "a setting of another tool"),
    "self_filter": (NOTHING, "a setting of another tool"),
    "collision_checking": (NOTHING, "a setting of another tool"),
    "self_collision_checking": (NOTHING, "a setting of another tool"),
    "gripper": (NOTHING, "a setting of another tool"),
    "group": (NOTHING, "a setting of another tool"),
    "ros2_control": (NOTHING, "control is not part of the model"),
    "plugin": (NOTHING, "control is not part of the model"),
    "properties": (NOTHING, "coefficients of propellers are for a controller"),
    "hardwareInterface": (NOTHING, "control is not part of the model"),
    "drake:illustration_properties": (PICTURE, "not part of the model"),
    "drake:perception_properties": (PICTURE, "not part of the model"),
    "drake:declare_convex": (NOTHING, "meshes collide as their hulls"),
    "drake:acceleration": (NOTHING, "limits of acceleration are for a controller"),
    "robotNamespace": (NOTHING, "control is not part of the model"),
}

#: Inside <gazebo>: settings of that simulator's solver, pictures and plugins.
_GAZEBO: dict[str, tuple[Severity, str]] = {
    **dict.fromkeys(
        (
            *("maxVel", "minDepth", "maxContacts", "max_vel", "min_depth", "max_contacts", "soft_erp", "stopErp"),
            *("fudgeFactor", "stopKp", "stopKd", "implicitSpringDamper", "cfmDamping", "allow_auto_disable"),
            *("provideFeedback", "canonicalBody"),
        ),
        (NOTHING, "a setting of another solver"),
    ),
    **dict.fromkeys(
        (
            *("plugin", "sensor", "controller", "preserveFixedJoint", "disableFixedJointLumping", "laserRetro"),
            *("genTexCoord", "ros2_control", "pose", "map", "interface", "physics"),
        ),
        (NOTHING, "not part of the model"),
    ),
    **dict.fromkeys(("material", "visual", "light", "projector"), (PICTURE, "not part of the model")),
}

_ATTRIBUTES = {
    ("link", "type"),
    ("joint", "dont_collapse"),
    ("geometry", "name"),
    ("material", "color"),
    ("axis", "rpy"),
    ("inertia", "iyx"),
    ("inertia", "izx"),
    ("inertia", "izy"),
    ("dynamics", "D"),
    ("dynamics", "K"),
    ("dynamics", "mu_coulomb"),
    ("dynamics", "mu_viscous"),
    ("limit", "drake:acceleration"),
    ("limit", "acceleration"),
    ("limit", "jerk"),
    ("limit", "command_effort"),
    ("limit", "current"),
    ("limit", "gear_velocity"),
    ("limit", "deceleration"),
    ("gazebo", "reference"),
    ("robot", "author"),
    ("robot", "version"),
    ("inertial", "name"),
    ("origin", "name"),
}
_PICTURES = ("visual", "material")


def judge(path: tuple[Element, ...], key: str | None) -> tuple[Severity, str]:
    """What leaving out the end of ``path``, or its attribute ``key``, changes, and why it is left out."""
    element = path[-1]
    around = {each.tag for each in path[1:-1]}
    if around.intersection(_PICTURES) or (key is not None and element.tag in _PICTURES):
        return PICTURE, "not part of the picture here"
    if key == "":
        return NOTHING, "text there has no meaning"
    if key == "concave":
        return MOTION, "meshes collide as their hulls"
    if key is not None:
        known = (element.tag, key) in _ATTRIBUTES
        return (NOTHING, "no reader uses it") if known else (MOTION, "not known here")
    if element.tag.startswith("xacro:"):
        return MOTION, "not known here (is this a xacro file that was not expanded?)"
    if element.tag.startswith(("sensor:", "controller:")):
        return NOTHING, "sensors and control are not part of the model"
    table = _GAZEBO if around & {"gazebo", "surface"} else _ELEMENTS
    return table.get(element.tag, (MOTION, "not known here"))
