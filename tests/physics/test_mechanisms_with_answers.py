"""Mechanisms whose motion is known, in the simulator: a row of four-bars through their singular positions, Andrews'
squeezer, and energy that stays."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import featherweight as fw
from featherweight.arrays import Array


def swung(n: int, dt: float, seconds: float, integrator: Literal["semi_implicit", "verlet"]) -> fw.Trajectory:
    """Four-bars in a row, pushed over from upright at 1 rad/s; couplers stay level."""
    sim = fw.Simulator(fw.models.n_four_bar(n), dt=dt, integrator=integrator)
    v = [1.0 if "crank" in joint.name else -1.0 for joint in sim.model.joints]
    return sim.rollout(sim.state(v=v), n_steps=round(seconds / dt))


def angle(n: int, seconds: float) -> float:
    """J th'' = G sin th."""
    J, G = (n + 1) / 3 + n, ((n + 1) / 2 + n) * 9.81
    motion = solve_ivp(
        lambda _, y: (y[1], G / J * np.sin(y[0])), (0, seconds), (0.0, 1.0), "DOP853", rtol=1e-12, atol=1e-12
    )
    return float(motion.y[0, -1])


def angles(motion: fw.Trajectory) -> Array:
    """Of cranks, and of couplers the other way."""
    signs = [1.0 if "crank" in joint.name else -1.0 for joint in motion.simulator.model.joints]
    return np.asarray(motion.q * signs)


def energy(motion: fw.Trajectory) -> Array:
    model = motion.simulator.model
    return np.asarray(fw.kinetic_energy(model, motion.q, motion.v) + fw.potential_energy(model, motion.q))


def test_two_four_bars_pass_where_all_bars_are_in_line() -> None:
    """There three ways to go on meet. Eleven times; the angle at the end is that of the literature."""
    motion = swung(2, 5e-5, 10.0, "verlet")
    assert abs(motion.q[-1, 0] - 31.750597187) < 1e-6
    assert np.ptp(angles(motion), axis=1).max() < 1e-7
    total = energy(motion)
    assert np.abs(total - total[0]).max() < 1e-6
    assert motion.closure_error < 1e-9


@pytest.mark.parametrize("integrator", ["semi_implicit", "verlet"])
def test_forty_four_bars_stay_on_their_branch(integrator: Literal["semi_implicit", "verlet"]) -> None:
    motion = swung(40, 1e-3, 20.0, integrator)
    assert np.ptp(angles(motion), axis=1).max() < 1e-6
    assert abs(motion.q[-1, 0] - angle(40, 20.0)) < 1e-4
    assert motion.closure_error < 1e-9
    assert motion.unconverged == 0


@pytest.mark.parametrize(("speed", "dt"), [(0.0, 1e-3), (3.0, 1e-3), (10.0, 1e-3), (10.0, 2e-3)])
def test_a_crank_and_rocker_keep_their_energy_for_a_minute(speed: float, dt: float) -> None:
    """In steps in halves; the crank turns by up to 33 rad/s. Of second order, and nothing drifts."""
    model = fw.models.four_bar()
    sim = fw.Simulator(model, dt=dt, integrator="verlet")
    J = np.reshape(fw.constraint_jacobian(model, sim.scene.q0, fw.constraints_of(model)), (2, 3))
    v = speed * np.concatenate([[1.0], np.linalg.solve(J[:, 1:], -J[:, 0])])
    motion = sim.rollout(sim.state(v=v), n_steps=round(60.0 / dt))
    total = energy(motion)
    assert np.abs(total - total[0]).max() < (dt / 1e-2) ** 2 * 1e-2 * fw.kinetic_energy(model, motion.q, motion.v).max()
    assert motion.closure_error < 2e-12


# Andrews' squeezing mechanism [Hairer and Wanner 1996, VII.7]: masses, inertias, lengths, in SI units.
MASS = {"K1": 0.04325, "K2": 0.00365, "K3": 0.02373, "K4": 0.00706, "K5": 0.07050, "K6": 0.00706, "K7": 0.05498}
TURN = {"K1": 2.194e-6, "K2": 4.41e-7, "K3": 5.255e-6, "K4": 5.667e-7, "K5": 1.169e-5, "K6": 5.667e-7, "K7": 1.912e-5}
START = {"K1": -0.0617138900142764496, "K2": 0.0, "K3": 0.455279819163070380, "K4": 0.222668390165885885}
START |= {"K5": 0.487364979543842550, "K6": -0.222668390165885885, "K7": 1.23054744454982119}
END = {"K1": 15.81077119629904, "K2": -15.75637105984298, "K3": 0.04082224013073101, "K4": -0.5347301163226948}
END |= {"K5": 0.5244099658805304, "K6": 0.5347301163226948, "K7": 1.048080741042263}
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
D_ON_K3 = (0.02, -0.018)
STIFFNESS, REST, TORQUE = 4530.0, 0.07785, 0.033


def squeezer() -> fw.Model:
    builder = fw.ModelBuilder("squeezer", gravity=(0.0, 0.0, 0.0))
    for name, parent, at, com in (
        ("K1", "world", (0.0, 0.0), (0.00092, 0.0)),
        ("K2", "K1", (0.007, 0.0), (-0.0115, 0.0)),
        ("K3", "world", B, (0.01874, 0.01043)),
        ("K5", "world", A, (0.02308, 0.00916)),
        ("K4", "K5", (0.04, 0.0), (0.0, -(0.02 - 0.01421))),
        ("K7", "world", A, (0.01228, 0.00449)),
        ("K6", "K7", (0.0, -0.04), (0.02 - 0.01421, 0.0)),
    ):
        builder.link(name, mass=MASS[name], com=(*com, 0.0), inertia=[TURN[name]] * 3)
        builder.joint(name, "continuous", parent, name, placement=(*at, 0.0), axis="z", start=[START[name]])
    for name, at in (("K3", (0.0, -0.035)), ("K4", (0.0, -0.02)), ("K6", (0.02, 0.0))):
        end = {"placement": (-0.028, 0.0, 0.0), "to_placement": (*at, 0.0)}
        builder.close(f"pin_{name}", "K2", name, rows=("x", "y"), **end)
    return builder.build()


def torque_of_spring(angle: float) -> float:
    """On K3, from D on it to C."""
    c, s = np.cos(angle), np.sin(angle)
    arm = np.array([[c, -s], [s, c]]) @ D_ON_K3
    from_C = arm + B - C
    length = float(np.hypot(*from_C))
    pull = -STIFFNESS * (length - REST) / length * from_C
    return float(arm[0] * pull[1] - arm[1] * pull[0])


def test_andrews_squeezer_ends_where_it_does_in_the_literature() -> None:
    """After 0.03 s, in which its crank turns two and a half times."""
    sim = fw.Simulator(squeezer(), dt=1e-6, integrator="verlet")
    names = [joint.name.split("/")[1] for joint in sim.model.joints]
    crank, sprung = names.index("K1"), names.index("K3")
    state, tau = sim.state(), np.zeros(7)
    assert state.closure_error < 1e-15
    tau[crank] = TORQUE
    for _ in range(30_000):  # forces in the middle of the step: of second order, as the rest
        tau[sprung] = torque_of_spring(float(state.q[sprung] + 0.5 * sim.dt * state.v[sprung]))
        state = sim.step(state, tau)
    np.testing.assert_allclose(state.q, [END[name] for name in names], rtol=0, atol=1e-6)
