"""The input of a step: the model, the length of a step, closures, and points of contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import Closure, ModelDescription
from featherweight.model.materials import ContactLaw
from featherweight.reference.tree import slices
from featherweight.scene.compiled import Guide


@dataclass(frozen=True, eq=False)
class StepScene:
    """Everything that stays the same from step to step. Springs, limits and motors are those of the model."""

    model: ModelDescription
    dt: float  # [s]
    integrator: Literal["semi_implicit", "implicit", "verlet"] = "semi_implicit"
    closures: tuple[Closure, ...] = ()
    guides: tuple[Guide, ...] = ()  # of all rows of closures, each in the order of the axes

    @property
    def implicit(self) -> bool:
        return self.integrator == "implicit"


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A point where two links may touch in this step. Impulses act on ``link``, their opposites on ``to``."""

    link: int  # index in the model, -1: the world
    to: int
    position: Array  # (3,) [m], world
    frame: Array  # (3, 3) rows t1, t2 and the normal, which points from `to` to `link`; world axes
    gap: float  # [m] at the start of the step, negative where they overlap
    law: ContactLaw
    rolls_open: bool = False  # a tiny gap that rolling has opened at a loaded contact between bodies: it stays open
    was_loaded: bool = False  # it carried force in the step before
    radii: tuple[float, float] = (0.0, 0.0)  # [m] of spheres around the two shapes that touch; endless: 0

    @property
    def friction(self) -> float:
        return self.law.friction if self.law.dim >= 3 else 0.0

    @property
    def torsional(self) -> float:
        return self.law.torsional if self.law.dim >= 4 else 0.0

    @property
    def rolling(self) -> float:
        return self.law.rolling if self.law.dim == 6 else 0.0


def rigid_masses(model: ModelDescription) -> Array:
    """(n_links + 1,) [kg] of each link and all that is fixed to it, of the world at the end."""
    group, masses = {"world": "world"}, {"world": np.inf}
    for joint, link in zip(model.joints, model.links, strict=True):  # parents come first
        group[link.name] = group[joint.parent] if joint.type == "fixed" else link.name
        masses[group[link.name]] = masses.get(group[link.name], 0.0) + (link.inertia.mass if link.inertia else 0.0)
    return np.array([masses[group[name]] for name in [*(link.name for link in model.links), "world"]])


def per_dof(model: ModelDescription, field: str) -> Array:
    """(nv,) a property of all joints, such as their damping; zero where a joint has none."""
    return _stack([np.zeros(j.nv) if getattr(j, field) is None else getattr(j, field) for j in model.joints])


def limits(model: ModelDescription) -> tuple[Array, Array]:
    """Lower and upper limits, (nq,) each, infinite where there are none."""
    lower = [np.full(j.nq, -np.inf) if j.lower is None else j.lower for j in model.joints]
    upper = [np.full(j.nq, np.inf) if j.upper is None else j.upper for j in model.joints]
    return _stack(lower), _stack(upper)


def axis_coordinates(model: ModelDescription) -> dict[int, int]:
    """Degrees of freedom whose velocity is the rate of a coordinate -> index of that coordinate."""
    return {
        dof: at_q.start + k
        for joint, (at_q, at_v) in zip(model.joints, slices(model), strict=True)
        if joint.type not in ("spherical", "free")
        for k, dof in enumerate(range(at_v.start, at_v.stop))
    }


def _stack(arrays: list[Array]) -> Array:
    return np.concatenate([np.zeros(0), *arrays])
