"""Contacts never create energy, and what bodies do to one another leaves their momentum alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.scenes import drop, energy, random_body, tumbled

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model import poses


def gain(sim: fw.Simulator, state: fw.State, steps: int, tau: Array | None = None) -> float:
    """Largest rise of the energy above what the forces put in [J], over the run and all environments."""
    trajectory = sim.rollout(state, tau, n_steps=steps)
    q, v = (np.concatenate([a[:, None], b], axis=1) for a, b in ((state.q, trajectory.q), (state.v, trajectory.v)))
    total = energy(sim.model, q, v)
    if tau is not None:  # the velocities that moved the coordinates
        total[:, 1:] -= np.cumsum((tau * v[:, 1:]).sum(axis=2), axis=1) * sim.dt
    lowest = np.minimum.accumulate(total, axis=1)
    assert not trajectory.final.failed.any()
    return float((total - lowest).max())


@pytest.mark.parametrize("kind", ["box", "capsule", "convex", "cylinder", "ellipsoid", "sphere"])
def test_dropped_bodies_gain_nothing(kind: str) -> None:
    """Thrown and spinning bodies of some joules: what is gained falls with the step, as the integrator's error does."""
    gains = []
    for dt in (2e-3, 5e-4):
        rng = np.random.default_rng(1)
        sim = fw.Simulator(drop(rng, (kind,) * 4), dt=dt)
        state = sim.state(8, v=rng.normal(size=(8, sim.model.nv)))
        gains.append(gain(sim, state, round(1.0 / dt)))
    scale = energy(sim.model, state.q, state.v).max()
    assert gains[0] < 0.01 * scale, f"gained {gains[0]:.2e} J of {scale:.1f} J at 2 ms"
    assert gains[1] < 0.6 * gains[0] + 1e-5 * scale, f"gained {gains} J at 2 ms and 0.5 ms"


@pytest.mark.parametrize("driven", [False, True])
def test_a_humanoid_gains_nothing_beyond_its_torques(driven: bool) -> None:
    gains = []
    for dt in (2e-3, 5e-4):
        scene = fw.Scene(ground=fw.Plane(friction=0.8))
        scene.add(fw.models.humanoid(), name="robot", pose=(0, 0, 1.0))
        sim = fw.Simulator(scene, dt=dt)
        rng = np.random.default_rng(2)
        steps = round(1.0 / dt)
        tau = None
        if driven:
            knots = rng.normal(size=(8, 20, sim.model.nv)) * 10.0
            knots[..., :6] = 0.0
            tau = np.repeat(knots, steps // 20, axis=1)
        gains.append(gain(sim, sim.state(8), steps, tau))
    assert gains[0] < 5.0, f"gained {gains} J, of 570 J of potential energy"
    assert gains[1] < 0.5 * gains[0] + 1e-6, f"gained {gains} J at 2 ms and 0.5 ms"


@pytest.mark.parametrize("last", ["ellipsoid", "convex"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_momentum_of_colliding_bodies(restitution: float, last: str) -> None:
    """In zero gravity, bodies of all shapes that fly into one another; hulls have their centre of mass elsewhere."""
    rng = np.random.default_rng(3)
    scene = fw.Scene(gravity=(0, 0, 0))
    for k, kind in enumerate(("box", "sphere", "capsule", "box", "cylinder", last)):
        place = 0.35 * np.array([np.cos(k), np.sin(k), 0.5 * np.cos(2 * k)])
        scene.add(random_body(rng, kind, restitution=restitution), name=f"{kind}_{k}", pose=tumbled(rng, place))
    sim = fw.Simulator(scene, dt=1e-3)
    q, v = sim.scene.q0, np.zeros(sim.model.nv)
    for k in range(6):  # towards the middle, turning
        R = poses.rotation_from_quaternion(q[7 * k + 3 : 7 * k + 7])
        v[6 * k : 6 * k + 3] = R.T @ (-2.0 * q[7 * k : 7 * k + 3])
        v[6 * k + 3 : 6 * k + 6] = rng.normal(size=3)
    trajectory = sim.rollout(sim.state(v=v), n_steps=400, record_contacts=True)
    assert sum((c.impulse[:, 2] > 0).any() for c in trajectory.contacts) > 5
    momentum = np.array([_momentum(sim, *each) for each in zip([q, *trajectory.q], [v, *trajectory.v], strict=True)])
    scale = np.abs(momentum).max()
    assert np.abs(momentum[:, :3] - momentum[0, :3]).max() < 1e-10 * scale
    loss = energy(sim.model, trajectory.q, trajectory.v)
    assert loss[-1] < loss[0] * (1 + 1e-3)


def _momentum(sim: fw.Simulator, q: Array, v: Array) -> Array:
    """Linear, and angular about the origin of the world, body by body."""
    total = np.zeros(6)
    for k, link in enumerate(sim.model.description.links):
        assert link.inertia is not None
        R = poses.rotation_from_quaternion(q[7 * k + 3 : 7 * k + 7])
        w = v[6 * k + 3 : 6 * k + 6]
        p = link.inertia.mass * R @ (v[6 * k : 6 * k + 3] + np.cross(w, link.inertia.com))
        x = q[7 * k : 7 * k + 3] + R @ link.inertia.com
        total[:3] += p
        total[3:] += np.cross(x, p) + R @ (link.inertia.matrix @ w)
    return total


def test_dissipation_matches_friction() -> None:
    """A box that slides to rest: its energy is gone after v / (mu g), along v^2 / (2 mu g)."""
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.box((0.4, 0.4, 0.1)), pose=(0, 0, 0.05))
    sim = fw.Simulator(scene, dt=1e-3)
    trajectory = sim.rollout(sim.state(v=[2.0, 0, 0, 0, 0, 0]), n_steps=600)
    stop = 2.0 / (0.5 * 9.81)
    assert np.abs(trajectory.v[trajectory.time > stop + 2e-3]).max() < 1e-9
    assert trajectory.final.q[0] == pytest.approx(2.0**2 / (2 * 0.5 * 9.81), abs=2e-3)


def test_compliance_with_damping_acts_where_it_touches() -> None:
    """Without gravity, a soft ball half a centimetre off the ground feels nothing."""
    scene = fw.Scene(ground=fw.Plane(), gravity=(0, 0, 0))
    scene.add(fw.sphere(0.1, stiffness=1e3, damping=1e3), pose=(0, 0, 0.105))
    sim = fw.Simulator(scene, dt=1e-3)
    state = sim.step(sim.state(v=[0, 0, -1.0, 0, 0, 0]))
    assert state.v[2] == -1.0, f"{state.contacts.force[0, 2]:.0f} N at 5 mm"


def test_a_leaving_body_that_is_struck_does_not_enter_the_ground() -> None:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.sphere(0.1), pose=(0, 0, 0.1))
    scene.add(fw.sphere(0.1), pose=(0, 0, 0.31))
    sim = fw.Simulator(scene, dt=1e-3)
    v: list[Any] = [0, 0, 1.5, 0, 0, 0, 0, 0, -20.0, 0, 0, 0]
    assert sim.rollout(sim.state(v=v), n_steps=30).penetration < 1e-6


def test_tips_of_spinning_rods_are_seen_before_they_touch() -> None:
    """A rod spinning in place, above the ground by a bit less than half its length."""
    scene = fw.Scene(ground=fw.Plane(friction=0.0), gravity=(0, 0, 0))
    scene.add(fw.capsule(0.02, 1.0), pose=fw.pose((0, 0, 0.45), rpy=(0, np.pi / 2, 0)))
    sim = fw.Simulator(scene, dt=2e-3)
    assert sim.rollout(sim.state(v=[0, 0, 0, 0, 200.0, 0]), n_steps=50).penetration < 2e-3
