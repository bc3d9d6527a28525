"""A crank and rocker, whose loop a constraint closes."""

from __future__ import annotations

import numpy as np

import featherweight as fw
from featherweight.arrays import Array

LENGTHS = {"crank": 0.1, "coupler": 0.3, "rocker": 0.25}
GROUND = 0.3  # [m] between the axes of crank and rocker


def four_bar(tilt: float = 0.0) -> fw.Model:
    """Bars in the plane y = 0, turning about y; tilt: how far axes are off, at random [rad]."""
    rng = np.random.default_rng(0)
    builder = fw.ModelBuilder("four_bar")
    joints = {"crank": ("world", 0.0), "coupler": ("crank", LENGTHS["crank"]), "rocker": ("world", GROUND)}
    for name, (parent, x) in joints.items():
        length = LENGTHS[name]
        inertia = np.diag([1e-5, 0.25 * length**3, 0.25 * length**3])
        builder.link(name, mass=3 * length, inertia=inertia, com=(length / 2, 0, 0))
        axis = np.array([0.0, 1.0, 0.0]) + tilt * rng.normal(size=3) * (1, 0, 1)
        builder.joint(name, "continuous", parent, name, placement=(x, 0, 0), axis=axis)
    builder.frame("tip", "coupler", (LENGTHS["coupler"], 0, 0))
    builder.frame("end", "rocker", (LENGTHS["rocker"], 0, 0))
    return builder.build()


def assembled(angle: float) -> Array:
    """Coordinates with the loop closed. Angles about y lead from x to -z."""
    a, b, c = LENGTHS.values()
    hinge = a * np.exp(-1j * angle)
    across = GROUND - hinge
    r = abs(across)
    direction = across / r * np.exp(1j * np.arccos((r**2 + b**2 - c**2) / (2 * r * b)))
    end = hinge + b * direction
    return np.array([angle, -np.angle(direction) - angle, -np.angle(end - GROUND)])
