"""Inertias as MuJoCo takes them: of bodies that have mass, positive moments, and none above the sum of the others."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.description import Inertia, ModelDescription
from ..model.rigid_bodies import RigidBodies, moving_links
from ..model.solids import nearest_physical, nonphysical
from .writing import MjcfText, text_of

LIGHT = 1e-14  # [kg], [kg m^2]: MuJoCo moves no body without mass
_CLEAR = 1e-12  # [1] of the largest moment: what MuJoCo computes anew is off by less


def inertias_to_write(text: MjcfText, description: ModelDescription) -> dict[str, Inertia | None]:
    """By link. Where one has an inertia that no body has, the first link of its body is given that of them all. If no
    body has that either, the nearest one that a body can have is written, and the link is named if it moves."""
    bodies, moving = RigidBodies(description), moving_links(description)
    written = {link.name: link.inertia for link in description.links}
    odd = {name: inertia for name, inertia in written.items() if inertia is not None and _problem(inertia)}
    shares: dict[str, set[float]] = {}
    for link in description.links:
        shares.setdefault(bodies.first(link.name), set()).add(link.gravity_compensation)
    for name, inertia in odd.items():
        first = bodies.first(name)
        whole = bodies.whole(name)
        if len(shares[first]) == 1 and not _problem(whole):
            written |= {each: whole if each == first else None for each in written if bodies.first(each) == first}
        elif inertia.mass > 0.0:
            written[name] = Inertia(inertia.mass, inertia.com, nearest_physical(inertia.matrix))
            if name in moving:
                text.leave_out(f"link {name!r}: an inertia that no body has")
    return written


def _problem(inertia: Inertia) -> str | None:
    return nonphysical(inertia.mass, inertia.matrix)


def inertial(inertia: Inertia | None) -> Element:
    """MuJoCo moves no body without mass, or without inertia about some axis."""
    if inertia is None:
        return Element("inertial", mass=repr(LIGHT), pos="0 0 0", diaginertia=text_of((LIGHT,) * 3))
    options = {"mass": repr(max(float(inertia.mass), LIGHT)), "pos": text_of(inertia.com)}
    return Element("inertial", {**options, **_moments(inertia.matrix)})


def _moments(matrix: Array) -> dict[str, str]:
    """As the matrix has them, or about principal axes where MuJoCo would find them not quite a body's."""
    values, axes = np.linalg.eigh(matrix)
    lacking = values[2] - values[0] - values[1]
    if values[0] > 10.0 * LIGHT and lacking <= -_CLEAR * values[2]:
        entries = matrix[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        return {"fullinertia": text_of(entries)} if np.any(entries[3:]) else {"diaginertia": text_of(entries[:3])}
    values = np.maximum(values, LIGHT)
    values[2] = min(values[2], values[0] + values[1])
    turn = np.eye(4)
    turn[:3, :3] = axes * np.sign(np.linalg.det(axes))
    x, y, z, w = poses.quaternion_from_rotation(turn[:3, :3])
    return {"diaginertia": text_of(values), "quat": text_of((w, x, y, z))}
