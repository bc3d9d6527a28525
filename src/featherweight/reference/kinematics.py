"""Where links and frames are, how they move, and the Jacobians that relate it to the joints.

Source: [RBDA] chapter 4. Every answer about a frame comes in one of three references: "local" is the frame itself,
"local_world_aligned" its origin with the world's axes, "world" the body point passing through the world's origin.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.spatial import inverse, motion_cross, motion_transform, pose
from featherweight.reference.tree import WORLD, evaluate, sizes

Reference = Literal["local", "world", "local_world_aligned"]


def find_frame(model: ModelDescription, frame: str) -> tuple[int, Array]:
    """(index of the link, pose in it) of a frame; links are frames too."""
    index = {"world": WORLD} | {link.name: i for i, link in enumerate(model.links)}
    if frame in index:
        return index[frame], np.eye(4)
    for candidate in model.frames:
        if candidate.name == frame:
            return index[candidate.link], candidate.placement
    raise ValueError(f"model '{model.name}' has no frame '{frame}'")


def forward_kinematics(model: ModelDescription, q: Array) -> Array:
    """Poses of all links in the world, (n_links, 4, 4)."""
    return _poses_and_world(model, q)[:-1]


def frame_placement(model: ModelDescription, q: Array, frame: str) -> Array:
    """Pose of a frame in the world, (4, 4)."""
    link, placement = find_frame(model, frame)
    X_WF: Array = _poses_and_world(model, q)[link] @ placement
    return X_WF


def jacobian(model: ModelDescription, q: Array, frame: str, reference: Reference = "local") -> Array:
    """The 6 x nv matrix J with frame velocity ``J v``."""
    link, placement = find_frame(model, frame)
    links = evaluate(model, q)
    J = np.zeros((6, sizes(model)[1]))
    to_frame = motion_transform(inverse(placement))  # from the coordinates of the current link to the frame's
    while link != WORLD:
        J[:, links[link].dofs] = to_frame @ links[link].S
        to_frame = to_frame @ links[link].X
        link = links[link].parent
    return _to_reference(model, q, frame, reference) @ J


def frame_velocity(model: ModelDescription, q: Array, v: Array, frame: str, reference: Reference = "local") -> Array:
    """Velocity of a frame, (6,)."""
    link, placement = find_frame(model, frame)
    velocity, _ = link_motion(model, q, v, np.zeros_like(v))
    to_reference = _to_reference(model, q, frame, reference) @ motion_transform(inverse(placement))
    result: Array = to_reference @ velocity[link]
    return result


def frame_acceleration(
    model: ModelDescription,
    q: Array,
    v: Array,
    a: Array,
    frame: str,
    reference: Reference = "local",
    classical: bool = False,
) -> Array:
    """Acceleration of a frame without gravity, (6,): spatial, or the classical one of its body point."""
    link, placement = find_frame(model, frame)
    velocity, acceleration = link_motion(model, q, v, a)
    to_reference = _to_reference(model, q, frame, reference) @ motion_transform(inverse(placement))
    result: Array = to_reference @ acceleration[link]
    if classical:  # a point's velocity also turns with the body that carries it
        twist = to_reference @ velocity[link]
        result[:3] += np.cross(twist[3:], twist[:3])
    return result


def link_motion(model: ModelDescription, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """Spatial velocity and acceleration of every link, in its own coordinates, (n_links + 1, 6); the world is last."""
    velocity, acceleration = np.zeros((2, len(model.links) + 1, 6))
    for i, link in enumerate(evaluate(model, q, v)):
        joint_velocity = link.S @ v[link.dofs]
        velocity[i] = link.X @ velocity[link.parent] + joint_velocity
        acceleration[i] = link.X @ acceleration[link.parent] + link.S @ a[link.dofs]
        acceleration[i] += link.bias + motion_cross(velocity[i]) @ joint_velocity
    return velocity, acceleration


def _poses_and_world(model: ModelDescription, q: Array) -> Array:
    poses = np.tile(np.eye(4), (len(model.links) + 1, 1, 1))
    for i, link in enumerate(evaluate(model, q)):
        poses[i] = poses[link.parent] @ link.pose
    return poses


def _to_reference(model: ModelDescription, q: Array, frame: str, reference: Reference) -> Array:
    """(6, 6) from the coordinates of the frame to those of the reference."""
    X_WF = frame_placement(model, q, frame)
    match reference:
        case "local":
            return np.eye(6)
        case "world":
            return motion_transform(X_WF)
        case "local_world_aligned":
            return motion_transform(pose(X_WF[:3, :3]))
