"""Postures that an SRDF file beside a URDF gives its robot: few stand in the one that the URDF itself has."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

import featherweight as fw
from featherweight.arrays import Array

ROOT = "root_joint"  # what SRDF files call the joint of the base to the world


def find(urdf: Path) -> Path | None:
    """The file in the folder ``srdf`` of the same package whose name agrees with the longest part of the robot's."""
    found = [path for path in (urdf.parent.parent / "srdf").glob("*.srdf") if urdf.stem.startswith(path.stem)]
    return max(found, key=lambda path: len(path.stem), default=None)


def posture(urdf: Path) -> dict[str, list[float]] | None:
    """Values by the name of the joint, of the first posture; None without one."""
    file = find(urdf)
    group = None if file is None else ET.parse(file).getroot().find("group_state")
    if group is None:
        return None
    return {joint.attrib["name"]: [float(x) for x in joint.attrib["value"].split()] for joint in group.iter("joint")}


def configuration(model: fw.Model, values: dict[str, list[float]]) -> Array:
    """The posture as coordinates; where the file's values are not of the joint, it stays where it starts."""
    q = np.array(model.q0)
    for joint in model.joints:
        given = values.get(joint.name, [])
        if joint.type == "continuous" and len(given) == 2:  # a cosine and a sine
            given = [float(np.arctan2(given[1], given[0]))]
        if len(given) == joint.nq:
            q[joint.q_slice] = given
    return q
