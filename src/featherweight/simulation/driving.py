"""Forces to hand to a step: what carries the weight, and pushes. Methods of :class:`featherweight.Simulator`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array, real_numbers
from ..model.model import Model
from .lifts import lifts
from .parameters import Parameters


def gravity_compensation(model: Model, q: Array, parameters: Parameters) -> Array:
    """Joint forces (..., nv) that balance gravity at q (..., nq), zero where nothing can push: on free joints."""
    if parameters.gravity is None and parameters.masses is None and not lifts(model.description):
        tau = np.array(_core.gravity_forces(model, q))
    else:
        rest = np.zeros((*q.shape[:-1], model.nv))
        tau = np.array(_core.rnea(model, q, rest, rest, _added_weight(model, q, parameters)))
    for joint in model.joints:
        if joint.type == "free":
            tau[..., joint.v_slice] = 0.0
    return tau


def _added_weight(model: Model, q: Array, parameters: Parameters) -> Array:
    """The weights of links that nothing carries, less those in the model, as f_ext (..., n_links, 6)."""
    mass = np.array([link.inertia.mass if link.inertia else 0.0 for link in model.description.links])
    com = np.array([link.inertia.com if link.inertia else np.zeros(3) for link in model.description.links])
    gravity = model.gravity if parameters.gravity is None else parameters.gravity[:, None]
    factors = 1.0 if parameters.masses is None else parameters.masses[..., None]
    left = 1.0 - np.array([[link.gravity_compensation] for link in model.description.links])
    weight = mass[:, None] * (factors * left * gravity - model.gravity)  # (batch, n_links, 3), world axes
    R = np.asarray(_core.forward_kinematics(model, q))[..., :3, :3]
    force = np.einsum("...kji,...kj->...ki", R, weight.reshape(*q.shape[:-1], model.n_links, 3))
    return np.concatenate([force, np.cross(com, force)], axis=-1)


def push(model: Model, q: Array, link: str, force: ArrayLike, point: ArrayLike | None) -> Array:
    """The force (..., 3) in world axes on ``link`` at ``point`` (..., 3) of the world, as f_ext (..., n_links, 6)."""
    at = model.link(link)
    F = _vectors("force", force, q)
    X = np.asarray(_core.forward_kinematics(model, q))[..., at.index, :, :]
    if point is None:
        com = np.zeros(3) if at.inertia is None else at.inertia.com
        arm = X[..., :3, :3] @ com
    else:
        arm = _vectors("point", point, q) - X[..., :3, 3]
    f_ext = np.zeros((*q.shape[:-1], model.n_links, 6))
    f_ext[..., at.index, :3] = np.einsum("...ji,...j->...i", X[..., :3, :3], F)
    f_ext[..., at.index, 3:] = np.einsum("...ji,...j->...i", X[..., :3, :3], np.cross(arm, F))
    return f_ext


def _vectors(name: str, value: ArrayLike, q: Array) -> Array:
    array = real_numbers(name, value)
    if array.shape not in ((3,), (*q.shape[:-1], 3)):
        wanted = "(3,)" if q.ndim == 1 else f"(3,) or ({q.shape[0]}, 3)"
        raise ValueError(f"{name}: expected shape {wanted}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: contains numbers that are not finite")
    return array
