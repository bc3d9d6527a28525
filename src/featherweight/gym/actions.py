"""Actions: maps from numbers between -1 and 1 to the controls of actuators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..arrays import Array
from ..records import Record
from ..simulation.simulator import Simulator
from .world import Names


class Rule(NamedTuple):
    """How one column of the control follows from one of the action: clip(center + scale * action, low, high).

    >>> fw.gym.Rule(control=2, action=0, center=0.0, scale=0.5).high
    inf
    """

    control: int
    action: int
    center: float | None  # None: the control as it was
    scale: float
    low: float = -np.inf
    high: float = np.inf


class Action(Protocol):
    """An action of a task.

    >>> action: fw.gym.Action = fw.gym.Targets("robot/*_knee", scale=0.4)
    """

    def size(self, names: Names) -> int:
        """The number of values it takes."""
        ...

    def rules(self, names: Names, center: Array) -> list[Rule]:
        """What the core does with it; center (nu,): control at the start."""
        ...


@dataclass(frozen=True)
class Targets(Record):
    """control = start + scale * action, on all actuators that match.

    The start of a servo is the initial position of its joint, that of a motor is zero. scale: [rad], [m], or in the
    units of the motor; one number, or one for each actuator.

    >>> fw.gym.Targets("robot/*_knee", scale=0.4)
    Targets(actuators='robot/*_knee', scale=0.4)
    """

    actuators: str = "*"
    scale: float | tuple[float, ...] = 1.0

    def size(self, names: Names) -> int:
        """The number of values it takes."""
        return len(names.actuators(self.actuators))

    def rules(self, names: Names, center: Array) -> list[Rule]:
        """One for each actuator that matches; center (nu,): control at the start."""
        columns = names.actuators(self.actuators)
        scales = np.broadcast_to(self.scale, len(columns))
        return [Rule(c, k, float(center[c]), float(scales[k])) for k, c in enumerate(columns.tolist())]


@dataclass(frozen=True)
class Increments(Record):
    """control += scale * action, within limits, on all actuators that match: targets that move at a bounded speed.

    low, high: bounds of the control [rad] or [m]. scale: the largest change from one action to the next.

    >>> fw.gym.Increments("arm/joint_*", scale=0.05, low=-2.0, high=2.0)
    Increments(actuators='arm/joint_*', scale=0.05, low=-2.0, high=2.0)
    """

    actuators: str = "*"
    scale: float | tuple[float, ...] = 0.05
    low: float | tuple[float, ...] = -np.inf
    high: float | tuple[float, ...] = np.inf

    def size(self, names: Names) -> int:
        """The number of values it takes."""
        return len(names.actuators(self.actuators))

    def rules(self, names: Names, center: Array) -> list[Rule]:
        """One for each actuator that matches; center (nu,): control at the start."""
        columns = names.actuators(self.actuators)
        scales, lows, highs = (np.broadcast_to(x, len(columns)).tolist() for x in (self.scale, self.low, self.high))
        return [Rule(c, k, None, scales[k], lows[k], highs[k]) for k, c in enumerate(columns.tolist())]


@dataclass(frozen=True)
class Grip(Record):
    """One number for all actuators that match: control = low at -1, high at 1.

    >>> fw.gym.Grip("arm/finger_*", low=0.0, high=0.04)
    Grip(actuators='arm/finger_*', low=0.0, high=0.04)
    """

    actuators: str
    low: float
    high: float

    def size(self, names: Names) -> int:
        """The number of values it takes."""
        return 1

    def rules(self, names: Names, center: Array) -> list[Rule]:
        """One for each actuator that matches; center (nu,): control at the start."""
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        return [Rule(c, 0, middle, half) for c in names.actuators(self.actuators).tolist()]


def start_control(simulator: Simulator) -> Array:
    """(nu,) where servos keep what they drive where the scene put it; zero for other actuators."""
    q0, model = simulator.scene.q0, simulator.model
    control = np.zeros(simulator.nu)
    for k, actuator in enumerate(simulator.actuators):
        if actuator.kind == "position":
            joints = [(model.joint(name).q_slice.start, ratio) for name, ratio in actuator.joints]
            control[k] = sum(ratio * q0[at] for at, ratio in joints)
    return control
