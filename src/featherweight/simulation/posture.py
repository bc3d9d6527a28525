"""How a robot starts, and what keeps it there: a posture to stand in, its lowest point, gains of servos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Array
from ..model.description import WORLD
from ..model.model import Model, ModelJoint
from ..records import Record
from ..scene.compiled import CompiledScene, CompiledShape

#: Angles [rad] in which the built-in robots stand, by the end of the joint's name; other joints are at zero.
STANDING = {
    "quadruped": {"thigh_joint": 0.7, "calf_joint": -1.4},
    "humanoid": {"thigh_joint": -0.3, "shin_joint": 0.6, "ankle_joint": -0.3, "forearm_joint": -0.4},
}

#: How fast servos respond [Hz]: with what the joint carries, and with the whole of a robot that stands on that limb.
OUTWARD, INWARD = 4.0, 1.5


def start_posture(model: Model) -> Array:
    """Coordinates (nq,): where its file says that it starts; standing for built-in robots that can stand; else zero, or
    mid-range where zero is outside the limits."""
    if any(joint.description.start is not None for joint in model.joints):
        return np.array(model.q0)
    angles = STANDING.get(model.name, {})
    q = model.neutral()
    for joint in model.joints:
        if joint.type in ("spherical", "free"):
            continue
        at = joint.q_slice
        q[at] = next((angle for end, angle in angles.items() if joint.name.endswith(end)), 0.0)
        low, up = joint.lower, joint.upper
        outside = (q[at] < low) | (q[at] > up)
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(low) & np.isfinite(up), 0.5 * (low + up), np.where(np.isfinite(low), low, up))
        q[at] = np.where(outside, middle, q[at])
    return q


@dataclass(frozen=True, eq=False)
class Base(Record):
    """What carries a robot: the joints between the world and its first link with mass, if nothing drives them.

    A free joint, or slides and hinges one after the other, as robots that move in a plane have them.
    """

    link: str  # the first with mass
    joints: tuple[ModelJoint, ...]
    height: int | None  # coordinate that lifts it; None: there is none


def bases(model: Model) -> list[Base]:
    """Of all trees whose base can travel without a motor, and which no loop ties to what cannot."""
    carried: dict[str, list[ModelJoint]] = {}
    tree = {WORLD: WORLD}  # the link at the root, by link
    for joint in (model.joint(each.name) for each in model.description.joints):
        carried.setdefault(joint.parent, []).append(joint)
        tree[joint.child] = joint.child if joint.parent == WORLD else tree[joint.parent]
    found = {}
    for root in carried.get(WORLD, []):
        joints = [root]
        while model.link(joints[-1].child).inertia is None and len(carried.get(joints[-1].child, ())) == 1:
            joints += carried[joints[-1].child]
        if any(_travels(model, joint) for joint in joints):
            moving = tuple(joint for joint in joints if joint.nv)
            found[root.child] = Base(joints[-1].child, moving, _height(model, moving))
    ties = [{tree[closure.link], tree[closure.to]} for closure in model.description.closures]
    while held := {root for tie in ties if not tie <= found.keys() for root in tie & found.keys()}:
        found = {root: base for root, base in found.items() if root not in held}
    return list(found.values())


def _travels(model: Model, joint: ModelJoint) -> bool:
    """Whether a joint lets a whole robot go anywhere: no motor, no limits, no spring."""
    if joint.type not in ("free", "planar", "prismatic"):
        return False
    driven = any(name == joint.name for actuator in model.description.actuators for name, _ in actuator.joints)
    return not (driven or np.isfinite([joint.lower, joint.upper]).any() or joint.stiffness.any())


def _height(model: Model, joints: Sequence[ModelJoint]) -> int | None:
    """The coordinate of a base along the vertical."""
    up = -np.asarray(model.gravity)
    up = up / np.linalg.norm(up) if up.any() else np.array([0.0, 0.0, 1.0])
    R = np.eye(3)
    for joint in joints:  # slides come before hinges
        R = R @ joint.description.placement[:3, :3]
        if joint.type == "free":
            return int(joint.q_slice.start) + 2
        if joint.type == "prismatic" and joint.axis is not None and (R @ joint.axis) @ up > 0.999:
            return int(joint.q_slice.start)
    return None


def free_roots(model: Model) -> list[ModelJoint]:
    """The joints by which whole trees move freely."""
    return [joint for joint in model.joints if joint.type == "free" and joint.parent == WORLD]


def lowest_point(scene: CompiledScene, q: Array) -> Array:
    """Height [m] of the lowest point of all shapes that move, () or (batch,); infinite if there are none."""
    placements = np.asarray(_core.forward_kinematics(scene.model, q))
    lowest = np.full(q.shape[:-1], math.inf)
    for shape in scene.shapes:
        if not shape.static:
            X = placements[..., shape.link, :, :] @ shape.placement
            lowest = np.minimum(lowest, X[..., 2, 3] - _reach_down(shape, X[..., 2, :3]))
    return lowest


def _reach_down(shape: CompiledShape, down: Array) -> Array:
    """How far the shape reaches below its centre, where ``down`` (..., 3) is the world's z in its axes."""
    if shape.vertices is not None:
        return np.asarray(-(down @ shape.vertices.T).min(axis=-1))
    size = np.array(shape.size)
    if shape.kind == "box":
        return np.asarray(np.abs(down) @ size)
    if shape.kind == "ellipsoid":
        return np.asarray(np.linalg.norm(down * size, axis=-1))
    if shape.kind == "sphere":
        return np.full(down.shape[:-1], size[0])
    radius, half = size
    along = np.abs(down[..., 2])
    across = 1.0 if shape.kind == "capsule" else np.sqrt(np.maximum(1.0 - along * along, 0.0))
    return np.asarray(half * along + radius * across)


def holding_gains(model: Model, q: Array) -> tuple[Array, Array]:
    """Stiffness and damping (nv,) of servos that keep the posture q, critically damped; see docs/simulator.md.

    A joint moves what it carries; in a robot that stands it moves the robot above its foot. The stiffer servo is taken.
    """
    H = np.asarray(_core.crba(model, q))
    outward = np.diag(H)
    inward = np.zeros(model.nv)
    for root in free_roots(model):
        whole = H[root.v_slice, root.v_slice]  # inertia of everything on this root, about its origin, in its axes
        for joint in model.joints:
            column = H[root.v_slice, joint.v_slice]
            if joint.nv == 1 and np.any(column):
                inward[joint.v_slice] = _inertia_of_the_rest(model, q, whole, root, joint)
    fast, slow = 2.0 * math.pi * OUTWARD, 2.0 * math.pi * INWARD
    kp = np.maximum(outward * fast**2, inward * slow**2)
    kd = np.maximum(2.0 * outward * fast, 2.0 * inward * slow)
    return kp, kd


def _inertia_of_the_rest(model: Model, q: Array, whole: Array, root: ModelJoint, joint: ModelJoint) -> float:
    """Inertia about the axis of ``joint`` of the whole robot, stiff: S^T I S with the axis seen from the root."""
    child = _core.jacobian(model, q, joint.child, reference="world")[:, joint.v_slice.start]
    X = np.asarray(_core.frame_placement(model, q, root.child))
    R, p = X[:3, :3], X[:3, 3]
    linear, angular = child[:3] + np.cross(child[3:], p), child[3:]
    S = np.concatenate([R.T @ linear, R.T @ angular])
    return float(S @ whole @ S)
