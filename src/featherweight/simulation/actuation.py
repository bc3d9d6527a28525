"""Actuators as the core has them: laws, each driven by a sum of controls, and activations that stand between.

A law acts on a single degree of freedom, or is a transmission: it acts on several or on a link, or its force is none
that a row of the cone problem could have. A motor on several joints is one law on each of them. Actuators that share a
joint with a limited effort become one law: the limit is that of their sum. Everything else is its own law, driven by
its own control.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..model.description import Activation, Actuator, Tendon
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

    def __init__(self, model: Model, dt: float) -> None:
        actuators = model.description.actuators
        self.laws: list[CoreActuator] = []
        self.transmissions: list[Any] = []
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
        brakes = list(braked(model))
        first_brake = len(self.laws)
        for owner, joint in brakes:
            self._owners.append([owner])
            rows.append({})
            offsets.append(0.0)
            self.laws.append((joint.v_slice.start, 0.0, 0.0, 0.0, -np.inf, np.inf, float(joint.velocity_limit[0])))
        for k, actuator in enumerate(actuators):
            if is_transmission(actuator):
                own = {joint.name: first_brake + i for i, (owner, joint) in enumerate(brakes) if owner == k}
                self.transmissions.append(_transmission(model, actuator, own))
                self._owners.append([k])
                rows.append({k: 1.0})
                offsets.append(0.0)
        for tendon in model.description.tendons:  # springs and dampers, which nobody controls
            if tendon.stiffness > 0.0 or tendon.damping > 0.0:
                self.transmissions.append(_tendon(model, tendon))
                self._owners.append([])
                rows.append({})
                offsets.append(0.0)
        self.activated = [k for k, actuator in enumerate(actuators) if actuator.activation is not None]
        self.activations: list[Any] = [_activation(a.activation, dt) for a in actuators if a.activation is not None]
        self.activated_laws = [
            (self.activated.index(owner), law, gain)
            for law, row in enumerate(rows)
            for owner, gain in row.items()
            if owner in self.activated
        ]
        self._mixing = np.zeros((len(rows) + len(self.activated), len(actuators)))
        for k, row in enumerate(rows):
            for owner, gain in row.items():
                if owner not in self.activated:
                    self._mixing[k, owner] += gain
        for k, owner in enumerate(self.activated):
            self._mixing[len(rows) + k, owner] = 1.0
        #: What is added to controls of the core, (laws and activations,).
        self.offset = np.array(offsets + [0.0] * len(self.activated), dtype=np.float64)
        self._is_plain = np.array_equal(self._mixing, np.eye(len(actuators))) and not self.offset.any()

    def controls(self, control: Array | None) -> Array | None:
        """What the core is told, (..., laws and activations), for controls (..., nu)."""
        if self._is_plain:
            return control
        if control is None:
            return self.offset.reshape(1, 1, -1) if self.offset.any() else None
        return np.ascontiguousarray(control @ self._mixing.T + self.offset)

    @property
    def n_laws(self) -> int:
        """How many forces there are, whoever drives them."""
        return len(self._owners)

    @property
    def mixing(self) -> Array | None:
        """Controls of the core per control, (laws and activations, nu); None if they are the same."""
        return None if self._is_plain else self._mixing

    @property
    def sharing(self) -> Array | None:
        """Factors of laws per factor of an actuator, (laws, nu): actuators that share a law share its factor."""
        if self._is_plain:
            return None
        shares = np.zeros((self.n_laws, self._mixing.shape[1]))
        for law, owners in enumerate(self._owners):
            shares[law, owners] = 1.0 / len(owners)
        return shares

    def gains(self, factors: Array) -> Array:
        """Factors (batch, laws) for those of the actuators (batch, nu); those that share a law must share it."""
        for owners in self._owners:
            if owners and (factors[:, owners] != factors[:, owners[:1]]).any():
                raise ValueError(f"gains: actuators {owners} share a joint of limited effort, and must share a factor")
        columns = [factors[:, owners[0]] if owners else np.ones(len(factors)) for owners in self._owners]
        return np.stack(columns, axis=1) if columns else np.ones((len(factors), 0))

    def arguments(self) -> dict[str, Any]:
        """As the core takes them."""
        return {
            "actuators": self.laws,
            "transmissions": self.transmissions,
            "activations": self.activations,
            "activated_laws": self.activated_laws,
        }


def is_transmission(actuator: Actuator) -> bool:
    """Whether its force depends on several joints, or is none that a row of the cone problem could have."""
    _, _, per_length, per_rate = actuator.law
    on_several = bool(actuator.others) and (per_length != 0.0 or per_rate != 0.0)
    grows = per_length > 0.0 or per_rate > 0.0 or any(actuator.slopes)
    return actuator.muscle is not None or actuator.joint is None or on_several or grows


def braked(model: Model) -> Iterator[tuple[int, ModelJoint]]:
    """Transmissions, and joints of theirs that they may not drive beyond a velocity: a law takes back what would."""
    for k, actuator in enumerate(model.description.actuators):
        for name, gear in actuator.joints if is_transmission(actuator) else ():
            joint = model.joint(name)
            if len(joint.velocity_limit) == 1 and gear != 0.0 and np.isfinite(joint.velocity_limit[0]):
                yield k, joint


def _groups(model: Model) -> Iterator[tuple[ModelJoint, list[_Part]]]:
    """Parts that are one law, in the order of the actuators."""
    parts: list[tuple[ModelJoint, _Part]] = [
        part
        for k, actuator in enumerate(model.description.actuators)
        if not is_transmission(actuator)
        for part in _parts(model, k, actuator)
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
    for name, gear in actuator.joints:
        low, up = (-np.inf, np.inf) if actuator.force_range is None else sorted(gear * x for x in actuator.force_range)
        yield (
            model.joint(name),
            _Part(k, gear * gain, gear * b0, -(gear**2) * b1, -(gear**2) * b2, float(low), float(up)),
        )


def _bounds(joint: ModelJoint, parts: list[_Part]) -> tuple[float, float]:
    effort = float(joint.effort_limit[0])
    return max(-effort, parts[0].lower), min(effort, parts[0].upper)


def _transmission(model: Model, actuator: Actuator, brakes: dict[str, int]) -> tuple[Any, ...]:
    """Terms, with the laws that brake their joints; link, pose and wrench; gain, bias, bounds, slack; muscle; strut and
    gear; sticky link.

    No joint gets more than its effort limit.
    """
    gain, constant, per_length, per_rate = actuator.law
    low, up = (-np.inf, np.inf) if actuator.force_range is None else actuator.force_range
    terms = []
    for name, gear in actuator.joints:
        joint = model.joint(name)
        terms.append((joint.v_slice.start, gear, brakes.get(name, -1)))
        most = float(joint.effort_limit[0]) / abs(gear) if gear != 0.0 else np.inf
        low, up = float(np.clip(low, -most, most)), float(np.clip(up, -most, most))
    link, placement = -1, np.eye(4)
    if actuator.frame is not None:
        frame = model.frame(actuator.frame)
        link, placement = -1 if frame.link == "world" else model.link(frame.link).index, frame.placement
    return (
        terms,
        link,
        placement.ravel().tolist(),
        actuator.wrench or (0.0,) * 6,
        (gain, *actuator.slopes),
        (constant, -per_length, -per_rate),
        (float(low), float(up)),
        (0.0, 0.0),
        None if actuator.muscle is None else tuple(vars(actuator.muscle).values()),
        -1 if actuator.strut is None else [each.name for each in model.description.struts].index(actuator.strut),
        actuator.gear,
        -1 if actuator.sticky is None else model.link(actuator.sticky).index,
        actuator.reach,
    )


def _tendon(model: Model, tendon: Tendon) -> tuple[Any, ...]:
    """The same of a spring and a damper along a tendon."""
    pairs = zip(tendon.joints, tendon.coefficients, strict=True)
    terms = [(model.joint(name).v_slice.start, coefficient, -1) for name, coefficient in pairs]
    nowhere = (-1, np.eye(4).ravel().tolist(), (0.0,) * 6)
    law = ((0.0, 0.0, 0.0), (0.0, tendon.stiffness, tendon.damping), (-np.inf, np.inf))
    return terms, *nowhere, *law, tendon.rest_range or (0.0, 0.0), None, -1, 0.0, -1, 0.0


def _tendon_length(model: Model, tendon: Tendon, q: Array) -> Array:
    """At q (..., nq), (...)."""
    pairs = zip(tendon.joints, tendon.coefficients, strict=True)
    return np.zeros(q.shape[:-1]) + sum(x * q[..., model.joint(name).q_slice.start] for name, x in pairs)


def tendon_energy(model: Model, q: Array) -> Array:
    """The energy of all springs along tendons at q (..., nq), (...) [J]."""
    energy = np.zeros(q.shape[:-1])
    for tendon in model.description.tendons:
        length = _tendon_length(model, tendon, q)
        energy += 0.5 * tendon.stiffness * (length - np.clip(length, *(tendon.rest_range or (0.0, 0.0)))) ** 2
    return energy


def tendon_violation(model: Model, q: Array) -> Array:
    """By how much the worst tendon is beyond its limits at q (..., nq), (...); zero where none is."""
    worst = np.zeros(q.shape[:-1])
    for tendon in model.description.tendons:
        if tendon.range is not None:
            length = _tendon_length(model, tendon, q)
            worst = np.maximum(worst, np.maximum(tendon.range[0] - length, length - tendon.range[1]))
    return worst


def _activation(activation: Activation, dt: float) -> tuple[Any, ...]:
    """Whether it is a muscle's; what it keeps and takes in a step; its time constants, its range, whether it is early.

    A filter with a time constant shorter than the step is at the control after it, and never beyond.
    """
    low, up = (-np.inf, np.inf) if activation.range is None else activation.range
    times = activation.time_constants
    keep, take = 1.0, dt
    if activation.kind == "filter":
        take = min(dt / times[0], 1.0)
        keep = 1.0 - take
    elif activation.kind == "exact_filter":
        keep, take = float(np.exp(-dt / times[0])), float(-np.expm1(-dt / times[0]))
    is_muscle = activation.kind == "muscle"
    return is_muscle, (keep, take), times if is_muscle else (0.0,) * 3, (low, up), activation.early
