"""Loops that Gazebo closes in a URDF file, by SDF joints inside ``<gazebo>``: closures between links of the tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..arrays import Array
from ..errors import ModelImportError
from ..model.description import WORLD, Closure, ModelDescription
from .joint_graph import acts_on_motion
from .meshes import MeshFinder
from .reader import MOTION, NOTHING, Reader
from .sdf_frames import Placed, Scope
from .sdf_joints import JointReader
from .sdf_reader import SdfReader
from .xml import Element

#: What the text inside <gazebo> becomes a part of.
_VERSION = (1, 7)


def closures(reader: Reader, description: ModelDescription, joints: Iterable[Element]) -> Iterator[Closure]:
    """Closures of the SDF ``joints``; those that cannot be read are left out and noted."""
    at = at_zero(description)
    for joint in joints:
        what = joint.label()
        try:
            yield from _closure(reader, joint, at)
        except ModelImportError as error:
            joint.settle()
            reader.note(joint, what, f"left out: {error.element}: {error.problem}", MOTION)


def _closure(reader: Reader, joint: Element, at: dict[str, Array]) -> Iterator[Closure]:
    inner = SdfReader(reader.path, MeshFinder(None), _VERSION)
    inner.notes = reader.notes
    name = inner.attribute(joint, "name")
    world = Scope(inner, joint, WORLD, None, np.eye(4))
    scope = Scope(inner, joint, "robot", world, np.eye(4))
    scope.frames = {link: Placed(joint, "link", X, "", "") for link, X in at.items()}
    X, relative_to = inner.pose(joint)
    child = inner.text(joint, "child")
    scope.frames[name] = Placed(joint, "joint", X, relative_to or child, child)
    edge = JointReader(scope, joint, name, at).read()
    if edge is None:
        return
    rows, X_child, X_parent, exact = edge.closure()
    lost = [key for key, value in edge.options.items() if acts_on_motion(key, value)]
    message = "closes a loop: a closure, which acts in scenes"
    if lost or not exact:
        message += f"; its {', '.join(lost) or 'rotation'} is left out"
    reader.note(joint, f"joint {name!r}", message, NOTHING if exact and not lost else MOTION)
    yield Closure(name, edge.child, edge.parent, X_child, X_parent, rows)


def at_zero(description: ModelDescription) -> dict[str, Array]:
    """Poses of links where no joint has moved."""
    at: dict[str, Array] = {WORLD: np.eye(4)}
    for joint in description.joints:  # parents come first
        at[joint.child] = at[joint.parent] @ joint.placement @ joint.child_placement
    return {name: X for name, X in at.items() if name != WORLD}
