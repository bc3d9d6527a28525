"""Descriptions that could not be simulated as they are, and the documented reading that makes them so.

What is done keeps the motion of everything else exact: see docs/importing.md and ADR 21.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ..arrays import Array
from ..model.description import WORLD, Geometry, ImportNote, Inertia, Joint, Link, ModelDescription, Severity
from ..model.rigid_bodies import RigidBodies, moving_links, sum_of
from ..model.solids import INERTIA_TOLERANCE, nearest_physical, nonphysical, solid_inertia

#: Rotor inertia of a joint that moves nothing: about an axis [kg m^2], along one [kg]. Small beside a robot's links and
#: large beside rounding; the rest of the robot does not feel it.
ROTOR_ANGLE, ROTOR_TRAVEL = 1e-3, 0.1

#: Moments that differ by this radius of gyration squared [m^2] are the same: it is rounding of numbers in a file.
_NEGLIGIBLE = 1e-12

#: How the builder's note about an impossible inertia starts.
KEPT = "kept unchanged, though "

_A, _T = ROTOR_ANGLE, ROTOR_TRAVEL
_ROTORS: dict[str, tuple[float, ...]] = {
    "revolute": (_A,),
    "continuous": (_A,),
    "helical": (_A,),
    "prismatic": (_T,),
    "universal": (_A, _A),
    "planar": (_T, _T, _A),
    "spherical": (_A, _A, _A),
    "free": (_T, _T, _T, _A, _A, _A),
}

Lines = Callable[[str], int | None]  # of an element such as "joint 'knee'"


def carry_massless(description: ModelDescription, line: Lines) -> ModelDescription:
    """Rotor inertias for the joints that move no mass at all."""
    parents = {joint.child: joint.parent for joint in description.joints}
    loaded = {WORLD}  # links that have mass or carry some
    for link in description.links:
        name = link.name
        while link.inertia is not None and name not in loaded:
            loaded.add(name)
            name = parents[name]
    idle = [j.name for j in description.joints if j.nv and j.child not in loaded and not _has_rotor(j)]
    moving = moving_links(description)
    weighs = any(link.inertia is not None and link.name in moving for link in description.links)
    severity = Severity.NOTHING if weighs else Severity.MOTION
    alone = "" if weighs else ", and nothing else in the robot has any"
    return _carry(description, idle, f"moves no mass{alone}", line, severity)


def carry_point_mass(description: ModelDescription, name: str, line: int | None) -> ModelDescription | None:
    """A rotor inertia for a joint that moves mass, but none that resists it: points on its axis, or a base whose joints
    have its freedom already. A free joint gets it for rotations first. None if the joint has one."""
    joint = next(joint for joint in description.joints if joint.name == name)
    if _has_rotor(joint):
        return None
    severity = Severity.NOTHING if joint.nv == 1 else Severity.MOTION
    first = joint.armature is None or not joint.armature.any()
    return _carry(description, [name], "moves nothing that resists it", lambda _: line, severity, turns_only=first)


def _carry(
    description: ModelDescription,
    names: Iterable[str],
    why: str,
    line: Lines,
    severity: Severity,
    *,
    turns_only: bool = False,
) -> ModelDescription:
    joints = {joint.name: joint for joint in description.joints}
    notes = []
    for name in names:
        joint = joints[name]
        rotor = np.array(_ROTORS[joint.type])
        if turns_only and joint.type in ("free", "planar"):
            rotor[rotor == ROTOR_TRAVEL] = 0.0  # what it carries has mass
        armature = rotor if joint.armature is None else np.maximum(joint.armature, rotor)
        joints[name] = replace(joint, armature=armature)
        values = ", ".join(f"{value:g}" for value in dict.fromkeys(rotor.tolist()) if value)
        message = f"{why}: it gets a rotor inertia (armature) of {values}, which nothing else feels"
        element = f"joint {name!r}"
        notes.append(ImportNote(element, line(element), message, severity))
    return replace(description, joints=tuple(joints.values()), notes=(*description.notes, *notes))


def _has_rotor(joint: Joint) -> bool:
    return joint.armature is not None and bool((joint.armature > 0.0).all())


def start_within_limits(description: ModelDescription, line: Lines) -> ModelDescription:
    """Joints that nobody starts elsewhere start at zero, or at the limit nearest to it; followers where their leader
    puts them."""
    start: dict[str, float] = {}
    notes: list[ImportNote] = []
    for joint in description.joints:
        if joint.nv == 1 and joint.nq == 1:
            lower = -np.inf if joint.lower is None else float(joint.lower[0])
            upper = np.inf if joint.upper is None else float(joint.upper[0])
            given = None if joint.start is None else float(joint.start[0])
            start[joint.name] = min(max(0.0, lower), upper) if given is None else given
    followers = [joint for joint in description.joints if joint.mimic is not None and joint.start is None]
    for _ in followers:  # leaders may follow others
        new = {j.name: j.mimic.multiplier * start[j.mimic.joint] + j.mimic.offset for j in followers if j.mimic}
        if all(start[name] == value for name, value in new.items()) or not np.isfinite([*new.values()]).all():
            break
        start |= new
    joints = []
    for joint in description.joints:
        if joint.start is None and start.get(joint.name, 0.0) != 0.0:
            element = f"joint {joint.name!r}"
            why = "zero is beyond its limits" if joint.mimic is None else f"it follows {joint.mimic.joint!r}"
            message = f"starts at {start[joint.name]:g}: {why}"
            notes.append(ImportNote(element, line(element), message, Severity.NOTHING))
            joint = replace(joint, start=np.array([start[joint.name]]))
        joints.append(joint)
    return replace(description, joints=tuple(joints), notes=(*description.notes, *notes))


def ground_planes(description: ModelDescription, line: Lines) -> ModelDescription:
    """Planes and height fields have no bounds and no mass: on links that move they touch nothing."""
    moving = moving_links(description)
    notes: list[ImportNote] = []

    def kept(link: Link) -> Link:
        endless = [g for g in link.geometries if g.role == "collision" and g.shape in ("plane", "heightfield")]
        if link.name not in moving or not endless:
            return link
        what = f"link {link.name!r}"
        for each in endless:
            message = f"its {each.shape} {each.name!r} would move: left out"
            notes.append(ImportNote(what, line(what), message, Severity.MOTION))
        return replace(link, geometries=tuple(g for g in link.geometries if g not in endless))

    links = tuple(kept(link) for link in description.links)
    return replace(description, links=links, notes=(*description.notes, *notes)) if notes else description


def settle_inertias(description: ModelDescription) -> ModelDescription:
    """Judge the inertias that no rigid body has, which the model's builder kept and noted, by what they do.

    Those of links that never move, or whose body as a whole (links that fixed joints make one) has an inertia that a
    body can have, do nothing. Those that only rounding makes impossible, and those with a negative principal moment,
    with which nothing could be computed, become the nearest ones that a body can have. The others are kept.
    """
    kept = {note.element: note for note in description.notes if note.message.startswith(KEPT)}
    if not kept:
        return description
    links, notes = [], dict.fromkeys(description.notes)
    moving, bodies = moving_links(description), RigidBodies(description)
    for link in description.links:
        note = kept.get(f"link {link.name!r}")
        if note is None or link.inertia is None:
            links.append(link)
            continue
        moments, message, severity = _settled(link.inertia, note.message, link.name in moving, bodies.whole(link.name))
        links.append(replace(link, inertia=replace(link.inertia, matrix=moments)))
        notes = {(replace(note, message=message, severity=severity) if each is note else each): None for each in notes}
    return replace(description, links=tuple(links), notes=tuple(notes))


def _settled(inertia: Inertia, message: str, moves: bool, whole: Inertia) -> tuple[Array, str, Severity]:
    moments, problem = inertia.matrix, message.removeprefix(KEPT)
    if not moves:
        return moments, f"{message}; it never moves", Severity.NOTHING
    if np.isfinite(whole.matrix).all() and nonphysical(whole.mass, whole.matrix) is None:
        return moments, f"{message}; with all that is fixed to it, it is a body", Severity.NOTHING
    nearest = nearest_physical(moments)
    if not np.isfinite(nearest).all():
        return moments, message, Severity.MOTION
    if float(np.abs(nearest - moments).max()) <= _NEGLIGIBLE * inertia.mass:
        return nearest, f"{problem}, by rounding only: the nearest one is taken", Severity.NOTHING
    if np.linalg.eigvalsh(moments)[0] < -INERTIA_TOLERANCE * float(np.abs(moments).max()):
        return nearest, f"{problem}: the nearest one that a body can have is taken", Severity.MOTION
    return moments, message, Severity.MOTION


def inertia_of_shapes(geometries: Iterable[Geometry], density: float) -> tuple[Inertia, list[Geometry]]:
    """Inertia of the collision shapes filled with ``density`` [kg/m^3], and those whose volume is not known here."""
    parts, left_out = [], []
    for shape in geometries:
        if shape.role != "collision":
            continue
        volume = _volume(shape)
        if volume is None:
            left_out.append(shape)
        else:
            parts.append(solid_inertia(cast(Any, shape.shape), shape.size, density * volume, shape.placement))
    return sum_of(parts), left_out


def _volume(shape: Geometry) -> float | None:
    size = shape.size
    match shape.shape:
        case "box":
            return math.prod(size)
        case "sphere":
            return 4.0 / 3.0 * math.pi * size[0] ** 3
        case "ellipsoid":
            return 4.0 / 3.0 * math.pi * math.prod(size)
        case "cylinder":
            return math.pi * size[0] ** 2 * size[1]
        case "capsule":
            return math.pi * size[0] ** 2 * (size[1] + 4.0 / 3.0 * size[0])
    return None
