"""Activations in derivatives of a step: what they drive, and what they are after it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from .actuation import Actuation


class ActivationSlopes:
    """One step of a batch: controls of laws as activations drive them, and slopes of the new activations.

    before, after: activations (batch, na); controls: (batch or 1, laws and activations), or None.
    """

    def __init__(self, actuation: Actuation, before: Array, after: Array, controls: Array | None, dt: float) -> None:
        batch, na = before.shape
        mixing, laws = actuation.mixing, actuation.n_laws
        assert mixing is not None
        given = np.zeros((batch, laws + na)) if controls is None else np.broadcast_to(controls, (batch, laws + na))
        parts = [
            _slopes(law, before[:, k], given[:, laws + k], dt, after[:, k])
            for k, law in enumerate(actuation.activations)
        ]
        #: Of new activations, each by itself before and by its control, (batch, na).
        self.by_activation, self.by_own_control = (np.stack(x, axis=1) for x in zip(*parts, strict=True))
        early = np.array([law[-1] for law in actuation.activations], dtype=bool)
        gains = np.zeros((laws, na))
        for k, law, gain in actuation.activated_laws:
            gains[law, k] += gain
        owners = mixing[laws:]  # (na, nu): whose control it is
        #: Controls of laws, (batch, laws), and their slopes by activations (batch, laws, na) and controls.
        self.controls = given[:, :laws] + np.where(early, after, before) @ gains.T
        self.laws_by_activation = gains * np.where(early, self.by_activation, 1.0)[:, None, :]
        self.laws_by_control = mixing[:laws] + (gains * (early * self.by_own_control)[:, None, :]) @ owners
        #: (batch, na, nu)
        self.by_control = self.by_own_control[:, :, None] * owners


def _slopes(
    law: tuple[bool, tuple[float, float], tuple[float, float, float], tuple[float, float], bool],
    now: Array,
    control: Array,
    dt: float,
    after: Array,
) -> tuple[Array, Array]:
    """By the activation before the step and by its control; none at the ends of its range (core/step/activate.hpp)."""
    is_muscle, (keep, take), times, (low, up), _ = law
    by_now, by_control = _of_muscle(times, now, control, dt) if is_muscle else (keep + 0 * now, take + 0 * control)
    free = (after > low) & (after < up)
    return by_now * free, by_control * free


def _of_muscle(times: tuple[float, float, float], now: Array, control: Array, dt: float) -> tuple[Array, Array]:
    rise, fall, smoothing = times
    active, by_active = 0.5 + 1.5 * np.clip(now, 0.0, 1.0), 1.5 * _inside(now)
    error, by_control = np.clip(control, 0.0, 1.0) - now, _inside(control)
    if smoothing > 0.0:
        t = np.clip(error / smoothing + 0.5, 0.0, 1.0)
        share, slope = t**3 * ((6.0 * t - 15.0) * t + 10.0), 30.0 * (t * (1.0 - t)) ** 2 / smoothing
    else:
        share, slope = np.where(error > 0.0, 1.0, 0.0), np.zeros_like(error)
    time = fall / active + (rise * active - fall / active) * share
    time_by_active = (share - 1.0) * fall / active**2 + rise * share
    rate_by_error = 1.0 / time - error / time**2 * (rise * active - fall / active) * slope
    rate_by_active = -error / time**2 * time_by_active
    return 1.0 + dt * (rate_by_active * by_active - rate_by_error), dt * rate_by_error * by_control


def _inside(x: Array) -> NDArray[np.float64]:
    return np.where((x > 0.0) & (x < 1.0), 1.0, 0.0)
