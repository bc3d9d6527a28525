"""Mechanisms whose loops are timed: legs with four-bars, and rows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import featherweight as fw
from benchmarks.robots import Array, Samples
from featherweight.constraints.constraint_set import AnyConstraint, PointConstraint
from featherweight.model.poses import pose


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A tree, and what closes its loops."""

    name: str
    model: fw.Model
    constraints: list[AnyConstraint]

    def samples(self, count: int, seed: int = 0) -> Samples:
        """Closed, and moving as the loops allow; joint forces of size one."""
        rng = np.random.default_rng(seed)
        near = self.model.integrate(np.tile(self.model.q0, (count, 1)), 0.25 * rng.normal(size=(count, self.model.nv)))
        closed = fw.close_loops(self.model, near, self.constraints)
        v = fw.project_velocity(self.model, closed.q, rng.normal(size=(count, self.model.nv)), self.constraints)
        return Samples(closed.q, v, rng.normal(size=(count, self.model.nv)))


def four_bar_quadruped(rows: tuple[str, ...] = ("x", "z"), legs: int = 4) -> Mechanism:
    """A free base with four legs of five hinges: hip, thigh and shank, and a crank whose rod moves the shank."""
    builder = fw.ModelBuilder("four_bar_quadruped")
    builder.solid("base", "box", (0.6, 0.3, 0.1), mass=12.0)
    closures: list[AnyConstraint] = []
    for leg in range(legs):
        at = (0.3 if leg < 2 else -0.3, 0.15 if leg % 2 else -0.15, 0.0)
        down, names = (0.0, 0.0, -0.15), [f"{part}_{leg}" for part in ("hip", "thigh", "shank", "crank", "rod")]
        hip, thigh, shank, crank, rod = names
        for name, mass in zip(names, (0.7, 1.0, 0.4, 0.15, 0.15), strict=True):
            builder.solid(name, "capsule", (0.02, 0.2), mass=mass, placement=down)
        builder.joint(hip, "continuous", "base", hip, placement=at, axis="x")
        builder.joint(thigh, "continuous", hip, thigh, axis="y", start=[0.6])
        builder.joint(shank, "continuous", thigh, shank, placement=(0.0, 0.0, -0.3), axis="y", start=[-1.2])
        # the crank is parallel to the horn of the shank, the rod to the thigh
        back = pose(rpy=(0.0, 0.5 * np.pi, 0.0))
        builder.joint(crank, "continuous", hip, crank, placement=back, axis="y", start=[-0.6])
        builder.joint(rod, "continuous", crank, rod, placement=(0.0, 0.0, -0.06), axis="y", start=[1.2 - 0.5 * np.pi])
        closures.append(PointConstraint(rod, rows, offset=(0.0, 0.0, -0.3), to=shank, to_offset=(-0.06, 0.0, 0.0)))
    return Mechanism("four-bar quadruped", builder.build(floating_base=True), closures)


def built_in(name: str) -> Mechanism:
    """One of ``fw.models``, closed by what it has."""
    model = getattr(fw.models, name)()
    return Mechanism(name, model, list(fw.constraints_of(model)))


def four_bars_in_a_row(k: int) -> Mechanism:
    """On a free base, each on the coupler of the one before."""
    builder = fw.ModelBuilder(f"{k}_four_bars").solid("base", "box", (0.2, 0.2, 0.2), mass=2.0)
    closures: list[AnyConstraint] = []
    ground, along = "base", 0.0
    for i in range(k):
        crank, coupler, rocker = (f"{part}_{i}" for part in ("crank", "coupler", "rocker"))
        for link in (crank, coupler, rocker):
            builder.solid(link, "capsule", (0.02, 0.4), mass=1.0, placement=pose((0.2, 0, 0), rpy=(0, 0.5 * np.pi, 0)))
        builder.joint(crank, "continuous", ground, crank, placement=(along, 0.0, 0.0), axis="z", start=[0.7])
        builder.joint(coupler, "continuous", crank, coupler, placement=(0.4, 0.0, 0.0), axis="z", start=[-0.7])
        builder.joint(rocker, "continuous", ground, rocker, placement=(along + 0.5, 0.0, 0.0), axis="z", start=[0.7])
        closures.append(PointConstraint(rocker, ("x", "y"), offset=(0.4, 0, 0), to=coupler, to_offset=(0.5, 0, 0)))
        ground, along = coupler, 0.5
    return Mechanism(f"{k} four-bars in a row", builder.build(floating_base=True), closures)


def closed(mechanism: Mechanism, samples: Samples) -> Array:
    """By how much each sample is open [m]."""
    return np.asarray(fw.loop_error(mechanism.model, samples.q, mechanism.constraints)).reshape(len(samples.q), -1)
