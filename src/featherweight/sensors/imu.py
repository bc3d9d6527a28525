"""Gyroscope and accelerometer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Array
from ..records import Record
from ..simulation.state import State
from .last_step import gravity_of, last_step
from .reading import model_of, squeezed


@dataclass(frozen=True, eq=False)
class ImuReading(Record):
    gyro: Array  # (..., 3) angular velocity [rad/s], in the axes of the frame
    accelerometer: Array  # (..., 3) [m/s^2], in the axes of the frame: acceleration less gravity, so +g upward at rest


@dataclass(frozen=True)
class IMU(Record):
    """Gyroscope and accelerometer at a frame or link.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> box = scene.add(fw.box((0.2, 0.2, 0.2)), name="box", pose=(0, 0, 0.1))
    >>> sim = fw.Simulator(scene)
    >>> reading = fw.IMU("box").read(sim.step(sim.state()))
    >>> reading.accelerometer.round(3) + 0.0
    array([0.  , 0.  , 9.81])
    """

    frame: str

    def read(self, state: State) -> ImuReading:
        """In the last step of ``state``: gyro (..., 3) [rad/s] and accelerometer (..., 3) [m/s^2]."""
        model = model_of(state)
        model.frame(self.frame)  # an unknown name is refused here
        velocity = _core.frame_velocity(model, state.q, state.v, self.frame)
        q, v, a = last_step(state)
        classical = np.asarray(_core.frame_acceleration(model, q, v, a, self.frame, classical=True))[..., :3]
        R = np.asarray(_core.frame_placement(model, q, self.frame))[..., :3, :3]
        proper = classical - np.einsum("...ji,...j->...i", R, gravity_of(state))
        return ImuReading(np.asarray(velocity)[..., 3:], squeezed(proper, state))
