"""Bounces and collisions under a simultaneous impact law with Newton's restitution."""

import math
from typing import Any

import numpy as np
import pytest
from helpers.step_oracle import in_old_axes, judge

import featherweight as fw
from featherweight import Geometry, pose
from physics.collisions import box_hit_by_ball, first_hit, robot_hit_by_ball, struck_at_wall
from physics.impacts import bouncing_grid, cradle, far_bounce, time_to_rest
from physics.motion import velocity


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


@pytest.mark.parametrize("gap", [1e-8, 1e-6, 1e-4, 9e-4])
@pytest.mark.parametrize("balls", [3, 5, 12])
def test_balls_that_reach_the_next_within_the_step_hand_on_their_speed(balls: int, gap: float) -> None:
    """Gaps below v dt: round after round, with the velocities of after the one before, to the tolerance of each."""
    np.testing.assert_allclose(cradle(gap, balls=balls), [0.0] * (balls - 1) + [1.0], atol=1e-9 * balls)


def test_a_longer_row_than_there_are_rounds_stays_in_order_and_gains_nothing() -> None:
    speeds = cradle(1e-5, balls=30)
    assert speeds.sum() == pytest.approx(1.0, abs=1e-9)
    assert 1.0 / 30.0 < (speeds**2).sum() <= 1.0 + 1e-9


@pytest.mark.parametrize("masses", [(1.0, 1.0, 1.0), (3.0, 0.2, 5.0), (0.1, 4.0, 0.5)])
@pytest.mark.parametrize("restitution", [1.0, 0.6])
def test_rounds_of_impacts_between_unequal_balls(masses: tuple[float, ...], restitution: float) -> None:
    """Pair by pair by the formulas of two bodies, until none approaches: the light one may bounce to and fro."""
    scene, gap = fw.Scene(gravity=(0.0, 0.0, 0.0)), 1e-7
    for k, mass in enumerate(masses):
        ball = fw.sphere(0.05, mass=mass, restitution=restitution, friction=0.0)
        scene.add(ball, name=f"ball_{k}", pose=((0.1 + gap) * k, 0, 0))
    sim = fw.Simulator(scene, dt=1e-3)
    v = np.zeros(sim.model.nv)
    v[0] = 1.0
    u = np.array([1.0, 0.0, 0.0])
    for k in [0, 1] * 8:
        a, b = masses[k : k + 2]
        if u[k] > u[k + 1] + 1e-9:
            j = (1 + restitution) * (u[k] - u[k + 1]) / (1 / a + 1 / b)
            u[k : k + 2] += -j / a, j / b
    np.testing.assert_allclose(sim.step(sim.state(v=v)).v[0::6], u, atol=1e-7)


@pytest.mark.parametrize("integrator", ["semi_implicit", "verlet"])
@pytest.mark.parametrize("dt", [1e-3, 1e-4])
@pytest.mark.parametrize(("ratio", "hits"), [(16.0, 12), (100.0, 31), (1e4, 314)])
def test_a_light_ball_between_a_wall_and_a_heavy_one_returns_its_energy(
    ratio: float, hits: int, dt: float, integrator: Any
) -> None:
    """pi sqrt(M / m) hits [Galperin 2003], most of them in one step; then the heavy ball goes back nearly as it came.

    Their order does not depend on distances: whatever approaches meets. Each is known to the tolerance of 1e-9.
    """
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(fw.Plane(normal=(-1, 0, 0), offset=-0.22, restitution=1.0, friction=0.0), name="wall")
    for name, x, mass in (("heavy", 0.0, ratio), ("light", 0.12, 1.0)):
        scene.add(fw.sphere(0.05, mass=mass, restitution=1.0, friction=0.0), name=name, pose=(x, 0, 0))
    sim = fw.Simulator(scene, dt=dt, integrator=integrator)
    v = np.zeros(12)
    v[0] = 1.0
    motion = sim.rollout(sim.state(v=v), n_steps=round(0.3 / dt))
    heavy, light = motion.v[:, 0], motion.v[:, 6]
    u, w = 1.0, 0.0
    for _ in range(hits):  # the last may be a reflection at the wall, which takes its time
        if u > w:
            mean = (ratio * u + w) / (ratio + 1.0)
            u, w = 2.0 * mean - u, 2.0 * mean - w
        else:
            w = -w
    assert np.abs((ratio * heavy**2 + light**2) / ratio - 1.0).max() < 1e-9 * hits
    assert heavy[-1] == pytest.approx(u, abs=1e-9 * hits)
    assert abs(light[-1]) == pytest.approx(abs(w), abs=1e-9 * hits * math.sqrt(ratio))


@pytest.mark.parametrize("room", [2e-4, 2e-3])
def test_a_ball_between_walls_bounces_for_ever_or_stays_between_them(room: float) -> None:
    """It moves 0.5 mm in a step. Where there is less room, only a slow one ends the step outside the walls."""
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    for side in (-1.0, 1.0):
        wall = fw.Plane(normal=(-side, 0, 0), offset=-0.1 - room, restitution=1.0, friction=0.0)
        scene.add(wall, name=f"wall_{side:g}")
    scene.add(fw.sphere(0.1, restitution=1.0, friction=0.0), name="ball", pose=(0, 0, 0))
    sim = fw.Simulator(scene, dt=1e-3)
    trajectory = sim.rollout(sim.state(v=[0.5, 0, 0, 0, 0, 0]), n_steps=200)
    speed = np.abs(trajectory.v[:, 0])
    assert np.abs(trajectory.q[:, 0]).max() < room + 1e-9
    assert speed.max() <= 0.5 + 1e-9
    assert room < 5e-4 or speed.min() > 0.5 - 1e-9


def test_impacts_far_away_are_on_other_accounts() -> None:
    """A rod whose restitution is weakened, a ball, and a box that lands softly, in one step: as if each were alone."""
    both, ball, rod = far_bounce(), far_bounce(rod=False), far_bounce(ball=False)
    paid = far_bounce(soft=True)
    assert ball.rebound == pytest.approx(1.8, rel=1e-12)
    for case in (both, paid):
        assert case.rebound == pytest.approx(ball.rebound, rel=1e-12)
        np.testing.assert_allclose(case.rod, rod.rod, rtol=0, atol=1e-12 * np.abs(rod.rod).max())
    assert 1.0 - 1e-6 <= rod.kept <= 1.0 + 1e-9  # weakened to where nothing is gained, and no further


def test_a_soft_landing_on_the_same_robot_does_not_pay() -> None:
    """A hammer strikes with friction and spin while its handle lands softly: no strike by itself gains anything."""
    rng, struck = np.random.default_rng(3), 0
    builder = fw.ModelBuilder("hammer")
    builder.solid("handle", "capsule", (0.02, 0.6), mass=1.0)
    builder.joint("base", "free", "world", "handle")
    builder.solid("head", "box", (0.1, 0.1, 0.3), mass=2.0)
    builder.joint("hinge", "revolute", "handle", "head", axis="y", placement=(0, 0, 0.35))
    scene = fw.Scene(ground=fw.Plane(friction=1.0))
    scene.add(builder.build(), name="hammer", pose=fw.pose((0, 0, 0.3), rpy=(0, 1.5, 0)))
    scene.pair("hammer/head", "ground", restitution=1.0, friction=1.0)
    sim = fw.Simulator(scene, dt=2e-3)
    for _ in range(10):
        state = sim.state(v=4.0 * rng.normal(size=7))
        for _ in range(100):
            after = sim.step(state)
            if after.converged and len(after.contacts):
                struck += bool(judge(sim, state, after).strikes)
            state = after
    assert struck > 5


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


@pytest.mark.parametrize("friction", [10.0, 0.05])
@pytest.mark.parametrize("tangential", [0.0, 0.5, 1.0])
def test_a_super_ball_reverses_its_spin(tangential: float, friction: float) -> None:
    """A solid ball of radius r: the sliding velocity u at the contact becomes -e_t u, unless friction is at its bound,
    mu (1 + e) times the normal velocity; impulses along the tangent change v by j / m and the spin by 5 j / (2 m r)."""
    r, e, v, down, rate = 0.1, 0.9, 1.0, 2.0, 20.0
    scene = fw.Scene(ground=fw.Plane(), gravity=(0, 0, 0))
    surface: dict[str, Any] = {"restitution": e, "tangential_restitution": tangential, "friction": friction}
    scene.add(fw.sphere(r, mass=1.0, **surface), name="ball", pose=(0, 0, r + 1e-10))
    sim = fw.Simulator(scene, dt=1e-3)
    before = np.array([v, 0, -down, 0, rate, 0])
    after = sim.step(sim.state(v=before))
    turned = in_old_axes(sim.model, sim.state().q, np.array(after.q), np.array(after.v))
    u = v - rate * r  # of the lowest point
    j = -(1.0 + tangential) * u / 3.5
    j = float(np.clip(j, -friction * (1 + e) * down, friction * (1 + e) * down))
    np.testing.assert_allclose(turned, [v + j, 0, e * down, 0, rate - 2.5 * j / r, 0], atol=1e-7)
    energy = [float(fw.kinetic_energy(sim.model, after.q, x)) for x in (before, turned)]
    assert energy[1] <= energy[0] * (1 + 1e-9)


@pytest.mark.parametrize("on", ["plane", "box", "field"])
@pytest.mark.parametrize(("friction", "gap"), [(0.1, 0.009), (5.0, 0.009), (5.0, 0.003), (0.1, 1e-6)])
def test_friction_of_a_bouncing_ball_acts_at_its_surface(on: str, friction: float, gap: float) -> None:
    """However far it still was from the ground at the start of the step: the arm of friction is its radius."""
    r, e, v, down, rate = 0.05, 0.8, 1.0, 5.0, 30.0
    scene = fw.Scene(gravity=(0, 0, 0))
    surface: dict[str, Any] = {"restitution": e, "friction": friction}
    if on == "plane":
        scene.add(fw.Plane(**surface), name="ground")
    elif on == "box":
        scene.add(fw.box((1, 1, 1), static=True, **surface), name="ground", pose=(0, 0, -0.5))
    else:
        scene.add(fw.HeightField(np.zeros((5, 5)), (1.0, 1.0), **surface), name="ground")
    scene.add(fw.sphere(r, mass=1.0, **surface), name="ball", pose=(0.03, 0.07, r + gap))
    sim = fw.Simulator(scene, dt=2e-3)
    before = np.array([v, 0, -down, 0, rate, 0])
    after = sim.step(sim.state(v=before))
    turned = in_old_axes(sim.model, sim.state().q, np.array(after.q), np.array(after.v))
    most = friction * (1 + e) * down
    j = float(np.clip(-(v - rate * r) / 3.5, -most, most))
    np.testing.assert_allclose(turned, [v + j, 0, e * down, 0, rate - 2.5 * j / r, 0], atol=1e-7)


def test_patches_on_flat_ground_do_not_depend_on_the_last_bit_of_its_normals() -> None:
    """A tilted box falls on a field that is flat, or flat to rounding."""
    ends = []
    for noise in (0.0, 1e-16, 1e-13):
        heights = noise * np.random.default_rng(0).standard_normal((9, 9))
        scene = fw.Scene()
        scene.add(fw.HeightField(heights, (1.0, 1.0)), name="ground")
        X = pose((0.03, 0.02, 0.15), rpy=(0.1, 0.2, 0.3))
        scene.add(fw.box((0.3, 0.2, 0.1)), name="box", pose=X)
        sim = fw.Simulator(scene, dt=2e-3)
        ends.append(sim.rollout(sim.state(v=(0.5, 0.2, -2.0, 0, 0, 0)), n_steps=100).final.q)
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-7)
    np.testing.assert_allclose(ends[2], ends[0], atol=1e-7)


def test_a_super_ball_thrown_under_a_table_comes_back() -> None:
    """Off the floor, off the underside of the table, off the floor: it turns round, as only such balls do."""
    back = {}
    for tangential in (0.0, 1.0):
        surface: dict[str, Any] = {"restitution": 1.0, "friction": 5.0, "tangential_restitution": tangential}
        scene = fw.Scene(ground=fw.Plane(), gravity=(0, 0, 0))
        scene.add(fw.Plane(normal=(0, 0, -1), offset=-1.0), name="table")
        scene.add(fw.sphere(0.03, **surface), name="ball", pose=(0, 0, 0.3))
        sim = fw.Simulator(scene, dt=1e-3)
        trajectory = sim.rollout(sim.state(v=[2.0, 0, -2.0, 0, 0, 0]), n_steps=1400)
        back[tangential] = float(velocity(trajectory.final, "ball")[0])
        if tangential == 1.0:  # nothing is lost, to the tolerance of three bounces
            kinetic = fw.kinetic_energy(sim.model, trajectory.q[-1], trajectory.v[-1])
            assert kinetic == pytest.approx(fw.kinetic_energy(sim.model, trajectory.q[0], trajectory.v[0]), rel=1e-6)
    assert back[1.0] < -1.0 and back[0.0] > 0.2


def test_a_ball_that_lies_does_not_turn_round() -> None:
    """Tangential restitution is for impacts: rolling goes on, and sliding ends as it does without."""
    paths = []
    for tangential in (0.0, 1.0):
        scene = fw.Scene(ground=fw.Plane(friction=0.3))
        scene.add(fw.sphere(0.1, tangential_restitution=tangential), name="ball", pose=(0, 0, 0.1))
        sim = fw.Simulator(scene, dt=1e-3)
        paths.append(sim.rollout(sim.state(v=[1.0, 0, 0, 0, 0, 0]), n_steps=500).q)
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-9)


@pytest.mark.parametrize("restitution", [0.4, 0.9, 1.0])
def test_a_servo_beside_a_bounce_is_on_no_account(restitution: float) -> None:
    """A ball falls on an arm that an implicit servo of limited effort drives against it: it leaves by its restitution,
    or by what gravity leaves of the approach within the step."""
    builder = fw.ModelBuilder("arm")
    builder.solid("arm", "box", (1.0, 0.2, 0.05), mass=1.0, placement=(0.5, 0, 0))
    builder.joint("hinge", "revolute", "world", "arm", axis="y", effort_limit=500.0)
    scene = fw.Scene()
    scene.add(builder.build(), name="arm")
    scene.servo("arm", kp=1e4, kd=100.0)
    scene.add(fw.sphere(0.05, mass=0.1, restitution=restitution), name="ball", pose=(0.8, 0, 0.075 + 1e-3))
    sim = fw.Simulator(scene, dt=1e-3, integrator="implicit")
    v = np.zeros(sim.model.nv)
    v[0], v[3] = -1.0, -2.0  # the end of the arm rises
    after = sim.step(sim.state(v=v), control=[-0.5])
    approach, rebound = v[3] + 0.8 * v[0], float(velocity(after, "ball")[2]) + 0.8 * after.v[0]
    assert rebound == pytest.approx(-restitution * approach, abs=1e-6 if restitution < 1.0 else 9.81 * sim.dt)
