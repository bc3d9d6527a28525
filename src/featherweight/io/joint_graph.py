"""A tree from joints in any direction, with loops.

Links may hang together by joints that form loops, and joints may lead from the far link to the near one. A tree grows
from the roots, joint by joint; of those that lead to a new link, the next is one that would lose most as a closure (see
:meth:`GraphJoint.rank`), leads away from the tree in the file, is nearest to the root, and comes first in the file, in
this order. One that leads the other way is turned around. Joints that are left close loops: a loop is cut at a ball
joint if it has one, then at a hinge or slide without limits, spring, damping and friction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.description import WORLD, JointType


@dataclass(frozen=True)
class GraphJoint:
    """A joint between two links: its type, where it is in each of them, axes in its frame, and all else it has."""

    name: str
    type: JointType
    parent: str
    child: str
    placement: Array  # of the joint frame in the parent
    child_placement: Array  # of the child in the joint frame
    axis: Array | None = None
    axis2: Array | None = None
    pitch: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)

    def turned(self) -> GraphJoint:
        """The same joint from the child to the parent: X_PC = P M(q) C, so that X_CP = C^-1 M(q)^-1 P^-1."""
        axis = None if self.axis is None else -self.axis
        axis2 = None if self.axis2 is None else -self.axis2
        options = self.options
        if self.type == "universal":
            axis, axis2 = axis2, axis
            options = {key: value[::-1] for key, value in options.items() if key != "mimic"}
        return replace(
            self,
            parent=self.child,
            child=self.parent,
            placement=poses.inverse(self.child_placement),
            child_placement=poses.inverse(self.placement),
            axis=axis,
            axis2=axis2,
            options=options,
        )

    def rank(self) -> int:
        """How little it loses as a closure: 0 for what acts or cannot be one exactly, 2 for a bare ball joint."""
        acts = any(acts_on_motion(key, value) for key, value in self.options.items())
        if acts or self.type in ("fixed", "helical", "universal"):
            return 0
        return 2 if self.type == "spherical" else 1

    def closure(self) -> tuple[tuple[str, ...], Array, Array, bool]:
        """Rows that hold its links together, the frames in child and parent they act on, and whether that is all."""
        turn = np.eye(4)
        if self.axis is not None:
            turn[:3, :3] = poses.rotation_taking_z_to(self.axis)
        X_child = poses.inverse(self.child_placement) @ turn
        rows, exact = _CLOSURES.get(self.type, (("x", "y", "z"), False))
        return rows, X_child, self.placement @ turn, exact


_CLOSURES: dict[str, tuple[tuple[str, ...], bool]] = {
    "fixed": (("x", "y", "z", "rx", "ry", "rz"), True),
    "spherical": (("x", "y", "z"), True),
    "revolute": (("x", "y", "z", "rx", "ry"), True),
    "continuous": (("x", "y", "z", "rx", "ry"), True),
    "prismatic": (("x", "y", "rx", "ry", "rz"), True),
    "helical": (("x", "y", "rx", "ry"), False),
    "universal": (("x", "y", "z"), False),
}


@dataclass
class JointTree:
    """Joints of the tree, each child once; joints that close loops; links that nothing carries."""

    carrying: list[GraphJoint] = field(default_factory=list)
    turned: list[str] = field(default_factory=list)  # names of those that lead the other way in the file
    closing: list[GraphJoint] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)


def acts_on_motion(option: str, value: Any) -> bool:
    """Whether an option of a joint does anything to a motion without drives."""
    if option in ("lower", "upper"):
        return bool(np.isfinite(value).any())
    if option == "mimic":
        return value is not None
    return option in ("damping", "friction", "stiffness", "armature") and bool(np.any(value))


def grow(links: Iterable[str], joints: Iterable[GraphJoint], preferred: Iterable[str] = ()) -> JointTree:
    """The tree of ``links``; ``preferred``: those that are roots where there is a choice."""
    all_joints, links, preferred = list(joints), list(links), list(preferred)
    at: dict[str, list[int]] = {}
    for number, joint in enumerate(all_joints):
        at.setdefault(joint.parent, []).append(number)
        at.setdefault(joint.child, []).append(number)
    children = {joint.child for joint in all_joints}
    no_parent = [link for link in (*preferred, *links) if link not in children]
    tree, used = JointTree(), set()
    reached = {WORLD: 0}  # with how far it is from its root
    waiting: list[tuple[int, bool, int, int]] = []  # rank, backwards, generation, number

    def reach(link: str, generation: int) -> None:
        reached[link] = generation
        for number in at.get(link, ()):
            backwards = all_joints[number].child == link
            heappush(waiting, (all_joints[number].rank(), backwards, generation, number))

    for root in (WORLD, *no_parent, *preferred, *links):
        if root != WORLD and root in reached:
            continue
        if root != WORLD:
            tree.roots.append(root)
        reach(root, 0)
        while waiting:
            _, backwards, generation, number = heappop(waiting)
            joint = all_joints[number].turned() if backwards else all_joints[number]
            if joint.child in reached or number in used:
                continue
            used.add(number)
            tree.carrying.append(joint)
            if backwards:
                tree.turned.append(joint.name)
            reach(joint.child, generation + 1)
    tree.closing = [joint for number, joint in enumerate(all_joints) if number not in used]
    return tree
