"""Terms for rewards and, with negative weights, penalties: one number for each environment."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..term import Term, as_term, term
from ..world import World
from .observations import offset, up_of


@term
def alive(world: World) -> Array:
    """1 in every step, (n,).

    >>> 0.1 * fw.gym.terms.alive()
    0.1 * alive()
    """
    return np.ones(len(world))


@term
def speed(world: World, part: str, limit: float = np.inf) -> Array:
    """Speed of a free base along the x axis of the world [m/s], up to a limit, (n,).

    >>> fw.gym.terms.speed("robot", limit=1.5)
    speed('robot', limit=1.5)
    """
    return np.minimum(world.velocity(world.names.base(part).child)[:, 0], limit)


@term
def tracking(world: World, of: Term, command: str, width: float) -> Array:
    """exp(-|error|^2 / width^2) of a term (n, k) that should equal a command, (n,): 1 where it does.

    >>> 2.0 * fw.gym.terms.tracking(fw.gym.terms.base_velocity("robot"), "velocity", width=0.5)
    2 * tracking(base_velocity('robot'), 'velocity', width=0.5)
    """
    error = np.asarray(as_term("tracking", of)(world)) - world.command(command)
    return np.asarray(np.exp(-_squares(error) / width**2))


@term
def closeness(world: World, frame: str, to: str, width: float) -> Array:
    """exp(-distance / width) of two frames, or of a frame and a command, (n,): 1 where they coincide. width: [m].

    >>> fw.gym.terms.closeness("robot/hand", to="goal", width=0.1)
    closeness('robot/hand', to='goal', width=0.1)
    """
    return np.asarray(np.exp(-np.linalg.norm(offset(world, frame, to), axis=1) / width))


@term
def uprightness(world: World, part: str) -> Array:
    """Cosine of the tilt of a free base, (n,): 1 if upright, -1 if upside down.

    >>> fw.gym.terms.uprightness("robot")
    uprightness('robot')
    """
    return up_of(world, part)[:, 2]


@term
def drift(world: World, of: Term, target: float = 0.0) -> Array:
    """Sum of squares of the deviation of a term from its target, (n,).

    >>> -2.0 * fw.gym.terms.drift(fw.gym.terms.base_height("robot"), target=0.3)
    -2 * drift(base_height('robot'), target=0.3)
    """
    value = np.asarray(as_term("drift", of)(world)).reshape(len(world), -1)
    return _squares(value - target)


@term
def effort(world: World, joints: str = "*") -> Array:
    """Sum of squares of joint forces, (n,) [N^2 m^2].

    >>> -1e-4 * fw.gym.terms.effort("robot")
    -0.0001 * effort('robot')
    """
    return _squares(world.joint_forces[:, world.names.dofs(joints)])


@term
def power(world: World, joints: str = "*") -> Array:
    """Sum of the absolute power of joints, (n,) [W].

    >>> -1e-3 * fw.gym.terms.power("robot")
    -0.001 * power('robot')
    """
    dofs = world.names.dofs(joints)
    return np.asarray(np.abs(world.joint_forces[:, dofs] * world.v[:, dofs]).sum(axis=1))


@term
def action_rate(world: World) -> Array:
    """Sum of squares of the change of the action, (n,).

    >>> -0.01 * fw.gym.terms.action_rate()
    -0.01 * action_rate()
    """
    return _squares(world.action - world.previous_action)


@term
def gait(world: World, links: str, period: float, offsets: tuple[float, ...], duty: float = 0.5) -> Array:
    """Fraction of feet that follow a clock, (n,): in contact during the first ``duty`` of their period only.

    offsets: phase of each foot, in the order of the links, as a fraction of the period [s].

    >>> 0.5 * fw.gym.terms.gait("robot/*_foot", period=0.5, offsets=(0.0, 0.5, 0.5, 0.0))
    0.5 * gait('robot/*_foot', period=0.5, offsets=(0.0, 0.5, 0.5, 0.0))
    """
    clock = (world.time[:, None] / period + np.asarray(offsets)) % 1.0
    return np.asarray((world.pushed(world.names.links(links)) == (clock < duty)).mean(axis=1))


def _squares(values: Array) -> Array:
    return np.asarray(np.einsum("nk,nk->n", values, values))
