"""Constraints with acceleration, stiffness, damping or compliance: errors obey their law whatever else acts.

e'' + damping e' + stiffness e + compliance f = acceleration,   e the error of a row, f the force along it
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.reference import step, step_scene
from featherweight.reference.stages.of_simulator import contact_points
from featherweight.reference.stages.verlet import verlet_step

GRAVITY = 9.81
INTEGRATORS: tuple[Any, ...] = ("semi_implicit", "implicit", "verlet")
pytestmark = pytest.mark.filterwarnings("ignore:.*no collision shapes")


def slider(mass: float = 2.0) -> fw.Model:
    builder = fw.ModelBuilder("slider")
    builder.link("cart", mass=mass, inertia=np.diag([0.01, 0.02, 0.03]))
    builder.joint("rail", "prismatic", "world", "cart", axis="x")
    return builder.build()


def guided_slider(dt: float, integrator: Any = "semi_implicit", **gains: Any) -> fw.Simulator:
    scene = fw.Scene()
    scene.add(slider(), name="slider", self_collision=False)
    scene.constrain(fw.PointConstraint("slider/cart", rows="x", position=(0.0, 0.0, 0.0), **gains))
    return fw.Simulator(scene, dt=dt, integrator=integrator)


def oscillator(t: Array | float, e0: float, w0: float, a: float, k: float, d: float) -> Array:
    """e'' + d e' + k e = a from e0, w0: by the exponential of its matrix."""
    rest = a / k
    A = np.array([[0.0, 1.0], [-k, -d]])
    lam, V = np.linalg.eig(A.astype(complex))
    c = np.linalg.solve(V, [e0 - rest, w0])
    return np.asarray(((V[0] * c) * np.exp(np.multiply.outer(t, lam))).sum(-1).real + rest)


@pytest.mark.parametrize("gains", [{"stiffness": 100.0, "damping": 4.0}, {"stiffness": 50.0, "acceleration": 3.0}])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_without_compliance_the_motion_is_that_of_the_law_whatever_acts(integrator: Any, gains: dict[str, Any]) -> None:
    """A force of hundreds of newtons changes nothing; errors fall with the order of the integrator."""
    law = {"acceleration": 0.0, "damping": 0.0} | gains
    exact = oscillator(1.0, 0.1, -0.3, law["acceleration"], law["stiffness"], law["damping"])
    errors = []
    for dt in (2e-3, 1e-3):
        sim = guided_slider(dt, integrator, **gains)
        state = sim.state(q=[0.1], v=[-0.3])
        free, pushed = (sim.rollout(state, tau=np.array([tau]), n_steps=round(1 / dt)) for tau in (0.0, 300.0))
        np.testing.assert_allclose(pushed.q, free.q, atol=1e-11)
        assert free.unconverged == 0
        errors.append(abs(free.q[-1, 0] - exact))
    order = np.log2(errors[0] / errors[1])
    assert (1.8 < order < 2.2) if integrator == "verlet" else (0.8 < order < 1.2)
    assert errors[1] < (2e-6 if integrator == "verlet" else 5e-3)


def test_steps_follow_the_implicit_rule_to_rounding() -> None:
    """s+ = (s + dt (a - k e)) / (1 + dt d + dt^2 k), by numbers, from stiff to slack."""
    for dt, k, d, a in ((1e-3, 400.0, 5.0, 2.0), (1e-2, 1e6, 1e3, 0.0), (2e-2, 0.0, 1e5, 1.0), (1e-5, 1e4, 0.0, -3.0)):
        sim = guided_slider(dt, stiffness=k, damping=d, acceleration=a)
        motion, e, s = sim.rollout(sim.state(q=[0.2], v=[1.5]), n_steps=50), 0.2, 1.5
        for k_step in range(50):
            s = (s + dt * (a - k * e)) / (1 + dt * d + dt**2 * k)
            e += dt * s
            assert abs(motion.q[k_step, 0] - e) < 1e-12
            assert abs(motion.v[k_step, 0] - s) < 1e-12 / dt


def test_an_acceleration_alone_is_a_motion_that_speeds_up() -> None:
    for integrator in INTEGRATORS:
        dt, a, n = 1e-3, 0.7, 1000
        sim = guided_slider(dt, integrator, acceleration=a)
        end = sim.rollout(sim.state(), tau=np.array([40.0]), n_steps=n, record=False).final
        exact = a * dt**2 * (n * (n + 1) / 2 if integrator != "verlet" else n * n / 2)
        assert end.q[0] == pytest.approx(exact, abs=1e-11)
        assert end.forces.closures.force[0, 0] == pytest.approx(2.0 * a - 40.0, abs=1e-6)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_compliance_is_a_spring_a_damper_and_an_inertia(integrator: Any) -> None:
    """R f = a - k e - d e' - e'': stiffness k / R, damping d / R, inertia 1 / R beside the mass."""
    k, d, R, a, m = 80.0, 3.0, 0.5, 1.0, 2.0
    scale = R * m / (1 + R * m)  # m e'' = f + tau
    tau = 5.0
    exact = oscillator(1.0, 0.1, 0.0, (a + R * tau) / (R * m) * scale, k / (R * m) * scale, d / (R * m) * scale)
    errors = []
    for dt in (2e-3, 1e-3):
        sim = guided_slider(dt, integrator, stiffness=k, damping=d, compliance=R, acceleration=a)
        end = sim.rollout(sim.state(q=[0.1]), tau=np.array([tau]), n_steps=round(1 / dt), record=False).final
        errors.append(abs(end.q[0] - exact))
    order = np.log2(errors[0] / errors[1])
    assert (1.7 < order < 2.3) if integrator == "verlet" else (0.8 < order < 1.2)
    assert errors[1] < (1e-6 if integrator == "verlet" else 3e-3)
    rest = sim.rollout(sim.state(q=[0.1]), tau=np.array([tau]), n_steps=40000, record=False).final
    assert rest.q[0] == pytest.approx((a + R * tau) / k, abs=1e-9)
    assert rest.forces.closures.force[0, 0] == pytest.approx(-tau, abs=1e-6)


def test_steps_in_halves_keep_the_energy_of_a_spring() -> None:
    """Newmark's rule keeps quadratic energies to rounding: of mass, inertia of the row and spring."""
    k, R, m = 500.0, 0.4, 2.0
    sim = guided_slider(5e-3, "verlet", stiffness=k, compliance=R)
    motion = sim.rollout(sim.state(q=[0.1], v=[0.5]), n_steps=20000)
    energy = 0.5 * (m + 1 / R) * motion.v[:, 0] ** 2 + 0.5 * (k / R) * motion.q[:, 0] ** 2
    np.testing.assert_allclose(energy, 0.5 * (m + 1 / R) * 0.25 + 0.5 * (k / R) * 0.01, rtol=1e-10)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_strong_dampers_do_not_ring(integrator: Any) -> None:
    sim = guided_slider(1e-3, integrator, damping=1e7)
    motion = sim.rollout(sim.state(v=[1.0]), n_steps=20)
    speed = motion.v[:, 0]
    assert (np.abs(speed[1:]) <= np.abs(speed[:-1]) + 1e-15).all()
    assert abs(speed[-1]) < 1e-2


def hung(dt: float, integrator: Any, **gains: Any) -> fw.Simulator:
    """A ball on a spring without mass, from the origin."""
    scene = fw.Scene()
    scene.add(fw.sphere(0.05, mass=1.5), name="ball", pose=(0.5, 0, 0))
    scene.constrain(fw.DistanceConstraint("ball", length=0.4, **gains))
    return fw.Simulator(scene, dt=dt, integrator=integrator)


def swung(seconds: float, m: float, R: float, k: float, d: float) -> Array:
    """Polar coordinates of the same by the rule of Runge and Kutta: position and velocity in the plane."""
    n = 4000
    h, y = seconds / n, np.array([0.5, np.pi / 2, 0.2, 1.0])  # r, angle from down, rates

    def rate(y: Array) -> Array:
        r, p, u, w = y
        radial = (m * r * w * w + m * GRAVITY * np.cos(p) + (-k * (r - 0.4) - d * u) / R) / (m + 1 / R)
        return np.array([u, w, radial, (-GRAVITY * np.sin(p) - 2 * u * w) / r])

    for _ in range(n):
        a = rate(y)
        b = rate(y + h / 2 * a)
        c = rate(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + rate(y + h * c))
    r, p = y[:2]
    return np.array([r * np.sin(p), -r * np.cos(p)])


@pytest.mark.parametrize("d", [0.0, 2.0])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_ball_on_a_spring_swings_as_an_independent_integration(integrator: Any, d: float) -> None:
    k, R = 60.0, 0.8
    exact, errors = swung(0.8, 1.5, R, k, d), []
    for dt in (1e-3, 5e-4):
        sim = hung(dt, integrator, stiffness=k, damping=d, compliance=R)
        end = sim.rollout(sim.state(v=[0.2, 0, 0.5, 0, 0, 0]), n_steps=round(0.8 / dt), record=False).final
        errors.append(np.linalg.norm(end.q[[0, 2]] - exact))
    order = np.log2(errors[0] / errors[1])
    assert (1.7 < order < 2.3) if integrator == "verlet" else (0.8 < order < 1.2)
    assert errors[1] < (1e-6 if integrator == "verlet" else 3e-3)


def test_two_bodies_on_a_spring_keep_their_momentum_and_the_frequency_of_their_reduced_mass() -> None:
    k, R, masses = 90.0, 2.0, (1.0, 3.0)
    scene = fw.Scene(gravity=(0, 0, 0))
    for name, mass, x in (("a", masses[0], 0.0), ("b", masses[1], 0.7)):
        scene.add(fw.box((0.1, 0.1, 0.1), mass=mass), name=name, pose=(x, 0, 0))
    scene.constrain(fw.DistanceConstraint("a", "b", length=0.6, stiffness=k, compliance=R))
    sim = fw.Simulator(scene, dt=1e-3, integrator="verlet")
    motion = sim.rollout(sim.state(v=[0.1, 0.4, 0, 0, 0, 0, 0.2, 0, 0.3, 0, 0, 0]), n_steps=5000)
    momentum = fw.centroidal_momentum(sim.model, motion.q, motion.v)
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), atol=1e-11)
    straight = sim.rollout(sim.state(), n_steps=2000)
    apart = straight.q[:, 7] - straight.q[:, 0] - 0.6
    reduced = masses[0] * masses[1] / sum(masses)
    w = np.sqrt(k / R / (reduced + 1 / R))
    np.testing.assert_allclose(apart, 0.1 * np.cos(w * straight.time), atol=1e-5)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_rows_that_are_held_hold_while_others_are_guided(integrator: Any) -> None:
    scene = fw.Scene()
    scene.add(fw.box((0.1, 0.2, 0.3), mass=2.0), name="box", pose=(0, 0, 1))
    gains = {"stiffness": (0, 0, 60.0, 0, 0, 0), "damping": (0, 0, 20.0, 0, 0, 0), "compliance": (0, 0, 0.3, 0, 0, 0)}
    scene.constrain(fw.FrameConstraint("box", **gains))  # type: ignore[arg-type]
    sim = fw.Simulator(scene, dt=1e-3, integrator=integrator)
    end = sim.rollout(sim.state(), f_ext=np.array([[3.0, 4.0, 0.0, 0.1, 0.2, 0.3]]), n_steps=5000, record=False).final
    assert end.converged
    assert end.closure_error < 1e-11
    np.testing.assert_allclose(end.q, [0, 0, 1 - 0.3 * 2 * GRAVITY / 60.0, 0, 0, 0, 1], atol=1e-9)
    closures = end.forces.closures
    np.testing.assert_allclose(closures.force[0], [-3, -4, 2 * GRAVITY], atol=1e-6)
    at_center = closures.moment[0] - np.cross(closures.apart[0], closures.force[0])  # they act where the box belongs
    np.testing.assert_allclose(at_center, [-0.1, -0.2, -0.3], atol=1e-6)
    assert closures.apart[0, 2] == pytest.approx(-0.3 * 2 * GRAVITY / 60.0)


def test_a_point_far_off_is_drawn_to_its_place_as_its_law_says() -> None:
    """Critically damped, without overshoot and without a bound on its speed."""
    T = 0.05
    sim = guided_slider(1e-3, "verlet", stiffness=1 / T**2, damping=2 / T)
    motion = sim.rollout(sim.state(q=[5.0]), n_steps=500)
    t = motion.time
    np.testing.assert_allclose(motion.q[:, 0], 5.0 * (1 + t / T) * np.exp(-t / T), atol=2e-3)
    assert motion.q.min() > -1e-3


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_turns_are_guided_too(integrator: Any) -> None:
    """A body on a hinge without friction, drawn back by a torsion spring that is a row of its own."""
    builder = fw.ModelBuilder("wheel").link("wheel", mass=1.0, inertia=np.diag([0.1, 0.1, 0.2]))
    builder.joint("axle", "continuous", "world", "wheel", axis="z")
    scene = fw.Scene()
    scene.add(builder.build(), name="wheel", self_collision=False)
    k, R = 50.0, 4.0
    scene.constrain(
        fw.FrameConstraint("wheel/wheel", rows=("rz", "rx", "ry"), stiffness=(k, 0, 0), compliance=(R, 0, 0))
    )
    sim = fw.Simulator(scene, dt=1e-4, integrator=integrator)
    motion = sim.rollout(sim.state(q=[0.5]), n_steps=10000)
    w = np.sqrt(k / R / (0.2 + 1 / R))
    np.testing.assert_allclose(
        motion.q[:, 0], 0.5 * np.cos(w * motion.time), atol=1e-6 if integrator == "verlet" else 4e-3
    )


def gears() -> fw.Model:
    builder = fw.ModelBuilder("gears")
    for name, at, inertia in (("motor", 0.0, 0.1), ("wheel", 0.3, 0.4)):
        builder.link(name, mass=1.0, inertia=np.eye(3) * inertia)
        builder.joint(name, "continuous", "world", name, placement=(0, at, 0), axis="x")
    return builder.build()


@pytest.mark.parametrize("combined", [False, True])
def test_joints_are_coupled_by_springs(combined: bool) -> None:
    """e = wheel + motor / 2: gears with teeth that give."""
    k, R = 200.0, 3.0
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(gears(), name="g", self_collision=False)
    gains = {"stiffness": k, "compliance": R}
    scene.constrain(
        fw.JointCombination({"g/wheel": 1.0, "g/motor": 0.5}, **gains)
        if combined
        else fw.JointCoupling("g/wheel", to="g/motor", polynomial=(0.0, -0.5), **gains)
    )
    sim = fw.Simulator(scene, dt=1e-3, integrator="verlet")
    motion = sim.rollout(sim.state(q=[0.0, 0.3]), n_steps=2000)
    G = 1 / 0.4 + 0.25 / 0.1  # mobility of the row
    w = np.sqrt(k * G / (G + R))
    e = motion.q[:, 1] + 0.5 * motion.q[:, 0]
    np.testing.assert_allclose(e, 0.3 * np.cos(w * motion.time), atol=1e-4)
    np.testing.assert_allclose(0.1 * motion.v[:, 0] - 0.5 * 0.4 * motion.v[:, 1], 0.0, atol=1e-11)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_spring_presses_a_ball_on_the_ground(integrator: Any) -> None:
    k, R, m = 300.0, 0.5, 1.0
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.sphere(0.1, mass=m), name="ball", pose=(0, 0, 0.1))
    scene.constrain(fw.PointConstraint("ball", rows="z", position=(0, 0, 0.05), stiffness=k, damping=5.0, compliance=R))
    sim = fw.Simulator(scene, dt=1e-3, integrator=integrator)
    end = sim.rollout(sim.state(), n_steps=500, record=False).final
    assert end.converged
    assert end.q[2] == pytest.approx(0.1, abs=1e-9)
    assert end.contacts.force[0, 2] == pytest.approx(m * GRAVITY + 0.05 * k / R, rel=1e-7)
    assert end.forces.closures.force[0, 2] == pytest.approx(-0.05 * k / R, rel=1e-7)


def robot_scene(rng: np.random.Generator) -> fw.Scene:
    """An arm whose flange is guided along some rows and held along others, and a box hung from it that may land."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    arm = scene.add(fw.models.arm(), name="arm", pose=(0, 0, 0.2), q=rng.uniform(-1, 1, 7), self_collision=False)
    gains = {name: scale * rng.uniform(0, 1, 6) for name, scale in (("stiffness", 200), ("damping", 10))}
    compliance = rng.uniform(0, 1, 6) * (0, 1, 1, 1, 0, 1)
    acceleration = rng.uniform(-1, 1, 6)
    scene.constrain(
        fw.FrameConstraint(arm.link("flange"), compliance=compliance, acceleration=acceleration, **gains)  # type: ignore[arg-type]
    )
    scene.add(fw.box((0.1, 0.2, 0.3), mass=1.0), name="box", pose=(1.5, 0, 0.15))
    scene.constrain(fw.PointConstraint("box", offset=(0, 0, 0.15), stiffness=50.0, compliance=(0.3, 0.0, 0.5)))
    return scene


@pytest.mark.parametrize("seed", range(4))
def test_steps_equal_those_of_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sim = fw.Simulator(robot_scene(rng), dt=2e-3, solver=fw.Newton(tolerance=1e-12))
    state = sim.state(v=rng.uniform(-0.5, 0.5, sim.model.nv))
    for _ in range(5):
        tau = rng.uniform(-3, 3, sim.model.nv) * (np.arange(sim.model.nv) < 7)
        after = sim.step(state, tau)
        twin = step(step_scene(sim), state.q, state.v, contact_points(sim, state, after), tau=tau)
        np.testing.assert_allclose(after.v, twin.v, atol=1e-8)
        np.testing.assert_allclose(after.q, twin.q, atol=1e-10)
        state = after


@pytest.mark.parametrize("seed", range(3))
def test_steps_in_halves_equal_those_of_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scene, parent = fw.Scene(), "world"
    builder = fw.ModelBuilder("arm")
    for k, axis in enumerate("yxzy"):
        builder.link(f"link{k}", mass=1.0, inertia=np.diag([0.02, 0.03, 0.01]), com=(0.1, 0.02, 0.05))
        builder.joint(f"joint{k}", "continuous", parent, f"link{k}", axis=axis, placement=(0.2, 0, 0.1), damping=0.3)
        parent = f"link{k}"
    scene.add(builder.build(), name="arm", q=rng.uniform(-1, 1, 4), self_collision=False)
    gains: dict[str, Any] = {name: rng.uniform(0, 100, 3) for name in ("stiffness", "damping")}
    scene.constrain(fw.PointConstraint("arm/link3", compliance=(0.0, 0.5, 5.0), acceleration=(1, 0, -2), **gains))
    sim = fw.Simulator(scene, dt=2e-3, integrator="verlet")
    state = sim.state(v=rng.uniform(-0.5, 0.5, 4))
    for _ in range(5):
        after = sim.step(state)
        q, v = verlet_step(step_scene(sim), state.q, state.v)
        np.testing.assert_allclose(after.v, v, atol=1e-9)
        np.testing.assert_allclose(after.q, q, atol=1e-11)
        state = after


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_environments_do_not_know_their_neighbours(integrator: Any) -> None:
    rng = np.random.default_rng(5)
    sim = fw.Simulator(robot_scene(rng), dt=2e-3, integrator=integrator)
    v = rng.uniform(-1, 1, (11, sim.model.nv))
    q = np.tile(sim.scene.q0, (11, 1))
    together = sim.rollout(sim.state(batch=11, q=q, v=v), n_steps=50, record=False).final
    for k in (0, 4, 10):
        alone = sim.rollout(sim.state(q=q[k], v=v[k]), n_steps=50, record=False).final
        np.testing.assert_array_equal(together.q[k], alone.q)
        np.testing.assert_array_equal(together.v[k], alone.v)


def test_guided_scenes_travel() -> None:
    sim = fw.Simulator(robot_scene(np.random.default_rng(1)), dt=2e-3)
    copy = pickle.loads(pickle.dumps(sim))
    np.testing.assert_array_equal(copy.step(copy.state()).q, sim.step(sim.state()).q)


def test_what_is_not_known_or_makes_no_sense_is_refused_by_name() -> None:
    scene = fw.Scene()
    scene.add(fw.sphere(0.1), name="ball")
    for bad, match in (
        (fw.PointConstraint("ball", stiffness=-1.0), "ball.*stiffness must not be negative"),
        (fw.PointConstraint("ball", rows="xy", damping=(1.0, 2.0, 3.0)), "ball.*damping must be"),
        (fw.PointConstraint("ball", compliance=np.nan), "ball.*compliance must be"),
        (fw.DistanceConstraint("ball", length=1.0, acceleration=(1.0, 2.0)), "ball.*acceleration must be"),
    ):
        with pytest.raises(ValueError, match=match):
            scene.constrain(bad)
