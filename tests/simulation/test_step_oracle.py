"""A step is what the equations say: momentum by impulses, impulses by the un-relaxed laws of contact.

The judge is the twin of the step (featherweight.reference.step), which shares no code with the core. Momentum balances
to rounding; laws hold to 1e-7 of the velocities, a hundred times what the solver is asked for, since the mass matrix of
the twin is factored otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.forests import Forest, LinkPlan, random_forest
from helpers.scenes import KINDS, drop, random_body, spiky, tumbled
from helpers.step_oracle import Verdict, judge

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model import poses
from featherweight.reference.stages.bodies import center_of_mass

MOMENTUM, LAWS = 1e-10, 1e-7
UNCONVERGED = 1e-4  # where the step says that it missed its tolerance


def check(
    sim: fw.Simulator,
    state: fw.State,
    steps: int,
    every: int = 1,
    *,
    rng: Any = None,
    size: float = 0.0,
) -> tuple[int, fw.State]:
    """Steps, of which some are judged; returns how many rows were, and where it ended."""
    rows = 0
    for k in range(steps):
        tau = None if rng is None else rng.normal(size=sim.model.nv) * size
        control = None if sim.nu == 0 or rng is None else rng.normal(size=sim.nu) * size
        after = sim.step(state, tau, control=control)
        assert not after.failed
        if k % every == 0:
            verdict = judge(sim, state, after, tau, control=control)
            assert_lawful(verdict, f"step {k}", LAWS if after.converged else UNCONVERGED)
            rows += verdict.rows
        state = after
    return rows, state


def assert_lawful(verdict: Verdict, what: str, laws: float = LAWS) -> None:
    assert verdict.momentum_error <= MOMENTUM, f"{what}: momentum off by {verdict.momentum_error:.1e}"
    assert verdict.residual <= laws, f"{what}: laws missed by {verdict.residual:.1e}"


def thrown(sim: fw.Simulator, rng: np.random.Generator, speed: float = 1.0) -> fw.State:
    return sim.state(v=rng.normal(size=sim.model.nv) * speed)


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_fall_on_the_ground(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    sim = fw.Simulator(drop(rng, (kind,) * 3), dt=2e-3)
    rows, _state = check(sim, thrown(sim, rng), 240, 6)
    assert rows > 20, "hardly anything touched"


def test_bodies_of_all_shapes_in_a_pile() -> None:
    rng = np.random.default_rng(7)
    scene = fw.Scene(ground=fw.Plane(friction=0.4))
    for k, kind in enumerate(KINDS * 2):
        place = (0.12 * (k % 2), 0.1 * (k // 2 % 2), 0.2 + 0.25 * (k // 4))
        scene.add(random_body(rng, kind), name=f"{kind}_{k}", pose=tumbled(rng, place))
    sim = fw.Simulator(scene, dt=2e-3)
    rows, _ = check(sim, sim.state(), 300, 15)
    assert rows > 300


def test_contacts_without_friction_push_along_the_normal_only() -> None:
    """A ball slides off another: the normal turns from step to step."""
    scene = fw.Scene()
    scene.add(fw.sphere(0.5, static=True, friction=0.0))
    scene.add(fw.sphere(0.1, friction=0.0), pose=(0.1, 0, 0.593))
    sim = fw.Simulator(scene, dt=2e-3)
    rows, _ = check(sim, sim.state(), 150, 5)
    assert rows > 5


@pytest.mark.parametrize("dim", [1, 3, 4, 6])
def test_contacts_of_every_dimension(dim: int) -> None:
    rng = np.random.default_rng(dim)
    surface: dict[str, Any] = {"friction": 0.5, "torsional": 0.02, "rolling": 0.01, "dim": dim}
    ground = fw.Plane(**surface)
    sim = fw.Simulator(drop(rng, ("sphere", "box", "capsule", "ellipsoid"), ground=ground, **surface), dt=2e-3)
    assert {law.dim for law in sim.scene.laws} == {dim}
    rows, _ = check(sim, thrown(sim, rng, 2.0), 200, 5)
    assert rows > 30


@pytest.mark.parametrize("damping", [0.0, 5.0, 500.0])
def test_compliant_contacts(damping: float) -> None:
    rng = np.random.default_rng(3)
    surface: dict[str, Any] = {"friction": 0.5, "stiffness": 5e3, "damping": damping}
    sim = fw.Simulator(drop(rng, ("sphere", "box", "convex"), ground=fw.Plane(friction=0.5), **surface), dt=2e-3)
    rows, _ = check(sim, thrown(sim, rng), 200, 5)
    assert rows > 30


@pytest.mark.parametrize("restitution", [0.3, 1.0])
def test_bouncing_contacts(restitution: float) -> None:
    rng = np.random.default_rng(4)
    ground = fw.Plane(friction=0.3, restitution=restitution)
    sim = fw.Simulator(drop(rng, ("sphere", "box", "capsule"), ground=ground), dt=2e-3)
    rows, _ = check(sim, thrown(sim, rng), 300, 3)
    assert rows > 30


def test_contact_margins() -> None:
    rng = np.random.default_rng(5)
    scene = drop(rng, ("sphere", "box", "capsule"), margin=0.02)
    sim = fw.Simulator(scene, dt=2e-3)
    rows, _state = check(sim, thrown(sim, rng), 300, 10)
    assert rows > 30
    assert sim.model.nv == 18


def test_laws_of_the_pair_win() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.0))
    box = scene.add(fw.box((0.2, 0.2, 0.2)), name="box", pose=(0, 0, 0.101))
    scene.pair(box, "ground", friction=0.9, torsional=0.05)
    sim = fw.Simulator(scene, dt=2e-3)
    state = sim.state(v=[1.0, 0.5, 0.0, 0.0, 0.0, 2.0])
    rows, state = check(sim, state, 250, 10)
    assert rows > 30
    assert np.abs(state.v).max() < 1e-9  # it came to rest on a ground that others slide on


@pytest.mark.parametrize("name", ["quadruped", "humanoid"])
def test_robot_on_the_ground(name: str) -> None:
    rng = np.random.default_rng(0)
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(getattr(fw.models, name)(), name="robot", pose=(0, 0, 0.5 if name == "quadruped" else 1.0))
    sim = fw.Simulator(scene, dt=2e-3)
    rows, _ = check(sim, sim.state(), 240, 20, rng=rng, size=5.0)
    assert rows > 100


def test_body_against_robot() -> None:
    """Boxes fall on a quadruped: contacts with one end on a tree, the other on a body."""
    rng = np.random.default_rng(1)
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.35))
    for k in range(2):
        scene.add(fw.box((0.1, 0.15, 0.1), density=2000.0), pose=tumbled(rng, (0.2 * k - 0.1, 0.02, 0.65 + 0.1 * k)))
    sim = fw.Simulator(scene, dt=2e-3)
    rows, _state = check(sim, sim.state(), 200, 10)
    assert rows > 100


def test_arm_against_itself_and_a_body() -> None:
    """Link against link of one tree with a fixed base."""
    rng = np.random.default_rng(2)
    builder = fw.ModelBuilder("snake")
    parent = "world"
    for k in range(6):
        builder.solid(f"link_{k}", "capsule", (0.05, 0.2), mass=1.0, placement=(0, 0, 0.15))
        builder.joint(
            f"joint_{k}", "revolute", parent, f"link_{k}", axis="xy"[k % 2], placement=(0, 0, 0.3 if k else 0.8)
        )
        parent = f"link_{k}"
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(builder.build(), name="snake")
    scene.add(fw.sphere(0.1), name="ball", pose=(0.3, 0.3, 0.5))
    sim = fw.Simulator(scene, dt=2e-3)
    state, touched_itself, rows = thrown(sim, rng, 2.0), 0, 0
    for k in range(500):
        after = sim.step(state)
        contacts = after.contacts
        own = [
            sim.scene.shapes[i].link >= 0 and sim.scene.shapes[j].link >= 0
            for i, j in zip(contacts.shape_a, contacts.shape_b, strict=True)
        ]
        loaded = contacts.impulse[:, 2] > 0
        if k % 10 == 0 or (any(own) and touched_itself < 20):
            verdict = judge(sim, state, after)
            assert_lawful(verdict, f"step {k}", LAWS if after.converged else UNCONVERGED)
            touched_itself += bool((np.array(own, dtype=bool) & loaded).any())
            rows += verdict.rows
        state = after
    assert touched_itself > 3 and rows > 50


def test_limits_and_dry_friction() -> None:
    """A chain swings into its limits; dry friction holds its last joint."""
    builder = fw.ModelBuilder("chain")
    parent = "world"
    for k in range(5):
        builder.solid(f"link_{k}", "capsule", (0.03, 0.2), mass=1.0, placement=(0, 0, -0.15))
        builder.joint(
            f"joint_{k}", "revolute", parent, f"link_{k}", axis="xyx"[k % 3], placement=(0, 0, -0.3),
            lower=-0.3, upper=0.2, friction=0.2 * k, damping=0.05,
        )  # fmt: skip
        parent = f"link_{k}"
    sim = fw.Simulator(builder.build(), dt=2e-3)
    rows, state = check(sim, thrown(sim, np.random.default_rng(3), 3.0), 400, 8)
    assert rows > 200
    assert (state.q >= -0.3 - 1e-6).all() and (state.q <= 0.2 + 1e-6).all()


def test_limits_and_dry_friction_of_tendons() -> None:
    """Two chains side by side, with tendons within them and from one to the other."""
    builder = fw.ModelBuilder("chains")
    for side in "ab":
        parent = "world"
        for k in range(3):
            builder.solid(f"{side}_{k}", "capsule", (0.03, 0.2), mass=1.0, placement=(0, 0, -0.15))
            builder.joint(
                f"{side}{k}", "revolute", parent, f"{side}_{k}", axis="xyx"[k], lower=-1.0, upper=0.6, damping=0.05,
                placement=(0, 0.5 * (side == "b") * (k == 0), -0.3),
            )  # fmt: skip
            parent = f"{side}_{k}"
    builder.tendon("own", {"a0": 1.0, "a1": -0.5, "a2": 2.0}, range=(-0.2, 0.1))
    builder.tendon("across", {"a2": 1.0, "a0": 0.3, "b1": -2.0}, range=(-0.3, 0.3))
    builder.tendon("rubs", {"b0": 1.0, "b2": 0.5}, friction=0.3)
    builder.tendon("one", {"b2": -0.5}, range=(-0.1, 0.1))
    sim = fw.Simulator(builder.build(), dt=2e-3)
    rows, state = check(sim, thrown(sim, np.random.default_rng(3), 3.0), 400, 8)
    assert rows > 200 and state.limit_violation < 1e-6


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_servos(integrator: Any) -> None:
    """Position and velocity servos and motors, of limited effort and not."""
    builder = fw.ModelBuilder("servos")
    parent = "world"
    for k, kind in enumerate(("position", "velocity", "motor", "position", "velocity")):
        builder.solid(f"link_{k}", "capsule", (0.03, 0.2), mass=1.0, placement=(0, 0, -0.15))
        effort = 3.0 if k in (0, 1, 2) else None
        builder.joint(
            f"joint_{k}", "revolute", parent, f"link_{k}", axis="xyz"[k % 3], placement=(0, 0, -0.3),
            effort_limit=effort, damping=0.1,
        )  # fmt: skip
        builder.actuator(f"servo_{k}", f"joint_{k}", kind, kp=20.0, kd=0.5, gear=1.0 + 0.1 * k)  # type: ignore[arg-type]
        parent = f"link_{k}"
    sim = fw.Simulator(builder.build(), dt=2e-3, integrator=integrator)
    rng = np.random.default_rng(3)
    state = thrown(sim, rng)
    for k in range(100):
        control = rng.normal(size=sim.nu)
        after = sim.step(state, control=control)
        assert_lawful(judge(sim, state, after, control=control), f"step {k}")
        state = after


def test_held_points_and_frames() -> None:
    """An anchored point, two bodies welded, a hinge between two bodies, all above the ground."""
    rng = np.random.default_rng(6)
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    for k in range(4):
        scene.add(fw.box((0.1, 0.1, 0.2)), name=f"box_{k}", pose=tumbled(rng, (0.3 * k, 0, 0.3)))
    scene.constrain(fw.PointConstraint("box_0", offset=(0, 0, 0.1)))
    scene.constrain(fw.FrameConstraint("box_1", to="box_2"))
    scene.constrain(fw.FrameConstraint("box_2", rows=("x", "y", "z", "ry", "rz"), to="box_3"))
    sim = fw.Simulator(scene, dt=2e-3)
    rows, _state = check(sim, thrown(sim, rng), 300, 10)
    assert rows > 300


def test_robot_with_a_held_foot_and_a_held_body() -> None:
    """One link anchored, another closed with a body, with contacts, limits and dry friction in between."""
    rng = np.random.default_rng(8)
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.42))
    scene.add(fw.sphere(0.05, density=3000), name="ball", pose=(0.25, 0.0, 0.55))
    scene.constrain(fw.PointConstraint(robot.link("front_left_foot"), rows=("x", "z")))
    scene.constrain(fw.FrameConstraint("ball", rows=("x", "z", "ry"), to=robot.link("trunk")))
    sim = fw.Simulator(scene, dt=2e-3)
    rows, _ = check(sim, sim.state(), 240, 16, rng=rng, size=2.0)
    assert rows > 200


def forest_scene(forest: Forest, rng: np.random.Generator, height: float) -> fw.Scene:
    model = fw.ModelBuilder.from_description(spiky(forest)).build()
    scene = fw.Scene(ground=fw.Plane(friction=0.7))
    scene.add(model, name="forest", pose=(0, 0, height))
    scene.add(fw.box((0.3, 0.2, 0.1)), name="box", pose=(0.3, 0.2, 0.3))
    return scene


@pytest.mark.parametrize("seed", range(11))
def test_random_forests_of_all_joints(seed: int) -> None:
    """Limits, dry friction and damping on axes, contacts with ground, body and itself, an anchor: all at once."""
    forest = random_forest(seed, 6)
    rng = np.random.default_rng(seed)
    scene = forest_scene(forest, rng, 0.2)
    if seed % 2:
        scene.constrain(fw.PointConstraint("box", offset=(0.1, 0, 0)))
    sim = fw.Simulator(scene, dt=1e-3)
    if sim.model.nv == 6:
        pytest.skip("nothing but the box moves")
    check(sim, thrown(sim, rng, 0.5), 60, 25, rng=rng, size=1.0)


@pytest.mark.parametrize("joint", ["spherical", "planar", "universal", "helical", "prismatic", "free", "continuous"])
@pytest.mark.parametrize("floating", [False, True])
def test_chains_of_one_joint(joint: Any, floating: bool) -> None:
    plans = [LinkPlan(joint, axis="tilted", axis2="tilted", placement="general", child_placement="general")] * 3
    base = [LinkPlan("free")] if floating else []
    forest = Forest((*base, *plans), seed=0)
    rng = np.random.default_rng(1)
    sim = fw.Simulator(forest_scene(forest, rng, -0.2), dt=1e-3)
    rows, _ = check(sim, thrown(sim, rng, 0.5), 40, 16, rng=rng, size=1.0)
    assert rows > 10


def test_a_link_that_cannot_move_along_the_normal() -> None:
    """A slider in the ground on a rail along it: nothing can take it out, and nothing happens."""
    state = slider_in_the_ground(0.0)
    assert not state.failed and np.abs(state.q).max() < 1e-9


def test_a_link_that_can_hardly_move_along_the_normal() -> None:
    """Taking 2 cm out on a rail that rises by a millionth would take 20 km: a step does not go that far."""
    assert np.abs(slider_in_the_ground(1e-6).q).max() < 0.1


def slider_in_the_ground(slope: float) -> fw.State:
    builder = fw.ModelBuilder("rail")
    builder.solid("ball", "sphere", (0.1,), mass=1.0)
    builder.joint("rail", "prismatic", "world", "ball", axis=(1.0, 0.0, slope))
    scene = fw.Scene(ground=fw.Plane())
    scene.add(builder.build(), name="rail", pose=(0, 0, 0.08))
    sim = fw.Simulator(scene, dt=1e-3)
    return sim.step(sim.state())


@pytest.mark.parametrize("extra", ["armature", "damping"])
def test_ball_joints_with_rotor_inertia_or_damping(extra: str) -> None:
    builder = fw.ModelBuilder("pendulum")
    builder.solid("rod", "capsule", (0.05, 0.4), mass=1.0, placement=(0.1, 0, -0.3))
    own: dict[str, Any] = {extra: [0.3, 0.1, 0.2]}
    builder.joint("ball", "spherical", "world", "rod", placement=(0, 0, 0.5), **own)
    scene = fw.Scene(ground=fw.Plane(friction=0.7))
    scene.add(builder.build(), name="pendulum")
    sim = fw.Simulator(scene, dt=1e-3)
    check(sim, sim.state(v=[1.0, 0.5, -0.2]), 20)


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_joints_on_springs_that_touch(integrator: Any) -> None:
    builder = fw.ModelBuilder("whip")
    parent = "world"
    for k in range(4):
        builder.solid(f"rod_{k}", "capsule", (0.05, 0.3), mass=0.5, placement=(0.0, 0, -0.2))
        spring: dict[str, Any] = {"stiffness": 20.0 + k, "rest_position": 0.3 - 0.2 * k, "damping": 0.1}
        at = (0, 0, 0.9 if k == 0 else -0.4)
        builder.joint(f"hinge_{k}", "revolute", parent, f"rod_{k}", axis="xyxy"[k], placement=at, **spring)
        parent = f"rod_{k}"
    scene = fw.Scene(ground=fw.Plane(friction=0.7))
    scene.add(builder.build(), name="whip")
    sim = fw.Simulator(scene, dt=2e-3, integrator=integrator)
    rows, _ = check(sim, sim.state(v=[1.0, 0.5, -0.2, 0.3]), 200, 10)
    assert rows > 5


def test_forces_on_links() -> None:
    rng = np.random.default_rng(0)
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.models.arm(), name="arm")
    scene.add(fw.box((0.1, 0.1, 0.1)), name="box", pose=(0.5, 0, 0.2))
    sim = fw.Simulator(scene, dt=1e-3)
    state = thrown(sim, rng)
    for _ in range(20):
        tau: Array = rng.normal(size=sim.model.nv)
        f_ext = rng.normal(size=(sim.model.n_links, 6)) * 5
        after = sim.step(state, tau, f_ext=f_ext)
        assert_lawful(judge(sim, state, after, tau, f_ext=f_ext), "forces on links")
        state = after


@pytest.mark.parametrize(
    "solver",
    [fw.GaussSeidel(), fw.Newton(), fw.ADMM(max_iterations=20000), fw.ADMM(max_iterations=20000, matrix_free=True)],
    ids=["gauss_seidel", "newton", "admm", "matrix_free"],
)
def test_every_solver_obeys_the_laws(solver: Any) -> None:
    rng = np.random.default_rng(9)
    sim = fw.Simulator(drop(rng, ("sphere", "box", "capsule", "box")), dt=2e-3, solver=solver)
    rows, _ = check(sim, thrown(sim, rng), 200, 10)
    assert rows > 30


def test_coordinates_move_with_the_new_velocities() -> None:
    """Centres of mass of free bodies go straight, axes turn by the rotation vector; others as ``integrate`` has it."""
    forest = random_forest(3, 6)
    sim = fw.Simulator(fw.ModelBuilder.from_description(spiky(forest, radius=1e-3)).build(), dt=1e-3)
    rng = np.random.default_rng(0)
    state = thrown(sim, rng, 0.1)
    after = sim.step(state)
    assert after.penetration == 0.0  # overlaps would move it beyond its velocities
    verdict = judge(sim, state, after)
    expected = sim.model.integrate(state.q, sim.dt * verdict.v)
    for joint in sim.model.joints:
        if joint.type == "free":
            s, t = joint.q_slice.start, joint.v_slice.start
            R = poses.pose(xyzw=state.q[s + 3 : s + 7])[:3, :3]
            w, c = verdict.v[t + 3 : t + 6], center_of_mass(sim.model.description, joint.index)
            R_next = poses.pose(xyzw=expected[s + 3 : s + 7])[:3, :3]
            path = sim.dt * R @ (verdict.v[t : t + 3] + np.cross(w, c))
            expected[s : s + 3] = state.q[s : s + 3] + path + (R - R_next) @ c
    assert np.abs(after.q - expected).max() < 1e-13
