"""Models in code: :class:`ModelBuilder` checks what it is given, at the call that gives it, and orders the tree.

Everything that becomes a Model passes here: hand-written models, imported files and saved files alike, so that
there is one place where a robot is judged valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..checks import checked_name, close_names, frozen, not_negative, number, numbers, vector
from ..errors import ModelError
from .actuator_checks import checked_actuator, checked_pairs
from .composition import add_description
from .description import (
    JOINT_SIZES,
    WORLD,
    Activation,
    Actuator,
    ActuatorKind,
    Bend,
    Closure,
    ContactPair,
    Coupling,
    Frame,
    Geometry,
    ImportNote,
    Inertia,
    Joint,
    JointType,
    Link,
    Mimic,
    ModelDescription,
    Muscle,
    Sensor,
    SensorQuantity,
    Severity,
    Strut,
    Tendon,
)
from .geometry_checks import checked_fluid_shape, checked_geometry, checked_medium, checked_pose, checked_strut
from .joint_checks import AxisLike, checked_axes, checked_limits, checked_range, checked_spring, checked_start, per_dof
from .keyframes import KeyframeParts
from .materials import ContactLaw
from .medium import FluidShape, Medium
from .reference_checks import References
from .solids import Shape, nonphysical, solid_inertia

if TYPE_CHECKING:
    from .model import Model

#: The largest model. Counts of it, squared, are what the core's integers hold; what is larger is refused before work.
MAX_LINKS = MAX_DOFS = 32_000
ROOT_JOINT = "root_joint"


_ROWS = ("x", "y", "z", "rx", "ry", "rz")


class ModelBuilder:
    """Builds a model link by link. Every method returns the builder, so that calls chain.

    A link is carried by exactly one joint. One link may go without: it is the base, and ``build`` attaches it to the
    world by the joint "root_joint", fixed, or free with ``floating_base=True``. Joints are numbered depth first,
    siblings in the order they were added. Links and frames share one set of names, joints have another; "world" is
    the name of what does not move.

    An inertia that no rigid body can have raises, unless ``allow_nonphysical``: it is then kept and noted in the
    model's ``import_report``. A negative mass always raises.

    >>> builder = fw.ModelBuilder("pendulum")
    >>> _ = builder.solid("rod", "capsule", (0.02, 0.5), mass=1.0, placement=(0, 0, -0.25))
    >>> _ = builder.joint("hinge", "revolute", "world", "rod", axis="y", damping=0.1)
    >>> builder.describe().joints[0].name
    'hinge'
    """

    def __init__(
        self,
        name: str = "model",
        *,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        medium: Medium | None = None,
        allow_nonphysical: bool = False,
    ) -> None:
        self._name = checked_name("model", name)
        self._gravity = numbers(f"model '{name}'", "gravity", gravity, (3,))
        self._medium = checked_medium(f"model '{name}'", medium)
        self._allow_nonphysical = allow_nonphysical
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._carrier: dict[str, str] = {}  # link name -> name of the joint that carries it
        self._frames: dict[str, Frame] = {}
        self._notes: dict[ImportNote, None] = {}  # an ordered set
        self._actuators: dict[str, Actuator] = {}
        self._excludes: dict[tuple[str, str], None] = {}
        self._pairs: list[ContactPair] = []
        self._closures: dict[str, Closure] = {}
        self._keyframes: dict[str, KeyframeParts] = {}
        self._couplings: dict[str, Coupling] = {}
        self._tendons: dict[str, Tendon] = {}
        self._struts: dict[str, Strut] = {}
        self._sensors: dict[str, Sensor] = {}
        self._nv = 0

    @classmethod
    def from_description(cls, description: ModelDescription, *, allow_nonphysical: bool = False) -> ModelBuilder:
        """A builder that holds ``description``, all of it checked.

        >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
        >>> builder.frame("camera", "link_7", (0.05, 0.0, 0.0)).build().frame("camera").name
        'camera'
        """
        world: dict[str, Any] = {"gravity": description.gravity, "medium": description.medium}
        return cls(description.name, **world, allow_nonphysical=allow_nonphysical).add(description)

    def check_size(self, more: int) -> None:
        """Raises if ``more`` links would be too many: to be asked before the work of adding them."""
        if len(self._links) + more > MAX_LINKS:
            raise ModelError(f"model {self._name!r}", f"has more than {MAX_LINKS} links")

    # -- links ---------------------------------------------------------------------------------------------------

    def link(
        self,
        name: str,
        *,
        mass: float | None = None,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: Inertia | ArrayLike | None = None,
        geometries: Iterable[Geometry] = (),
        fluid_shapes: Iterable[FluidShape] = (),
        gravity_compensation: float = 0.0,
    ) -> ModelBuilder:
        """Add a rigid body; without ``mass`` it is massless.

        mass: [kg]; com: centre of mass in link coordinates [m]; inertia: about the centre of mass in link axes
        [kg m^2], 3x3 or its diagonal (zero, a point mass, when left out), or an :class:`Inertia` with all three.
        fluid_shapes: what a :class:`Medium` drags at; by default the box of uniform density that has the inertia.
        gravity_compensation: share of its weight that something carries; it acts in the simulator only.

        >>> builder = fw.ModelBuilder("stone").link("stone", mass=2.0, inertia=(0.1, 0.1, 0.2))
        >>> builder.build(floating_base=True).mass
        2.0
        """
        element = self._new_frame_name("link", name)
        self.check_size(1)
        if isinstance(inertia, Inertia):
            if mass is not None:
                raise ModelError(element, "give mass and inertia either separately or as one Inertia, not both")
            mass, com, inertia = inertia.mass, inertia.com, inertia.matrix
        if mass is None and inertia is not None:
            raise ModelError(element, "has an inertia but no mass")
        body = None if mass is None else self._checked_inertia(element, mass, com, inertia)
        shapes = tuple(checked_geometry(element, geometry) for geometry in geometries)
        fluid = tuple(checked_fluid_shape(element, x) for x in fluid_shapes)
        carried = number(element, "gravity_compensation", gravity_compensation)
        self._links[name] = Link(name, body, shapes, fluid, carried)
        return self

    def solid(
        self,
        name: str,
        shape: Shape,
        size: ArrayLike,
        *,
        mass: float,
        placement: ArrayLike | None = None,
        rgba: tuple[float, float, float, float] | None = None,
    ) -> ModelBuilder:
        """Add a link that is one solid of uniform density; its visual and its collision shape are the same.

        size: as in :class:`Geometry`; placement: pose of the shape in the link (4x4, or its position).
        """
        element = f"link {name!r}"
        X = checked_pose(element, "placement", placement)
        inertia = solid_inertia(shape, size, mass, X)
        dimensions = tuple(float(x) for x in np.atleast_1d(np.asarray(size, dtype=np.float64)))
        roles: tuple[Literal["visual", "collision"], ...] = ("visual", "collision")
        shapes = [Geometry(f"{name}_{role}", role, shape, dimensions, X, rgba=rgba) for role in roles]
        return self.link(name, inertia=inertia, geometries=shapes)

    # -- joints --------------------------------------------------------------------------------------------------

    def joint(
        self,
        name: str,
        type: JointType,
        parent: str,
        child: str,
        *,
        placement: ArrayLike | None = None,
        child_placement: ArrayLike | None = None,
        axis: AxisLike | None = None,
        axis2: AxisLike | None = None,
        pitch: float = 0.0,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        effort_limit: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
        limit_restitution: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        rest_position: ArrayLike | None = None,
        friction: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        mimic: Mimic | None = None,
        start: ArrayLike | None = None,
        parent_contact: bool = False,
    ) -> ModelBuilder:
        """Let ``child`` move relative to ``parent``; the links may be added before or after.

        placement: pose of the joint in the parent (4x4, or its position); child_placement: pose of the child in the
        moved joint frame; axis: direction in the joint frame ("x", "y", "z" or three numbers, normalised here);
        lower, upper: limits of q; limit_restitution: rebound speed over impact speed there, 0 to 1; start: (nq,) where
        it starts, zero by default; parent_contact: whether the shapes of both links may touch each other; the others:
        one number for all degrees of freedom of the joint, or one for each. The force of a spring is
        -stiffness (q - rest_position); ball and free joints cannot have one. Damping, springs and dry friction act in
        the simulator only: ``aba`` and the other functions of a model ignore them.
        Units as in :class:`featherweight.model.description.Joint`.
        """
        element = f"joint {checked_name('joint', name)!r}"
        if name in self._joints:
            raise ModelError(element, "the name is used twice")
        if type not in JOINT_SIZES:
            raise ModelError(element, f"unknown type {type!r}, the types are {', '.join(JOINT_SIZES)}")
        if child == WORLD:
            raise ModelError(element, "the world cannot be a child")
        if child in self._carrier:
            raise ModelError(
                element, f"link {child!r} has two parents: it is the child of joint {self._carrier[child]!r} already"
            )
        if parent == child:
            raise ModelError(element, f"link {child!r} is its own parent")
        nv = JOINT_SIZES[type][1]
        if self._nv + nv > MAX_DOFS:
            raise ModelError(f"model {self._name!r}", f"has more than {MAX_DOFS} degrees of freedom")
        axes = checked_axes(element, type, axis, axis2)
        if pitch != 0.0 and type != "helical":
            raise ModelError(element, f"pitch belongs to helical joints, not to {type}")
        if mimic is not None:
            if nv != 1:
                raise ModelError(element, f"a {type} joint cannot mimic: it has {nv} degrees of freedom, not one")
            mimic = Mimic(
                mimic.joint,
                number(element, "mimic multiplier", mimic.multiplier),
                number(element, "mimic offset", mimic.offset),
            )
        low, up = checked_limits(element, type, lower, upper)
        k, rest = checked_spring(element, type, stiffness, rest_position)
        self._joints[name] = Joint(
            name=name,
            type=type,
            parent=checked_name(f"parent of {element}", parent),
            child=checked_name(f"child of {element}", child),
            placement=checked_pose(element, "placement", placement),
            child_placement=checked_pose(element, "child_placement", child_placement),
            axis=axes[0],
            axis2=axes[1],
            pitch=number(element, "pitch", pitch),
            lower=low,
            upper=up,
            effort_limit=per_dof(element, "effort_limit", effort_limit, nv, allow_infinite=True),
            velocity_limit=per_dof(element, "velocity_limit", velocity_limit, nv, allow_infinite=True),
            limit_restitution=per_dof(element, "limit_restitution", limit_restitution, nv, most=1.0),
            damping=per_dof(element, "damping", damping, nv),
            stiffness=k,
            rest_position=rest,
            friction=per_dof(element, "friction", friction, nv),
            armature=per_dof(element, "armature", armature, nv),
            mimic=mimic,
            start=checked_start(element, type, start),
            parent_contact=bool(parent_contact),
        )
        self._nv += nv
        self._carrier[child] = name
        return self

    # -- motors, contacts, closures ------------------------------------------------------------------------------

    def actuator(
        self,
        name: str,
        joint: str | None,
        kind: ActuatorKind = "motor",
        *,
        gear: float = 1.0,
        kp: float = 1.0,
        kd: float = 0.0,
        ctrl_range: tuple[float, float] | None = None,
        force_range: tuple[float, float] | None = None,
        bias: tuple[float, float, float] = (0.0, 0.0, 0.0),
        others: Iterable[tuple[str, float]] = (),
        slopes: tuple[float, float] = (0.0, 0.0),
        muscle: Muscle | None = None,
        activation: Activation | None = None,
        frame: str | None = None,
        wrench: ArrayLike = (),
        strut: str | None = None,
        sticky: str | None = None,
        reach: float = 0.0,
    ) -> ModelBuilder:
        """Add an actuator to ``joint``, with one degree of freedom, or to something else. See :class:`Actuator`.

        >>> builder = fw.ModelBuilder("wheel").solid("wheel", "cylinder", (0.1, 0.04), mass=1.0)
        >>> _ = builder.joint("axle", "continuous", "world", "wheel", axis="z").actuator("motor", "axle", gear=20.0)
        >>> sim = fw.Simulator(builder.build())
        >>> bool(sim.step(sim.state(), control=[0.1]).v > 0.0)
        True
        """
        element = f"actuator {checked_name('actuator', name)!r}"
        if name in self._actuators:
            raise ModelError(element, "the name is used twice")
        self._actuators[name] = checked_actuator(
            element,
            Actuator(
                name,
                joint,
                kind,
                gear,
                kp,
                kd,
                ctrl_range,
                force_range,
                bias,
                tuple(others),
                slopes,
                muscle,
                activation,
                frame,
                cast(Any, wrench),
                strut,
                sticky,
                reach,
            ),
        )
        return self

    def exclude(self, link: str, other: str) -> ModelBuilder:
        """Prevent the shapes of two links from touching.

        >>> builder = fw.ModelBuilder.from_description(fw.models.quadruped().description)
        >>> builder.exclude("front_left_foot", "front_right_foot").build().description.excludes
        (('front_left_foot', 'front_right_foot'),)
        """
        element = f"contact exclusion of {link!r} and {other!r}"
        self._excludes[checked_name(element, link), checked_name(element, other)] = None
        return self

    def pair(self, link: str, geometry: str, other_link: str, other_geometry: str, law: ContactLaw) -> ModelBuilder:
        """Let two collision shapes, given by link and name, touch with their own law, regardless of the filter.

        >>> builder = fw.ModelBuilder.from_description(fw.models.quadruped().description)
        >>> left, right = (f"front_{side}_foot" for side in ("left", "right"))
        >>> builder = builder.pair(left, f"{left}_collision", right, f"{right}_collision", fw.ContactLaw(friction=0.2))
        >>> builder.build().description.pairs[0].law.friction
        0.2
        """
        if not isinstance(law, ContactLaw):
            raise ModelError(f"contact pair of {geometry!r} and {other_geometry!r}", f"needs a ContactLaw, got {law!r}")
        self._pairs.append(ContactPair(link, geometry, other_link, other_geometry, law))
        return self

    def close(
        self,
        name: str,
        link: str,
        to: str,
        *,
        placement: ArrayLike | None = None,
        to_placement: ArrayLike | None = None,
        rows: Iterable[str] = ("x", "y", "z"),
    ) -> ModelBuilder:
        """Hold a frame of ``link`` in one of the link ``to`` ("world" allowed). Arguments as in :class:`Closure`.

        >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
        >>> model = builder.close("held", "link_7", "world", to_placement=(0.3, 0.0, 0.9)).build()
        >>> int(fw.mobility(model, np.full(7, 0.3), fw.constraints_of(model)).dof)  # of seven
        4
        """
        element = f"closure {checked_name('closure', name)!r}"
        if name in self._closures:
            raise ModelError(element, "the name is used twice")
        closed = tuple(rows)
        if not closed or len(set(closed)) != len(closed) or not set(closed) <= set(_ROWS):
            raise ModelError(element, f"rows must be distinct and among {', '.join(_ROWS)}, got {closed!r}")
        if link == to:
            raise ModelError(element, f"both ends are on link {link!r}")
        self._closures[name] = Closure(
            name,
            link,
            to,
            checked_pose(element, "placement", placement),
            checked_pose(element, "to_placement", to_placement),
            closed,
        )
        return self

    def couple(
        self,
        name: str,
        joint: str,
        to: str | None,
        polynomial: Iterable[float],
        others: Iterable[tuple[str, float]] = (),
    ) -> ModelBuilder:
        """Let a joint follow another, or several. Arguments as in :class:`Coupling`.

        >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
        >>> model = builder.couple("gear", "joint_2", "joint_1", (0.1, -2.0)).build()  # q_2 = 0.1 - 2 q_1
        >>> model.description.couplings[0].polynomial
        (0.1, -2.0)
        """
        element = f"coupling {checked_name('coupling', name)!r}"
        if name in self._couplings:
            raise ModelError(element, "the name is used twice")
        coefficients = tuple(number(element, "polynomial", x) for x in polynomial)
        more = checked_pairs(element, others)
        names = [joint, *filter(None, (to,)), *(other for other, _ in more)]
        if len(set(names)) != len(names):
            raise ModelError(element, f"couples joints, each of them once, got {', '.join(map(repr, names))}")
        if more and any(coefficients[2:]):
            raise ModelError(element, "with more than two joints the polynomial must be of first degree")
        self._couplings[name] = Coupling(name, joint, to, coefficients, more)
        return self

    def tendon(
        self,
        name: str,
        joints: Mapping[str, float],
        *,
        range: tuple[float, float] | None = None,
        stiffness: float = 0.0,
        rest_range: tuple[float, float] | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
    ) -> ModelBuilder:
        """Add a fixed tendon over several joints. Arguments as in :class:`Tendon`.

        >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
        >>> model = builder.tendon("belt", {"joint_2": 1.0, "joint_4": -1.0}, stiffness=30.0).build()
        >>> model.description.tendons[0].name
        'belt'
        """
        element = f"tendon {checked_name('tendon', name)!r}"
        if name in self._tendons:
            raise ModelError(element, "the name is used twice")
        self._tendons[name] = Tendon(
            name,
            tuple(checked_name(f"joint of {element}", joint) for joint in joints),
            tuple(number(element, f"coefficient of {joint!r}", x) for joint, x in joints.items()),
            checked_range(element, "range", range),
            not_negative(element, "stiffness", stiffness),
            checked_range(element, "rest_range", rest_range),
            not_negative(element, "damping", damping),
            not_negative(element, "friction", friction),
        )
        return self

    def strut(
        self,
        name: str,
        points: Iterable[tuple[str, ArrayLike]],
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest_length: float | tuple[float, float] = 0.0,
        range: tuple[float, float] | None = None,
        friction: float = 0.0,
        shares: Iterable[float] = (),
        bends: Iterable[Bend] = (),
    ) -> ModelBuilder:
        """Put a spring and a damper, limits or dry friction between points of links: two, or a line through more.

        points: link ("world" allowed) and position on it [m]; stiffness [N/m], damping [N s/m]; rest_length: [m], or a
        range of lengths in which it is slack: ``(0.0, length)`` is a spring that pulls and does not push. Others as in
        :class:`Strut`: ``range=(0.0, length)`` is a rope.

        >>> ball = fw.ModelBuilder("ball on a spring").solid("ball", "sphere", (0.05,), mass=1.0)
        >>> ball = ball.strut("spring", [("world", (0, 0, 1)), ("ball", (0, 0, 0))], stiffness=100.0, rest_length=0.9)
        >>> ball.build(floating_base=True).description.struts[0].stiffness
        100.0
        """
        element = f"strut {checked_name('strut', name)!r}"
        if name in self._struts:
            raise ModelError(element, "the name is used twice")
        lines = cast(Any, tuple(points))
        law = Strut(
            name,
            lines,
            stiffness,
            damping,
            range=range,
            friction=friction,
            shares=tuple(shares),
            bends=tuple(bends),
        )
        self._struts[name] = checked_strut(element, law, rest_length)
        return self

    def rotor(
        self, name: str, joint: str, ratio: float, *, inertia: float, mass: float, across: float | None = None
    ) -> ModelBuilder:
        """Let a rotor spin ``ratio`` times as fast as a revolute joint that was added before, carried by its parent.

        It is a link and a continuous joint ``name`` about the same axis, with a coupling of that name: all of its
        momentum counts, where ``armature`` has the part along the joint only. inertia: about its axis [kg m^2], as it
        is, not as the joint feels it; across: about the others, half of it and more (by default that of a sphere).

        >>> arm = fw.ModelBuilder("arm").solid("rod", "capsule", (0.02, 0.5), mass=1.0)
        >>> arm = arm.joint("hinge", "revolute", "world", "rod", axis="y")
        >>> arm = arm.rotor("drive", "hinge", 100, inertia=1e-5, mass=0.1)
        >>> arm.describe().couplings[0].polynomial
        (0.0, 100.0)
        """
        self._add_rotor(f"rotor {name!r}", name, joint, inertia, mass, across)
        return self.couple(name, name, joint, (0.0, number(f"rotor {name!r}", "ratio", ratio)))

    def series_elastic(
        self,
        name: str,
        joint: str,
        *,
        stiffness: float,
        inertia: float,
        mass: float,
        ratio: float = 1.0,
        damping: float = 0.0,
    ) -> ModelBuilder:
        """Drive a revolute joint that was added before through a spring: a motor that turns by itself.

        The motor is a link and a continuous joint ``name``, to which actuators belong. Behind a gear of ``ratio`` it
        pulls at the joint with stiffness (q_motor / ratio - q) [N m/rad], and ``damping`` times its rate [N m s/rad]:
        a series elastic actuator, or the flexibility of a harmonic drive. inertia, mass: of the rotor as it is.

        >>> arm = fw.ModelBuilder("arm").solid("rod", "capsule", (0.02, 0.5), mass=1.0)
        >>> arm = arm.joint("hinge", "revolute", "world", "rod", axis="y")
        >>> arm = arm.series_elastic("motor", "hinge", stiffness=300.0, inertia=1e-5, mass=0.1, ratio=50.0)
        >>> arm.build().nv
        2
        """
        element = f"series elastic {name!r}"
        ratio = number(element, "ratio", ratio)
        if ratio == 0.0:
            raise ModelError(element, "ratio must not be zero")
        self._add_rotor(element, name, joint, inertia, mass, None)
        spring = {"stiffness": stiffness, "damping": damping, "rest_range": (0.0, 0.0)}
        return self.tendon(f"{name}_spring", {joint: 1.0, name: -1.0 / ratio}, **cast(Any, spring))

    def _add_rotor(
        self, element: str, name: str, joint: str, inertia: float, mass: float, across: float | None
    ) -> None:
        driven = self._joints.get(joint)
        if driven is None:
            raise ModelError(element, f"drives an unknown joint {joint!r}{close_names(joint, self._joints)}")
        if driven.axis is None or driven.type not in ("revolute", "continuous"):
            raise ModelError(element, f"drives joint {joint!r}, which is {driven.type}, not revolute")
        about = not_negative(element, "inertia", inertia)
        other = about if across is None else not_negative(element, "across", across)
        axis = np.outer(driven.axis, driven.axis)
        self.link(name, mass=mass, inertia=about * axis + other * (np.eye(3) - axis))
        at = driven.placement
        self.joint(name, "continuous", driven.parent, name, placement=at, axis=driven.axis)

    def sensor(self, name: str, quantity: SensorQuantity, of: str) -> ModelBuilder:
        """Add a named sensor. Arguments as in :class:`featherweight.model.description.Sensor`.

        >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
        >>> sim = fw.Simulator(builder.sensor("angle", "joint_position", "joint_2").build())
        >>> fw.named_sensors(sim)["arm/angle"].read(sim.state())
        array([0.])
        """
        element = f"sensor {checked_name('sensor', name)!r}"
        if name in self._sensors:
            raise ModelError(element, "the name is used twice")
        if quantity not in get_args(SensorQuantity):
            known = ", ".join(get_args(SensorQuantity))
            raise ModelError(element, f"unknown quantity {quantity!r}, they are {known}")
        self._sensors[name] = Sensor(name, quantity, of)
        return self

    def keyframe(
        self,
        name: str,
        *,
        q: Mapping[str, ArrayLike] | None = None,
        v: Mapping[str, ArrayLike] | None = None,
        control: Mapping[str, float] | None = None,
        activation: Mapping[str, float] | None = None,
    ) -> ModelBuilder:
        """Name a state to start from: coordinates and velocities by joint, controls and activations by actuator.

        Joints that are not named are at their initial positions and at rest; controls and activations of other
        actuators are zero. Several calls for the same keyframe add to it.

        >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
        >>> sim = fw.Simulator(builder.keyframe("bent", q={"joint_2": 0.5, "joint_4": 1.0}).build())
        >>> sim.state(keyframe="bent").q
        array([0. , 0.5, 0. , 1. , 0. , 0. , 0. ])
        """
        parts = self._keyframes.setdefault(checked_name("keyframe", name), KeyframeParts(name))
        for kept, given in (
            (parts.q, q),
            (parts.v, v),
            (parts.control, control),
            (parts.activation, activation),
        ):
            kept.update(cast(Any, given or {}))
        return self

    # -- frames, whole models, notes -----------------------------------------------------------------------------

    def frame(self, name: str, link: str, placement: ArrayLike | None = None) -> ModelBuilder:
        """Name a pose fixed to ``link`` ("world" allowed), e.g. a tool or a foot.

        >>> builder = fw.ModelBuilder("rod").solid("rod", "capsule", (0.01, 1.0), mass=1.0)
        >>> rod = builder.frame("tip", "rod", (0, 0, 0.5)).build(floating_base=True)
        >>> fw.frame_placement(rod, rod.neutral(), "tip")[:3, 3]
        array([0. , 0. , 0.5])
        """
        element = self._new_frame_name("frame", name)
        self._frames[name] = Frame(
            name, checked_name(f"link of {element}", link), checked_pose(element, "placement", placement)
        )
        return self

    def add(
        self,
        model: Model | ModelDescription,
        *,
        prefix: str = "",
        parent: str = WORLD,
        placement: ArrayLike | None = None,
        floating: bool | None = None,
    ) -> ModelBuilder:
        """Add all of another model: a second robot, a free body, a gripper on a flange.

        prefix: put before all its names; parent, placement: where its world is, in this model; floating: True frees
        the roots that it fixes to its world, False fixes those that it leaves free, None keeps them.
        Gravity stays the builder's.

        >>> both = fw.ModelBuilder("two arms")
        >>> for side, y in (("left_", 0.3), ("right_", -0.3)):
        ...     both = both.add(fw.models.arm(), prefix=side, placement=(0.0, y, 0.0))
        >>> both.build().joint_names[6:9]
        ('left_joint_7', 'right_joint_1', 'right_joint_2')
        """
        description: ModelDescription = model if isinstance(model, ModelDescription) else model.description
        self.check_size(len(description.links))
        add_description(self, description, prefix, parent, placement, floating)
        if not np.array_equal(description.gravity, self._gravity):
            message = f"gravity {vector(description.gravity)} is replaced by this model's {vector(self._gravity)}"
            self.note(ImportNote(f"model {description.name!r}", None, message, Severity.NOTHING))
        if description.medium is not None and description.medium != self._medium:
            message = f"its {description.medium} is replaced by this model's {self._medium or 'empty space'}"
            self.note(ImportNote(f"model {description.name!r}", None, message, Severity.NOTHING))
        return self

    def note(self, note: ImportNote) -> ModelBuilder:
        """Record what an importer decided or left out; the same note twice is kept once."""
        self._notes[note] = None
        return self

    # -- results -------------------------------------------------------------------------------------------------

    def build(self, *, floating_base: bool = False) -> Model:
        """The compiled model; ``floating_base`` frees the base (the link without a joint).

        >>> builder = fw.ModelBuilder("ball").solid("ball", "sphere", (0.1,), mass=1.0)
        >>> builder.build().nv, builder.build(floating_base=True).nv
        (0, 6)
        """
        from .model import Model  # model.py checks descriptions with this module

        return Model._from_checked(self.describe(floating_base=floating_base))

    def describe(self, *, floating_base: bool = False) -> ModelDescription:
        """The model as plain records, checked and in depth-first order."""
        if not self._links:
            raise ModelError(f"model {self._name!r}", "has no links")
        self._check_references()
        joints = self._joints_with_root(floating_base)
        children: dict[str, list[Joint]] = {name: [] for name in (WORLD, *self._links)}
        for joint in joints:
            children[joint.parent].append(joint)
        ordered: list[Joint] = []
        pending = children[WORLD][::-1]
        while pending:  # a stack, not recursion: chains are deep
            joint = pending.pop()
            ordered.append(joint)
            pending += reversed(children[joint.child])
        if len(ordered) < len(joints):
            raise self._loop_error(joints, ordered)
        return ModelDescription(
            name=self._name,
            links=tuple(self._links[joint.child] for joint in ordered),
            joints=tuple(ordered),
            frames=tuple(self._frames.values()),
            gravity=self._gravity,
            medium=self._medium,
            notes=tuple(self._notes),
            actuators=tuple(self._actuators.values()),
            excludes=tuple(self._excludes),
            pairs=tuple(self._pairs),
            closures=tuple(self._closures.values()),
            couplings=tuple(self._couplings.values()),
            tendons=tuple(self._tendons.values()),
            struts=tuple(self._struts.values()),
            sensors=tuple(self._sensors.values()),
            keyframes=tuple(parts.joined(ordered, self._actuators) for parts in self._keyframes.values()),
        )

    def link_names(self) -> list[str]:
        """Links added so far."""
        return list(self._links)

    def root_links(self) -> list[str]:
        """Links that no joint carries, in the order they were added."""
        return [name for name in self._links if name not in self._carrier]

    # -- checks --------------------------------------------------------------------------------------------------

    def _joints_with_root(self, floating_base: bool) -> list[Joint]:
        joints, roots = list(self._joints.values()), self.root_links()
        if len(roots) > 1:
            listed = ", ".join(repr(name) for name in roots[:5]) + (", ..." if len(roots) > 5 else "")
            raise ModelError(
                f"link {roots[1]!r}",
                f"has no joint. Only one link, the base, may have none; here {len(roots)} do: {listed}. "
                'Give each a joint with parent "world", "fixed" or "free"',
            )
        if not roots:
            if floating_base:
                raise ModelError(
                    f"model {self._name!r}", "floating_base needs a base, but every link has a joint already"
                )
            return joints
        name = ROOT_JOINT if ROOT_JOINT not in self._joints else f"{roots[0]}_{ROOT_JOINT}"
        if name in self._joints:
            raise ModelError(f"joint {name!r}", f"the name is needed for the joint of the base {roots[0]!r}")
        return [Joint(name, "free" if floating_base else "fixed", WORLD, roots[0]), *joints]

    def _new_frame_name(self, kind: str, name: str) -> str:
        element = f"{kind} {checked_name(kind, name)!r}"
        if name == WORLD:
            raise ModelError(element, 'the name "world" is reserved for what does not move')
        for other, names in (("link", self._links), ("frame", self._frames)):
            if name in names:
                raise ModelError(element, f"the name is used twice: a {other} has it already")
        return element

    def _checked_inertia(self, element: str, mass: float, com: ArrayLike, matrix: ArrayLike | None) -> Inertia | None:
        mass = number(element, "mass", mass)
        if mass < 0.0:
            raise ModelError(element, f"mass must not be negative, got {mass:g}")
        center = numbers(element, "com", com, (3,))
        if matrix is None:
            moments = frozen(np.zeros((3, 3)))
        elif np.shape(cast(Any, matrix)) == (3,):
            moments = frozen(np.diag(numbers(element, "inertia", matrix, (3,))))
        else:
            moments = numbers(element, "inertia", matrix, (3, 3), "3x3 numbers or its 3 diagonal ones")
        scale = float(np.abs(moments).max())
        if np.abs(moments - moments.T).max() > 1e-9 * scale:
            raise ModelError(element, f"inertia must be symmetric, got {moments.tolist()}")
        if not np.array_equal(moments, moments.T):  # rounding of a product of matrices
            moments = frozen(0.5 * moments + 0.5 * moments.T)
        if scale == 0.0 and mass == 0.0:
            return None
        problem = nonphysical(mass, moments)
        if problem is not None:
            if not self._allow_nonphysical:
                raise ModelError(element, f"{problem} (allow_nonphysical=True keeps it)")
            self.note(ImportNote(element, None, f"kept unchanged, though {problem}", Severity.MOTION))
        return Inertia(mass, center, moments)

    def _check_references(self) -> None:
        references = References(self._links, self._joints, self._frames, self._struts)
        references.check_tree()
        for actuator in self._actuators.values():
            references.check_actuator(actuator)
        references.check_couplings(self._couplings.values())
        for tendon in self._tendons.values():
            references.check_tendon(tendon)
        for strut in self._struts.values():
            references.check_strut(strut)
        for sensor in self._sensors.values():
            references.check_sensor(sensor)
        for link, other in self._excludes:
            references.check_exclusion(link, other)
        for pair in self._pairs:
            references.check_pair(pair)
        for closure in self._closures.values():
            references.check_closure(closure)

    def _loop_error(self, joints: list[Joint], reached: list[Joint]) -> ModelError:
        """Walk up from a joint that the world does not reach until one repeats: that is the loop."""
        seen: dict[str, None] = {}
        ok = {joint.name for joint in reached}
        joint = next(joint for joint in joints if joint.name not in ok)
        while joint.name not in seen:
            seen[joint.name] = None
            joint = self._joints[self._carrier[joint.parent]]
        names = list(seen)
        loop = names[names.index(joint.name) :][::-1]
        path = " -> ".join(repr(name) for name in loop[:10]) + (" -> ..." if len(loop) > 10 else "")
        return ModelError(f"joint {joint.name!r}", f"is part of a loop that is not attached to the world: {path}")
