"""A block of rows before the problem is put together, and where each kind of row comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock

Kind = Literal["closure", "limit", "dry_friction", "servo", "contact"]


@dataclass(frozen=True, eq=False)
class TouchingEnd:
    """A link at the point where it touches."""

    point: Array  # (3, nv) velocity there, world axes
    turn: Array  # (3, nv) angular velocity
    radius: float  # [m] around its shape
    mass: float  # [kg] of the link and what is fixed to it


@dataclass(frozen=True)
class Surface:
    """What happens when a rigid contact or a limit is struck."""

    restitution: float
    tangential: float
    between: tuple[int, int]  # links, or the degree of freedom of a limit and -2
    shift: float  # of its law where it is not struck [m/s]
    was_loaded: bool  # in the step before

    @property
    def is_elastic(self) -> bool:
        return self.restitution > 0 or self.tangential > 0


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows of one law. A single number stands for all of them."""

    kind: Kind
    law: ConeBlock
    J: Array  # (rows, nv)
    shift: Array | float = 0.0  # what the law adds to the velocity of the row [m/s]
    compliance: Array | float = 0.0  # velocity by which the rows yield, per impulse
    gap: Array | float = np.nan  # what is left to close, or the error of a closure [m or rad]; nan: none
    bounces: bool = False  # the shift is that of restitution
    ends: tuple[TouchingEnd, ...] = ()  # of a contact
    surface: Surface | None = None  # of a rigid contact or a limit
