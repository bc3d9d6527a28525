"""Averages and their gradients, against integrals that are known in closed form."""

from __future__ import annotations

from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.smoothing.estimators import estimate

DT, STEPS = 0.01, 20
T = DT * STEPS


def Phi(x: float) -> float:
    return 0.5 * (1.0 + erf(x / sqrt(2.0)))


def phi(x: float) -> float:
    return exp(-0.5 * x * x) / sqrt(2.0 * pi)


def drifting(speed: float = 0.3) -> tuple[fw.Simulator, fw.State]:
    """A ball without gravity, so that x = speed t."""
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.sphere(0.1), name="ball")
    sim = fw.Simulator(scene, dt=DT)
    return sim, sim.state(v=[speed, 0, 0, 0, 0, 0])


def of_last_x(f: Any, slope: Any) -> Any:
    def cost(trajectory: fw.Trajectory) -> tuple[Array, Array, None]:
        x = trajectory.q[:, -1, 0]
        dq = np.zeros_like(trajectory.v)
        dq[:, -1, 0] = slope(x)
        return f(x), dq, None

    return cost


#: f, f', and E f, d E f / dx of x ~ N(m, s^2)
CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "square": (lambda x: x**2, lambda x: 2 * x, lambda m, s: m * m + s * s, lambda m, s: 2 * m),
    "hinge": (
        lambda x: np.maximum(x, 0),
        lambda x: (x > 0) * 1.0,
        lambda m, s: m * Phi(m / s) + s * phi(m / s),
        lambda m, s: Phi(m / s),
    ),
    "jump": (
        lambda x: (x > 0) * 1.0,
        lambda x: 0 * x,
        lambda m, s: Phi(m / s),
        lambda m, s: phi(m / s) / s,
    ),
    "sawtooth": (  # a kink and a jump: gradients say 1 where the average says less
        lambda x: x - 0.05 * (x > 0),
        lambda x: 1 + 0 * x,
        lambda m, s: m - 0.05 * Phi(m / s),
        lambda m, s: 1 - 0.05 * phi(m / s) / s,
    ),
}


@pytest.mark.parametrize("order", ["zeroth", "first", "mixed"])
@pytest.mark.parametrize("name", CASES)
def test_averages_of_known_integrals(name: str, order: Any) -> None:
    f, slope, mean, gradient = CASES[name]
    sim, state = drifting(speed=0.05)
    found = fw.smooth(
        sim,
        state,
        of_last_x(f, slope),
        n_steps=STEPS,
        sigma={"v": [0.2, 0, 0, 0, 0, 0]},
        samples=4096,
        order=order,
        seed=1,
    )
    m, s = 0.05 * T, 0.2 * T
    assert abs(found.value - mean(m, s)) < 5 * found.value_error + 1e-9
    got, error = found.gradient["v"][0], found.error["v"][0]
    wanted = T * gradient(m, s)  # x = v T
    jumps = name in ("jump", "sawtooth")
    if order == "first" and jumps:
        assert abs(got - wanted) > 0.2 * abs(wanted)  # blind to jumps
        return
    assert abs(got - wanted) < 5 * error + 1e-9
    if order == "mixed":
        assert bool(found.biased["v"][0]) == jumps
        assert found.first_share["v"][0] == 0.0 if jumps else found.first_share["v"][0] > 0.5
    np.testing.assert_allclose(found.gradient["v"][1:], 0.0, atol=1e-9)


def test_mixed_has_less_noise_than_either() -> None:
    rng = np.random.default_rng(0)
    zeroth, first = 1.0 + rng.normal(size=(400, 2)) * [3.0, 0.5], 1.0 + rng.normal(size=(400, 2)) * [0.5, 3.0]
    both = estimate("mixed", zeroth, first)
    assert (both.error < np.minimum(zeroth.std(axis=0), first.std(axis=0)) / 20.0 + 1e-3).all()
    assert both.first_share[0] > 0.9 and both.first_share[1] < 0.1 and not both.biased.any()


def test_a_linear_cost_is_known_exactly() -> None:
    """All samples agree on the gradient, so there is no error left; values alone are noisy."""
    sim, state = drifting()
    found = fw.smooth(
        sim,
        state,
        of_last_x(lambda x: x, lambda x: 1 + 0 * x),
        n_steps=STEPS,
        sigma={"v": [0.1, 0.1, 0.1, 0, 0, 0]},
        samples=32,
    )
    np.testing.assert_allclose(found.gradient["v"], [T, 0, 0, 0, 0, 0], atol=1e-9)
    assert found.first_share["v"][0] == pytest.approx(1.0)


def landing(speed: float, sigma: float) -> fw.SmoothedStep:
    scene = fw.Scene(ground=fw.Plane(friction=0.0))
    scene.add(fw.sphere(0.1), name="ball", pose=(0, 0, 0.11))
    sim = fw.Simulator(scene, dt=DT)
    state = sim.state(v=[0, 0, speed + 9.81 * DT, 0, 0, 0])
    return fw.smooth_step(sim, state, sigma={"v": [0, 0, sigma, 0, 0, 0]}, samples=4096, seed=3)


@pytest.mark.parametrize("speed", [-1.15, -1.0, -0.9])
def test_a_step_that_may_land(speed: float) -> None:
    """v+ = max(v - g dt, -gap / dt), whose average over v is known."""
    sigma, barrier = 0.1, -0.01 / DT
    step = landing(speed, sigma)
    m = (speed - barrier) / sigma
    assert abs(step.v[2] - (barrier + sigma * (m * Phi(m) + phi(m)))) < 5 * sigma / sqrt(2048)
    assert abs(step.A[8, 8] - Phi(m)) < 5 * step.A_error[8, 8] + 1e-6
    assert abs(step.A[2, 8] - DT * Phi(m)) < 5 * step.A_error[2, 8] + 1e-8
    # by height, which is not changed at random: the mean of what samples say, -1 / dt of those that land
    assert abs(step.A[8, 2] + (1 - Phi(m)) / DT) < 5 * step.A_error[8, 2] + 1e-3


def test_seeds_and_repeats() -> None:
    sim, state = drifting()
    ask = {"n_steps": 5, "sigma": {"v": 0.1, "q": 0.05}, "samples": 16}
    cost = of_last_x(lambda x: x**2, lambda x: 2 * x)
    one, two = (fw.smooth(sim, state, cost, seed=4, **ask) for _ in range(2))  # type: ignore[arg-type]
    other = fw.smooth(sim, state, cost, seed=5, **ask)  # type: ignore[arg-type]
    assert one == two and one != other and set(one.gradient) == {"v", "q"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sigma": {"w": 1.0}}, "sigma: unknown 'w'"),
        ({"sigma": {}}, "sigma: names nothing"),
        ({"sigma": 0.1}, "control is to be changed, but none is given"),
        ({"sigma": {"v": [1.0, 2.0]}}, r"sigma of v: expected a number or shape \(6,\)"),
        ({"sigma": {"v": -1.0}}, "sigma of v: must not be negative"),
        ({"sigma": {"v": np.nan}}, "sigma of v: "),
        ({"seed": -1}, "seed must be a non-negative integer"),
        ({"samples": 3}, "samples must be an even number"),
        ({"order": "second"}, "order must be one of"),
        ({"cost": lambda trajectory: np.zeros(3)}, "cost: expected values of shape"),
        ({"cost": lambda trajectory: np.zeros(16)}, r'order "mixed" needs \(values, dq, dv\)'),
        ({"cost": lambda trajectory: np.full(16, np.inf)}, "cost: values contain numbers that are not finite"),
        ({"cost": lambda trajectory: (np.zeros(16), np.zeros((16, 2, 6)), None)}, "dq: expected shape"),
        ({"control": [1.0]}, "control: expected"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], told: str) -> None:
    sim, state = drifting()
    ask: dict[str, Any] = {"n_steps": 5, "sigma": {"v": 0.1}, "samples": 16}
    ask["cost"] = of_last_x(lambda x: x, lambda x: 1 + 0 * x)
    ask |= change
    with pytest.raises(ValueError, match=told):
        fw.smooth(sim, state, ask.pop("cost"), **ask)


def test_batches_are_refused() -> None:
    sim, _ = drifting()
    with pytest.raises(ValueError, match="single environment"):
        fw.smooth(sim, sim.state(3), of_last_x(lambda x: x, lambda x: x), n_steps=2, sigma={"v": 0.1})
