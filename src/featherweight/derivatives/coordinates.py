"""Between coordinates and tangent spaces: what a small change of q is as a velocity, and gradients likewise.

Coordinates of free and spherical joints hold unit quaternions (x, y, z, w). Along an angular velocity phi in body axes
they change by Q(quaternion) phi / 2, where Q has orthonormal columns; positions of free joints by R(quaternion) times
the linear velocity. All other coordinates change by their velocities.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..arrays import Array
from ..model.model import Model

#: Q of a quaternion (x, y, z, w), (4, 3), as a linear function of it.
_Q = np.zeros((4, 3, 4))
for _row, _column, _of, _sign in (
    (0, 0, 3, 1), (0, 1, 2, -1), (0, 2, 1, 1),
    (1, 0, 2, 1), (1, 1, 3, 1), (1, 2, 0, -1),
    (2, 0, 1, -1), (2, 1, 0, 1), (2, 2, 3, 1),
    (3, 0, 0, -1), (3, 1, 1, -1), (3, 2, 2, -1),
):  # fmt: skip
    _Q[_row, _column, _of] = _sign
#: The rotation by it as a quadratic one, (16, 9): the same for angular velocities in world axes, transposed, times Q.
_WORLD = _Q * np.array([-1.0, -1.0, -1.0, 1.0]) * np.array([1.0, 1.0, 1.0, -1.0])[:, None, None]
_ROTATION = np.einsum("kia,kjb->ijab", _WORLD, _Q).reshape(9, 16).T.copy()
_TURN = np.ascontiguousarray(_Q.reshape(12, 4).T)


class Coordinates:
    """The coordinates of a model, and what small changes of them are."""

    def __init__(self, model: Model) -> None:
        curved = [joint for joint in model.joints if joint.type in ("free", "spherical")]
        #: Whether coordinates are not their own tangents.
        self.curved = bool(curved)
        self._nq, self._nv = model.nq, model.nv
        flat = [joint for joint in model.joints if joint.type not in ("free", "spherical")]
        self._flat = _joined([(joint.q_slice, joint.v_slice) for joint in flat])
        self._turning, self._moving = [], []
        for joint in curved:
            quaternion = slice(joint.q_slice.stop - 4, joint.q_slice.stop)
            self._turning.append((quaternion, slice(joint.v_slice.stop - 3, joint.v_slice.stop)))
            if joint.type == "free":
                first_q, first_v = joint.q_slice.start, joint.v_slice.start
                self._moving.append((slice(first_q, first_q + 3), quaternion, slice(first_v, first_v + 3)))

    def tangent(self, q: Array, change: Array) -> Array:
        """Of a change (..., nq) of coordinates, that in the tangent space (..., nv) at q."""
        return self._mapped(q, change, to_tangent=True, turn=2.0) if self.curved else change

    def change(self, q: Array, tangent: Array) -> Array:
        """Of (..., nv) in the tangent space at q, the change (..., nq) of coordinates."""
        return self._mapped(q, tangent, to_tangent=False, turn=0.5) if self.curved else tangent

    def cotangent(self, q: Array, gradient: Array) -> Array:
        """Of a gradient (..., nq) by coordinates, that by the tangent space (..., nv) at q: the transpose of change."""
        return self._mapped(q, gradient, to_tangent=True, turn=0.5) if self.curved else gradient

    def gradient(self, q: Array, cotangent: Array) -> Array:
        """Of (..., nv), the gradient (..., nq) by coordinates: the transpose of tangent."""
        return self._mapped(q, cotangent, to_tangent=False, turn=2.0) if self.curved else cotangent

    def _mapped(self, q: Array, x: Array, *, to_tangent: bool, turn: float) -> Array:
        """By R and turn Q, joint by joint, or by their transposes to the tangent space."""
        lead = x.shape[:-1]
        out = np.empty((*lead, self._nv if to_tangent else self._nq))
        for at_q, at_v in self._flat:
            if to_tangent:
                out[..., at_v] = x[..., at_q]
            else:
                out[..., at_q] = x[..., at_v]
        for at, angular in self._turning:
            quaternion = q[..., at]
            _map_block(out, x, (quaternion @ _TURN).reshape(*lead, 4, 3) * turn, at, angular, to_tangent)
        for position, at, linear in self._moving:
            quaternion = q[..., at]
            square = (quaternion[..., :, None] * quaternion[..., None, :]).reshape(*lead, 16)
            _map_block(out, x, (square @ _ROTATION).reshape(*lead, 3, 3), position, linear, to_tangent)
        return out


def _map_block(out: Array, x: Array, matrix: Array, at_q: slice, at_v: slice, to_tangent: bool) -> None:
    if to_tangent:
        out[..., at_v] = (x[..., None, at_q] @ matrix)[..., 0, :]
    else:
        out[..., at_q] = (matrix @ x[..., at_v, None])[..., 0]


def _joined(pairs: list[tuple[slice, slice]]) -> list[tuple[slice, slice]]:
    """The same places in as few slices as can be."""
    out: list[tuple[slice, slice]] = []
    for q, v in pairs:
        if out and out[-1][0].stop == q.start and out[-1][1].stop == v.start:
            q, v = slice(out[-1][0].start, q.stop), slice(out.pop()[1].start, v.stop)
        out.append((q, v))
    return out


@lru_cache(maxsize=64)
def coordinates_of(model: Model) -> Coordinates:
    """Of a model, made once."""
    return Coordinates(model)
