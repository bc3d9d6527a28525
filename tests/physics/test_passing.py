"""Bodies that pass close by, slide over seams or hit at an angle: only what would touch acts."""

import math

import numpy as np
import pytest

import featherweight as fw
from physics.collisions import momentum
from physics.passing import BODIES, deflection_error, fly_by, over_tiles, shot


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_bodies_that_pass_a_millimetre_apart_do_not_feel_each_other(kind: str, dt: float) -> None:
    """Whatever the speed, and wherever along the path steps end."""
    for speed in (0.5, 5.0, 50.0, 500.0):
        for start in (-0.5, -0.5037, -0.5071):
            assert fly_by(kind, speed, dt=dt, start=start) == 0.0


def test_a_bar_that_spins_past_a_ball_does_not_touch_it() -> None:
    """Its end comes within 2 mm, at 20 m/s, on a circle that bends away from the ball."""
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(fw.capsule(0.02, 0.96), name="bar", pose=_turned_to_x())
    scene.add(fw.sphere(0.1), name="ball", pose=(0.6 * math.cos(1.0) + 0.002, 0.6 * math.sin(1.0) + 0.002, 0.0))
    sim = fw.Simulator(scene, dt=2e-3)
    v = np.zeros(12)
    v[sim.scene.parts["bar"].v] = (0, 0, 0, 0, 40.0, 0)  # about the world's z
    motion = sim.rollout(sim.state(v=v), n_steps=200)
    np.testing.assert_allclose(motion.v, np.broadcast_to(v, motion.v.shape), atol=1e-9)


def _turned_to_x() -> np.ndarray:
    """Body axes z along x, y along z."""
    X = np.eye(4)
    X[:3, :3] = np.array(((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    return X


SLIDERS = [("box", False), ("hull", False), ("cylinder", False), ("ball", False), ("cylinder", True), ("capsule", True)]


@pytest.mark.parametrize(("kind", "lying"), SLIDERS)
@pytest.mark.parametrize("on", ["boxes", "hulls"])
def test_flush_tiles_do_not_slow_what_slides_over_them(kind: str, lying: bool, on: str) -> None:
    """At speeds and steps that put seams on, before and after the ends of steps."""
    for speed, dt in ((0.1, 1e-2), (0.3, 1e-2), (0.5, 2e-3), (1.0, 1e-2), (1.0, 2e-3), (5.0, 2e-3), (5.0, 1e-2)):
        speeds = over_tiles(kind, speed, on=on, lying=lying, dt=dt, count=3)
        np.testing.assert_allclose(speeds, speed, rtol=1e-6)


@pytest.mark.parametrize(("kind", "lying"), SLIDERS)
@pytest.mark.parametrize("on", ["boxes", "hulls"])
def test_flush_tiles_do_not_slow_what_slides_in_steps_in_halves(kind: str, lying: bool, on: str) -> None:
    """Also where a step ends at a seam to the last bit: what only just touches there is not held by it."""
    cases = (
        (0.11, 0.5, 2e-3),
        (0.11, 1.0, 1e-2),
        (0.11, 5.0, 2e-3),
        (0.12, 2.5, 2e-3),
        (0.13, 1.0, 2e-3),
        (0.1, 1.0, 1e-2),
    )
    for start, speed, dt in cases:
        speeds = over_tiles(kind, speed, on=on, lying=lying, dt=dt, count=3, integrator="verlet", start=start)
        np.testing.assert_allclose(speeds, speed, rtol=1e-3)


SLIDING = {
    "cylinder": (fw.cylinder(0.05, 0.05, friction=0.0), 0.025),
    "ellipsoid": (fw.ellipsoid((0.05, 0.08, 0.03), friction=0.0), 0.03),
    "hull": (
        fw.convex(
            [(0.05 * np.cos(a), 0.05 * np.sin(a), z) for a in np.arange(6) * np.pi / 3 for z in (-0.02, 0.02)],
            friction=0.0,
        ),
        0.02,
    ),
}


@pytest.mark.parametrize("kind", SLIDING)
@pytest.mark.parametrize("on", ["boxes", "cells"])
def test_what_slides_from_tile_to_tile_does_not_fall_between_them(kind: str, on: str) -> None:
    """Steps in halves, which end where other features touch than at their start: not even half a step of gravity."""
    body, height = SLIDING[kind]
    scene = (
        fw.Scene(ground=fw.HeightField(np.zeros((60, 20)), (6.0, 2.0), friction=0.0)) if on == "cells" else fw.Scene()
    )
    for k in range(-2, 12):
        if on == "boxes":
            tile = fw.box((0.2, 1.0, 0.1), static=True, friction=0.0)
            scene.add(tile, name=f"tile_{k}", pose=(0.2 * k, 0.0, -0.05))
    X = np.eye(4)
    X[:2, :2] = (np.cos(0.1), -np.sin(0.1)), (np.sin(0.1), np.cos(0.1))
    X[:3, 3] = 0.0, 0.013, height
    scene.add(body, name="body", pose=X)
    sim = fw.Simulator(scene, dt=2e-3, integrator="verlet")
    motion = sim.rollout(sim.state(v=[*(X[:3, :3].T @ (1.0, 0.0, 0.0)), 0.0, 0.0, 0.0]), n_steps=900)
    assert np.abs(motion.v - motion.v[0]).max() < 1e-7


@pytest.mark.parametrize(("kind", "lying"), SLIDERS)
def test_loose_tiles_side_by_side_do_not_slow_what_slides_over_them(kind: str, lying: bool) -> None:
    """They lie as evenly as overlaps below 1e-10 m are left alone; a ball that slow sees such a step."""
    for speed, dt in ((0.1, 2e-3), (0.5, 2e-3), (1.0, 1e-2), (5.0, 2e-3)):
        speeds = over_tiles(kind, speed, on="loose", lying=lying, dt=dt, count=3)
        np.testing.assert_allclose(speeds, speed, rtol=1e-3)


@pytest.mark.parametrize(("kind", "lying"), SLIDERS[3:])
def test_flush_tiles_do_not_slow_what_rolls_over_them(kind: str, lying: bool) -> None:
    for speed, dt in ((0.1, 2e-3), (0.5, 1e-2), (1.0, 2e-3), (5.0, 1e-2)):
        speeds = over_tiles(kind, speed, lying=lying, mu=0.5, dt=dt, count=3)
        np.testing.assert_allclose(speeds, speed, rtol=1e-6)


def test_friction_on_flush_tiles_is_that_of_a_plane() -> None:
    """v0 - mu g t, to the tolerance of the solver."""
    mu, dt, v0 = 0.3, 2e-3, 2.5
    speeds = over_tiles("box", v0, mu=mu, dt=dt, count=3)
    exact = np.maximum(v0 - mu * 9.81 * dt * np.arange(1, len(speeds) + 1), 0.0)
    np.testing.assert_allclose(speeds, exact, atol=1e-6)


def test_a_box_that_lands_at_a_seam_slides_on() -> None:
    """It hits two tiles in one step; the second one only if the first did not stop its fall."""
    for x in np.linspace(-4e-3, 8e-3, 25):
        scene = fw.Scene()
        for k in range(2):
            scene.add(fw.box((1.0, 1.0, 0.2), friction=0.0, static=True), name=f"tile_{k}", pose=(k - 0.5, 0.0, -0.1))
        scene.add(fw.box((0.2, 0.2, 0.2), friction=0.0), name="box", pose=(x - 0.1, 0.0, 0.103))
        sim = fw.Simulator(scene, dt=2e-3)
        end = sim.rollout(sim.state(v=(3.0, 0, -3.0, 0, 0, 0)), n_steps=50).final
        np.testing.assert_allclose(end.v, (3.0, 0, 0, 0, 0, 0), atol=1e-6)


def test_a_step_between_tiles_stops_what_slides_against_it() -> None:
    """Five millimetres are no seam."""
    scene = fw.Scene()
    scene.add(fw.box((1.0, 1.0, 0.2), friction=0.0, static=True), name="low", pose=(-0.5, 0.0, -0.1))
    scene.add(fw.box((1.0, 1.0, 0.2), friction=0.0, static=True), name="high", pose=(0.5, 0.0, -0.095))
    scene.add(fw.box((0.2, 0.2, 0.02), friction=0.0), name="plate", pose=(-0.3, 0.0, 0.01))
    sim = fw.Simulator(scene, dt=2e-3)
    motion = sim.rollout(sim.state(v=(1.0, 0, 0, 0, 0, 0)), n_steps=250)
    assert motion.q[:, 0].max() < -0.1 + 1e-5  # it tips, by the square of a step
    assert motion.v[-1, 0] < 1e-6


@pytest.mark.parametrize("kind", ["ball", "box", "capsule", "cylinder", "hull"])
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_bullets_do_not_pass_through_thin_walls(kind: str, angle: float) -> None:
    """A centimetre long, through a millimetre: the centre stays in front."""
    for speed in (10.0, 100.0, 1000.0):
        assert shot(kind, speed, angle=angle) < 0.0


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_balls_glance_off_each_other_at_the_angle_of_the_hit(restitution: float) -> None:
    """However far they move in a step: the normal is that of the hit, to the 20 mrad below which normals are the same,
    or, without restitution, to the 0.1 rad up to which what is left is stopped a step later."""
    worst = max(
        deflection_error(speed, offset, restitution=restitution)
        for speed in (1.0, 5.0, 20.0, 100.0)
        for offset in (0.02, 0.05, 0.08, 0.095)
    )
    assert worst < (0.1 if restitution == 0.0 else 0.04)


@pytest.mark.parametrize("offset", [0.0, 1e-3, -2e-3])
def test_boxes_that_meet_corner_to_corner_hit(offset: float) -> None:
    """Edges slip off each other, so that both boxes turn: momentum stays, energy goes, and none is in the other."""
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    c = math.sqrt(0.5)
    X = np.eye(4)
    X[:3, :3] = np.array(((c, -c, 0.0), (c, c, 0.0), (0.0, 0.0, 1.0)))
    for name, place in (("thrown", (-0.5013, offset)), ("resting", (0.0, 0.0))):
        X[:2, 3] = place
        scene.add(fw.box((0.2, 0.2, 0.2), friction=0.0), name=name, pose=X)
    sim = fw.Simulator(scene, dt=1e-3)
    v = np.zeros(12)
    v[:2] = 5.0 * c, -5.0 * c  # along the world's x
    motion = sim.rollout(sim.state(v=v), n_steps=400)
    end = motion.final
    assert motion.penetration < 5e-4  # of second order: the edge turns by (omega dt)^2 times its length
    assert fw.kinetic_energy(sim.model, end.q, end.v) < 0.9 * fw.kinetic_energy(sim.model, end.q, v)
    np.testing.assert_allclose(momentum(sim, end.q, end.v)[:3], (40.0, 0.0, 0.0), atol=1e-9)
    assert abs(end.v[5]) > 5.0


def test_what_was_put_aside_comes_back_when_it_is_struck_into_it() -> None:
    """A ball that flies past a post is struck onto it within the step."""
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(fw.sphere(0.1, friction=0.0, static=True), name="post", pose=(0.0, -0.201, 0.0))
    scene.add(fw.sphere(0.1, mass=0.1, friction=0.0), name="light", pose=(-0.005, 0.0, 0.0))
    scene.add(fw.sphere(0.1, mass=100.0, friction=0.0), name="heavy", pose=(-0.005, 0.2005, 0.0))
    sim = fw.Simulator(scene, dt=2e-3)
    v = np.zeros(12)
    v[0], v[7] = 5.0, -10.0
    state = sim.state(v=v)
    for _ in range(5):
        state = sim.step(state)
        apart = np.linalg.norm(state.q[:3] - (0.0, -0.201, 0.0)) - 0.2
        assert apart > -1e-5


def test_passing_and_sliding_do_not_depend_on_the_batch() -> None:
    """Verdicts are those of an environment alone: the same bits, wherever it is in a batch."""
    scene = fw.Scene()
    for k in range(3):
        scene.add(fw.box((0.5, 1.0, 0.2), friction=0.2, static=True), name=f"tile_{k}", pose=(0.5 * k, 0.0, -0.1))
    scene.add(fw.box((0.2, 0.2, 0.2), friction=0.2), name="box", pose=(0.0, 0.0, 0.1))
    scene.add(fw.sphere(0.1), name="ball", pose=(0.0, 0.21, 0.3))
    sim = fw.Simulator(scene, dt=2e-3)
    rng = np.random.default_rng(0)
    v = np.zeros((11, 12))
    v[:, 0], v[:, 6:9] = rng.uniform(0.5, 3.0, 11), rng.uniform(-2.0, 2.0, (11, 3))
    many = sim.rollout(sim.state(batch=11).replace(v=v), n_steps=150).final
    for k in (0, 4, 10):
        alone = sim.rollout(sim.state(v=v[k]), n_steps=150).final
        np.testing.assert_array_equal(many.q[k], alone.q)
