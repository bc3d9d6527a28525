"""The last step as its equation of motion saw it: where it began, its acceleration, its gravity and masses."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..simulation.state import State
from .reading import model_of


def last_step(state: State) -> tuple[Array, Array, Array]:
    """Coordinates and velocities at the beginning of the last step, and its acceleration, (batch, n) each.

    With these, H(q) a + h(q, v) is the force of the step, where nothing turns fast or is closed: there products of
    velocities are those of the mean over the step.
    """
    q, v, a = (np.atleast_2d(x) for x in (state.q_start, state.v_start, state.acceleration))
    return q, v, a


def gravity_of(state: State) -> Array:
    """Of each environment, (batch, 3)."""
    gravity = state.parameters.gravity
    return np.tile(model_of(state).gravity, (state.batch_size, 1)) if gravity is None else gravity


def mass_factor(state: State, k: int) -> Array:
    """Of link k in each environment, (batch, 1)."""
    masses = state.parameters.masses
    return np.ones((state.batch_size, 1)) if masses is None else masses[:, k : k + 1]
