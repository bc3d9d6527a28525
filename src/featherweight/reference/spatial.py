"""Spatial algebra: 6-vectors [linear; angular], 4x4 poses, rotations and their exponentials.

A pose ``X_AB`` holds the axes and origin of B in A. A motion vector's linear part is the velocity of the body point
at the origin of the frame it is written in; a force vector's angular part is the moment about that origin.
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array

#: Below this angle [rad] the exponentials use their series; the first dropped term is then smaller than rounding.
SMALL_ANGLE = 1e-4


def skew(p: Array) -> Array:
    """The 3x3 matrix with ``skew(p) @ x == cross(p, x)``."""
    x, y, z = p
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def pose(R: Array | None = None, p: Array | None = None) -> Array:
    """The 4x4 pose with rotation ``R`` and origin ``p`` (identity and zero unless given)."""
    X = np.eye(4)
    if R is not None:
        X[:3, :3] = R
    if p is not None:
        X[:3, 3] = p
    return X


def inverse(X_AB: Array) -> Array:
    """X_BA."""
    R = X_AB[:3, :3]
    return pose(R.T, -R.T @ X_AB[:3, 3])


def motion_transform(X_AB: Array) -> Array:
    """The 6x6 matrix that takes motion coordinates in B to A. Its transpose takes force coordinates in A to B."""
    R, p = X_AB[:3, :3], X_AB[:3, 3]
    return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])


def motion_cross(v: Array) -> Array:
    """The 6x6 matrix ``v x``: the rate of a motion vector carried along by the velocity ``v``."""
    linear, angular = skew(v[:3]), skew(v[3:])
    return np.block([[angular, linear], [np.zeros((3, 3)), angular]])


def force_cross(v: Array) -> Array:
    """The 6x6 matrix ``v x*``: the rate of a force vector carried along by the velocity ``v``."""
    return -motion_cross(v).T


def spatial_inertia(mass: float, com: Array, matrix: Array) -> Array:
    """The 6x6 inertia about the link origin from mass, centre of mass and 3x3 inertia about that centre."""
    c = skew(com)
    return np.block([[mass * np.eye(3), -mass * c], [mass * c, matrix - mass * c @ c]])


def rotation(axis: Array, angle: float) -> Array:
    """The 3x3 rotation by ``angle`` [rad] about the unit vector ``axis`` (Rodrigues)."""
    K = skew(axis)
    R: Array = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
    return R


def quaternion_rotation(quaternion: Array) -> Array:
    """The 3x3 rotation of a unit quaternion (x, y, z, w)."""
    u, w = quaternion[:3], quaternion[3]
    R: Array = np.eye(3) + 2.0 * w * skew(u) + 2.0 * skew(u) @ skew(u)
    return R


def quaternion_product(a: Array, b: Array) -> Array:
    """The quaternion (x, y, z, w) of rotation a followed, in the rotated frame, by rotation b."""
    vector = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.append(vector, a[3] * b[3] - a[:3] @ b[:3])


def quaternion_exp(w: Array) -> Array:
    """The quaternion of the rotation by the vector ``w`` [rad]."""
    angle = np.linalg.norm(w)
    half_sinc = np.sin(angle / 2) / angle if angle > SMALL_ANGLE else 0.5 - angle**2 / 48
    return np.append(half_sinc * w, np.cos(angle / 2))


def quaternion_log(quaternion: Array) -> Array:
    """The shortest rotation vector [rad] of a unit quaternion; inverse of :func:`quaternion_exp`."""
    u, w = quaternion[:3], quaternion[3]
    if w < 0:  # q and -q are the same rotation: take the one nearer to the identity
        u, w = -u, -w
    sine = np.linalg.norm(u)
    scale = 2 * np.arctan2(sine, w) / sine if sine > SMALL_ANGLE else (2 - 2 * sine**2 / (3 * w**2)) / w
    vector: Array = scale * u
    return vector


def rotation_vector(R: Array) -> Array:
    """The shortest rotation vector [rad] of R, whose quaternion is the dominant eigenvector of a matrix linear in R."""
    skew_part = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    symmetric = R + R.T - np.trace(R) * np.eye(3)
    _, vectors = np.linalg.eigh(np.block([[symmetric, skew_part[:, None]], [skew_part, np.trace(R)]]))
    return quaternion_log(vectors[:, -1])


def translation_of_twist(w: Array) -> Array:
    """The 3x3 matrix V(w): a body twist (d, w) held for unit time moves the origin by ``V(w) @ d``."""
    angle, W = np.linalg.norm(w), skew(w)
    if angle > SMALL_ANGLE:
        first, second = (1 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
    else:
        first, second = 0.5 - angle**2 / 24, 1.0 / 6 - angle**2 / 120
    V: Array = np.eye(3) + first * W + second * W @ W
    return V
