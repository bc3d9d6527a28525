"""Steps in halves, ``integrator="verlet"``: errors of smooth stretches fall with the square of the step.

And everything else stays as it is: impacts, what rests, limits, closures, single bodies, neighbours in a batch.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.four_bar import assembled, four_bar

import featherweight as fw
from featherweight.arrays import Array
from featherweight.reference import step_scene
from featherweight.reference.stages.verlet import verlet_step
from physics.smooth import tumbling

GRAVITY = 9.81


def simulator(scene: fw.Scene | fw.Model, dt: float, **settings: Any) -> fw.Simulator:
    return fw.Simulator(scene, dt=dt, integrator="verlet", **settings)


def chain(n: int, **joint: Any) -> fw.Model:
    builder, parent = fw.ModelBuilder("chain"), "world"
    for k in range(n):
        builder.link(f"link{k}", mass=1.0, inertia=np.diag([0.01, 0.012, 0.002]), com=(0, 0, -0.25))
        at = (0, 0, -0.5 if k else 0.0)
        builder.joint(f"joint{k}", "revolute", parent, f"link{k}", axis="y", placement=at, **joint)
        parent = f"link{k}"
    return builder.build()


def tree() -> fw.Model:
    """Every kind of joint on a free base that is damped."""
    builder = fw.ModelBuilder("tree")
    builder.link("base", mass=2.0, inertia=np.diag([0.02, 0.03, 0.04]), com=(0.02, 0.03, 0.01))
    builder.joint("root", "free", "world", "base", damping=[1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    joints: tuple[tuple[str, Any, str, Any], ...] = (
        ("ball", "spherical", "base", {}),
        ("hinge", "revolute", "base", {"axis": (1, 2, 3)}),
        ("slide", "prismatic", "hinge", {"axis": (1, 0, 3)}),
    )
    for name, kind, parent, more in joints:
        builder.link(name, mass=1.0, inertia=np.diag([0.01, 0.02, 0.015]), com=(0.1, 0.03, 0.01))
        builder.joint(name, kind, parent, name, placement=(0.1, 0.2, 0.1), **more)
    return builder.build()


def ended(sim: fw.Simulator, seconds: float, control: Any = None, **start: Any) -> Array:
    end = sim.rollout(sim.state(**start), control=control, n_steps=round(seconds / sim.dt), record=False).final
    assert not end.failed
    return np.concatenate([end.q, end.v])


def swinging(dt: float) -> Array:
    return ended(simulator(chain(2, damping=0.5), dt), 1.0, q=[1.0, 0.5], v=[1.0, -2.0])


def spinning(dt: float) -> Array:
    top = fw.ModelBuilder("top").link("top", mass=1.0, inertia=np.diag([7e-4, 7e-4, 1.25e-3]), com=(0, 0, 0.1))
    tilt = [np.sin(0.15), 0, 0, np.cos(0.15)]
    return ended(simulator(top.joint("ball", "spherical", "world", "top").build(), dt), 0.3, q=tilt, v=[0, 0.5, 60.0])


def flying(dt: float) -> Array:
    return ended(simulator(tree(), dt), 0.5, v=np.random.default_rng(1).uniform(-3, 3, 11))


def closed(dt: float) -> Array:
    return ended(bars(dt), 0.5, v=turning(3.0))


def held(dt: float) -> Array:
    """A box that tumbles about one of its corners."""
    scene, corner, w = fw.Scene(), np.array([0.05, 0.1, 0.15]), np.array([1.0, 2.0, 3.0])
    scene.add(fw.box((0.1, 0.2, 0.3)), name="box")
    scene.constrain(fw.PointConstraint("box", offset=corner))
    return ended(simulator(scene, dt), 0.5, v=[*-np.cross(w, corner), *w])


def driven(dt: float) -> Array:
    scene = fw.Scene()
    scene.servo(scene.add(chain(3), name="arm"), kp=100, kd=2, effort=500)
    return ended(simulator(scene, dt), 0.4, control=np.array([0.3, -0.4, 0.5]), q=[1.0, 0.5, 0.2])


def sliding(dt: float) -> Array:
    """Across a slope, so that friction turns."""
    slope = (GRAVITY * np.sin(0.6), 0, -GRAVITY * np.cos(0.6))
    scene = fw.Scene(gravity=slope, ground=fw.Plane(friction=0.3))
    scene.add(fw.box((0.2, 0.2, 0.1)), name="box", pose=(0, 0, 0.05))
    return ended(simulator(scene, dt), 0.5, v=[0.2, 0.4, 0, 0, 0, 0])


def tipping(dt: float) -> Array:
    """A beam that falls over, about an edge that friction holds."""
    scene, angle = fw.Scene(ground=fw.Plane(friction=1.0)), 0.3
    scene.add(fw.box((0.1, 0.1, 1.0)), name="beam")
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    return ended(simulator(scene, dt), 0.3, q=[*-R @ [0.05, 0, -0.5], 0, np.sin(angle / 2), 0, np.cos(angle / 2)])


def bars(dt: float) -> fw.Simulator:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(four_bar(), name="bars", q=assembled(1.0), self_collision=False)
    scene.constrain(fw.PointConstraint("bars/tip", to="bars/end", rows=("x", "z")))
    return simulator(scene, dt)


def turning(speed: float) -> Array:
    return np.asarray(speed * (assembled(1.0 + 1e-6) - assembled(1.0 - 1e-6)) / 2e-6)


@pytest.mark.filterwarnings("ignore:.*no collision shapes")
@pytest.mark.parametrize(
    "motion", [swinging, spinning, flying, closed, held, driven, sliding, tipping], ids=lambda motion: motion.__name__
)
def test_errors_fall_with_the_square_of_the_step(motion: Callable[[float], Array]) -> None:
    coarse, middle, fine = (motion(dt) for dt in (2e-3, 1e-3, 5e-4))
    assert 3.4 < np.abs(coarse - middle).max() / np.abs(middle - fine).max() < 4.6


def test_a_double_pendulum_keeps_its_energy_for_a_minute() -> None:
    sim = simulator(chain(2), 1e-3)
    motion = sim.rollout(sim.state(q=[2.0, 1.0]), n_steps=60_000)
    kinetic = fw.kinetic_energy(sim.model, motion.q, motion.v)
    energy = kinetic + fw.potential_energy(sim.model, motion.q)
    assert np.abs(energy - energy[0]).max() < 0.01 * np.ptp(kinetic)


def test_a_crank_and_rocker_keep_their_energy_for_a_minute_in_every_step() -> None:
    sim = bars(1e-3)
    motion = sim.rollout(sim.state(v=turning(3.0)), n_steps=60_000)
    energy = fw.kinetic_energy(sim.model, motion.q, motion.v)
    assert np.abs(energy / fw.kinetic_energy(sim.model, sim.scene.q0, turning(3.0)) - 1).max() < 1e-3
    assert motion.closure_error < 5e-12
    loop = [fw.PointConstraint("bars/tip", to="bars/end", rows=("x", "z"))]
    J = fw.constraint_jacobian(sim.model, motion.q[::1000], loop)
    assert np.abs(np.einsum("nij,nj->ni", J, motion.v[::1000])).max() < 1e-9  # and velocities are along the bars


@pytest.mark.parametrize("speed", [20.0, 300.0])
def test_a_box_that_tumbles_keeps_energy_and_momentum(speed: float) -> None:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.box((0.1, 0.2, 0.3)), name="box")
    sim = simulator(scene, 2e-3)
    motion = sim.rollout(sim.state(v=[1, 2, 3, *(speed / np.sqrt(3) * np.array([1.0, 1.01, 0.99]))]), n_steps=2000)
    energy = fw.kinetic_energy(sim.model, motion.q, motion.v)
    momentum = fw.centroidal_momentum(sim.model, motion.q, motion.v)
    assert np.abs(energy / energy[0] - 1).max() < 1e-9
    assert np.abs(momentum - momentum[0]).max() < 1e-9 * np.abs(momentum[0]).max()


def test_ball_joints_keep_energy_and_nearly_momentum() -> None:
    result = tumbling(dt=1e-3, integrator="verlet")
    assert result.energy < 1e-7
    assert result.momentum < 1e-4  # of second order; the default is of first


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_what_rests_stays(dt: float) -> None:
    """On flat ground and on a slope that holds it, a stack, and a ball: no creep, no sinking, no jitter."""
    slope = (GRAVITY * np.sin(0.3), 0, -GRAVITY * np.cos(0.3))
    scene = fw.Scene(gravity=slope, ground=fw.Plane(friction=0.8))
    for k in range(3):
        scene.add(fw.box((0.3, 0.3, 0.1)), name=f"box{k}", pose=(0, 0, 0.05 + 0.1 * k))
    sim = simulator(scene, dt)
    start = sim.state()
    end = sim.rollout(start, n_steps=200).final
    assert np.abs(end.v).max() < 1e-8
    assert np.abs(end.q - start.q).max() < 1e-8
    assert end.converged
    on_ground = [end.contacts.names[k] == "ground" for k in end.contacts.shape_b]
    weight = -sim.model.mass * np.array(slope)
    np.testing.assert_allclose(end.contacts.force[on_ground].sum(axis=0), weight, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("restitution", [1.0, 0.5])
def test_balls_bounce_as_high_as_they_should(restitution: float) -> None:
    """A whole number of steps from the ground or not: what is lost is what restitution takes."""
    scene = fw.Scene(ground=fw.Plane(restitution=restitution))
    for k, height in enumerate((0.5, 0.77, 1.0)):
        scene.add(fw.sphere(0.1, mass=1.0, restitution=restitution), name=f"ball{k}", pose=(k, 0, 0.1 + height))
    sim = simulator(scene, 1e-3)
    motion = sim.rollout(sim.state(), n_steps=1500)
    for k, height in enumerate((0.5, 0.77, 1.0)):
        z, v = motion.q[:, 7 * k + 2] - 0.1, motion.v[:, 6 * k + 2]
        energy = 0.5 * v**2 + GRAVITY * z
        struck = np.flatnonzero((v[1:] > 0) & (v[:-1] < 0))
        first = energy[struck[0] + 5] / (GRAVITY * height)
        assert abs(first - restitution**2) < (1e-9 if restitution == 1.0 else 2e-2)
        assert z.min() > -1e-12


def test_limits_dry_friction_and_motors_act_as_ever() -> None:
    """A slider pushed against its stop rests there; one that is rubbed stops after v^2 / (2 a)."""
    builder = fw.ModelBuilder("sliders", gravity=(0, 0, 0))
    builder.link("stopped", mass=2.0).joint("x", "prismatic", "world", "stopped", axis="x", lower=-1, upper=0.5)
    builder.link("rubbed", mass=2.0).joint("y", "prismatic", "world", "rubbed", axis="y", friction=3.0)
    sim = simulator(builder.build(), 1e-3)
    end = sim.rollout(sim.state(v=[1.0, 0.8]), np.array([4.0, 0.0]), n_steps=1000).final
    np.testing.assert_allclose(end.q, [0.5, 0.8**2 / (2 * 1.5)], atol=1e-6)
    np.testing.assert_allclose(end.v, 0, atol=1e-12)
    np.testing.assert_allclose(end.forces.limits, [-4.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("damping", [1e-3, 1.0, 1e6])
def test_dampers_of_any_strength_slow_down_and_do_not_ring(damping: float) -> None:
    """v = v0 exp(-c t / m), or rest."""
    builder = fw.ModelBuilder("slider", gravity=(0, 0, 0)).link("body", mass=2.0)
    sim = simulator(builder.joint("x", "prismatic", "world", "body", axis="x", damping=damping).build(), 1e-2)
    motion = sim.rollout(sim.state(v=[1.0]), n_steps=100)
    np.testing.assert_allclose(motion.v[-1], np.exp(-damping / 2.0), atol=1e-5)
    assert np.all(np.abs(np.diff(motion.v[:, 0])) <= np.abs(motion.v[:-1, 0]) * 1.01 + 1e-12)


@pytest.mark.parametrize("stiffness", [1.0, 1e3, 1e9])
def test_springs_of_any_stiffness_keep_their_energy(stiffness: float) -> None:
    """Newmark's rule: 1/2 m' v^2 + 1/2 k q^2 m / m' stays, however stiff, with m' = m + k dt^2 / 4."""
    builder = fw.ModelBuilder("spring", gravity=(0, 0, 0)).link("body", mass=2.0)
    sim = simulator(builder.joint("x", "prismatic", "world", "body", axis="x", stiffness=stiffness).build(), 1e-3)
    motion = sim.rollout(sim.state(q=[0.1]), n_steps=5000)
    mass = 2.0 + stiffness * 1e-6 / 4
    energy = 0.5 * mass * motion.v[:, 0] ** 2 + 0.5 * stiffness * motion.q[:, 0] ** 2 * (2.0 / mass)
    np.testing.assert_allclose(energy, 0.5 * stiffness * 0.01 * (2.0 / mass), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*no collision shapes")
def test_a_step_is_that_of_its_twin() -> None:
    scene = fw.Scene()
    scene.servo(scene.add(chain(3, damping=2.0, stiffness=30.0), name="arm"), kp=100, kd=5)
    arm = simulator(scene, 2e-3)
    loop, control = bars(2e-3), np.array([0.1, 0.2, 0.3])
    boxes = fw.Scene(gravity=(0, 0, -GRAVITY))
    boxes.add(fw.box((0.1, 0.2, 0.3)), name="box")
    cases: list[tuple[fw.Simulator, dict[str, Any], Any]] = [
        (arm, {"q": [1.0, 0.5, 0.2], "v": [3.0, -4.0, 5.0]}, control),
        (loop, {"v": turning(5.0)}, None),
        (simulator(tree(), 2e-3), {"v": np.random.default_rng(1).uniform(-3, 3, 11)}, None),
        (simulator(boxes, 2e-3), {"v": [1.0, 2.0, 3.0, 40.0, 50.0, 6.0]}, None),
    ]
    for sim, start, commands in cases:
        state = sim.state(**start)
        for _ in range(3):
            after = sim.step(state, control=commands)
            q, v = verlet_step(step_scene(sim), np.array(state.q), np.array(state.v), control=commands)
            np.testing.assert_allclose(after.q, q, atol=1e-8)
            np.testing.assert_allclose(after.v, v, atol=1e-8)
            state = after


def test_environments_do_not_know_their_neighbours() -> None:
    """Some fall, some rest, some tumble."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6, restitution=0.3))
    scene.add(fw.box((0.2, 0.1, 0.3)), name="box", pose=(0, 0, 0.2))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(1, 0, 0.35))
    scene.servo(robot, kp=60, kd=4)
    sim = simulator(scene, 2e-3)
    rng = np.random.default_rng(0)
    v = rng.normal(size=(5, sim.model.nv)) * np.array([0, 0.01, 1, 5, 0])[:, None]
    many = sim.rollout(sim.state(batch=5, v=v), n_steps=60)
    for k in range(5):
        alone = sim.rollout(sim.state(v=v[k]), n_steps=60)
        np.testing.assert_array_equal(alone.q, many.q[k])
        np.testing.assert_array_equal(alone.v, many.v[k])


def test_solutions_starts_and_pickles() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.box((0.2, 0.2, 0.2), mass=4.0), name="box", pose=(0, 0, 0.1))
    sim = pickle.loads(pickle.dumps(simulator(scene, 2e-3)))
    before = sim.rollout(sim.state(v=[0.5, 0, 0, 0, 0, 0]), n_steps=5).final
    solution = sim.step_solution(before)
    assert solution.state == sim.step(before)
    np.testing.assert_array_equal(solution.state.q_start, before.q)
    np.testing.assert_array_equal(solution.state.v_start, before.v)
    np.testing.assert_allclose(solution.state.contacts.force.sum(axis=0), [-2 * GRAVITY, 0, 4 * GRAVITY], atol=1e-5)
    np.testing.assert_allclose(solution.state.acceleration[0], -0.5 * GRAVITY, rtol=1e-6)
