"""Converts configurations and velocities to and from other libraries. All functions take ``(n,)`` or batches.

Inputs follow the rules of the dynamics functions: real finite numbers, batches of equal size, none of them empty, and
quaternions within 1e-6 of unit length, which are normalised. Anything else is a ValueError. Results are float64.

What differs: MuJoCo has quaternions as wxyz and the linear velocity of a free joint in the world frame. Pinocchio has
continuous joints as (cos, sin), planar joints as (x, y, cos, sin) with the velocity in the moving frame, and numbers
the joints of a URDF in the alphabetical order of siblings instead of file order.

>>> box = fw.models.box()
>>> fw.convert.to_mujoco(box, box.neutral())  # wxyz
array([0., 0., 0., 1., 0., 0., 0.])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from .description import WORLD, JointType
from .model import Model, ModelJoint
from .poses import rotation_from_quaternion

__all__ = ["from_mujoco", "from_pinocchio", "to_mujoco", "to_pinocchio"]

#: A quaternion may be this far from unit length; the core's tolerance.
UNIT_TOLERANCE = 1e-6

_PINOCCHIO_NQ = {"continuous": 2, "planar": 4}


@overload
def from_mujoco(model: Model, qpos: ArrayLike) -> Array: ...
@overload
def from_mujoco(model: Model, qpos: ArrayLike, qvel: ArrayLike) -> tuple[Array, Array]: ...
def from_mujoco(model: Model, qpos: ArrayLike, qvel: ArrayLike | None = None) -> Array | tuple[Array, Array]:
    """q, or (q, v), of MuJoCo's qpos ``(..., nq)`` and qvel ``(..., nv)`` for a model loaded from MJCF.

    >>> box = fw.models.box()
    >>> q, v = fw.convert.from_mujoco(box, [0, 0, 1, 1, 0, 0, 0], np.zeros(6))
    >>> q  # quaternions end with the real part
    array([0., 0., 1., 0., 0., 0., 1.])
    """
    q = _numbers("qpos", qpos, model.nq)
    for quaternion in _quaternions(model, q).values():
        quaternion[:] = np.roll(quaternion, -1, axis=-1)
    _normalise("qpos", model, q)
    if qvel is None:
        return q
    v = _velocity("qvel", qvel, model.nv, "qpos", q)
    return q, _turn_free_velocities(model, q, v, to_body=True)


@overload
def to_mujoco(model: Model, q: ArrayLike) -> Array: ...
@overload
def to_mujoco(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]: ...
def to_mujoco(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Array | tuple[Array, Array]:
    """MuJoCo's qpos, or (qpos, qvel), of q ``(..., nq)`` and v ``(..., nv)``.

    >>> box = fw.models.box()
    >>> fw.convert.to_mujoco(box, [0, 0, 1, 0, 0, 0, 1])  # quaternions begin with the real part
    array([0., 0., 1., 1., 0., 0., 0.])
    """
    ours = _normalise("q", model, _numbers("q", q, model.nq))
    qpos = ours.copy()
    for quaternion in _quaternions(model, qpos).values():
        quaternion[:] = np.roll(quaternion, 1, axis=-1)
    if v is None:
        return qpos
    return qpos, _turn_free_velocities(model, ours, _velocity("v", v, model.nv, "q", ours), to_body=False)


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

    >>> builder = fw.ModelBuilder("dial").solid("knob", "cylinder", (0.03, 0.02), mass=0.1)
    >>> dial = builder.joint("turn", "continuous", "world", "knob", axis="z").build()
    >>> fw.convert.from_pinocchio(dial, [0.0, 1.0])  # cosine and sine
    array([1.57079633])
    """
    layout = list(_pinocchio_layout(model, joint_names))
    theirs = _numbers("q", q, sum(joint_nq for _, joint_nq in layout))
    ours = np.empty((*theirs.shape[:-1], model.nq))
    end = 0
    for joint, width in layout:
        part, end = theirs[..., end : end + width], end + width
        if width != joint.nq:  # the angle comes last, as cosine and sine
            _check_unit("q", f"cosine and sine of joint {joint.name!r}", part[..., -2:])
            part = np.concatenate([part[..., :-2], np.arctan2(part[..., -1:], part[..., -2:-1])], axis=-1)
        ours[..., joint.q_slice] = part
    _normalise("q", model, ours)
    if v is None:
        return ours
    velocity = _velocity("v", v, model.nv, "q", ours)
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
    """Pinocchio's q, or (q, v), of ours. ``joint_names`` as in :func:`from_pinocchio`.

    >>> builder = fw.ModelBuilder("dial").solid("knob", "cylinder", (0.03, 0.02), mass=0.1)
    >>> dial = builder.joint("turn", "continuous", "world", "knob", axis="z").build()
    >>> fw.convert.to_pinocchio(dial, [0.0])  # cosine and sine
    array([1., 0.])
    """
    layout = list(_pinocchio_layout(model, joint_names))
    ours = _normalise("q", model, _numbers("q", q, model.nq))
    parts = []
    for joint, width in layout:
        part = ours[..., joint.q_slice]
        if width != joint.nq:
            part = np.concatenate([part[..., :-1], np.cos(part[..., -1:]), np.sin(part[..., -1:])], axis=-1)
        parts.append(part)
    theirs = np.concatenate([ours[..., :0], *parts], axis=-1)
    if v is None:
        return theirs
    velocity = _velocity("v", v, model.nv, "q", ours)
    result = np.empty((*np.broadcast_shapes(velocity.shape[:-1], ours.shape[:-1]), model.nv))
    end = 0
    for joint, _ in layout:
        part = _turn_planar(velocity[..., joint.v_slice], ours[..., joint.q_slice][..., -1:], joint.type, -1.0)
        result[..., end : end + joint.nv] = part
        end += joint.nv
    return theirs, result


def _numbers(name: str, value: ArrayLike, size: int) -> Array:
    """A float64 copy of ``value``, finite and of shape ``(..., size)``; ``name`` is the argument it came as."""
    try:
        given = np.asarray(value)
    except ValueError as error:  # ragged
        raise ValueError(f"{name}: expected an array of numbers, got {type(value).__name__} ({error})") from None
    if given.dtype.kind not in "fiu" or given.dtype.itemsize > 8:
        raise ValueError(f"{name}: expected an array of real numbers (float64 or float32), got dtype {given.dtype}")
    if given.ndim == 0 or given.shape[-1] != size:
        raise ValueError(f"{name}: expected shape (..., {size}), got {given.shape}")
    if 0 in given.shape[:-1]:
        raise ValueError(f"{name}: the batch is empty, got shape {given.shape}")
    result = np.array(given, dtype=np.float64)
    for where in np.argwhere(~np.isfinite(result))[:1]:
        *sample, entry = where.tolist()
        raise ValueError(
            f"{name}: entry {entry}{_of_sample(sample)} is {result[tuple(where)]}, expected a finite number"
        )
    return result


def _velocity(name: str, value: ArrayLike, size: int, q_name: str, q: Array) -> Array:
    """The numbers of a velocity, whose batch must be that of ``q`` if both have one."""
    v = _numbers(name, value, size)
    batch, q_batch = v.shape[:-1], q.shape[:-1]
    if batch and q_batch and batch != q_batch:
        raise ValueError(f"{name}: a batch of {_text(batch)} does not match the batch of {_text(q_batch)} in {q_name}")
    return v


def _quaternions(model: Model, q: Array) -> dict[str, Array]:
    """Views ``(..., 4)`` of the quaternions in ``q``, by joint."""
    return {
        joint.name: q[..., joint.q_slice.stop - 4 : joint.q_slice.stop]
        for joint in model.joints
        if joint.type in ("free", "spherical")
    }


def _normalise(name: str, model: Model, q: Array) -> Array:
    """``q``, its quaternions normalised in place. Those that are right to rounding keep their bits."""
    for joint, quaternion in _quaternions(model, q).items():
        lengths = _check_unit(name, f"quaternion of joint {joint!r}", quaternion)
        quaternion /= np.where(np.abs(lengths - 1.0) <= 1e-15, 1.0, lengths)
    return q


def _check_unit(name: str, what: str, vectors: Array) -> Array:
    """Lengths ``(..., 1)`` of ``vectors``, which must be within 1e-6 of one."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    for where in np.argwhere(~(np.abs(lengths - 1.0) <= UNIT_TOLERANCE))[:1]:
        *sample, _ = where.tolist()
        raise ValueError(
            f"{name}: the {what}{_of_sample(sample)} has length {lengths[tuple(where)]:.9g}; "
            "lengths within 1e-6 of 1 are normalised, others rejected"
        )
    return np.asarray(lengths)


def _of_sample(sample: Sequence[int]) -> str:
    return f" of sample {_text(sample)}" if sample else ""


def _text(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else str(tuple(numbers))


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
