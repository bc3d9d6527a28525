"""Joint forces as a linear function of inertial parameters: what identification of masses from motion solves.

rnea(q, v, a) = Y(q, v, a) p + (rotors), where p has ten numbers for each link: mass m, first moment h = m c, and the
inertia about the link's origin, Ixx, Ixy, Iyy, Ixz, Iyz, Izz, in the axes of the link. For one link, with the
acceleration a of its origin less gravity and its angular motion w, w':

    force  = m a + w' x h + w x (w x h)
    moment = h x a + I w' + w x I w        about the origin

and Y is the sum of J_i^T times that, J_i the Jacobian of link i. Cost: three sweeps of the core for each link, over the
batch at once. Source: Atkeson, An and Hollerbach 1986; the order of parameters is Pinocchio's. Oracle: rnea.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array, real_numbers
from ..model.model import Model

#: Names of the parameters of one link, in their order.
PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def torque_regressor(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """Y with ``rnea(model, q, v, a) == Y @ inertial_parameters(model)``, (nv, 10 n_links) or (batch, nv, 10 n_links).

    q: (nq,), v and a: (nv,), or with a batch in front. Columns of link i of ``model.link_names`` are 10 i to 10 i + 9:
    mass [kg], first moment [kg m] and inertia about the link's origin [kg m^2]; they are zero for links that cannot
    move. Rotors (``armature``) are not links: their forces, ``armature * a`` for single axes, must be added.

    >>> arm = fw.models.arm()
    >>> q, v, a = np.random.default_rng(0).normal(size=(3, 7))
    >>> Y = fw.torque_regressor(arm, q, v, a)
    >>> tau = Y @ fw.inertial_parameters(arm) + arm.armature * a
    >>> bool(np.allclose(tau, fw.rnea(arm, q, v, a)))
    True
    """
    q, v, a = (real_numbers(name, x) for name, x in (("q", q), ("v", v), ("a", a)))
    parts = [_of_link(model, link, q, v, a) for link in model.link_names]
    shape = np.broadcast_shapes(*(part.shape for part in parts)) if parts else (model.nv, 0)
    return np.concatenate([np.broadcast_to(part, shape) for part in parts], axis=-1) if parts else np.zeros(shape)


def inertial_parameters(model: Model) -> Array:
    """The parameters that :func:`torque_regressor` multiplies, (10 n_links,): of each link m, m c, and its inertia
    Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the link's origin, in link axes [kg, kg m, kg m^2].

    >>> fw.inertial_parameters(fw.models.pendulum(length=2.0, mass=3.0))[:4]
    array([ 3.,  0.,  0., -6.])
    """
    rows = np.zeros((model.n_links, 10))
    for row, link in zip(rows, model.description.links, strict=True):
        if (inertia := link.inertia) is not None:
            m, c = inertia.mass, inertia.com
            I = inertia.matrix + m * (c @ c * np.eye(3) - np.outer(c, c))  # noqa: E741
            row[:] = (m, *(m * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
    return rows.ravel()


def _of_link(model: Model, link: str, q: Array, v: Array, a: Array) -> Array:
    """J^T B, (..., nv, 10): B (..., 6, 10) takes parameters to the force and moment that move the link so."""
    J = np.asarray(_core.jacobian(model, q, link))
    velocity = np.asarray(_core.frame_velocity(model, q, v, link))
    acceleration = np.asarray(_core.frame_acceleration(model, q, v, a, link, classical=True))
    R = np.asarray(_core.frame_placement(model, q, link))[..., :3, :3]
    w, dw = velocity[..., 3:], acceleration[..., 3:]
    lin = acceleration[..., :3] - np.einsum("...ji,j->...i", R, model.gravity)
    B = np.zeros((*lin.shape[:-1], 6, 10))
    W = _cross(w)
    B[..., :3, 0] = lin
    B[..., :3, 1:4] = _cross(dw) + W @ W
    B[..., 3:, 1:4] = -_cross(lin)
    B[..., 3:, 4:] = _times_inertia(dw) + W @ _times_inertia(w)
    return np.asarray(np.swapaxes(J, -1, -2) @ B)


def _cross(x: Array) -> Array:
    """(..., 3, 3) with _cross(x) @ y = x times y."""
    zero = np.zeros(x.shape[:-1])
    a, b, c = x[..., 0], x[..., 1], x[..., 2]
    rows = [np.stack(row, axis=-1) for row in ((zero, -c, b), (c, zero, -a), (-b, a, zero))]
    return np.stack(rows, axis=-2)


def _times_inertia(w: Array) -> Array:
    """(..., 3, 6) with _times_inertia(w) @ (Ixx, Ixy, Iyy, Ixz, Iyz, Izz) = I w."""
    zero = np.zeros(w.shape[:-1])
    x, y, z = w[..., 0], w[..., 1], w[..., 2]
    rows = ((x, y, zero, z, zero, zero), (zero, x, y, zero, z, zero), (zero, zero, zero, x, y, z))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
