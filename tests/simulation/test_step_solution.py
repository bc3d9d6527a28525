"""The solution of a step, kept: rows, impulses, velocities, modes and factors are what the step says they are."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits

import featherweight as fw
from featherweight.arrays import Array
from featherweight.simulation.solution import StepSolution


def fingers() -> fw.Simulator:
    """Two arms of axis joints on the ground, with limits, friction and servos: velocities need no change of axes."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    for k in range(2):
        builder = fw.ModelBuilder(f"finger{k}")
        parent = "world"
        for j in range(3):
            name = f"link{j}"
            tip = [fw.Geometry("tip", "collision", "sphere", (0.05,), fw.pose((0.3, 0, 0)))] if j == 2 else []
            builder.link(name, mass=1.0, com=(0.15, 0, 0), inertia=(0.01, 0.02, 0.02), geometries=tip)
            axis = "z" if j == 0 else "y"
            placement = fw.pose((0, 0, 0.4)) if j == 0 else fw.pose((0.3, 0, 0))
            builder.joint(f"joint{j}", "revolute", parent, name, axis=axis, placement=placement, lower=-2.0, upper=2.0,
                          friction=0.05, effort_limit=5.0)  # fmt: skip
            parent = name
        finger = scene.add(builder.build(), name=f"finger{k}", pose=(0, 2.0 * k, 0))
        scene.servo(finger, kp=20.0, kd=1.0)
    return fw.Simulator(scene, dt=2e-3, integrator="implicit", solver=fw.Automatic(tolerance=1e-12))


def pressed(sim: fw.Simulator, sliding: float = 0.0) -> fw.State:
    q = np.tile([0.0, 0.65, 0.55], 2)
    v = np.tile([sliding, 0.0, 0.0], 2)
    state = sim.state(q=q, v=v)
    return sim.rollout(state, control=np.tile([0.0, 0.9, 0.9], 2), n_steps=150).final


def point_jacobian(model: fw.Model, q: Array, link: int, point: Array) -> Array:
    J = fw.jacobian(model, q, model.link_names[link], reference="world")
    return J[:3] - np.cross(point, J[3:], axisb=0, axisc=0)


def test_the_state_is_that_of_a_step_to_the_bit() -> None:
    sim = fingers()
    state, control = pressed(sim), np.tile([0.5, 0.9, 0.9], 2)
    solution, stepped = sim.step_solution(state, control=control), sim.step(state, control=control)
    assert solution.state == stepped
    assert_same_bits(solution.q, state.q)
    assert_same_bits(solution.v, state.v)
    assert pickle.loads(pickle.dumps(solution)) == solution


def test_rows_see_the_velocities_at_the_end_of_the_step() -> None:
    sim = fingers()
    solution = sim.step_solution(pressed(sim), control=np.tile([0.5, 0.9, 0.9], 2))
    rows, contacts, v = solution.rows, solution.contacts, solution.state.v
    assert set(rows.source.tolist()) >= {"contact", "dry_friction", "servo"}
    for k in range(len(rows)):
        if rows.source[k] == "contact":
            c = rows.index[k]
            J = point_jacobian(sim.model, solution.q, sim.scene.shapes[contacts.shape_a[c]].link, contacts.position[c])
            expected = contacts.frame[c][rows.component[k]] @ J @ v
            assert rows.impulse[k] == contacts.impulse[c, rows.component[k]]
        else:
            expected = v[rows.index[k]] * (-1 if rows.source[k] == "upper_limit" else 1)
        assert rows.velocity[k] == pytest.approx(expected, abs=1e-12)


def inertia(sim: fw.Simulator, solution: StepSolution) -> Array:
    """As the step has it: dampers are implicit, and what is absorbed is part of it."""
    H = fw.crba(sim.model, solution.q) + sim.dt * np.diag(sim.model.damping)
    rows = solution.rows
    weigh = rows.absorbed & (rows.mode == "sticking")
    yields = rows.compliance > 0.0
    more = np.where(yields, 1.0 / np.where(yields, rows.compliance, 1.0), 1e16 * rows.bound)
    np.add.at(H, (rows.index[weigh], rows.index[weigh]), more[weigh])
    return H


def test_impulses_explain_the_change_of_velocity() -> None:
    """v = v_free + H^-1 J^T lambda of what was not predicted, with H as the step has it."""
    sim = fingers()
    solution = sim.step_solution(pressed(sim, sliding=2.0), control=np.tile([1.5, 0.9, 0.9], 2))
    rows, contacts = solution.rows, solution.contacts
    J = np.zeros((len(rows), sim.model.nv))
    for k in range(len(rows)):
        if rows.source[k] == "contact":
            c = rows.index[k]
            link = sim.scene.shapes[contacts.shape_a[c]].link
            J[k] = contacts.frame[c][rows.component[k]] @ point_jacobian(
                sim.model, solution.q, link, contacts.position[c]
            )
        else:
            J[k, rows.index[k]] = -1 if rows.source[k] == "upper_limit" else 1
    change = np.linalg.solve(inertia(sim, solution), J.T @ (rows.impulse - rows.predicted))
    assert np.abs(solution.v_free + change - solution.state.v).max() < 1e-10


def test_factors_are_those_of_the_inertia() -> None:
    """A force along degree of freedom k leaves y on the path to its root, and H^-1 = Y^T Y."""
    sim = fingers()
    solution = sim.step_solution(pressed(sim))
    assert solution.dofs.shape == (6, 13)
    axis, carry, weight = solution.dofs[:, :6], solution.dofs[:, 6:12], solution.dofs[:, 12]
    Y = np.zeros((6, 6))
    for k in range(6):
        first, force = 3 * (k // 3), np.zeros(6)
        for d in range(k, first - 1, -1):  # inward
            felt = axis[d] @ force + (1.0 if d == k else 0.0)
            Y[k, d] = weight[d] * felt
            force = force - carry[d] * felt
    H = inertia(sim, solution)
    assert np.abs(Y @ Y.T @ H - np.eye(6)).max() < 1e-10


def test_modes_say_what_rows_do() -> None:
    sim = fingers()
    resting = sim.step_solution(pressed(sim), control=np.tile([0.0, 0.9, 0.9], 2))
    of_points = resting.rows.mode[resting.rows.law == "point"]
    assert set(of_points.tolist()) == {"sticking"}
    sliding = sim.step_solution(pressed(sim).replace(v=np.tile([2.0, 0, 0], 2)), control=np.tile([2.0, 0.9, 0.9], 2))
    rows = sliding.rows
    assert set(rows.mode[rows.law == "point"].tolist()) == {"sliding"}
    for c in set(rows.index[rows.source == "contact"].tolist()):
        own = (rows.source == "contact") & (rows.index == c)
        slip, friction = rows.velocity[own][:2], rows.impulse[own][:2]
        assert np.linalg.norm(friction) == pytest.approx(rows.bound[own][2] * rows.impulse[own][2], rel=1e-9)
        assert friction @ slip == pytest.approx(-np.linalg.norm(friction) * np.linalg.norm(slip), rel=1e-9)
    fast = rows.source == "dry_friction"
    moving = np.abs(rows.velocity[fast]) > 1e-6
    assert np.isin(rows.mode[fast][moving], ("at_lower", "at_upper")).all()
    lifted = sim.step_solution(sim.state(q=np.tile([0.0, -0.5, 0.0], 2)))
    assert "point" not in set(lifted.rows.law.tolist())


def test_a_batch_is_its_environments() -> None:
    sim = fingers()
    state = pressed(sim)
    q = np.array([state.q, state.q + 0.01, state.q])
    many = sim.step_solution(sim.state(3, q=q))
    for k in range(3):
        one, own = sim.step_solution(sim.state(q=q[k])), many.rows.environment == k
        for name in ("impulse", "velocity", "shift", "correction"):
            assert_same_bits(getattr(many.rows, name)[own], getattr(one.rows, name))
        assert (many.rows.mode[own] == one.rows.mode).all()
        assert_same_bits(many.dofs[k], one.dofs)


def test_closures_have_rows() -> None:
    scene = fw.Scene()
    scene.add(fw.box((0.2, 0.1, 0.1)), name="box")
    scene.constrain(fw.PointConstraint("box"))
    sim = fw.Simulator(scene)
    solution = sim.step_solution(sim.state())
    assert solution.rows.source.tolist() == ["closure"] * 3
    assert solution.rows.component.tolist() == [0, 1, 2]
    assert set(solution.rows.mode.tolist()) == {"sticking"}
    assert np.abs(solution.rows.velocity).max() < 1e-12
    assert np.abs(solution.rows.impulse - [0, 0, sim.model.mass * 9.81 * sim.dt]).max() < 1e-12 * sim.model.mass


@pytest.mark.parametrize("integrator", ["semi_implicit", "verlet"])
def test_nothing_is_kept_of_a_step_that_failed(integrator: Any) -> None:
    scene = fw.Scene()
    scene.add(fw.box((0.2, 0.1, 0.1)), name="box")
    scene.constrain(fw.PointConstraint("box"))
    sim = fw.Simulator(scene, integrator=integrator)
    tau = np.zeros((2, 6))
    tau[0] = 1e200
    with pytest.warns(fw.SimulationWarning, match="environment 0"):
        solution = sim.step_solution(sim.state(2), tau)
    assert solution.rows.environment.tolist() == [1] * 3
    assert np.isfinite(solution.rows.impulse).all()


def test_rk4_solves_no_cone_problem() -> None:
    sim = fw.Simulator(fw.models.pendulum(), integrator="rk4")
    with pytest.raises(ValueError, match="rk4"):
        sim.step_solution(sim.state())
