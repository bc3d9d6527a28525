"""Poses: 4x4 matrices that map a frame's coordinates to its parent's. Angles in radians, lengths in metres."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array


def pose(
    position: ArrayLike = (0.0, 0.0, 0.0), *, rpy: ArrayLike | None = None, xyzw: ArrayLike | None = None
) -> Array:
    """Pose at ``position`` with an orientation given by roll-pitch-yaw (URDF's fixed x, y, z axes) or a quaternion.

    >>> fw.pose((0, 0, 1), rpy=(0, 0, 0))[:3, 3]
    array([0., 0., 1.])
    """
    if rpy is not None and xyzw is not None:
        raise ValueError("pose: give rpy or xyzw, not both")
    result = np.eye(4)
    if rpy is not None:
        result[:3, :3] = rotation_from_rpy(rpy)
    elif xyzw is not None:
        result[:3, :3] = rotation_from_quaternion(xyzw)
    result[:3, 3] = np.asarray(position, dtype=np.float64)
    return result


def inverse(placement: Array) -> Array:
    """Inverse of a pose."""
    result = np.eye(4)
    result[:3, :3] = placement[:3, :3].T
    result[:3, 3] = -placement[:3, :3].T @ placement[:3, 3]
    return result


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(np.asarray(rpy, dtype=np.float64)), np.sin(np.asarray(rpy, dtype=np.float64))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_from_quaternion(xyzw: ArrayLike) -> Array:
    """Rotation matrix of a quaternion (normalised here); ``(..., 4)`` gives ``(..., 3, 3)``."""
    q = np.asarray(xyzw, dtype=np.float64)
    x, y, z, w = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_rotation(R: Array) -> Array:
    """Unit quaternion xyzw, with w >= 0, of a rotation matrix: the axis of eigenvalue one of Bar-Itzhack's matrix."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    K = np.array(
        [
            [xx - yy - zz, xy + yx, xz + zx, zy - yz],
            [xy + yx, yy - xx - zz, yz + zy, xz - zx],
            [xz + zx, yz + zy, zz - xx - yy, yx - xy],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    if np.array_equal(R, np.eye(3)):
        return np.array([0.0, 0.0, 0.0, 1.0])
    q = np.linalg.eigh(K / 3.0)[1][:, 3]
    return np.asarray(q if q[3] >= 0.0 else -q)


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """Rotation matrix by ``angle`` about the unit vector ``axis``."""
    x, y, z = np.asarray(axis, dtype=np.float64)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)


def rotation_taking_z_to(axis: ArrayLike) -> Array:
    """The smallest rotation that takes z to the unit vector ``axis`` (a half turn about x for -z)."""
    x, y, z = np.asarray(axis, dtype=np.float64)
    side = x * x + y * y
    if z < 0.0 and side == 0.0:
        return np.diag([1.0, -1.0, -1.0])
    k = 1.0 / (1.0 + z) if z >= 0.0 else (1.0 - z) / side  # equal for a unit vector; neither cancels
    return np.array([[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]])
