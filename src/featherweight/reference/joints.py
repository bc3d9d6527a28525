"""The joints: pose, motion subspace and configuration space of each type.

``motion(joint, q)`` is the pose of the moving joint frame in the fixed one. ``subspace(joint, q)`` is the 6 x nv
matrix S, in the moving frame, with joint velocity ``S v``. S is constant except for the universal and the planar
joint; ``bias(joint, q, v)`` is its rate times the velocity, ``(dS/dt) v``, zero for all others.

``integrate(joint, q, dv)`` moves q along the constant velocity dv for unit time; ``difference`` is its inverse.
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import Joint
from featherweight.reference.spatial import (
    force_cross,
    pose,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    quaternion_rotation,
    rotation,
    translation_of_twist,
)

ZERO = np.zeros(3)
Z = np.array([0.0, 0.0, 1.0])


def axis_of(joint: Joint) -> Array:
    if joint.axis is None:
        raise ValueError(f"joint '{joint.name}' of type {joint.type} has no axis")
    return joint.axis


def axis2_of(joint: Joint) -> Array:
    if joint.axis2 is None:
        raise ValueError(f"joint '{joint.name}' of type {joint.type} has no second axis")
    return joint.axis2


def motion(joint: Joint, q: Array) -> Array:
    """The 4x4 pose of the moving joint frame in the fixed one."""
    match joint.type:
        case "fixed":
            return pose()
        case "revolute" | "continuous":
            return pose(rotation(axis_of(joint), q[0]))
        case "prismatic":
            return pose(p=q[0] * axis_of(joint))
        case "helical":
            return pose(rotation(axis_of(joint), q[0]), joint.pitch * q[0] * axis_of(joint))
        case "universal":
            return pose(rotation(axis_of(joint), q[0]) @ rotation(axis2_of(joint), q[1]))
        case "planar":
            return pose(rotation(Z, q[2]), np.array([q[0], q[1], 0.0]))
        case "spherical":
            return pose(quaternion_rotation(q))
        case "free":
            return pose(quaternion_rotation(q[3:]), q[:3])


def subspace(joint: Joint, q: Array) -> Array:
    """The 6 x nv motion subspace S(q), in the moving joint frame."""
    match joint.type:
        case "fixed":
            return np.zeros((6, 0))
        case "revolute" | "continuous":
            return np.column_stack([np.r_[ZERO, axis_of(joint)]])
        case "prismatic":
            return np.column_stack([np.r_[axis_of(joint), ZERO]])
        case "helical":
            return np.column_stack([np.r_[joint.pitch * axis_of(joint), axis_of(joint)]])
        case "universal":  # the first axis, seen from beyond the second rotation
            first = rotation(axis2_of(joint), q[1]).T @ axis_of(joint)
            return np.column_stack([np.r_[ZERO, first], np.r_[ZERO, axis2_of(joint)]])
        case "planar":  # the fixed x and y directions, seen from the turned frame
            x, y, z = rotation(Z, q[2]).T.T
            return np.column_stack([np.r_[x, ZERO], np.r_[y, ZERO], np.r_[ZERO, z]])
        case "spherical":
            return np.eye(6)[:, 3:]
        case "free":
            return np.eye(6)


def bias(joint: Joint, q: Array, v: Array) -> Array:
    """``(dS/dt) v`` (6,), in the moving joint frame."""
    S = subspace(joint, q)
    match joint.type:
        case "universal":  # the first axis turns backwards as the second angle advances
            return np.concatenate([ZERO, np.cross(-axis2_of(joint) * v[1], S[3:, 0] * v[0])])
        case "planar":
            return np.concatenate([np.cross(-Z * v[2], S[:3, :2] @ v[:2]), ZERO])
        case _:
            return np.zeros(6)


def armature_bias(joint: Joint, v: Array) -> Array:
    """What the armature R of a ball joint takes as its axes turn, v x* (R v), (nv of the joint,); zero for others."""
    if joint.armature is None or joint.type not in ("spherical", "free"):
        return np.zeros(joint.nv)
    twist = np.zeros(6)
    twist[6 - joint.nv :] = v
    return np.asarray((force_cross(twist)[6 - joint.nv :, 6 - joint.nv :]) @ (joint.armature * v))


def neutral(joint: Joint) -> Array:
    """The configuration (nq,) at which ``motion`` is the identity."""
    match joint.type:
        case "spherical":
            return np.array([0.0, 0.0, 0.0, 1.0])
        case "free":
            return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        case _:
            return np.zeros(joint.nq)


def integrate(joint: Joint, q: Array, dv: Array) -> Array:
    """The configuration (nq,) reached from ``q`` by holding the joint velocity ``dv`` for unit time."""
    match joint.type:
        case "spherical":
            return quaternion_product(q, quaternion_exp(dv))
        case "free":
            position = q[:3] + quaternion_rotation(q[3:]) @ translation_of_twist(dv[3:]) @ dv[:3]
            return np.concatenate([position, quaternion_product(q[3:], quaternion_exp(dv[3:]))])
        case _:
            return q + dv


def difference(joint: Joint, q0: Array, q1: Array) -> Array:
    """The joint velocity (nv,) that leads from ``q0`` to ``q1`` in unit time, by the shortest rotation."""
    conjugate = np.array([-1.0, -1.0, -1.0, 1.0])
    match joint.type:
        case "spherical":
            return quaternion_log(quaternion_product(q0 * conjugate, q1))
        case "free":
            turn = quaternion_log(quaternion_product(q0[3:] * conjugate, q1[3:]))
            step = quaternion_rotation(q0[3:]).T @ (q1[:3] - q0[:3])
            return np.concatenate([np.linalg.solve(translation_of_twist(turn), step), turn])
        case _:
            return q1 - q0
