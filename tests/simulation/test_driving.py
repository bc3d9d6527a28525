"""Servos, motors, gravity compensation and pushes of a scene."""

from typing import Any

import numpy as np
import pytest

import featherweight as fw


def arm() -> tuple[fw.Scene, fw.SceneObject]:
    scene = fw.Scene()
    return scene, scene.add(fw.models.arm(), name="arm", self_collision=False)


def test_servos_take_all_joints_of_one_dof() -> None:
    scene = fw.Scene()
    robot = scene.add(fw.models.quadruped(), name="r")
    names = scene.servo(robot, kp=30.0, kd=1.0)
    sim = fw.Simulator(scene)
    assert names == tuple(f"r/{name}" for name in fw.models.quadruped().joint_names if name != "root_joint")
    assert tuple(actuator.name for actuator in sim.actuators) == names
    assert {actuator.kind for actuator in sim.actuators} == {"position"}
    assert sim.nu == 12


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_servo_acts_as_a_spring_and_a_damper(integrator: str) -> None:
    scene, _ = arm()
    scene.servo("arm/joint_2", kp=40.0, kd=3.0)
    sim = fw.Simulator(scene, 1e-6, integrator=integrator)  # type: ignore[arg-type]
    q, v = sim.model.neutral(), np.zeros(7)
    q[1], v[1] = 0.3, 0.5
    state = sim.state(q=q, v=v)
    driven = (sim.step(state, control=[0.1]).v - v) / sim.dt
    torque = np.zeros(7)
    torque[1] = 40.0 * (0.1 - 0.3) - 3.0 * 0.5
    plain = fw.Simulator(arm()[0], 1e-6)
    expected = (plain.step(plain.state(q=q, v=v), torque).v - v) / sim.dt
    np.testing.assert_allclose(driven, expected, atol=1e-3 * np.abs(expected).max())


def test_motor_is_a_force_cut_to_its_effort() -> None:
    scene, _ = arm()
    scene.motor(["arm/joint_1", "arm/joint_7"], gain=(2.0, 1.0), effort=(5.0, 100.0))
    sim = fw.Simulator(scene, 1e-3)
    plain = fw.Simulator(arm()[0], 1e-3)
    for control, torque in (((1.0, 20.0), (2.0, 20.0)), ((10.0, 50.0), (5.0, 30.0))):  # joint_7 allows 30
        tau = np.zeros(7)
        tau[[0, 6]] = torque
        np.testing.assert_allclose(
            sim.step(sim.state(), control=control).v, plain.step(plain.state(), tau).v, atol=1e-9
        )


def test_servo_beside_an_actuator_of_the_model_has_a_name_of_its_own() -> None:
    builder = fw.ModelBuilder.from_description(fw.models.pendulum().description)
    model = builder.actuator("hinge", "hinge").build()
    scene = fw.Scene()
    scene.add(model, name="p")
    (name,) = scene.servo("p/hinge", kp=1.0)
    assert [actuator.name for actuator in fw.Simulator(scene).actuators] == ["p/hinge", name]


@pytest.mark.parametrize(
    ("joints", "options", "message"),
    [
        ("arm/joint_9", {"kp": 1.0}, "no moving joint 'arm/joint_9'.*did you mean"),
        ("r/root_joint", {"kp": 1.0}, "has 6 degrees of freedom"),
        ("crate", {"kp": 1.0}, "'crate' has no joint with one degree of freedom"),
        (["arm/joint_1", "arm/joint_1"], {"kp": 1.0}, "driven twice"),
        ("arm", {"kp": [1.0, 2.0]}, "kp must be one number or 7, one for each joint"),
        ("arm", {"kp": -1.0}, "kp must not be negative"),
        ("arm", {"kp": float("nan")}, "kp must be finite"),
    ],
)
def test_what_cannot_be_driven_is_refused(joints: str, options: dict[str, float], message: str) -> None:
    scene = fw.Scene()
    scene.add(fw.models.arm(), name="arm")
    scene.add(fw.models.quadruped(), name="r")
    scene.add(fw.box((1, 1, 1)), name="crate")
    with pytest.raises(ValueError, match=message):
        scene.servo(joints, **options)


def test_gravity_compensation_keeps_an_arm_where_it_is() -> None:
    sim = fw.Simulator(arm()[0], 1e-3)
    rng = np.random.default_rng(0)
    state = sim.state(batch=5, q=0.5 * sim.model.random(rng, batch=5))
    after = state
    for _ in range(100):
        after = sim.step(after, sim.gravity_compensation(after))
    np.testing.assert_allclose(after.q, state.q, atol=1e-9)


def test_gravity_compensation_does_not_carry_what_flies() -> None:
    scene = fw.Scene()
    scene.add(fw.models.quadruped(), name="r")
    sim = fw.Simulator(scene)
    tau = sim.gravity_compensation(sim.state(batch=2, q=sim.model.random(0)))
    assert tau.shape == (2, 18)
    assert not tau[:, :6].any()
    assert tau[:, 6:].any()


def test_push_moves_a_body_as_newton_and_euler_say() -> None:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.box((0.4, 0.3, 0.2), mass=2.0), name="crate", pose=fw.pose((1, 2, 3), rpy=(0.4, -0.8, 1.2)))
    sim = fw.Simulator(scene, 1e-3)
    state = sim.state(batch=2)
    F, point = np.array([(3.0, -1.0, 2.0), (0.0, 1.0, 0.0)]), np.array([(1.1, 2.0, 3.2), (1.0, 2.0, 3.0)])
    after = sim.step(state, f_ext=sim.push(state, "crate", F, point=point))
    R = fw.FrameSensor("crate").read(state).pose[0, :3, :3]
    inertia = sim.model.link("crate").inertia
    assert inertia is not None
    np.testing.assert_allclose(after.v[:, :3] @ R.T, F / 2.0 * 1e-3, rtol=1e-4, atol=1e-9)
    torque = np.cross(point - (1, 2, 3), F)
    expected = np.linalg.solve(inertia.matrix, (torque @ R).T).T * 1e-3
    np.testing.assert_allclose(after.v[:, 3:], expected, atol=1e-9)
    middle = sim.push(state, "crate", (1.0, 0.0, 0.0))  # at the centre of mass: no torque
    assert not middle[..., 3:].any()


def test_push_wants_vectors() -> None:
    sim = fw.Simulator(arm()[0])
    with pytest.raises(ValueError, match=r"force: expected shape \(3,\), got \(2,\)"):
        sim.push(sim.state(), "arm/link_1", (1.0, 2.0))
    with pytest.raises(ValueError, match="unknown link 'arm/link_99'"):
        sim.push(sim.state(), "arm/link_99", (1.0, 2.0, 3.0))


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
@pytest.mark.parametrize("gear", [2.0, -2.0])
def test_a_range_of_forces_need_not_be_symmetric(integrator: Any, gear: float) -> None:
    """A servo that may push with 1 N m and pull with 3 N m, over a gear, drawn far to both sides."""
    builder = fw.ModelBuilder("wheel")
    builder.solid("wheel", "cylinder", (0.1, 0.02), mass=1.0)
    builder.joint("axle", "continuous", "world", "wheel", axis=(0, 0, 1))
    builder.actuator("servo", "axle", kind="position", gear=gear, kp=100.0, kd=1.0, force_range=(-3.0, 1.0))
    sim = fw.Simulator(builder.build(), dt=1e-3, integrator=integrator)
    inertia = float(fw.crba(sim.model, sim.scene.q0)[0, 0])
    for target, force in ((10.0, 1.0), (-10.0, -3.0)):
        state = sim.step(sim.state(), control=[target])
        assert state.v[0] == pytest.approx(1e-3 * gear * force / inertia, rel=1e-9)
