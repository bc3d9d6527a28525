"""Terms that end an episode: one boolean for each environment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ..columns import Columns, Outside
from ..term import Term, as_term, term
from ..world import World
from .observations import height_of, offset, up_of

Booleans = NDArray[np.bool_]


@term
def fell_over(world: World, part: str, tilt: float = 1.0) -> Array:
    """A free base is tilted by more than ``tilt`` [rad]."""
    return np.asarray(up_of(world, part)[:, 2] < np.cos(tilt))


@term
def below(world: World, part: str, height: float) -> Array:
    """A free base is lower than ``height`` [m] above the ground."""
    return np.asarray(height_of(world, part) < height)


@term
def out_of_range(world: World, of: Term, low: float, high: float) -> Array | Outside:
    """Some number of a term is not between low and high."""
    of = as_term("out_of_range", of)
    if isinstance(picked := of.picked(world), Columns):
        return Outside(picked, low, high)
    value = np.asarray(of(world)).reshape(len(world), -1)
    return np.asarray(((value < low) | (value > high)).any(axis=1))


@term
def touched(world: World, links: str) -> Array:
    """A contact pushed one of the links in the last simulation step."""
    return np.asarray(world.pushed(world.names.links(links)).any(axis=1))


@term
def far_from(world: World, frame: str, to: str, distance: float) -> Array:
    """A frame is farther than ``distance`` [m] from another frame, or from the command of that name."""
    return np.asarray(np.linalg.norm(offset(world, frame, to), axis=1) > distance)
