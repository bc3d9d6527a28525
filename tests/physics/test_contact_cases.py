"""Contacts with exact answers that no other file has: caps, rims, rockers, wedges, grooves, far away, tiny and huge."""

import math
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from physics.motion import position, spin, velocity

G = 9.81
LYING = np.array(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)))  # axes of a body whose z is along -y


def placed(p: Any, R: Any = None) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = p
    if R is not None:
        X[:3, :3] = R
    return X


@pytest.mark.parametrize("radius", [1e-3, 0.05, 10.0])
@pytest.mark.parametrize("on", ["plane", "box", "cylinder"])
def test_a_cylinder_that_spins_on_its_cap_is_slowed_as_a_disc(radius: float, on: str) -> None:
    """Evenly loaded: friction has the moment 2/3 mu N r, and slows it by 4/3 mu g / r."""
    mu, height, rate = 0.3, 0.4 * radius, 20.0 / math.sqrt(radius)
    scene = fw.Scene()
    if on == "plane":
        scene.add(fw.Plane(friction=mu), name="ground")
    elif on == "box":
        scene.add(
            fw.box((9 * radius, 9 * radius, radius), friction=mu, static=True), pose=(0, 0, -radius / 2), name="a"
        )
    else:
        scene.add(fw.cylinder(3 * radius, radius, friction=mu, static=True), pose=(0, 0, -radius / 2), name="a")
    scene.add(fw.cylinder(radius, height, friction=mu), name="disc", pose=(0, 0, height / 2))
    dt = 1e-3
    sim = fw.Simulator(scene, dt=dt)
    n = int(0.5 * rate / (4.0 / 3.0 * mu * G / radius * dt))
    assert n > 2
    motion = sim.rollout(sim.state(v=(0, 0, 0, 0, 0, rate)), n_steps=n)
    slowed = rate - spin(motion, "disc")[-1, 2]
    assert slowed == pytest.approx(4.0 / 3.0 * mu * G / radius * n * dt, rel=1e-6)
    assert np.abs(position(motion, "disc")[-1] - (0, 0, height / 2)).max() < 1e-6 * radius + 1e-9


@pytest.mark.parametrize("share", [0.999, 1.001])
def test_a_cylinder_tips_over_its_rim(share: float) -> None:
    """Pushed sideways at its middle, it tips over a corner of its rim from m g r / (h / 2) on."""
    radius, height = 0.05, 0.4
    scene = fw.Scene(ground=fw.Plane(friction=2.0))
    scene.add(fw.cylinder(radius, height, friction=2.0, mass=1.0), name="can", pose=(0, 0, height / 2))
    sim = fw.Simulator(scene, dt=1e-3)
    tau = np.array((share * G * radius / (height / 2), 0, 0, 0, 0, 0))
    motion = sim.rollout(sim.state(), tau, n_steps=200)
    turned = abs(float(spin(motion, "can")[-1, 1]))
    assert (turned < 1e-4) == (share < 1.0)


@pytest.mark.parametrize(("b", "h"), [(0.05, 0.2), (0.03, 0.2), (0.1, 0.25)])
def test_a_rocking_block_loses_what_housner_says(b: float, h: float) -> None:
    """From one edge to the other, without bouncing: it goes on at 1 - 3/2 sin^2 alpha of its rate, alpha its half angle
    [Housner 1963]. What gravity adds in the two steps of the impact remains."""
    alpha, dt = math.atan2(b, h), 1e-4
    tilt = 0.3 * alpha
    R = np.array(((math.cos(tilt), 0, math.sin(tilt)), (0, 1, 0), (-math.sin(tilt), 0, math.cos(tilt))))
    corner = R @ (b, 0, -h)
    scene = fw.Scene(ground=fw.Plane(friction=5.0))
    scene.add(fw.box((2 * b, 0.5, 2 * h), friction=5.0), name="block", pose=placed((-corner[0], 0, -corner[2]), R))
    sim = fw.Simulator(scene, dt=dt)
    rates = spin(sim.rollout(sim.state(), n_steps=6000), "block")[:, 1]
    hit = int(np.argmin(rates))  # it falls back ever faster, until the other edge hits
    assert rates[hit + 3] / rates[hit] == pytest.approx(1.0 - 1.5 * math.sin(alpha) ** 2, abs=0.01)


@pytest.mark.parametrize("angle", [0.5, 0.9])
def test_a_ball_in_a_groove_presses_on_both_sides(angle: float) -> None:
    scene = fw.Scene()
    for side in (-1, 1):
        normal = (side * math.sin(angle), 0, math.cos(angle))
        scene.add(fw.Plane(normal=normal, friction=0.0), name=f"side_{side}")
    scene.add(fw.sphere(0.1, mass=1.0, friction=0.0), name="ball", pose=(0, 0, 0.1 / math.cos(angle)))
    sim = fw.Simulator(scene, dt=2e-3)
    force = sim.rollout(sim.state(), n_steps=20).final.contacts.force
    np.testing.assert_allclose(force[:, 2], G / (2 * math.cos(angle)), rtol=1e-6)


def test_a_block_on_a_wedge_that_is_free_to_slide() -> None:
    """Without friction the wedge goes back at m g sin cos / (M + m sin^2)."""
    angle, M, m = 0.5, 2.0, 1.0
    c, s = math.cos(angle), math.sin(angle)
    top = math.tan(angle)
    scene = fw.Scene(ground=fw.Plane(friction=0.0))
    corners = [(x, y, z) for x, z in ((0.0, 0.0), (1.0, 0.0), (0.0, top)) for y in (-0.3, 0.3)]
    scene.add(fw.convex(corners, mass=M, friction=0.0), name="wedge")
    R = np.array(((c, 0, s), (0, 1, 0), (-s, 0, c)))
    at = np.array((0.3, 0, top - 0.3 * top)) + R @ (0, 0, 0.05)
    scene.add(fw.box((0.1, 0.1, 0.1), mass=m, friction=0.0), name="block", pose=placed(at, R))
    sim = fw.Simulator(scene, dt=1e-3)
    motion = sim.rollout(sim.state(), n_steps=200)
    assert velocity(motion, "wedge")[-1, 0] / 0.2 == pytest.approx(-m * G * s * c / (M + m * s * s), rel=1e-6)


@pytest.mark.parametrize(("kind", "share"), [("cylinder", 2.0 / 3.0), ("ball", 5.0 / 7.0)])
def test_what_rolls_down_keeps_its_share_of_gravity(kind: str, share: float) -> None:
    angle = 0.3
    scene = fw.Scene(ground=fw.Plane(friction=1.0), gravity=(G * math.sin(angle), 0, -G * math.cos(angle)))
    body: Any = fw.sphere(0.1, friction=1.0) if kind == "ball" else fw.cylinder(0.1, 0.3, friction=1.0)
    scene.add(body, name="body", pose=placed((0, 0, 0.1), LYING))
    sim = fw.Simulator(scene, dt=1e-3)
    motion = sim.rollout(sim.state(), n_steps=300)
    assert velocity(motion, "body")[-1, 0] == pytest.approx(share * G * math.sin(angle) * 0.3, rel=1e-8)


@pytest.mark.parametrize("away", [0.0, 1e4])
@pytest.mark.parametrize("edge", [1e-4, 1e-2, 1.0, 100.0])
def test_cubes_rest_and_slide_at_any_size_and_place(edge: float, away: float) -> None:
    """Rest to what double precision knows of the place; slide v^2 / (2 mu g), where they do not tip over."""
    mu, speed = 0.4, 0.5 * math.sqrt(min(edge, 1.0))
    scene = fw.Scene(ground=fw.Plane(friction=mu))
    scene.add(fw.box((edge, edge, edge), friction=mu, mass=1e3 * edge**3), name="cube", pose=(away, away, edge / 2))
    dt = 1e-3
    sim = fw.Simulator(scene, dt=dt)
    rest = sim.rollout(sim.state(), n_steps=100)
    assert np.abs(rest.v[-1]).max() < 1e-6 and np.abs(rest.q[-1, :3] - rest.q[0, :3]).max() < 1e-8 * edge + 1e-11
    time = speed / (mu * G)
    slid = sim.rollout(sim.state(v=(speed, 0, 0, 0, 0, 0)), n_steps=int(time / dt) + 5)
    way = position(slid, "cube")[-1, 0] - away
    assert way == pytest.approx(speed**2 / (2 * mu * G), abs=1.1 * speed * dt)
    assert np.abs(slid.v[-1]).max() < 1e-6


@pytest.mark.parametrize("mu", [0.5, 1.5, 3.0])
def test_a_rod_that_painleve_would_break_slides_on_or_stops(mu: float) -> None:
    """Steps are solved with any friction, and bring no energy."""
    tilt = math.radians(30)
    R = np.array(((math.cos(tilt), 0, math.sin(tilt)), (0, 1, 0), (-math.sin(tilt), 0, math.cos(tilt))))
    low = R @ (0, 0, -0.5)
    scene = fw.Scene(ground=fw.Plane(friction=mu))
    scene.add(fw.capsule(0.01, 1.0, mass=1.0, friction=mu), name="rod", pose=placed((0, 0, 0.01 - low[2]), R))
    sim = fw.Simulator(scene, dt=1e-3)
    state = sim.state(v=np.concatenate([R.T @ (2.0, 0, 0), np.zeros(3)]))
    least = math.inf
    for _ in range(300):
        state = sim.step(state)
        energy = float(fw.kinetic_energy(sim.model, state.q, state.v)) + G * float(state.q[2])
        assert state.converged and state.penetration < 1e-4 and energy < least + 1e-3
        least = min(least, energy)


FIELD_BODIES = ["ball", "box", "cylinder", "capsule", "hull"]


@pytest.mark.parametrize("kind", FIELD_BODIES)
@pytest.mark.parametrize("on", ["field", "slope", "prisms"])
def test_edges_between_triangles_do_not_catch(kind: str, on: str) -> None:
    """Over cells of a height field, flat or inclined, and over flush prisms; gravity is across the ground."""
    slope = 0.1 if on == "slope" else 0.0
    angle, r = math.atan(slope), 0.1
    normal, along = np.array((-math.sin(angle), 0, math.cos(angle))), np.array((math.cos(angle), 0, math.sin(angle)))
    scene = fw.Scene(gravity=tuple(-G * normal))
    if on == "prisms":
        for k in range(8):
            x, y = -2 + 0.5 * k, -1.0
            for half, sides in enumerate((((x, y), (x + 0.5, y), (x + 0.5, -y)), ((x, y), (x + 0.5, -y), (x, -y)))):
                corners = [(*p, z) for p in sides for z in (-0.2, 0.0)]
                scene.add(fw.convex(corners, friction=0.0, static=True), name=f"tile_{k}_{half}")
    else:
        heights = np.tile(slope * np.linspace(-2, 2, 41)[:, None], (1, 41))
        scene.add(fw.HeightField(heights, (4, 4), friction=0.0), name="ground")
    corners = [(x, y, z) for x in (-0.11, 0.11) for y in (-0.1, 0.1) for z in (-r, r)]
    bodies: dict[str, Any] = {
        "ball": lambda: fw.sphere(r, friction=0.0),
        "box": lambda: fw.box((0.23, 0.21, 2 * r), friction=0.0),
        "cylinder": lambda: fw.cylinder(r, 0.23, friction=0.0),
        "capsule": lambda: fw.capsule(r, 0.23, friction=0.0),
        "hull": lambda: fw.convex(corners, friction=0.0),
    }
    R = np.stack([along, (0, 1, 0), normal], axis=1) @ (LYING if kind in ("cylinder", "capsule") else np.eye(3))
    scene.add(bodies[kind](), name="body", pose=placed(-1.51 * along + r * normal + (0, 0.013, 0), R))
    sim = fw.Simulator(scene, dt=2e-3)
    for speed, n_steps in ((0.3, 500), (2.0, 600)):
        motion = sim.rollout(sim.state(v=np.concatenate([R.T @ (speed * along), np.zeros(3)])), n_steps=n_steps)
        assert np.abs(velocity(motion, "body") - speed * along).max() < 1e-3 * speed
