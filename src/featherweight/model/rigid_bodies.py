"""Links that fixed joints make one body, and which of them move."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .description import WORLD, Inertia, ModelDescription


class RigidBodies:
    """Inertias of the bodies that fixed joints make of links."""

    def __init__(self, description: ModelDescription) -> None:
        self._first: dict[str, str] = {}  # link -> first link of its body
        self._parts: dict[str, list[Inertia]] = {}  # first link -> inertias in its coordinates
        X: dict[str, Array] = {}  # pose of a link in the first one of its body
        for joint, link in zip(description.joints, description.links, strict=True):  # parents come first
            fixed = joint.nv == 0 and joint.parent != WORLD
            first = self._first[joint.parent] if fixed else link.name
            X[link.name] = X[joint.parent] @ joint.placement @ joint.child_placement if fixed else np.eye(4)
            self._first[link.name] = first
            if link.inertia is not None:
                self._parts.setdefault(first, []).append(_moved(link.inertia, X[link.name]))

    def first(self, link: str) -> str:
        """The first link of its body."""
        return self._first[link]

    def whole(self, link: str) -> Inertia:
        """Of all links of its body, in the coordinates of the first."""
        return sum_of(self._parts[self._first[link]])


def moving_links(description: ModelDescription) -> set[str]:
    """Links that some joint can move."""
    moving: set[str] = set()
    for joint in description.joints:  # parents come first
        if joint.nv or joint.parent in moving:
            moving.add(joint.child)
    return moving


def _moved(inertia: Inertia, X: Array) -> Inertia:
    R = X[:3, :3]
    return Inertia(inertia.mass, R @ inertia.com + X[:3, 3], R @ inertia.matrix @ R.T)


def sum_of(parts: list[Inertia]) -> Inertia:
    """The inertia of bodies that move as one."""
    mass = sum(part.mass for part in parts)
    first = sum((part.mass * part.com for part in parts), np.zeros(3))
    com = np.asarray(first / mass) if mass > 0.0 else first
    matrix = np.zeros((3, 3))
    for part in parts:
        arm = part.com - com
        matrix += part.matrix + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Inertia(mass, com, 0.5 * (matrix + matrix.T))
