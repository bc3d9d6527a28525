"""Built-in robots with simple shapes and plausible masses, limits and motors. Each call builds a new model.

Lengths in metres, masses in kilograms, angles in radians. At q = 0 limbs hang straight down and arms point up;
x is forward, y left, z up.

>>> fw.models.humanoid().nv
33
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from ..arrays import Array
from .builder import ModelBuilder
from .description import JOINT_SIZES, Geometry, Inertia, JointType
from .mechanisms import delta, five_bar, four_bar, loop_biped, n_four_bar, slider_crank, stewart
from .model import Model
from .palette import BLUE, DARK, GREY, ORANGE
from .poses import pose, rotation_from_quaternion
from .solids import Shape, solid_inertia

__all__ = [
    "arm",
    "box",
    "chain",
    "delta",
    "five_bar",
    "four_bar",
    "free_body",
    "humanoid",
    "loop_biped",
    "n_four_bar",
    "pendulum",
    "quadruped",
    "random_tree",
    "slider_crank",
    "stewart",
    "tree",
]


def __dir__() -> list[str]:
    return __all__


# -- small mechanisms ----------------------------------------------------------------------------------------------


def pendulum(length: float = 1.0, mass: float = 1.0, damping: float = 0.0) -> Model:
    """A point mass on a massless rod, swinging about y: H = mass length^2, period 2 pi sqrt(length / g) when small.

    >>> fw.crba(fw.models.pendulum(length=2.0, mass=3.0), np.zeros(1))
    array([[12.]])
    """
    rod = Geometry("rod", "visual", "capsule", (0.01, length), pose((0.0, 0.0, -0.5 * length)), rgba=GREY)
    bob = Geometry("bob", "visual", "sphere", (0.05,), pose((0.0, 0.0, -length)), rgba=BLUE)
    builder = ModelBuilder("pendulum")
    builder.link("pendulum", mass=mass, com=(0.0, 0.0, -length), geometries=[rod, bob])
    builder.joint("hinge", "revolute", "world", "pendulum", axis="y", damping=damping)
    builder.frame("tip", "pendulum", (0.0, 0.0, -length))
    return builder.build()


def chain(n: int, *, floating: bool = False) -> Model:
    """``n`` links in a row, hanging from the world (or free), with hinges about y and x in turn.

    >>> fw.models.chain(5).nv
    5
    """
    return _regular_tree(f"chain_{n}", n, 1, floating)


def tree(n: int, *, branching: int = 2, floating: bool = False) -> Model:
    """``n`` links, each of which carries up to ``branching`` others: of depth log(n).

    >>> fw.models.tree(7, floating=True).nv  # six of them are the base's
    12
    """
    return _regular_tree(f"tree_{n}", n, branching, floating)


def _regular_tree(name: str, n: int, branching: int, floating: bool) -> Model:
    if n < 1 or branching < 1:
        raise ValueError(f"n and branching must be positive, got n={n}, branching={branching}")
    length = 0.2
    builder = ModelBuilder(name)
    for i in range(n):
        builder.solid(f"link_{i}", "capsule", (0.02, length), mass=0.5, placement=(0.0, 0.0, -0.5 * length), rgba=BLUE)
        if i == 0 and floating:
            continue  # the base: build() gives it its free joint
        parent = "world" if i == 0 else f"link_{(i - 1) // branching}"
        fan = 0.3 * ((i - 1) % branching - 0.5 * (branching - 1))  # siblings lean apart
        at = pose() if i == 0 else pose((0.0, 0.0, -length), rpy=(0.0, fan, 0.0))
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", placement=at, axis="yx"[i % 2])
        for sibling in range((i - 1) // branching * branching + 1 if i else 0, i):
            builder.exclude(f"link_{sibling}", f"link_{i}")  # they overlap where they are attached
    builder.frame("tip", f"link_{n - 1}", (0.0, 0.0, -length))
    return builder.build(floating_base=floating)


def free_body(shape: Shape, size: Sequence[float], mass: float = 1.0, *, name: str = "body") -> Model:
    """One free solid of uniform density; ``size`` as in :class:`featherweight.Geometry`.

    >>> fw.models.free_body("capsule", (0.1, 0.4), mass=2.0).nv
    6
    """
    builder = ModelBuilder(name)
    builder.solid(name, shape, size, mass=mass, rgba=ORANGE)
    return builder.build(floating_base=True)


def box(size: Sequence[float] = (0.1, 0.1, 0.1), mass: float = 1.0, *, name: str = "box") -> Model:
    """A free box with edges ``size``.

    >>> fw.models.box((0.4, 0.3, 0.2), mass=5.0).mass
    5.0
    """
    return free_body("box", size, mass, name=name)


# -- robots --------------------------------------------------------------------------------------------------------


def arm() -> Model:
    """A seven-axis arm on a fixed base, 25 kg, reach 0.96 m, with the frame "flange" at its end.

    >>> model = fw.models.arm()
    >>> fw.frame_placement(model, np.zeros(7), "flange")[:3, 3].round(3)
    array([0. , 0. , 1.3])
    """
    builder = ModelBuilder("arm")
    builder.solid("base", "cylinder", (0.1, 0.16), mass=5.0, placement=(0.0, 0.0, 0.08), rgba=DARK)
    #        axis  height in the parent, length, radius, mass, limit, effort, speed, rotor
    segments: list[tuple[Any, float, float, float, float, float, float, float, float]] = [
        ("z", 0.16, 0.18, 0.075, 4.5, 2.9, 220.0, 2.0, 0.25),
        ("y", 0.18, 0.20, 0.070, 4.2, 2.0, 220.0, 2.0, 0.25),
        ("z", 0.20, 0.20, 0.065, 3.4, 2.9, 140.0, 2.2, 0.15),
        ("y", 0.20, 0.20, 0.060, 3.1, 2.2, 140.0, 2.2, 0.15),
        ("z", 0.20, 0.20, 0.055, 2.6, 2.9, 80.0, 2.6, 0.08),
        ("y", 0.20, 0.10, 0.050, 1.8, 2.0, 50.0, 3.0, 0.05),
        ("z", 0.10, 0.06, 0.040, 0.6, 3.0, 30.0, 3.2, 0.02),
    ]
    parent = "base"
    for i, (axis, height, length, radius, mass, limit, effort, speed, rotor) in enumerate(segments, start=1):
        link = f"link_{i}"
        middle = (0.0, 0.0, 0.5 * length)
        builder.solid(link, "cylinder", (radius, length), mass=mass, placement=middle, rgba=(GREY, BLUE)[i % 2])
        builder.joint(
            f"joint_{i}",
            "revolute",
            parent,
            link,
            placement=(0.0, 0.0, height),
            axis=axis,
            lower=-limit,
            upper=limit,
            effort_limit=effort,
            velocity_limit=speed,
            damping=0.5,
            friction=0.2,
            armature=rotor,
        )
        parent = link
    builder.frame("flange", parent, (0.0, 0.0, 0.06))
    return builder.build()


def quadruped(*, floating: bool = True) -> Model:
    """A 14 kg quadruped of twelve joints. Feet are the links "front_left_foot", "hind_right_foot", and so on.

    >>> fw.models.quadruped().nv, fw.models.quadruped(floating=False).nv
    (18, 12)
    """
    builder = ModelBuilder("quadruped")
    builder.solid("trunk", "box", (0.42, 0.2, 0.12), mass=8.0, rgba=DARK)
    motor: dict[str, Any] = {
        "effort_limit": 35.0,
        "velocity_limit": 25.0,
        "damping": 0.05,
        "friction": 0.1,
        "armature": 0.01,
    }
    for front, x in (("front", 1.0), ("hind", -1.0)):
        for side, y in (("left", 1.0), ("right", -1.0)):
            leg = f"{front}_{side}"
            hip, thigh, calf, foot = (f"{leg}_{part}" for part in ("hip", "thigh", "calf", "foot"))
            across = pose((0.0, 0.03 * y, 0.0), rpy=(0.5 * math.pi, 0.0, 0.0))
            builder.solid(hip, "cylinder", (0.045, 0.06), mass=0.55, placement=across, rgba=GREY)
            builder.solid(thigh, "box", (0.05, 0.03, 0.22), mass=0.8, placement=(0.0, 0.0, -0.1), rgba=BLUE)
            builder.solid(calf, "capsule", (0.012, 0.17), mass=0.12, placement=(0.0, 0.0, -0.1), rgba=GREY)
            builder.solid(foot, "sphere", (0.022,), mass=0.04, rgba=DARK)
            builder.joint(
                f"{hip}_joint",
                "revolute",
                "trunk",
                hip,
                placement=(0.19 * x, 0.06 * y, 0.0),
                axis="x",
                lower=-0.8,
                upper=0.8,
                **motor,
            )
            builder.joint(
                f"{thigh}_joint",
                "revolute",
                hip,
                thigh,
                placement=(0.0, 0.085 * y, 0.0),
                axis="y",
                lower=-1.5,
                upper=3.0,
                **motor,
            )
            builder.joint(
                f"{calf}_joint",
                "revolute",
                thigh,
                calf,
                placement=(0.0, 0.0, -0.2),
                axis="y",
                lower=-2.6,
                upper=0.0,
                **motor,
            )
            builder.joint(f"{foot}_joint", "fixed", calf, foot, placement=(0.0, 0.0, -0.2))
    return builder.build(floating_base=floating)


def humanoid(*, floating: bool = True) -> Model:
    """A 1.8 m humanoid of 27 joints, 58 kg. Frames: "left_sole", "right_sole", "left_palm", "right_palm".

    Legs have six joints, arms five, the waist three and the neck two.

    >>> model = fw.models.humanoid()
    >>> fw.frame_placement(model, model.neutral(), "left_sole")[:3, 3].round(2)
    array([ 0.04,  0.1 , -0.96])
    """
    builder = ModelBuilder("humanoid")
    builder.solid("pelvis", "box", (0.16, 0.26, 0.12), mass=6.0, rgba=DARK)
    body = _Limb(builder, "pelvis")
    body.grow("waist_yaw", "z", (0, 0, 0.08), "cylinder", (0.06, 0.04), 1.0, (0, 0, 0.02), (-1.2, 1.2), 150.0)
    body.grow("waist_roll", "x", (0, 0, 0.04), "cylinder", (0.06, 0.04), 1.0, (0, 0, 0.02), (-0.4, 0.4), 150.0)
    body.grow("torso", "y", (0, 0, 0.04), "box", (0.18, 0.3, 0.36), 14.0, (0, 0, 0.2), (-0.5, 1.0), 200.0)
    builder.exclude("waist_yaw", "torso")
    head = _Limb(builder, "torso")
    head.grow("neck", "z", (0, 0, 0.4), "cylinder", (0.04, 0.06), 0.5, (0, 0, 0.03), (-1.5, 1.5), 20.0)
    head.grow("head", "y", (0, 0, 0.06), "ellipsoid", (0.09, 0.075, 0.11), 3.0, (0, 0, 0.1), (-0.6, 0.8), 20.0)
    for side, y in (("left", 1.0), ("right", -1.0)):
        _humanoid_leg(builder, side, y)
        _humanoid_arm(builder, side, y)
    return builder.build(floating_base=floating)


def _humanoid_leg(builder: ModelBuilder, side: str, y: float) -> None:
    leg, inward, outward = _Limb(builder, "pelvis", f"{side}_"), -0.4, 0.6
    roll = (inward, outward) if y > 0 else (-outward, -inward)
    leg.grow("hip_yaw", "z", (0, 0.1 * y, -0.06), "cylinder", (0.05, 0.05), 1.0, (0, 0, -0.03), (-0.7, 0.7), 120.0)
    leg.grow("hip_roll", "x", (0, 0, -0.06), "sphere", (0.055,), 1.2, (0, 0, 0), roll, 150.0)
    leg.grow("thigh", "y", (0, 0, 0), "capsule", (0.065, 0.3), 5.0, (0, 0, -0.19), (-2.2, 0.7), 220.0)
    leg.grow("shin", "y", (0, 0, -0.38), "capsule", (0.05, 0.3), 3.0, (0, 0, -0.19), (0.0, 2.5), 250.0)
    leg.grow("ankle", "y", (0, 0, -0.38), "sphere", (0.04,), 0.5, (0, 0, 0), (-1.0, 0.7), 120.0)
    leg.grow("foot", "x", (0, 0, 0), "box", (0.22, 0.1, 0.03), 1.0, (0.04, 0, -0.065), (-0.4, 0.4), 60.0)
    for above in (f"{side}_hip_yaw", "pelvis"):
        builder.exclude(above, f"{side}_thigh")  # one inside the other
    builder.frame(f"{side}_sole", f"{side}_foot", (0.04, 0.0, -0.08))


def _humanoid_arm(builder: ModelBuilder, side: str, y: float) -> None:
    arm_, inward, outward = _Limb(builder, "torso", f"{side}_"), -0.3, 2.8
    roll = (inward, outward) if y > 0 else (-outward, -inward)
    arm_.grow("shoulder", "y", (0, 0.17 * y, 0.33), "sphere", (0.05,), 0.9, (0, 0.03 * y, 0), (-3.0, 1.5), 60.0)
    arm_.grow("shoulder_roll", "x", (0, 0.05 * y, 0), "sphere", (0.05,), 0.8, (0, 0, 0), roll, 60.0)
    arm_.grow("upper_arm", "z", (0, 0, -0.05), "capsule", (0.04, 0.16), 1.5, (0, 0, -0.1), (-1.5, 1.5), 40.0)
    arm_.grow("forearm", "y", (0, 0, -0.22), "capsule", (0.035, 0.16), 1.0, (0, 0, -0.11), (-2.4, 0.0), 40.0)
    arm_.grow("hand", "z", (0, 0, -0.22), "box", (0.03, 0.08, 0.14), 0.5, (0, 0, -0.08), (-1.6, 1.6), 15.0)
    builder.exclude(f"{side}_shoulder", f"{side}_upper_arm")  # one inside the other
    builder.frame(f"{side}_palm", f"{side}_hand", (0.0, 0.0, -0.08))


class _Limb:
    """A row of solids, each on a hinge on the one before."""

    def __init__(self, builder: ModelBuilder, root: str, prefix: str = "") -> None:
        self._builder, self._end, self._prefix, self._count = builder, root, prefix, 0

    def grow(
        self,
        name: str,
        axis: Any,
        at: tuple[float, float, float],
        shape: Shape,
        size: tuple[float, ...],
        mass: float,
        center: tuple[float, float, float],
        limits: tuple[float, float],
        effort: float,
    ) -> None:
        """Add link ``name`` with its hinge at ``at`` in the last link, its shape centred at ``center``."""
        link = self._prefix + name
        self._count += 1
        colour = (GREY, BLUE)[self._count % 2]
        self._builder.solid(link, shape, size, mass=mass, placement=center, rgba=colour)
        self._builder.joint(
            f"{link}_joint",
            "revolute",
            self._end,
            link,
            placement=at,
            axis=axis,
            lower=limits[0],
            upper=limits[1],
            effort_limit=effort,
            velocity_limit=12.0,
            damping=0.2,
            friction=0.2,
            armature=2e-4 * effort,
        )
        self._end = link


# -- random trees --------------------------------------------------------------------------------------------------


def random_tree(
    seed: int,
    n: int,
    *,
    floating: bool = False,
    types: Sequence[JointType] | None = None,
    armature: bool = True,
) -> Model:
    """A random tree of ``n`` joints beside the root's, to test with; the same seed gives the same tree.

    types: joint types to draw from, all by default. Axes are random or along x, y, z; some joints have a child
    placement, limits, damping and friction; some links carry an extra frame. ``armature`` gives rotors to half of them.

    >>> fw.models.random_tree(1, 6).n_links
    7
    """
    rng = np.random.default_rng(seed)
    kinds: tuple[JointType, ...] = tuple(types) if types is not None else get_args(JointType)
    builder = ModelBuilder(f"random_tree_{seed}_{n}")
    builder.link("link_0", inertia=_random_inertia(rng))
    for i in range(1, n + 1):
        link = f"link_{i}"
        parent = f"link_{rng.integers(max(0, i - 4), i)}"  # long branches, and some siblings
        kind = kinds[rng.integers(len(kinds))]
        builder.link(link, inertia=_random_inertia(rng))
        options: dict[str, Any] = {"placement": _random_pose(rng)}
        if rng.random() < 0.5:
            options["child_placement"] = _random_pose(rng)
        options |= _random_axes(rng, kind)
        if JOINT_SIZES[kind][1]:
            options |= _random_dofs(rng, kind, armature)
        builder.joint(f"joint_{i}", kind, parent, link, **options)
        if rng.random() < 0.2:
            builder.frame(f"frame_{i}", link, _random_pose(rng))
    builder.frame("tip", f"link_{n}", _random_pose(rng))
    return builder.build(floating_base=floating)


def _random_axes(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if kind in ("revolute", "continuous", "prismatic", "helical", "universal"):
        options["axis"] = _random_direction(rng)
    if kind == "universal":
        other = np.cross(options["axis"], rng.normal(size=3))
        options["axis2"] = other / np.linalg.norm(other) + 0.3 * options["axis"] * rng.integers(2)
    if kind == "helical":
        options["pitch"] = float(rng.uniform(-0.2, 0.2))
    return options


def _random_dofs(rng: np.random.Generator, kind: str, armature: bool) -> dict[str, Any]:
    nv = JOINT_SIZES[kind][1]
    options: dict[str, Any] = {"damping": rng.uniform(0.0, 0.5, nv), "friction": rng.uniform(0.0, 0.2, nv)}
    if armature and rng.random() < 0.5:
        options["armature"] = rng.uniform(0.0, 0.3, nv)
    if kind in ("revolute", "prismatic") and rng.random() < 0.7:
        options |= {"lower": -rng.uniform(0.2, 2.0), "upper": rng.uniform(0.2, 2.0)}
        options |= {"effort_limit": rng.uniform(1.0, 100.0), "velocity_limit": rng.uniform(1.0, 10.0)}
    return options


def _random_direction(rng: np.random.Generator) -> Array:
    if rng.random() < 0.5:
        return np.asarray(np.eye(3)[rng.integers(3)])
    direction = rng.normal(size=3)
    return np.asarray(direction / np.linalg.norm(direction))


def _random_pose(rng: np.random.Generator) -> Array:
    result = pose(rng.uniform(-0.3, 0.3, 3))
    if rng.random() < 0.7:
        result[:3, :3] = rotation_from_quaternion(rng.normal(size=4))
    return result


def _random_inertia(rng: np.random.Generator) -> Inertia:
    """Of a solid box anywhere in the link: always physical."""
    placement = pose(rng.uniform(-0.2, 0.2, 3))
    placement[:3, :3] = rotation_from_quaternion(rng.normal(size=4))
    return solid_inertia("box", rng.uniform(0.05, 0.4, 3), float(rng.uniform(0.2, 3.0)), placement)
