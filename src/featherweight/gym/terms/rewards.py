"""Terms for rewards and, with negative weights, penalties: one number for each environment."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..term import Term, as_term, term
from ..world import World
from .observations import offset, up_of


@term
def alive(world: World) -> Array:
    """1 in every step, (n,)."""
    return np.ones(len(world))


@term
def speed(world: World, part: str, limit: float = np.inf) -> Array:
    """Speed of a free base along the x axis of the world [m/s], up to a limit, (n,)."""
    return np.minimum(world.velocity(world.names.base(part).child)[:, 0], limit)


@term
def tracking(world: World, of: Term, command: str, width: float) -> Array:
    """exp(-|error|^2 / width^2) of a term (n, k) that should equal a command, (n,): 1 where it does."""
    error = np.asarray(as_term("tracking", of)(world)) - world.command(command)
    return np.asarray(np.exp(-_squares(error) / width**2))


@term
def closeness(world: World, frame: str, to: str, width: float) -> Array:
    """exp(-distance / width) of two frames, or of a frame and a command, (n,): 1 where they coincide. width: [m]."""
    return np.asarray(np.exp(-np.linalg.norm(offset(world, frame, to), axis=1) / width))


@term
def uprightness(world: World, part: str) -> Array:
    """Cosine of the tilt of a free base, (n,): 1 if upright, -1 if upside down."""
    return up_of(world, part)[:, 2]


@term
def drift(world: World, of: Term, target: float = 0.0) -> Array:
    """Sum of squares of the deviation of a term from its target, (n,)."""
    value = np.asarray(as_term("drift", of)(world)).reshape(len(world), -1)
    return _squares(value - target)


@term
def effort(world: World, joints: str = "*") -> Array:
    """Sum of squares of joint forces, (n,) [N^2 m^2]."""
    return _squares(world.joint_forces[:, world.names.dofs(joints)])


@term
def power(world: World, joints: str = "*") -> Array:
    """Sum of the absolute power of joints, (n,) [W]."""
    dofs = world.names.dofs(joints)
    return np.asarray(np.abs(world.joint_forces[:, dofs] * world.v[:, dofs]).sum(axis=1))


@term
def action_rate(world: World) -> Array:
    """Sum of squares of the change of the action, (n,)."""
    return _squares(world.action - world.previous_action)


@term
def gait(world: World, links: str, period: float, offsets: tuple[float, ...], duty: float = 0.5) -> Array:
    """Fraction of feet that follow a clock, (n,): in contact during the first ``duty`` of their period only.

    offsets: phase of each foot, in the order of the links, as a fraction of the period [s].
    """
    clock = (world.time[:, None] / period + np.asarray(offsets)) % 1.0
    return np.asarray((world.pushed(world.names.links(links)) == (clock < duty)).mean(axis=1))


def _squares(values: Array) -> Array:
    return np.asarray(np.einsum("nk,nk->n", values, values))
