"""Mechanisms with closed loops: random ones, and those that are known for their singular or redundant rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import featherweight as fw
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import AnyConstraint
from featherweight.model.description import JointType
from featherweight.model.poses import rotation_about


class Mechanism(NamedTuple):
    """Closed at q."""

    model: fw.Model
    q: Array
    constraints: list[AnyConstraint]

    def velocity(self, rng: np.random.Generator) -> Array:
        """One that the loops allow."""
        v = rng.normal(size=self.model.nv)
        return fw.project_velocity(self.model, self.q, v, self.constraints, weights=np.ones(self.model.nv))


def closing(model: fw.Model, q: Array, a: str, b: str, kind: str, rng: np.random.Generator) -> AnyConstraint:
    """What closes two links at q."""
    X_a, X_b = fw.frame_placement(model, q, a), fw.frame_placement(model, q, b)
    if kind == "point":
        at = rng.normal(scale=0.3, size=3)
        return fw.PointConstraint(a, offset=at, to=b, to_offset=(np.linalg.inv(X_b) @ X_a @ [*at, 1.0])[:3])
    if kind == "rod":
        return fw.DistanceConstraint(a, b, offset=rng.normal(size=3), to_offset=rng.normal(size=3), length=1.0)
    relative = np.linalg.inv(X_b) @ X_a
    if kind == "hinge":
        return fw.HingeConstraint(a, b, axis="y", to_offset=relative)
    return fw.FrameConstraint(a, to=b, to_offset=relative)


def random_pose(rng: np.random.Generator, scale: float) -> Array:
    X = np.eye(4)
    axis = rng.normal(size=3)
    X[:3, :3] = rotation_about(axis / np.linalg.norm(axis), rng.uniform(0, 3))
    X[:3, 3] = rng.normal(scale=scale, size=3)
    return X


def random_mechanism(seed: int, n_loops: int, n_links: int = 14) -> Mechanism:
    """A tree with loops of all kinds, many of them redundant, some with couplings and points on the ground."""
    rng = np.random.default_rng(seed)
    builder = fw.ModelBuilder(f"looped_{seed}")
    floating = rng.random() < 0.6
    for i in range(n_links):
        com, inertia = rng.normal(scale=0.1, size=3), tuple(rng.uniform(0.02, 0.03, 3))
        builder.link(f"link_{i}", mass=rng.uniform(0.5, 2.0), com=com, inertia=inertia)
        parent = f"link_{rng.integers(max(0, i - 4), i)}" if i else "world"
        kinds: list[JointType] = ["continuous", "prismatic", "spherical"]
        kind: JointType = "free" if floating and i == 0 else kinds[rng.choice(3, p=[0.7, 0.15, 0.15])]
        axis = {} if kind in ("free", "spherical") else {"axis": rng.choice(["x", "y", "z"])}
        builder.joint(f"joint_{i}", kind, parent, f"link_{i}", placement=random_pose(rng, 0.3), **axis)
    model = builder.build()
    q = model.integrate(model.neutral(), rng.normal(size=model.nv))
    constraints: list[AnyConstraint] = []
    while len(constraints) < n_loops:
        a, b = rng.choice(model.link_names, 2, replace=False).tolist()
        constraints.append(closing(model, q, a, b, rng.choice(["point", "hinge", "weld", "rod"]), rng))
    if floating and rng.random() < 0.5:
        constraints.append(fw.PointConstraint("link_5"))
    names = [joint.name for joint in model.joints if joint.v_slice.stop - joint.v_slice.start == 1]
    if rng.random() < 0.5:
        a, b = rng.permutation(names)[:2].tolist()
        constraints.append(fw.JointCoupling(a, to=b, polynomial=rng.normal(size=3)))
    return Mechanism(model, q, constraints)


def parallelograms(flat: float, n: int = 3, rods: int = 1, off: float = 0.0) -> Mechanism:
    """A row of parallelograms on a floating base, all bent by about ``flat`` [rad]; ``rods`` more than needed.

    ``off``: by how much the anchors of further rods are misplaced [m].
    """
    rng = np.random.default_rng(5)
    builder = fw.ModelBuilder("parallelograms").link("base", mass=2.0, inertia=(0.1, 0.2, 0.2))
    builder.joint("root", "free", "world", "base")
    angles: dict[str, float] = {}
    constraints: list[AnyConstraint] = []
    ground, at = "base", 0.0
    for k in range(n):
        bend = flat * rng.uniform(0.5, 1.5)
        mass, inertia = rng.uniform(0.5, 2.0), rng.uniform(0.01, 0.015, 3)
        links = [f"crank_{k}", f"coupler_{k}", *(f"rocker_{k}_{j}" for j in range(rods))]
        for link in links:
            builder.link(link, mass=mass, com=(0.1, 0.05, 0.02), inertia=inertia)
        builder.joint(f"crank_{k}", "continuous", ground, f"crank_{k}", placement=(at, 0.0, 0.0), axis="z")
        builder.joint(f"coupler_{k}", "continuous", f"crank_{k}", f"coupler_{k}", placement=(0.4, 0.0, 0.0), axis="z")
        angles |= {f"crank_{k}": bend, f"coupler_{k}": -bend}
        for j in range(rods):
            along = 0.5 / (j + 1) + (off if j else 0.0)
            builder.joint(
                f"rocker_{k}_{j}", "continuous", ground, f"rocker_{k}_{j}", placement=(at + along, 0.0, 0.0), axis="z"
            )
            angles[f"rocker_{k}_{j}"] = bend
            point = np.eye(4)
            point[0, 3] = 0.4
            on_coupler = np.eye(4)
            on_coupler[0, 3] = 0.5 / (j + 1)
            constraints.append(
                fw.HingeConstraint(f"rocker_{k}_{j}", f"coupler_{k}", offset=point, to_offset=on_coupler)
            )
        ground, at = f"coupler_{k}", 0.5
    model = builder.build()
    q = model.neutral()
    q[:3] = 0.1, 0.2, 0.3
    for name, angle in angles.items():
        q[model.joint(name).q_slice] = angle
    return Mechanism(model, q, constraints)


def ring(lengths: list[float], twists: list[float], seed: int) -> Mechanism:
    """A closed chain of hinges by the lengths and twists between their axes, on a floating base, welded together."""
    n = len(lengths)
    builder = fw.ModelBuilder("ring").link("link_0", mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
    builder.joint("root", "free", "world", "link_0")
    steps = []
    for length, twist in zip(lengths, twists, strict=True):
        X = np.eye(4)
        X[:3, :3], X[0, 3] = rotation_about(np.array([1.0, 0.0, 0.0]), twist), length
        steps.append(X)
    for i in range(1, n + 1):
        size = 0.1 if i == n else 1.0
        inertia = (0.01 * size, 0.02 * size, 0.02 * size)
        builder.link(f"link_{i}", mass=size, com=(0.1, 0.02, 0.01), inertia=inertia)
        builder.joint(f"hinge_{i}", "continuous", f"link_{i - 1}", f"link_{i}", placement=steps[i - 1], axis="z")
    model = builder.build()
    constraints: list[AnyConstraint] = [fw.FrameConstraint(f"link_{n}", to="link_0")]
    rng = np.random.default_rng(seed)
    for _ in range(40):
        start = model.neutral()
        start[7:] = rng.uniform(-3.0, 3.0, n)
        found = fw.close_loops(model, start, constraints, fixed=["root"], tolerance=1e-13)
        if found.converged:
            return Mechanism(model, found.q, constraints)
    raise AssertionError("does not close")


def bricard(seed: int) -> Mechanism:
    return ring([0.4] * 6, [np.pi / 2, -np.pi / 2] * 3, seed)


def bennett(seed: int) -> Mechanism:
    short, narrow, wide = 0.4, 0.7, 1.2
    long = short * np.sin(wide) / np.sin(narrow)
    return ring([short, long, short, long], [narrow, wide, narrow, wide], seed)


def four_bars(n: int) -> Mechanism:
    """A row of four-bars in a plane, each on the coupler of the one before, closed by hinges of five rows."""
    return parallelograms(0.7, n)
