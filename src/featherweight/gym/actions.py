"""Actions: maps from numbers between -1 and 1 to the controls of actuators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..records import Record
from ..simulation.simulator import Simulator
from .world import Names


class Action(Protocol):
    """An action of a task."""

    def size(self, names: Names) -> int:
        """The number of values it takes."""
        ...

    def apply(self, names: Names, center: Array, action: Array, control: Array) -> None:
        """Writes its columns of control (n, nu) for action (n, size); center (nu,): control at the start."""
        ...


@dataclass(frozen=True)
class Targets(Record):
    """control = start + scale * action, on all actuators that match.

    The start of a servo is the initial position of its joint, that of a motor is zero. scale: [rad], [m], or in the
    units of the motor; one number, or one for each actuator.
    """

    actuators: str = "*"
    scale: float | tuple[float, ...] = 1.0

    def size(self, names: Names) -> int:
        return len(names.actuators(self.actuators))

    def apply(self, names: Names, center: Array, action: Array, control: Array) -> None:
        columns = names.actuators(self.actuators)
        control[:, columns] = center[columns] + np.asarray(self.scale) * action


@dataclass(frozen=True)
class Increments(Record):
    """control += scale * action, within limits, on all actuators that match: targets that move at a bounded speed.

    low, high: bounds of the control [rad] or [m]. scale: the largest change from one action to the next.
    """

    actuators: str = "*"
    scale: float | tuple[float, ...] = 0.05
    low: float | tuple[float, ...] = -np.inf
    high: float | tuple[float, ...] = np.inf

    def size(self, names: Names) -> int:
        return len(names.actuators(self.actuators))

    def apply(self, names: Names, center: Array, action: Array, control: Array) -> None:
        columns = names.actuators(self.actuators)
        control[:, columns] = np.clip(control[:, columns] + np.asarray(self.scale) * action, self.low, self.high)


@dataclass(frozen=True)
class Grip(Record):
    """One number for all actuators that match: control = low at -1, high at 1."""

    actuators: str
    low: float
    high: float

    def size(self, names: Names) -> int:
        return 1

    def apply(self, names: Names, center: Array, action: Array, control: Array) -> None:
        control[:, names.actuators(self.actuators)] = self.low + 0.5 * (self.high - self.low) * (action + 1.0)


def start_control(simulator: Simulator) -> Array:
    """(nu,) where servos keep what they drive where the scene put it; zero for other actuators."""
    q0, model = simulator.scene.q0, simulator.model
    control = np.zeros(simulator.nu)
    for k, actuator in enumerate(simulator.actuators):
        if actuator.kind == "position":
            joints = [(model.joint(name).q_slice.start, ratio) for name, ratio in actuator.joints]
            control[k] = sum(ratio * q0[at] for at, ratio in joints)
    return control
