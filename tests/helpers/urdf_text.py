"""URDF text: a base with a link on a hinge to write into, and random forests, so that peers read the same robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from featherweight import ImportNote, Inertia, Model
from featherweight.arrays import Array
from featherweight.model.description import Joint, JointType

from .forests import Forest, random_forest, random_inertia

JOINTS_OF_URDF: tuple[JointType, ...] = ("revolute", "continuous", "prismatic", "fixed", "planar", "free")


BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def two_links(joint: str = "", link: str = BODY, rest: str = "") -> str:
    """A base and a link on a hinge, with ``joint`` inside the joint's element on line 4."""
    return f"""<robot name="r">
<link name="base"/>
<link name="a">{link}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>{joint}</joint>
{rest}</robot>"""


def notes_about(model: Model, text: str) -> list[ImportNote]:
    return [note for note in model.import_report if text in f"{note.element}: {note.message}"]


def random_urdf(seed: int, n_links: int = 12) -> str:
    """A tree on a link called "base", with the joints and the freedom of placement that URDF has."""
    drawn = random_forest(seed, n_links, joints=JOINTS_OF_URDF)
    plans = tuple(replace(plan, armature=False, child_placement="identity") for plan in drawn.plans)
    description = Forest(plans, seed).description
    parts = [_link("base", random_inertia(np.random.default_rng([seed, 99])))]
    for link, joint in zip(description.links, description.joints, strict=True):
        parts += [_link(link.name, link.inertia), _joint(joint)]
    return "\n".join([f'<robot name="random_{seed}">', *parts, "</robot>\n"])


def _link(name: str, inertia: Inertia | None) -> str:
    if inertia is None:
        return f'<link name="{name}"/>'
    (ixx, ixy, ixz), (_, iyy, iyz), (_, _, izz) = inertia.matrix.tolist()
    moments = f'ixx="{ixx}" ixy="{ixy}" ixz="{ixz}" iyy="{iyy}" iyz="{iyz}" izz="{izz}"'
    body = f'<origin xyz="{_numbers(inertia.com)}"/><mass value="{inertia.mass}"/><inertia {moments}/>'
    return f'<link name="{name}"><inertial>{body}</inertial></link>'


def _joint(joint: Joint) -> str:
    parent = "base" if joint.parent == "world" else joint.parent
    origin = f'<origin xyz="{_numbers(joint.placement[:3, 3])}" rpy="{_numbers(_roll_pitch_yaw(joint.placement))}"/>'
    direction = np.array([0.0, 0.0, 1.0]) if joint.type == "planar" else joint.axis
    axis = "" if direction is None else f'<axis xyz="{_numbers(direction)}"/>'
    kind = "floating" if joint.type == "free" else joint.type
    limit = '<limit lower="-3" upper="3" effort="10" velocity="5"/>' if joint.type in ("revolute", "prismatic") else ""
    ends = f'<parent link="{parent}"/><child link="{joint.child}"/>'
    return f'<joint name="{joint.name}" type="{kind}">{ends}{origin}{axis}{limit}</joint>'


def _roll_pitch_yaw(X: Array) -> Array:
    """Angles of R = Rz(yaw) Ry(pitch) Rx(roll); at the gimbal lock roll is chosen zero."""
    R = X[:3, :3]
    cosine = np.hypot(R[0, 0], R[1, 0])
    pitch = np.arctan2(-R[2, 0], cosine)
    if cosine < 1e-12:
        return np.array([0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def _numbers(x: Array) -> str:
    return " ".join(repr(value) for value in x.tolist())
