"""Motion capture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Array
from ..records import Record
from ..simulation.state import State
from .reading import model_of


@dataclass(frozen=True, eq=False)
class FrameReading(Record):
    pose: Array  # (..., 4, 4) in the world
    velocity: Array  # (..., 6) of the frame's origin, then angular, world axes [m/s, rad/s]


@dataclass(frozen=True)
class FrameSensor(Record):
    """Pose and velocity of a frame or link, as measured by motion capture.

    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> fw.FrameSensor("pendulum/tip").read(sim.state()).pose[:3, 3] + 0.0
    array([ 0.,  0., -1.])
    """

    frame: str

    def read(self, state: State) -> FrameReading:
        """At ``state``: pose (..., 4, 4) in the world, and velocity (..., 6) in world axes [m/s, rad/s]."""
        model = model_of(state)
        model.frame(self.frame)
        pose = np.array(_core.frame_placement(model, state.q, self.frame))
        velocity = _core.frame_velocity(model, state.q, state.v, self.frame, reference="local_world_aligned")
        return FrameReading(pose, np.array(velocity))
