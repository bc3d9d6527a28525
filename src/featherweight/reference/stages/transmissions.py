"""Actuators on several joints, on a frame or along a strut, or with laws that no row could have, such as muscles."""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import Actuator, ModelDescription, Muscle
from featherweight.reference.stages.bodies import Bodies
from featherweight.reference.stages.struts import strut_length
from featherweight.reference.tree import slices


def is_transmission(actuator: Actuator) -> bool:
    """Whether it is none of the servos of servos.py."""
    _, _, per_length, per_rate = actuator.law
    special = actuator.kind == "muscle" or actuator.joint is None or any(actuator.slopes)
    return (
        special or max(per_length, per_rate) > 0.0 or (bool(actuator.others) and (per_length, per_rate) != (0.0, 0.0))
    )


def add_transmissions(
    model: ModelDescription, bodies: Bodies, control: Array, q: Array, v: Array, force: Array
) -> list[tuple[int, float, float]]:
    """Their forces at the start of the step, added to ``force`` (nv,).

    Of joints that have a velocity limit: degree of freedom, the force on it, and the limit.
    """
    limited = list[tuple[int, float, float]]()
    at = {joint.name: (joint, *places) for joint, places in zip(model.joints, slices(model), strict=True)}
    for u, each in zip(control, model.actuators, strict=True):
        if not is_transmission(each):
            continue
        arm = np.zeros(len(v))  # what the actuator travels per velocity
        length, most = 0.0, np.inf
        for name, gear in each.joints:
            joint, at_q, at_v = at[name]
            arm[at_v] += gear
            length += gear * float(q[at_q][0])
            if joint.effort_limit is not None and gear != 0.0:
                most = min(most, float(joint.effort_limit[0]) / abs(gear))
        if each.frame is not None:
            arm = _on_frame(model, bodies, each)
        if each.strut is not None:
            strut = next(strut for strut in model.struts if strut.name == each.strut)
            length, arm = strut_length(model, bodies, strut, len(v))
            length, arm = each.gear * length, each.gear * arm
        pull = _force(each, float(u), length, float(arm @ v))
        pull = float(np.clip(np.clip(pull, *(each.force_range or (-np.inf, np.inf))), -most, most))
        force += arm * pull
        for name, gear in each.joints:
            joint, _, at_v = at[name]
            if joint.velocity_limit is not None and len(joint.velocity_limit) == 1 and gear != 0.0:
                limited.append((at_v.start, gear * pull, float(joint.velocity_limit[0])))
    return limited


def add_tendons(model: ModelDescription, q: Array, v: Array, force: Array) -> None:
    """Springs and dampers along tendons, added to ``force`` (nv,)."""
    at = {joint.name: places for joint, places in zip(model.joints, slices(model), strict=True)}
    for tendon in model.tendons:
        arm, length = np.zeros(len(v)), 0.0
        for name, x in zip(tendon.joints, tendon.coefficients, strict=True):
            arm[at[name][1]] += x
            length += x * float(q[at[name][0]][0])
        low, up = tendon.rest_range or (0.0, 0.0)
        stretch = max(length - up, 0.0) - max(low - length, 0.0)
        force -= arm * (tendon.stiffness * stretch + tendon.damping * float(arm @ v))


def _on_frame(model: ModelDescription, bodies: Bodies, actuator: Actuator) -> Array:
    frame = next((each for each in model.frames if each.name == actuator.frame), None)
    name, X = (actuator.frame, np.eye(4)) if frame is None else (frame.link, frame.placement)
    linear, angular = (X[:3, :3] @ part for part in np.split(np.array(actuator.wrench), 2))
    if name == "world":
        return np.zeros(bodies.jacobians[0].shape[1])
    link = next(i for i, each in enumerate(model.links) if each.name == name)
    return np.asarray(bodies.jacobians[link].T @ np.concatenate([linear, angular + np.cross(X[:3, 3], linear)]))


def _force(actuator: Actuator, u: float, length: float, rate: float) -> float:
    if actuator.muscle is not None:
        return -actuator.muscle.peak * _pull(actuator.muscle, u, length, rate)
    gain, constant, per_length, per_rate = actuator.law
    gain += actuator.slopes[0] * length + actuator.slopes[1] * rate
    return gain * u + constant + per_length * length + per_rate * rate


def _pull(m: Muscle, u: float, length: float, rate: float) -> float:
    """Over the peak: a bell by length, an S by velocity, and what stretches the muscle passively."""
    L, V = (length - m.slack) / m.optimal, rate / (m.optimal * m.fastest)
    half = (1.0 - m.shortest if L < 1.0 else m.longest - 1.0) / 2.0  # from the optimal length to the turning point
    away = abs(L - 1.0) / half
    bell = 1.0 - 0.5 * away**2 if away <= 1.0 else 0.5 * (2.0 - away) ** 2 if away <= 2.0 else 0.0
    more = m.eccentric - 1.0
    stretched = m.eccentric - (more - V) ** 2 / more if 0.0 < V < more else m.eccentric
    by_velocity = 0.0 if V <= -1.0 else (V + 1.0) ** 2 if V <= 0.0 else stretched
    x = 2.0 * max(L - 1.0, 0.0) / (m.longest - 1.0)
    return bell * by_velocity * u + m.passive * (0.5 * x**2 if x <= 1.0 else x - 0.5)
