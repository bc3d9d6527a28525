"""Motors and servos: force = gain u - kp q - kd v, within bounds.

At the end of the step, q + dt sigma and sigma stand for q and v. Without bounds that is more inertia; with them it is a
row, sigma + (kp q - gain u) / r + lambda / (dt r) = 0 with r = kd + dt kp, unless its impulse is on a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.stages.scene import StepScene, axis_coordinates
from featherweight.reference.tree import slices


@dataclass(frozen=True)
class Servo:
    """The law of an actuator as its joint sees it: the gear is in the gains."""

    dof: int
    coordinate: int
    drive: float  # gain times control [N] or [N m]
    kp: float
    kd: float
    lower: float
    upper: float
    fastest: float  # above this speed it does not accelerate further
    is_row: bool


def servos(scene: StepScene, control: Array) -> list[Servo]:
    dofs = zip(scene.model.joints, slices(scene.model), strict=True)
    at = {joint.name: (joint, at_v.start) for joint, (_, at_v) in dofs}
    result, coordinates = [], axis_coordinates(scene.model)
    for u, each in zip(control, scene.model.actuators, strict=True):
        joint, dof = at[each.joint]
        if each.ctrl_range is not None:
            u = float(np.clip(u, *each.ctrl_range))
        kp = each.gear**2 * each.kp if each.kind == "position" else 0.0
        kd = each.gear**2 * each.kd if each.kind != "motor" else 0.0
        drive = each.gear * u * (each.kd if each.kind == "velocity" else each.kp)
        upper = np.inf if joint.effort_limit is None else float(joint.effort_limit[0])
        lower, fastest = -upper, np.inf if joint.velocity_limit is None else float(joint.velocity_limit[0])
        if each.force_range is not None:
            weakest, strongest = sorted(each.gear * x for x in each.force_range)
            lower, upper = max(lower, weakest), min(upper, strongest)
        is_row = scene.implicit and bool(np.isfinite([lower, upper]).all()) and kd + scene.dt * kp > 0
        result.append(Servo(dof, coordinates[dof], drive, kp, kd, lower, upper, fastest, is_row))
    return result


def add_forces(scene: StepScene, servos: list[Servo], q: Array, v: Array, H: Array, force: Array) -> None:
    """Servos that are not rows: their forces, and the inertia that stands for what acts at the end of the step."""
    ahead = scene.dt if scene.implicit else 0.0
    for s in servos:
        if s.is_row:
            continue
        x, rate = q[s.coordinate], v[s.dof]
        own = float(np.clip(s.drive - s.kp * (x + ahead * rate) - s.kd * rate, s.lower, s.upper))
        if not (rate * own > 0 and abs(rate) > s.fastest):
            force[s.dof] += own
        H[s.dof, s.dof] += ahead * (s.kd + ahead * s.kp)
