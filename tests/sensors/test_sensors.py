"""Sensors read what mechanics says, for one environment and for many."""

import numpy as np
import pytest

import featherweight as fw
from featherweight.sensors.last_step import last_step
from featherweight.simulation.posture import start_posture

G = 9.81
DT = 1e-3
CENTER = (0.05, -0.1, 0.2)  # [m]


def crate_on_the_ground(*, gravity: tuple[float, float, float] = (0.0, 0.0, -G)) -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=0.8), gravity=gravity)
    scene.add(fw.box((0.4, 0.3, 0.2), mass=2.0), name="crate", pose=(0, 0, 0.1))
    return fw.Simulator(scene, DT)


def body_with_an_imu(at: tuple[float, float, float]) -> fw.Model:
    """A box beside the origin of its link, and an IMU at ``at`` from its centre."""
    builder = fw.ModelBuilder("body")
    builder.solid("body", "box", (0.3, 0.2, 0.1), mass=1.5, placement=CENTER)
    builder.frame("imu", "body", fw.pose(np.add(CENTER, at), rpy=(0.3, -0.2, 0.5)))
    return builder.build(floating_base=True)


def flying(model: fw.Model, gravity: float = -G) -> fw.Simulator:
    scene = fw.Scene(gravity=(0.0, 0.0, gravity))
    scene.add(model, name="r")
    return fw.Simulator(scene, DT)


# -- IMU -----------------------------------------------------------------------------------------------------------


def test_imu_at_rest_reads_gravity_upward() -> None:
    sim = crate_on_the_ground()
    reading = fw.IMU("crate").read(sim.rollout(sim.state(batch=3), n_steps=200).final)
    np.testing.assert_allclose(reading.accelerometer, np.tile((0.0, 0.0, G), (3, 1)), atol=1e-6)
    np.testing.assert_allclose(reading.gyro, np.zeros((3, 3)), atol=1e-9)


def test_imu_in_free_fall_reads_nothing_however_the_body_flies() -> None:
    """At the centre of mass, which is all that falls freely in a body that spins."""
    sim = flying(body_with_an_imu((0.0, 0.0, 0.0)))
    state = sim.state(v=[5.0, -3.0, 4.0, 8.0, -6.0, 3.0])
    for _ in range(20):
        state = sim.step(state)
        np.testing.assert_allclose(fw.IMU("r/imu").read(state).accelerometer, 0.0, atol=1e-9)


def test_imu_on_a_spinning_body_reads_the_centripetal_acceleration() -> None:
    sim = flying(body_with_an_imu((0.2, 0.0, 0.0)), gravity=0.0)
    state = sim.state(v=[1.0, 2.0, 3.0, 0.0, 0.0, 7.0])
    state = sim.rollout(state, n_steps=50).final
    R = fw.pose(rpy=(0.3, -0.2, 0.5))[:3, :3]
    reading = fw.IMU("r/imu").read(state)
    np.testing.assert_allclose(reading.gyro, R.T @ (0.0, 0.0, 7.0), atol=1e-9)
    np.testing.assert_allclose(reading.accelerometer, R.T @ (-(7.0**2) * 0.2, 0.0, 0.0), atol=1e-9)


# -- joints and frames ---------------------------------------------------------------------------------------------


def test_joint_and_frame_sensors_agree_with_the_kinematics() -> None:
    scene = fw.Scene()
    scene.add(fw.models.arm(), name="arm")
    sim = fw.Simulator(scene, DT)
    rng = np.random.default_rng(0)
    state = sim.state(batch=4, q=sim.model.random(rng, batch=4), v=rng.standard_normal((4, sim.model.nv)))
    joint = fw.JointSensor("arm/joint_3").read(state)
    np.testing.assert_array_equal(joint.position, state.q[:, 2:3])
    np.testing.assert_array_equal(joint.velocity, state.v[:, 2:3])
    frame = fw.FrameSensor("arm/flange").read(state)
    J = fw.jacobian(sim.model, state.q, "arm/flange", reference="local_world_aligned")
    np.testing.assert_allclose(frame.velocity, np.einsum("bij,bj->bi", J, state.v), atol=1e-12)
    np.testing.assert_allclose(frame.pose, fw.frame_placement(sim.model, state.q, "arm/flange"))


# -- forces --------------------------------------------------------------------------------------------------------


def test_contact_sensor_reads_the_weight_that_rests_on_it() -> None:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.box((0.4, 0.4, 0.2), mass=3.0), name="lower", pose=(0, 0, 0.1))
    scene.add(fw.box((0.2, 0.2, 0.2), mass=1.0), name="upper", pose=(0.05, 0, 0.3))
    sim = fw.Simulator(scene, DT)
    state = sim.rollout(sim.state(), n_steps=300).final
    np.testing.assert_allclose(fw.ContactForceSensor("upper").read(state).force, (0, 0, 1.0 * G), atol=1e-6)
    np.testing.assert_allclose(fw.ContactForceSensor("lower").read(state).force, (0, 0, 3.0 * G), atol=1e-6)
    on_ground = fw.ContactForceSensor("ground").read(state)
    np.testing.assert_allclose(on_ground.force, (0, 0, -4.0 * G), atol=1e-6)
    # about the world's origin, the load is at the common centre of mass: 0.05 / 4 ahead
    np.testing.assert_allclose(on_ground.torque, np.cross((0.0125, 0, 0), (0, 0, -4.0 * G)), atol=1e-6)


def test_contact_sensor_reads_nothing_in_the_air() -> None:
    sim = crate_on_the_ground()
    state = sim.step(sim.state(q=[0, 0, 2.0, 0, 0, 0, 1]))
    assert not fw.ContactForceSensor("crate").read(state).force.any()


def test_force_torque_of_a_hanging_link_is_its_weight() -> None:
    model = fw.models.pendulum(length=0.7, mass=2.5)
    sim = fw.Simulator(model, DT)
    reading = fw.ForceTorque("pendulum/hinge").read(sim.step(sim.state()))
    np.testing.assert_allclose(reading.force, (0, 0, 2.5 * G), atol=1e-12)
    np.testing.assert_allclose(reading.torque, 0.0, atol=1e-12)


def test_force_torque_of_a_swinging_pendulum_adds_the_centripetal_force() -> None:
    length, mass, rate = 0.7, 2.5, 3.0
    sim = fw.Simulator(fw.models.pendulum(length=length, mass=mass), DT)
    state = sim.step(sim.state(v=[rate]))  # through the lowest point
    reading = fw.ForceTorque("pendulum/hinge").read(state)
    np.testing.assert_allclose(reading.force, (0, 0, mass * (G + rate**2 * length)), rtol=1e-9, atol=1e-9)


def test_force_torque_at_the_root_of_a_flying_robot_is_nothing() -> None:
    """A free joint carries no force, so the whole motion, joints included, must balance gravity: in every step."""
    sim = flying(fw.models.quadruped())
    rng = np.random.default_rng(1)
    state = sim.state(batch=3, q=sim.model.neutral(), v=rng.standard_normal((3, sim.model.nv)))
    state = sim.rollout(state, n_steps=5, tau=np.concatenate([np.zeros(6), rng.standard_normal(12)])).final
    reading = fw.ForceTorque("r/root_joint").read(state)
    np.testing.assert_allclose(reading.force, 0.0, atol=1e-8)
    np.testing.assert_allclose(reading.torque, 0.0, atol=1e-8)


def test_force_torque_of_an_ankle_carries_what_the_foot_does_not() -> None:
    """On a robot that stands: contact forces on the foot go up through the joint, less the weight of the foot."""
    from featherweight.cli.simulate import Drop

    drop = Drop(fw.models.quadruped())
    state = drop.run(2.0).final
    model = drop.simulator.model
    calf, foot = "robot/front_left_calf", "robot/front_left_foot"
    reading = fw.ForceTorque(f"{calf}_joint").read(state)
    R = fw.FrameSensor(calf).read(state).pose[0, :3, :3]
    weight = G * (model.link(calf).mass + model.link(foot).mass)
    pressed = fw.ContactForceSensor(foot).read(state).force[0]
    np.testing.assert_allclose(R @ reading.force[0], (0, 0, weight) - pressed, atol=1e-4)


def test_force_torque_takes_external_forces_into_account() -> None:
    sim = flying(body_with_an_imu((0.0, 0.0, 0.0)))
    state = sim.state()
    push = sim.push(state, "r/body", (1.0, 2.0, 3.0), point=(0.1, 0.0, 0.0))
    after = sim.step(state, f_ext=push)
    np.testing.assert_allclose(fw.ForceTorque("r/root_joint").read(after, f_ext=push).force, 0.0, atol=1e-12)
    np.testing.assert_allclose(fw.ForceTorque("r/root_joint").read(after).force, (1.0, 2.0, 3.0), atol=1e-12)


def test_force_torque_knows_what_a_constraint_carries() -> None:
    """A beam on a hinge, its other end held: half of its weight goes through the hinge, and no moment; all of it if the
    end is held along the beam only, with the moment that a motor needs."""
    builder = fw.ModelBuilder("beam")
    builder.solid("beam", "box", (1.0, 0.05, 0.05), mass=2.0, placement=(0.5, 0, 0))
    builder.joint("hinge", "continuous", "world", "beam", axis="y")
    builder.frame("tip", "beam", (1.0, 0, 0))
    weight = 2.0 * 9.81
    for rows, up, moment in (("xyz", 0.5 * weight, 0.0), ("xy", weight, -0.5 * weight)):
        scene = fw.Scene()
        scene.add(builder.build(), name="b")
        scene.constrain(fw.PointConstraint("b/tip", rows=rows))
        sim = fw.Simulator(scene, dt=1e-3)
        state = sim.rollout(sim.state(batch=2), np.array([moment]), n_steps=10).final
        reading = fw.ForceTorque("b/hinge").read(state)
        np.testing.assert_allclose(reading.force, [[0, 0, up]] * 2, atol=1e-8)
        np.testing.assert_allclose(reading.torque, [[0, moment, 0]] * 2, atol=1e-8)


def test_force_torque_between_two_bodies_that_are_closed() -> None:
    """A chain of two links in a loop with the world: the forces on both sides of the closure are opposite."""
    scene = fw.Scene()
    scene.add(fw.models.four_bar(closed=False), name="f")
    scene.constrain(fw.PointConstraint("f/coupler_end", to="f/rocker_end"))
    sim = fw.Simulator(scene, dt=1e-3)
    state = sim.step(sim.state())
    coupler = fw.ForceTorque("f/coupler_hinge").read(state)
    rocker = fw.ForceTorque("f/rocker_hinge").read(state)
    for reading in (coupler, rocker):  # hinges about y without motors: no torque about it
        assert abs(reading.torque[1]) < 1e-9
        assert np.linalg.norm(reading.force) > 0.1


def test_last_step_is_the_state_before_it() -> None:
    """With loads fixed to the trunk beside its centre, on which the path of a free body depends."""
    builder = fw.ModelBuilder.from_description(fw.models.quadruped().description)
    builder.link("load", mass=3.0, com=(0.1, 0.0, 0.1)).joint("grip", "fixed", "trunk", "load", placement=(0, 0.2, 0.1))
    builder.link("top", mass=1.0).joint("glue", "fixed", "load", "top", placement=fw.pose((0.1, 0, 0), rpy=(1, 0, 0)))
    model = builder.build()
    sim = flying(model)
    rng = np.random.default_rng(2)
    before = sim.state(batch=4, q=start_posture(fw.models.quadruped()), v=rng.standard_normal((4, sim.model.nv)))
    before = sim.rollout(before, n_steps=20).final
    q, v, _ = last_step(sim.step(before, rng.standard_normal(sim.model.nv)))
    assert np.abs(sim.model.difference(before.q, q)).max() < 1e-9
    np.testing.assert_allclose(v, before.v, atol=1e-9)


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        (fw.IMU("crat"), "unknown frame 'crat'.*did you mean 'crate'"),
        (fw.FrameSensor("nothing"), "unknown frame 'nothing'"),
        (fw.JointSensor("nothing"), "unknown joint 'nothing'"),
        (fw.ForceTorque("nothing"), "unknown joint 'nothing'"),
        (fw.ContactForceSensor("crat"), "unknown link or shape 'crat'.*did you mean 'crate'"),
    ],
)
def test_unknown_names_are_refused(sensor: fw.IMU, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sensor.read(crate_on_the_ground().state())
