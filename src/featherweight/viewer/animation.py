"""A motion as it is shown: placements of links over time, of one environment or several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from .world import World


@dataclass(frozen=True, eq=False)
class ContactArrows:
    """The n contacts of one frame, of all environments shown."""

    environment: NDArray[np.int64]  # (n,)
    position: Array  # (n, 3) [m], world
    force: Array  # (n, 3) [N], world axes, on the shape that is named first


@dataclass(frozen=True, eq=False)
class Extent:
    """The space that what moves takes up in the course of a motion."""

    lower: Array  # (3,) corner of a box around all of it [m], world
    upper: Array  # (3,)
    size: float  # largest diagonal of such a box at any one time [m]

    @property
    def travels(self) -> bool:
        """Whether the motion goes so far along the ground that a camera had better follow it than see all of it."""
        return float(np.linalg.norm((self.upper - self.lower)[:2])) > 2.5 * self.size


@dataclass(frozen=True, eq=False)
class Animation:
    """What is shown at each of n times."""

    world: World
    title: str
    time: Array  # (n,) [s]
    q: Array  # (environments, n, nq)
    contacts: Sequence[ContactArrows] = ()  # of each frame, or none
    curves: Mapping[str, Array] = field(default_factory=dict)  # name with unit -> (environments, n)

    def __post_init__(self) -> None:
        if self.q.ndim != 3 or self.q.shape[1:] != (len(self.time), self.world.model.nq):
            wanted = f"(environments, {len(self.time)}, {self.world.model.nq})"
            raise ValueError(f"q: expected shape {wanted}, got {self.q.shape}")

    @property
    def n_environments(self) -> int:
        return len(self.q)

    def frames(self, fps: float, most: int) -> Animation:
        """The same with about ``fps`` frames a second, and no more than ``most``; the first and the last stay."""
        n = len(self.time)
        span = float(self.time[-1] - self.time[0]) if n else 0.0
        wanted = min(n, most, max(2, round(span * fps) + 1))
        if wanted == n:
            return self
        chosen = np.unique(np.linspace(0, n - 1, wanted).round().astype(np.int64))
        return Animation(
            self.world,
            self.title,
            self.time[chosen],
            self.q[:, chosen],
            [self.contacts[k] for k in chosen] if self.contacts else (),
            {name: values[:, chosen] for name, values in self.curves.items()},
        )

    def first(self, n: int) -> Animation:
        """The same of the first n environments, and nothing of the others."""
        if n >= self.n_environments:
            return self
        curves = {name: values[:n] for name, values in self.curves.items()}
        contacts = [_of_first(n, self.contacts[k]) for k in range(len(self.contacts))]
        return Animation(self.world, self.title, self.time, self.q[:n], contacts, curves)

    def placements(self) -> NDArray[np.float32]:
        """(environments, n, n_links, 3, 4) float32: rotation and origin of each link."""
        n_links = self.world.model.n_links
        flat = self.q.reshape(-1, self.q.shape[-1])
        out = np.empty((len(flat), n_links, 3, 4), dtype=np.float32)
        for first in range(0, len(flat), 1024):  # bounded memory
            out[first : first + 1024] = _core.forward_kinematics(self.world.model, flat[first : first + 1024])[:, :, :3]
        return out.reshape(*self.q.shape[:2], n_links, 3, 4)

    def extent(self, placements: NDArray[np.float32]) -> Extent:
        """Of one environment, from its placements (n, n_links, 3, 4); at most fifty times are looked at."""
        n = len(placements)
        boxes = []
        for k in sorted({round(x) for x in np.linspace(0, n - 1, min(n, 50))}):
            full = np.zeros((placements.shape[1], 4, 4))
            full[:, :3], full[:, 3, 3] = placements[k], 1.0
            boxes.append(self.world.bounds(full))
        lower, upper = np.array(boxes).swapaxes(0, 1)
        return Extent(lower.min(axis=0), upper.max(axis=0), float(np.linalg.norm(upper - lower, axis=1).max()))

    def centers_of_mass(self) -> NDArray[np.float32]:
        """(environments, n, 3) float32 [m]."""
        flat = self.q.reshape(-1, self.q.shape[-1])
        out = np.asarray(_core.center_of_mass(self.world.model, flat), dtype=np.float32)
        return out.reshape(*self.q.shape[:2], 3)


def _of_first(n: int, arrows: ContactArrows) -> ContactArrows:
    kept = np.asarray(arrows.environment) < n
    return ContactArrows(arrows.environment[kept], arrows.position[kept], arrows.force[kept])


@runtime_checkable
class Animated(Protocol):
    """What :func:`featherweight.view` shows beside models: it has an animation."""

    def animation(self) -> Animation: ...
