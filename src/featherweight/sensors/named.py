"""Sensors that a model has names for, as its file said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..model.description import SensorQuantity
from ..records import Record
from ..simulation.simulator import Simulator
from ..simulation.state import State
from .frames import FrameSensor
from .imu import IMU
from .joints import JointSensor


@dataclass(frozen=True)
class NamedSensor(Record):
    """One quantity at one place, under the name it has in the model.

    >>> sensor = fw.NamedSensor("angle", "joint_position", "pendulum/hinge")
    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> sensor.read(sim.state(q=[0.2]))
    array([0.2])
    """

    name: str
    quantity: SensorQuantity
    of: str  # a frame, link or joint of the scene

    def read(self, state: State) -> Array:
        """(..., n) as :class:`featherweight.model.description.Sensor` says."""
        match self.quantity:
            case "gyro":
                return IMU(self.of).read(state).gyro
            case "accelerometer":
                return IMU(self.of).read(state).accelerometer
            case "joint_position":
                return JointSensor(self.of).read(state).position
            case "joint_velocity":
                return JointSensor(self.of).read(state).velocity
            case "frame_position":
                return np.array(FrameSensor(self.of).read(state).pose[..., :3, 3])
            case "frame_rotation":
                return np.array(FrameSensor(self.of).read(state).pose[..., :3, :3])
            case "frame_velocity":
                return np.array(FrameSensor(self.of).read(state).velocity[..., :3])
            case "frame_angular_velocity":
                return np.array(FrameSensor(self.of).read(state).velocity[..., 3:])
            case "velocimeter":
                reading = FrameSensor(self.of).read(state)
                R, v = reading.pose[..., :3, :3], reading.velocity[..., :3]
                return np.asarray(np.einsum("...ji,...j->...i", R, v))


def named_sensors(simulator: Simulator) -> dict[str, NamedSensor]:
    """The sensors of all models in a scene, by name: "robot/gyro".

    >>> builder = fw.ModelBuilder.from_description(fw.models.arm().description)
    >>> sim = fw.Simulator(builder.sensor("elbow", "joint_position", "joint_4").build())
    >>> sensors = fw.named_sensors(sim)
    >>> list(sensors)
    ['arm/elbow']
    >>> sensors["arm/elbow"].read(sim.state())
    array([0.])
    """
    described = simulator.model.description.sensors
    return {sensor.name: NamedSensor(sensor.name, sensor.quantity, sensor.of) for sensor in described}
