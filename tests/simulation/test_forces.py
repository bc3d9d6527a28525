"""Forces of limits, dry friction, servos and constraints, by name; errors of each in its own unit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import featherweight as fw
from featherweight.model.description import JointType
from featherweight.simulation.core_arguments import Integrator

G = 9.81


def rod(*, lower: float = -np.inf, upper: float = np.inf, friction: float = 0.0) -> fw.Model:
    """1 kg, centre 0.5 m along x from a hinge about y: gravity turns it by +y with 4.905 N m when level."""
    builder = fw.ModelBuilder("rod")
    builder.solid("rod", "box", (1.0, 0.02, 0.02), mass=1.0, placement=(0.5, 0, 0))
    kind: JointType = "continuous" if np.isinf(lower) and np.isinf(upper) else "revolute"
    builder.joint("hinge", kind, "world", "rod", axis="y", friction=friction, lower=lower, upper=upper)
    return builder.build()


def test_a_limit_carries_what_leans_on_it() -> None:
    sim = fw.Simulator(rod(lower=-1.0, upper=0.0), 1e-3)
    state = sim.rollout(sim.state(), n_steps=10).final
    forces = state.forces
    assert_allclose(forces.limits, [-0.5 * G], rtol=1e-9)  # gravity turns it by +y, the upper limit holds
    assert_allclose(forces.joints, forces.limits, rtol=1e-12)
    assert not forces.friction.any() and not forces.servos.any() and not len(forces.closures)
    assert state.limit_violation < 1e-12 and state.penetration == 0.0


def test_dry_friction_holds_and_is_read() -> None:
    sim = fw.Simulator(rod(friction=10.0), 1e-3)
    assert_allclose(sim.rollout(sim.state(), n_steps=10).final.forces.friction, [-0.5 * G], rtol=1e-9)


def test_friction_that_is_overcome_is_read_at_its_bound() -> None:
    sim = fw.Simulator(rod(friction=2.0), 1e-3)
    assert_allclose(sim.rollout(sim.state(), n_steps=10).final.forces.friction, [-2.0], rtol=1e-9)


def test_limit_and_friction_share_evenly() -> None:
    """Both could hold it alone: the least two equal forces do, as two springs of one stiffness."""
    sim = fw.Simulator(rod(lower=-1.0, upper=0.0, friction=10.0), 1e-3)
    forces = sim.rollout(sim.state(), n_steps=10).final.forces
    assert_allclose([forces.limits[0], forces.friction[0]], [-0.25 * G, -0.25 * G], rtol=1e-9)


@pytest.mark.parametrize("effort", [100.0, 3.0])
def test_a_servo_of_limited_effort_is_read(effort: float) -> None:
    scene = fw.Scene()
    robot = scene.add(rod(), name="robot")
    scene.servo(robot, kp=1e4, kd=100, effort=effort)
    sim = fw.Simulator(scene, 1e-3, integrator="implicit")
    forces = sim.rollout(sim.state(), control=[0.0], n_steps=2000 if effort > 50 else 5).final.forces
    assert_allclose(forces.servos, [-0.5 * G if effort > 50 else -effort], rtol=1e-6)


def test_an_anchor_carries_a_body() -> None:
    """A bar hangs by its end: the anchor pulls up with its weight, in the axes of the frame, which is turned."""
    scene = fw.Scene()
    scene.add(fw.box((0.1, 0.1, 1.0), mass=3.0), name="bar", pose=fw.pose((0, 0, 1), rpy=(0, 0.5 * np.pi, 0)))
    scene.constrain(fw.FrameConstraint("bar"))
    sim = fw.Simulator(scene, 1e-3)
    state = sim.rollout(sim.state(batch=2), n_steps=20).final
    closures = state.closures
    assert closures.names == ("bar",) and closures.force.shape == (2, 1, 3)
    assert_allclose(closures.force[:, 0], [[-3.0 * G, 0, 0]] * 2, atol=1e-9)
    assert_allclose(closures.moment, 0.0, atol=1e-9)
    assert (state.closure_error < 1e-10).all() and state.converged.all()


def test_two_anchors_share_a_beam_evenly_and_do_not_pull_at_each_other() -> None:
    """Held as a frame at both ends, twelve rows for six degrees of freedom."""
    builder = fw.ModelBuilder("beam")
    builder.solid("beam", "box", (2.0, 0.1, 0.1), mass=4.0)
    builder.frame("left", "beam", (-1.0, 0, 0))
    builder.frame("right", "beam", (1.0, 0, 0))
    scene = fw.Scene()
    scene.add(builder.build(floating_base=True), name="b")
    scene.constrain(fw.FrameConstraint("b/left"))
    scene.constrain(fw.FrameConstraint("b/right"))
    results = []
    for solver in ("auto", fw.Newton(), fw.ADMM()):
        sim = fw.Simulator(scene, 1e-3, solver=solver)
        state = sim.rollout(sim.state(), n_steps=20).final
        assert_allclose(state.closures.force, [[0, 0, 2.0 * G]] * 2, atol=1e-6)
        assert_allclose(state.closures.moment, 0.0, atol=1e-6)
        results.append(state.closures)
    assert "b/left" in repr(results[0])


def test_a_constraint_that_cannot_be_met_says_so() -> None:
    """A rod of one metre whose end is to be two metres away: a metre is missing, and no step has converged."""
    builder = fw.ModelBuilder("rod")
    builder.solid("rod", "box", (1.0, 0.02, 0.02), mass=1.0, placement=(0.5, 0, 0))
    builder.frame("tip", "rod", (1.0, 0, 0))
    builder.joint("hinge", "revolute", "world", "rod", axis="y")
    scene = fw.Scene()
    scene.add(builder.build(), name="r")
    scene.constrain(fw.PointConstraint("r/tip", position=(2.0, 0, 0)))
    sim = fw.Simulator(scene, 1e-3)
    state = sim.rollout(sim.state(), n_steps=50).final
    assert state.closure_error == pytest.approx(1.0, rel=1e-3)
    assert not state.converged and state.penetration == 0.0
    assert_allclose(np.linalg.norm(state.closures.apart), 1.0, rtol=1e-3)


def test_the_four_bar_carries_its_weight_where_it_is_closed() -> None:
    """Of a planar loop: the row across the plane is one too many, and not loaded."""
    scene = fw.Scene()
    scene.add(fw.models.four_bar(closed=False), name="f")
    scene.constrain(fw.PointConstraint("f/coupler_end", to="f/rocker_end"))
    sim = fw.Simulator(scene, 1e-3)
    state = sim.rollout(sim.state(), n_steps=5).final
    closures = state.closures
    assert len(closures) == 1 and state.closure_error < 1e-9
    assert np.abs(closures.force[0]).max() > 0.1 and abs(closures.force[0, 1]) < 1e-12
    assert closures.names == ("f/coupler_end - f/rocker_end",)


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_all_forces_together_are_the_motion(integrator: Integrator) -> None:
    """H a + h = joints, and contacts and closures through their Jacobians: a robot that is held and has collapsed onto
    the ground and its limits. To the tolerance of the solver."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.4))
    scene.constrain(fw.PointConstraint("robot/trunk", rows="xy"))
    sim = fw.Simulator(scene, 2e-3, integrator=integrator)
    state = sim.rollout(sim.state(), n_steps=250).final
    model, q, v = sim.model, state.q_start, state.v_start
    forces = state.forces
    total = forces.joints.copy()
    for k in range(len(forces.contacts)):
        for shape, sign in ((forces.contacts.shape_a[k], 1.0), (forces.contacts.shape_b[k], -1.0)):
            if (link := sim.scene.shapes[shape].link) >= 0:
                name = model.link_names[link]
                J = fw.jacobian(model, q, name, reference="local_world_aligned")
                arm = forces.contacts.position[k] - fw.frame_placement(model, q, name)[:3, 3]
                F = sign * forces.contacts.force_world[k]
                total += J[:3].T @ F + J[3:].T @ np.cross(arm, F)
    J = fw.jacobian(model, q, "robot/trunk")
    total += J[:3].T @ forces.closures.force[0]
    wanted = fw.crba(model, q) @ state.acceleration + fw.bias_forces(model, q, v)
    # joint damping acts at the end of the step: forces at its start and what the inertia of the step adds
    wanted += model.damping * sim.dt * state.acceleration
    assert np.abs(forces.limits).max() > 0.1 or np.abs(forces.friction).max() > 0.01
    assert_allclose(total, wanted, atol=1e-6 * np.abs(wanted).max() + 1e-7)


def test_penetration_counts_metres_only() -> None:
    sim = fw.Simulator(rod(lower=-1.0, upper=0.0), 1e-3)
    state = sim.step(sim.state(q=[0.3]))
    assert state.penetration == 0.0
    assert sim.state(q=[0.3]).limit_violation == pytest.approx(0.3)
