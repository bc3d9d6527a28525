"""SDF text of a random forest, in any of the ways that the format has for poses and axes."""

from __future__ import annotations

from typing import Literal

import numpy as np

from featherweight import Inertia, ModelDescription, reference
from featherweight.arrays import Array
from featherweight.model import poses
from featherweight.model.description import Joint, JointType

JOINTS_OF_SDF: tuple[JointType, ...] = (
    *("revolute", "continuous", "prismatic", "helical", "universal", "spherical", "fixed"),
)
_TYPES = {"helical": "screw", "spherical": "ball"}

#: Poses of links in the model or in their parent link; axes in the joint or in the model.
Style = Literal["1.4", "1.6", "1.9", "1.9 relative"]


def sdf_of(description: ModelDescription, style: Style, model_pose: Array | None = None) -> str:
    """``description`` as one model, which has all the joints in the directions they have."""
    at = dict(
        zip(
            [link.name for link in description.links],
            reference.forward_kinematics(description, _neutral(description)),
            strict=True,
        )
    )
    parts = [f'<sdf version="{style[:3]}"><model name="forest"><self_collide>true</self_collide>']
    if model_pose is not None:
        parts.append(_pose(model_pose))
    for link, joint in zip(description.links, description.joints, strict=True):
        X, relative_to = at[link.name], ""
        if style == "1.9 relative" and joint.parent != "world":
            X, relative_to = poses.inverse(at[joint.parent]) @ X, joint.parent
        parts.append(f'<link name="{link.name}">{_pose(X, relative_to)}{_inertial(link.inertia)}</link>')
        parts.append(_joint(joint, at, style))
    return "\n".join([*parts, "</model></sdf>"])


def _neutral(description: ModelDescription) -> Array:
    quaternion = np.array([0.0, 0.0, 0.0, 1.0])
    return np.concatenate(
        [np.zeros(0), *(quaternion if j.type == "spherical" else np.zeros(j.nq) for j in description.joints)]
    )


def _joint(joint: Joint, at: dict[str, Array], style: Style) -> str:
    in_child = poses.inverse(joint.child_placement)
    axes = []
    for tag, axis in (("axis", joint.axis), ("axis2", joint.axis2)):
        if axis is None:
            continue
        attribute = setting = ""
        if style in ("1.4", "1.6"):
            axis = (at[joint.child] @ in_child)[:3, :3] @ axis  # in the model
            setting = "" if style == "1.4" else "<use_parent_model_frame>1</use_parent_model_frame>"
        elif style == "1.9 relative":
            axis, attribute = in_child[:3, :3] @ axis, f' expressed_in="{joint.child}"'
        axes.append(f"<{tag}><xyz{attribute}>{_numbers(axis)}</xyz>{setting}</{tag}>")
    pitch = ""
    if joint.type == "helical":
        new = f"<screw_thread_pitch>{joint.pitch * 2 * np.pi!r}</screw_thread_pitch>"
        pitch = (
            new
            if style.startswith("1.9") or joint.pitch == 0.0
            else f"<thread_pitch>{-1 / joint.pitch!r}</thread_pitch>"
        )
    ends = f"<parent>{joint.parent}</parent><child>{joint.child}</child>"
    kind = _TYPES.get(joint.type, joint.type)
    return f'<joint name="{joint.name}" type="{kind}">{ends}{_pose(in_child)}{pitch}{"".join(axes)}</joint>'


def _pose(X: Array, relative_to: str = "") -> str:
    """By quaternion where the version allows it would lose no digits; angles do as well away from the poles."""
    R = X[:3, :3]
    cosine = np.hypot(R[0, 0], R[1, 0])
    pitch = np.arctan2(-R[2, 0], cosine)
    roll, yaw = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(R[1, 0], R[0, 0])
    if cosine < 1e-12:
        roll, yaw = 0.0, np.arctan2(-R[0, 1], R[1, 1])
    attribute = f' relative_to="{relative_to}"' if relative_to else ""
    return f"<pose{attribute}>{_numbers(np.array([*X[:3, 3], roll, pitch, yaw]))}</pose>"


def _inertial(inertia: Inertia | None) -> str:
    assert inertia is not None
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.matrix.tolist()
    moments = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
    body = "".join(f"<{key}>{value!r}</{key}>" for key, value in moments.items())
    place = f"<pose>{_numbers(inertia.com)} 0 0 0</pose><mass>{inertia.mass!r}</mass>"
    return f"<inertial>{place}<inertia>{body}</inertia></inertial>"


def _numbers(x: Array) -> str:
    return " ".join(repr(value) for value in x.tolist())
