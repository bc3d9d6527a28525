"""Centre of mass, energies and momentum: sums over the links that can move.

A link that fixed joints weld to the world is part of the world and is left out.
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.kinematics import forward_kinematics, link_motion
from featherweight.reference.spatial import inverse, motion_transform, pose
from featherweight.reference.tree import evaluate


def masses(model: ModelDescription) -> Array:
    """Mass of each link (n_links,) [kg]; zero for those welded to the world."""
    welded, result = {"world"}, np.zeros(len(model.links))
    for i, (link, joint) in enumerate(zip(model.links, model.joints, strict=True)):
        if joint.type == "fixed" and joint.parent in welded:
            welded.add(link.name)
        elif link.inertia is not None:
            result[i] = link.inertia.mass
    return result


def center_of_mass(model: ModelDescription, q: Array) -> Array:
    """Centre of mass of all links that can move, in the world (3,)."""
    moment = np.zeros(3)
    for mass, link, X_WL in zip(masses(model), model.links, forward_kinematics(model, q), strict=True):
        if link.inertia is not None:
            moment += mass * (X_WL[:3, :3] @ link.inertia.com + X_WL[:3, 3])
    center: Array = moment / masses(model).sum()
    return center


def potential_energy(model: ModelDescription, q: Array) -> float:
    """[J], zero with the centre of mass at the world's origin."""
    return -float(masses(model).sum() * model.gravity @ center_of_mass(model, q))


def kinetic_energy(model: ModelDescription, q: Array, v: Array) -> float:
    """[J], of the links and of the rotors behind the armature: 1/2 v^T H v."""
    velocity, _ = link_motion(model, q, v, np.zeros_like(v))
    twice = 0.0
    for i, link in enumerate(evaluate(model, q)):
        twice += velocity[i] @ link.inertia @ velocity[i] + link.armature @ v[link.dofs] ** 2
    return twice / 2


def centroidal_momentum(model: ModelDescription, q: Array, v: Array) -> Array:
    """Linear momentum, and angular momentum about the centre of mass, in the world's axes (6,)."""
    velocity, _ = link_motion(model, q, v, np.zeros_like(v))
    X_CW = inverse(pose(p=center_of_mass(model, q)))
    momentum = np.zeros(6)
    for i, (link, X_WL) in enumerate(zip(evaluate(model, q), forward_kinematics(model, q), strict=True)):
        momentum += motion_transform(inverse(X_CW @ X_WL)).T @ link.inertia @ velocity[i]
    return momentum
