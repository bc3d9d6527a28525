"""Motors and servos: force = gain u + bias - kp q - kd v, within bounds.

At the end of the step, q + dt sigma and sigma stand for q and v. Without bounds that is more inertia; with them it is a
row, sigma + (kp q - gain u) / r + lambda / (dt r) = 0 with r = kd + dt kp, unless its impulse is on a bound.

No drive takes its joint beyond its velocity limit V. A servo that at V would still push on holds sigma = V instead,
within its effort and what it has at the start of the step. Of others a row takes back what it must,
-dt f <= lambda <= 0 with sigma <= V, where f is the force at V.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import Actuator
from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.stages.scene import StepScene, axis_coordinates
from featherweight.reference.stages.transmissions import is_transmission
from featherweight.reference.tree import slices


@dataclass(frozen=True)
class Servo:
    """The law of an actuator as its joint sees it: the gear is in the gains."""

    dof: int
    coordinate: int
    drive: float  # gain times control, and the bias [N] or [N m]
    kp: float
    kd: float
    lower: float
    upper: float
    fastest: float  # it does not drive its joint beyond this speed
    is_row: bool


def servos(scene: StepScene, control: Array) -> list[Servo]:
    """Each actuator on each of its joints; those without bounds of their own that share a limited joint are one.

    control: (nu,) clamped, or the activations in place of it (activations.py).
    """
    dofs = zip(scene.model.joints, slices(scene.model), strict=True)
    at = {joint.name: (joint, at_v.start) for joint, (_, at_v) in dofs}
    found, coordinates = list[Servo](), axis_coordinates(scene.model)
    bounded = {name for each in scene.model.actuators if each.force_range for name, _ in each.joints}
    for u, each in zip(control, scene.model.actuators, strict=True):
        if is_transmission(each):
            continue  # transmissions.py
        gain, constant, stiffness, damping = _law(each)
        for name, gear in each.joints:
            joint, dof = at[name]
            upper = np.inf if joint.effort_limit is None else float(joint.effort_limit[0])
            lower, fastest = -upper, np.inf if joint.velocity_limit is None else float(joint.velocity_limit[0])
            kp, kd, drive = gear**2 * stiffness, gear**2 * damping, gear * (gain * u + constant)
            same = next((k for k, s in enumerate(found) if s.dof == dof), None)
            if same is not None and np.isfinite(upper) and name not in bounded:
                first = found[same]
                kp, kd, drive = first.kp + kp, first.kd + kd, first.drive + drive
                found.pop(same)
            if each.force_range is not None:
                weakest, strongest = sorted(gear * x for x in each.force_range)
                lower, upper = max(lower, weakest), min(upper, strongest)
            is_row = scene.implicit and bool(np.isfinite([lower, upper]).all()) and kd + scene.dt * kp > 0
            found.append(Servo(dof, coordinates[dof], drive, kp, kd, lower, upper, fastest, is_row))
    return found


def _law(actuator: Actuator) -> tuple[float, float, float, float]:
    """Gain, constant force, stiffness and damping, before the gear."""
    if actuator.kind == "position":
        return actuator.kp, 0.0, actuator.kp, actuator.kd
    if actuator.kind == "velocity":
        return actuator.kd, 0.0, 0.0, actuator.kd
    return actuator.kp, actuator.bias[0], -actuator.bias[1], -actuator.bias[2]


def add_forces(scene: StepScene, servos: list[Servo], q: Array, v: Array, H: Array, force: Array) -> None:
    """Servos that are not rows: their forces, and the inertia that stands for what acts at the end of the step."""
    ahead = scene.dt if scene.implicit else 0.0
    for s in servos:
        if s.is_row:
            continue
        x, rate = q[s.coordinate], v[s.dof]
        force[s.dof] += float(np.clip(s.drive - s.kp * (x + ahead * rate) - s.kd * rate, s.lower, s.upper))
        H[s.dof, s.dof] += ahead * (s.kd + ahead * s.kp)


def servo_row(s: Servo, dt: float, x: float, v: float) -> tuple[ConeBlock, float, float]:
    """Law, shift and compliance of a servo that is a row, at x and v."""
    rate, lower, upper = s.kd + dt * s.kp, dt * s.lower, dt * s.upper

    def impulse(sigma: float) -> float:
        return dt * (s.drive - s.kp * x - rate * sigma)

    if np.isfinite(s.fastest) and impulse(s.fastest) > 0:
        upper = min(upper, max(impulse(s.fastest), impulse(v)))
        return ConeBlock("interval", 1, lower=lower, upper=upper), -s.fastest, 0.0
    if np.isfinite(s.fastest) and impulse(-s.fastest) < 0:
        lower = max(lower, min(impulse(-s.fastest), impulse(v)))
        return ConeBlock("interval", 1, lower=lower, upper=upper), s.fastest, 0.0
    return ConeBlock("interval", 1, lower=lower, upper=upper), (s.kp * x - s.drive) / rate, 1 / (dt * rate)


def brake_row(s: Servo, scene: StepScene, x: float, v: float) -> tuple[ConeBlock, float, float]:
    """The same of what is taken back of a drive that is a force."""
    ahead = scene.dt if scene.implicit else 0.0
    rate = s.kd + ahead * s.kp if scene.implicit else 0.0
    force = float(np.clip(s.drive - s.kp * (x + ahead * v) - s.kd * v, s.lower, s.upper)) + rate * v
    back = -scene.dt * max(force - rate * s.fastest, 0.0), -scene.dt * min(force + rate * s.fastest, 0.0)
    return ConeBlock("interval", 1, lower=back[0], upper=back[1]), -s.fastest if back[0] < 0 else s.fastest, 0.0
