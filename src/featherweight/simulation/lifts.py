"""What carries the weight of links."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..arrays import Array
from ..model.description import ModelDescription
from ..model.model import Model


def lifts(description: ModelDescription) -> list[tuple[int, float, list[float]]]:
    """Link, mass that is carried [kg] and where its centre is on the link [m], of links with a compensation."""
    return [
        (k, link.gravity_compensation * link.inertia.mass, link.inertia.com.tolist())
        for k, link in enumerate(description.links)
        if link.inertia is not None and link.gravity_compensation != 0.0
    ]


def carried_energy(model: Model, q: Array) -> Array:
    """What of the potential energy at q (..., nq) is not there since something carries the weight, (...) [J]."""
    energy = np.zeros(q.shape[:-1])
    carried = lifts(model.description)
    X = np.asarray(_core.forward_kinematics(model, q)) if carried else np.zeros(0)
    moving = {joint.child for joint in model.description.joints if joint.nv > 0}
    for joint in model.description.joints:  # parents come first
        moving |= {joint.child} if joint.parent in moving else set()
    for k, mass, center in carried:
        if model.link_names[k] in moving:
            at = X[..., k, :3, :3] @ np.array(center) + X[..., k, :3, 3]
            energy -= mass * at @ model.gravity
    return energy
