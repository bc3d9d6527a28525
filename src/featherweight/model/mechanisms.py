"""Mechanisms with closed loops that come with the package. Each call builds a new model, assembled where it starts.

Lengths in metres, masses in kilograms, angles in radians; x is forward, y left, z up. Loops are cut at a hinge or a
ball; the model's closures hold them together in every scene, with as few rows as the mechanism can move along.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .builder import ModelBuilder
from .model import Model
from .palette import BLUE, DARK, GREY, ORANGE
from .poses import pose

#: Rows of a hinge about y in a mechanism that moves in the plane of x and z.
_IN_PLANE = ("x", "z")


def _rising(vector: Array) -> float:
    """Angle about y that takes x to ``vector``, (x, z)."""
    return -math.atan2(vector[1], vector[0])


def _meeting(a: Array, b: Array, from_a: float, from_b: float) -> Array:
    """Where circles about a and b meet, on the left of the way from a to b; (x, z)."""
    span = float(np.hypot(*(b - a)))
    along = (from_a**2 - from_b**2 + span**2) / (2.0 * span)
    direction = (b - a) / span
    return np.asarray(a + along * direction + math.sqrt(from_a**2 - along**2) * np.array([-direction[1], direction[0]]))


def _bar(builder: ModelBuilder, name: str, length: float, mass: float, *, radius: float = 0.01) -> None:
    """A rod along x from the origin of its link."""
    lying = pose((0.5 * length, 0.0, 0.0), rpy=(0.0, 0.5 * math.pi, 0.0))
    builder.solid(name, "capsule", (radius, length), mass=mass, placement=lying, rgba=BLUE)


def _apart(builder: ModelBuilder, links: Sequence[str]) -> None:
    """Bars of a real mechanism pass beside each other."""
    for k, link in enumerate(links):
        for other in links[:k]:
            builder.exclude(other, link)


def four_bar(*, closed: bool = True) -> Model:
    """A crank-rocker: a loop of a ground bar along x, a crank, a coupler and a rocker, all hinges about y.

    Open, it is a tree that closes when the frames "coupler_end" and "rocker_end" meet; they do at q = 0.

    >>> model = fw.models.four_bar()
    >>> int(fw.mobility(model, model.neutral(), fw.constraints_of(model)).dof)
    1
    """
    ground, crank, coupler, rocker = 0.4, 0.1, 0.35, 0.25
    # At q = 0 the crank stands upright; its end and the far pivot fix the triangle of coupler and rocker.
    crank_end, pivot = np.array([0.0, crank]), np.array([ground, 0.0])
    meeting = _meeting(crank_end, pivot, coupler, rocker)
    builder = ModelBuilder("four_bar")
    builder.solid("ground", "box", (ground, 0.02, 0.02), mass=1.0, placement=(0.5 * ground, 0.0, 0.0), rgba=GREY)
    for name, length, mass in (("crank", crank, 0.1), ("coupler", coupler, 0.3), ("rocker", rocker, 0.2)):
        _bar(builder, name, length, mass)
    angle = _rising(crank_end)
    at_crank_end = pose((crank, 0.0, 0.0), rpy=(0.0, _rising(meeting - crank_end) - angle, 0.0))
    at_pivot = pose((ground, 0.0, 0.0), rpy=(0.0, _rising(meeting - pivot), 0.0))
    builder.joint("crank_hinge", "continuous", "ground", "crank", placement=pose(rpy=(0.0, angle, 0.0)), axis="y")
    builder.joint("coupler_hinge", "continuous", "crank", "coupler", placement=at_crank_end, axis="y")
    builder.joint("rocker_hinge", "continuous", "ground", "rocker", placement=at_pivot, axis="y")
    for link, other in (("coupler", "rocker"), ("coupler", "ground"), ("crank", "rocker")):
        builder.exclude(link, other)
    builder.frame("coupler_end", "coupler", (coupler, 0.0, 0.0))
    builder.frame("rocker_end", "rocker", (rocker, 0.0, 0.0))
    if closed:
        ends: dict[str, Any] = {"placement": (coupler, 0.0, 0.0), "to_placement": (rocker, 0.0, 0.0)}
        builder.close("loop", "coupler", "rocker", rows=_IN_PLANE, **ends)
    return builder.build()


def n_four_bar(n: int = 2) -> Model:
    """``n`` four-bars in a row: ``n + 1`` upright cranks on pivots one metre apart, joined by ``n`` couplers.

    All rods are thin, 1 m and 1 kg; hinges turn about y. With the cranks at the angle th from upright and the couplers
    level, J th'' = G sin th with J = (n + 1) / 3 + n and G = ((n + 1) / 2 + n) g. Where the
    cranks lie along the ground all bars are in line, and the mobility jumps from 1 to n + 1.

    >>> model = fw.models.n_four_bar(3)
    >>> model.nv, int(fw.mobility(model, model.neutral(), fw.constraints_of(model)).dof)
    (7, 1)
    """
    if n < 1:
        raise ValueError(f"n must be positive, got {n}")
    builder = ModelBuilder(f"{n}_four_bar")
    cranks, couplers = [f"crank_{i}" for i in range(n + 1)], [f"coupler_{i}" for i in range(1, n + 1)]
    for i, crank in enumerate(cranks):
        builder.link(crank, mass=1.0, com=(0.0, 0.0, 0.5), inertia=(1 / 12, 1 / 12, 0.0))
        builder.joint(f"{crank}_hinge", "continuous", "world", crank, placement=(float(i), 0.0, 0.0), axis="y")
    for i, coupler in enumerate(couplers, start=1):
        builder.link(coupler, mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.0, 1 / 12, 1 / 12))
        at = (0.0, 0.0, 1.0)
        builder.joint(f"{coupler}_hinge", "continuous", cranks[i - 1], coupler, placement=at, axis="y")
        builder.close(f"loop_{i}", coupler, cranks[i], placement=(1.0, 0.0, 0.0), to_placement=at, rows=_IN_PLANE)
    return builder.build()


def slider_crank() -> Model:
    """A crank that drives a slider along x through a rod. At q = 0 the crank is upright.

    >>> model = fw.models.slider_crank()
    >>> int(fw.mobility(model, model.neutral(), fw.constraints_of(model)).dof)
    1
    """
    crank, rod = 0.1, 0.3
    reach = math.sqrt(rod**2 - crank**2)
    builder = ModelBuilder("slider_crank")
    _bar(builder, "crank", crank, 0.2)
    _bar(builder, "rod", rod, 0.3)
    builder.solid("slider", "box", (0.06, 0.04, 0.04), mass=0.5, rgba=ORANGE)
    upright = _rising(np.array([0.0, crank]))
    down = _rising(np.array([reach, -crank])) - upright
    builder.joint("crank_hinge", "continuous", "world", "crank", placement=pose(rpy=(0.0, upright, 0.0)), axis="y")
    at_end = pose((crank, 0.0, 0.0), rpy=(0.0, down, 0.0))
    builder.joint("rod_hinge", "continuous", "crank", "rod", placement=at_end, axis="y")
    builder.joint("rail", "prismatic", "world", "slider", placement=(reach, 0.0, 0.0), axis="x")
    builder.close("pin", "rod", "slider", placement=(rod, 0.0, 0.0), rows=_IN_PLANE)
    _apart(builder, ("crank", "rod", "slider"))
    return builder.build()


def five_bar() -> Model:
    """Two driven cranks, half a metre apart, whose rods meet: the frame "tip" moves in the plane of x and z.

    >>> model = fw.models.five_bar()
    >>> int(fw.mobility(model, model.neutral(), fw.constraints_of(model)).dof)
    2
    """
    apart, crank, rod = 0.5, 0.25, 0.35
    left, right = np.array([0.0, crank]), np.array([apart, crank])
    meeting = _meeting(left, right, rod, rod)
    builder = ModelBuilder("five_bar")
    for side, x, end in (("left", 0.0, left), ("right", apart, right)):
        _bar(builder, f"{side}_crank", crank, 0.2)
        _bar(builder, f"{side}_rod", rod, 0.2)
        upright = _rising(np.array([0.0, 1.0]))
        at = pose((x, 0.0, 0.0), rpy=(0.0, upright, 0.0))
        at_end = pose((crank, 0.0, 0.0), rpy=(0.0, _rising(meeting - end) - upright, 0.0))
        builder.joint(f"{side}_crank_hinge", "revolute", "world", f"{side}_crank", placement=at, axis="y")
        builder.joint(f"{side}_rod_hinge", "continuous", f"{side}_crank", f"{side}_rod", placement=at_end, axis="y")
        builder.actuator(f"{side}_motor", f"{side}_crank_hinge", "position", kp=20.0, kd=1.0)
    at_tip = (rod, 0.0, 0.0)
    builder.close("tip_pin", "left_rod", "right_rod", placement=at_tip, to_placement=at_tip, rows=_IN_PLANE)
    builder.frame("tip", "left_rod", at_tip)
    _apart(builder, ("left_crank", "left_rod", "right_crank", "right_rod"))
    return builder.build()


def stewart() -> Model:
    """A platform of six degrees of freedom on six legs, each a universal joint, a driven slide and a ball.

    Servos "leg_1" to "leg_6" hold the lengths of the legs; at control zero the platform is level, 0.5 m up.

    >>> model = fw.models.stewart()
    >>> int(fw.mobility(model, model.neutral(), fw.constraints_of(model)).dof)
    6
    """
    height, below, above = 0.5, 0.4, 0.25
    builder = ModelBuilder("stewart")
    builder.solid("platform", "cylinder", (0.28, 0.03), mass=4.0, rgba=GREY)
    builder.joint("platform", "free", "world", "platform", start=(0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0))
    for k in range(6):
        base = math.radians(60.0 * (k // 2 * 2) + (20.0 if k % 2 else -20.0))
        top = math.radians(60.0 * (k // 2 * 2) + (40.0 if k % 2 else -40.0))
        foot = np.array([below * math.cos(base), below * math.sin(base), 0.0])
        head = np.array([above * math.cos(top), above * math.sin(top), 0.0])
        leg = head - foot
        leg[2] += height
        length = float(np.linalg.norm(leg))
        lower, upper = f"lower_{k + 1}", f"upper_{k + 1}"
        builder.solid(lower, "capsule", (0.02, 0.5 * length), mass=0.5, placement=(0, 0, 0.3 * length), rgba=DARK)
        builder.solid(upper, "capsule", (0.012, 0.5 * length), mass=0.3, placement=(0, 0, -0.3 * length), rgba=BLUE)
        at = pose(tuple(foot))
        at[:3, :3] = _frame_along(leg / length)
        builder.joint(f"foot_{k + 1}", "universal", "world", lower, placement=at, axis="x", axis2="y")
        limits: dict[str, Any] = {"lower": -0.15, "upper": 0.15, "armature": 0.5}
        builder.joint(f"slide_{k + 1}", "prismatic", lower, upper, placement=(0.0, 0.0, length), axis="z", **limits)
        builder.actuator(f"leg_{k + 1}", f"slide_{k + 1}", "position", kp=2e4, kd=400.0)
        builder.close(f"ball_{k + 1}", upper, "platform", to_placement=tuple(head))
    _apart(builder, ["platform"] + [f"{half}_{k + 1}" for half in ("lower", "upper") for k in range(6)])
    return builder.build()


def _frame_along(direction: Array) -> Array:
    """Axes of which z is along ``direction``."""
    side = np.cross((0.0, 1.0, 0.0), direction)
    side /= np.linalg.norm(side)
    return np.column_stack([side, np.cross(direction, side), direction])


def delta() -> Model:
    """A delta robot: three driven arms, each with two parallel rods, carry a platform that stays level.

    Servos "arm_1" to "arm_3" hold the arms, which are level at control zero; the platform hangs below.

    >>> model = fw.models.delta()
    >>> int(fw.mobility(model, model.neutral(), fw.constraints_of(model)).dof)
    3
    """
    base, arm, rod, platform, half = 0.15, 0.2, 0.4, 0.05, 0.04
    drop = math.sqrt(rod**2 - (base + arm - platform) ** 2)
    builder = ModelBuilder("delta")
    builder.solid("platform", "cylinder", (0.06, 0.02), mass=0.3, rgba=ORANGE)
    builder.joint("platform", "free", "world", "platform", start=(0.0, 0.0, -drop, 0.0, 0.0, 0.0, 1.0))
    lean = _rising(np.array([platform - base - arm, -drop]))  # of the rods, in the plane of their arm
    names = ["platform"]
    for k in range(3):
        turn = pose(rpy=(0.0, 0.0, math.radians(120.0 * k)))
        link = f"arm_{k + 1}"
        _bar(builder, link, arm, 0.4, radius=0.012)
        at = turn @ pose((base, 0.0, 0.0))
        builder.joint(link, "revolute", "world", link, placement=at, axis="y", lower=-1.2, upper=1.2, armature=0.02)
        builder.actuator(link, link, "position", kp=100.0, kd=2.0)
        for side, y in (("left", half), ("right", -half)):
            name = f"{side}_rod_{k + 1}"
            _bar(builder, name, rod, 0.1, radius=0.006)
            at_end = pose((arm, y, 0.0), rpy=(0.0, lean, 0.0))
            builder.joint(name, "universal", link, name, placement=at_end, axis="y", axis2="z")
            to = turn @ pose((platform, y, 0.0))
            builder.close(f"{name}_ball", name, "platform", placement=(rod, 0.0, 0.0), to_placement=to)
            names.append(name)
        names.append(link)
    _apart(builder, names)
    return builder.build()


def loop_biped() -> Model:
    """A 20 kg biped whose knees and ankles are driven through rods; it stands on its servos at control zero.

    Each leg has four servos: roll and pitch of the hip, a crank at the hip whose rod moves the shin, and a crank on the
    shin whose rod moves the foot. Frames: "left_sole", "right_sole".

    >>> model = fw.models.loop_biped()
    >>> model.nv, int(fw.mobility(model, model.neutral(), fw.constraints_of(model)).dof)
    (22, 14)
    """
    builder = ModelBuilder("loop_biped")
    builder.solid("torso", "box", (0.16, 0.24, 0.3), mass=8.0, placement=(0.0, 0.0, 0.18), rgba=DARK)
    start = (0.0, 0.0, 0.3 + 0.3 + 0.05, 0.0, 0.0, 0.0, 1.0)
    builder.joint("root_joint", "free", "world", "torso", start=start)
    for side, y in (("left", 1.0), ("right", -1.0)):
        _leg(builder, side, y)
    return builder.build()


def _leg(builder: ModelBuilder, side: str, y: float) -> None:
    """Two parallelograms: crank and shin, and crank and foot, stay parallel."""
    thigh, shin, lever = 0.3, 0.3, 0.06
    motor: dict[str, Any] = {"axis": "y", "armature": 0.02, "damping": 0.1}
    names = {part: f"{side}_{part}" for part in ("hip", "thigh", "shin", "foot", "crank", "rod", "horn", "link")}
    down = (0.0, 0.0, -0.5 * thigh)
    builder.solid(names["hip"], "sphere", (0.045,), mass=0.8, rgba=GREY)
    builder.solid(names["thigh"], "capsule", (0.04, 0.2), mass=2.0, placement=down, rgba=BLUE)
    builder.solid(names["shin"], "capsule", (0.03, 0.2), mass=1.2, placement=down, rgba=GREY)
    builder.solid(names["foot"], "box", (0.2, 0.1, 0.03), mass=0.6, placement=(0.02, 0.0, -0.035), rgba=DARK)
    for crank in ("crank", "horn"):
        builder.solid(names[crank], "capsule", (0.01, lever), mass=0.15, placement=_behind(lever), rgba=ORANGE)
    for rod in ("rod", "link"):
        builder.solid(names[rod], "capsule", (0.008, 0.28), mass=0.15, placement=down, rgba=ORANGE)
    back, below, end = (-lever, 0.0, 0.0), (0.0, 0.0, -thigh), (0.0, 0.0, -shin)
    hip: dict[str, Any] = {"placement": (0.0, 0.1 * y, 0.0), "lower": -0.6, "upper": 0.6}
    builder.joint(f"{side}_hip_roll", "revolute", "torso", names["hip"], **{**motor, "axis": "x", **hip})
    builder.joint(f"{side}_hip_pitch", "revolute", names["hip"], names["thigh"], lower=-1.5, upper=1.0, **motor)
    builder.joint(f"{side}_knee", "revolute", names["thigh"], names["shin"], placement=below, axis="y")
    builder.joint(f"{side}_ankle", "revolute", names["shin"], names["foot"], placement=end, axis="y")
    builder.joint(f"{side}_crank", "revolute", names["hip"], names["crank"], **motor)
    builder.joint(f"{side}_rod", "continuous", names["crank"], names["rod"], placement=back, axis="y")
    builder.joint(f"{side}_horn", "revolute", names["shin"], names["horn"], **motor)
    builder.joint(f"{side}_link", "continuous", names["horn"], names["link"], placement=back, axis="y")
    at: dict[str, Any] = {"placement": (0.0, 0.0, -thigh), "to_placement": back, "rows": _IN_PLANE}
    builder.close(f"{side}_knee_pin", names["rod"], names["shin"], **at)
    builder.close(f"{side}_ankle_pin", names["link"], names["foot"], **at)
    for joint in ("hip_roll", "hip_pitch", "crank", "horn"):
        builder.actuator(f"{side}_{joint}", f"{side}_{joint}", "position", kp=400.0, kd=10.0)
    _apart(builder, [*names.values(), "torso"])
    builder.frame(f"{side}_sole", names["foot"], (0.02, 0.0, -0.05))


def _behind(length: float) -> Array:
    return pose((-0.5 * length, 0.0, 0.0), rpy=(0.0, 0.5 * math.pi, 0.0))
