"""What rolls on a rim, a tip or a side that is not round: where the point of contact moves over the body."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model.poses import quaternion_from_rotation, rotation_from_quaternion
from physics.disc import rolling_disc


@pytest.mark.parametrize(("tilt", "bound"), [(0.3, 2e-3), (0.8, 1e-3), (1.2, 1e-5)])
def test_a_disc_that_rolls_on_its_rim_is_followed_to_second_order(tilt: float, bound: float) -> None:
    """Eight times finer: 64 times less, but for corners of the rim that it passes, which touch for a step."""
    coarse, fine = (rolling_disc(tilt, dt=dt, integrator="verlet") for dt in (1e-3, 1.25e-4))
    for name in ("tilt", "path"):
        assert getattr(fine, name) < getattr(coarse, name) / 30
    assert coarse.tilt < bound


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_disc_keeps_rolling_on_its_rim(restitution: float) -> None:
    """For five seconds, nearly 18 turns. Restitution does not matter to what touches all the time."""
    disc = rolling_disc(1.2, dt=1e-3, seconds=5.0, integrator="verlet", restitution=restitution)
    assert disc.energy < 1e-6 and disc.tilt < 1e-5 and disc.path < 1e-5


def test_the_default_step_follows_a_disc_to_first_order() -> None:
    coarse, fine = (rolling_disc(0.8, dt=dt).tilt for dt in (1e-3, 2.5e-4))
    assert coarse < 5e-3 and fine < coarse / 3.5


def test_a_tippe_top_keeps_jelletts_integral() -> None:
    """L . c, with c from the centre of mass to the point of contact: whatever force acts there, of a round top."""
    radius, below, inertia = 0.02, 0.004, np.array([1.7e-6, 1.7e-6, 1.6e-6])
    ball = fw.Geometry("ball", "collision", "sphere", (radius,))
    builder = fw.ModelBuilder("top").link("top", mass=0.01, com=(0, 0, -below), inertia=inertia, geometries=[ball])
    scene = fw.Scene(ground=fw.Plane(friction=0.3))
    scene.add(builder.joint("root", "free", "world", "top").build(), name="top", pose=(0, 0, radius))
    sim = fw.Simulator(scene, dt=1e-3, integrator="verlet")
    q = sim.state().q.copy()
    q[3:7] = math.sin(0.05), 0, 0, math.cos(0.05)
    motion = sim.rollout(sim.state(q=q, v=[0, 0, 0, 0, 0, 100.0]), n_steps=1000)
    R = rotation_from_quaternion(motion.q[:, 3:7])
    momenta = np.einsum("nij,nj->ni", R, motion.v[:, 3:] * inertia)
    integral = (momenta * (below * R[:, :, 2] - (0, 0, radius))).sum(axis=1)
    assert np.abs(integral / integral[0] - 1).max() < 1e-8
    tilt = np.arccos(R[:, 2, 2])
    assert tilt.max() - tilt.min() > 0.05  # friction has moved it


RADII, MASS, GRAVITY = np.array([0.1, 0.03, 0.02]), 1.0, 9.81


def celt() -> Array:
    """Inertia of half a walnut whose mass is not arranged as its shape [kg m^2]."""
    a, b, c = RADII**2
    turn = rotation_from_quaternion(np.array([0, 0, math.sin(0.15), math.cos(0.15)]))
    return np.asarray(turn @ np.diag([b + c, a + c, a + b]) @ turn.T * MASS / 5)


def rolled(w: Array, R: Array, seconds: float) -> Array:
    """Angular velocity [rad/s] after rolling without slipping, of its own equations: about the point of contact."""
    inertia = celt()

    def rate(_: float, y: Array) -> Array:
        R, w = y[:9].reshape(3, 3), y[9:]
        n = R[2]  # the vertical
        h = np.linalg.norm(RADII * n)
        to = -(RADII**2) * n / h  # from the centre to the point of contact
        turn = -np.cross(w, n)
        moves = -(RADII**2) * turn / h + RADII**2 * n * (RADII**2 * n * turn).sum() / h**3
        pull = MASS * (GRAVITY * n - np.cross(w, moves) - np.cross(w, np.cross(w, to)))
        hat = np.array([[0, -to[2], to[1]], [to[2], 0, -to[0]], [-to[1], to[0], 0]])
        dw = np.linalg.solve(inertia - MASS * hat @ hat, np.cross(to, pull) - np.cross(w, inertia @ w))
        spin = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([(R @ spin).ravel(), dw])

    return np.asarray(
        solve_ivp(rate, (0, seconds), [*R.ravel(), *w], method="DOP853", rtol=1e-11, atol=1e-12).y[9:, -1]
    )


@pytest.mark.parametrize("spin", [5.0, -5.0])
def test_a_celt_turns_back_one_way_round_only(spin: float) -> None:
    """It rattles and reverses where its spin is against its nature: to second order, of equations of its own."""
    R = rotation_from_quaternion(np.array([math.sin(0.01), math.sin(0.005), 0, 1]) / math.sqrt(1.000125))
    w = np.array([0, 0, spin])
    shape = fw.Geometry("shape", "collision", "ellipsoid", tuple(RADII))
    builder = fw.ModelBuilder("celt").link("celt", mass=MASS, inertia=celt(), geometries=[shape])
    scene = fw.Scene(ground=fw.Plane(friction=5.0))
    scene.add(builder.joint("root", "free", "world", "celt").build(), name="celt")
    to = -(RADII**2) * R[2] / np.linalg.norm(RADII * R[2])
    exact, errors = rolled(w, R, 0.5), []
    for dt in (1e-3, 5e-4):
        sim = fw.Simulator(scene, dt=dt, integrator="verlet")
        q = [0, 0, -(R @ to)[2], *quaternion_from_rotation(R)]
        end = sim.rollout(sim.state(q=q, v=[*-np.cross(w, to), *w]), n_steps=round(0.5 / dt)).final
        errors.append(np.abs(end.v[3:] - exact).max())
    assert errors[0] < 0.02 and errors[1] < 0.3 * errors[0]
    assert (abs(exact[2]) > 4) == (spin > 0)
