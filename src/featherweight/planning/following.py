"""Controls and switches, followed by a batch of environments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..simulation.simulator import Simulator
from ..simulation.state import State

#: Step, switch, and whether it is turned on there.
Event = tuple[int, str, bool]


def followed(sim: Simulator, start: State, control: Array, events: Sequence[Event]) -> State:
    """Where environments are after controls (batch, steps, nu); events happen before their step, in all of them."""
    state, at, steps = start, 0, control.shape[1]
    for step, name, on in [*sorted(events, key=lambda event: event[0]), (steps, "", False)]:
        if step > at:
            piece = np.ascontiguousarray(control[:, at:step])
            state, at = sim.rollout(state, control=piece, record=False).final, step
        if name:
            state = state.switched({name: on})
    return state
