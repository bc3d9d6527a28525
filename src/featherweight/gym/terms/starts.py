"""Terms for resets, disturbances, commands and randomisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...kinematics.logarithms import quaternion_multiply
from ..term import term
from ..world import World
from .ground import ground_height


@term
def scatter_joints(world: World, joints: str = "*", position: float = 0.1, velocity: float = 0.0) -> None:
    """Changes joint positions by up to ``position`` [rad, m], within limits, and velocities by up to ``velocity``.

    >>> fw.gym.terms.scatter_joints("robot", position=0.1)
    scatter_joints('robot', position=0.1)
    """
    q, v, limits = world.names.coordinates(joints), world.names.dofs(joints), world.model
    world.random.scatter(world.q, world.v, q, v, (limits.lower, limits.upper), position, velocity)


@term
def move_base(
    world: World,
    part: str,
    low: ArrayLike = (0.0, 0.0, 0.0),
    high: ArrayLike = (0.0, 0.0, 0.0),
    yaw: float = 0.0,
) -> None:
    """Moves a free base by a random vector between low and high (3,) [m] and turns it by up to ``yaw`` [rad] about z.

    It keeps its height above the ground.

    >>> fw.gym.terms.move_base("robot", low=(-1, -1, 0), high=(1, 1, 0), yaw=np.pi)
    move_base('robot', low=(-1, -1, 0), high=(1, 1, 0), yaw=3.141592653589793)
    """
    at = world.names.base(part).q_slice
    start, place, quaternion = at.start, slice(at.start, at.start + 3), slice(at.start + 3, at.start + 7)
    before = ground_height(world, world.q[:, start], world.q[:, start + 1])
    world.q[:, place] += world.random.uniform(low, high)
    world.q[:, start + 2] += ground_height(world, world.q[:, start], world.q[:, start + 1]) - before
    half = 0.5 * world.random.uniform(-yaw, yaw)
    turn = np.stack([0.0 * half, 0.0 * half, np.sin(half), np.cos(half)], axis=1)
    world.q[:, quaternion] = quaternion_multiply(turn, world.q[:, quaternion])


@term
def kick(world: World, part: str, linear: float = 0.0, angular: float = 0.0) -> None:
    """Changes the velocity of a free base by up to ``linear`` [m/s] and ``angular`` [rad/s] along each axis.

    >>> fw.gym.Repeated(fw.gym.terms.kick("robot", linear=0.5), every=5.0)
    Repeated(term=kick('robot', linear=0.5), every=5.0)
    """
    size = np.repeat([linear, angular], 3)
    world.v[:, world.names.base(part).v_slice] += world.random.uniform(-size, size)


@term
def uniform(world: World, low: ArrayLike, high: ArrayLike) -> Array:
    """Uniformly distributed between low and high, which are numbers or (k,): (n,) or (n, k).

    >>> fw.gym.terms.uniform(0.5, 1.2)
    uniform(0.5, 1.2)
    """
    return world.random.uniform(low, high)


@term
def draw(world: World, low: ArrayLike, high: ArrayLike, still: float = 0.0) -> Array:
    """Like ``uniform``, but zero with probability ``still``: robots should learn to stand, too.

    >>> fw.gym.terms.draw((-0.5, -0.3), (1.0, 0.3), still=0.1)
    draw((-0.5, -0.3), (1.0, 0.3), still=0.1)
    """
    value = world.random.uniform(low, high)
    stands = world.random.uniform() < still
    return np.where(stands if value.ndim == 1 else stands[:, None], 0.0, value)
