"""A model description evaluated at one state: per link, everything the recursions need.

Everything with index i is in the coordinates of link i. Fixed joints are joints without degrees of freedom, and links
stay as described: nothing is merged, re-framed or split, which makes these twins an oracle for the compiled core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference import joints
from featherweight.reference.spatial import inverse, motion_transform, spatial_inertia

#: Index of the world as a parent. Arrays of one row per link carry an extra last row for it.
WORLD = -1


@dataclass(frozen=True, eq=False)
class LinkState:
    """One link and the joint that carries it."""

    parent: int  # index of the parent link, or WORLD
    dofs: slice  # where the joint's velocity sits in v
    pose: Array  # (4, 4) of the link in its parent
    X: Array  # (6, 6) motion transform, parent to link
    S: Array  # (6, nv of the joint) motion subspace
    bias: Array  # (6,) (dS/dt) v
    inertia: Array  # (6, 6) spatial, about the link origin
    armature: Array  # (nv of the joint,)
    armature_bias: Array  # (nv of the joint,) force that it takes at zero acceleration


def sizes(model: ModelDescription) -> tuple[int, int]:
    """(nq, nv) of the whole model."""
    return sum(joint.nq for joint in model.joints), sum(joint.nv for joint in model.joints)


def slices(model: ModelDescription) -> list[tuple[slice, slice]]:
    """Per joint, where its coordinates sit in q and in v."""
    result, q_end, v_end = [], 0, 0
    for joint in model.joints:
        result.append((slice(q_end, q_end + joint.nq), slice(v_end, v_end + joint.nv)))
        q_end, v_end = q_end + joint.nq, v_end + joint.nv
    return result


def evaluate(model: ModelDescription, q: Array, v: Array | None = None) -> list[LinkState]:
    """The links of the model, parents first, at configuration ``q`` and velocity ``v`` (at rest unless given)."""
    v = np.zeros(sizes(model)[1]) if v is None else v
    index = {"world": WORLD} | {link.name: i for i, link in enumerate(model.links)}
    states = []
    for link, joint, (at_q, at_v) in zip(model.links, model.joints, slices(model), strict=True):
        pose = joint.placement @ joints.motion(joint, q[at_q]) @ joint.child_placement
        to_link = motion_transform(inverse(joint.child_placement))
        body = link.inertia
        states.append(
            LinkState(
                parent=index[joint.parent],
                dofs=at_v,
                pose=pose,
                X=motion_transform(inverse(pose)),
                S=to_link @ joints.subspace(joint, q[at_q]),
                bias=to_link @ joints.bias(joint, q[at_q], v[at_v]),
                inertia=np.zeros((6, 6)) if body is None else spatial_inertia(body.mass, body.com, body.matrix),
                armature=np.zeros(joint.nv) if joint.armature is None else joint.armature,
                armature_bias=joints.armature_bias(joint, v[at_v]),
            )
        )
    return states


def path(links: list[LinkState], i: int) -> list[int]:
    """Link ``i`` and the links between it and the world, nearest first; none for the world."""
    result = []
    while i != WORLD:
        result.append(i)
        i = links[i].parent
    return result


def world_acceleration(model: ModelDescription) -> Array:
    """(6,) the world, accelerating against gravity: every link then feels gravity as if it were inertia."""
    return np.concatenate([-model.gravity, np.zeros(3)])


def neutral(model: ModelDescription) -> Array:
    """The configuration (nq,) with every joint motion at the identity."""
    return np.concatenate([joints.neutral(joint) for joint in model.joints] or [np.zeros(0)])


def integrate(model: ModelDescription, q: Array, dv: Array) -> Array:
    """The configuration (nq,) reached from ``q`` by holding the velocity ``dv`` for unit time."""
    moved = np.zeros_like(q)
    for joint, (at_q, at_v) in zip(model.joints, slices(model), strict=True):
        moved[at_q] = joints.integrate(joint, q[at_q], dv[at_v])
    return moved


def difference(model: ModelDescription, q0: Array, q1: Array) -> Array:
    """The velocity (nv,) that leads from ``q0`` to ``q1`` in unit time."""
    dv = np.zeros(sizes(model)[1])
    for joint, (at_q, at_v) in zip(model.joints, slices(model), strict=True):
        dv[at_v] = joints.difference(joint, q0[at_q], q1[at_q])
    return dv
