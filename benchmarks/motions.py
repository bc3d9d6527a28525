"""What is simulated in the benchmark: robots on servos, a stack, with initial states and targets for a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

import featherweight as fw
from benchmarks.robots import Robot
from featherweight import Actuator, CompiledScene, Geometry, Material, ModelDescription, pose
from featherweight.arrays import Array
from featherweight.model.poses import quaternion_from_rotation, rotation_from_rpy

if TYPE_CHECKING:  # commits that this one is timed beside have it elsewhere
    from featherweight.simulation.core_arguments import Integrator

DT = 2e-3  # [s]
FRICTION = 0.8
GROUND = Material(friction=FRICTION)
LEGS = ("front_left", "front_right", "hind_left", "hind_right")


@dataclass(frozen=True, eq=False)
class Motion:
    """A scene, where a batch of environments starts, and the targets of its servos."""

    name: str
    scene: CompiledScene
    height: int  # the coordinate that is watched: the height of a body, index in q
    q: Array  # (batch, nq)
    v: Array  # (batch, nv)
    control: Array | None  # (batch, steps, nu) [rad]; None: nothing is driven
    steps: int
    integrator: Integrator = "semi_implicit"
    setting: str = "semi_implicit"  # the integrator, and what else there is

    def first(self, count: int) -> Motion:
        """The first environments alone."""
        control = None if self.control is None else self.control[:count]
        return replace(self, q=self.q[:count], v=self.v[:count], control=control)


@dataclass(frozen=True)
class Legged:
    """How a robot stands and what it stands on. Angles in rad, lengths in m."""

    stance: dict[str, float]  # by joint; the others are at zero, or as near as their limits allow
    gait: tuple[
        tuple[str, ...], ...
    ] = ()  # joints that lift each leg; the first and last leg together, then the others
    feet: tuple[str, ...] = ()  # links with a sphere each
    radius: float = 0.022
    soles: tuple[tuple[str, Array], ...] = ()  # link, and the pose of the sole in it: spheres at its corners
    sole: tuple[float, float] = (0.2, 0.1)
    stiffness: float = 0.0  # of the servos [N m/rad]; zero: `firmness` times what the motor can do
    damping: float = 0.0  # of the servos [N m s/rad]
    firmness: float = 5.0  # [1/rad]


def _quadruped(
    names: tuple[str, ...], joints: tuple[str, str], feet: str, angles: tuple[float, ...], **rest: float
) -> Legged:
    hinges = [tuple(f"{leg}{joint}" for joint in joints) for leg in names]
    stance = {
        joint: angle * sign
        for leg, sign in zip(hinges, angles[2:], strict=True)
        for joint, angle in zip(leg, angles[:2], strict=True)
    }
    return Legged(stance, tuple(hinges), tuple(f"{leg}{feet}" for leg in names), **rest)  # type: ignore[arg-type]


def _talos() -> Legged:
    bend = {"3": -0.4, "4": 0.8, "5": -0.4}
    stance = {f"leg_{side}_{n}_joint": angle for side in ("left", "right") for n, angle in bend.items()}
    soles = tuple((f"{side}_sole_link", pose()) for side in ("left", "right"))
    return Legged(stance, soles=soles, radius=0.01, sole=(0.2, 0.12))


def _humanoid() -> Legged:
    bend = {"thigh": -0.3, "shin": 0.6, "ankle": -0.3}
    stance = {f"{side}_{part}_joint": angle for side in ("left", "right") for part, angle in bend.items()}
    soles = tuple((f"{side}_foot", pose((0.04, 0.0, -0.08))) for side in ("left", "right"))
    return Legged(stance, soles=soles, radius=0.01, sole=(0.22, 0.1))


FORWARD = (0.8, -1.6, 1.0, 1.0, 1.0, 1.0)  # thigh, calf, and the sense of all four legs
INWARD = (0.6, -1.2, 1.0, 1.0, -1.0, -1.0)
LEGGED = {
    "quadruped": _quadruped(LEGS, ("_thigh_joint", "_calf_joint"), "_foot", FORWARD, stiffness=60.0, damping=1.5),
    "Go2": _quadruped(
        ("FL", "FR", "RL", "RR"), ("_thigh_joint", "_calf_joint"), "_foot", FORWARD, stiffness=60.0, damping=1.5
    ),
    "ANYmal": _quadruped(
        ("LF", "RF", "LH", "RH"), ("_HFE", "_KFE"), "_FOOT", INWARD, radius=0.031, stiffness=200.0, damping=5.0
    ),
    "humanoid": _humanoid(),
    "Talos": _talos(),
}
STACKED = 10
#: Robots that run as the documentation of the simulator says, too, on spheres where they have any or are given some.
DOCUMENTED = ("quadruped", "humanoid")


def load_motions(robots: Iterable[Robot], batch: int, steps: int) -> Iterator[Motion]:
    """Of those robots that have any: on their feet alone, and with all their shapes where those are simple."""
    for robot in robots:
        if robot.name in LEGGED:
            legged = LEGGED[robot.name]
            what = "8 corners" if legged.soles else "feet"
            yield legged_motion(f"{robot.name}, {what}", robot.model, legged, batch, steps)
            if robot.name in DOCUMENTED:
                yield documented_motion(robot.model, legged, batch, steps)
            if robot.name == "quadruped":
                yield legged_motion("quadruped, all shapes", robot.model, legged, batch, steps, all_shapes=True)
                yield legged_motion("quadruped, feet, dry joints", robot.model, legged, batch, steps, dry=True)


def legged_motion(
    name: str,
    model: fw.Model,
    legged: Legged,
    batch: int,
    steps: int,
    *,
    all_shapes: bool = False,
    dry: bool = False,
    touches_itself: bool = False,
    integrator: Integrator = "semi_implicit",
    seed: int = 0,
) -> Motion:
    """Dropped near its stance; then it trots on the spot, each environment at its own pace, or holds still.

    all_shapes: with the collision shapes of the model instead of spheres, but for soles; dry: with the dry friction of
    its joints;
    touches_itself: with all pairs of shapes, those of its own links included.
    """
    rng = np.random.default_rng(seed)
    stance = _stance(model, legged)
    robot = _on_servos(model, stance, legged, all_shapes, dry, touches_itself)
    scene = fw.Scene(ground=fw.Plane(material=GROUND))
    scene.add(robot, name="robot")
    compiled = scene.compile()
    root = robot.joints[0]
    hinges = [joint for joint in robot.joints if joint.nv == 1]
    angles, rates = [j.q_slice.start for j in hinges], [j.v_slice.start for j in hinges]
    lively = 1.0 if legged.gait else 0.1
    q, v = np.tile(stance, (batch, 1)), np.zeros((batch, robot.nv))
    drop = lively * rng.uniform(0.0, 0.05, batch)
    tilts = rotations(lively * rng.uniform(-0.1, 0.1, (batch, 3)))
    q[:, root.q_slice][:, 3:] = tilts
    q[:, angles] += lively * rng.uniform(-0.1, 0.1, (batch, len(angles)))
    q[:, angles] = np.clip(q[:, angles], robot.lower[angles], robot.upper[angles])
    q[:, 2] += drop - _lowest(compiled, q)
    v[:, root.v_slice] = lively * rng.normal(0.0, 0.3, (batch, 6))
    v[:, rates] = lively * rng.normal(0.0, 0.5, (batch, len(rates)))
    control = np.tile(stance[angles], (batch, steps, 1))
    pace, phase = 2.0 * np.pi * rng.uniform(1.5, 2.5, (batch, 1)), rng.uniform(0.0, 2.0 * np.pi, (batch, 1))
    names = [joint.name for joint in hinges]
    for leg, joints in enumerate(legged.gait):
        turn = np.sin(pace * DT * np.arange(steps) + phase + (0.0, np.pi, np.pi, 0.0)[leg])
        for joint in joints:  # bent more by up to a third: the foot rises under the hip
            control[:, :, names.index(joint)] *= 1.0 + np.clip(turn, 0.0, None) / 3.0
    rest = [word for word, some in (("dry joints", dry), ("self-collision", touches_itself)) if some]
    setting = ", ".join([integrator, *rest])
    return Motion(name, compiled, root.q_slice.start + 2, q, v, control, steps, integrator, setting)


def documented_motion(model: fw.Model, legged: Legged, batch: int, steps: int) -> Motion:
    """As the first example of docs/simulator.md: implicit servos, dry friction, every shape against every other."""
    return legged_motion(
        f"{model.name}, as documented",
        model,
        legged,
        batch,
        steps,
        all_shapes=True,
        dry=True,
        touches_itself=True,
        integrator="implicit",
    )


def stack(batch: int, steps: int, seed: int = 0) -> Motion:
    """Ten boxes one on the other, each some millimetres off the middle of the one below."""
    rng = np.random.default_rng(seed)
    scene = fw.Scene(ground=fw.Plane(material=GROUND))
    for k in range(STACKED):
        scene.add(fw.box((0.2, 0.2, 0.1), density=500.0, material=GROUND), name=f"box_{k}", pose=(0, 0, 0.05 + 0.1 * k))
    compiled = scene.compile()
    q = np.tile(compiled.q0, (batch, 1))
    for k in range(STACKED):
        q[:, 7 * k : 7 * k + 2] += rng.uniform(-0.005, 0.005, (batch, 2))
    return Motion("ten boxes", compiled, 7 * STACKED - 5, q, np.zeros((batch, 6 * STACKED)), None, steps)


def rotations(rpy: Array) -> Array:
    """Quaternions xyzw, (batch, 4)."""
    return np.array([quaternion_from_rotation(rotation_from_rpy(angles)) for angles in rpy])


def _stance(model: fw.Model, legged: Legged) -> Array:
    """(nq,), the base at the origin."""
    q = np.array(model.neutral())
    for joint in model.joints:
        if joint.nv == 1:
            q[joint.q_slice] = np.clip(legged.stance.get(joint.name, 0.0), joint.lower + 0.1, joint.upper - 0.1)
    return q


def _on_servos(
    model: fw.Model, stance: Array, legged: Legged, all_shapes: bool, dry: bool, touches_itself: bool
) -> fw.Model:
    """The robot with a servo on each joint, and shapes that touch the ground and, if asked for, each other."""
    description = model.description
    shapes: dict[str, list[Geometry]] = {link.name: [] for link in description.links}
    for link in description.links:
        if all_shapes and link.name not in dict(legged.soles):
            shapes[link.name] = [shape for shape in link.geometries if shape.role == "collision"]
    for foot in legged.feet if not all_shapes else ():
        shapes[foot].append(Geometry("foot", "collision", "sphere", (legged.radius,)))
    for sole, at in legged.soles:
        shapes[sole] += _corners(at, legged)
    touching = {
        name: tuple(replace(shape, material=GROUND, contype=1, conaffinity=1 if touches_itself else 0) for shape in own)
        for name, own in shapes.items()
    }
    links = tuple(replace(link, geometries=touching[link.name]) for link in description.links)
    joints = tuple(
        replace(joint, velocity_limit=None, friction=joint.friction if dry else None) for joint in description.joints
    )
    servos = tuple(_servos(model, stance, legged))
    plain = ModelDescription(
        description.name,
        links,
        joints,
        gravity=description.gravity,
        actuators=servos,
        excludes=description.excludes,
    )
    return fw.ModelBuilder.from_description(plain, allow_nonphysical=True).build()  # it was judged when it was loaded


def _corners(at: Array, legged: Legged) -> list[Geometry]:
    (x, y), r = legged.sole, legged.radius
    places = [(sx * 0.5 * x, sy * 0.5 * y, r) for sx in (-1, 1) for sy in (-1, 1)]
    return [Geometry(f"corner_{k}", "collision", "sphere", (r,), at @ pose(place)) for k, place in enumerate(places)]


def _servos(model: fw.Model, stance: Array, legged: Legged) -> Iterator[Actuator]:
    """As stiff as asked for, or as the motors are strong, but never too stiff for explicit steps."""
    inertia = 1.0 / np.diag(np.linalg.inv(np.asarray(fw.crba(model, stance))))
    for joint in model.joints:
        if joint.nv == 1:
            own = float(inertia[joint.v_slice][0])
            kp = min(legged.stiffness or legged.firmness * float(joint.effort_limit[0]), 0.1 * own / DT**2)
            kd = min(legged.damping or kp / 50.0, 0.5 * own / DT)
            yield Actuator(f"{joint.name}_servo", joint.name, "position", kp=kp, kd=kd)


def _lowest(scene: CompiledScene, q: Array) -> Array:
    """Height of the lowest sphere of the robot above the ground, (batch,)."""
    placements = np.asarray(fw.forward_kinematics(scene.model, q))
    spheres = [shape for shape in scene.shapes if shape.kind == "sphere"]
    bottoms = np.array([(placements[:, s.link] @ s.placement)[:, 2, 3] - s.size[0] for s in spheres])
    lowest: Array = bottoms.min(axis=0)
    return lowest
