"""Exponentials and logarithms of rotations and poses, and quaternions (xyzw), one or many at a time.

Twists have the linear part first, as everywhere. All functions take arrays with any leading axes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array

__all__ = [
    "exp3",
    "exp6",
    "log3",
    "log6",
    "quaternion_from_rotation",
    "quaternion_multiply",
    "quaternion_slerp",
    "rotation_from_quaternion",
]

#: Squared angle [rad^2] below which coefficients use their series: the first term dropped is below rounding.
_SMALL = 1e-2


def exp3(w: ArrayLike) -> Array:
    """The rotation (..., 3, 3) about the axis and by the angle of ``w`` (..., 3) [rad].

    >>> fw.exp3([0.0, 0.0, np.pi / 2]).round(3) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    vector = _numbers("w", w, (3,))
    a, b, _ = _coefficients((vector**2).sum(axis=-1))
    W = _hat(vector)
    return np.asarray(np.eye(3) + a[..., None, None] * W + b[..., None, None] * (W @ W))


def log3(R: ArrayLike) -> Array:
    """The rotation vector (..., 3) [rad] of ``R`` (..., 3, 3), no longer than pi; the inverse of :func:`exp3`.

    >>> fw.log3(fw.exp3([0.1, 0.2, 0.3]))
    array([0.1, 0.2, 0.3])
    """
    xyzw = quaternion_from_rotation(R)
    vector, w = xyzw[..., :3], xyzw[..., 3]
    sine = np.sqrt((vector**2).sum(axis=-1))
    # angle / sin(angle / 2), which is 2 for small angles
    angle = 2.0 * np.arctan2(sine, w)
    scale = np.where(sine > 1e-12, angle / np.where(sine > 1e-12, sine, 1.0), 2.0 / np.where(w > 0.0, w, 1.0))
    return np.asarray(scale[..., None] * vector)


def exp6(twist: ArrayLike) -> Array:
    """The pose (..., 4, 4) reached by moving along ``twist`` (..., 6) [m, rad], linear part first, for unit time.

    >>> fw.exp6([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])[:3, 3]
    array([1., 0., 0.])
    """
    x = _numbers("twist", twist, (6,))
    lin, ang = x[..., :3], x[..., 3:]
    _, b, c = _coefficients((ang**2).sum(axis=-1))
    W = _hat(ang)
    V = np.eye(3) + b[..., None, None] * W + c[..., None, None] * (W @ W)
    X = np.zeros((*x.shape[:-1], 4, 4))
    X[..., :3, :3], X[..., 3, 3] = exp3(ang), 1.0
    X[..., :3, 3] = (V @ lin[..., None])[..., 0]
    return X


def log6(X: ArrayLike) -> Array:
    """The twist (..., 6) [m, rad], linear part first, of the pose ``X`` (..., 4, 4); the inverse of :func:`exp6`.

    >>> fw.log6(fw.exp6([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    """
    pose = _numbers("X", X, (4, 4))
    ang = log3(pose[..., :3, :3])
    square = (ang**2).sum(axis=-1)
    W = _hat(ang)
    # V^-1 = 1 - W / 2 + d W^2, d = (1 - angle cot(angle / 2) / 2) / angle^2
    half = 0.5 * np.sqrt(np.where(square > _SMALL, square, 1.0))
    d = np.where(
        square > _SMALL,
        (1.0 - half / np.tan(half)) / np.where(square > _SMALL, square, 1.0),
        1 / 12 + square / 720 + square**2 / 30240 + square**3 / 1209600,
    )
    lin = pose[..., :3, 3, None]
    moved = lin - 0.5 * (W @ lin) + d[..., None, None] * (W @ (W @ lin))
    return np.concatenate([moved[..., 0], ang], axis=-1)


def rotation_from_quaternion(xyzw: ArrayLike) -> Array:
    """The rotation (..., 3, 3) of unit quaternions ``xyzw`` (..., 4), which are normalised first.

    >>> fw.rotation_from_quaternion([0.0, 0.0, 0.0, 1.0])[0]
    array([1., 0., 0.])
    """
    x, y, z, w = np.moveaxis(_unit(xyzw), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_rotation(R: ArrayLike) -> Array:
    """The unit quaternion xyzw (..., 4), w >= 0, of rotations ``R`` (..., 3, 3).

    >>> fw.quaternion_from_rotation(np.eye(3))
    array([0., 0., 0., 1.])
    """
    m = _numbers("R", R, (3, 3))
    if (np.abs(m @ np.swapaxes(m, -1, -2) - np.eye(3)) > 1e-6).any() or (np.linalg.det(m) < 0.0).any():
        raise ValueError("R: not a rotation: its columns are not orthonormal, or it mirrors")
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # four times the outer product of the quaternion with itself: the row of the largest component is exact
    K = np.empty((*m.shape[:-2], 4, 4))
    K[..., 0, 0], K[..., 1, 1] = 1 + xx - yy - zz, 1 - xx + yy - zz
    K[..., 2, 2], K[..., 3, 3] = 1 - xx - yy + zz, 1 + xx + yy + zz
    for i, j in ((0, 1), (0, 2), (1, 2)):
        K[..., i, j] = K[..., j, i] = m[..., i, j] + m[..., j, i]
    for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0))):
        K[..., k, 3] = K[..., 3, k] = m[..., i, j] - m[..., j, i]
    largest = np.argmax(np.diagonal(K, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(K, largest[..., None, None], axis=-2)[..., 0, :]
    q = row / np.sqrt((row**2).sum(axis=-1, keepdims=True))
    return np.asarray(np.where(q[..., 3:] < 0.0, -q, q))


def quaternion_multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """The product (..., 4) of quaternions xyzw: the rotation ``b`` first, then ``a``.

    >>> fw.quaternion_multiply([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0])
    array([0., 0., 1., 0.])
    """
    p, q = _numbers("a", a, (4,)), _numbers("b", b, (4,))
    u, v, s, t = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    return np.concatenate([s * v + t * u + np.cross(u, v), s * t - (u * v).sum(axis=-1, keepdims=True)], axis=-1)


def quaternion_slerp(a: ArrayLike, b: ArrayLike, share: ArrayLike) -> Array:
    """Between two rotations (..., 4) at constant angular velocity, the short way: ``a`` at 0, ``b`` at 1.

    >>> fw.quaternion_slerp([0, 0, 0, 1], [0, 0, 1, 0], 0.5).round(4)
    array([0.    , 0.    , 0.7071, 0.7071])
    """
    start, end = rotation_from_quaternion(a), rotation_from_quaternion(b)
    turn = log3(np.swapaxes(start, -1, -2) @ end)
    return quaternion_from_rotation(start @ exp3(np.asarray(share, dtype=np.float64)[..., None] * turn))


def _coefficients(square: Array) -> tuple[Array, Array, Array]:
    """sin(x) / x, (1 - cos(x)) / x^2 and (x - sin(x)) / x^3 of squared angles."""
    large = square > _SMALL
    x = np.sqrt(np.where(large, square, 1.0))
    s = square
    return (
        np.where(large, np.sin(x) / x, 1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72)))),
        np.where(large, 2 * np.sin(0.5 * x) ** 2 / x**2, 0.5 - s / 24 * (1 - s / 30 * (1 - s / 56 * (1 - s / 90)))),
        np.where(large, (x - np.sin(x)) / x**3, 1 / 6 - s / 120 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110)))),
    )


def _hat(w: Array) -> Array:
    """The matrix (..., 3, 3) whose product with x is w x x."""
    W = np.zeros((*w.shape[:-1], 3, 3))
    W[..., 2, 1], W[..., 0, 2], W[..., 1, 0] = w[..., 0], w[..., 1], w[..., 2]
    return W - np.swapaxes(W, -1, -2)


def _unit(xyzw: ArrayLike) -> Array:
    q = _numbers("xyzw", xyzw, (4,))
    length = np.sqrt((q**2).sum(axis=-1, keepdims=True))
    if not (length > 0.0).all():
        raise ValueError("xyzw: a quaternion of length zero is no rotation")
    return np.asarray(q / length)


def _numbers(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.shape[-len(shape) :] != shape:
        wanted = ", ".join(["...", *map(str, shape)])
        raise ValueError(f"{name}: expected shape ({wanted}), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: contains numbers that are not finite")
    return array
