"""The fluid around a model, and how it drags at links. The laws are MuJoCo's (docs/simulator.md has them).

Forces are evaluated with the velocities at the beginning of a step. There is no buoyancy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..arrays import Array
from ..checks import frozen, not_negative, number, numbers
from ..errors import ModelError
from ..records import Record

_ZERO = (0.0, 0.0, 0.0)
_COEFFICIENTS = ("blunt_drag", "slender_drag", "angular_drag", "kutta_lift", "magnus_lift")


@dataclass(frozen=True)
class Medium(Record):
    """A fluid that fills the world: air has 1.2 kg/m^3 and 1.8e-5 Pa s, water 1000 kg/m^3 and 9e-4 Pa s.

    >>> scene = fw.Scene(gravity=(0, 0, 0), medium=fw.Medium(density=1.2, wind=(3, 0, 0)))
    >>> leaf = scene.add(fw.box((0.1, 0.1, 1e-3), mass=1e-3))
    >>> sim = fw.Simulator(scene)
    >>> bool(sim.step(sim.state()).v[0] > 0)
    True
    """

    density: float = 0.0  # [kg/m^3]
    viscosity: float = 0.0  # [Pa s]
    wind: tuple[float, float, float] = _ZERO  # its velocity, world axes [m/s]

    def __post_init__(self) -> None:
        for name in ("density", "viscosity"):
            object.__setattr__(self, name, not_negative("medium", name, getattr(self, name)))
        object.__setattr__(self, "wind", _three("medium", "wind", self.wind))

    @property
    def acts(self) -> bool:
        """Whether there is any force."""
        return self.density > 0.0 or self.viscosity > 0.0


@dataclass(frozen=True, eq=False)
class FluidShape(Record):
    """The shape of a link for the drag of a medium. ``size``: full edges of a box, radii of an ellipsoid [m].

    The coefficients are those of an ellipsoid; those of drag and lift have no unit.

    >>> disc = fw.FluidShape("ellipsoid", (0.1, 0.1, 0.01))
    >>> builder = fw.ModelBuilder(medium=fw.Medium(density=1.2))
    >>> frisbee = fw.solid_inertia("cylinder", (0.1, 0.02), 0.2)
    >>> builder.link("frisbee", inertia=frisbee, fluid_shapes=[disc]).build(floating_base=True).nv
    6
    """

    kind: Literal["box", "ellipsoid"]
    size: tuple[float, float, float]
    placement: Array = field(default_factory=lambda: frozen(np.eye(4)))  # in the link; the origin is its centre
    blunt_drag: float = 0.5  # across the velocity
    slender_drag: float = 0.25  # along it
    angular_drag: float = 1.5
    kutta_lift: float = 1.0
    magnus_lift: float = 1.0
    virtual_mass: tuple[float, float, float] = _ZERO  # of fluid that moves with it, over its density [m^3]
    virtual_inertia: tuple[float, float, float] = _ZERO  # [m^5]

    def __post_init__(self) -> None:
        if self.kind not in ("box", "ellipsoid"):
            raise ModelError("fluid shape", f"the kind must be box or ellipsoid, got {self.kind!r}")
        for name in ("size", "virtual_mass", "virtual_inertia"):
            object.__setattr__(self, name, _three("fluid shape", name, getattr(self, name)))
        for name in _COEFFICIENTS:
            object.__setattr__(self, name, number("fluid shape", name, getattr(self, name)))
        if min(self.size) < 0.0:
            raise ModelError("fluid shape", f"the size must not be negative, got {self.size}")

    @property
    def coefficients(self) -> tuple[float, float, float, float, float]:
        """All five, from blunt drag to Magnus lift, in the order of the fields."""
        return self.blunt_drag, self.slender_drag, self.angular_drag, self.kutta_lift, self.magnus_lift

    def force(self, medium: Medium, velocity: Array) -> Array:
        """Force and moment (..., 6) at the centre, given the velocity (..., 6) through the medium, in its own axes."""
        v, w = velocity[..., :3], velocity[..., 3:]
        f, m = (self._box if self.kind == "box" else self._ellipsoid)(medium.density, v, w)
        D = sum(self.size) * (1.0 / 3.0 if self.kind == "box" else 2.0 / 3.0)  # of the sphere that stands for it
        f = f - 3.0 * math.pi * D * medium.viscosity * v
        m = m - math.pi * D**3 * medium.viscosity * w
        return np.concatenate([f, m], axis=-1)

    def _box(self, density: float, v: Array, w: Array) -> tuple[Array, Array]:
        x, y, z = self.size
        faces = np.array([y * z, z * x, x * y])
        moments = np.array([x * (y**4 + z**4), y * (z**4 + x**4), z * (x**4 + y**4)])
        return -density / 2 * faces * np.abs(v) * v, -density / 64 * moments * np.abs(w) * w

    def _ellipsoid(self, density: float, v: Array, w: Array) -> tuple[Array, Array]:
        x, y, z = self.size
        _, middle, most = sorted(self.size)
        speed = np.linalg.norm(v, axis=-1, keepdims=True)
        largest = max(most * middle, np.finfo(float).tiny)
        normal = (np.array([y * z, z * x, x * y]) / largest) ** 2 * v  # to the section that is seen along v
        across = (normal * v).sum(axis=-1, keepdims=True)
        square = (normal * normal).sum(axis=-1, keepdims=True)
        moves = square > 0.0
        ratio = np.where(moves, square / np.where(moves, across, 1.0), 1.0)  # at most 1
        area = np.where(moves, math.pi * largest * np.sqrt(ratio), 0.0)
        cosine = 1.0 / (ratio * np.where(moves, speed, 1.0))  # over the length of the normal
        flat = math.pi * largest - area
        force = -speed * (self.blunt_drag * area + self.slender_drag * flat) * v
        force = force + self.kutta_lift * cosine * area * np.cross(np.cross(normal, v), v)
        force = force + self.magnus_lift * 4 / 3 * math.pi * x * y * z * np.cross(w, v)
        moments = 8 / 15 * math.pi * np.array([x * max(y, z) ** 4, y * max(z, x) ** 4, z * max(x, y) ** 4])
        hardest = 8 / 15 * math.pi * middle * most**4
        resistance = (self.angular_drag * moments + self.slender_drag * (hardest - moments)) * w
        torque = -np.linalg.norm(resistance, axis=-1, keepdims=True) * w
        p, L = np.array(self.virtual_mass) * v, np.array(self.virtual_inertia) * w
        return density * (force + np.cross(p, w)), density * (torque + np.cross(p, v) + np.cross(L, w))


def _three(element: str, name: str, value: object) -> tuple[float, float, float]:
    x, y, z = numbers(element, name, value, (3,)).tolist()  # type: ignore[arg-type]
    return x, y, z
