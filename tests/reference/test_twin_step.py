"""The twin of the step: its own solution beside the simulator's, and what the simulator is not asked for.

That the simulator's impulses obey the twin's laws is tests/simulation/test_step_oracle.py; here the twin finds its own,
from zero. Velocities agree to 1e-6 of those of the problem where friction leaves one solution only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.forests import random_forest
from helpers.scenes import drop, tumbled
from helpers.step_oracle import in_old_axes, judge

import featherweight as fw
from featherweight import pose, reference
from featherweight.arrays import Array
from featherweight.reference import dense
from featherweight.reference.constraints import turn_error
from featherweight.reference.spatial import quaternion_exp, rotation
from featherweight.reference.stages.apply import apply
from featherweight.reference.stages.bodies import bias, mass_matrix, place
from featherweight.reference.stages.closure_rows import closure_errors


@pytest.mark.parametrize("seed", range(6))
def test_equation_of_motion(seed: int) -> None:
    model = random_forest(seed, 6).description
    rng = np.random.default_rng(seed)
    nv = reference.sizes(model)[1]
    q, v = reference.integrate(model, reference.neutral(model), rng.normal(size=nv)), rng.normal(size=nv)
    f_ext, bodies = rng.normal(size=(len(model.links), 6)), place(model, q)
    assert np.allclose(mass_matrix(model, bodies), dense.mass_matrix(model, q), atol=1e-11)
    assert np.allclose(bias(model, bodies, q, v, f_ext), dense.bias_forces(model, q, v, f_ext), atol=1e-10)


# -- beside the simulator ----------------------------------------------------------------------------------------------


def bodies(*kinds: str, **surface: Any) -> Callable[[], fw.Scene]:
    return lambda: drop(np.random.default_rng(1), kinds, ground=fw.Plane(friction=0.6, **surface), **surface)


def sunk() -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.box((0.2, 0.2, 0.2)), pose=(0, 0, 0.09))
    scene.add(fw.sphere(0.1), pose=(1, 0, 0.07))
    return scene


def closed() -> fw.Scene:
    rng = np.random.default_rng(2)
    scene = fw.Scene()
    for k in range(3):
        scene.add(fw.box((0.1, 0.1, 0.2)), name=f"box_{k}", pose=tumbled(rng, (0.3 * k, 0, 0.3)))
    scene.constrain(fw.PointConstraint("box_0", offset=(0, 0, 0.1)))
    scene.constrain(fw.FrameConstraint("box_1", to="box_2"))
    return scene


def swinging() -> fw.Scene:
    """Limits, dry friction, damping, springs."""
    builder = fw.ModelBuilder("chain")
    parent = "world"
    for k in range(4):
        builder.solid(f"link_{k}", "capsule", (0.03, 0.2), mass=1.0, placement=(0, 0, -0.15))
        builder.joint(
            f"joint_{k}", "revolute", parent, f"link_{k}", axis="xyx"[k % 3], placement=(0, 0, -0.3),
            lower=-0.3, upper=0.2, friction=0.2 * k, damping=0.05, stiffness=1.0,
        )  # fmt: skip
        parent = f"link_{k}"
    scene = fw.Scene()
    scene.add(builder.build())
    return scene


def hurried() -> fw.Scene:
    """Drives of all kinds that would take their joints beyond velocity limits, and one that gravity does."""
    builder, parent = fw.ModelBuilder("hurried"), "world"
    for k, kind in enumerate(("position", "velocity", "motor", "position", "velocity")):
        builder.solid(f"link_{k}", "capsule", (0.03, 0.2), mass=1.0, placement=(0, 0, -0.15))
        builder.joint(
            f"joint_{k}", "revolute", parent, f"link_{k}", axis="xyz"[k % 3], placement=(0, 0, -0.3),
            effort_limit=30.0 if k < 3 else None, velocity_limit=0.5 + 0.3 * k,
        )  # fmt: skip
        builder.actuator(f"drive_{k}", f"joint_{k}", kind, kp=300.0, kd=1.0, gear=1.0)  # type: ignore[arg-type]
        parent = f"link_{k}"
    scene = fw.Scene()
    scene.add(builder.build())
    return scene


def servoed() -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.45))
    scene.servo("robot", kp=60, kd=4)
    return scene


def stuck() -> fw.Scene:
    """A slider in the ground whose rail hardly rises, and a wheel whose axle is nearly above where it touches."""
    builder = fw.ModelBuilder("rail")
    builder.solid("ball", "sphere", (0.1,), mass=1.0)
    builder.joint("rail", "prismatic", "world", "ball", axis=(1.0, 0.0, 0.03))
    builder.solid("wheel", "cylinder", (0.1, 0.05), mass=1.0, placement=pose((0.002, 0, 0), rpy=(np.pi / 2, 0, 0)))
    builder.joint("axle", "revolute", "world", "wheel", axis="y", placement=(1, 0, 0))
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(builder.build(), name="rail", pose=(0, 0, 0.08))
    return scene


def struck() -> fw.Scene:
    """Elastic balls with gaps, one thrown at the others; rods that land with spin; a ball that reverses its spin."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    surface: dict[str, Any] = {"restitution": 0.9, "friction": 0.6}
    for k, mass in enumerate((1.0, 0.5, 2.0, 0.7)):
        scene.add(fw.sphere(0.05, mass=mass, **surface), name=f"ball_{k}", pose=(0.1003 * k, 0.0, 0.3 + 1e-3 * k))
    scene.add(fw.capsule(0.02, 0.5, **surface), name="rod", pose=fw.pose((2, 0, 0.25), rpy=(0, 0.9, 0)))
    ball = fw.sphere(0.05, tangential_restitution=0.8, **surface)
    scene.add(ball, name="super", pose=(4, 0, 0.2))
    return scene


def stops() -> fw.Scene:
    """A chain between elastic stops, struck by a ball."""
    builder = fw.ModelBuilder("chain")
    parent = "world"
    for k in range(3):
        builder.solid(f"link_{k}", "capsule", (0.03, 0.2), mass=1.0, placement=(0, 0, -0.15))
        builder.joint(
            f"joint_{k}", "revolute", parent, f"link_{k}", axis="y", placement=(0, 0, -0.3),
            lower=-0.1, upper=0.1, limit_restitution=0.3 * k,
        )  # fmt: skip
        parent = f"link_{k}"
    scene = fw.Scene()
    scene.add(builder.build(), name="chain", pose=(0, 0, 1.5))
    scene.add(fw.sphere(0.05, mass=2.0, restitution=0.8), name="ball", pose=(-0.1, 0, 0.7))
    return scene


def immersed() -> fw.Scene:
    """A quadruped, a box and an ellipsoid in a thick liquid that flows; a ball and a rod on its ground."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6), medium=fw.Medium(300.0, 0.5, (0.3, -0.2, 0.1)))
    scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 3))
    scene.add(fw.box((0.1, 0.2, 0.3)), name="box", pose=(2, 0, 3))
    scene.add(fw.sphere(0.1), name="ball", pose=(6, 0, 0.12))
    scene.add(fw.capsule(0.05, 0.3), name="rod", pose=fw.pose((8, 0, 0.2), rpy=(0, 1.2, 0)))
    builder = fw.ModelBuilder("fish")
    egg = fw.FluidShape(
        "ellipsoid", (0.1, 0.2, 0.3), fw.pose((0.02, 0, 0), rpy=(0.3, 0.2, 0.1)),
        virtual_mass=(0.03, 0.01, 0.005), virtual_inertia=(4e-5, 4e-4, 1e-4),
    )  # fmt: skip
    skin = fw.Geometry("skin", "collision", "sphere", (0.1,))
    builder.link("fish", mass=5.0, inertia=(0.1, 0.08, 0.05), geometries=[skin], fluid_shapes=[egg])
    builder.joint("swims", "free", "world", "fish")
    scene.add(builder.build(), name="fish", pose=(4, 0, 2))
    return scene


#: Scene, speed at the start, steps, of which one in `every` is compared, integrator.
SCENES: dict[str, tuple[Callable[[], fw.Scene], float, int, int, Any]] = {
    "spheres": (bodies("sphere", "sphere"), 1.0, 240, 8, "semi_implicit"),
    "capsules": (bodies("capsule", "capsule"), 1.0, 240, 8, "semi_implicit"),
    "spinning": (bodies("sphere", "capsule", torsional=0.02, rolling=0.01, dim=6), 2.0, 240, 8, "semi_implicit"),
    "bouncing": (bodies("sphere", "box", restitution=0.8), 1.0, 300, 2, "semi_implicit"),
    "struck": (struck, 3.0, 150, 1, "semi_implicit"),
    "stops": (stops, 3.0, 150, 1, "semi_implicit"),
    "compliant": (bodies("sphere", "box", stiffness=5e3, damping=50.0), 1.0, 240, 8, "semi_implicit"),
    "sunk": (sunk, 0.0, 20, 1, "semi_implicit"),
    "stuck": (stuck, 0.0, 20, 1, "semi_implicit"),
    "closed": (closed, 1.0, 100, 10, "semi_implicit"),
    "swinging": (swinging, 2.0, 200, 10, "semi_implicit"),
    "springs at the end of the step": (swinging, 2.0, 200, 10, "implicit"),
    "drives at their velocity": (hurried, 0.3, 200, 4, "semi_implicit"),
    "implicit drives at their velocity": (hurried, 0.3, 200, 4, "implicit"),
    "in a medium": (immersed, 1.0, 140, 10, "semi_implicit"),
    "servos of limited effort": (servoed, 0.0, 200, 20, "implicit"),
}


@pytest.mark.parametrize("name", SCENES)
def test_the_twin_steps_as_the_simulator_does(name: str) -> None:
    make, speed, steps, every, integrator = SCENES[name]
    sim = fw.Simulator(make(), dt=2e-3, integrator=integrator)
    scene, rng = reference.step_scene(sim), np.random.default_rng(3)
    state, rows = sim.state(v=speed * rng.normal(size=sim.model.nv)), 0
    for k in range(steps):
        control = 0.3 * np.sin(0.05 * k + np.arange(sim.nu)) if sim.nu else None
        after = sim.step(state, control=control)
        if k % every == 0:
            contacts = reference.contact_points(sim, state, after)
            twin = reference.step(scene, np.array(state.q), np.array(state.v), contacts, control=control)
            assert twin.residual <= 1e-9
            v_after = in_old_axes(sim.model, twin.free.q, np.array(after.q), np.array(after.v))
            assert np.abs(apply(twin.free, twin.problem, twin.impulses) - v_after).max() <= 1e-6 * twin.problem.scale
            assert np.abs(twin.q - after.q).max() <= 1e-8
            rows += len(twin.problem.g)
        state = after
    assert rows > 10


@pytest.mark.parametrize("make", [servoed, bodies("box", "box")], ids=["quadruped", "boxes"])
def test_where_friction_leaves_a_choice_both_are_lawful(make: Callable[[], fw.Scene]) -> None:
    """The load of a box that slides may rest on these corners or on those, and turns it accordingly."""
    sim = fw.Simulator(make(), dt=2e-3)
    rng = np.random.default_rng(3)
    scene, state, same, judged = reference.step_scene(sim), sim.state(v=rng.normal(size=sim.model.nv)), 0, 0
    for k in range(240):
        after = sim.step(state)
        if k % 10 == 0:
            contacts = reference.contact_points(sim, state, after)
            twin = reference.step(scene, np.array(state.q), np.array(state.v), contacts)
            assert twin.residual <= 1e-9
            assert judge(sim, state, after).residual <= 1e-7
            same += bool(np.abs(twin.v - after.v).max() <= 1e-6 * twin.problem.scale)
            judged += 1
        state = after
    assert same >= 0.5 * judged


# -- closures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [1e-9, 0.5, 3.0, np.pi - 1e-6, np.pi])
def test_the_error_of_a_weld_is_the_rotation_vector(angle: float) -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3
    error = turn_error(rotation(axis, angle), [0, 1, 2])
    assert np.abs(error - angle * axis).max() < 1e-9 or (angle == np.pi and np.allclose(error, -angle * axis))


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.5, np.pi, -np.pi / 2])
def test_the_error_of_a_hinge_does_not_depend_on_its_angle(angle: float) -> None:
    """A small turn of a by its own axes y and z is the error, however far the hinge is open."""
    small = np.array([0.0, 1e-6, -2e-6])
    size = float(np.linalg.norm(small))
    turned: Array = rotation(np.array([1.0, 0.0, 0.0]), angle) @ rotation(small / size, size)
    assert np.abs(turn_error(turned, [1, 2]) - small).max() < 1e-11


def test_a_hinge_the_wrong_way_round_is_half_a_turn_off() -> None:
    flipped = rotation(np.array([0.0, 1.0, 0.0]), np.pi)
    assert np.linalg.norm(turn_error(flipped, [1, 2])) == pytest.approx(np.pi)


def welded(turn: Array) -> tuple[reference.StepScene, Array, Array]:
    """A box welded to the world, and a configuration in which it is turned and away."""
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.box((0.1, 0.2, 0.3)), name="box", pose=(0, 0, 1))
    scene.constrain(fw.FrameConstraint("box"))
    sim = fw.Simulator(scene, dt=2e-3)
    q = np.array(sim.scene.q0)
    q[:3] += (0.1, 0.0, -0.2)
    q[3:] = quaternion_exp(turn)
    return reference.step_scene(sim), q, np.zeros(6)


@pytest.mark.parametrize("angle", [0.1, 1.0, 3.0, np.pi])
def test_a_weld_that_is_off_closes_at_a_bounded_speed_and_gains_none(angle: float) -> None:
    """By 2 rad/s and half a metre per second at most, straight; half a turn is as good as any."""
    scene, q, v = welded(angle * np.array([0.6, 0.0, 0.8]))
    solution = reference.step(scene, q, v)
    before = closure_errors(scene.model, solution.free.bodies, scene.closures)
    left = closure_errors(scene.model, place(scene.model, solution.q), scene.closures)
    for own, fastest in ((slice(0, 3), 0.5), (slice(3, 6), 2.0)):
        length = float(np.linalg.norm(before[own]))
        share = max(0.0, 1.0 - fastest * scene.dt / length)
        assert np.abs(left[own] - share * before[own]).max() < 1e-10
    assert np.linalg.norm(before[3:]) == pytest.approx(angle)
    assert np.abs(solution.v).max() < 1e-12


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.0, np.pi])
def test_a_hinge_stays_aligned_however_far_it_is_open(angle: float) -> None:
    """Two bodies on a hinge about x, turning together across it."""
    bodies = fw.Scene(gravity=(0, 0, 0))
    bodies.add(fw.box((0.3, 0.1, 0.05)), name="a")
    bodies.add(fw.box((0.1, 0.3, 0.2)), name="b")
    bodies.exclude("a", "b")
    bodies.constrain(fw.FrameConstraint("a", rows=("x", "y", "z", "ry", "rz"), to="b"))
    sim = fw.Simulator(bodies, dt=2e-3)
    scene, q, v = reference.step_scene(sim), np.array(sim.scene.q0), np.zeros(12)
    q[3:7] = quaternion_exp(np.array([angle, 0.0, 0.0]))
    v[3:6] = (0.0, 3.0, -1.0)
    v[9:12] = rotation(np.array([1.0, 0.0, 0.0]), angle) @ v[3:6]
    for _ in range(20):
        solution = reference.step(scene, q, v)
        q, v = solution.q, solution.v
        X = reference.forward_kinematics(scene.model, q)
        assert np.abs(np.cross(X[0, :3, 0], X[1, :3, 0])).max() < 1e-10


# -- what a stage may do to energy, and where separation yields --------------------------------------------------------


def test_a_servo_does_not_weaken_a_bounce_beside_it() -> None:
    """The work of a motor is no reason to take energy from a ball."""
    scene = fw.Scene(ground=fw.Plane(restitution=0.9, friction=0.0))
    scene.add(fw.sphere(0.03, restitution=0.9, friction=0.0), name="ball", pose=(3, 0, 0.0305))
    builder = fw.ModelBuilder("slider")
    builder.solid("link", "box", (0.1, 0.1, 0.1), mass=1.0)
    builder.joint("rail", "prismatic", "world", "link", axis="y", effort_limit=200.0)
    builder.actuator("servo", "rail", "position", kp=1e4, kd=0.1)
    scene.add(builder.build(), pose=(0, 0, 2))
    sim = fw.Simulator(scene, dt=1e-3, integrator="implicit")
    v = np.zeros(7)
    v[2], v[6] = -4.0, 3.0  # the ball falls, the servo pushes a slider that is already fast
    state = sim.state(v=v)
    after = sim.step(state, control=[1.0])
    contacts = reference.contact_points(sim, state, after)
    twin = reference.step(reference.step_scene(sim), np.array(state.q), v, contacts, control=np.array([1.0]))
    assert twin.v[2] == pytest.approx(0.9 * 4.0)
    assert twin.v[6] > 3.1


def test_contacts_that_can_hardly_move_are_not_forced_apart() -> None:
    """A slider without friction, 2 cm in the ground, on a rail that rises by a millionth."""
    builder = fw.ModelBuilder("rail")
    builder.solid("ball", "sphere", (0.1,), mass=1.0)
    builder.joint("rail", "prismatic", "world", "ball", axis=(1.0, 0.0, 1e-6))
    scene = fw.Scene(ground=fw.Plane(friction=0.0))
    scene.add(builder.build(), pose=(0, 0, 0.08))
    scene.pair("rail", "ground", friction=0.0)
    sim = fw.Simulator(scene, dt=1e-3)
    state = sim.state()
    contacts = reference.contact_points(sim, state, sim.step(state))
    assert [c.friction for c in contacts] == [0.0]
    twin = reference.step(reference.step_scene(sim), np.array(state.q), np.array(state.v), contacts)
    assert np.abs(twin.q).max() < 0.1


def test_overlaps_leave_no_slower_beside_a_light_joint() -> None:
    """Half of 5 mm, at no more than 0.5 m/s, whatever the mobility of a hinge elsewhere."""
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="box", pose=(0, 0, 0.0999))
    builder = fw.ModelBuilder("hinge")
    builder.solid("link", "box", (0.02, 0.02, 0.02), mass=0.01)
    builder.joint("hinge", "revolute", "world", "link", axis="z", friction=1e-6)
    scene.add(builder.build(), pose=(2, 0, 2))
    sim = fw.Simulator(scene, dt=2e-3)
    state = sim.state()
    contacts = reference.contact_points(sim, state, sim.step(state))
    twin = reference.step(reference.step_scene(sim), np.array(state.q), np.array(state.v), contacts)
    assert twin.q[2] == pytest.approx(0.09995, abs=2e-7)
