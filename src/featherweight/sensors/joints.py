"""Encoders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..records import Record
from ..simulation.state import State
from .reading import model_of


@dataclass(frozen=True, eq=False)
class JointReading(Record):
    position: Array  # (..., nq of the joint) [rad] or [m]
    velocity: Array  # (..., nv of the joint) [rad/s] or [m/s]


@dataclass(frozen=True)
class JointSensor(Record):
    """Encoder of a joint.

    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> fw.JointSensor("pendulum/hinge").read(sim.state(q=[0.3])).position
    array([0.3])
    """

    joint: str

    def read(self, state: State) -> JointReading:
        """At ``state``: position (..., nq of the joint) [rad, m] and velocity (..., nv of the joint) [rad/s, m/s]."""
        joint = model_of(state).joint(self.joint)
        return JointReading(np.array(state.q[..., joint.q_slice]), np.array(state.v[..., joint.v_slice]))
