"""Activations: states that follow the controls of actuators, and drive them in their place."""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import Activation
from featherweight.reference.stages.scene import StepScene


def activate(scene: StepScene, control: Array | None, activation: Array | None) -> tuple[Array, Array]:
    """What actuators are told, (nu,), their clamped controls or activations; and activations after the step, (na,)."""
    actuators = scene.model.actuators
    told = np.zeros(len(actuators)) if control is None else control.copy()
    following = [(k, each.activation) for k, each in enumerate(actuators) if each.activation is not None]
    now = np.zeros(len(following)) if activation is None else activation
    for k, each in enumerate(actuators):
        told[k] = np.clip(told[k], *(each.ctrl_range or (-np.inf, np.inf)))
    after = np.zeros(len(following))
    for i, (k, law) in enumerate(following):
        after[i] = np.clip(_next(law, now[i], told[k], scene.dt), *(law.range or (-np.inf, np.inf)))
        told[k] = after[i] if law.early else now[i]
    return told, after


def _next(law: Activation, w: float, u: float, dt: float) -> float:
    if law.kind == "integrator":
        return w + dt * u
    if law.kind == "filter":
        return w + (u - w) * min(dt / law.time_constants[0], 1.0)
    if law.kind == "exact_filter":
        return u + (w - u) * float(np.exp(-dt / law.time_constants[0]))
    rise, fall, width = law.time_constants
    active, error = 0.5 + 1.5 * float(np.clip(w, 0.0, 1.0)), float(np.clip(u, 0.0, 1.0)) - w
    x = float(np.clip(error / width + 0.5, 0.0, 1.0)) if width > 0.0 else float(error > 0.0)
    share = 6.0 * x**5 - 15.0 * x**4 + 10.0 * x**3
    return w + dt * error / (share * rise * active + (1.0 - share) * fall / active)
