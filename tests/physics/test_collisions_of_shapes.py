"""Any two shapes hit each other in any attitude: momentum stays, energy does not grow, and nothing goes through.

Two metres of motion in steps of 2 ms, at up to 5 m/s, spinning; elastic or not, with friction or without.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model.poses import rotation_from_quaternion

POINTS = np.random.default_rng(3).normal(size=(14, 3))
HULL = 0.12 * POINTS / np.linalg.norm(POINTS, axis=1)[:, None]
SHAPES: dict[str, Callable[..., fw.Body]] = {
    "box": lambda **more: fw.box((0.2, 0.2, 0.2), mass=1.0, **more),
    "sphere": lambda **more: fw.sphere(0.1, mass=1.0, **more),
    "capsule": lambda **more: fw.capsule(0.08, 0.15, mass=1.0, **more),
    "cylinder": lambda **more: fw.cylinder(0.1, 0.2, mass=1.0, **more),
    "ellipsoid": lambda **more: fw.ellipsoid((0.1, 0.15, 0.07), mass=1.0, **more),
    "hull": lambda **more: fw.convex(HULL, mass=1.0, **more),
}
PAIRS = list(itertools.combinations_with_replacement(SHAPES, 2))


def attitude(rng: np.random.Generator) -> Array:
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


def thrown(a: str, b: str, rng: np.random.Generator, speed: float, aside: float) -> tuple[Array, Array]:
    """The first at the second, which waits."""
    q = np.concatenate([(-0.4, 0, 0), attitude(rng), (0.4, aside, 0.3 * aside), attitude(rng)])
    u = rotation_from_quaternion(q[3:7]).T @ (speed, 0, 0)
    return q, np.concatenate([u, rng.uniform(-5, 5, 3), np.zeros(3), rng.uniform(-5, 5, 3)])


def collide(
    a: str,
    b: str,
    q: Array,
    v: Array,
    seconds: float,
    dt: float = 2e-3,
    integrator: Any = "semi_implicit",
    **more: float,
) -> tuple[fw.Trajectory, Array, Array]:
    """The motion; momenta about the common centre of mass and kinetic energies, of the start and every step."""
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(SHAPES[a](**more), name="a")
    scene.add(SHAPES[b](**more), name="b")
    sim = fw.Simulator(scene, dt=dt, integrator=integrator)
    motion = sim.rollout(sim.state(q=q, v=v), n_steps=round(seconds / dt))
    q, v = np.vstack([q, motion.q]), np.vstack([v, motion.v])
    momenta = np.asarray(fw.centroidal_momentum(sim.model, q, v))
    return motion, momenta, np.asarray(fw.kinetic_energy(sim.model, q, v))


@pytest.mark.parametrize("integrator", ["semi_implicit", "verlet"])
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_hits_keep_momentum_and_bring_no_energy(a: str, b: str, integrator: Any) -> None:
    """Steps with hits are of first order. What turns within them turns the inertia of a body by as much: angular
    momentum is off by the turn of a step, some hundredths; and so, of steps in halves, are places where curved things
    touch.
    """
    rng, hits = np.random.default_rng(sum(map(ord, a + b))), 0
    for _ in range(8):
        speed = float(rng.choice([0.5, 5.0]))
        q, v = thrown(a, b, rng, speed, float(rng.uniform(-0.08, 0.08)))
        friction, restitution = float(rng.choice([0.0, 0.6])), float(rng.choice([0.0, 0.5, 1.0]))
        motion, momenta, energy = collide(
            a, b, q, v, 1.2 / speed, integrator=integrator, friction=friction, restitution=restitution
        )
        hits += bool(abs(energy[-1] / energy[0] - 1) > 1e-9 or np.abs(motion.v[-1] - v).max() > 1e-3)
        assert not motion.final.failed
        np.testing.assert_allclose(momenta[:, :3], momenta[[0], :3].repeat(len(momenta), 0), atol=1e-11)
        assert np.abs(momenta[:, 3:] - momenta[0, 3:]).max() < 0.02 * 0.1 * speed
        assert np.diff(energy).max() < (5e-3 if integrator == "verlet" else 5e-5) * energy[0]
        assert motion.penetration < 5e-3  # of the centimetre that a step goes
    assert hits >= 4


def test_angular_momentum_of_a_hit_is_off_by_what_a_step_turns() -> None:
    rng = np.random.default_rng(1)
    q, v = thrown("box", "capsule", rng, 5.0, 0.06)
    errors = []
    for dt in (2e-3, 2.5e-4):
        _, momenta, energy = collide("box", "capsule", q, v, 0.4, dt, friction=0.6, restitution=0.5)
        assert energy[-1] < 0.99 * energy[0]
        errors.append(np.abs(momenta[-1, 3:] - momenta[0, 3:]).max())
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("integrator", ["semi_implicit", "verlet"])
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_nothing_happens_to_what_passes_by(a: str, b: str, integrator: Any) -> None:
    """Farther apart than both reach, by a tenth of a millimetre, and fast."""
    reach = {"box": 0.1 * np.sqrt(3), "sphere": 0.1, "capsule": 0.155, "ellipsoid": 0.15, "hull": 0.12}
    reach["cylinder"] = 0.1 * np.sqrt(2)
    rng = np.random.default_rng(2)
    aside = (reach[a] + reach[b] + 1e-4) / np.sqrt(1.09)
    q, v = thrown(a, b, rng, 8.0, aside)
    _, momenta, energy = collide(a, b, q, v, 0.2, integrator=integrator, friction=0.5, restitution=0.5)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)
    np.testing.assert_allclose(momenta[:, :3], momenta[[0], :3].repeat(len(momenta), 0), atol=1e-12)
