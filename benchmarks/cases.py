"""Robots anchored in the world: the cases on which constrained dynamics is timed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

import featherweight as fw
from benchmarks.robots import Robot
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import Constraint

#: Case -> robot and the frames that are anchored, with 6 rows each, or 3 where only the point is.
ANCHORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Talos 2x6D": ("Talos", ("left_sole_link", "right_sole_link")),
    "Talos 4x6D": ("Talos", ("left_sole_link", "right_sole_link", "arm_left_7_link", "arm_right_7_link")),
    "Solo12 4x3D": ("Solo12", ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")),
    "ANYmal 4x3D": ("ANYmal", ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")),
    "Panda 6D": ("Panda", ("panda_hand",)),
    "Go2 4x3D": ("Go2", ("FL_foot", "FR_foot", "RL_foot", "RR_foot")),
    "G1 2x6D": ("G1", ("left_ankle_roll_link", "right_ankle_roll_link")),
    "humanoid 2x6D": ("humanoid", ("left_sole", "right_sole")),
    "quadruped 4x3D": ("quadruped", ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")),
    "arm 6D": ("arm", ("flange",)),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A robot and its anchors."""

    name: str
    robot: Robot
    constraints: tuple[Constraint, ...]


def load_cases(robots: Iterable[Robot]) -> Iterator[Case]:
    """The cases of those robots that have any."""
    field = {robot.name: robot for robot in robots}
    for name, (robot, frames) in ANCHORS.items():
        if robot in field:
            anchor = fw.FrameConstraint if name.endswith("6D") else fw.PointConstraint
            yield Case(name, field[robot], tuple(anchor(frame) for frame in frames))


def mount(model: fw.Model, frame: str) -> tuple[str, Array]:
    """The moving joint that carries a link or frame, and the pose in that joint's frame."""
    frames = {f.name: (f.link, f.placement) for f in model.description.frames}
    joints = {joint.child: joint for joint in model.description.joints}
    link, pose = frames.get(frame, (frame, np.eye(4)))
    while joints[link].type == "fixed":
        pose = joints[link].placement @ joints[link].child_placement @ pose
        link = joints[link].parent
    return joints[link].name, joints[link].child_placement @ pose
