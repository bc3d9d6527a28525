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
    """A free base is tilted by more than ``tilt`` [rad].

    >>> fw.gym.terms.fell_over("robot", tilt=0.8)
    fell_over('robot', tilt=0.8)
    """
    return np.asarray(up_of(world, part)[:, 2] < np.cos(tilt))


@term
def below(world: World, part: str, height: float) -> Array:
    """A free base is lower than ``height`` [m] above the ground.

    >>> fw.gym.terms.below("robot", height=0.2)
    below('robot', height=0.2)
    """
    return np.asarray(height_of(world, part) < height)


@term
def out_of_range(world: World, of: Term, low: float, high: float) -> Array | Outside:
    """Some number of a term is not between low and high.

    >>> fw.gym.terms.out_of_range(fw.gym.terms.joint_positions("robot/hinge"), -0.2, 0.2)
    out_of_range(joint_positions('robot/hinge'), -0.2, 0.2)
    """
    of = as_term("out_of_range", of)
    if isinstance(picked := of.picked(world), Columns):
        return Outside(picked, low, high)
    value = np.asarray(of(world)).reshape(len(world), -1)
    return np.asarray(((value < low) | (value > high)).any(axis=1))


@term
def touched(world: World, links: str) -> Array:
    """A contact pushed one of the links in the last simulation step.

    >>> fw.gym.terms.touched("robot/*_thigh")
    touched('robot/*_thigh')
    """
    return np.asarray(world.pushed(world.names.links(links)).any(axis=1))


@term
def far_from(world: World, frame: str, to: str, distance: float) -> Array:
    """A frame is farther than ``distance`` [m] from another frame, or from the command of that name.

    >>> fw.gym.terms.far_from("robot/hand", to="cube", distance=0.5)
    far_from('robot/hand', to='cube', distance=0.5)
    """
    return np.asarray(np.linalg.norm(offset(world, frame, to), axis=1) > distance)
