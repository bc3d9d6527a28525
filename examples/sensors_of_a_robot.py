"""An arm that carries itself by gravity compensation, and what its sensors read, for a batch of postures."""

import numpy as np

import featherweight as fw

scene = fw.Scene()
scene.add(fw.models.arm(), name="arm", self_collision=False)
sim = fw.Simulator(scene, dt=1e-3)
rng = np.random.default_rng(0)
state = sim.state(batch=16, q=0.5 * sim.model.random(rng, batch=16))
for _ in range(50):
    state = sim.step(state, sim.gravity_compensation(state))

# At rest the accelerometer at the flange measures gravity, whatever the posture.
imu = fw.IMU("arm/flange").read(state)
print("accelerometer:", imu.accelerometer[0].round(3), "of length", np.linalg.norm(imu.accelerometer[0]).round(6))
assert np.allclose(np.linalg.norm(imu.accelerometer, axis=1), 9.81)

# The first joint carries the weight of all links beyond it, and turns about the vertical: no torque about its axis.
wrench = fw.ForceTorque("arm/joint_1").read(state)
weight = 9.81 * sum(sim.model.link(f"arm/link_{i}").mass for i in range(1, 8))
print("through joint 1:", wrench.force[0].round(3), "N, weight", round(weight, 3), "N")
assert np.allclose(wrench.force, (0.0, 0.0, weight), atol=1e-6)
assert np.allclose(wrench.torque[:, 2], 0.0, atol=1e-6)

# About its own axis each joint carries what the motor gives.
tau = sim.gravity_compensation(state)
elbow = fw.ForceTorque("arm/joint_4").read(state)
assert np.allclose(elbow.torque[:, 1], tau[:, 3], atol=1e-6)  # it turns about y
