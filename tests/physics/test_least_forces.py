"""Where rigid bodies leave forces open, they are the least: whatever solver found them, whatever came before."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.compare import assert_same_bits
from numpy.testing import assert_allclose

import featherweight as fw
from featherweight.arrays import Array
from featherweight.core_tables import ContactTable
from featherweight.simulation.solvers import Solver
from physics.loads import feet, pushed_box, table, table_error, table_scene

G = 9.81
SOLVERS: dict[str, Solver | str] = {
    "auto": "auto",
    "gauss_seidel": fw.GaussSeidel(),
    "newton": fw.Newton(),
    "admm": fw.ADMM(),
    "coarse": fw.Automatic(tolerance=1e-6),
}


def impulses_of_the_solver(state: fw.State) -> Array:
    return ContactTable.of(state._core).numbers("impulse")


def contact_jacobian(state: fw.State) -> Array:
    """(n, 6, nv) of the points of contact at the start of the step: along t1, t2, normal, then about them."""
    model, contacts = state.simulator.model, state.contacts
    shapes = state.simulator.scene.shapes
    result = np.zeros((len(contacts), 6, model.nv))
    for k in range(len(contacts)):
        for shape, sign in ((contacts.shape_a[k], 1.0), (contacts.shape_b[k], -1.0)):
            if (link := shapes[shape].link) < 0:
                continue
            name = model.link_names[link]
            J = fw.jacobian(model, state.q_start, name, reference="local_world_aligned")
            arm = contacts.position[k] - fw.frame_placement(model, state.q_start, name)[:3, 3]
            result[k, :3] += sign * contacts.frame[k] @ (J[:3] - np.cross(arm, J[3:], axisb=0).T)
            result[k, 3:] += sign * contacts.frame[k] @ J[3:]
    return result


def least_in_cones(A: Array, x0: Array, bounds: Array, iterations: int = 200_000) -> Array:
    """The least x with A x = A x0 and each three rows (t1, t2, n) in a cone, by Dykstra's alternating projections."""
    pinv, want = np.linalg.pinv(A), A @ x0
    x, p = np.zeros_like(x0), np.zeros_like(x0)
    for _ in range(iterations):
        y = x - pinv @ (A @ x - want)
        z = (y + p).reshape(-1, 3)
        length, n = np.hypot(z[:, 0], z[:, 1]), z[:, 2]
        inside = length <= bounds * n
        top = np.where(inside, n, np.maximum((n + bounds * length) / (1 + bounds**2), 0.0))
        scale = np.where(inside, 1.0, bounds * top / np.maximum(length, 1e-300))
        x = np.column_stack([z[:, 0] * scale, z[:, 1] * scale, top]).ravel()
        p = y + p - x
        if np.abs(x - y).max() < 1e-13 * np.abs(x0).max():
            break
    return x


@pytest.mark.parametrize("height", [0.0, 0.03])
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_a_table_stands_on_four_quarters_of_its_weight(solver: Solver | str, height: float) -> None:
    """Feet of a rigid table could push each other apart as hard as friction lets them. Forces are known as well as
    velocities are, to the tolerance of the solver."""
    assert table_error(table(solver=solver, height=height)) < (1e-5 if solver is SOLVERS["coarse"] else 1e-8)


def test_a_table_forgets_how_it_was_pushed() -> None:
    """Dragged along, turned, pressed down and left alone: the same forces as if nothing had been."""
    sim = fw.Simulator(table_scene(), 2e-3)
    state = sim.state()
    for push in ([45, 0, 0, 0, 0, 0], [0, -45, -60, 0, 0, 9], [9, 9, -50, 3, -3, 0], [0, 0, 0, 0, 0, 0]):
        state = sim.rollout(state, f_ext=[push], n_steps=200).final
    assert np.abs(state.v).max() < 1e-9
    raw = impulses_of_the_solver(state) / sim.dt
    assert np.hypot(raw[:, 0], raw[:, 1]).max() > 0.1  # what the solver left is another story
    assert table_error(feet(state)) < 1e-6


def test_a_loaded_table_shares_as_equal_springs_would() -> None:
    """Four points of equal stiffness under a rigid top: force is linear in the place."""
    load, at = 8.0, (0.3, -0.1)
    sim = fw.Simulator(table_scene(load=load, load_at=at), 2e-3)
    standing = feet(sim.rollout(sim.state(), n_steps=100).final)
    x, y = 0.5, 0.3
    corners = np.array([(x, y), (x, -y), (-x, y), (-x, -y)])
    expected = 0.25 * (5.0 * G + load * G * (1 + corners @ (np.array(at) / np.array((x, y)) ** 2)))
    assert_allclose(standing.normal, expected, rtol=1e-8)
    assert standing.sideways.max() < 1e-7


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize(
    ("cop", "shares"),
    [
        ((0.0, 0.0), (0.25, 0.25, 0.25, 0.25)),
        ((0.3, 0.1), (0.35, 0.30, 0.20, 0.15)),
        ((0.7, 0.7), (0.70, 0.15, 0.15, 0.0)),  # a corner would have to pull: it carries nothing
        ((0.9, -0.5), (0.25, 0.70, 0.0, 0.05)),
    ],
)
def test_corners_of_a_box_push_and_never_pull(
    solver: Solver | str, cop: tuple[float, float], shares: tuple[float, ...]
) -> None:
    tolerance = 1e-5 if solver is SOLVERS["coarse"] else 1e-7
    assert_allclose(pushed_box(cop, solver=solver) / (2.0 * G), shares, atol=tolerance)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_a_box_that_was_dropped_on_its_edge_rests_on_four_corners(solver: Solver | str) -> None:
    """It ends on two diagonal corners with the others a fraction of a micrometre above the ground: they carry as well.
    That tilt moves its centre of mass by some 1e-6 of its size."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="box", pose=(0, 0, 0.25))
    sim = fw.Simulator(scene, 2e-3, solver=solver)
    turn = np.array([0.2, 0.13, 0.3, 1.0])
    state = sim.rollout(sim.state(q=[0, 0, 0.25, *turn / np.linalg.norm(turn)]), n_steps=1500).final
    force = state.contacts.force
    assert len(force) == 4
    assert_allclose(force[:, 2], 0.25 * sim.model.mass * G, rtol=2e-5 if solver is SOLVERS["coarse"] else 3e-6)
    assert np.abs(force[:, :2]).max() < 1e-5 * sim.model.mass * G


def test_a_stack_carries_what_is_above() -> None:
    """Ten boxes, forty points: each level shares the weight above equally; the tolerance of ten levels adds up."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    for k in range(10):
        scene.add(fw.box((0.2, 0.2, 0.2), mass=1.0), name=f"box_{k}", pose=(0, 0, 0.2 * (k + 0.5)))
    sim = fw.Simulator(scene, 1e-3)
    contacts = sim.rollout(sim.state(), n_steps=200).final.contacts
    assert len(contacts) == 40
    level = np.minimum(contacts.shape_a, contacts.shape_b)  # the ground is shape 0, boxes follow from the bottom
    assert_allclose(contacts.force[:, 2], 0.25 * (10 - level) * G, rtol=1e-6)
    assert np.abs(contacts.force[:, :2]).max() < 1e-6 * 10 * G


def test_a_pile_carries_its_weight() -> None:
    """Hundreds of rows, by conjugate gradients: what the ground carries is the weight, and no more is needed."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    for k in range(64):
        x, y, z = k % 4, k // 4 % 4, k // 16
        scene.add(fw.box((0.2, 0.2, 0.2), mass=1.0), name=f"box_{k}", pose=(0.2001 * x, 0.2001 * y, 0.2 * (z + 0.5)))
    sim = fw.Simulator(scene, 1e-3)
    state = sim.rollout(sim.state(), n_steps=20).final
    contacts, raw = state.contacts, impulses_of_the_solver(state)
    on_ground = contacts.shape_b == 0
    assert contacts.force[on_ground, 2].sum() == pytest.approx(64 * G, rel=1e-6)
    assert np.linalg.norm(contacts.impulse) <= np.linalg.norm(raw) * (1 + 1e-9)


@pytest.mark.parametrize("friction", [0.8, 0.35])
def test_friction_that_is_nearly_used_up_stays_within_its_cone(friction: float) -> None:
    """A box on a slope of 0.3 rad, pushed down at one corner: without bounds some corner would exceed its cone."""
    scene = fw.Scene(ground=fw.Plane(friction=friction), gravity=(G * np.sin(0.3), 0, -G * np.cos(0.3)))
    scene.add(fw.box((0.2, 0.2, 0.2), mass=1.0), name="box", pose=(0, 0, 0.1))
    sim = fw.Simulator(scene, 2e-3)
    state = sim.rollout(sim.state(), f_ext=[[0.3, 0.1, -1.0, -0.4, -0.3, 0.05]], n_steps=60).final
    assert np.abs(state.v).max() < 1e-8
    contacts = state.contacts
    A = contact_jacobian(state)[:, :3].reshape(-1, 6).T
    raw = impulses_of_the_solver(state)[:, :3].ravel()
    x = contacts.impulse[:, :3].ravel()
    assert_allclose(A @ x, A @ raw, atol=1e-9 * np.abs(raw).max())
    assert (np.hypot(*contacts.force[:, :2].T) <= friction * contacts.force[:, 2] + 1e-9).all()
    expected = least_in_cones(A, raw, np.full(len(contacts), friction))
    assert_allclose(x, expected, atol=1e-6 * np.abs(raw).max())
    if friction < 0.5:
        used = np.hypot(*contacts.force[:, :2].T) / np.maximum(friction * contacts.force[:, 2], 1e-12)
        assert np.count_nonzero((used > 1 - 1e-6) & (contacts.force[:, 2] > 1e-3)) > 0


def test_a_sliding_box_keeps_its_friction_on_the_cone() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.box((0.2, 0.2, 0.1), mass=2.0), name="box", pose=(0, 0, 0.05))
    sim = fw.Simulator(scene, 2e-3)
    contacts = sim.rollout(sim.state(v=[1.0, 0.2, 0, 0, 0, 0]), n_steps=20).final.contacts
    assert contacts.force[:, 2].sum() == pytest.approx(2.0 * G, rel=1e-9)
    assert_allclose(np.hypot(*contacts.force[:, :2].T), 0.5 * contacts.force[:, 2], rtol=1e-9)


def test_a_box_that_lands_flat_is_caught_by_four_corners_alike() -> None:
    for restitution in (0.0, 0.5):
        scene = fw.Scene(ground=fw.Plane(friction=0.8, restitution=restitution))
        scene.add(fw.box((0.2, 0.2, 0.2), mass=1.0, restitution=restitution), name="box", pose=(0, 0, 0.101))
        sim = fw.Simulator(scene, 1e-3)
        state = sim.step(sim.state(v=[0, 0, -2.0, 0, 0, 0]))
        normal = state.contacts.force[:, 2]
        assert len(normal) == 4 and normal.sum() > 1000.0
        assert_allclose(normal, normal.mean(), rtol=1e-6)


@pytest.mark.parametrize("turned_back", [0.0, 0.5])
def test_a_box_that_lands_askew_is_caught_alike_on_both_sides(turned_back: float) -> None:
    """Thrown along x, it is struck back along it as well: friction that sticks while the points move on."""
    surface = fw.Material(friction=0.8, restitution=0.4, tangential_restitution=turned_back)
    scene = fw.Scene(ground=fw.Plane(material=surface))
    scene.add(fw.box((0.2, 0.2, 0.05), mass=1.0, material=surface), name="box", pose=(0, 0, 0.0255))
    sim = fw.Simulator(scene, 1e-3)
    state = sim.step(sim.state(v=[0.3, 0, -2.0, 0, 0, 0]))
    contacts, raw = state.contacts, impulses_of_the_solver(state)
    assert len(contacts) == 4 and contacts.force[:, 2].sum() > 1000.0
    left = contacts.position[:, 1] > 0
    for ahead in (contacts.position[:, 0] > 0, contacts.position[:, 0] < 0):
        assert_allclose(contacts.force_world[left & ahead], contacts.force_world[~left & ahead] * (1, -1, 1), rtol=1e-6,
                        atol=1e-6 * contacts.force[:, 2].sum())  # fmt: skip
    assert_allclose(contacts.impulse[:, :3].T @ np.ones(4), raw[:, :3].T @ np.ones(4), atol=1e-9)


def test_a_robot_on_flat_feet_shares_each_foot_evenly() -> None:
    """A humanoid in a symmetric posture: left and right alike, and what each joint feels stays as it is."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.humanoid(), name="robot", pose=(0, 0, 1.0))
    scene.servo(robot, kp=300, kd=15)
    sim = fw.Simulator(scene, 2e-3, integrator="implicit")
    state = sim.rollout(sim.state(), control=np.zeros(sim.nu), n_steps=400).final
    J = contact_jacobian(state)
    contacts, raw = state.contacts, impulses_of_the_solver(state)
    rows = sim.step_solution(state, control=np.zeros(sim.nu)).rows
    assert len(contacts) >= 6
    before, after = np.einsum("nkv,nk->v", J, raw), np.einsum("nkv,nk->v", J, contacts.impulse)
    by_joints = np.abs(before - after).max()
    assert by_joints <= 1e-8 * np.abs(before).max() or (rows.source == "dry_friction").any()
    assert np.linalg.norm(contacts.impulse) <= np.linalg.norm(raw) * (1 + 1e-9)
    left = contacts.position[:, 1] > 0
    assert contacts.force[left, 2].sum() == pytest.approx(contacts.force[~left, 2].sum(), rel=1e-6)


def test_forces_of_a_step_that_missed_its_tolerance_are_those_of_the_solver() -> None:
    """Impulses that obey no law cannot be replaced by others that do the same."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    for k in range(5):
        scene.add(fw.box((0.2, 0.2, 0.2), mass=10.0**k), name=f"box_{k}", pose=(0, 0, 0.2 * (k + 0.5)))
    sim = fw.Simulator(scene, 2e-3, solver=fw.GaussSeidel(max_iterations=1))
    state = sim.step(sim.state())
    assert not state.converged
    assert np.isfinite(state.contacts.impulse).all()


def test_reading_changes_no_step() -> None:
    """Warm starts are those of the solver: a motion that is looked at goes the same way, bit for bit."""
    sim = fw.Simulator(table_scene(), 2e-3)
    unseen = seen = sim.state(v=[0.1, 0.2, -0.1, 0.3, 0.1, 0.2])
    for _ in range(20):
        unseen, seen = sim.step(unseen), sim.step(seen)
        assert len(seen.contacts) >= 0
    final = sim.rollout(sim.state(v=[0.1, 0.2, -0.1, 0.3, 0.1, 0.2]), n_steps=20).final
    for state in (unseen, final):
        assert_same_bits(seen.q, state.q)
        assert_same_bits(seen.v, state.v)
        assert_same_bits(impulses_of_the_solver(seen), impulses_of_the_solver(state))
        assert seen.contacts == state.contacts
