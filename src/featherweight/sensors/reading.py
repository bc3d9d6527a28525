"""What reading a state has in common among sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..model.model import Model
from ..records import Record
from ..simulation.state import State


@dataclass(frozen=True, eq=False)
class WrenchReading(Record):
    force: Array  # (..., 3) [N]
    torque: Array  # (..., 3) [N m]


def squeezed(values: Array, state: State) -> Array:
    return np.asarray(values[0] if state.single else values)


def model_of(state: State) -> Model:
    if not isinstance(state, State):
        raise ValueError(f"state must come from a simulator, got {state!r}")
    return state.simulator.model
