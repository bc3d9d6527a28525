"""A motion through a given state, to differentiate along."""

from __future__ import annotations

from collections.abc import Callable

from featherweight import ModelDescription, reference
from featherweight.arrays import Array

from .forests import State


def motion_through(description: ModelDescription, state: State) -> Callable[[float], tuple[Array, Array]]:
    """t -> (q, v) with the state's q, v and a at t = 0, consistent to the order a first derivative at 0 sees."""

    def at(t: float) -> tuple[Array, Array]:
        q = reference.integrate(description, state.q, t * state.v + t**2 / 2 * state.a)
        return q, state.v + t * state.a

    return at
