"""What a robot is, before it is compiled: links, joints, frames and shapes as plain immutable records.

Loaders and :class:`featherweight.ModelBuilder` produce a :class:`ModelDescription`; :class:`featherweight.Model`
compiles it for the core; :mod:`featherweight.reference` evaluates it directly with NumPy. Units are SI, poses are
4x4 homogeneous matrices, and a pose named ``placement`` maps the named object's coordinates to its parent's. Records
pickle, and compare by value, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from typing import Literal

import numpy as np

from ..arrays import Array
from ..records import Record
from .materials import ContactLaw, Material
from .medium import FluidShape, Medium

#: The name of what does not move.
WORLD = "world"

JointType = Literal[
    "fixed", "revolute", "continuous", "prismatic", "helical", "universal", "planar", "spherical", "free"
]

#: Numbers of configuration and of velocity coordinates of each joint type.
JOINT_SIZES: dict[str, tuple[int, int]] = {
    "fixed": (0, 0),
    "revolute": (1, 1),  # angle about `axis` [rad]
    "continuous": (1, 1),  # the same, without limits
    "prismatic": (1, 1),  # travel along `axis` [m]
    "helical": (1, 1),  # angle about `axis`; travel along it is `pitch` [m/rad] times the angle
    "universal": (2, 2),  # angle about `axis`, then about `axis2` carried by the first
    "planar": (3, 3),  # x, y, angle about z, in the joint frame; velocities are their rates
    "spherical": (4, 3),  # quaternion xyzw; angular velocity in the moving frame
    "free": (7, 6),  # position, quaternion xyzw; linear then angular velocity, both in the moving frame
}


_IDENTITY = np.eye(4)
_IDENTITY.setflags(write=False)


def identity_pose() -> Array:
    """The pose that moves nothing: one read-only array for all."""
    return _IDENTITY


@dataclass(frozen=True, eq=False)
class Inertia(Record):
    """Mass [kg], centre of mass in link coordinates [m], 3x3 inertia about it in link axes [kg m^2].

    >>> rod = fw.Inertia(2.0, np.zeros(3), np.diag([0.1, 0.1, 0.001]))
    >>> fw.ModelBuilder().link("rod", inertia=rod).build(floating_base=True).mass
    2.0
    """

    mass: float
    com: Array
    matrix: Array


@dataclass(frozen=True, eq=False)
class Geometry(Record):
    """A shape fixed to a link. ``size`` by ``shape``, all in metres:

    box: full edge lengths (x, y, z); sphere: (radius,); capsule and cylinder: (radius, length along z, of the
    cylindrical part); ellipsoid: three radii; plane: () with normal z; mesh: the scale (x, y, z), file in ``mesh``;
    convex: () with the hull of ``vertices`` (n, 3); heightfield: full extents (x, y) of ``heights`` (nx, ny), where
    ``heights[i, j]`` is the z over the i-th of nx equally spaced x and the j-th of ny y, solid below.

    What follows ``rgba`` matters to collision shapes only. Two of them can touch if a bit is set both in the
    ``contype`` of one and in the ``conaffinity`` of the other; ``priority``: the higher one's material alone counts.

    >>> shape = fw.Geometry("ball", "collision", "sphere", (0.1,))
    >>> ball = fw.solid_inertia("sphere", (0.1,), 1.0)
    >>> model = fw.ModelBuilder().link("body", inertia=ball, geometries=[shape]).build(floating_base=True)
    >>> model.link("body").geometries[0].size
    (0.1,)
    """

    name: str
    role: Literal["visual", "collision"]
    shape: Literal["box", "sphere", "capsule", "cylinder", "ellipsoid", "plane", "mesh", "convex", "heightfield"]
    size: tuple[float, ...]
    placement: Array = field(default_factory=identity_pose)
    mesh: str | None = None
    rgba: tuple[float, float, float, float] | None = None
    vertices: Array | None = None
    heights: Array | None = None
    material: Material | None = None  # None: decided by what it touches
    contype: int = 1
    conaffinity: int = 1
    margin: float = 0.0  # distance at which it already counts as touching [m]; those of two shapes add
    priority: int = 0


@dataclass(frozen=True, eq=False)
class Link(Record):
    """A rigid body. ``inertia`` None means massless."""

    name: str
    inertia: Inertia | None = None
    geometries: tuple[Geometry, ...] = ()
    fluid_shapes: tuple[FluidShape, ...] = ()  # what a medium drags at; none: the box that has its inertia
    gravity_compensation: float = 0.0  # the share of its weight that something carries, in the simulator


@dataclass(frozen=True)
class Coupling(Record):
    """``q = polynomial(q_of(to)) + sum of others``, without ``to`` a constant.

    Scenes hold it, functions of a model do not. The joints have one degree of freedom; ``polynomial`` starts with the
    constant.

    >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
    >>> model = builder.couple("gear", "joint_7", "joint_6", [0.0, -2.0]).build()
    >>> model.description.couplings[0].polynomial
    (0.0, -2.0)
    """

    name: str
    joint: str
    to: str | None
    polynomial: tuple[float, ...]
    others: tuple[tuple[str, float], ...] = ()  # more joints, with factors, where the polynomial is of first degree

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """Of one with ``others``: the factors of all its joints, whose sum is the constant of the polynomial."""
        slope = self.polynomial[1] if len(self.polynomial) > 1 else 0.0
        to = () if self.to is None else ((self.to, -slope),)
        return ((self.joint, 1.0), *to, *((name, -x) for name, x in self.others))


@dataclass(frozen=True)
class Mimic(Record):
    """``q = multiplier * q_of(joint) + offset``: scenes hold it, functions of a model do not.

    >>> builder = fw.ModelBuilder()
    >>> links = [builder.link(name, mass=1.0, inertia=np.ones(3)) for name in "abc"]
    >>> first = builder.joint("first", "continuous", "a", "b", axis="z")
    >>> second = builder.joint("second", "continuous", "b", "c", axis="z", mimic=fw.Mimic("first", multiplier=2.0))
    >>> builder.build().joint("second").mimic == fw.Mimic("first", multiplier=2.0)
    True
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def as_coupling(self, follower: str) -> Coupling:
        """The same, said of the joint that follows."""
        return Coupling(follower, follower, self.joint, (self.offset, self.multiplier))


@dataclass(frozen=True, eq=False)
class Joint(Record):
    """How ``child`` moves relative to ``parent`` ("world" for a root).

    The pose of the child link in its parent link is ``placement @ motion(q) @ child_placement``. Per-dof
    arrays have length nv; ``lower`` and ``upper`` have length nq (infinite where unlimited, as for quaternions).
    """

    name: str
    type: JointType
    parent: str
    child: str
    placement: Array = field(default_factory=identity_pose)
    child_placement: Array = field(default_factory=identity_pose)
    axis: Array | None = None  # unit vector in the joint frame
    axis2: Array | None = None  # universal only
    pitch: float = 0.0  # helical only [m/rad]
    lower: Array | None = None
    upper: Array | None = None
    effort_limit: Array | None = None  # [N] or [N m], infinite where unlimited
    velocity_limit: Array | None = None  # [m/s] or [rad/s]: drives do not take the joint beyond it
    limit_restitution: Array | None = None  # rebound speed over impact speed at lower and upper, 0 to 1
    damping: Array | None = None  # [N s/m] or [N m s/rad]
    stiffness: Array | None = None  # of a spring [N/m] or [N m/rad]; not on ball and free joints
    rest_position: Array | None = None  # where the spring pulls nothing [m] or [rad]
    friction: Array | None = None  # dry friction [N] or [N m]
    armature: Array | None = None  # rotor inertia seen at the joint [kg] or [kg m^2]
    mimic: Mimic | None = None
    start: Array | None = None  # (nq,) coordinates that it starts with; None: zero, without rotation
    parent_contact: bool = False  # whether the shapes of child and parent may touch

    @property
    def nq(self) -> int:
        return JOINT_SIZES[self.type][0]

    @property
    def nv(self) -> int:
        return JOINT_SIZES[self.type][1]


@dataclass(frozen=True, eq=False)
class Frame(Record):
    """A named pose fixed to a link ("world" allowed)."""

    name: str
    link: str
    placement: Array = field(default_factory=identity_pose)


ActuatorKind = Literal["motor", "position", "velocity", "general", "muscle"]
ActivationKind = Literal["integrator", "filter", "exact_filter", "muscle"]


@dataclass(frozen=True)
class Activation(Record):
    """A state w between the control u of an actuator and its force: it follows u, and the force has w in place of u.

    By ``kind``, integrator: w' = u; filter, exact_filter: w' = (u - w) / time_constants[0], by a step of Euler or
    exactly; muscle: the same with a time constant that grows with w when it rises, and falls with w when it falls:
    time_constants are those of rising and falling, and the width in u - w of the change from one to the other.

    >>> fw.Activation("filter", (0.05,)).time_constants
    (0.05,)
    """

    kind: ActivationKind
    time_constants: tuple[float, ...] = ()  # [s]
    range: tuple[float, float] | None = None  # it is clamped to it
    early: bool = False  # whether a step is driven by the w of its end, instead of that of its start


@dataclass(frozen=True)
class Muscle(Record):
    """A muscle: it pulls by ``peak`` (active(L) velocity(V) u + passive(L)), with curves of parabolas.

    L is (length - slack) / optimal, V is rate / (optimal fastest); docs/actuators.md has the curves.

    >>> fw.Muscle(peak=800.0, slack=0.1, optimal=0.2).peak
    800.0
    """

    peak: float  # force at the optimal length and at rest [N]
    slack: float  # length of its tendons [m], or [rad] where it acts on a hinge
    optimal: float  # optimal length of its fibres [m]
    shortest: float = 0.5  # L between which it is active
    longest: float = 1.6
    fastest: float = 1.5  # optimal lengths per second at which it shortens without force
    passive: float = 1.3  # passive force at the longest, over the peak
    eccentric: float = 1.2  # force when it is stretched fast, over that at rest


@dataclass(frozen=True)
class Actuator(Record):
    """A motor on joints with one degree of freedom, a strut or a frame: its force is clamped to ``force_range``.

    ``gear`` times the force acts on ``joint``, so much more on ``others``. With the control u, and the length and rate
    gear * q and gear * v, summed over its joints, the force is, by ``kind``,
    motor: kp u; position: kp (u - length) - kd rate; velocity: kd (u - rate);
    general: (kp + slopes[0] length + slopes[1] rate) u + bias[0] + bias[1] length + bias[2] rate;
    muscle: that of :class:`Muscle`, which is negative since it pulls.
    On a ``frame`` (``joint`` is None) the force times ``wrench`` acts, at its origin and in its axes: a thruster.
    Along a ``strut`` (``joint`` is None) ``gear`` times the force lengthens it, and ``gear`` times its length counts.
    A ``sticky`` link (``joint`` is None) is pulled to what it touches, or nearly, up to ``reach`` away: the force is
    shared among its contacts, as they were a step before, along their normals. A suction cup, or the foot of a fly.
    With an ``activation`` that stands for u. Actuators that share a joint share its ``effort_limit``, if none of them
    has a ``force_range``.

    >>> scene = fw.Scene()
    >>> arm = scene.add(fw.models.arm(), name="arm")
    >>> names = scene.servo(arm, kp=100.0, kd=10.0)
    >>> actuator = fw.Simulator(scene).actuators[0]
    >>> actuator.joint, actuator.kp
    ('arm/joint_1', 100.0)
    """

    name: str
    joint: str | None
    kind: ActuatorKind = "motor"
    gear: float = 1.0
    kp: float = 1.0  # [N/m] or [N m/rad] over the gear; motor: force per unit of control
    kd: float = 0.0  # [N s/m] or [N m s/rad]
    ctrl_range: tuple[float, float] | None = None  # the control is clamped to it
    force_range: tuple[float, float] | None = None  # [N] or [N m]
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)  # general only: a constant force, per length, per rate
    others: tuple[tuple[str, float], ...] = ()  # more joints, on which so much more acts: a fixed tendon
    slopes: tuple[float, float] = (0.0, 0.0)  # general only: more force per control, by length and by rate
    muscle: Muscle | None = None
    activation: Activation | None = None
    frame: str | None = None
    wrench: tuple[float, ...] = ()  # (6) force and moment on the frame per force of the actuator [1], [m]
    strut: str | None = None
    sticky: str | None = None
    reach: float = 0.0  # [m]

    @property
    def law(self) -> tuple[float, float, float, float]:
        """The force per control, constant, per length and per rate."""
        if self.kind == "position":
            return self.kp, 0.0, -self.kp, -self.kd
        if self.kind == "velocity":
            return self.kd, 0.0, 0.0, -self.kd
        return (self.kp, *(self.bias if self.kind == "general" else (0.0, 0.0, 0.0)))

    @property
    def joints(self) -> tuple[tuple[str, float], ...]:
        """The joints it acts on, and how much of its force acts on each; none if it acts on none."""
        if self.joint is None:
            return ()
        return (self.joint, self.gear), *((name, self.gear * ratio) for name, ratio in self.others)


SensorQuantity = Literal[
    "gyro",
    "accelerometer",
    "velocimeter",
    "joint_position",
    "joint_velocity",
    "frame_position",
    "frame_rotation",
    "frame_velocity",
    "frame_angular_velocity",
]


@dataclass(frozen=True)
class Sensor(Record):
    """A quantity that a file wants measured. Read by :func:`featherweight.named_sensors`.

    gyro, accelerometer, velocimeter: angular velocity, acceleration less gravity and velocity of a frame, in its axes;
    joint_position, joint_velocity: coordinates and velocities of a joint; frame_position, frame_rotation (a matrix),
    frame_velocity, frame_angular_velocity: of a frame, in world axes.
    """

    name: str
    quantity: SensorQuantity
    of: str  # a joint, or a frame or link


@dataclass(frozen=True)
class Tendon(Record):
    """A length, the sum of coefficients times coordinates. What it has acts in the simulator.

    One with limits or dry friction runs over joints of two branches at most.

    >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
    >>> model = builder.tendon("belt", {"joint_6": 1.0, "joint_7": -0.5}).build()
    >>> model.description.tendons[0].name
    'belt'
    """

    name: str
    joints: tuple[str, ...]  # each with one degree of freedom
    coefficients: tuple[float, ...]  # [m/rad] or 1
    range: tuple[float, float] | None = None  # of the length
    stiffness: float = 0.0  # of a spring
    rest_range: tuple[float, float] | None = None  # lengths between which the spring pulls nothing; None: at zero
    damping: float = 0.0
    friction: float = 0.0  # dry friction


@dataclass(frozen=True, eq=False)
class Bend(Record):
    """A ball or a cylinder of a link, around which a strut runs where it is in the way.

    >>> post = fw.Bend(0, "world", "cylinder", 0.05, side=("world", (0.0, 0.06, 0.0)))
    >>> builder = fw.ModelBuilder().solid("ball", "sphere", (0.1,), mass=1.0)
    >>> points = [("world", (-1.0, 0.0, 0.0)), ("ball", (0.0, 0.0, 0.0))]
    >>> model = builder.strut("rope", points, stiffness=100.0, bends=[post]).build(floating_base=True)
    >>> model.description.struts[0].bends[0].radius
    0.05
    """

    span: int  # of the strut: 0 from its first point to its second
    link: str  # "world" allowed
    shape: Literal["sphere", "cylinder"]  # cylinders are endless
    radius: float  # [m]
    placement: Array = field(default_factory=identity_pose)  # on the link; z is the axis of a cylinder
    side: tuple[str, tuple[float, float, float]] | None = None  # a point of a link: past that side, or through inside


@dataclass(frozen=True, eq=False)
class Strut(Record):
    """A length along the line through points of links: with a spring, a damper, limits and dry friction of its own.

    It acts in the simulator, on the links of its ends alike, and on those in between as over a small pulley. It pulls
    its ends together with stiffness times what its length is beyond the rest range, and damping times how fast that
    grows. ``shares`` of its spans are what counts of their lengths: 0.5 where a rope is doubled, 0 where it stops and
    another begins.

    >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
    >>> points = [("world", (0.0, 0.1, 0.5)), ("link_2", (0.0, 0.1, 0.1))]
    >>> model = builder.strut("shock", points, stiffness=500.0, damping=10.0, rest_length=0.2).build()
    >>> model.description.struts[0].rest_range
    (0.2, 0.2)
    """

    name: str
    points: tuple[tuple[str, tuple[float, float, float]], ...]  # link, or "world", and position on it [m]
    stiffness: float = 0.0  # [N/m]
    damping: float = 0.0  # [N s/m]
    rest_range: tuple[float, float] = (0.0, 0.0)  # lengths between which the spring pulls nothing [m]
    range: tuple[float, float] | None = None  # of the length [m]; then it runs over links of two branches at most
    friction: float = 0.0  # dry friction [N]; likewise
    shares: tuple[float, ...] = ()  # of spans, one less than points; none: all of them are 1
    bends: tuple[Bend, ...] = ()  # one for a span at most


@dataclass(frozen=True, eq=False)
class Keyframe(Record):
    """A named state of a model, in the order of its joints and actuators.

    >>> builder = fw.ModelBuilder.from_description(fw.models.pendulum().description)
    >>> model = builder.keyframe("up", q={"hinge": [3.0]}).build()
    >>> model.keyframe("up").q
    array([3.])
    """

    name: str
    q: Array  # (nq,)
    v: Array  # (nv,)
    control: Array  # (nu,) one number for each actuator
    activation: Array  # (na,) one number for each actuator that has an activation


@dataclass(frozen=True)
class ContactPair(Record):
    """Two collision shapes that can touch with their own contact law, regardless of the filter.

    >>> builder = fw.ModelBuilder()
    >>> shapes = builder.solid("a", "sphere", (0.1,), mass=1.0).solid("b", "sphere", (0.1,), mass=1.0)
    >>> joint = builder.joint("slide", "prismatic", "a", "b", axis="x", placement=(1, 0, 0))
    >>> names = [builder._links[link].geometries[-1].name for link in "ab"]
    >>> model = builder.pair("a", names[0], "b", names[1], fw.ContactLaw(friction=0.1)).build()
    >>> model.description.pairs[0].law.friction
    0.1
    """

    link: str
    geometry: str  # name of a collision shape of that link
    other_link: str
    other_geometry: str
    law: ContactLaw


@dataclass(frozen=True, eq=False)
class Closure(Record):
    """Holds a frame of ``link`` in a frame of the link ``to``: an anchor if ``to`` is "world", otherwise a loop.

    ``rows`` are ("x", "y", "z") for a point, with "rx", "ry", "rz" for a weld, along the axes of the first frame.

    >>> builder = fw.ModelBuilder.from_description(fw.models.four_bar(closed=False).description)
    >>> model = builder.close("loop", "coupler", "rocker", placement=(0.35, 0, 0), to_placement=(0.25, 0, 0)).build()
    >>> [closure.name for closure in model.description.closures]
    ['loop']
    """

    name: str
    link: str
    to: str
    placement: Array = field(default_factory=identity_pose)  # of the frame in link
    to_placement: Array = field(default_factory=identity_pose)  # of the frame in to
    rows: tuple[str, ...] = ("x", "y", "z")


class Severity(Enum):
    """What changes because of something that an importer ignored or assumed.

    >>> model = fw.models.arm()
    >>> model.import_report.changing(fw.Severity.MOTION)
    ()
    """

    MOTION = "motion"  # the robot moves, touches or is driven otherwise than the file says: strict=True raises
    PICTURE = "picture"  # it only looks different
    NOTHING = "nothing"  # no difference, but worth knowing

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class ImportNote(Record):
    """Something that an importer ignored or assumed, and what it affects.

    >>> model = fw.loads('<robot name="r"><link name="a"><sparkle/></link></robot>', "urdf")
    >>> isinstance(model.import_report[0], fw.ImportNote)
    True
    """

    element: str  # e.g. "joint/mimic 'finger_2'"
    line: int | None
    message: str
    severity: Severity

    @property
    def honoured(self) -> bool:
        """Whether the robot still moves as the file says."""
        return self.severity is not Severity.MOTION


@dataclass(frozen=True, eq=False)
class ModelDescription(Record):
    """A forest of links. Joints are in depth-first order; ``links[i]`` is the child of ``joints[i]``.

    Every link is the child of exactly one joint: the base of a fixed robot is the child of a "fixed" joint.

    >>> description = fw.models.arm().description
    >>> len(description.links), description.joints[1].name
    (8, 'joint_1')
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...] = ()
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    notes: tuple[ImportNote, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    excludes: tuple[tuple[str, str], ...] = ()  # pairs of links whose shapes never touch
    pairs: tuple[ContactPair, ...] = ()
    closures: tuple[Closure, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    struts: tuple[Strut, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    medium: Medium | None = None  # that everything moves in


def start_of(joint: Joint) -> Array:
    """The coordinates that a joint starts with."""
    if joint.start is not None:
        return joint.start
    neutral = np.zeros(joint.nq)
    if joint.type in ("spherical", "free"):
        neutral[-1] = 1.0
    return neutral


def freeze(part: object) -> None:
    """Make all arrays in a description, or a part of one, read-only."""
    if isinstance(part, np.ndarray):
        part.setflags(write=False)
    elif isinstance(part, tuple):
        for item in part:
            freeze(item)
    elif is_dataclass(part):
        for value in vars(part).values():
            freeze(value)
