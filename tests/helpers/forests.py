"""Random robots: forests over every joint type, described rather than compiled.

A :class:`Forest` is a short plan (which joints, where, how aligned) and a seed for the numbers. Hypothesis shrinks the
plan, so that a failure is reported on the smallest forest that shows it, and the ``repr`` of that forest rebuilds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from hypothesis import strategies as st

from featherweight import Inertia, ModelDescription
from featherweight.arrays import Array
from featherweight.model.description import JOINT_SIZES, Frame, Joint, JointType, Link
from featherweight.reference.spatial import pose, quaternion_rotation

AxisKind = Literal["+x", "+y", "+z", "-x", "-y", "-z", "tilted"]
PoseKind = Literal["identity", "shifted", "quarter_turns", "general"]

MOVING_JOINTS = tuple(kind for kind in get_args(JointType) if kind != "fixed")


@dataclass(frozen=True)
class LinkPlan:
    """One link and its joint. ``up``: how many levels above the previous link its parent is found."""

    joint: JointType
    up: int = 0
    axis: AxisKind = "+x"
    axis2: AxisKind = "+y"
    placement: PoseKind = "identity"
    child_placement: PoseKind = "identity"
    armature: bool = False
    massless: bool = False  # honoured on fixed joints and behind an armature, where the mass matrix stays regular


@dataclass(frozen=True, eq=False)
class State:
    """One sample of everything the dynamics take."""

    q: Array
    v: Array
    a: Array
    tau: Array
    f_ext: Array  # (n_links, 6)


@dataclass(frozen=True)
class Forest:
    """A plan and the seed of its numbers; link i's numbers depend on the seed and i only."""

    plans: tuple[LinkPlan, ...]
    seed: int = 0

    @cached_property
    def description(self) -> ModelDescription:
        links: list[Link] = []
        joints: list[Joint] = []
        path = ["world"]
        for i, plan in enumerate(self.plans):
            rng = np.random.default_rng([self.seed, i])
            path = path[: max(1, len(path) - plan.up)]
            first_moving = plan.joint != "fixed" and all(joint.type == "fixed" for joint in joints)
            massless = plan.massless and not first_moving and (plan.joint == "fixed" or plan.armature)
            links.append(Link(f"link_{i}", None if massless else random_inertia(rng)))
            joints.append(_joint(rng, plan, i, parent=path[-1]))
            path.append(links[-1].name)
        gravity = np.array([0.3, -0.5, -9.81])
        return ModelDescription("forest", tuple(links), tuple(joints), self._frames(), gravity)

    def _frames(self) -> tuple[Frame, ...]:
        """One frame in the world, one in the middle, one on the last link."""
        rng = np.random.default_rng([self.seed, len(self.plans)])
        carriers = ["world", f"link_{len(self.plans) // 2}", f"link_{len(self.plans) - 1}"]
        return tuple(Frame(f"frame_{i}", link, random_pose(rng)) for i, link in enumerate(carriers))

    def state(self, seed: int = 0) -> State:
        return random_state(self.description, np.random.default_rng([self.seed, seed, 17]))

    @property
    def user_frames(self) -> list[str]:
        return [frame.name for frame in self.description.frames]

    @property
    def frame_names(self) -> list[str]:
        return [link.name for link in self.description.links] + self.user_frames


def random_forest(seed: int, n_links: int = 12, joints: tuple[JointType, ...] = get_args(JointType)) -> Forest:
    """A forest of ``n_links`` links drawn from ``joints``, every other option at random."""
    rng = np.random.default_rng([seed, n_links])

    def flip(probability: float) -> bool:
        return bool(rng.random() < probability)

    plans = tuple(
        LinkPlan(
            joint=joints[rng.integers(len(joints))],
            up=int(rng.integers(4)) if flip(0.4) else 0,
            axis=rng.choice(get_args(AxisKind)),
            axis2=rng.choice(get_args(AxisKind)),
            placement=rng.choice(get_args(PoseKind)),
            child_placement=rng.choice(get_args(PoseKind)),
            armature=flip(0.5),
            massless=flip(0.3),
        )
        for _ in range(n_links)
    )
    return Forest(plans, seed)


def leg(hip: LinkPlan) -> list[LinkPlan]:
    """Three links, the first on the hip."""
    return [hip, LinkPlan("revolute", axis="+y", placement="shifted"), LinkPlan("revolute", placement="shifted")]


@st.composite
def forests(
    draw: st.DrawFn, max_links: int = 9, joints: tuple[JointType, ...] = get_args(JointType), min_links: int = 1
) -> Forest:
    """Forests that can move; they shrink towards a short chain of x-axis joints at identity placements."""
    order: tuple[JointType, ...] = ("revolute", "prismatic", "spherical", "free", "fixed")
    simple_first = sorted(joints, key=lambda kind: order.index(kind) if kind in order else len(order))
    plan = st.builds(
        LinkPlan,
        joint=st.sampled_from(simple_first),
        up=st.integers(0, 3),
        axis=st.sampled_from(get_args(AxisKind)),
        axis2=st.sampled_from(get_args(AxisKind)),
        placement=st.sampled_from(get_args(PoseKind)),
        child_placement=st.sampled_from(get_args(PoseKind)),
        armature=st.booleans(),
        massless=st.booleans(),
    )
    plans = draw(
        st.lists(plan, min_size=min_links, max_size=max_links).filter(
            lambda drawn: any(p.joint != "fixed" for p in drawn)
        )
    )
    return Forest(tuple(plans), draw(st.integers(0, 2**16)))


def random_state(description: ModelDescription, rng: np.random.Generator) -> State:
    """A configuration on its manifold and normally distributed velocities, accelerations and forces."""
    q = np.concatenate([random_configuration(rng, joint) for joint in description.joints] or [np.zeros(0)])
    nv = sum(joint.nv for joint in description.joints)
    v, a, tau = rng.normal(size=(3, nv))
    return State(q, v, a, tau, rng.normal(size=(len(description.links), 6)))


def random_configuration(rng: np.random.Generator, joint: Joint) -> Array:
    q = rng.uniform(-2.0, 2.0, joint.nq)
    if joint.type in ("spherical", "free"):
        q[-4:] = unit(rng.normal(size=4))
    return q


def random_inertia(rng: np.random.Generator) -> Inertia:
    """Of five random point masses: positive definite and physical by construction."""
    masses, points = rng.uniform(0.05, 1.0, 5), rng.normal(scale=0.2, size=(5, 3))
    com = masses @ points / masses.sum()
    arms = points - com
    matrix = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return Inertia(float(masses.sum()), com, np.asarray(matrix))


def random_pose(rng: np.random.Generator, kind: PoseKind = "general") -> Array:
    if kind == "identity":
        return pose()
    shift = rng.uniform(-0.5, 0.5, 3)
    if kind == "shifted":
        return pose(p=shift)
    if kind == "quarter_turns":
        turns = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
        return pose(turns * np.linalg.det(turns), shift)
    return pose(quaternion_rotation(unit(rng.normal(size=4))), shift)


def unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x))


def _axis(rng: np.random.Generator, kind: AxisKind) -> Array:
    if kind == "tilted":
        return unit(rng.normal(size=3))
    sign = 1.0 if kind[0] == "+" else -1.0
    return np.asarray(sign * np.eye(3)["xyz".index(kind[1])])


def _joint(rng: np.random.Generator, plan: LinkPlan, i: int, parent: str) -> Joint:
    axis, axis2 = _axis(rng, plan.axis), _axis(rng, plan.axis2)
    if np.linalg.norm(np.cross(axis, axis2)) < 0.3:  # parallel axes of a universal joint are one too many
        axis2 = np.roll(axis, 1) if abs(axis @ np.roll(axis, 1)) < 0.9 else unit(np.cross(axis, [1.0, -1.0, 0.0]))
    nv = JOINT_SIZES[plan.joint][1]
    return Joint(
        name=f"joint_{i}",
        type=plan.joint,
        parent=parent,
        child=f"link_{i}",
        placement=random_pose(rng, plan.placement),
        child_placement=random_pose(rng, plan.child_placement),
        axis=axis if plan.joint not in ("fixed", "planar", "spherical", "free") else None,
        axis2=axis2 if plan.joint == "universal" else None,
        pitch=float(rng.uniform(-0.3, 0.3)) if plan.joint == "helical" else 0.0,
        armature=rng.uniform(0.05, 0.5, nv) if plan.armature and nv else None,
    )
