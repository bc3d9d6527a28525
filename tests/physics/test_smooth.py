"""Periods and conservation laws of motion without contact."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ellipk, ellipkm1

import featherweight as fw
from featherweight.simulation.core_arguments import Integrator
from physics.smooth import (
    PENDULUM_PERIOD,
    TUMBLING_PERIOD,
    energy_drift,
    floating_robot,
    order,
    pendulum_period,
    tumbling,
)


def test_the_exact_periods_are_those_of_elliptic_integrals() -> None:
    assert pytest.approx(4.0 * np.sqrt(1.0 / 9.81) * ellipk(0.5), rel=1e-15) == PENDULUM_PERIOD
    I1, I2, I3 = 1, 2, 3
    w1, w2 = Fraction(1, 100), 5  # exactly: the energies are close to those of the separatrix
    energy2, L2 = I1 * w1**2 + I2 * w2**2, (I1 * w1) ** 2 + (I2 * w2) ** 2  # twice the energy, momentum squared
    # Landau and Lifshitz, Mechanics, section 37; momentum beyond that of the middle axis or not decides the roles
    if energy2 * I2 > L2:
        I1, I3 = I3, I1
    scale = (I3 - I2) * (L2 - energy2 * I1)
    period = 4.0 * ellipkm1(float((I3 - I1) * (L2 - energy2 * I2) / scale)) * np.sqrt(float(I1 * I2 * I3 / scale))
    assert pytest.approx(period, rel=1e-12) == TUMBLING_PERIOD


def test_a_body_spun_about_its_middle_axis_flips_in_time() -> None:
    """The error of RK4 at 1 ms is 1e-12; rounding grows about a hundredfold with every flip past the unstable axis."""
    body = tumbling(dt=1e-3)
    np.testing.assert_allclose(body.crossings[:2], [0.25 * TUMBLING_PERIOD, 0.75 * TUMBLING_PERIOD], rtol=0, atol=2e-9)
    assert round(float(body.crossings[0]), 5) == 2.63303
    assert body.momentum < 1e-10
    assert body.energy < 1e-11


def test_the_period_of_a_pendulum() -> None:
    """Fourth order: 4e-9 s at 10 ms, ten thousand times less at 1 ms."""
    assert abs(pendulum_period(dt=1e-2) - PENDULUM_PERIOD) < 1e-8
    assert abs(pendulum_period(dt=1e-3) - PENDULUM_PERIOD) < 1e-11


@pytest.mark.parametrize("robot", [fw.models.humanoid, fw.models.quadruped])
def test_a_robot_adrift_keeps_its_momentum(robot: type) -> None:
    """Fourth order: at 1 ms the error is below 1e-11."""
    kept = floating_robot(robot(), dt=1e-3)
    assert kept.linear < 1e-10
    assert kept.angular < 1e-10


@pytest.mark.parametrize(
    "integrator, expected, dts",
    [("semi_implicit", 1, (1e-3, 5e-4)), ("implicit", 1, (1e-3, 5e-4)), ("rk4", 4, (4e-3, 2e-3))],
)
def test_energy_drift_falls_with_the_order_of_the_integrator(
    integrator: Integrator, expected: int, dts: tuple[float, float]
) -> None:
    """Measured over one halving of dt, where the next order still shows by some hundredths."""
    measured = order(dts, (energy_drift(dts[0], integrator), energy_drift(dts[1], integrator)))
    assert abs(measured - expected) < 0.15
