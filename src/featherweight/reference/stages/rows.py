"""A block of rows before the problem is put together, and where each kind of row comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock

Kind = Literal["closure", "limit", "dry_friction", "servo", "contact"]


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
    around: Array | None = None  # (k, nv) motions of the same point, by which the mobility of the rows is judged
