"""Actuators as the core has them: laws on single degrees of freedom, each driven by a sum of controls.

An actuator on several joints becomes one law on each of them. Actuators that share a joint with a limited effort become
one law: the limit is that of their sum. Everything else is its own law, driven by its own control.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..model.description import Actuator
from ..model.model import Model, ModelJoint

#: Degree of freedom, gain, kp, kd, bounds of the force, speed above which it accelerates no further.
CoreActuator = tuple[int, float, float, float, float, float, float]


@dataclass(frozen=True)
class _Part:
    """What an actuator does to one of its joints: force = gain u + bias - kp q - kd v, within bounds."""

    owner: int  # which actuator
    gain: float
    bias: float
    kp: float
    kd: float
    lower: float
    upper: float


class Actuation:
    """From controls, one for each actuator, to those of the core."""

    def __init__(self, model: Model) -> None:
        self.laws: list[CoreActuator] = []
        self._owners: list[list[int]] = []  # per law
        rows: list[dict[int, float]] = []
        offsets: list[float] = []
        for joint, parts in _groups(model):
            plain = len(parts) == 1 and parts[0].bias == 0.0
            self._owners.append([part.owner for part in parts])
            rows.append({parts[0].owner: 1.0} if plain else {part.owner: part.gain for part in parts})
            offsets.append(sum(part.bias for part in parts))
            self.laws.append(
                (
                    joint.v_slice.start,
                    parts[0].gain if plain else 1.0,
                    sum(part.kp for part in parts),
                    sum(part.kd for part in parts),
                    *_bounds(joint, parts),
                    float(joint.velocity_limit[0]),
                )
            )
        n = len(model.description.actuators)
        self._mixing = np.zeros((len(rows), n))
        for k, row in enumerate(rows):
            for owner, gain in row.items():
                self._mixing[k, owner] += gain
        self._offset = np.array(offsets, dtype=np.float64)
        self._is_plain = np.array_equal(self._mixing, np.eye(n)) and not self._offset.any()

    def controls(self, control: Array | None) -> Array | None:
        """What the core is told, (..., laws), for controls (..., nu)."""
        if self._is_plain:
            return control
        if control is None:
            return self._offset.reshape(1, 1, -1) if self._offset.any() else None
        return np.ascontiguousarray(control @ self._mixing.T + self._offset)

    def gains(self, factors: Array) -> Array:
        """Factors (batch, laws) for those of the actuators (batch, nu); those that share a law must share it."""
        for owners in self._owners:
            if (factors[:, owners] != factors[:, owners[:1]]).any():
                raise ValueError(f"gains: actuators {owners} share a joint of limited effort, and must share a factor")
        return np.ascontiguousarray(factors[:, [owners[0] for owners in self._owners]])


def _groups(model: Model) -> Iterator[tuple[ModelJoint, list[_Part]]]:
    """Parts that are one law, in the order of the actuators."""
    parts: list[tuple[ModelJoint, _Part]] = [
        part for k, actuator in enumerate(model.description.actuators) for part in _parts(model, k, actuator)
    ]
    shared = {
        joint.name
        for joint, _ in parts
        if np.isfinite(joint.effort_limit[0])
        and sum(other.name == joint.name for other, _ in parts) > 1
        and not any(np.isfinite((p.lower, p.upper)).any() for other, p in parts if other.name == joint.name)
    }
    told: set[str] = set()
    for joint, part in parts:
        if joint.name not in shared:
            yield joint, [part]
        elif joint.name not in told:
            told.add(joint.name)
            yield joint, [p for other, p in parts if other.name == joint.name]


def _parts(model: Model, k: int, actuator: Actuator) -> Iterator[tuple[ModelJoint, _Part]]:
    gain, b0, b1, b2 = actuator.law
    for name, ratio in ((actuator.joint, 1.0), *actuator.others):
        gear = actuator.gear * ratio
        low, up = (-np.inf, np.inf) if actuator.force_range is None else sorted(gear * x for x in actuator.force_range)
        yield (
            model.joint(name),
            _Part(k, gear * gain, gear * b0, -(gear**2) * b1, -(gear**2) * b2, float(low), float(up)),
        )


def _bounds(joint: ModelJoint, parts: list[_Part]) -> tuple[float, float]:
    effort = float(joint.effort_limit[0])
    return max(-effort, parts[0].lower), min(effort, parts[0].upper)
