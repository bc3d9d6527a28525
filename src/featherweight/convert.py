"""Configurations and velocities of other libraries, in our layout and back. All functions take ``(n,)`` or batches.

What differs: MuJoCo has quaternions as wxyz and the linear velocity of a free joint in the world frame. Pinocchio has
continuous joints as (cos, sin), planar joints as (x, y, cos, sin) with the velocity in the moving frame, and numbers
the joints of a URDF in the alphabetical order of siblings instead of file order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike

from .builder import WORLD
from .description import Array, JointType
from .poses import rotation_from_quaternion

if TYPE_CHECKING:
    from .model import Model, ModelJoint

_PINOCCHIO_NQ = {"continuous": 2, "planar": 4}


@overload
def from_mujoco(model: Model, qpos: ArrayLike) -> Array: ...
@overload
def from_mujoco(model: Model, qpos: ArrayLike, qvel: ArrayLike) -> tuple[Array, Array]: ...
def from_mujoco(model: Model, qpos: ArrayLike, qvel: ArrayLike | None = None) -> Array | tuple[Array, Array]:
    """q, or (q, v), of MuJoCo's qpos ``(..., nq)`` and qvel ``(..., nv)`` for a model loaded from MJCF.

    >>> q, v = fw.convert.from_mujoco(model, data.qpos, data.qvel)  # doctest: +SKIP
    """
    q = _numbers("qpos", qpos, model.nq)
    for start in _quaternion_starts(model):
        q[..., start : start + 4] = np.roll(q[..., start : start + 4], -1, axis=-1)
    if qvel is None:
        return q
    v = _numbers("qvel", qvel, model.nv)
    return q, _turn_free_velocities(model, q, v, to_body=True)


@overload
def to_mujoco(model: Model, q: ArrayLike) -> Array: ...
@overload
def to_mujoco(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]: ...
def to_mujoco(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Array | tuple[Array, Array]:
    """MuJoCo's qpos, or (qpos, qvel), of q ``(..., nq)`` and v ``(..., nv)``."""
    ours = _numbers("q", q, model.nq)
    qpos = ours.copy()
    for start in _quaternion_starts(model):
        qpos[..., start : start + 4] = np.roll(ours[..., start : start + 4], 1, axis=-1)
    if v is None:
        return qpos
    return qpos, _turn_free_velocities(model, ours, _numbers("v", v, model.nv), to_body=False)


@overload
def from_pinocchio(model: Model, q: ArrayLike, *, joint_names: Iterable[str] | None = None) -> Array: ...
@overload
def from_pinocchio(
    model: Model, q: ArrayLike, v: ArrayLike, *, joint_names: Iterable[str] | None = None
) -> tuple[Array, Array]: ...
def from_pinocchio(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, *, joint_names: Iterable[str] | None = None
) -> Array | tuple[Array, Array]:
    """q, or (q, v), of Pinocchio's ``(..., nq)`` and ``(..., nv)`` for the same URDF.

    joint_names: ``pinocchio_model.names``, the joints in its order ("universe" is skipped). Without it, the order
    that Pinocchio's URDF parser gives.
    """
    layout = list(_pinocchio_layout(model, joint_names))
    theirs = _numbers("q", q, sum(joint_nq for _, joint_nq in layout))
    ours = np.empty((*theirs.shape[:-1], model.nq))
    end = 0
    for joint, width in layout:
        part, end = theirs[..., end : end + width], end + width
        if width != joint.nq:  # the angle comes last, as cosine and sine
            part = np.concatenate([part[..., :-2], np.arctan2(part[..., -1:], part[..., -2:-1])], axis=-1)
        ours[..., joint.q_slice] = part
    if v is None:
        return ours
    velocity = _numbers("v", v, model.nv)
    result = np.empty((*np.broadcast_shapes(velocity.shape[:-1], ours.shape[:-1]), model.nv))
    end = 0
    for joint, _ in layout:
        part, end = velocity[..., end : end + joint.nv], end + joint.nv
        result[..., joint.v_slice] = _turn_planar(part, ours[..., joint.q_slice][..., -1:], joint.type, 1.0)
    return ours, result


@overload
def to_pinocchio(model: Model, q: ArrayLike, *, joint_names: Iterable[str] | None = None) -> Array: ...
@overload
def to_pinocchio(
    model: Model, q: ArrayLike, v: ArrayLike, *, joint_names: Iterable[str] | None = None
) -> tuple[Array, Array]: ...
def to_pinocchio(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, *, joint_names: Iterable[str] | None = None
) -> Array | tuple[Array, Array]:
    """Pinocchio's q, or (q, v), of ours. ``joint_names`` as in :func:`from_pinocchio`."""
    layout = list(_pinocchio_layout(model, joint_names))
    ours = _numbers("q", q, model.nq)
    parts = []
    for joint, width in layout:
        part = ours[..., joint.q_slice]
        if width != joint.nq:
            part = np.concatenate([part[..., :-1], np.cos(part[..., -1:]), np.sin(part[..., -1:])], axis=-1)
        parts.append(part)
    theirs = np.concatenate([ours[..., :0], *parts], axis=-1)
    if v is None:
        return theirs
    velocity = _numbers("v", v, model.nv)
    result = np.empty((*np.broadcast_shapes(velocity.shape[:-1], ours.shape[:-1]), model.nv))
    end = 0
    for joint, _ in layout:
        part = _turn_planar(velocity[..., joint.v_slice], ours[..., joint.q_slice][..., -1:], joint.type, -1.0)
        result[..., end : end + joint.nv] = part
        end += joint.nv
    return theirs, result


def _numbers(name: str, value: ArrayLike, size: int) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ValueError(f"{name} must have {size} numbers in its last dimension, got shape {array.shape}")
    return array


def _quaternion_starts(model: Model) -> Iterator[int]:
    return (joint.q_slice.stop - 4 for joint in model.joints if joint.type in ("free", "spherical"))


def _turn_free_velocities(model: Model, q: Array, v: Array, *, to_body: bool) -> Array:
    """Linear velocities of free joints from world to body axes, or back. ``q`` in our layout."""
    result = np.broadcast_to(v, np.broadcast_shapes(v.shape[:-1], q.shape[:-1]) + v.shape[-1:]).copy()
    for joint in model.joints:
        if joint.type == "free":
            start = joint.v_slice.start
            R = rotation_from_quaternion(q[..., joint.q_slice][..., 3:])
            R = np.swapaxes(R, -1, -2) if to_body else R
            result[..., start : start + 3] = (R @ v[..., start : start + 3, None])[..., 0]
    return result


def _turn_planar(v: Array, angle: Array, type: JointType, direction: float) -> Array:
    """In-plane velocity from the moving frame to the fixed one (``direction`` 1) or back (-1); others unchanged."""
    if type != "planar":
        return v
    c, s = np.cos(angle), direction * np.sin(angle)
    x, y, rate = v[..., 0:1], v[..., 1:2], v[..., 2:3]
    return np.concatenate([c * x - s * y, s * x + c * y, np.broadcast_to(rate, np.shape(c * x))], axis=-1)


def _pinocchio_layout(model: Model, joint_names: Iterable[str] | None) -> Iterator[tuple[ModelJoint, int]]:
    """The moving joints in Pinocchio's order, with the number of its configuration coordinates."""
    names = _urdf_order(model) if joint_names is None else [name for name in joint_names if name != "universe"]
    if sorted(names) != sorted(model.joint_names):
        missing, extra = set(model.joint_names) - set(names), set(names) - set(model.joint_names)
        raise ValueError(
            f"joint_names must hold each moving joint once; missing: {sorted(missing)}, unknown: {sorted(extra)}"
        )
    for name in names:
        joint = model.joint(name)
        yield joint, _PINOCCHIO_NQ.get(joint.type, joint.nq)


def _urdf_order(model: Model) -> list[str]:
    """Depth first, siblings in the order of their joints' names."""
    children: dict[str, list[str]] = {}
    child_of = {joint.name: joint.child for joint in model.description.joints}
    for joint in model.description.joints:
        children.setdefault(joint.parent, []).append(joint.name)
    moving, order = set(model.joint_names), []
    pending = sorted(children[WORLD], reverse=True)
    while pending:
        name = pending.pop()
        if name in moving:
            order.append(name)
        pending += sorted(children.get(child_of[name], []), reverse=True)
    return order
