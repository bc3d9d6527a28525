"""Bounces and collisions under a simultaneous impact law with Newton's restitution."""

import math

import numpy as np
import pytest

import featherweight as fw
from featherweight import Geometry, pose
from physics.collisions import box_hit_by_ball, first_hit, robot_hit_by_ball, struck_at_wall
from physics.impacts import bouncing_grid, cradle, time_to_rest


@pytest.mark.parametrize("restitution", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("dt", [1e-3, 1e-4])
def test_a_ball_bounces_infinitely_often_in_finite_time(restitution: float, dt: float) -> None:
    """Each bounce happens at a step and costs up to two of them; those slower than g dt do not exist."""
    height = 1.0
    ball = time_to_rest(height, restitution, dt=dt)
    bounces = math.log(9.81 * dt / math.sqrt(2.0 * 9.81 * height)) / math.log(restitution)
    assert abs(ball.time - ball.exact) < 3.0 * (bounces + 1.0) * dt
    assert abs(ball.height) < 1e-9
    assert ball.speed < 1e-9


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_balls_that_lose_nothing_bounce_for_ever(dt: float) -> None:
    """What the steps keep is kept to rounding, in 20 s and a dozen bounces: there is no drift at all."""
    grid = bouncing_grid(side=2, dt=dt)
    assert grid.invariant < 1e-12


def test_the_energy_of_a_bouncing_grid_is_off_by_half_a_step() -> None:
    """m g v dt / 2 of 49 balls at up to v = sqrt(2 g 4.9), which falls with dt and whose square falls with dt^2."""
    dt = 1e-3
    grid = bouncing_grid(dt=dt)
    assert grid.energy == pytest.approx(24034.5)
    assert grid.worst < 1.001 * 0.5 * 49 * 10 * 9.81 * dt * math.sqrt(2.0 * 9.81 * 4.9)
    assert grid.invariant < 1e-12


def test_touching_balls_of_a_cradle_leave_together() -> None:
    """All contacts at once: 2 l1 - l2 = 2 and 2 l2 = l1 give (-1/3, 2/3, 2/3), to the tolerance of 1e-9."""
    np.testing.assert_allclose(cradle(0.0), [-1 / 3, 2 / 3, 2 / 3], atol=1e-9)


def test_touching_balls_without_restitution_stay_together() -> None:
    np.testing.assert_allclose(cradle(0.0, restitution=0.0), [1 / 3, 1 / 3, 1 / 3], atol=1e-9)


@pytest.mark.parametrize("balls", [3, 5])
def test_balls_of_a_cradle_with_gaps_hand_on_their_speed(balls: int) -> None:
    """One impact after the other, each solved exactly."""
    np.testing.assert_allclose(cradle(5e-3, balls=balls), [0.0] * (balls - 1) + [1.0], atol=1e-12)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("hit", [box_hit_by_ball, robot_hit_by_ball])
def test_a_hit_keeps_the_momentum_of_all(hit: type, restitution: float) -> None:
    """Impulses are equal and opposite at one point, whatever the solver: rounding only."""
    after = hit(restitution=restitution)
    assert after.impulse > 1.0
    assert after.linear < 1e-13
    assert after.angular < 1e-13


@pytest.mark.parametrize("hit", [box_hit_by_ball, robot_hit_by_ball])
def test_an_inelastic_hit_loses_energy(hit: type) -> None:
    assert 0.0 < hit(restitution=0.0).kept < 1.0


def test_no_oblique_hit_with_friction_brings_energy() -> None:
    """Newton's restitution alone would, with spin and coupled friction; where it would, it is weakened."""
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(100):
        restitution, friction = rng.uniform(0.5, 1.0), rng.uniform(0.2, 1.5)
        scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
        target = fw.box(
            rng.uniform(0.1, 0.6, 3), mass=rng.uniform(0.5, 5.0), restitution=restitution, friction=friction
        )
        scene.add(target, name="target")
        ball = fw.sphere(0.1, mass=rng.uniform(0.2, 3.0), restitution=restitution, friction=friction)
        scene.add(ball, name="ball", pose=(-0.5, *rng.uniform(-0.1, 0.1, 2)))
        velocity = (rng.uniform(2.0, 6.0), *(0.2 * rng.normal(size=2)), *(20.0 * rng.normal(size=3)))
        hit = first_hit(scene, velocity)
        if hit is not None:
            kept.append(hit.kept)
    assert len(kept) > 90
    assert max(kept) <= 1.0 + 1e-9
    assert max(kept) > 0.98  # and it is not weakened for nothing


@pytest.mark.parametrize("speed", [1.0, 10.0, 100.0])
def test_a_ball_struck_at_a_wall_beside_it_stays_outside(speed: float) -> None:
    """All contacts of a step are one problem, those that only impulses close too: nothing but rounding."""
    assert struck_at_wall(speed) < 1e-9


@pytest.mark.parametrize("gap", [0.02, 0.1])
def test_a_ball_struck_at_a_wall_farther_away_stays_outside(gap: float) -> None:
    """Farther than contacts are looked for at first: what is struck makes the step look again."""
    assert struck_at_wall(200.0, gap=gap) < 1e-9


@pytest.mark.parametrize("batch", [1, 3])
def test_a_row_of_balls_struck_in_one_step_stays_in_order(batch: int) -> None:
    """Each contact of the row is closed by the impulse of the one before; neighbours in the batch stay at rest."""
    scene, gap = fw.Scene(gravity=(0.0, 0.0, 0.0)), 0.03
    for k, mass in enumerate((10.0, 1.0, 0.1)):
        scene.add(fw.sphere(0.1, mass=mass), name=f"ball_{k}", pose=(k * (0.2 + gap), 0.0, 0.0))
    sim = fw.Simulator(scene, dt=1e-3)
    v = np.zeros((batch, sim.model.nv))
    v[0, 0] = 200.0
    state = sim.step(sim.state(batch, v=v))
    x = state.q[0, 0::7]
    assert np.diff(x).min() > 0.2 - 1e-9
    assert float(np.array((10.0, 1.0, 0.1)) @ state.v[0, 0::6]) == pytest.approx(2000.0, rel=1e-12)
    assert (state.v[1:] == 0.0).all()


def test_a_joint_struck_at_its_limit_stops_there() -> None:
    """The limit is 0.1 rad away and the bar at rest: only the ball that hits it makes the limit act."""
    bar = Geometry("bar", "collision", "box", (0.5, 0.02, 0.02), pose((0.25, 0.0, 0.0)))
    gate = fw.ModelBuilder("gate").link("frame").link("bar", mass=0.1, com=(0.25, 0, 0), geometries=[bar])
    gate.joint("hinge", "revolute", "frame", "bar", axis="z", lower=-0.1, upper=0.1)
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(gate.build(), name="gate")
    scene.add(fw.sphere(0.05, mass=10.0), name="ball", pose=(0.45, 0.061, 0.0))
    sim = fw.Simulator(scene, dt=1e-3)
    v = np.zeros(sim.model.nv)
    v[sim.model.joint("ball").v_slice.start + 1] = -200.0
    q = sim.step(sim.state(v=v)).q
    assert q[sim.model.joint("gate/hinge").q_slice][0] > -0.1 - 1e-9
